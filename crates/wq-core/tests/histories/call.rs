//! Call: a call of a thread with its answer, and whether the oracle gives the same answer.

use std::collections::BTreeMap;

use wq_core::{Added, Counts, Phase};

use crate::oracle::{Next, Oracle};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Add(u8, Added),
    /// Two items added under one lock, with the numbers queued, deferred, merged and refused.
    AddBoth(u8, u8, [usize; 4]),
    /// `None`: no room.
    TryAdd(u8, Option<Added>),
    /// `Wait` only for a get that does not block.
    Get(Next),
    Done(u8),
    DoneAndGet(u8, Next),
    Abandon(u8, bool),
    /// The end of a guard whose item was abandoned.
    Stale(u8),
    Remove(u8, bool),
    Contains(u8, bool),
    Counts(Counts),
    Snapshot(BTreeMap<u8, Phase>),
    Pause,
    Resume,
    Shutdown,
    ShutdownNow(Vec<u8>),
    Drained,
}

impl Call {
    /// Whether the call with this answer changes nothing, at any place in the order.
    pub(crate) fn only_looked(&self) -> bool {
        match self {
            Self::Add(_, added) | Self::TryAdd(_, Some(added)) => {
                matches!(added, Added::Merged | Added::ShutDown)
            }
            Self::AddBoth(_, _, [queued, deferred, ..]) => queued + deferred == 0,
            Self::Get(next) => !matches!(next, Next::Item(_)),
            Self::Remove(_, did) | Self::Abandon(_, did) => !did,
            Self::TryAdd(_, None)
            | Self::Stale(_)
            | Self::Contains(..)
            | Self::Counts(_)
            | Self::Snapshot(_)
            | Self::Drained => true,
            _ => false,
        }
    }

    /// Asks the oracle the same. Returns whether it gives the same answer, and whether the queue
    /// was idle on the way. A waiting drain may end at that idle moment.
    pub(crate) fn ask(&self, oracle: &mut Oracle) -> (bool, bool) {
        let mut idle = false;
        let same = match self {
            Self::Add(item, answer) => oracle.add(*item) == *answer,
            Self::AddBoth(one, other, answer) => {
                let added = [oracle.add(*one), oracle.add(*other)];
                [Added::Queued, Added::Deferred, Added::Merged, Added::ShutDown]
                    .map(|kind| added.iter().filter(|&&added| added == kind).count())
                    == *answer
            }
            Self::TryAdd(item, answer) => oracle.try_add(*item) == *answer,
            Self::Get(answer) => oracle.get() == *answer,
            Self::Done(item) => {
                oracle.done(*item);
                true
            }
            Self::DoneAndGet(item, answer) => {
                oracle.done(*item);
                idle = oracle.is_idle();
                oracle.get() == *answer
            }
            Self::Abandon(item, answer) => {
                let held = oracle.phases().get(item).is_some_and(|&phase| phase != Phase::Queued);
                if held {
                    oracle.done(*item);
                }
                held == *answer
            }
            Self::Stale(_) => true,
            Self::Remove(item, answer) => oracle.remove(*item).is_some() == *answer,
            Self::Contains(item, answer) => oracle.phases().contains_key(item) == *answer,
            Self::Counts(answer) => {
                let phases = oracle.phases();
                let count = |wanted| phases.values().filter(|&&phase| phase == wanted).count();
                let again = count(Phase::ProcessingDirty);
                answer.queued == count(Phase::Queued)
                    && answer.in_flight == count(Phase::Processing) + again
                    && answer.to_run_again == again
            }
            Self::Snapshot(answer) => oracle.phases() == *answer,
            Self::Pause => {
                oracle.pause();
                true
            }
            Self::Resume => {
                oracle.paused = false;
                true
            }
            Self::Shutdown => {
                oracle.shutdown();
                true
            }
            Self::ShutdownNow(answer) => {
                // The order of items that would run again is not promised.
                let queued = oracle.fifo.len();
                let (mut answer, mut expected) = (answer.clone(), oracle.shutdown_now());
                if let (Some(answer), Some(expected)) =
                    (answer.get_mut(queued..), expected.get_mut(queued..))
                {
                    answer.sort_unstable();
                    expected.sort_unstable();
                }
                answer == expected
            }
            Self::Drained => oracle.is_idle(),
        };
        (same, idle)
    }
}
