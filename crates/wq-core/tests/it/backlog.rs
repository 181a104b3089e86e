//! Backlog: `Fifo` against the model, and a backlog that breaks the rules.

use proptest::prelude::Just;
use wq_core::{Backlog, Fifo, SlotId, WorkQueue};

#[test]
fn fifo_obeys_the_books() {
    wq_contract::backlog::obeys_the_books(Fifo::default, Just(()));
}

#[test]
fn fifo_is_fair() {
    wq_contract::backlog::is_fair_among_equals(Fifo::default, Just(()));
}

#[test]
fn fifo_keeps_the_contract() {
    wq_contract::backlog::check(Fifo::default, &[()]);
    wq_contract::backlog::check_first_come(Fifo::default, &[()]);
}

/// Pops each id twice, and ids that were never pushed.
#[derive(Debug, Default)]
struct Liar {
    ids: Vec<SlotId>,
    last: Option<SlotId>,
}

impl Backlog for Liar {
    type Order = ();

    fn merge(_held: &mut (), _new: ()) {}

    fn push(&mut self, id: SlotId, _order: ()) {
        self.ids.push(id);
    }

    fn touch(&mut self, _id: SlotId, _order: &()) {}

    fn pop(&mut self) -> Option<(SlotId, ())> {
        if let Some(again) = self.last.take() {
            return Some((again, ()));
        }
        self.last = self.ids.pop();
        self.last.or(Some(SlotId::from_index(u32::MAX))).map(|id| (id, ()))
    }

    fn remove(&mut self, _id: SlotId) -> Option<()> {
        None
    }

    fn len(&self) -> usize {
        0
    }
}

#[test]
fn a_backlog_that_lies_cannot_hand_an_item_out_twice() {
    let queue = WorkQueue::<u32>::builder().backlog(Liar::default()).build().unwrap();
    queue.add_all([1, 2, 3]);
    // A get that pops a wrong id returns no item.
    let mut held: Vec<_> = (0..20).filter_map(|_| queue.try_get().ok()).collect();
    held.sort_by_key(|guard| *guard.item());
    let items: Vec<u32> = held.iter().map(|guard| *guard.item()).collect();
    assert_eq!(items, [1, 2, 3]);
    assert_eq!(queue.counts().in_flight, 3);
    drop(held);
    assert!(queue.counts().is_idle());
}

/// Last in, first out. Merged orders are appended to each other.
#[derive(Debug, Default)]
struct Stack(Vec<(SlotId, Vec<u8>)>);

impl Backlog for Stack {
    type Order = Vec<u8>;

    fn merge(held: &mut Vec<u8>, new: Vec<u8>) {
        held.extend(new);
    }

    fn push(&mut self, id: SlotId, order: Vec<u8>) {
        self.0.push((id, order));
    }

    fn touch(&mut self, id: SlotId, order: &Vec<u8>) {
        if let Some((_, held)) = self.0.iter_mut().find(|(other, _)| *other == id) {
            Self::merge(held, order.clone());
        }
    }

    fn pop(&mut self) -> Option<(SlotId, Vec<u8>)> {
        self.0.pop()
    }

    fn remove(&mut self, id: SlotId) -> Option<Vec<u8>> {
        let place = self.0.iter().position(|(other, _)| *other == id)?;
        Some(self.0.remove(place).1)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn orders_merge_while_queued_and_while_processing_and_leave_with_the_guard() {
    let queue = WorkQueue::<&str>::builder().backlog(Stack::default()).build().unwrap();
    queue.add_with("a", vec![1]);
    queue.add_with("b", vec![9]);
    queue.add_with("a", vec![2]);
    let b = queue.try_get().unwrap();
    assert_eq!((*b.item(), b.order().as_slice()), ("b", &[9][..]));
    let a = queue.try_get().unwrap();
    assert_eq!((*a.item(), a.order().as_slice()), ("a", &[1, 2][..]));
    queue.add_with("a", vec![3]);
    queue.add_with("a", vec![4]);
    assert_eq!(queue.counts().to_run_again, 1);
    a.done();
    let a = queue.try_get().unwrap();
    assert_eq!((*a.item(), a.order().as_slice()), ("a", &[3, 4][..]));
    drop((a, b));
    queue.add("a");
    assert_eq!(
        queue.try_get().unwrap().order(),
        &[] as &[u8],
        "nothing is left of orders handed out"
    );
}

#[test]
fn a_backlog_must_be_empty_at_the_start() {
    let mut backlog = Fifo::default();
    backlog.push(SlotId::from_index(0), ());
    let error = WorkQueue::<u32>::builder().backlog(backlog).build().unwrap_err();
    assert_eq!(error.to_string(), "backlog holds 1 ids but must hold 0; give each queue a new one");
}
