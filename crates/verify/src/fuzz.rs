//! The same random calls to two servers, whose answers and watches must agree: differences that
//! nobody thought of.
//!
//! A sequence of calls is drawn from a seed, without looking at any answer (`draw`). What a call
//! takes from answers, as versions, uids and tokens, it names by place (`call`), so that each
//! server is sent its own. Answers are compared side by side (`compare`): what each server makes up
//! must be in one-to-one relation, and versions in the same order. A sequence that disagrees is
//! made smaller until nothing can be left out (`shrink`), and printed as the case to add.

mod call;
pub mod compare;
mod draw;
mod kind;
mod kinds;
mod pick;
mod play;
mod print;
mod shrink;

use std::cell::Cell;
use std::collections::BTreeSet;

use futures::StreamExt as _;

pub use crate::fuzz::draw::{draws, draws_of};
pub use crate::fuzz::play::Pair;

/// Calls in one sequence.
const LENGTH: usize = 40;

/// What to play.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// Sequence k is drawn from this + k.
    pub seed: u64,
    /// At least so many calls are played.
    pub calls: usize,
    /// How many sequences run side by side.
    pub at_once: usize,
    /// The kinds that they are about, by name; none for all.
    pub kinds: Vec<String>,
    /// A run ends when so many disagreements of different sorts are known.
    pub enough: usize,
}

impl Plan {
    /// So many calls from a seed, about every kind.
    #[must_use]
    pub const fn new(seed: u64, calls: usize) -> Self {
        Self { seed, calls, at_once: 6, kinds: Vec::new(), enough: 12 }
    }
}

/// What became of a run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// How many calls both servers answered.
    pub calls: usize,
    /// How many watches were compared.
    pub watches: usize,
    /// How many events the watches showed.
    pub events: usize,
    /// How many plays of a sequence were played anew, as nothing could be said of them.
    pub replayed: u32,
    /// What was found, each as small as it gets.
    pub found: Vec<String>,
}

/// Plays what is planned, and makes what disagrees smaller.
///
/// # Cancel safety
///
/// A dropped run leaves namespaces behind.
#[expect(
    clippy::print_stderr,
    reason = "what is found is of use before the end of a run that takes half an hour"
)]
pub async fn run(pair: &Pair, plan: &Plan) -> Report {
    let mut report = Report::default();
    // What has begun is played to its end: of those that take long, many disagree.
    let enough = Cell::new(false);
    let seeds = (0..).map(|at| plan.seed.wrapping_add(at)).take_while(|_| !enough.get());
    let mut played = futures::stream::iter(seeds)
        .map(|seed| async move {
            let drawn = draw::sequence(seed, LENGTH, &plan.kinds);
            let outcome = pair.play(&drawn).await;
            (seed, drawn, outcome)
        })
        // Beside one sequence that is enough, no other is begun.
        .buffer_unordered(plan.at_once.min(plan.calls.div_ceil(LENGTH)).max(1));
    let (mut wrong, mut sorts) = (Vec::new(), BTreeSet::new());
    while let Some((seed, drawn, outcome)) = played.next().await {
        report.calls += outcome.calls;
        report.watches += outcome.watches;
        report.events += outcome.events;
        // One of each sort: what is wrong in one way is often seen.
        let found = outcome.disagreement.filter(|found| sorts.insert(found.sort()));
        if let Some(found) = &found {
            eprintln!("FUZZ_SEED={seed} disagrees: {}\n", found.why);
        }
        wrong.extend(found.map(|disagreement| (seed, drawn, disagreement)));
        enough.set(wrong.len() >= plan.enough || report.calls >= plan.calls);
    }
    report.replayed = pair.replayed();
    wrong.sort_by_key(|(seed, ..)| *seed);
    for (seed, calls, first) in wrong {
        let (calls, disagreement) = shrink::smallest(pair, calls, first).await;
        report.found.push(print::case(seed, &calls, &disagreement));
    }
    report
}
