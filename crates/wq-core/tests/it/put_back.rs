//! Put back: a waker or an observer that panics while an item is handed out costs nobody the item.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use wq_contract::wakes::Wakes;
use wq_core::{Backlog, Observer, Phase, SlotId, WorkQueue};

/// Panics when it is woken.
struct Hostile;

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("the panic that this test wants"));
    }
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

fn rest(queue: &WorkQueue<u32>) -> Vec<u32> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| *guard.item())).collect()
}

type Way = (&'static str, fn(&WorkQueue<u32>));

/// Each way to be handed items.
const WAYS: [Way; 5] = [
    ("try_get", |queue| drop(queue.try_get())),
    ("get_owned", |queue| drop(pollster::block_on(queue.get_owned()))),
    ("get", |queue| drop(pollster::block_on(queue.get()))),
    ("get_blocking", |queue| drop(queue.get_blocking())),
    ("get_timeout", |queue| drop(queue.get_timeout(Duration::ZERO))),
];

/// Three getters in line, of which the last has this waker, and items that have woken the other two. The first is handed one, and wakes
/// the last.
fn first_of_three(queue: &WorkQueue<u32>, last: &Waker) -> bool {
    let (mut first, mut second, mut third, wakes) = (queue.get(), queue.get(), queue.get(), Wakes::new());
    assert!(wakes.poll(&mut first).is_pending() && wakes.poll(&mut second).is_pending());
    assert!(Pin::new(&mut third).poll(&mut Context::from_waker(last)).is_pending());
    queue.add_all([1, 2, 3]);
    assert_eq!(wakes.count(), 2);
    panics(|| wakes.poll(&mut first).is_ready())
}

#[test]
fn the_next_in_line_whose_waker_panics_costs_no_item() {
    let queue = WorkQueue::new();
    assert!(first_of_three(&queue, &Waker::from(Arc::new(Hostile))));
    assert_eq!((queue.len(), queue.in_flight()), (3, 0));
    assert_eq!(rest(&queue), [2, 3, 1]);
}

/// Panics at the first hand-out that it is told of.
struct Tells(std::sync::atomic::AtomicBool);

impl Observer for Tells {
    fn got(&self, _waited: Duration) {
        if !self.0.swap(true, std::sync::atomic::Ordering::SeqCst) {
            resume_unwind(Box::new("the panic that this test wants"));
        }
    }
}

#[test]
fn an_observer_that_panics_costs_no_item() {
    for (way, take) in WAYS {
        let queue = WorkQueue::builder().observer(Tells(false.into())).build().unwrap();
        queue.add_all([1, 2]);
        assert!(panics(|| take(&queue)), "{way}");
        assert_eq!((queue.len(), queue.in_flight()), (2, 0), "{way}");
        let mut left = rest(&queue);
        left.sort_unstable();
        assert_eq!(left, [1, 2], "{way}");
    }
}

/// The item that was in hand ends; nobody has had the next.
#[test]
fn whatever_panics_between_two_items_costs_nobody_the_second() {
    struct Ends;
    impl Observer for Ends {
        fn done(&self, _worked: Duration) {
            resume_unwind(Box::new("the panic that this test wants"));
        }
    }
    let queue = WorkQueue::builder().observer(Ends).build().unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add(2);
    assert!(panics(|| guard.done_and_get().is_ok()));
    assert_eq!((queue.len(), queue.in_flight()), (1, 0));
    assert_eq!(queue.phase(&2), Some(Phase::Queued));
    // And a waker, of one who waits for the item that runs again.
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    queue.add(1);
    let mut get = queue.get();
    let hostile = Waker::from(Arc::new(Hostile));
    assert!(Pin::new(&mut get).poll(&mut Context::from_waker(&hostile)).is_pending());
    assert!(panics(|| guard.done_and_get().is_ok()));
    assert_eq!((queue.phase(&1), queue.in_flight()), (Some(Phase::Queued), 0));
}

/// For layers above: nobody has worked on it.
#[test]
fn an_item_that_its_guard_puts_back_is_queued_at_the_tail_for_whoever_waits() {
    let queue = WorkQueue::new();
    queue.add_all([1, 2, 3]);
    queue.try_get().unwrap().put_back();
    pollster::block_on(queue.get_owned()).unwrap().put_back();
    assert_eq!((queue.len(), queue.in_flight(), rest(&queue)), (3, 0, vec![3, 1, 2]));
    queue.add(4);
    let guard = queue.try_get().unwrap();
    let (mut get, mut drained) = (queue.get(), queue.drained());
    let (getter, drainer) = (Wakes::new(), Wakes::new());
    assert!(getter.poll(&mut get).is_pending() && drainer.poll(&mut drained).is_pending());
    guard.put_back();
    assert!(drainer.poll(&mut drained).is_pending());
    assert_eq!((getter.count(), drainer.count(), getter.poll(&mut get).is_ready()), (1, 0, true));
    let guard = queue.try_get();
    assert!(guard.is_err() && drainer.poll(&mut drained).is_ready());
}

#[test]
fn a_guard_whose_item_was_abandoned_puts_nothing_back() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    assert!(queue.abandon(&1));
    guard.put_back();
    assert!(queue.counts().is_idle());
}

/// It was added again by the very waker that then panics: both requests are one, and it runs once.
#[test]
fn an_item_that_was_added_again_meanwhile_is_put_back_once() {
    struct Adds(WorkQueue<u32>);
    impl Wake for Adds {
        fn wake(self: Arc<Self>) {
            self.0.add(1);
            resume_unwind(Box::new("the panic that this test wants"));
        }
    }
    let queue = WorkQueue::new();
    assert!(first_of_three(&queue, &Waker::from(Arc::new(Adds(queue.clone())))));
    assert_eq!((queue.len(), queue.in_flight()), (3, 0));
    assert_eq!(rest(&queue), [2, 3, 1]);
    assert!(queue.counts().is_idle());
}

/// Two panics at once would end the program.
#[test]
fn two_wakers_that_panic_are_one_panic_and_the_third_is_woken() {
    let queue = WorkQueue::<u32>::new();
    let hostile = Waker::from(Arc::new(Hostile));
    let (mut one, mut two, mut three, wakes) = (queue.get(), queue.get(), queue.get(), Wakes::new());
    assert!(Pin::new(&mut one).poll(&mut Context::from_waker(&hostile)).is_pending());
    assert!(Pin::new(&mut two).poll(&mut Context::from_waker(&hostile)).is_pending());
    assert!(wakes.poll(&mut three).is_pending());
    assert!(panics(|| queue.shutdown()));
    assert_eq!(wakes.count(), 1);
    assert!(queue.is_shutting_down());
}

/// A line whose end is a panic.
#[derive(Default)]
struct Cliff(wq_core::Fifo, bool);

impl Backlog for Cliff {
    type Order = ();

    fn merge((): &mut (), (): ()) {}

    fn push(&mut self, id: SlotId, (): ()) {
        self.0.push(id, ());
    }

    fn touch(&mut self, _id: SlotId, (): &()) {}

    fn pop(&mut self) -> Option<(SlotId, ())> {
        let popped = self.0.pop();
        if popped.is_none() && !std::mem::replace(&mut self.1, true) {
            resume_unwind(Box::new("the panic that this test wants"));
        }
        popped
    }

    fn remove(&mut self, id: SlotId) -> Option<()> {
        self.0.remove(id)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn shrink(&mut self) {
        self.0.shrink();
    }
}

#[test]
fn a_backlog_that_panics_in_shutdown_now_costs_no_item_and_no_drain() {
    let queue = WorkQueue::builder().backlog(Cliff::default()).build().unwrap();
    queue.add_all([1, 2]);
    let (mut drained, wakes) = (queue.drained(), Wakes::new());
    assert!(wakes.poll(&mut drained).is_pending());
    assert!(panics(|| queue.shutdown_now()));
    assert_eq!((queue.len(), queue.is_shutting_down()), (2, true));
    assert_eq!(queue.shutdown_now(), [1, 2]);
    assert_eq!(wakes.count(), 1);
    assert!(wakes.poll(&mut drained).is_ready());
}

struct Silent;

impl Observer for Silent {}

/// Nobody is to begin what is handed back at a shutdown.
#[test]
fn an_item_put_back_after_shutdown_now_is_handed_back_by_the_next_call() {
    for observed in [false, true] {
        let builder = WorkQueue::builder();
        let queue = if observed { builder.observer(Silent) } else { builder }.build().unwrap();
        queue.add_all([1, 2]);
        let (one, two) = (queue.try_get().unwrap(), queue.try_get().unwrap());
        assert_eq!(queue.shutdown_now(), [0; 0]);
        let (mut drained, wakes) = (queue.drained(), Wakes::new());
        assert!(wakes.poll(&mut drained).is_pending());
        two.put_back();
        assert_eq!((queue.len(), queue.in_flight()), (0, 1));
        one.done();
        assert!(wakes.poll(&mut drained).is_ready());
        assert!(queue.try_get().is_err());
        assert_eq!(queue.shutdown_now(), [2]);
        assert_eq!(queue.shutdown_now(), [0; 0]);
    }
}

/// All in one place of the table; 13 cannot be compared.
#[derive(Clone, Debug)]
struct Clashing(u32);

impl Hash for Clashing {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl PartialEq for Clashing {
    fn eq(&self, other: &Self) -> bool {
        if self.0.max(other.0) == 13 {
            resume_unwind(Box::new("the panic that this test wants"));
        }
        self.0 == other.0
    }
}

impl Eq for Clashing {}

/// Two panics at once would end the program.
#[test]
fn a_waker_that_panics_while_a_panic_is_under_way_is_heard_of_no_more() {
    let queue = WorkQueue::new();
    let hostile = Waker::from(Arc::new(Hostile));
    let mut get = queue.get();
    assert!(Pin::new(&mut get).poll(&mut Context::from_waker(&hostile)).is_pending());
    assert!(panics(|| queue.add_all([Clashing(1), Clashing(13)])));
    assert_eq!(queue.len(), 1);
    let mut get = queue.get();
    assert!(Pin::new(&mut get).poll(&mut Context::from_waker(&hostile)).is_ready());
    let mut another = queue.get();
    assert!(Pin::new(&mut another).poll(&mut Context::from_waker(&hostile)).is_pending());
    let mut notices = queue.notices();
    queue.add_quietly(Clashing(2), (), &mut notices);
    assert!(panics(|| {
        let _delivered = notices;
        queue.add(Clashing(13));
    }));
    assert_eq!(queue.len(), 1);
}
