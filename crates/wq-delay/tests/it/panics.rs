//! Panics of the caller's code, in whichever of its calls: no request that waits is lost by one, and no drain sleeps for ever.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use wq_delay::{Backlog, DelayingQueue, ImmediateAdd, ManualTimer, SlotId};

const SECOND: Duration = Duration::from_secs(1);

thread_local! {
    /// So many calls go well, and the one after that panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
}

fn burn() {
    match FUSE.get() {
        Some(0) => {
            FUSE.set(None);
            resume_unwind(Box::new(())); // Nothing is printed for it.
        }
        left => FUSE.set(left.map(|left| left - 1)),
    }
}

#[derive(Debug)]
struct Fragile(u32);

impl Hash for Fragile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn();
        self.0.hash(state);
    }
}

impl PartialEq for Fragile {
    fn eq(&self, other: &Self) -> bool {
        burn();
        self.0 == other.0
    }
}

impl Eq for Fragile {}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        burn();
        Self(self.0)
    }
}

/// First in, first out, with an order that panics.
#[derive(Debug, Default)]
struct Line(VecDeque<SlotId>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Votes(u32);

impl Clone for Votes {
    fn clone(&self) -> Self {
        burn();
        Self(self.0)
    }
}

impl Backlog for Line {
    type Order = Votes;

    fn merge(held: &mut Votes, new: Votes) {
        burn();
        held.0 += new.0;
    }

    fn push(&mut self, slot: SlotId, _: Votes) {
        self.0.push_back(slot);
    }

    fn touch(&mut self, _: SlotId, _: &Votes) {}

    fn pop(&mut self) -> Option<(SlotId, Votes)> {
        self.0.pop_front().map(|slot| (slot, Votes::default()))
    }

    fn remove(&mut self, slot: SlotId) -> Option<Votes> {
        let at = self.0.iter().position(|other| *other == slot)?;
        self.0.remove(at).map(|_| Votes::default())
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

type Queue = DelayingQueue<Fragile, Line>;

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

/// Takes the step beside a delayed item and a drain again and again, with a panic in its first call, its second and so on,
/// until none is left to panic.
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
        FUSE.set(Some(fuse));
        let went_well = catch_unwind(AssertUnwindSafe(|| step(&queue))).is_ok();
        let is_over = FUSE.take().is_some();
        assert_eq!(went_well, is_over);
        assert!(queue.holds(&Fragile(1)), "{policy:?}: lost by the panic of call {fuse}");
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
        in_each_call(policy, |queue| _ = queue.try_add_with(Fragile(1), Votes(2)));
        in_each_call(policy, |queue| _ = queue.add_after_with(Fragile(1), SECOND / 2, Votes(2)));
        // Beside one that runs, and has been added since.
        in_each_call(policy, |queue| {
            let left = FUSE.take();
            queue.add_by(ImmediateAdd::Keep, Fragile(1), Votes(3));
            let guard = queue.try_get().unwrap();
            queue.add_by(ImmediateAdd::Keep, Fragile(1), Votes(3));
            FUSE.set(left);
            queue.add_with(Fragile(1), Votes(2));
            drop(guard);
        });
    }
}
