//! The stop of a manager: no run starts, active runs get their grace, the report lists the rest.

use std::time::Duration;

use reconciler::{Action, Controller, Failure, Manager, Request, reconcile_fn};
use tokio::time::{Instant, sleep};

use crate::bench::{Log, never, settle, start, until};

const MS: Duration = Duration::from_millis(1);

fn manager(grace: Duration) -> Manager {
    Manager::builder().grace(grace).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_runs_end_and_starts_no_more() {
    let log = Log::new();
    let seen = log.clone();
    let controller = Controller::keyed(
        "test",
        reconcile_fn(move |request: Request<u32>| {
            let seen = seen.clone();
            async move {
                seen.push(("begin", *request.key()));
                sleep(2000 * MS).await;
                seen.push(("end", *request.key()));
                Err(Failure::retry("not to be tried again"))
            }
        }),
    )
    .workers(2);
    let handle = controller.handle();
    let mut manager = manager(5000 * MS);
    manager.add(controller);
    let running = start(manager);
    (0..7).for_each(|key| handle.add(key));
    until("two runs", || log.len() == 2).await;
    let at = Instant::now();
    let report = running.stop().await;
    assert!(at.elapsed() <= 2010 * MS, "no longer than the runs: {:?}", at.elapsed());
    assert_eq!(log.all(), [("begin", 0), ("begin", 1), ("end", 0), ("end", 1)]);
    let controller = &report.controllers[0];
    assert!(report.is_clean());
    // Five that never began, and two that were to be tried again.
    assert_eq!((controller.reconciles, controller.not_started), (2, 7));
    assert!((1900 * MS..=2010 * MS).contains(&report.stop_took), "{:?}", report.stop_took);
}

#[tokio::test(start_paused = true)]
async fn runs_that_heed_their_cancellation_end_a_stop_early() {
    let log = Log::new();
    let seen = log.clone();
    let controller = Controller::keyed(
        "test",
        reconcile_fn(move |request: Request<u32>| {
            let seen = seen.clone();
            async move {
                seen.push("begin");
                request.cancelled().await;
                sleep(10 * MS).await;
                seen.push("tidied up");
                Ok(Action::await_change())
            }
        }),
    );
    controller.handle().add(1);
    let mut manager = manager(Duration::from_secs(60));
    manager.add(controller);
    let running = start(manager);
    until("the run", || log.len() == 1).await;
    let report = running.stop().await;
    assert_eq!(log.all(), ["begin", "tidied up"]);
    assert!(report.stop_took < 20 * MS && report.is_clean());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_outlasts_the_grace_is_dropped_and_reported() {
    struct Dropped(Log<&'static str>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.push("dropped");
        }
    }
    let log = Log::new();
    let seen = log.clone();
    let controller = Controller::keyed(
        "test",
        reconcile_fn(move |_: Request<&'static str>| {
            let seen = seen.clone();
            async move {
                let _noticed = Dropped(seen);
                never::<()>().await;
                Ok(Action::await_change())
            }
        }),
    );
    controller.handle().add("stuck");
    let mut manager = manager(3000 * MS);
    manager.add(controller);
    let running = start(manager);
    settle().await;
    let report = running.stop().await;
    assert_eq!(log.all(), ["dropped"], "joined before the manager ends");
    assert_eq!(report.controllers[0].abandoned, ["\"stuck\""]);
    assert!(!report.is_clean());
    assert!((3000 * MS..3100 * MS).contains(&report.stop_took), "{:?}", report.stop_took);
}

#[tokio::test(start_paused = true)]
async fn tracked_work_is_waited_for_and_reported_if_it_does_not_end() {
    for (lasts, unfinished) in [(1000 * MS, 0), (Duration::from_secs(3600), 1)] {
        let controller = Controller::keyed(
            "test",
            reconcile_fn(move |request: Request<u32>| async move {
                request.tracker().spawn(sleep(lasts));
                Ok(Action::await_change())
            }),
        );
        controller.handle().add(1);
        let mut manager = manager(5000 * MS);
        manager.add(controller);
        let running = start(manager);
        settle().await;
        let report = running.stop().await;
        assert_eq!(report.unfinished_tasks, unfinished);
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_of_the_leader_run_again_when_they_fail_and_stop_with_the_rest() {
    let log = Log::new();
    let seen = log.clone();
    let mut manager = manager(5000 * MS);
    manager.leader_task("sweep", move |task| {
        let seen = seen.clone();
        async move {
            seen.push("begin");
            match seen.len() {
                1 => return Err("planted".into()),
                2 => panic!("planted"),
                _ => {}
            }
            task.cancellation().cancelled().await;
            seen.push("end");
            Ok(())
        }
    });
    let running = start(manager);
    until("the third try", || log.len() == 3).await;
    assert_eq!(log.gaps(), [1000, 2000]);
    settle().await;
    let report = running.stop().await;
    assert_eq!(log.all(), ["begin", "begin", "begin", "end"]);
    assert!(report.stop_took < 10 * MS);
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_the_caches_are_complete_ends_at_once() {
    let bench = crate::bench::bench();
    bench.server.faults().partition("controller");
    let mut manager = manager(5000 * MS);
    let _maps = manager.cache(bench.api());
    let running = start(manager);
    settle().await;
    let at = Instant::now();
    let report = running.stop().await;
    assert_eq!(report.terms, 0);
    assert!(at.elapsed() < 10 * MS);
}
