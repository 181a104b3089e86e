//! Planted: bugs on purpose, by which the checks are checked. `cargo xtask planted` puts each into the limiters and the queue
//! and must see it found; where one goes, the code asks whether it is [`planted`]. Never in a build without
//! `cfg(wq_plant)`.

/// Whether this bug is in place now.
#[cfg(not(wq_plant))]
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}

/// Whether this bug is in place now: `WQ_PLANT` names it, or a bug of another crate.
#[cfg(wq_plant)]
pub(crate) fn planted(bug: &str) -> bool {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("WQ_PLANT").ok());
    CHOSEN.as_deref() == Some(bug)
}

/// Every bug that can be planted, and what is wrong with it in place.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str)] = &[
    ("doubling-overflows", "a back-off that has doubled often enough begins anew"),
    ("jitter-above-max", "jitter leaves its band"),
    ("one-fast-attempt-less", "fast-slow is slow one attempt early"),
    ("max-of-asks-one", "max-of does not ask its second limiter if the first says to wait"),
    ("interval-rounded-down", "a bucket is faster than asked for"),
    ("token-taken-twice", "two threads take the same token of a bucket"),
    ("use-does-not-renew", "a record that is used ages as one that is not"),
    ("record-expires-in-its-wait", "a failure is forgotten while its item waits for the retry"),
    ("store-without-bound", "a store of failures grows with every item"),
    ("dead-records-live-on", "an item that fails again after a long silence still has its old back-off"),
    ("eviction-not-counted", "items leave a full store and nobody is told"),
    ("early-attempt-counts", "an attempt that an event brought about before its time raises the back-off"),
    (
        "early-attempt-puts-off-counting",
        "an attempt before its time that has a delay of its own puts off when the next one counts",
    ),
    ("queued-item-takes-tokens", "each rate limited add of an item that is queued counts an attempt"),
    ("early-attempt-runs-at-once", "an attempt that an event brought about before its time has no back-off"),
    ("forget-leaves-window", "a forgotten item is still taken to be backing off"),
    ("forget-in-two-steps", "a failure while its item is forgotten counts, and begins no back-off"),
    ("cancel-leaves-window", "an item whose retry was cancelled is still taken to be backing off"),
    ("refused-retry-takes-back", "a retry after shutdown is refused, and the one from before is gone too"),
    ("rejected-add-counts", "a retry after shutdown counts an attempt and takes a token"),
    ("one-retry-too-many", "an item is parked one retry late"),
    ("parked-loses-order", "an item that was parked comes back without its order"),
    ("mark-outlives-hand-out", "an item that was parked is so again when its guard is dropped"),
    ("retry-loses-order", "a retry comes back without its order"),
    (
        "floor-ignored-by-waiting-retry",
        "a retry from before comes out although the item is not to run before later",
    ),
    (
        "moved-retry-comes-anyway",
        "a retry that another get has moved behind the attempt runs at once, whatever the outcome says",
    ),
    ("stale-guard-counts", "a guard whose item was abandoned changes what its next holder has to do with"),
    ("success-keeps-attempts", "an item that went well keeps its attempts"),
];
