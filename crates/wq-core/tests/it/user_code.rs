//! User code that panics, other than `Hash`, `Eq` and `Clone`: a waker, an observer, `Drop` of an
//! item. A panic loses at most the item at hand, all other waiters wake, and the queue stays
//! usable.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use wq_contract::wakes::Wakes;
use wq_core::{Added, Observer, ProcessingGuard, WorkQueue};

/// Panics when it is woken.
struct Hostile;

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("the panic that this test wants"));
    }
}

fn hostile<F: Future + Unpin>(future: &mut F) -> bool {
    let waker = Waker::from(Arc::new(Hostile));
    Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending()
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

/// Checks that nothing is stuck, and that at most one of these items is lost.
fn goes_on(queue: &WorkQueue<u32>, items: usize, case: &str) {
    assert_eq!(queue.counts().in_flight, 0, "{case}");
    let left = queue.counts().queued;
    assert!(left + 1 >= items, "{case}: {left} of {items} are left");
    assert_eq!(queue.add(99), Added::Queued, "{case}");
    for _ in 0..=left {
        queue.try_get().unwrap().done();
    }
    assert!(queue.counts().is_idle(), "{case}");
}

type Way = (&'static str, fn(&WorkQueue<u32>));

/// Each way to get an item.
const WAYS: [Way; 5] = [
    ("try_get", |queue| drop(queue.try_get())),
    ("get_owned", |queue| drop(pollster::block_on(queue.get_owned()))),
    ("get", |queue| drop(pollster::block_on(queue.get()))),
    ("get_blocking", |queue| drop(queue.get_blocking())),
    ("get_timeout", |queue| drop(queue.get_timeout(Duration::ZERO))),
];

/// Panics at the first hand-out that it observes.
struct Tells(AtomicBool);

impl Observer for Tells {
    fn got(&self, _waited: Duration) {
        if !self.0.swap(true, SeqCst) {
            resume_unwind(Box::new("the panic that this test wants"));
        }
    }
}

#[test]
fn an_observer_that_panics_costs_the_item_at_hand_at_most() {
    for (way, take) in WAYS {
        let queue = WorkQueue::builder().observer(Tells(false.into())).build().unwrap();
        queue.add_all([1, 2]);
        assert!(panics(|| take(&queue)), "{way}");
        goes_on(&queue, 2, way);
    }
}

#[test]
fn a_getter_that_wakes_one_whose_waker_panics_costs_the_item_at_hand_at_most() {
    let queue = WorkQueue::new();
    let (mut first, mut second, mut third, wakes) =
        (queue.get(), queue.get(), queue.get(), Wakes::new());
    assert!(wakes.poll(&mut first).is_pending() && wakes.poll(&mut second).is_pending());
    assert!(hostile(&mut third));
    queue.add_all([1, 2, 3]);
    assert!(panics(|| wakes.poll(&mut first).is_ready()));
    drop((first, second, third));
    goes_on(&queue, 3, "get");
}

#[test]
fn a_waker_that_panics_at_the_end_of_the_work_costs_the_next_item_at_most() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add(1);
    let mut get = queue.get();
    assert!(hostile(&mut get));
    assert!(panics(|| guard.done_and_get().map(ProcessingGuard::done).is_ok()));
    drop(get);
    goes_on(&queue, 1, "done_and_get");
}

#[test]
fn a_waker_that_panics_keeps_nobody_else_asleep() {
    let queue = WorkQueue::<u32>::new();
    let (mut one, mut two, mut three, wakes) =
        (queue.get(), queue.get(), queue.get(), Wakes::new());
    assert!(hostile(&mut one));
    assert!(wakes.poll(&mut two).is_pending() && wakes.poll(&mut three).is_pending());
    assert!(panics(|| queue.shutdown()));
    assert_eq!((wakes.count(), queue.is_shutting_down()), (2, true));
}

/// Two panics at once would abort the program.
#[test]
fn two_wakers_that_panic_are_one_panic() {
    let queue = WorkQueue::<u32>::new();
    let (mut one, mut two, mut three, wakes) =
        (queue.get(), queue.get(), queue.get(), Wakes::new());
    assert!(hostile(&mut one) && hostile(&mut two) && wakes.poll(&mut three).is_pending());
    assert!(panics(|| queue.shutdown()));
    assert_eq!(wakes.count(), 1);
}

#[test]
fn an_item_whose_drop_panics_costs_the_next_item_at_most() {
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Bomb(u32);
    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 == 13 && !std::thread::panicking() {
                resume_unwind(Box::new("the panic that this test wants"));
            }
        }
    }
    let queue = WorkQueue::new();
    queue.add_all([Bomb(13), Bomb(2), Bomb(3)]);
    let guard = queue.try_get().unwrap();
    assert!(panics(|| guard.done_and_get().map(ProcessingGuard::done).is_ok()));
    assert_eq!(queue.counts().in_flight, 0);
    assert_ne!(queue.counts().queued, 0);
    assert_eq!(queue.try_get().unwrap().item().0, 3);
}
