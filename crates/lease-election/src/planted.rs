//! Planted: deliberate bugs, which check the checks.
//! The stage `planted-election` puts each into the election; two kinds of check must find it.
//!
//! The code asks [`planted`] where a bug belongs. A build without `cfg(wq_plant)` has none.

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

/// The bugs that can be planted: the name, the guarantee that it breaks, and its effect.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str, &str)] = &[
    (
        "anchor-at-reply",
        "one valid term at a time",
        "a hold counts from the answer and not from the sending",
    ),
    (
        "guard-without-clock",
        "an ended term never becomes valid again",
        "the guard is a flag and asks no clock",
    ),
    (
        "foreign-news-ignored",
        "definitive news ends the term at once",
        "a leader that reads another holder goes on",
    ),
    (
        "release-before-stop",
        "stop, join, release",
        "a stop gives the lease back while the work goes on",
    ),
    (
        "stop-strands",
        "fast hand-over",
        "a stop does not look for an acquisition that is unanswered",
    ),
    (
        "failure-extends",
        "an unanswered write is unknown",
        "a failed renewal moves the end of the term out",
    ),
    (
        "seconds-repeat",
        "client-go's candidates and these exclude each other",
        "a renewal may repeat the second of the last one, which client-go does not see",
    ),
    (
        "hint-for-ever",
        "hand-over to a named candidate: the others wait no longer than 2.8 s",
        "they leave the lease to the named one for ever",
    ),
    (
        "grant-claimed-at-once",
        "a controller's grant makes no second leader",
        "a grant is claimed while the last leader may act",
    ),
    (
        "half-is-whole",
        "two stores have one leader",
        "the second of two stores that differ is believed",
    ),
];
