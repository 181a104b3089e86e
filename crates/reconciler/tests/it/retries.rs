//! Keys whose runs fail: back-off, panics, time-outs, parking.

use std::future::Future;
use std::time::Duration;

use reconciler::{Action, Controller, Failure, Handle, Parked, Request, reconcile_fn};
use tokio::time::{Instant, sleep};
use wq_ratelimit::{ExponentialBackoff, RateLimiter};

use crate::bench::{Log, Running, manager, never, settle, start, until};

const MS: Duration = Duration::from_millis(1);

/// 100 ms, doubling to 1 s, without jitter.
fn backoff() -> ExponentialBackoff<&'static str> {
    ExponentialBackoff::new(100 * MS, 1000 * MS).unwrap()
}

/// A controller without caches. Each run gets its number.
fn controller<F, Fut>(
    runs: &Log<(&'static str, u32)>,
    run: F,
) -> Controller<impl reconciler::Reconciler<Key = &'static str> + use<F, Fut>>
where
    F: Fn(usize, Request<&'static str>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Failure>> + Send + 'static,
{
    let runs = runs.clone();
    let run = std::sync::Arc::new(run);
    Controller::keyed(
        "test",
        reconcile_fn(move |request: Request<&'static str>| {
            runs.push((*request.key(), request.attempt()));
            run(runs.len(), request)
        }),
    )
    .limiter(backoff())
}

fn run<R: reconciler::Reconciler<Key = &'static str>>(
    controller: Controller<R>,
) -> (Running, Handle<&'static str>) {
    let handle = controller.handle();
    let mut manager = manager();
    manager.add(controller);
    (start(manager), handle)
}

#[tokio::test(start_paused = true)]
async fn a_failing_key_is_tried_later_and_later_and_a_success_ends_it() {
    let runs = Log::new();
    let (running, handle) = run(controller(&runs, |number, _| async move {
        if number < 6 { Err(Failure::retry("not yet")) } else { Ok(Action::await_change()) }
    }));
    handle.add("a");
    until("the success", || runs.len() == 6).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(runs.gaps(), [100, 200, 400, 800, 1000]);
    assert_eq!(
        runs.all().iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5]
    );
    handle.add("a");
    until("the next run", || runs.len() == 7).await;
    assert_eq!(runs.all()[6], ("a", 0), "a success clears the count");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_event_during_back_off_runs_after_the_failing_interval() {
    let runs = Log::new();
    let failing = controller(&runs, |_, _| async move { Err(Failure::retry("never")) });
    let (running, handle) = run(failing.failing_interval(300 * MS));
    handle.add("a");
    until("three failures", || runs.len() == 3).await;
    // The next try is due in 400 ms. Five events are one run, 300 ms after the failure.
    for _ in 0..5 {
        sleep(50 * MS).await;
        handle.add("a");
    }
    until("the one after the due run", || runs.len() == 6).await;
    assert_eq!(runs.gaps()[2..], [300, 100, 800], "the due time stays");
    let attempts: Vec<u32> = runs.all()[3..].iter().map(|(_, attempt)| *attempt).collect();
    assert_eq!(attempts, [3, 3, 4], "the run of the events did not count");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_failing_interval_an_event_during_back_off_runs_at_once_and_does_not_inflate_it()
{
    let runs = Log::new();
    let failing = controller(&runs, |_, _| async move { Err(Failure::retry("never")) });
    let (running, handle) = run(failing.failing_interval(Duration::ZERO));
    handle.add("a");
    until("three failures", || runs.len() == 3).await;
    // The next try is due in 400 ms. Five events come, each is run, and the due time stays.
    for _ in 0..5 {
        sleep(50 * MS).await;
        handle.add("a");
    }
    until("the due run", || runs.len() == 9).await;
    let times = runs.times();
    assert_eq!((times[8] - times[2]).as_millis(), 400);
    assert_eq!(runs.all()[8].1, 3, "runs before the due time did not count");
    until("the one after", || runs.len() == 10).await;
    assert_eq!(runs.gaps()[8], 800);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_event_during_retry_after_runs_at_once_and_does_not_count() {
    let runs = Log::new();
    let failing =
        controller(&runs, |_, _| async move { Err(Failure::retry_after("busy", 400 * MS)) });
    let failing = failing.max_attempts(3).failing_interval(Duration::ZERO);
    let (running, handle) = run(failing);
    handle.add("a");
    until("the first failure", || runs.len() == 1).await;
    for _ in 0..5 {
        sleep(50 * MS).await;
        handle.add("a");
    }
    until("the due runs", || runs.len() == 8).await;
    assert_eq!(runs.gaps()[5..], [400, 400], "from the run that has asked for it");
    let attempts: Vec<u32> = runs.all().iter().map(|(_, attempt)| *attempt).collect();
    assert_eq!(attempts, [0, 1, 1, 1, 1, 1, 1, 2], "runs before the due time did not count");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_event_before_the_last_retry_does_not_use_it_up() {
    for (interval, gaps) in [(0, [100, 200, 51, 349]), (300, [100, 200, 300, 100])] {
        let (runs, last) = (Log::new(), Log::new());
        let seen = last.clone();
        let failing = controller(&runs, move |_, request| {
            seen.push(request.is_last_attempt());
            async move { Err(Failure::retry("never")) }
        });
        let failing = failing.max_attempts(4).failing_interval(interval * MS);
        let view = failing.observe();
        let (running, handle) = run(failing);
        handle.add("a");
        until("three failures", || runs.len() == 3).await;
        // The last try is due in 400 ms.
        sleep(50 * MS).await;
        handle.add("a");
        until("the key is parked", || !view.parked().is_empty()).await;
        sleep(60_000 * MS).await;
        assert_eq!(runs.gaps(), gaps);
        assert_eq!(last.all(), [false, false, false, false, true]);
        running.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn requeue_waits_and_the_last_run_decides() {
    let runs = Log::new();
    let (running, handle) = run(controller(&runs, |number, _| async move {
        Ok(match number {
            1 => Action::requeue(Duration::from_secs(10)),
            2 => Action::requeue(Duration::from_secs(30)),
            3 => Action::requeue(Duration::ZERO),
            _ => Action::await_change(),
        })
    }));
    handle.add("a");
    until("the first run", || runs.len() == 1).await;
    sleep(Duration::from_secs(5)).await;
    handle.add("a");
    until("the run of the event", || runs.len() == 2).await;
    until("the requeue of the second run", || runs.len() == 3).await;
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(runs.gaps()[1..], [30_000, 10], "not at 10 s, which the first run had asked for");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn retry_after_takes_the_place_of_the_limiter_and_counts() {
    let runs = Log::new();
    let (running, handle) = run(controller(&runs, |number, _| async move {
        match number {
            1 | 2 => Err(Failure::retry_after("busy", 7000 * MS)),
            3 => Err(Failure::retry("other")),
            _ => Ok(Action::await_change()),
        }
    }));
    handle.add("a");
    until("the success", || runs.len() == 4).await;
    assert_eq!(runs.gaps(), [7000, 7000, 400]);
    assert_eq!(runs.all()[3].1, 3);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_counted_and_costs_only_its_own_key_a_retry() {
    let runs = Log::new();
    let (running, handle) = run(controller(&runs, |number, request| async move {
        assert!(*request.key() != "a" || number > 2, "planted");
        Ok(Action::await_change())
    })
    .workers(1));
    handle.add("a");
    handle.add("b");
    until("all runs", || runs.len() == 3).await;
    settle().await;
    assert_eq!(runs.all(), [("a", 0), ("b", 0), ("a", 1)]);
    assert_eq!(runs.gaps(), [0, 100]);
    let report = running.stop().await;
    assert_eq!((report.controllers[0].panics, report.controllers[0].errors), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_and_one_in_a_destructor_are_survived() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "planted in a destructor");
        }
    }
    let runs = Log::new();
    let (running, handle) = run(controller(&runs, |number, _| {
        assert!(number != 1, "planted before the future exists");
        async move {
            if number == 2 {
                let _bomb = Bomb;
                sleep(Duration::from_secs(3600)).await;
            }
            Ok(Action::await_change())
        }
    })
    .workers(1)
    .timeout(1000 * MS));
    handle.add("a");
    until("the run after both", || runs.len() == 3).await;
    let report = running.stop().await;
    assert_eq!(report.controllers[0].panics, 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_takes_too_long_is_cancelled_dropped_and_tried_again() {
    let runs = Log::new();
    let told = Log::new();
    let heard = told.clone();
    let (running, handle) = run(controller(&runs, move |number, request| {
        let heard = heard.clone();
        async move {
            if number == 1 {
                let cancellation = request.cancellation().clone();
                tokio::spawn(async move {
                    cancellation.cancelled().await;
                    heard.push(());
                });
                std::future::pending::<()>().await;
            }
            Ok(Action::await_change())
        }
    })
    .timeout(2000 * MS));
    handle.add("a");
    until("the second run", || runs.len() == 2).await;
    assert_eq!(runs.gaps(), [2300], "the time-out, a tenth of notice, then the back-off");
    assert_eq!(told.len(), 1, "what the run left behind is told");
    let report = running.stop().await;
    assert_eq!((report.controllers[0].timeouts, report.controllers[0].errors), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_terminal_failure_parks_the_key_until_it_is_named_again() {
    let runs = Log::new();
    let controller = controller(&runs, |number, _| async move {
        if number == 2 { Err(Failure::terminal("hopeless")) } else { Err(Failure::retry("once")) }
    });
    let view = controller.observe();
    let (running, handle) = run(controller);
    handle.add("a");
    until("the second run", || runs.len() == 2).await;
    sleep(Duration::from_secs(36_000)).await;
    assert_eq!(runs.len(), 2);
    assert_eq!(view.parked(), [("a", Parked::Terminal)]);
    handle.add("a");
    until("the third run", || runs.len() == 3).await;
    settle().await;
    assert_eq!(runs.all()[2], ("a", 0), "the count was cleared");
    assert!(view.parked().is_empty());
    let report = running.stop().await;
    assert_eq!((report.controllers[0].terminal, report.controllers[0].exhausted), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_attempts_are_used_up_is_parked_until_it_is_named_again() {
    let runs = Log::new();
    let controller =
        controller(&runs, |_, _| async move { Err(Failure::retry("never")) }).max_attempts(3);
    let view = controller.observe();
    let (running, handle) = run(controller);
    handle.add("a");
    until("three runs", || runs.len() == 3).await;
    sleep(Duration::from_secs(36_000)).await;
    assert_eq!(runs.len(), 3);
    assert_eq!(view.parked(), [("a", Parked::Exhausted)]);
    handle.add("a");
    until("three more", || runs.len() == 6).await;
    sleep(Duration::from_secs(36_000)).await;
    assert_eq!(
        runs.all().iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>(),
        [0, 1, 2, 0, 1, 2]
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_during_the_run_that_parks_is_not_lost() {
    let runs = Log::new();
    let (running, handle) = run(controller(&runs, |number, _| async move {
        sleep(1000 * MS).await;
        if number == 1 { Err(Failure::terminal("hopeless")) } else { Ok(Action::await_change()) }
    }));
    handle.add("a");
    sleep(500 * MS).await;
    handle.add("a");
    until("the second run", || runs.len() == 2).await;
    assert_eq!(runs.gaps(), [1000]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_standard_limiter_begins_at_5_ms_with_at_most_a_tenth_of_jitter() {
    let runs = Log::new();
    let seen = runs.clone();
    let controller = Controller::keyed(
        "test",
        reconcile_fn(move |_: Request<&'static str>| {
            seen.push(Instant::now());
            async { Err(Failure::retry("never")) }
        }),
    );
    let handle = controller.handle();
    let mut manager = manager();
    manager.add(controller);
    let running = start(manager);
    handle.add("a");
    until("ten runs", || runs.len() == 10).await;
    for (number, gap) in runs.gaps().into_iter().enumerate() {
        let least = 5_u128 << number;
        assert!((least..=least + least / 10 + 2).contains(&gap), "gap {number}: {gap} ms");
    }
    running.stop().await;
}

/// A limiter that panics instead of naming the second pause it is asked for, and the fourth
/// attempt.
#[derive(Debug, Default)]
struct Faulty {
    asked: u32,
}

impl RateLimiter<&'static str> for Faulty {
    fn next_delay(&mut self, _: &&'static str, _: std::time::Instant) -> Duration {
        self.asked += 1;
        assert!(self.asked != 2, "planted");
        100 * MS
    }
    fn forget(&mut self, _: &&'static str) {
        panic!("planted");
    }
    fn num_requeues(&self, _: &&'static str) -> u32 {
        0
    }
}

#[tokio::test(start_paused = true)]
async fn a_limiter_that_panics_loses_no_retry_and_ends_no_worker() {
    let runs = Log::new();
    let failing = controller(&runs, |number, _| async move {
        match number {
            1..=3 => Err(Failure::retry("not yet")),
            4 => Ok(Action::requeue(300 * MS)),
            _ => Ok(Action::await_change()),
        }
    });
    let (running, handle) = run(failing.limiter(Faulty::default()).workers(1));
    handle.add("a");
    until("the runs", || runs.len() == 5).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(runs.gaps(), [100, 1000, 100, 300], "the second pause is the controller's own");
    handle.add("b");
    until("the run of another key", || runs.len() == 6).await;
    let report = running.stop().await;
    assert_eq!(
        report.controllers[0].panics, 4,
        "one retry, and each time the failures were to be forgotten"
    );
    assert!(report.is_clean());
}

/// A limit with which no run could start is refused before anything starts.
#[tokio::test(start_paused = true)]
async fn a_limit_out_of_range_is_refused() {
    for (workers, attempts, said) in [
        (0, 1, "Controller::workers of \"test\" is 0: set it to 1 to 65536, or leave it out"),
        (65_537, 1, "Controller::workers of \"test\" is 65537: set it to 1 to 65536"),
        (1, 0, "Controller::max_attempts of \"test\" is 0: set it to 1 to 4294967295"),
    ] {
        let test = controller(&Log::new(), |_, _| async { Ok(Action::await_change()) });
        let mut manager = manager();
        let _handle = test.handle();
        manager.add(test.workers(workers).max_attempts(attempts));
        let error = manager.run(never()).await.unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}
