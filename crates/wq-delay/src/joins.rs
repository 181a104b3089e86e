//! `Joins`: how an add without a delay joins what its item waits for, where a layer above knows why it waits.

use crate::heap::DelayHeap;
use crate::queue::ImmediateAdd;
use wq_core::ItemHash;

/// How one add without a delay is to join what its item waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joins {
    /// As the queue's own policy has it.
    ByOwnPolicy,
    /// As this policy has it, whatever the item waits for.
    By(ImmediateAdd),
    /// As this policy has it if the item waits for what is [revocable](crate::DelayingQueue::add_revocable) alone, at the moment of
    /// the add; otherwise as the queue's own has it.
    RevocableBy(ImmediateAdd),
}

impl Joins {
    pub(crate) fn policy(self, own: ImmediateAdd) -> ImmediateAdd {
        match self {
            Self::ByOwnPolicy => own,
            Self::By(policy) | Self::RevocableBy(policy) => policy,
        }
    }

    /// Whether it is for an item in this state.
    pub(crate) fn is_for<T: Eq, O>(self, heap: &DelayHeap<T, O>, hash: ItemHash, item: &T) -> bool {
        !matches!(self, Self::RevocableBy(_)) || heap.has_revocable_deadline(hash, item)
    }
}
