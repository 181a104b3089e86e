//! DeadlineRequest: the deadline that an add asks for, and how it merges with an earlier one. Pure.

use crate::planted::planted;
use crate::tick::Tick;

/// What an add with a delay does to the deadline of a delayed item.
///
/// The orders of both adds are merged. The result of the second add, and when the item comes out:
#[doc = include_str!("second_add.md")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SecondAdd {
    /// The earlier deadline wins, as in client-go.
    #[default]
    Earliest,
    /// The later deadline wins, so each add can postpone the item, without end.
    /// [`add_debounced`](crate::DelayingQueue::add_debounced) postpones within a limit.
    Latest,
    /// The newest deadline wins.
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

/// When an item is due, and how far debounced adds may postpone it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    pub(crate) due: Tick,
    /// At or after `due`.
    pub(crate) limit: Tick,
}

/// The deadline that an add asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeadlineRequest {
    /// This deadline, merged by this policy.
    At(Tick, SecondAdd),
    /// As `At`, by a retry. It replaces another retry.
    Retry(Tick, SecondAdd),
    /// The end of the quiet period of this add, and the latest deadline.
    Debounced { quiet: Tick, limit: Tick },
}

impl DeadlineRequest {
    #[inline]
    pub(crate) const fn is_retry(self) -> bool {
        matches!(self, Self::Retry(..))
    }

    /// For an item that is not delayed yet.
    #[inline]
    pub(crate) fn deadline(self) -> Deadline {
        match self {
            Self::At(deadline, _) | Self::Retry(deadline, _) => {
                Deadline { due: deadline, limit: deadline }
            }
            Self::Debounced { quiet, limit } => Deadline { due: quiet.min(limit), limit },
        }
    }

    /// For an item that is delayed already.
    #[inline]
    pub(crate) fn after(self, held: Deadline) -> Deadline {
        match self {
            Self::At(new, policy) | Self::Retry(new, policy) => {
                Deadline { due: policy.of(held.due, new), limit: policy.of(held.limit, new) }
            }
            Self::Debounced { quiet, limit } => {
                let limit =
                    if planted("debounce-without-end") { limit } else { limit.min(held.limit) };
                Deadline { due: quiet.min(limit), limit }
            }
        }
    }
}
