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
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str, &str)] = &[
    ("a-tick-early", "never early", "an item comes out a nanosecond before its deadline"),
    ("latest-wins", "of two deadlines the earliest wins by default", "the latest wins"),
    (
        "debounce-without-end",
        "a debounced item waits no longer than the limit",
        "debounced adds put it off for ever",
    ),
    (
        "shutdown-drops-in-silence",
        "shutdown hands back what was still delayed",
        "it drops these items",
    ),
    (
        "reserve-sleeps-for-ever",
        "a timekeeper that is held and not polled stalls nobody",
        "the reserve never looks",
    ),
    ("drain-ignores-delayed", "a drain means what it says", "it does not wait for delayed items"),
];
