//! `/livez` by the progress of the queues.

use std::time::Duration;

use reconciler::{Action, AdminServer, Controller, Manager, Reconciler, Request, reconcile_fn};
use tokio::time::sleep;

use crate::bench::{Running, never, start};
use crate::serving::{get, loopback};

const LIVE: (&str, &str) = ("HTTP/1.1 200 OK", "ok\n");

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A manager of one controller with two workers and these keys, and its `/livez`.
fn started<R: Reconciler<Key = u32>>(
    controller: Controller<R>,
    keys: &[u32],
) -> (Running, impl AsyncFn() -> (String, String)) {
    let admin = AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let mut manager = Manager::builder().admin(admin).build().unwrap();
    keys.iter().for_each(|key| controller.handle().add(*key));
    manager.add(controller.workers(2));
    (start(manager), async move || get(address, "/livez").await)
}

fn answer(answer: &(String, String)) -> (&str, &str) {
    (&answer.0, &answer.1)
}

#[tokio::test(start_paused = true)]
async fn workers_that_all_hang_while_keys_wait_are_not_live() {
    let hangs = || Controller::keyed("test", reconcile_fn(|_: Request<u32>| never())).workers(2);
    // Keys, the deadline, the wait, the answer.
    let stalled = "[-]controller test no run has started or ended for 601 s, and 2 ready keys wait; \
                   the run of 1 lasts for 601 s\n";
    let table = [
        (&[1, 2, 3, 4][..], None, 599, LIVE),
        (&[1, 2, 3, 4], None, 601, ("HTTP/1.1 503 Service Unavailable", stalled)),
        (&[1, 2], None, 9999, LIVE),
        (&[1, 2, 3], Some(seconds(3600)), 3599, LIVE),
        (&[1, 2, 3], Some(Duration::MAX), 99_999, LIVE),
    ];
    for (keys, deadline, wait, expected) in table {
        let controller = match deadline {
            Some(deadline) => hangs().progress_deadline(deadline),
            None => hangs(),
        };
        let (running, livez) = started(controller, keys);
        sleep(seconds(wait)).await;
        assert_eq!(answer(&livez().await), expected, "{keys:?} {deadline:?} {wait}");
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_controller_that_progresses_is_live_and_so_is_one_with_a_long_time_out() {
    let slow = Controller::keyed(
        "test",
        reconcile_fn(|_: Request<u32>| async {
            sleep(seconds(590)).await;
            Ok(Action::await_change())
        }),
    );
    let (running, livez) = started(slow, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for _ in 0..200 {
        sleep(seconds(10)).await;
        assert_eq!(answer(&livez().await), LIVE);
    }
    running.stop().await;
    let hangs = Controller::keyed("test", reconcile_fn(|_: Request<u32>| never()));
    let (running, livez) = started(hangs.timeout(seconds(3600)), &[1, 2, 3]);
    for _ in 0..10 {
        sleep(seconds(3500)).await;
        assert_eq!(answer(&livez().await), LIVE);
    }
    running.stop().await;
}

/// The time-out cannot drop a run that does not await.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_run_that_blocks_its_thread_past_its_time_out_is_not_live() {
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    let controller = Controller::keyed(
        "test",
        reconcile_fn(move |_: Request<u32>| {
            let _ = blocked.lock().unwrap().recv();
            async { Ok(Action::await_change()) }
        }),
    );
    let controller = controller.timeout(Duration::from_millis(1));
    let (running, livez) = started(controller.progress_deadline(Duration::ZERO), &[7]);
    // Its notice is at least 100 ms.
    let fails = async {
        loop {
            let (status, text) = livez().await;
            if status != LIVE.0 {
                return text;
            }
        }
    };
    let text = tokio::time::timeout(seconds(60), fails).await.expect("it is never not live");
    assert_eq!(
        text,
        "[-]controller test the run of 7 lasts for 0 s, although its time-out is 1ms\n"
    );
    drop(release);
    running.stop().await;
}
