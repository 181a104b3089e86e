//! Planted: bugs on purpose, by which the checks are checked. `cargo xtask planted` puts each into the queue and must see
//! it found; where one goes, the code asks whether it is [`planted`]. Never in a build without `cfg(wq_plant)`.

use crate::backlog::Backlog;
use crate::hasher::ItemHash;
use crate::shared::Shared;
use crate::snapshot::Phase;

/// Whether this bug is in the queue now.
#[cfg(not(wq_plant))]
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}

/// Whether this bug is in the queue now: `WQ_PLANT` names it.
#[cfg(wq_plant)]
pub(crate) fn planted(bug: &str) -> bool {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("WQ_PLANT").ok());
    debug_assert!(PLANTED_BUGS.iter().any(|(known, _)| *known == bug), "{bug} is not in the list");
    CHOSEN.as_deref() == Some(bug)
}

/// Of the bug `processing-checked-outside-lock`: whether the item was processed at a first look and had left at a second. An
/// add that goes by the first marks what is no longer there.
pub(crate) fn ended_between_looks<T: Eq, B: Backlog>(
    shared: &Shared<T, B>,
    item: &T,
    hash: ItemHash,
) -> bool {
    let phase = || shared.lock().state.phase(item, hash);
    phase() == Some(Phase::Processing) && phase().is_none()
}

/// Every bug that can be planted, and what is wrong with it in place.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str)] = &[
    ("requeue-wakes-nobody", "a done that queues its item again wakes no getter"),
    ("wake-before-push", "an add wakes a getter before the item is in the queue, and not after"),
    ("one-drainer-woken", "an idle moment wakes one drainer and not all"),
    ("cancelled-get-keeps-wake-up", "a woken get that is dropped does not pass its wake-up on"),
    ("done-clears-dirty", "a done forgets that the item was added while it was processed"),
    ("pop-without-mark", "a get hands an item out without marking it as being processed"),
    ("drain-ignores-queued", "a drain looks only at what is in flight"),
    ("drain-between-two-items", "a drain is over when nothing is in flight for a moment, whatever is queued"),
    ("shutdown-wakes-one", "shutdown wakes one getter and not all"),
    ("panic-skips-done", "a guard that is dropped in a panic does not end its hand-out"),
    ("done-without-generation", "a done does not ask whether its hand-out is the one in force"),
    ("requeue-to-head", "an item that runs again comes before what was queued earlier"),
    (
        "processing-checked-outside-lock",
        "an add looks whether the item is processed, and marks it under another lock",
    ),
    ("waker-not-updated", "a wait polled again with another waker keeps the first"),
    ("look-then-line-up", "a getter that found nothing lines up without looking again"),
    ("arrival-calls-nobody", "a woken getter that is handed an item does not wake the next"),
    ("no-pressure", "getters that are woken and never polled stall all others"),
    ("merged-adds-press-nobody", "the same, where all that is added is queued already"),
    (
        "woken-for-nothing-is-counted-on",
        "a woken getter that goes back to sleep counts as on its way for ever",
    ),
    ("resume-wakes-nobody", "the end of a pause wakes no getter"),
    ("room-wakes-nobody", "a get that makes room wakes no adder"),
    (
        "held-adder-is-counted-on",
        "a worker that finds nothing while somebody waits for room calls nobody in place of a woken adder",
    ),
    ("leaving-slots-are-counted", "an item that is done is in flight until its entry leaves the table"),
    (
        "struck-slot-takes-any-entry",
        "an entry that leaves the table may be that of another item, which has the slot by now",
    ),
    ("moved-item-is-not-found", "a guard whose item has moved to another slot has no effect"),
    (
        "moved-item-is-anothers",
        "a guard whose item is not in its slot any more ends whatever hand-out there is of one with its hash",
    ),
    ("add-all-wakes-nobody", "a batch of adds wakes no getter"),
    ("remove-ends-no-drain", "taking out the last item does not end a drain"),
    ("wake-in-a-poll-is-forgotten", "a job of process that is woken while it is polled is not polled again"),
    ("stop-wakes-no-worker", "workers that wait for an item do not hear that the work of one has failed"),
];
