//! Faulty: a backlog that panics in any of its methods. Each panic has the documented effect.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use wq_core::{Added, Backlog, Fifo, SlotId, WorkQueue};

thread_local! {
    /// The method that panics, once.
    static FAULT: Cell<Option<&'static str>> = const { Cell::new(None) };
}

fn may_panic(method: &'static str) {
    if FAULT.get() == Some(method) {
        FAULT.set(None);
        resume_unwind(Box::new("the panic that this test wants"));
    }
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

#[derive(Debug, Default)]
struct Faulty(Fifo);

impl Backlog for Faulty {
    type Order = ();

    fn merge(_held: &mut (), _new: ()) {
        may_panic("merge");
    }

    fn push(&mut self, id: SlotId, order: ()) {
        may_panic("push");
        self.0.push(id, order);
    }

    fn touch(&mut self, id: SlotId, order: &()) {
        may_panic("touch");
        self.0.touch(id, order);
    }

    fn pop(&mut self) -> Option<(SlotId, ())> {
        may_panic("pop");
        self.0.pop()
    }

    fn remove(&mut self, id: SlotId) -> Option<()> {
        may_panic("remove");
        self.0.remove(id)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn shrink(&mut self) {
        may_panic("shrink");
        self.0.shrink();
    }
}

type Queue = WorkQueue<u32, Faulty>;

fn queue() -> Queue {
    WorkQueue::builder().backlog(Faulty::default()).build().unwrap()
}

/// Takes all remaining items, in the backlog's order.
fn rest(queue: &Queue) -> Vec<u32> {
    std::iter::from_fn(|| queue.try_get().ok().map(|guard| *guard.item())).collect()
}

#[test]
fn a_panic_in_the_backlog_reaches_the_caller_and_changes_nothing() {
    type Call = fn(&Queue);
    let verbs: [(&str, Call); 8] = [
        ("push", |queue| _ = queue.add(4)),
        ("push", |queue| _ = queue.try_add(4)),
        ("push", |queue| _ = queue.add_all([4, 5])),
        ("touch", |queue| _ = queue.add(2)),
        ("merge", |queue| _ = queue.add(1)),
        ("pop", |queue| drop(queue.try_get())),
        ("pop", |queue| drop(pollster::block_on(queue.get()))),
        ("remove", |queue| _ = queue.remove(&2)),
    ];
    for (method, verb) in verbs {
        let queue = queue();
        queue.add_all([1, 2, 3]);
        let first = queue.try_get().unwrap();
        queue.add(1);
        let before = queue.counts();
        FAULT.set(Some(method));
        assert!(panics(|| verb(&queue)), "{method}");
        assert_eq!((FAULT.get(), queue.counts()), (None, before), "{method}");
        assert_eq!(queue.add(9), Added::Queued, "{method}: it goes on");
        first.done();
        assert_eq!(rest(&queue), [2, 3, 9, 1], "{method}");
        assert!(queue.counts().is_idle());
    }
}
