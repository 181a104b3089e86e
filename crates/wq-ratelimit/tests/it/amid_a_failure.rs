//! Amid a failure: at each read of the clock during `finish` a user adds the item, or the clock
//! panics.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wq_ratelimit::{Combine, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, Timer};

const SECOND: Duration = Duration::from_secs(1);

type Queue = RateLimitingQueue<u64, ExponentialBackoff<u64>>;

type Deed = Box<dyn FnOnce() + Send>;

/// A timer that runs `deed` once, after `looks` further reads of the clock.
#[derive(Clone)]
struct Interrupted {
    timer: ManualTimer,
    looks: Arc<AtomicUsize>,
    deed: Arc<Mutex<Option<Deed>>>,
}

impl Interrupted {
    fn after(&self, looks: usize, deed: impl FnOnce() + Send + 'static) {
        self.looks.store(looks, Ordering::SeqCst);
        *self.deed.lock().unwrap() = Some(Box::new(deed));
    }

    /// Whether the deed has run.
    fn is_over(&self) -> bool {
        self.deed.lock().unwrap().take().is_none()
    }
}

impl std::fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupted")
    }
}

impl Timer for Interrupted {
    fn now(&self) -> Instant {
        let left = self.looks.load(Ordering::SeqCst);
        self.looks.store(left.saturating_sub(1), Ordering::SeqCst);
        let deed = if left == 0 { self.deed.lock().unwrap().take() } else { None };
        if let Some(deed) = deed {
            deed();
        }
        self.timer.now()
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.timer.sleep_until(deadline)
    }

    fn park_until(&self, deadline: Option<Instant>) {
        self.timer.park_until(deadline);
    }
}

fn queue() -> (Queue, Interrupted) {
    let timer =
        Interrupted { timer: ManualTimer::new(), looks: Arc::default(), deed: Arc::default() };
    let limiter = ExponentialBackoff::new(SECOND, SECOND * 100).unwrap();
    (RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build().unwrap(), timer)
}

/// Item 1 is added and fails.
fn fail(queue: &Queue) {
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
}

/// Item 1 has failed, and its retry waits for one second from the returned instant.
fn failed() -> (Queue, Interrupted, Instant) {
    let (queue, timer) = queue();
    fail(&queue);
    let start = timer.timer.now();
    (queue, timer, start)
}

/// Plays with the deed at each clock read in turn, until the read no longer happens. At least one
/// must happen.
fn at_each_look(mut play: impl FnMut(usize) -> bool) {
    let times = (0..).take_while(|looks| play(*looks)).count();
    assert!((1..100).contains(&times), "{times}");
}

#[test]
fn a_back_off_that_a_user_began_amid_a_failure_puts_nothing_off() {
    at_each_look(|looks| {
        let (queue, timer, start) = failed();
        queue.add(1);
        let guard = queue.try_get().unwrap();
        let other = queue.clone();
        timer.after(looks, move || {
            other.forget(&1);
            other.add_rate_limited_after(1, SECOND * 100, Combine::Override);
        });
        guard.finish(Outcome::Retry).unwrap();
        assert_eq!(queue.deadline(&1), Some(start + SECOND), "after {looks} looks");
        timer.is_over()
    });
}

#[test]
fn a_clock_that_panics_amid_a_failure_neither_loses_the_retry_nor_doubles_it() {
    at_each_look(|looks| {
        let (queue, timer, _start) = failed();
        queue.add(1);
        let guard = queue.try_get().unwrap();
        timer.after(looks, || panic!("what is the time?"));
        let finished = catch_unwind(AssertUnwindSafe(|| guard.finish(Outcome::Retry)));
        assert_eq!(finished.is_err(), timer.is_over(), "after {looks} looks");
        assert_eq!(
            (queue.counts().queued + queue.delayed_len(), queue.counts().in_flight),
            (1, 0),
            "after {looks} looks"
        );
        finished.is_err()
    });
}
