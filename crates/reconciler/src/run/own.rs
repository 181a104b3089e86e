//! `OwnWrites`: which events of a key show writes of its own runs. Pure.
//!
//! An event shows such a write if it takes the same object from the same version to the same one.
//! It may come before the write's answer, and then it is judged when the run has ended.

use crate::queue::reasons::Reasons;

/// Writes beyond this many, between two runs, are writes like any other.
const MOST: usize = 1024;

/// The writes of one key's runs, and the events that may show them.
#[derive(Debug, Default)]
pub(crate) struct OwnWrites {
    /// Digests of the steps that were written.
    steps: Vec<u64>,
    /// Events with the digests of their steps.
    unjudged: Vec<(u64, Reasons)>,
}

impl OwnWrites {
    pub(crate) fn wrote(&mut self, step: u64) {
        if self.steps.len() < MOST {
            self.steps.push(step);
        }
    }

    /// Returns the reasons of an event, with its weight for this key.
    pub(crate) fn weigh(&mut self, step: u64, reasons: Reasons) -> Reasons {
        if self.steps.contains(&step) {
            return reasons.own();
        }
        if self.unjudged.len() >= MOST {
            return reasons;
        }
        self.unjudged.push((step, reasons));
        reasons.unjudged()
    }

    /// Weighs the unjudged events among the reasons. No run of the key is active.
    pub(crate) fn judge(&mut self, reasons: Reasons) -> Reasons {
        let unjudged = std::mem::take(&mut self.unjudged);
        let steps = &self.steps;
        reasons.judged(
            unjudged.into_iter().map(
                |(step, reasons)| {
                    if steps.contains(&step) { reasons.own() } else { reasons }
                },
            ),
        )
    }

    /// A run begins. Earlier events have been judged.
    pub(crate) fn begin(&mut self) {
        self.unjudged = Vec::new();
    }

    /// The events of all writes have come.
    pub(crate) fn seen(&mut self) {
        self.steps = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChangeKind;
    use crate::queue::reasons::SourceNumber;

    fn change() -> Reasons {
        Reasons::change(SourceNumber::new(0), ChangeKind::Changed)
    }

    fn merged(all: impl IntoIterator<Item = Reasons>) -> Reasons {
        all.into_iter().fold(Reasons::default(), |mut merged, reasons| {
            merged.merge(reasons);
            merged
        })
    }

    #[test]
    fn an_event_is_own_before_and_after_the_answer_and_only_of_this_write() {
        let (mut writes, status) = (OwnWrites::default(), Reasons::status(SourceNumber::new(0)));
        writes.begin();
        let (early, foreign) = (writes.weigh(1, change()), writes.weigh(9, status));
        assert!(!early.are_weak() && early.are_unjudged());
        writes.wrote(1);
        writes.wrote(2);
        let late = writes.weigh(2, change());
        assert!(late.are_own() && late.are_weak());
        let all = writes.judge(merged([early, foreign, late]));
        assert!(all.are_weak() && !all.are_own(), "the other's is of the status: {all:?}");

        let own = writes.weigh(1, change());
        assert!(own.are_own(), "another source shows it too: {own:?}");
        let all = merged([own, writes.weigh(8, change())]);
        assert!(!writes.judge(all).are_weak());
        let all = merged([own, Reasons::requeued()]);
        assert!(!all.are_own() && !all.are_weak());
        writes.seen();
        assert!(!writes.weigh(1, change()).are_own());
    }

    #[test]
    fn what_is_forgotten_is_an_ordinary_event() {
        let mut writes = OwnWrites::default();
        let early = writes.weigh(1, change());
        writes.begin();
        writes.wrote(1);
        assert!(!writes.judge(early).are_weak());
        for step in 0..2000 {
            writes.wrote(step);
        }
        for step in 2000..4000 {
            writes.weigh(step, change());
        }
        assert_eq!((writes.steps.len(), writes.unjudged.len()), (MOST, MOST));
        assert_eq!(writes.weigh(4000, change()), change());
    }
}
