//! Planted: bugs on purpose, which check the checks.
//!
//! The stage `planted` puts each into the queue, and two kinds of check must find it. The code asks
//! [`planted`] at the place of a bug. A build without `cfg(wq_plant)` has none of them.

/// Whether this bug is in place.
#[cfg(not(wq_plant))]
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}

/// Whether this bug is in place: `WQ_PLANT` names it.
#[cfg(wq_plant)]
pub(crate) fn planted(bug: &str) -> bool {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("WQ_PLANT").ok());
    debug_assert!(PLANTED_BUGS.iter().any(|(known, ..)| *known == bug), "{bug} is not in the list");
    CHOSEN.as_deref() == Some(bug)
}

/// The bugs that can be planted: name, broken promise, effect.
///
/// The promise to release memory has no bug: only `tests/memory` could find it, and two kinds of
/// check must.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str, &str)] = &[
    (
        "pop-without-mark",
        "one worker for an item",
        "`get` does not mark the item that it hands out",
    ),
    (
        "done-clears-dirty",
        "no add is lost",
        "`done` forgets that the item was added while it was processed",
    ),
    ("requeue-to-head", "first in, first out", "an item that runs again goes to the head"),
    (
        "shutdown-wakes-one",
        "after shutdown every get answers `None`",
        "shutdown wakes one getter only",
    ),
    (
        "drain-ignores-queued",
        "drained means that nothing is queued, in flight or coming back",
        "a drain ends while items are queued",
    ),
    (
        "panic-skips-done",
        "a worker that panics frees its item",
        "a guard that is dropped in a panic stays in force",
    ),
    (
        "cancelled-get-keeps-wake-up",
        "a dropped get loses no wake-up",
        "a woken get that is dropped does not wake the next one",
    ),
    (
        "no-pressure",
        "a getter that is held and not polled stalls nobody for long",
        "all others wait for it for ever",
    ),
];
