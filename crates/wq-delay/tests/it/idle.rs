//! Idle: while nothing is due, a queue wakes no getter and fires no timer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use wq_contract::wakes::Wakes;
use wq_delay::{DelayingQueue, ManualTimer, Timer};

const HOUR: Duration = Duration::from_secs(3600);

/// A manual clock that counts its calls.
#[derive(Debug, Clone, Default)]
struct Counting {
    clock: ManualTimer,
    reads: Arc<AtomicUsize>,
    sleeps: Arc<AtomicUsize>,
    /// The number of times that a parked thread woke.
    wakes: Arc<AtomicUsize>,
}

impl Counting {
    fn asked(&self) -> (usize, usize, usize) {
        (self.reads.load(SeqCst), self.sleeps.load(SeqCst), self.wakes.load(SeqCst))
    }
}

impl Timer for Counting {
    fn now(&self) -> Instant {
        self.reads.fetch_add(1, SeqCst);
        self.clock.now()
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.sleeps.fetch_add(1, SeqCst);
        self.clock.sleep_until(deadline)
    }

    fn park_until(&self, deadline: Option<Instant>) {
        self.sleeps.fetch_add(1, SeqCst);
        self.clock.park_until(deadline);
        self.wakes.fetch_add(1, SeqCst);
    }
}

/// A queue in which a thousand items are delayed by an hour.
fn queue() -> (DelayingQueue<u64>, Counting) {
    let timer = Counting::default();
    let queue = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    for item in 0..1000 {
        queue.add_after(item, HOUR);
    }
    (queue, timer)
}

/// Advances ten seconds in steps of a millisecond. Each step wakes a sleeper whose deadline has
/// passed.
fn ten_seconds(timer: &Counting) {
    (0..10_000).for_each(|_| timer.clock.advance(Duration::from_millis(1)));
}

#[test]
fn ten_seconds_wake_no_async_getter() {
    let (queue, timer) = queue();
    let mut gets: Vec<_> = (0..4).map(|_| (Wakes::new(), Box::pin(queue.get()))).collect();
    for (wakes, get) in &mut gets {
        assert!(wakes.poll(get).is_pending());
    }
    let before = timer.asked();
    assert_eq!(timer.clock.sleepers(), 2, "the timekeeper and its reserve");
    ten_seconds(&timer);
    assert_eq!(gets.iter().map(|(wakes, _)| wakes.count()).sum::<usize>(), 0);
    assert_eq!(timer.asked(), before, "the clock was not even looked at");
}

#[test]
fn ten_seconds_wake_no_thread() {
    let (queue, timer) = queue();
    std::thread::scope(|scope| {
        let getters: Vec<_> =
            (0..3).map(|_| scope.spawn(|| queue.get_blocking().is_some())).collect();
        // Each getter is parked, two of them for a deadline.
        while timer.asked().1 < 3 || timer.clock.sleepers() < 2 {
            std::thread::yield_now();
        }
        ten_seconds(&timer);
        assert_eq!(timer.asked().2, 0, "a thread woke");
        assert_eq!(queue.shutdown().len(), 1000);
        assert!(getters.into_iter().all(|getter| !getter.join().unwrap()));
    });
}

#[test]
fn a_queue_in_which_nothing_is_delayed_reads_no_clock() {
    let timer = Counting::default();
    let queue: DelayingQueue<u64> = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    let before = timer.asked();
    for item in 0..100 {
        queue.add(item);
        assert!(queue.get_blocking().is_some());
        assert!(queue.try_get().is_err());
        assert_eq!(queue.counts().queued, 0);
    }
    assert_eq!(timer.asked(), before);
}

#[test]
fn a_delayed_add_reads_the_clock_twice_at_most() {
    let (queue, timer) = queue();
    let before = timer.asked();
    queue.add_after(1000, HOUR * 2);
    let after = timer.asked();
    assert!(after.0 - before.0 <= 2, "{} reads", after.0 - before.0);
    assert_eq!(after.1, before.1);
}
