//! Steps: a hand-out makes as many calls of the backlog however much is in flight (D24).

use std::cell::Cell;

use wq_core::WorkQueue;
use wq_priority::{Backlog, Order, Priority, SlotId};

thread_local! {
    static STEPS: Cell<u32> = const { Cell::new(0) };
}

fn step() {
    STEPS.set(STEPS.get() + 1);
}

/// Counts every call of a backlog.
struct Counted(Priority);

impl Backlog for Counted {
    type Order = Order;

    fn merge(held: &mut Order, new: Order) {
        step();
        Priority::merge(held, new);
    }

    fn push(&mut self, id: SlotId, order: Order) {
        step();
        self.0.push(id, order);
    }

    fn touch(&mut self, id: SlotId, order: &Order) {
        step();
        self.0.touch(id, order);
    }

    fn pop(&mut self) -> Option<(SlotId, Order)> {
        step();
        self.0.pop()
    }

    fn remove(&mut self, id: SlotId) -> Option<Order> {
        step();
        self.0.remove(id)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

fn steps_beside(readded: u32) -> u32 {
    let queue = WorkQueue::builder().backlog(Counted(Priority::new())).build().unwrap();
    let add = |key: u32| queue.add_with(key, Order::priority(i32::try_from(key % 3).unwrap()));
    for key in 0..readded {
        add(key);
    }
    let in_flight: Vec<_> = (0..readded).map(|_| queue.try_get().unwrap()).collect();
    for key in 0..readded {
        add(key);
    }
    assert_eq!(queue.counts().to_run_again, in_flight.len());
    STEPS.set(0);
    for key in readded..readded + 100 {
        add(key);
        assert_eq!(*queue.try_get().unwrap().item(), key);
    }
    STEPS.get()
}

#[test]
#[cfg_attr(miri, ignore = "thousands of items")]
fn a_get_beside_ten_thousand_added_again_in_flight_takes_as_many_steps_as_beside_none() {
    assert_eq!((steps_beside(10_000), steps_beside(0)), (200, 200));
}
