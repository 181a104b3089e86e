//! The same random calls to two servers, whose answers and watches must agree: differences that nobody thought of.
//!
//! A sequence of calls is drawn from a seed, without looking at any answer (`draw`). What a call takes from answers,
//! as versions, uids and tokens, it names by place (`call`), so that each server is sent its own. Answers are compared
//! side by side (`compare`): what each server makes up must be in one-to-one relation, and versions in the same order.
//! A sequence that disagrees is made smaller until nothing can be left out (`shrink`), and printed as the case to add.

mod call;
mod compare;
mod draw;
mod kinds;
mod play;
mod print;
mod shrink;

use std::collections::BTreeSet;

use futures::StreamExt as _;

pub use crate::fuzz::play::Pair;

/// Calls in one sequence.
const LENGTH: usize = 40;
/// Sequences that disagree are few, or the rest says nothing new.
const ENOUGH: usize = 12;

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
    /// What was found, each as small as it gets.
    pub found: Vec<String>,
}

/// Plays at least `calls` calls, in sequences of which `at_once` run side by side; sequence k is drawn from `seed + k`.
/// `only`: the kinds that they are about, by name; none for all.
///
/// # Cancel safety
///
/// A dropped run leaves namespaces behind.
pub async fn run(pair: &Pair, seed: u64, calls: usize, at_once: usize, only: &[String]) -> Report {
    let mut report = Report::default();
    let seeds = (0..).map(|at| seed.wrapping_add(at));
    let mut played = futures::stream::iter(seeds)
        .map(|seed| async move {
            let drawn = draw::sequence(seed, LENGTH, only);
            let outcome = pair.play(&drawn).await;
            (seed, drawn, outcome)
        })
        .buffer_unordered(at_once);
    let (mut wrong, mut sorts) = (Vec::new(), BTreeSet::new());
    while let Some((seed, drawn, outcome)) = played.next().await {
        report.calls += outcome.calls;
        report.watches += outcome.watches;
        report.events += outcome.events;
        // One of each sort: what is wrong in one way is often seen.
        let found = outcome.disagreement.filter(|found| sorts.insert(found.sort()));
        wrong.extend(found.map(|disagreement| (seed, drawn, disagreement)));
        if wrong.len() >= ENOUGH || report.calls >= calls {
            break;
        }
    }
    drop(played);
    wrong.sort_by_key(|(seed, ..)| *seed);
    for (seed, calls, first) in wrong {
        let (calls, disagreement) = shrink::smallest(pair, calls, first).await;
        report.found.push(print::case(seed, &calls, &disagreement));
    }
    report
}
