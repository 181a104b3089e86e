//! Crowd: workers that fail in every way, beside events and forgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use shuttle::thread;
use wq_contract::play::roll;
use wq_ratelimit::{
    Combine, DuringBackoff, ExponentialBackoff, ManualTimer, Outcome, RateLimitingQueue, Timer,
    TryGetError,
};

const ITEMS: u8 = 3;
const STEP: Duration = Duration::from_millis(1);

type Queue = RateLimitingQueue<u8, ExponentialBackoff<u8>>;

/// For each item: its number of changes, how many of them a worker has seen, and whether it is
/// held.
#[derive(Default)]
struct Books {
    changed: [AtomicUsize; ITEMS as usize],
    seen: [AtomicUsize; ITEMS as usize],
    is_held: [AtomicBool; ITEMS as usize],
}

impl Books {
    fn work(&self, item: u8) {
        let at = usize::from(item);
        assert!(!self.is_held[at].swap(true, SeqCst), "an item is in two hands");
        let changed = self.changed[at].load(SeqCst);
        thread::yield_now();
        self.seen[at].store(changed, SeqCst);
        self.is_held[at].store(false, SeqCst);
    }
}

fn outcome(timer: &ManualTimer) -> Outcome {
    let delay = STEP * u32::from(roll(4));
    match roll(12) {
        0 => Outcome::Success,
        1 => Outcome::GiveUp,
        4 => Outcome::RetryAfter(delay),
        5 => Outcome::RetryNotBefore(timer.now() + delay),
        6 => Outcome::RetryWith { delay, combine: Combine::Min },
        7 => Outcome::RetryWith { delay, combine: Combine::Sum },
        8 => Outcome::RetryWith { delay, combine: Combine::Override },
        _ => Outcome::Retry,
    }
}

fn worker(queue: &Queue, timer: &ManualTimer, books: &Books) {
    loop {
        match queue.try_get() {
            Ok(guard) => {
                books.work(*guard.item());
                if roll(12) == 0 {
                    guard.done();
                } else {
                    _ = guard.finish(outcome(timer)); // Refused after the shutdown.
                }
            }
            Err(TryGetError::Empty) => thread::yield_now(),
            Err(_) => return,
        }
    }
}

fn events(queue: &Queue, books: &Books) {
    for _ in 0..15 {
        let item = roll(ITEMS);
        match roll(9) {
            0 => queue.forget(&item),
            2 => drop(queue.add_rate_limited(item)),
            _ => {
                books.changed[usize::from(item)].fetch_add(1, SeqCst);
                queue.add(item);
            }
        }
    }
}

pub(crate) fn workers_who_fail() {
    let timer = ManualTimer::new();
    let policies = [DuringBackoff::Keep, DuringBackoff::Clear, DuringBackoff::Defer];
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(STEP, STEP * 8).unwrap())
        .timer(timer.clone())
        .during_backoff(policies[usize::from(roll(3))])
        .build()
        .unwrap();
    let books = Arc::new(Books::default());
    let start = |work: fn(&Queue, &ManualTimer, &Books)| {
        let (queue, timer, books) = (queue.clone(), timer.clone(), Arc::clone(&books));
        thread::spawn(move || work(&queue, &timer, &books))
    };
    let workers: Vec<_> = (0..4).map(|_| start(worker)).collect();
    let events: Vec<_> = (0..3).map(|_| start(|queue, _, books| events(queue, books))).collect();
    let clock = start(|_, timer, _| {
        for _ in 0..10 {
            timer.advance(STEP);
            thread::yield_now();
        }
    });
    events.into_iter().for_each(|thread| thread.join().unwrap());
    clock.join().unwrap();
    // Makes every delayed item due and queues it, so that the workers get it before they end.
    timer.advance(STEP * 100);
    let _ = queue.counts();
    _ = queue.shutdown();
    workers.into_iter().for_each(|thread| thread.join().unwrap());
    for item in 0..ITEMS {
        let at = usize::from(item);
        assert_eq!(
            books.seen[at].load(SeqCst),
            books.changed[at].load(SeqCst),
            "an event was lost"
        );
        queue.forget(&item);
        assert_eq!(queue.num_requeues(&item), 0);
    }
}

/// The clock stands still. After a forget one failure counts, and all later ones are before their
/// time.
pub(crate) fn forgets_beside_failures() {
    let builder =
        RateLimitingQueue::builder().limiter(ExponentialBackoff::new(STEP, STEP * 8).unwrap());
    let queue: Queue = builder.timer(ManualTimer::new()).build().unwrap();
    let fails = |queue: &Queue| {
        for _ in 0..10 {
            queue.add(roll(ITEMS));
            if let Ok(guard) = queue.try_get() {
                guard.finish(Outcome::Retry).unwrap();
            }
            assert!(
                (0..ITEMS).all(|item| queue.num_requeues(&item) <= 1),
                "a failure has no back-off"
            );
        }
    };
    let forgets = |queue: &Queue| (0..10).for_each(|_| queue.forget(&roll(ITEMS)));
    let threads = [fails as fn(&Queue), fails, fails, forgets].map(|work| {
        let queue = queue.clone();
        thread::spawn(move || work(&queue))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    queue.add_all(0..ITEMS);
    while let Ok(guard) = queue.try_get() {
        guard.finish(Outcome::Retry).unwrap();
    }
    assert!((0..ITEMS).all(|item| queue.num_requeues(&item) == 1), "a back-off has no failure");
}
