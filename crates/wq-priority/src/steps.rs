//! Steps: what is looked at on the way to an answer, counted by the crate's own tests and by nobody else.

/// One more comparison, or member of a list looked at.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn step() {}

#[cfg(test)]
pub(crate) use counted::{step, steps_of};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    pub(crate) fn step() {
        STEPS.set(STEPS.get() + 1);
    }

    /// How many steps this takes.
    pub(crate) fn steps_of<R>(run: impl FnOnce() -> R) -> (u64, R) {
        let before = STEPS.get();
        let ran = run();
        (STEPS.get() - before, ran)
    }
}
