//! Planted: bugs on purpose, which check the checks. The stage `planted` puts each into the backlog; two kinds of check must
//! find it.
//!
//! The code asks [`planted`] at the place of a bug. A build without `cfg(wq_plant)` has none of them.

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

/// The bugs that can be planted: the name of each, the promise of README.md that it breaks, and what it does.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str, &str)] = &[
    (
        "raised-item-keeps-its-place",
        "higher first, then first come",
        "an item that is raised stays in its line",
    ),
    ("ageing-never-counts", "nobody starves", "no hand-out goes to the priority that has waited longest"),
    ("groups-take-no-turns", "groups share", "the first group of a priority is served until it is empty"),
    (
        "merge-lowers",
        "a second add lowers a waiting item only if it says so",
        "every add of a lower priority lowers it",
    ),
];
