//! Moves: what stands in high slots when memory is given back, and who finds it afterwards.

use super::*;

/// First in, first out, and knows an id by no other name.
#[derive(Default)]
struct Nameless(Fifo);

impl Backlog for Nameless {
    type Order = ();

    fn merge(_held: &mut (), _new: ()) {}

    fn push(&mut self, id: SlotId, order: ()) {
        self.0.push(id, order);
    }

    fn touch(&mut self, id: SlotId, order: &()) {
        self.0.touch(id, order);
    }

    fn pop(&mut self) -> Option<(SlotId, ())> {
        self.0.pop()
    }

    fn remove(&mut self, id: SlotId) -> Option<()> {
        self.0.remove(id)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

fn nameless() -> State<u64, Nameless> {
    State::new(Nameless::default(), None)
}

/// Takes so many, and ends those that `ends` names.
fn take<B: Backlog<Order = ()>>(
    state: &mut State<u64, B>,
    count: u64,
    ends: impl Fn(u64) -> bool,
) -> Vec<Ticket> {
    let mut stay = Vec::new();
    for _ in 0..count {
        let got = state.next();
        if ends(got.item) {
            assert!(matches!(state.done(got.ticket, None), Finished::Left { .. }));
        } else {
            stay.push(got.ticket);
        }
    }
    stay
}

/// Ten, of which the last are in hand, in the lowest slots by now.
fn last_in_hand(count: u64) -> (Queue, Vec<Ticket>) {
    let mut state = new();
    (0..10).for_each(|item| _ = state.put(item));
    let tickets = take(&mut state, 10, |item| item < 10 - count);
    state.shrink_to(usize::try_from(count).unwrap());
    assert_eq!(state.slab.slots() as u64, count);
    state.check();
    (state, tickets)
}

#[test]
fn a_guard_ends_its_item_where_that_has_moved_to() {
    let (mut state, tickets) = last_in_hand(3);
    assert!(tickets.iter().all(|ticket| state.is_in_force(*ticket)));
    state.put(8);
    for (item, ticket) in (7..10).zip(tickets) {
        match state.done(ticket, None) {
            Finished::Left { item: left, .. } => assert_eq!((left, item == 8), (item, false)),
            Finished::Requeued { .. } => assert_eq!(item, 8),
            Finished::Stale => panic!("{item} is not found"),
        }
        assert!(!state.is_in_force(ticket));
        assert!(matches!(state.done(ticket, None), Finished::Stale), "once");
        state.check();
    }
    assert_eq!(state.next().item, 8);
}

#[test]
fn it_puts_it_back_and_takes_back_what_may_be_taken_back_there() {
    let (mut state, tickets) = last_in_hand(3);
    for item in [7, 9] {
        assert_eq!(state.add_revocable(&mut Some(item), hash(item), (), None), Added::Deferred);
    }
    assert!(state.revoke(tickets[0]).is_some());
    assert!(state.revoke(tickets[1]).is_none());
    state.check();
    assert!(state.put_back(tickets[2], ()));
    assert!(!state.put_back(tickets[2], ()), "it is queued");
    state.check();
    assert_eq!(state.counts(), Counts { queued: 1, in_flight: 2, to_run_again: 0 });
    assert_eq!(state.next().item, 9);
}

/// With the very item in other hands, and with one of the same hash in its old slot and in its new one.
#[test]
fn a_guard_whose_item_was_abandoned_stays_without_effect_wherever_that_is() {
    for abandoned_first in [true, false] {
        let mut state = new();
        (0..10).for_each(|item| _ = state.put(item));
        let tickets = take(&mut state, 10, |item| item < 9);
        let [old] = tickets[..] else { panic!("one is in hand") };
        if !abandoned_first {
            state.shrink_to(1);
        }
        state.put(9);
        assert!(matches!(state.abandon(&9, hash(9), None), Finished::Requeued { .. }));
        let new = state.next().ticket;
        state.shrink_to(1);
        // Of the same hash.
        let others: Vec<_> = (1..8).map(|item| (state.put(item * 3 + 9), state.next().ticket).1).collect();
        state.check();
        assert!(!state.is_in_force(old));
        assert!(!state.put_back(old, ()));
        assert!(matches!(state.done(old, None), Finished::Stale));
        for ticket in others.into_iter().chain([new]) {
            assert!(matches!(state.done(ticket, None), Finished::Left { .. }));
            state.check();
        }
    }
}

/// Items that have left a large table stay in it for a while, with the slots that others have by now.
#[test]
fn no_entry_that_is_leaving_the_table_is_taken_for_one_that_has_moved() {
    let mut state = new();
    (0..30).for_each(|item| _ = state.put(item));
    let tickets = take(&mut state, 30, |item| item % 10 != 9);
    state.shrink_to(3);
    for item in 30..60 {
        state.put(item);
        let got = state.next();
        assert!(matches!(state.done(got.ticket, None), Finished::Left { .. }));
        assert!(tickets.iter().all(|ticket| state.is_in_force(*ticket)));
        assert!(!state.is_in_force(got.ticket));
    }
    for (ticket, expected) in tickets.into_iter().zip([9, 19, 29]) {
        let Finished::Left { item, .. } = state.done(ticket, None) else { panic!("it is found") };
        assert_eq!(item, expected);
        state.check();
    }
}

#[test]
fn what_is_queued_moves_and_keeps_its_place_in_line() {
    let mut state = new();
    (0..20).for_each(|item| _ = state.put(item));
    take(&mut state, 15, |_| true);
    state.shrink_to(5);
    assert_eq!(state.slab.slots(), 5);
    state.check();
    assert_eq!(state.put(17), Added::Merged);
    assert_eq!(state.remove(&16, hash(16)), Some((16, ())));
    let rest: Vec<_> = (0..4).map(|_| state.next().item).collect();
    assert_eq!(rest, [15, 17, 18, 19]);
}

#[test]
fn times_go_with_what_moves() {
    let start = crate::clock::now();
    let at = |seconds| Some(start + Duration::from_secs(seconds));
    let mut state = new();
    for item in 0..10 {
        state.add(&mut Some(item), hash(item), (), false, at(item));
    }
    let mut in_hand = Vec::new();
    for _ in 0..9 {
        let Take::Got(got) = state.get(at(20)) else { panic!("queued") };
        in_hand.push(got.ticket);
    }
    in_hand.drain(..8).for_each(|ticket| drop(state.done(ticket, at(20))));
    state.shrink_to(2);
    assert_eq!(state.slab.slots(), 2);
    assert_eq!(state.gauges(at(25)).longest, Some(Duration::from_secs(5)));
    let Finished::Left { worked, .. } = state.done(in_hand[0], at(26)) else { panic!("it is found") };
    assert_eq!(worked, Some(Duration::from_secs(6)));
    let Take::Got(got) = state.get(at(30)) else { panic!("queued") };
    assert_eq!((got.item, got.waited), (9, Some(Duration::from_secs(21))));
    assert_eq!(state.gauges(at(31)).unfinished, Some(Duration::from_secs(1)));
}

/// The add that gives memory back is one that may be taken back, of an item that moves for it.
#[cfg(not(miri))] // Thousands of items.
#[test]
fn an_add_that_moves_its_item_marks_it_where_it_stands_then() {
    let mut state = new();
    (0..1100).for_each(|item| _ = state.put(item));
    let tickets = take(&mut state, 1100, |item| item < 1099);
    while !state.occupancy.is_low() {
        state.put(0);
        take(&mut state, 1, |_| true);
    }
    assert_eq!(state.slab.slots(), 1100);
    assert_eq!(state.add_revocable(&mut Some(1099), hash(1099), (), None), Added::Deferred);
    assert!(state.slab.slots() <= 64);
    assert!(state.revoke(tickets[0]).is_some());
    state.check();
}

#[test]
fn beside_a_backlog_that_cannot_rename_what_is_queued_keeps_its_slot_and_what_is_above_moves() {
    let mut state = nameless();
    (0..10).for_each(|item| _ = state.put(item));
    take(&mut state, 4, |_| true);
    (5..8).for_each(|item| _ = state.remove(&item, hash(item)));
    assert_eq!((state.next().item, state.next().item), (4, 8));
    state.put(4);
    let _ = state.abandon(&4, hash(4), None);
    // 9 is queued in the slot 9, and 4 again in its own; 8 is in hand.
    state.shrink_to(2);
    assert_eq!(state.slab.slots(), 10);
    assert_eq!(state.remove(&9, hash(9)), Some((9, ())));
    state.shrink_to(2);
    assert_eq!(state.slab.slots(), 5, "8 has moved");
    let slots: Vec<u32> = {
        (20..25).for_each(|item| _ = state.put(item));
        (0..6).map(|_| state.next().ticket.slot()).collect()
    };
    assert_eq!(
        slots,
        [4, 1, 2, 3, 5, 6],
        "low slots come first, those that were retired when there are no others"
    );
    state.slab.check();
}

/// On its way from a guard to the backlog it has no name there.
#[cfg(not(miri))] // Many items, which all hash alike.
#[test]
fn an_item_that_runs_again_leaves_a_slot_that_no_backlog_would_rename() {
    let mut state = nameless();
    (0..1500).for_each(|item| _ = state.put(item));
    let tickets = take(&mut state, 1499, |item| item < 1498);
    state.shrink();
    assert_eq!(state.slab.slots(), 1500, "the last is queued");
    state.put(1498);
    assert!(matches!(state.done(tickets[0], None), Finished::Requeued { .. }));
    take(&mut state, 1, |item| item == 1499);
    state.shrink();
    assert!(state.slab.slots() <= 64, "{} slots", state.slab.slots());
    assert_eq!(state.next().item, 1498);
}

/// All slots are looked through each time that the table moves, and at low occupancy it would move again and again.
#[cfg(not(miri))] // Thousands of items.
#[test]
fn the_table_keeps_room_in_proportion_to_slots_that_cannot_be_given_back() {
    const MANY: u64 = 20_000;
    let hasher = crate::hasher::DefaultHasher::default();
    let hash = |item: u64| ItemHash::of(&item, &hasher);
    let mut state = nameless();
    let add = |state: &mut State<_, _>, item: u64| state.add(&mut Some(item), hash(item), (), false, None);
    (0..MANY).for_each(|item| assert_eq!(add(&mut state, item), Some(Added::Queued)));
    take(&mut state, MANY - 1, |_| true);
    for item in 0..5000 {
        add(&mut state, item);
        assert!(state.remove(&item, hash(item)).is_some());
    }
    assert_eq!(state.slab.slots(), 20_000, "the highest is queued");
    let capacity = state.table.capacity();
    assert!((20_000 / 16..20_000 / 4).contains(&capacity), "room for {capacity}");
}
