//! Panics in user code. A panic of an item or a backlog loses no waiting request and leaves no
//! drain asleep. A panic of a waker loses at most the item at hand.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use wq_contract::fragile::{Fragile, Fuse, Line, Votes};
use wq_delay::{DelayingQueue, ImmediateAdd, ManualTimer};

const SECOND: Duration = Duration::from_secs(1);

type Queue = DelayingQueue<Fragile, Line>;

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// Runs the step beside a delayed item and a drain, with a panic in its first call of user code,
/// its second and so on. Ends when no call is left.
fn in_each_call(policy: ImmediateAdd, step: impl Fn(&Queue)) {
    for fuse in 0.. {
        let timer = ManualTimer::new();
        let queue = DelayingQueue::builder()
            .backlog(Line::default())
            .immediate_add(policy)
            .timer(timer.clone())
            .build()
            .unwrap();
        queue.add_after_with(Fragile(1), SECOND, Votes(1));
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut drained = pin!(queue.drained());
        assert!(drained.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        Fuse::after(fuse).light();
        let went_well = catch_unwind(AssertUnwindSafe(|| step(&queue))).is_ok();
        let is_over = Fuse::put_out().is_some();
        assert_eq!(went_well, is_over);
        let is_here = queue.phase(&Fragile(1)).is_some() || queue.deadline(&Fragile(1)).is_some();
        assert!(is_here, "{policy:?}: lost by the panic of call {fuse}");
        timer.advance(SECOND);
        let mut runs = 0;
        while let Ok(guard) = queue.try_get() {
            guard.done();
            runs += 1;
        }
        assert!(runs > 0);
        assert!(flag.0.load(SeqCst), "{policy:?}: call {fuse} has left the drain asleep");
        assert_eq!(drained.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(()));
        if is_over {
            assert!(fuse > 0, "what has panicked?");
            return;
        }
    }
}

#[test]
fn a_panic_in_an_add_costs_no_request_that_waits() {
    for policy in [ImmediateAdd::Keep, ImmediateAdd::Merge, ImmediateAdd::Defer] {
        in_each_call(policy, |queue| _ = queue.add_with(Fragile(1), Votes(2)));
        in_each_call(policy, |queue| _ = queue.try_add(Fragile(1)));
        in_each_call(policy, |queue| _ = queue.add_after_with(Fragile(1), SECOND / 2, Votes(2)));
        // Here the item is in flight and will run again.
        in_each_call(policy, |queue| {
            let left = Fuse::put_out();
            queue.retries().add_event(ImmediateAdd::Keep, ImmediateAdd::Keep, Fragile(1), Votes(3));
            let guard = queue.try_get().unwrap();
            queue.retries().add_event(ImmediateAdd::Keep, ImmediateAdd::Keep, Fragile(1), Votes(3));
            left.into_iter().for_each(Fuse::light);
            queue.add_with(Fragile(1), Votes(2));
            drop(guard);
        });
    }
}

/// Panics when it is woken.
struct Hostile;

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new(())); // `resume_unwind` prints nothing.
    }
}

/// A getter that gets an item stops keeping time, and wakes its successor.
#[test]
fn a_getter_whose_successor_has_a_waker_that_panics_costs_the_item_at_hand_at_most() {
    let queue = DelayingQueue::<u32>::builder().timer(ManualTimer::new()).build().unwrap();
    queue.add_after(9, SECOND);
    let (mut first, mut second) = (Box::pin(queue.get()), pin!(queue.get()));
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let hostile = Waker::from(Arc::new(Hostile));
    assert!(second.as_mut().poll(&mut Context::from_waker(&hostile)).is_pending());
    queue.add(1);
    let poll = || first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    assert!(catch_unwind(AssertUnwindSafe(poll)).is_err(), "nobody was woken");
    drop(first);
    assert_eq!(queue.counts().in_flight, 0);
    let mut poll = || second.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    let has_the_first = poll();
    queue.add(2);
    assert!(has_the_first || poll());
}
