//! Backlog: what every [`Backlog`] must do, as a suite for those who write one. It asks a backlog
//! only through the trait.
//!
//! ```
//! use wq_contract::backlog;
//! use wq_core::Fifo;
//!
//! backlog::check(Fifo::default, &[()]);
//! backlog::check_first_come(Fifo::default, &[()]);
//! ```

mod drawn;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::fmt::Debug;

use wq_core::{Backlog, SlotId};

pub use drawn::{is_fair_among_equals, obeys_the_books, obeys_the_books_leaving};

/// How many ids most programs play with. Few, so that they are reused often.
const IDS: u32 = 12;
const PROGRAMS: u64 = if cfg!(miri) { 4 } else { 1000 };
const STEPS: usize = 120;
/// As many as a backlog holds when the workers are slow.
const MANY: u32 = if cfg!(miri) { 100 } else { 5000 };
/// Not held by 16 bits.
const FAR: u32 = 70_000;

/// What a queue does with its backlog. Ids are indices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<O> {
    /// Push if the id is not there, touch if it is: what an add leads to.
    Add(u32, O),
    /// Take out the next id.
    Pop,
    /// Take out this id, which may not be there.
    Remove(u32),
    /// Give memory back.
    Shrink,
}

/// A rule that a backlog has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    rule: &'static str,
    /// What was seen.
    seen: String,
}

impl Broken {
    /// One sentence.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        self.rule
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.seen)
    }
}

impl Error for Broken {}

/// Asks a backlog for every rule that the queue rests on: a thousand programs of up to 120 steps
/// beside a plain map, the same ones in each run, and one that holds thousands of ids at once.
/// `make` makes an empty one each time; `orders` are those that adds come with.
///
/// - A new backlog is empty.
/// - What was pushed comes out once, by `pop` or by `remove`, and nothing else does.
/// - It comes out with its order: the one of its push, into which those of all touches since are
///   [merged](Backlog::merge), one after the other.
/// - `pop` finds something as long as something is there; `remove` finds an id exactly if it is
///   there.
/// - `len` and `is_empty` say what is there.
/// - `shrink` changes nothing of this.
///
/// Whose turn it is is the backlog's own affair, but for [`check_first_come`].
///
/// Whether orders are merged can be seen by `orders` of which two differ, or by one that a second
/// one like it changes. Of a type that has only one value, as `()`, there is nothing to see, and
/// `&[()]` is enough.
///
/// # Panics
///
/// At the first rule that is broken, with the rule and the shortest program found that breaks it;
/// and where the backlog panics, if `orders` is empty or cannot show whether they are merged, or if
/// the backlog is not empty at first.
pub fn check<B>(make: impl Fn() -> B, orders: &[B::Order])
where
    B: Backlog<Order: Debug + PartialEq>,
{
    check_leaving(make, orders, |order| order);
}

/// As [`check`], for a backlog whose orders do not leave as they were merged: `leaves` says how.
///
/// # Panics
///
/// As [`check`].
pub fn check_leaving<B>(
    make: impl Fn() -> B,
    orders: &[B::Order],
    leaves: impl Fn(B::Order) -> B::Order,
) where
    B: Backlog<Order: Debug + PartialEq>,
{
    assert!(
        shows_merging::<B>(orders, &leaves),
        "orders is {orders:?} but must hold at least 2 that differ: no rule about merging is asked with these"
    );
    let play = |steps: &[Step<B::Order>]| play_leaving(make(), steps.iter().cloned(), &leaves);
    for seed in 0..PROGRAMS {
        let mut dice = Dice::new(seed);
        let steps: Vec<_> = (0..dice.below(STEPS)).map(|_| step(&mut dice, orders)).collect();
        if let Err(broken) = play(&steps) {
            let (steps, broken) = shortest(steps, broken, play);
            panic!("{broken}, after {steps:?}");
        }
    }
    // In the order of their ids, added again from the back, every third taken out, and many back in
    // a smaller one.
    let mut dice = Dice::new(PROGRAMS);
    let mut steps: Vec<_> = (0..MANY).map(|id| Step::Add(id, dice.one_of(orders))).collect();
    steps.extend((0..MANY).rev().step_by(2).map(|id| Step::Add(id, dice.one_of(orders))));
    steps.extend((0..MANY).step_by(3).map(Step::Remove));
    steps.push(Step::Shrink);
    steps.extend((0..MANY).step_by(2).map(|id| Step::Add(id, dice.one_of(orders))));
    steps.push(Step::Add(FAR, dice.one_of(orders)));
    if let Err(broken) = play(&steps) {
        panic!("{broken}, with {MANY} ids at once");
    }
}

/// Whether it makes a difference that orders are merged. If there are none, something else is to be
/// said.
fn shows_merging<B>(orders: &[B::Order], leaves: &impl Fn(B::Order) -> B::Order) -> bool
where
    B: Backlog<Order: PartialEq>,
{
    let Some(first) = orders.first().filter(|_| size_of::<B::Order>() > 0) else { return true };
    let mut twice = first.clone();
    B::merge(&mut twice, first.clone());
    leaves(twice) != leaves(first.clone()) || orders.iter().any(|order| order != first)
}

/// Asks a backlog whether ids that are pushed with equal orders come out in the order of their
/// pushes. Not every backlog has to.
///
/// # Panics
///
/// If they do not, with the shortest program found; otherwise as [`check`].
pub fn check_first_come<B>(make: impl Fn() -> B, orders: &[B::Order])
where
    B: Backlog<Order: Debug + PartialEq>,
{
    for seed in 0..PROGRAMS {
        let mut dice = Dice::new(seed);
        let order = dice.one_of(orders);
        let kinds = |dice: &mut Dice| match dice.below(5) {
            0..3 => Step::Add(dice.id(), order.clone()),
            3 => Step::Pop,
            _ => Step::Remove(dice.id()),
        };
        let steps: Vec<_> = (0..dice.below(STEPS)).map(|_| kinds(&mut dice)).collect();
        let play = |steps: &[Step<B::Order>]| play_in_line(make(), steps);
        if let Err(broken) = play(&steps) {
            let (steps, broken) = shortest(steps, broken, play);
            panic!("{broken}, after {steps:?}");
        }
    }
}

/// Plays the steps on an empty backlog beside a plain map, as [`check`] does: for a fuzzer, or a
/// program of your own.
///
/// # Errors
///
/// The first rule that was broken.
pub fn play<B>(backlog: B, steps: impl IntoIterator<Item = Step<B::Order>>) -> Result<(), Broken>
where
    B: Backlog<Order: Debug + PartialEq>,
{
    play_leaving(backlog, steps, |order| order)
}

/// As [`play`], for a backlog whose orders do not leave as they were merged: `leaves` says how.
///
/// # Errors
///
/// As [`play`].
pub fn play_leaving<B>(
    mut backlog: B,
    steps: impl IntoIterator<Item = Step<B::Order>>,
    leaves: impl Fn(B::Order) -> B::Order,
) -> Result<(), Broken>
where
    B: Backlog<Order: Debug + PartialEq>,
{
    let mut held: BTreeMap<u32, B::Order> = BTreeMap::new();
    counts(&backlog, held.len())?;
    for step in steps {
        match step {
            Step::Add(id, order) => match held.get_mut(&id) {
                Some(merged) => {
                    backlog.touch(SlotId::from_index(id), &order);
                    B::merge(merged, order);
                }
                None => {
                    backlog.push(SlotId::from_index(id), order.clone());
                    held.insert(id, order);
                }
            },
            Step::Pop => pop(&mut backlog, &mut held, &leaves)?,
            Step::Remove(id) => {
                let found = backlog.remove(SlotId::from_index(id));
                let expected = held.remove(&id).map(&leaves);
                must(
                    found.is_some() == expected.is_some(),
                    "remove finds an id exactly if it is there",
                    || format!("of {id} it says {found:?} instead of {expected:?}"),
                )?;
                leaves_with(id, found, expected)?;
            }
            Step::Shrink => backlog.shrink(),
        }
        counts(&backlog, held.len())?;
    }
    while !held.is_empty() {
        pop(&mut backlog, &mut held, &leaves)?;
        counts(&backlog, held.len())?;
    }
    pop(&mut backlog, &mut held, &leaves)
}

fn pop<B>(
    backlog: &mut B,
    held: &mut BTreeMap<u32, B::Order>,
    leaves: &impl Fn(B::Order) -> B::Order,
) -> Result<(), Broken>
where
    B: Backlog<Order: Debug + PartialEq>,
{
    let Some((id, order)) = backlog.pop() else {
        let rule = "pop finds something as long as something is there";
        return must(held.is_empty(), rule, || format!("it found nothing, and {held:?} is there"));
    };
    let id = id.index();
    let expected = held.remove(&id).map(leaves);
    must(expected.is_some(), "what was pushed comes out once, and nothing else does", || {
        format!("pop found {id}, which is not there")
    })?;
    leaves_with(id, Some(order), expected)
}

fn leaves_with<O: Debug + PartialEq>(
    id: u32,
    found: Option<O>,
    expected: Option<O>,
) -> Result<(), Broken> {
    must(found == expected, "an id comes out with the merge of its orders since its push", || {
        format!("{id} came with {found:?} instead of {expected:?}")
    })
}

fn counts(backlog: &impl Backlog, held: usize) -> Result<(), Broken> {
    let (len, is_empty) = (backlog.len(), backlog.is_empty());
    must(len == held && is_empty == (held == 0), "len and is_empty say what is there", || {
        format!("len is {len} and is_empty {is_empty}, and {held} ids are there")
    })
}

/// The steps on an empty backlog beside a line. An id that is there is not added again.
fn play_in_line<B>(mut backlog: B, steps: &[Step<B::Order>]) -> Result<(), Broken>
where
    B: Backlog<Order: Debug + PartialEq>,
{
    let mut line: Vec<u32> = Vec::new();
    let pops = |backlog: &mut B, line: &mut Vec<u32>| {
        let next = (!line.is_empty()).then(|| line.remove(0));
        let found = backlog.pop().map(|(id, _)| id.index());
        must(
            found == next,
            "ids pushed with equal orders come out in the order of their pushes",
            || format!("pop found {found:?} instead of {next:?}"),
        )
    };
    for step in steps {
        match step {
            Step::Add(id, order) if !line.contains(id) => {
                backlog.push(SlotId::from_index(*id), order.clone());
                line.push(*id);
            }
            Step::Remove(id) => {
                backlog.remove(SlotId::from_index(*id));
                line.retain(|other| other != id);
            }
            Step::Pop => pops(&mut backlog, &mut line)?,
            Step::Add(..) | Step::Shrink => {}
        }
    }
    while !line.is_empty() {
        pops(&mut backlog, &mut line)?;
    }
    Ok(())
}

fn must(holds: bool, rule: &'static str, seen: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { rule, seen: seen() }) }
}

fn step<O: Clone>(dice: &mut Dice, orders: &[O]) -> Step<O> {
    match dice.below(11) {
        0..5 => Step::Add(dice.id(), dice.one_of(orders)),
        5..9 => Step::Pop,
        9 => Step::Remove(dice.id()),
        _ => Step::Shrink,
    }
}

/// Leaves out one step after the other, as long as a rule is broken still.
fn shortest<O: Clone>(
    mut steps: Vec<Step<O>>,
    mut broken: Broken,
    play: impl Fn(&[Step<O>]) -> Result<(), Broken>,
) -> (Vec<Step<O>>, Broken) {
    let mut at = steps.len();
    while at > 0 {
        at -= 1;
        let mut fewer = steps.clone();
        fewer.remove(at);
        if let Err(still) = play(&fewer) {
            (steps, broken, at) = (fewer, still, steps.len() - 1);
        }
    }
    (steps, broken)
}

/// Numbers that look random, the same in each run.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D)
    }

    /// A number below `sides`; zero if `sides` is zero.
    fn below(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides.max(1)
    }

    fn id(&mut self) -> u32 {
        u32::try_from(self.below(IDS as usize)).unwrap_or(0)
    }

    fn one_of<O: Clone>(&mut self, orders: &[O]) -> O {
        let order = orders.get(self.below(orders.len()));
        order.expect("orders is empty but must hold at least 1").clone()
    }
}
