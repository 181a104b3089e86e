//! Planted: bugs on purpose, which check the checks.
//!
//! The stage `planted` puts each into the limiters and the queue, and two kinds of check must find
//! it. The code asks [`planted`] at the place of a bug. A build without `cfg(wq_plant)` has none.

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
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str, &str)] = &[
    (
        "success-keeps-attempts",
        "one call ends the work",
        "`finish(Success)` keeps the attempts of the item",
    ),
    (
        "early-attempt-counts",
        "only attempts that had their time count",
        "an event that comes early raises the back-off",
    ),
    (
        "finish-cancels-requests",
        "an outcome replaces the retry that waits, and nothing else",
        "`finish(Success)` takes out what a user has asked for",
    ),
    (
        "token-taken-twice",
        "a bucket grants no more than its burst and rate",
        "two threads take the same token",
    ),
    (
        "doubling-overflows",
        "limiters saturate",
        "a back-off that has doubled often enough starts again",
    ),
    ("store-without-bound", "memory is bounded", "a store of failures grows with every item"),
];
