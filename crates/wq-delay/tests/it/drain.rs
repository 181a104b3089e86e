//! Shutdown and drain with delayed items.

use std::hash::{Hash, Hasher};
use std::iter::from_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;
use wq_contract::wakes::Wakes;
use wq_delay::{DelayingQueue, Drained, ManualTimer, Scheduled, Timer as _};

const SECOND: Duration = Duration::from_secs(1);

fn queue() -> (DelayingQueue<u64>, ManualTimer) {
    let timer = ManualTimer::new();
    (DelayingQueue::builder().timer(timer.clone()).build().unwrap(), timer)
}

/// Defect D6 of client-go: it loses delayed items silently.
#[test]
fn shutdown_hands_back_what_was_delayed_in_order_and_keeps_what_was_due() {
    let (queue, timer) = queue();
    queue.add_after(3, SECOND * 30);
    queue.add_after(2, SECOND * 20);
    queue.add_after(1, SECOND);
    timer.advance(SECOND);
    assert_eq!(queue.shutdown(), [2, 3]);
    assert_eq!(queue.shutdown(), [0; 0]);
    assert_eq!(queue.add_after(4, SECOND), Scheduled::ShutDown);
    assert_eq!(queue.add_after(4, Duration::ZERO), Scheduled::ShutDown);
    assert_eq!(*queue.try_get().unwrap().item(), 1);
    assert_eq!(queue.delayed_len(), 0);
    assert_eq!(timer.sleepers(), 0);
}

#[test]
fn shutdown_now_hands_back_everything() {
    let (queue, _timer) = queue();
    queue.add_after(3, SECOND);
    queue.add(1);
    assert_eq!(queue.shutdown_now(), [1, 3]);
}

#[test]
fn drained_waits_for_delayed_items() {
    let (queue, timer) = queue();
    queue.add_after(1, SECOND);
    let wakes = Wakes::new();
    let mut drained = pin!(queue.drained());
    assert!(wakes.poll(&mut drained).is_pending());
    timer.advance(SECOND);
    let guard = queue.try_get().unwrap();
    assert!(wakes.poll(&mut drained).is_pending(), "it is in flight");
    let before = wakes.count();
    guard.done();
    assert!(wakes.count() > before);
    assert!(wakes.poll(&mut drained).is_ready());
}

#[test]
fn drained_is_told_when_the_last_delayed_item_is_cancelled() {
    let (queue, _timer) = queue();
    queue.add_after(1, SECOND);
    let wakes = Wakes::new();
    let mut drained = pin!(queue.drained());
    assert!(wakes.poll(&mut drained).is_pending());
    queue.cancel(&1);
    assert_eq!(wakes.count(), 1);
    queue.add(2); // The queue was idle before this add.
    assert!(wakes.poll(&mut drained).is_ready());
}

#[test]
fn drained_is_told_when_shutdown_drops_the_delayed() {
    let (queue, _timer) = queue();
    queue.add_after(1, SECOND);
    let wakes = Wakes::new();
    let mut drained = pin!(queue.drained());
    assert!(wakes.poll(&mut drained).is_pending());
    _ = queue.shutdown();
    assert_eq!(wakes.poll(&mut drained), Poll::Ready(()));
}

#[test]
fn an_idle_moment_of_the_core_is_none_while_something_is_delayed() {
    let (queue, _timer) = queue();
    queue.add(1);
    let wakes = Wakes::new();
    let mut drained = pin!(queue.drained());
    assert!(wakes.poll(&mut drained).is_pending());
    let guard = queue.try_get().unwrap();
    queue.add_after(2, SECOND);
    guard.done();
    queue.cancel(&2);
    queue.add(3);
    // Item 2 was delayed between done and cancel. Nothing was left between cancel and the add of 3.
    let polled = wakes.poll(&mut drained);
    assert!(polled.is_pending(), "nobody looked at that moment, and nobody was asleep on the heap");
    drop(queue.try_get().unwrap());
    assert!(wakes.poll(&mut drained).is_ready());
}

#[test]
fn a_drain_that_does_not_wait_for_delayed_items_can_be_asked_for() {
    let timer = ManualTimer::new();
    let queue: DelayingQueue<u64> =
        DelayingQueue::builder().timer(timer).drain_awaits_delayed(false).build().unwrap();
    queue.add_after(1, SECOND);
    let wakes = Wakes::new();
    assert!(wakes.poll(&mut pin!(queue.drained())).is_ready());
}

#[test]
fn a_blocking_drain_says_what_is_delayed() {
    let (queue, _timer) = queue();
    queue.add_after(1, SECOND);
    let left = queue.drained().wait_timeout(Duration::ZERO).unwrap_err();
    assert_eq!((left.queued, left.delayed, left.in_flight.len()), (0, 1, 0));
}

#[test]
fn what_is_due_is_queued_for_a_drain_that_does_not_wait_for_delayed_items() {
    let timer = ManualTimer::new();
    let builder = DelayingQueue::<u64>::builder().timer(timer.clone()).drain_awaits_delayed(false);
    let queue = builder.build().unwrap();
    queue.add_after(1, SECOND);
    timer.advance(SECOND);
    let wakes = Wakes::new();
    let mut drained = pin!(queue.drained());
    assert!(wakes.poll(&mut drained).is_pending(), "nobody has looked, but it is due");
    queue.try_get().unwrap().done();
    assert_eq!(wakes.count(), 1);
    assert!(wakes.poll(&mut drained).is_ready());
}

/// `Eq` of item 3 with another 3 panics while its flag is set.
#[derive(Clone)]
struct Fuse(u64, Arc<AtomicBool>);

impl PartialEq for Fuse {
    fn eq(&self, other: &Self) -> bool {
        assert!(!(self.0 == 3 && other.0 == 3 && self.1.load(Ordering::SeqCst)), "told to");
        self.0 == other.0
    }
}

impl Eq for Fuse {}

impl Hash for Fuse {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Runs `check` after a look at the queue has panicked, with item 3 in flight and these items due
/// in order.
fn blown(
    due: &[u64],
    check: impl FnOnce(DelayingQueue<Fuse>, Arc<Wakes>, Pin<&mut Drained<'_, Fuse>>),
) {
    let timer = ManualTimer::new();
    let queue = DelayingQueue::builder().timer(timer.clone()).build().unwrap();
    let fuse = Arc::new(AtomicBool::new(false));
    queue.add(Fuse(3, Arc::clone(&fuse)));
    let in_hand = pollster::block_on(queue.get_owned()).unwrap();
    for item in due {
        queue.add_after(Fuse(*item, Arc::clone(&fuse)), SECOND);
    }
    let wakes = Wakes::new();
    let other = queue.clone();
    let mut drained = pin!(other.drained());
    assert!(wakes.poll(&mut drained).is_pending());
    timer.advance(SECOND);
    fuse.store(true, Ordering::SeqCst);
    assert!(catch_unwind(AssertUnwindSafe(|| queue.counts().queued)).is_err());
    in_hand.done();
    check(queue, wakes, drained);
}

#[test]
fn a_panic_while_the_last_delayed_item_is_moved_does_not_hold_up_a_drain() {
    blown(&[3], |queue, wakes, mut drained| {
        assert!(wakes.poll(&mut drained).is_ready());
        assert_eq!(queue.counts().queued, 0, "and the queue goes on");
    });
}

#[test]
fn a_panic_while_items_are_moved_costs_the_item_at_fault_alone() {
    blown(&[5, 1, 3, 4, 2, 6], |queue, wakes, mut drained| {
        assert!(wakes.poll(&mut drained).is_pending());
        assert_eq!(queue.delayed_len(), 0);
        let order: Vec<u64> =
            from_fn(|| queue.try_get().ok().map(|guard| guard.item().0)).collect();
        assert_eq!(order, [5, 1, 4, 2, 6]);
        assert!(wakes.poll(&mut drained).is_ready());
    });
}

#[test]
fn an_idle_moment_of_the_core_is_none_while_something_is_due() {
    let timer = ManualTimer::new();
    let builder = DelayingQueue::<u64>::builder().timer(timer.clone()).drain_awaits_delayed(false);
    let queue = builder.build().unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add_after(2, SECOND);
    let wakes = Wakes::new();
    let mut drained = pin!(queue.drained());
    assert!(wakes.poll(&mut drained).is_pending());
    timer.advance(SECOND * 2);
    guard.done(); // Nothing is queued or in flight, but 2 is due.
    assert!(wakes.poll(&mut drained).is_pending());
    queue.try_get().unwrap().done();
    assert!(wakes.poll(&mut drained).is_ready());
}

/// A waker that panics.
struct Explodes;

impl std::task::Wake for Explodes {
    fn wake(self: Arc<Self>) {
        panic!("a waker's");
    }
}

/// The getter waits in two lines and so is woken twice. Two panics at once would abort the program.
#[test]
fn a_getter_whose_waker_panics_in_a_shutdown_ends_no_program() {
    for now in [false, true] {
        let (queue, _timer) = queue();
        queue.add_after(1, SECOND * 9);
        let waker = std::task::Waker::from(Arc::new(Explodes));
        let mut got = pin!(queue.get());
        assert!(got.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
        let ended = catch_unwind(AssertUnwindSafe(|| {
            if now { queue.shutdown_now() } else { queue.shutdown() }
        }));
        assert!(ended.is_err());
        assert_eq!(queue.shutdown(), [0; 0], "the first call had it");
        assert!(queue.is_shutting_down());
    }
}

#[test]
fn sleepers_whose_wakers_panic_end_no_program() {
    let timer = ManualTimer::new();
    let waker = std::task::Waker::from(Arc::new(Explodes));
    let mut sleeps: Vec<_> =
        (1..4).map(|at| timer.sleep_until(timer.now() + SECOND * at)).collect();
    for sleep in &mut sleeps {
        assert!(sleep.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| timer.advance(SECOND * 5))).is_err());
    assert_eq!(timer.sleepers(), 0);
}

/// `Clone` panics.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NoClone(u8);

impl Clone for NoClone {
    fn clone(&self) -> Self {
        panic!("a clone's");
    }
}

#[test]
fn a_clone_that_panics_in_shutdown_now_loses_no_delayed_item() {
    let builder = DelayingQueue::<NoClone>::builder().timer(ManualTimer::new());
    let queue = builder.build().unwrap();
    queue.add(NoClone(1));
    queue.add_after(NoClone(2), SECOND);
    let ended = catch_unwind(AssertUnwindSafe(|| queue.shutdown_now()));
    let back = ended.unwrap_or_else(|_| queue.shutdown());
    assert!(back.contains(&NoClone(2)), "{back:?}");
}
