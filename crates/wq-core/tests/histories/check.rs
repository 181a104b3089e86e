//! Check: searches for an order of all calls that explains every answer. The algorithm is Wing and
//! Gong's, with Lowe's memory of visited states.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::call::Call;
use crate::oracle::Oracle;
use crate::player::Recorded;

/// The set of calls that have a place in the order, one bit each.
type Placed = u128;

/// Searches for the order. Fails with the history if there is no such order.
pub(crate) fn explain(history: &[Recorded], capacity: Option<usize>) -> Result<(), String> {
    assert!(history.len() <= Placed::BITS as usize, "a history of {} calls", history.len());
    let mut search = Search { history, seen: HashSet::new() };
    if search.goes_on(0, Oracle::new(capacity)) { Ok(()) } else { Err(show(history)) }
}

struct Search<'h> {
    history: &'h [Recorded],
    /// Visited states. The search does not visit them again.
    seen: HashSet<(Placed, Oracle)>,
}

impl Search<'_> {
    fn goes_on(&mut self, mut placed: Placed, oracle: Oracle) -> bool {
        // A call that changes nothing and has the right answer can take its place now.
        while let Some(call) = self.next_calls(placed).find(|&call| {
            let call = &self.history[call].call;
            call.only_looked() && call.ask(&mut oracle.clone()).0
        }) {
            placed |= 1 << call;
        }
        if placed.count_ones() as usize == self.history.len() {
            return true;
        }
        if !self.seen.insert((placed, oracle.clone())) {
            return false;
        }
        let next: Vec<usize> = self.next_calls(placed).collect();
        next.iter().any(|&call| {
            let mut after = oracle.clone();
            let (same, idle) = self.history[call].call.ask(&mut after);
            let mut placed = placed | 1 << call;
            if idle {
                let drains =
                    next.iter().filter(|&&other| self.history[other].call == Call::Drained);
                drains.for_each(|&drain| placed |= 1 << drain);
            }
            same && self.goes_on(placed, after)
        })
    }

    /// Calls without a place that began before any other such call had ended.
    fn next_calls(&self, placed: Placed) -> impl Iterator<Item = usize> {
        let open =
            || self.history.iter().enumerate().filter(move |(call, _)| placed & 1 << call == 0);
        let first_end = open().map(|(_, recorded)| recorded.ended).min().unwrap_or(0);
        open().filter(move |(_, recorded)| recorded.began < first_end).map(|(call, _)| call)
    }
}

fn show(history: &[Recorded]) -> String {
    history.iter().fold(String::new(), |mut text, Recorded { thread, began, ended, call }| {
        let _ = writeln!(text, "{began:>4} to {ended:>4}  thread {thread}: {call:?}");
        text
    })
}
