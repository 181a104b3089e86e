//! Transition: which waiters a change of the state concerns.

use crate::added::Added;
use crate::state::Finished;

#[derive(Clone, Copy)]
pub(crate) struct Transition {
    /// One more item can be handed out.
    pub(crate) work: bool,
    /// An add brought nothing new: woken getters have not taken the item yet.
    pub(crate) again: bool,
    /// The state may have become idle.
    pub(crate) idle: bool,
}

impl Transition {
    pub(crate) const NONE: Self = Self { work: false, again: false, idle: false };
    pub(crate) const WORK: Self = Self { work: true, ..Self::NONE };
    const AGAIN: Self = Self { again: true, ..Self::NONE };
    pub(crate) const IDLE: Self = Self { idle: true, ..Self::NONE };

    #[inline]
    pub(crate) fn of_add(added: Added) -> Self {
        match added {
            Added::Queued => Self::WORK,
            Added::Merged | Added::Deferred => Self::AGAIN,
            _ => Self::NONE,
        }
    }

    #[inline]
    pub(crate) fn of_finish<T>(finished: &Finished<T>) -> Self {
        match finished {
            Finished::Left { .. } => Self::IDLE,
            Finished::Requeued { .. } => Self::WORK,
            Finished::Stale => Self::NONE,
        }
    }

    #[inline]
    pub(crate) const fn is_any(self) -> bool {
        self.work || self.idle
    }
}
