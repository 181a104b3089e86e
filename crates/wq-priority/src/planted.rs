//! Planted bugs: faults on purpose, which check the checks. The stage `planted` plants each of
//! them, and two kinds of checks must find it. A build without `cfg(wq_plant)` has none.

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

/// The name of each bug, the promise of README.md that it breaks, and its effect.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str, &str)] = &[
    (
        "raised-item-keeps-its-place",
        "a raised item moves to its new priority",
        "a raised item stays where it is",
    ),
    ("ageing-never-counts", "no priority starves", "no hand-out goes to the oldest priority"),
    (
        "groups-take-no-turns",
        "groups share a priority",
        "the first group is served until it is empty",
    ),
    (
        "merge-lowers",
        "an add lowers an item only by `Set`",
        "each add of a lower priority lowers it",
    ),
];
