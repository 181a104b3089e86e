//! Planted: bugs on purpose, by which the checks are checked. `cargo xtask planted` puts each into the backlog and must see it
//! found; where one goes, the code asks whether it is [`planted`]. Never in a build without `cfg(wq_plant)`.

/// Whether this bug is in the backlog now.
#[cfg(not(wq_plant))]
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}

/// Whether this bug is in the backlog now: `WQ_PLANT` names it.
#[cfg(wq_plant)]
pub(crate) fn planted(bug: &str) -> bool {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("WQ_PLANT").ok());
    debug_assert!(PLANTED_BUGS.iter().any(|(known, _)| *known == bug), "{bug} is in no list");
    CHOSEN.as_deref() == Some(bug)
}

/// Every bug that can be planted, and what is wrong with it in place.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str)] = &[
    ("ageing-never-counts", "no hand-out goes to the priority that has waited longest"),
    (
        "turn-does-not-end-the-wait",
        "a priority that had its turn still counts as the one that has waited longest",
    ),
    ("groups-take-no-turns", "the first group of a priority is served until it is empty"),
    ("emptied-group-keeps-its-credit", "turns that an emptied group has had count for the next one"),
    ("merge-lowers", "an add of a lower priority lowers an item that waits"),
    ("raise-and-lower-set", "adds that raise and lower, merged before the item waits, set its priority"),
    (
        "group-changes-without-end",
        "an item goes to the end of a line whenever it is said to be of another group",
    ),
    ("others-count-all", "items under a priority with a label of its own count under that of the others too"),
    ("raise-begins-the-wait-anew", "a priority that an item is raised to has waited for nothing"),
    (
        "raise-takes-the-place-of-a-crowd",
        "a priority that an item is raised to has its turn before the one that the item has left others under",
    ),
    ("raised-item-keeps-its-place", "an item that is raised stays in its line"),
    ("remove-leaves-its-count", "an item that is taken out still counts as one of its priority"),
];
