//! Planted: bugs on purpose, by which the checks are checked. `cargo xtask planted` puts each into the election and must see it found; where one
//! goes, the code asks whether it is [`planted`]. Never in a build without `cfg(wq_plant)`.

/// Whether this bug is in the election now.
#[cfg(not(wq_plant))]
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}

/// Whether this bug is in the election now: `WQ_PLANT` names it.
#[cfg(wq_plant)]
pub(crate) fn planted(bug: &str) -> bool {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("WQ_PLANT").ok());
    debug_assert!(PLANTED_BUGS.iter().any(|(known, _)| *known == bug), "{bug} is not in the list");
    CHOSEN.as_deref() == Some(bug)
}

/// Every bug that can be planted, and what is wrong with it in place.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str)] = &[
    ("anchor-at-reply", "a hold counts from the answer, not from the sending"),
    ("anchor-at-retry", "a write found by reading counts from the sending of a later one"),
    ("early-take-over", "a lease is taken a second before it has run out"),
    ("own-duration", "a candidate waits for its own lease's duration, not the record's"),
    ("release-before-stop", "the lease is given back when a stop is asked for, and the work goes on"),
    ("release-unasked-whose", "a release goes on when somebody else is found to hold the lease"),
    ("no-wait-after-deletion", "a lease that is gone is made again at once, whoever held it"),
    (
        "deletion-hides-take-over",
        "a candidate that had the lease last makes it again at once, however long ago that was",
    ),
    (
        "release-counts-as-hold",
        "a candidate that gave the lease back takes it for its own until its hold would have ended",
    ),
    (
        "release-under-way-counts-as-hold",
        "a candidate whose release is unanswered takes the lease for its own until its hold would have ended",
    ),
    (
        "late-create-is-own",
        "a candidate takes for its own what a create has made that it sent more than a lease ago",
    ),
    (
        "doubled-create-is-own",
        "a candidate takes for its own what a create of its has made once more after the Lease was deleted",
    ),
    ("refusal-is-certain", "a write that was refused is forgotten, and is a stranger's if it was applied"),
    ("version-is-record", "another record of a version that is known is not looked at"),
    ("conflict-is-success", "a renewal that meets a conflict counts as done"),
    ("guard-without-clock", "the guard is a flag, and asks no clock"),
    (
        "seconds-repeat",
        "a renewal may name the second of the one before it, so that client-go does not see it",
    ),
    ("late-success", "the answer to a renewal revives a term that has ended"),
    ("fence-by-transitions", "fence tokens are compared by how often the lease changed hands"),
    ("wait-not-restarted", "a renewal of the holder does not begin a candidate's wait anew"),
    ("failure-extends", "a failed renewal moves the end of the term out"),
    ("stop-strands", "a stop while an acquisition is unanswered looks for nothing"),
    ("foreign-news-ignored", "a leader that reads another holder goes on"),
    ("identity-is-claim", "a record that names its identity is taken for its own"),
    (
        "hint-outlives-record",
        "a successor's name stays on the record of whoever takes the lease, and whoever it names takes it at once",
    ),
    ("hint-for-ever", "a lease that was handed over to one is left to that one for ever"),
    ("hand-over-before-join", "the lease is given back when a leader hands it over, and the work goes on"),
    ("maintenance-takes-over", "an elector under maintenance takes the lease when it is free"),
    ("grant-claimed-at-once", "a grant is claimed while the one who led before it may act"),
    ("grant-claimed-unproven", "a grant that follows on what nobody has seen is claimed at once"),
    (
        "given-back-while-work-lands",
        "the lease is had again and given back while what work has sent that outlived its term may land",
    ),
    ("evidence-of-another", "what is known of a holder counts for the one who came after"),
    (
        "pod-evidence-of-another-uid",
        "a Pod of the same name and another uid, in another namespace, counts for the holder's and for one's own",
    ),
    ("expiry-untold", "who finds the term expired tells nobody who waits for its end"),
    (
        "cold-start-from-the-future",
        "a candidate that starts takes a record from the future for one that ran out",
    ),
    (
        "expired-by-wall-clock",
        "a lease is taken when its times lie far enough behind the candidate's wall clock",
    ),
    ("cold-start-without-bound", "a candidate that starts trusts wall clocks to the second"),
    ("half-is-whole", "of two stores that differ the second is believed"),
    (
        "half-known-by-mark",
        "half of a write in two stores is known by its mark alone, which client-go keeps beside its own record",
    ),
    (
        "half-undone-beside-another",
        "half of a write in two stores counts for nothing although another has taken the other half",
    ),
    (
        "second-half-overwritten",
        "the second of two stores is written on whatever version it has by then, as client-go does",
    ),
    (
        "half-gone-is-free",
        "what is left when one of two stores is deleted counts as if the other had never been there",
    ),
];
