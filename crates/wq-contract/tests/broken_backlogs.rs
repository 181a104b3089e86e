//! Broken backlogs: one for each way to break the contract of backlogs, which must see it and say
//! which rule it is.
#![cfg(not(miri))] // Miri plays too few programs to see them all.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wq_contract::backlog::{check, check_first_come, play};
use wq_core::{Backlog, SlotId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    FilledAtFirst,
    LosesSome,
    LosesWhatIsMore,
    HandsOutTwice,
    InventsIds,
    PopsNothing,
    KeepsWhatWasRemoved,
    RemovesAnother,
    RemovesNothing,
    FindsWhatIsNotThere,
    RemoveForgetsTheOrder,
    LenCountsTouches,
    IsEmptyLies,
    ShrinkLoses,
    ShrinkForgetsOrders,
    TouchIsIgnored,
    TouchReplaces,
    TouchMergesBackwards,
    TouchMergesIntoAnother,
    OldOrdersStick,
    LastComeFirst,
}

/// First in, first out; of orders that pile up, so that each and their sequence are seen.
struct Broken {
    defect: Defect,
    line: Vec<(SlotId, Vec<u8>)>,
    /// Ids that have left, with their orders.
    left: Vec<(SlotId, Vec<u8>)>,
    events: usize,
    touches: usize,
}

impl Broken {
    fn new(defect: Defect) -> Self {
        let line = if defect == Defect::FilledAtFirst {
            vec![(SlotId::from_index(3), vec![])]
        } else {
            vec![]
        };
        Self { defect, line, left: Vec::new(), events: 0, touches: 0 }
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == defect
    }

    fn leave(&mut self, place: usize) -> (SlotId, Vec<u8>) {
        let gone = self.line.remove(place);
        self.left.retain(|(id, _)| *id != gone.0);
        self.left.push(gone.clone());
        gone
    }

    fn place(&self, id: SlotId) -> Option<usize> {
        self.line.iter().position(|(other, _)| *other == id)
    }
}

impl Backlog for Broken {
    type Order = Vec<u8>;

    fn merge(held: &mut Vec<u8>, new: Vec<u8>) {
        held.extend(new);
    }

    fn push(&mut self, id: SlotId, mut order: Vec<u8>) {
        self.events += 1;
        let is_lost = self.has(Defect::LosesSome) && self.events.is_multiple_of(7)
            || self.has(Defect::LosesWhatIsMore) && self.line.len() >= 1000;
        if is_lost {
            return;
        }
        if self.has(Defect::OldOrdersStick)
            && let Some((_, old)) = self.left.iter().find(|(other, _)| *other == id)
        {
            order.extend(old);
        }
        self.line.push((id, order));
    }

    fn touch(&mut self, id: SlotId, order: &Vec<u8>) {
        self.touches += 1;
        let Some(place) = self.place(id) else { return };
        let place = if self.has(Defect::TouchMergesIntoAnother) { 0 } else { place };
        let held = &mut self.line[place].1;
        match self.defect {
            Defect::TouchIsIgnored => {}
            Defect::TouchReplaces => held.clone_from(order),
            Defect::TouchMergesBackwards => {
                held.splice(0..0, order.iter().copied());
            }
            _ => Self::merge(held, order.clone()),
        }
    }

    fn pop(&mut self) -> Option<(SlotId, Vec<u8>)> {
        self.events += 1;
        let is_time = self.events.is_multiple_of(5);
        match self.defect {
            _ if self.line.is_empty() => None,
            Defect::PopsNothing if is_time => None,
            Defect::InventsIds if is_time => Some((SlotId::from_index(77), vec![])),
            Defect::HandsOutTwice if is_time => self.line.first().cloned(),
            Defect::LastComeFirst => Some(self.leave(self.line.len() - 1)),
            _ => Some(self.leave(0)),
        }
    }

    fn remove(&mut self, id: SlotId) -> Option<Vec<u8>> {
        let Some(place) = self.place(id) else {
            return self.has(Defect::FindsWhatIsNotThere).then(Vec::new);
        };
        match self.defect {
            Defect::RemovesNothing => None,
            Defect::KeepsWhatWasRemoved => Some(self.line[place].1.clone()),
            Defect::RemovesAnother => {
                let order = self.line[place].1.clone();
                self.leave(0);
                Some(order)
            }
            Defect::RemoveForgetsTheOrder => {
                self.leave(place);
                Some(vec![])
            }
            _ => Some(self.leave(place).1),
        }
    }

    fn len(&self) -> usize {
        self.line.len() + if self.has(Defect::LenCountsTouches) { self.touches } else { 0 }
    }

    fn is_empty(&self) -> bool {
        self.line.is_empty() && !self.has(Defect::IsEmptyLies)
    }

    fn shrink(&mut self) {
        match self.defect {
            Defect::ShrinkLoses => _ = self.line.pop(),
            Defect::ShrinkForgetsOrders => {
                self.line.iter_mut().for_each(|(_, order)| order.clear())
            }
            _ => {}
        }
    }
}

const ORDERS: &[&[u8]] = &[&[1], &[2], &[3, 4]];

/// What the check says of a backlog with this defect.
fn said(check: impl Fn(fn(Defect) -> Broken, &[Vec<u8>])) -> Option<String> {
    let orders: Vec<Vec<u8>> = ORDERS.iter().map(|order| order.to_vec()).collect();
    let payload = catch_unwind(AssertUnwindSafe(|| check(Broken::new, &orders))).err()?;
    Some(*payload.downcast::<String>().unwrap())
}

fn is_seen(defect: Defect, rule: &str) {
    let said = said(|make, orders| check(|| make(defect), orders)).expect("it is not seen");
    assert!(said.starts_with(rule), "{said}");
}

macro_rules! seen {
    ($($name:ident: $defect:ident breaks $rule:literal;)*) => { $(
        #[test]
        fn $name() {
            is_seen(Defect::$defect, $rule);
        }
    )* };
}

seen! {
    one_that_is_not_empty_at_first: FilledAtFirst breaks "len and is_empty say what is there";
    one_that_loses_ids: LosesSome breaks "len and is_empty say what is there";
    one_that_loses_ids_when_there_are_many: LosesWhatIsMore breaks "len and is_empty say what is there";
    one_that_hands_an_id_out_twice: HandsOutTwice breaks "len and is_empty say what is there";
    one_that_invents_ids: InventsIds breaks "what was pushed comes out once, and nothing else does";
    one_that_pops_nothing_though_something_is_there:
        PopsNothing breaks "pop finds something as long as something is there";
    one_that_keeps_what_was_removed: KeepsWhatWasRemoved breaks "len and is_empty say what is there";
    one_that_removes_another: RemovesAnother breaks "what was pushed comes out once, and nothing else does";
    one_that_removes_nothing: RemovesNothing breaks "remove finds an id exactly if it is there";
    one_that_finds_what_is_not_there: FindsWhatIsNotThere breaks "remove finds an id exactly if it is there";
    one_whose_remove_forgets_the_order:
        RemoveForgetsTheOrder breaks "an id comes out with the merge of its orders since its push";
    one_whose_len_is_wrong: LenCountsTouches breaks "len and is_empty say what is there";
    one_whose_is_empty_is_wrong: IsEmptyLies breaks "len and is_empty say what is there";
    one_whose_shrink_loses: ShrinkLoses breaks "len and is_empty say what is there";
    one_whose_shrink_forgets_orders:
        ShrinkForgetsOrders breaks "an id comes out with the merge of its orders since its push";
    one_that_ignores_a_touch: TouchIsIgnored breaks "an id comes out with the merge of its orders since its push";
    one_that_replaces_orders: TouchReplaces breaks "an id comes out with the merge of its orders since its push";
    one_that_merges_backwards:
        TouchMergesBackwards breaks "an id comes out with the merge of its orders since its push";
    one_that_merges_into_another:
        TouchMergesIntoAnother breaks "an id comes out with the merge of its orders since its push";
    one_whose_old_orders_stick: OldOrdersStick breaks "an id comes out with the merge of its orders since its push";
}

#[test]
fn one_that_counts_what_it_does_not_hand_out_is_seen_at_the_end() {
    /// Its books are right; only what comes out is not.
    struct Twice(Broken, Option<(SlotId, Vec<u8>)>);

    impl Backlog for Twice {
        type Order = Vec<u8>;

        fn merge(held: &mut Vec<u8>, new: Vec<u8>) {
            Broken::merge(held, new);
        }

        fn push(&mut self, id: SlotId, order: Vec<u8>) {
            self.0.push(id, order);
        }

        fn touch(&mut self, id: SlotId, order: &Vec<u8>) {
            self.0.touch(id, order);
        }

        fn pop(&mut self) -> Option<(SlotId, Vec<u8>)> {
            let next = self.0.pop().or_else(|| self.1.take())?;
            self.1 = Some(next.clone());
            Some(next)
        }

        fn remove(&mut self, id: SlotId) -> Option<Vec<u8>> {
            self.0.remove(id)
        }

        fn len(&self) -> usize {
            self.0.len()
        }
    }

    let said = said(|make, orders| check(|| Twice(make(Defect::None), None), orders))
        .expect("it is not seen");
    assert!(
        said.starts_with("what was pushed comes out once, and nothing else does: pop found"),
        "{said}"
    );
    assert!(said.contains("after [Add("), "with the shortest program: {said}");
}

#[test]
fn one_that_serves_the_last_first_breaks_the_rule_of_those_who_serve_the_first_first_alone() {
    assert_eq!(said(|make, orders| check(|| make(Defect::LastComeFirst), orders)), None);
    let said = said(|make, orders| check_first_come(|| make(Defect::LastComeFirst), orders));
    let said = said.expect("it is not seen");
    assert!(
        said.starts_with("ids pushed with equal orders come out in the order of their pushes"),
        "{said}"
    );
    assert_eq!(said.matches("Add(").count(), 2, "two are the shortest program: {said}");
}

/// Orders of which one like the other changes nothing: the higher one stays.
#[test]
fn orders_that_cannot_show_whether_they_are_merged_are_refused() {
    #[derive(Default)]
    struct Highest(Vec<(SlotId, u8)>);

    impl Backlog for Highest {
        type Order = u8;

        fn merge(held: &mut u8, new: u8) {
            *held = new.max(*held);
        }

        fn push(&mut self, id: SlotId, order: u8) {
            self.0.push((id, order));
        }

        /// Merges nothing.
        fn touch(&mut self, _: SlotId, _: &u8) {}

        fn pop(&mut self) -> Option<(SlotId, u8)> {
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }

        fn remove(&mut self, id: SlotId) -> Option<u8> {
            let place = self.0.iter().position(|(other, _)| *other == id)?;
            Some(self.0.remove(place).1)
        }

        fn len(&self) -> usize {
            self.0.len()
        }
    }

    let said = |orders: &[u8]| {
        let checked = catch_unwind(AssertUnwindSafe(|| check(Highest::default, orders)));
        *checked.expect_err("it is not seen").downcast::<String>().unwrap()
    };
    for orders in [&[3][..], &[3, 3]] {
        assert!(
            said(orders)
                .starts_with(&format!("orders is {orders:?} but must hold at least 2 that differ"))
        );
    }
    assert!(
        said(&[3, 4]).starts_with("an id comes out with the merge of its orders since its push")
    );
    check_first_come(Highest::default, &[3]);
    let checked = catch_unwind(|| check(|| Broken::new(Defect::TouchIsIgnored), &[vec![3]]));
    let said = checked.expect_err("it is not seen").downcast::<String>().unwrap();
    assert!(said.starts_with("an id comes out with"), "orders that pile up show it alone: {said}");
}

#[test]
fn one_without_a_defect_passes() {
    assert_eq!(said(|make, orders| check(|| make(Defect::None), orders)), None);
    assert_eq!(said(|make, orders| check_first_come(|| make(Defect::None), orders)), None);
}

#[test]
fn a_program_of_ones_own_can_be_played() {
    use wq_contract::backlog::Step::{Add, Pop, Remove, Shrink};

    let steps = || [Add(0, vec![1]), Add(1, vec![]), Add(0, vec![2]), Shrink, Remove(1), Pop, Pop];
    assert_eq!(play(Broken::new(Defect::None), steps()), Ok(()));
    let broken = play(Broken::new(Defect::TouchIsIgnored), steps()).unwrap_err();
    assert_eq!(broken.rule(), "an id comes out with the merge of its orders since its push");
    assert_eq!(
        broken.to_string(),
        format!("{}: 0 came with Some([1]) instead of Some([1, 2])", broken.rule())
    );
}
