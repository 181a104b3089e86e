//! Faults of other queues that this one must not have.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use wq_ratelimit::{
    Added, Backlog, Combine, ExponentialBackoff, Fifo, ManualTimer, Outcome, PerItemBucket,
    RateLimiter, RateLimitingQueue, Remembered, Scheduled, SlotId, Timer, TokenBucket,
    controller_default,
};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// D7: client-go's 1001st `AddAfter` blocks while the waiting loop is stalled, and forever after a
/// drain.
#[test]
fn no_delayed_add_waits_for_a_stalled_timekeeper() {
    let queue = RateLimitingQueue::<u64, _>::builder()
        .limiter(controller_default())
        .timer(ManualTimer::new())
        .build()
        .unwrap();
    let mut held = std::pin::pin!(queue.get());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(
        held.as_mut().poll(&mut context).is_pending(),
        "it keeps the time, and is not polled again"
    );
    for item in 0..5_000 {
        assert_eq!(queue.add_after(item, ms(item + 1)), Scheduled::Delayed);
    }
    assert_eq!((queue.delayed_len(), queue.shutdown().len()), (5_000, 5_000));
}

/// D13: controller-runtime's queue counts an attempt only after its call has returned.
#[test]
fn an_attempt_counts_at_once_and_is_forgotten_at_once() {
    let queue = RateLimitingQueue::<u64, _>::builder()
        .limiter(controller_default())
        .timer(ManualTimer::new())
        .build()
        .unwrap();
    queue.add_rate_limited(1);
    assert_eq!(queue.num_requeues(&1), 1);
    queue.forget(&1);
    assert_eq!(queue.num_requeues(&1), 0);
}

/// D14: both upstream queues inflate the back-off of an item that gets events.
#[test]
fn events_do_not_change_the_back_off_of_a_failing_item() {
    let deadlines = |events: bool| {
        let timer = ManualTimer::new();
        let start = timer.now();
        let limiter = ExponentialBackoff::new(ms(5), ms(1_000_000)).unwrap();
        let queue =
            RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build().unwrap();
        queue.add(1_u64);
        let mut deadlines = Vec::new();
        for step in 0..2_000_u64 {
            if events && step % 10 == 0 {
                queue.add(1);
            }
            while let Ok(guard) = queue.try_get() {
                guard.finish(Outcome::Retry).unwrap();
            }
            let next = queue.deadline(&1).unwrap() - start;
            if deadlines.last() != Some(&next) {
                deadlines.push(next);
            }
            timer.advance(ms(1));
        }
        (deadlines, queue.num_requeues(&1))
    };
    assert_eq!(deadlines(true), deadlines(false));
}

/// D16: client-go takes a token for each add, even if the item waits already.
#[test]
fn many_rate_limited_adds_of_one_waiting_item_cost_the_others_nothing() {
    let timer = ManualTimer::new();
    let bucket = TokenBucket::per_second(10, 1).unwrap();
    let queue = RateLimitingQueue::<u64, _>::builder()
        .limiter(bucket.clone())
        .timer(timer.clone())
        .build()
        .unwrap();
    queue.add_rate_limited(1);
    queue.add_rate_limited(2);
    for _ in 0..10_000 {
        queue.add_rate_limited(2);
    }
    assert_eq!(queue.deadline(&2), Some(timer.now() + ms(100)));
    assert_eq!(bucket.reserve(timer.now()), ms(200));
}

/// D16, for a queued item: the bucket has tokens, so no add has to wait.
#[test]
fn many_rate_limited_adds_of_one_queued_item_cost_the_others_nothing() {
    for is_event in [false, true] {
        let timer = ManualTimer::new();
        let bucket = TokenBucket::per_second(10, 100).unwrap();
        let backoff = ExponentialBackoff::new(ms(5), ms(1000)).unwrap();
        let limiter = wq_ratelimit::MaxOf::new(backoff, bucket.clone());
        let queue = RateLimitingQueue::<u64, _>::builder()
            .limiter(limiter)
            .timer(timer.clone())
            .build()
            .unwrap();
        if is_event {
            queue.add(1);
        } else {
            queue.add_rate_limited(1);
            timer.advance(ms(5)); // Due, but not queued yet.
        }
        for _ in 0..10_000 {
            assert_eq!(queue.add_rate_limited(1), Scheduled::Now(Added::Merged));
        }
        let taken = u32::from(!is_event);
        assert_eq!(
            (queue.num_requeues(&1), queue.counts().queued, queue.delayed_len()),
            (taken, 1, 0)
        );
        assert!(
            (taken..100).all(|_| bucket.reserve(timer.now()).is_zero()),
            "the others' tokens are there"
        );
        // A failure still counts, even if the item will run again.
        let guard = queue.try_get().unwrap();
        queue.add(1);
        guard.finish(Outcome::Retry).unwrap();
        assert_eq!(queue.num_requeues(&1), taken + 1);
    }
}

/// D16, for an item in flight: the first add counts, because the work may not have seen its reason.
/// Later adds join it.
#[test]
fn many_rate_limited_adds_of_one_item_in_hand_cost_the_others_one_token() {
    for is_event in [false, true] {
        let timer = ManualTimer::new();
        let bucket = TokenBucket::per_second(10, 100).unwrap();
        let queue = RateLimitingQueue::<u64, _>::builder()
            .limiter(bucket.clone())
            .timer(timer.clone())
            .build()
            .unwrap();
        queue.add(1);
        let guard = queue.try_get().unwrap();
        if is_event {
            queue.add(1);
        }
        (0..10_000).for_each(|_| _ = queue.add_rate_limited(1));
        let taken = u32::from(!is_event);
        assert!(
            (taken..100).all(|_| bucket.reserve(timer.now()).is_zero()),
            "the others' tokens are there"
        );
        assert!(!bucket.reserve(timer.now()).is_zero(), "and no others");
        assert!(guard.finish(Outcome::Retry).unwrap().is_some());
        assert_eq!(queue.counts().queued, 1);
    }
}

/// An add of another item moves at most two batches of due items, however many are due.
#[test]
fn a_rate_limited_add_does_not_pay_for_a_flood_of_due_items() {
    for delay in [Duration::ZERO, ms(5)] {
        let timer = ManualTimer::new();
        let queue = RateLimitingQueue::<u64, _>::builder()
            .limiter(ExponentialBackoff::new(ms(5), ms(1000)).unwrap())
            .timer(timer.clone())
            .build()
            .unwrap();
        (0..10_000).for_each(|item| _ = queue.add_after(item, ms(1)));
        timer.advance(ms(1));
        queue.add_rate_limited_after(20_000, delay, Combine::Override);
        // `Debug` reads the queue's counts without moving due items.
        let shown = format!("{queue:?}");
        let delayed =
            shown.split("delayed: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        assert!(
            delayed.parse::<u64>().unwrap() >= 10_000 - 2 * 128,
            "two batches at most: {shown}"
        );
        assert_eq!(
            queue.add_rate_limited(9_999),
            Scheduled::Now(Added::Merged),
            "it was due, and is queued"
        );
        assert_eq!((queue.num_requeues(&9_999), queue.num_requeues(&20_000)), (0, 1));
    }
}

/// D17: both upstream stores grow without bound.
#[test]
fn a_million_items_that_fail_once_do_not_fill_the_store() {
    let mut limiter =
        ExponentialBackoff::<u32>::new(ms(5), ms(1000)).unwrap().bounded(10_000, ms(2000)).unwrap();
    let now = ManualTimer::new().now();
    for item in 0..1_000_000 {
        limiter.next_delay(&item, now);
        limiter.take_discarded();
        assert!(limiter.remembered().items <= 10_000);
    }
    assert_eq!(limiter.num_requeues(&999_999), 1, "the newest are remembered");
    let Remembered { items, expired, evicted, .. } = limiter.remembered();
    assert_eq!((items as u64 + evicted, expired), (1_000_000, 0), "who left is counted");
}

#[test]
fn idle_records_are_forgotten_after_their_time_not_before() {
    let timer = ManualTimer::new();
    let mut limiter =
        ExponentialBackoff::new(ms(5), ms(1000)).unwrap().bounded(1000, ms(5000)).unwrap();
    limiter.next_delay(&1, timer.now());
    for _ in 0..49 {
        timer.advance(ms(100));
        limiter.next_delay(&2, timer.now());
        assert_eq!(limiter.num_requeues(&1), 1);
    }
    for _ in 0..101 {
        timer.advance(ms(100));
        limiter.next_delay(&2, timer.now());
    }
    assert_eq!(limiter.num_requeues(&1), 0);
    assert_eq!((limiter.remembered().expired, limiter.remembered().evicted), (1, 0));
    assert_eq!(limiter.num_requeues(&2), 150, "one that is in use is never forgotten");
}

/// Item 1 fails with this outcome, and others fail while it waits. Its next failure must add to its
/// attempts.
fn fails_again_after<L: RateLimiter<u64> + Send>(
    limiter: L,
    outcome: impl FnOnce(std::time::Instant) -> Outcome,
) {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build().unwrap();
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    timer.advance(queue.deadline(&1).unwrap() - timer.now());
    queue.try_get().unwrap().finish(outcome(timer.now())).unwrap();
    let before = queue.num_requeues(&1);
    let wait = queue.deadline(&1).unwrap() - timer.now();
    for other in 2..102 {
        timer.advance(wait / 100);
        queue.add_rate_limited(other);
        queue.cancel(&other);
    }
    timer.advance(ms(1000));
    while let Ok(guard) = queue.try_get() {
        if *guard.item() == 1 {
            assert_eq!(guard.num_requeues(), before);
            guard.finish(Outcome::Retry).unwrap();
        }
    }
    assert_eq!(queue.num_requeues(&1), before + 1, "the back-off goes on after {wait:?}");
}

#[test]
fn no_failure_is_forgotten_while_its_item_waits() {
    let day = ms(1000) * 60 * 60 * 24;
    let quick = || ExponentialBackoff::new(ms(5), ms(1000)).unwrap();
    fails_again_after(quick(), |now| Outcome::RetryNotBefore(now + day));
    fails_again_after(quick(), |_| Outcome::RetryAfter(day));
    for combine in [Combine::Max, Combine::Sum, Combine::Override] {
        fails_again_after(quick(), |_| Outcome::RetryWith { delay: day, combine });
    }
    let shared = wq_ratelimit::Shared::new(wq_ratelimit::Jittered::full(quick()));
    fails_again_after(Box::new(shared), |now| Outcome::RetryNotBefore(now + day));
}

/// The debt of the default limiter's bucket makes the wait longer than records are kept.
#[test]
fn no_failure_is_forgotten_while_its_item_waits_for_a_token() {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::<u64, _>::builder()
        .limiter(controller_default())
        .timer(timer.clone())
        .build()
        .unwrap();
    for item in 0..50_000 {
        queue.add_rate_limited(item);
    }
    let last = queue.deadline(&49_999).unwrap() - timer.now();
    assert_eq!(last, ms(4_990_000), "longer than twice 1000 s");
    let mut failed_again = 0;
    for step in 0..50 {
        timer.advance(last / 50);
        while let Ok(guard) = queue.try_get() {
            assert_eq!(guard.num_requeues(), 1, "{}", guard.item());
            failed_again += 1;
            guard.done();
        }
        queue.add_rate_limited(1_000_000 + step); // Advances the store's time too.
        queue.cancel(&(1_000_000 + step));
    }
    assert_eq!(failed_again, 50_000);
}

#[test]
fn an_item_that_fails_after_a_long_silence_begins_anew() {
    let timer = ManualTimer::new();
    let mut limiter = ExponentialBackoff::new(ms(5), ms(1_000_000)).unwrap();
    (0..18).for_each(|_| _ = limiter.next_delay(&1, timer.now()));
    timer.advance(ms(1000) * 60 * 60 * 24 * 30);
    assert_eq!(limiter.next_delay(&1, timer.now()), ms(5));
    assert_eq!(limiter.remembered().expired, 1);
}

#[test]
fn records_that_are_kept_for_a_wait_push_out_none_that_is_newer() {
    let mut limiter =
        ExponentialBackoff::new(ms(5), ms(1000)).unwrap().bounded(8, ms(5000)).unwrap();
    let start = ManualTimer::new().now();
    for item in 1..=4 {
        limiter.next_delay(&item, start);
        limiter.keep_until(&item, start + ms(1_000_000), start);
    }
    let later = start + ms(4000);
    for item in [5, 6] {
        limiter.next_delay(&item, later);
    }
    limiter.next_delay(&7, later + ms(5000));
    let remembered: Vec<u32> = (1..=7).map(|item| limiter.num_requeues(&item)).collect();
    assert_eq!(remembered, [1; 7]);
}

#[test]
fn those_that_failed_last_are_remembered_beside_items_that_wait_long() {
    let start = ManualTimer::new().now();
    let at = |seconds| start + ms(1000) * seconds;
    let mut limiter =
        ExponentialBackoff::new(ms(1000), ms(5000)).unwrap().bounded(16, ms(10_000)).unwrap();
    for item in 0..8 {
        limiter.next_delay(&item, at(0));
        limiter.keep_until(&item, at(3600), at(0));
    }
    (100..108).for_each(|item| _ = limiter.next_delay(&item, at(19)));
    (200..202).for_each(|item| _ = limiter.next_delay(&item, at(20)));
    let last = (102..108).chain(200..202); // Half of the bound is 8.
    assert_eq!(last.map(|item| limiter.num_requeues(&item)).sum::<u32>(), 8);
}

/// Without room, the records that failed first are evicted first.
#[test]
fn items_that_wait_long_are_remembered_beside_those_that_failed_last_while_there_is_room() {
    let start = ManualTimer::new().now();
    let at = |seconds| start + ms(1000) * seconds;
    let mut limiter =
        ExponentialBackoff::new(ms(1000), ms(5000)).unwrap().bounded(8, ms(10_000)).unwrap();
    let mut fail_and_wait = |items: std::ops::Range<u32>, now| {
        for item in items {
            limiter.next_delay(&item, now);
            limiter.keep_until(&item, at(3600), now);
        }
        let known: Vec<u32> = (0..12).filter(|item| limiter.num_requeues(item) > 0).collect();
        (known, limiter.remembered().evicted)
    };
    assert_eq!(fail_and_wait(0..4, at(0)).0.len(), 4);
    assert_eq!(fail_and_wait(4..7, at(19)).0.len(), 7);
    assert_eq!(fail_and_wait(7..8, at(40)), ((0..8).collect(), 0));
    assert_eq!(fail_and_wait(8..9, at(40)), ((4..9).collect(), 4), "there is no room for them");
    assert_eq!(fail_and_wait(9..10, at(80)), ((4..10).collect(), 4));
}

/// They begin to wait at different times, each beside as many others as are always remembered.
#[test]
fn all_that_wait_long_are_remembered_while_there_is_room() {
    let start = ManualTimer::new().now();
    let at = |seconds| start + ms(1000) * seconds;
    let mut limiter =
        ExponentialBackoff::new(ms(1000), ms(5000)).unwrap().bounded(8, ms(10_000)).unwrap();
    let failures: [(u32, &[u32]); 4] =
        [(0, &[1]), (10, &[2, 10, 11, 12]), (20, &[12, 20, 21, 22]), (30, &[30])];
    for (seconds, items) in failures {
        for item in items {
            limiter.next_delay(item, at(seconds));
            if *item < 10 {
                limiter.keep_until(item, at(3600), at(seconds));
            }
        }
    }
    let known: Vec<u32> = (0..40).filter(|item| limiter.num_requeues(item) > 0).collect();
    assert_eq!(known, [1, 2, 12, 20, 21, 22, 30]);
    assert_eq!((limiter.remembered().expired, limiter.remembered().evicted), (2, 0));
}

/// Three items wait, then three more, then two. The first three make room, and the others stay.
#[test]
fn of_those_that_wait_long_the_first_make_room() {
    let start = ManualTimer::new().now();
    let at = |seconds| start + ms(1000) * seconds;
    let mut limiter =
        ExponentialBackoff::new(ms(1000), ms(5000)).unwrap().bounded(8, ms(10_000)).unwrap();
    for (seconds, items) in [(0, 0..3), (10, 3..6), (20, 6..8), (30, 8..9)] {
        for item in items {
            limiter.next_delay(&item, at(seconds));
            limiter.keep_until(&item, at(3600), at(seconds));
        }
    }
    let known: Vec<u32> = (0..9).filter(|item| limiter.num_requeues(item) > 0).collect();
    assert_eq!((known, limiter.remembered().evicted), ((3..9).collect(), 3));
}

/// The bucket of each item holds one token and fills in half an hour.
#[test]
fn a_bucket_that_was_used_last_is_not_full_beside_others_in_debt() {
    let start = ManualTimer::new().now();
    let at = |seconds| start + ms(1000) * seconds;
    let mut limiter = PerItemBucket::new(1, ms(1000) * 1800, 1).unwrap().bounded(8).unwrap();
    for item in 0..4 {
        (0..5).for_each(|_| _ = limiter.next_delay(&item, at(0)));
    }
    (10..12).for_each(|item| assert!(limiter.next_delay(&item, at(3598)).is_zero()));
    (20..23).for_each(|item| assert!(limiter.next_delay(&item, at(3600)).is_zero()));
    assert_eq!(limiter.next_delay(&11, at(3600)), ms(1000) * 1798);
}

#[test]
fn a_bound_that_comes_late_is_one_too() {
    let now = ManualTimer::new().now();
    for (bound, left) in [(20, 10), (19, 0), (2, 0)] {
        let mut limiter = ExponentialBackoff::new(ms(5), ms(1000)).unwrap();
        (0..10).for_each(|item| _ = limiter.next_delay(&item, now));
        let mut limiter = limiter.bounded(bound, ms(5000)).unwrap();
        assert_eq!(
            (limiter.remembered().items, limiter.remembered().evicted),
            (left, 10 - left as u64)
        );
        (10..60).for_each(|item| _ = limiter.next_delay(&item, now));
        assert!(limiter.remembered().items <= bound);
    }
}

#[test]
fn use_alone_evicts_nothing() {
    let now = ManualTimer::new().now();
    let mut limiter =
        ExponentialBackoff::new(ms(5), ms(1000)).unwrap().bounded(4, ms(5000)).unwrap();
    for attempt in 1..100 {
        for item in [1, 2] {
            limiter.next_delay(&item, now);
            assert_eq!(limiter.num_requeues(&item), attempt);
        }
    }
    limiter.next_delay(&3, now);
    limiter.next_delay(&4, now);
    limiter.next_delay(&1, now);
    assert_eq!(limiter.num_requeues(&1), 100, "its own record does not make room for itself");
}

#[test]
fn an_idle_record_lives_its_time_whenever_it_was_used_last() {
    for used in 0..120 {
        let timer = ManualTimer::new();
        let mut limiter =
            ExponentialBackoff::new(ms(5), ms(1000)).unwrap().bounded(1000, ms(5000)).unwrap();
        for step in 0..used + 50 {
            if step == used {
                limiter.next_delay(&1, timer.now());
            }
            timer.advance(ms(100));
            limiter.next_delay(&2, timer.now());
        }
        assert_eq!(limiter.num_requeues(&1), 1, "used after {used} steps");
    }
}

/// An item whose drop calls back into the queue it was in.
#[derive(Clone)]
struct Hostile {
    number: u64,
    queue: Option<Arc<dyn Fn() + Send + Sync>>,
    drops: Arc<AtomicUsize>,
}

impl PartialEq for Hostile {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Hostile {}

impl std::hash::Hash for Hostile {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
        if let Some(call) = &self.queue {
            call();
        }
    }
}

#[test]
fn no_item_is_dropped_under_a_lock() {
    let timer = ManualTimer::new();
    let limiter = ExponentialBackoff::new(ms(5), ms(1000)).unwrap().bounded(4, ms(1001)).unwrap();
    let queue = RateLimitingQueue::builder().limiter(limiter).timer(timer.clone()).build().unwrap();
    let drops = Arc::new(AtomicUsize::new(0));
    let handle = queue.clone();
    let plain = Hostile { number: u64::MAX, queue: None, drops: Arc::clone(&drops) };
    let call: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        // Each takes one of the locks.
        let _ = handle.num_requeues(&plain);
        let _ = handle.delayed_len();
        let _ = handle.deadline(&plain);
    });
    for number in (0..40).chain(0..40) {
        let item = Hostile { number, queue: Some(Arc::clone(&call)), drops: Arc::clone(&drops) };
        queue.add(item.clone());
        queue.add(item.clone());
        queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
        queue.add_rate_limited(item.clone());
        queue.add_after(item.clone(), ms(1));
        timer.advance(ms(1));
        queue.forget(&item);
        queue.cancel(&item);
        while let Ok(guard) = queue.try_get() {
            guard.finish(Outcome::Success).unwrap();
        }
    }
    assert!(drops.load(Ordering::SeqCst) > 100);
}

/// Sets `at_work` during a call, which runs under the lock of `Shared`.
struct Busy<L> {
    limiter: L,
    at_work: Arc<std::sync::atomic::AtomicBool>,
}

impl<T, L: RateLimiter<T>> RateLimiter<T> for Busy<L> {
    fn next_delay(&mut self, item: &T, now: std::time::Instant) -> Duration {
        self.at_work.store(true, Ordering::SeqCst);
        let delay = self.limiter.next_delay(item, now);
        self.at_work.store(false, Ordering::SeqCst);
        delay
    }

    fn forget(&mut self, item: &T) {
        self.limiter.forget(item);
    }

    fn num_requeues(&self, item: &T) -> u32 {
        self.limiter.num_requeues(item)
    }

    fn take_discarded(&mut self) -> Vec<T> {
        self.limiter.take_discarded()
    }
}

/// One handle makes the limiter drop items. Before it takes them away, the other handle calls.
#[test]
fn a_shared_limiter_drops_no_item_under_its_lock() {
    let timer = ManualTimer::new();
    let limiter = ExponentialBackoff::new(ms(5), ms(1000)).unwrap().bounded(4, ms(1001)).unwrap();
    let at_work = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut one = wq_ratelimit::Shared::new(Busy { limiter, at_work: Arc::clone(&at_work) });
    let mut other = one.clone();
    let (drops, under_lock) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&under_lock);
    let call: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        seen.fetch_add(usize::from(at_work.load(Ordering::SeqCst)), Ordering::SeqCst);
    });
    for number in 0..40 {
        let item = Hostile { number, queue: Some(Arc::clone(&call)), drops: Arc::clone(&drops) };
        let handle = if number % 2 == 0 { &mut one } else { &mut other };
        handle.next_delay(&item, timer.now());
    }
    drop((one.take_discarded(), other.take_discarded()));
    assert!(drops.load(Ordering::SeqCst) > 60);
    assert_eq!(under_lock.load(Ordering::SeqCst), 0);
}

/// Counts the calls of its methods.
#[derive(Debug, Default)]
struct Counted {
    fifo: Fifo,
    calls: Arc<AtomicUsize>,
}

impl Backlog for Counted {
    type Order = ();

    fn merge((): &mut (), (): ()) {}

    fn push(&mut self, slot: SlotId, (): ()) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.fifo.push(slot, ());
    }

    fn touch(&mut self, slot: SlotId, (): &()) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.fifo.touch(slot, &());
    }

    fn pop(&mut self) -> Option<(SlotId, ())> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.fifo.pop()
    }

    fn remove(&mut self, slot: SlotId) -> Option<()> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.fifo.remove(slot)
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }
}

/// D24: controller-runtime's queue looks at each such item in every get.
#[test]
fn a_get_beside_many_items_that_run_again_asks_the_backlog_once() {
    let backlog = Counted::default();
    let calls = Arc::clone(&backlog.calls);
    let queue = RateLimitingQueue::<u64, _>::builder()
        .limiter(controller_default())
        .timer(ManualTimer::new())
        .backlog(backlog)
        .build()
        .unwrap();
    queue.add_all(0..1_000);
    let held: Vec<_> = (0..1_000).map(|_| queue.try_get().unwrap()).collect();
    queue.add_all(0..1_000);
    queue.add(5_000);
    let before = calls.load(Ordering::SeqCst);
    queue.try_get().unwrap().finish(Outcome::Success).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst) - before, 1);
    drop(held);
    assert_eq!(queue.counts().queued, 1_000);
}

/// D25: both upstream queues drop such an add silently.
#[test]
fn every_add_after_shutdown_says_so() {
    let queue = RateLimitingQueue::<String, _>::builder()
        .limiter(controller_default())
        .timer(ManualTimer::new())
        .build()
        .unwrap();
    assert!(queue.shutdown().is_empty());
    let item = || "claim".to_owned();
    assert_eq!(queue.add(item()), Added::ShutDown);
    assert_eq!(queue.add_all([item(), item()]).shut_down, 2);
    let delayed = [
        queue.add_after(item(), ms(1)),
        queue.add_rate_limited(item()),
        queue.add_rate_limited_after(item(), ms(1), Combine::Sum),
    ];
    assert_eq!(delayed, [Scheduled::ShutDown; 3]);
    assert_eq!(queue.try_add(item()).unwrap_err().into_item(), "claim");
    assert_eq!(queue.num_requeues(&item()), 0);
}
