//! `Wish`: what an add asks for, and what it makes of the deadline of an item that waits already. Pure: the rules of
//! `SecondAdd` and of debounced adds.

use crate::planted::planted;
use crate::tick::Tick;

/// What happens to the deadline of an item that waits already when it is added with a delay once more.
///
/// The orders of both adds are merged in every case. The answer of the second add, and when the item comes out:
///
#[doc = include_str!("second_add.md")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SecondAdd {
    /// The earlier deadline wins, as in client-go: an earlier request is never lost, a later one is dropped.
    #[default]
    Earliest,
    /// The later deadline wins: each add postpones, for ever if they do not end. See
    /// [`add_debounced`](crate::DelayingQueue::add_debounced) for postponing within bounds.
    Latest,
    /// The newest call wins, whichever way it moves the deadline.
    Replace,
}

impl SecondAdd {
    #[inline]
    fn of(self, held: Tick, new: Tick) -> Tick {
        match self {
            Self::Earliest if planted("latest-wins") => held.max(new),
            Self::Earliest => held.min(new),
            Self::Latest => held.max(new),
            Self::Replace => new,
        }
    }
}

/// When an item that waits is due, and how far debounced adds may put that off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) deadline: Tick,
    /// At or after the deadline.
    pub(crate) limit: Tick,
}

/// What an add asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// This deadline, and what it does to another.
    At(Tick, SecondAdd),
    /// The same, by a retry. It takes the place of another retry.
    Retry(Tick, SecondAdd),
    /// The end of a quiet period that begins with this add, and when the item is due however many follow.
    Debounced { quiet: Tick, limit: Tick },
}

impl Wish {
    #[inline]
    pub(crate) const fn is_retry(self) -> bool {
        matches!(self, Self::Retry(..))
    }

    /// For an item that does not wait yet.
    #[inline]
    pub(crate) fn term(self) -> Term {
        match self {
            Self::At(deadline, _) | Self::Retry(deadline, _) => Term { deadline, limit: deadline },
            Self::Debounced { quiet, limit } => Term { deadline: quiet.min(limit), limit },
        }
    }

    /// For an item that waits.
    #[inline]
    pub(crate) fn after(self, held: Term) -> Term {
        match self {
            Self::At(new, policy) | Self::Retry(new, policy) => {
                Term { deadline: policy.of(held.deadline, new), limit: policy.of(held.limit, new) }
            }
            Self::Debounced { quiet, limit } => {
                let limit = if planted("debounce-without-end") { limit } else { limit.min(held.limit) };
                Term { deadline: quiet.min(limit), limit }
            }
        }
    }
}
