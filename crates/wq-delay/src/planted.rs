//! Planted: bugs on purpose, by which the checks are checked. `cargo xtask planted` puts each into the queue and must see
//! it found; where one goes, the code asks whether it is [`planted`]. Never in a build without `cfg(wq_plant)`.

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
    CHOSEN.as_deref() == Some(bug)
}

/// Every bug that can be planted, and what is wrong with it in place.
///
/// A clock that is read twice in one pass is not among them: here it makes nothing early, late, lost or out of order. Who waits is
/// told an instant and no time span, so none is counted from another reading than that which found nothing due; heap, wishes and
/// timekeepers have `now` as an argument; and who compares a deadline with a later reading only finds more due.
#[cfg(wq_plant)]
pub const PLANTED_BUGS: &[(&str, &str)] = &[
    ("a-tick-early", "an item comes out a nanosecond before its deadline"),
    ("latest-wins", "of two deadlines the later is kept where the earlier should be"),
    ("ties-in-any-order", "items of one deadline come out in the order of the heap"),
    ("moved-deadline-stays", "an item whose deadline moved comes out at the old one"),
    ("gap-not-settled", "the node that fills the gap of one taken out stays there, whatever its deadline"),
    ("stale-node-is-in-force", "a node whose item has another deadline now counts as that of its item"),
    ("leaf-handed-out-unsorted", "the items of a leaf come out in the order of adding"),
    ("leaf-cut-unsorted", "a full leaf is cut by the order of adding"),
    ("leaf-begins-by-deadline", "of leaves that begin with one deadline any is taken for the right one"),
    ("new-leaf-is-not-told", "the guide to the leaves is not told of one that is new"),
    ("merged-leaf-is-dropped", "the nodes of a leaf that becomes one with its neighbour are lost"),
    ("leaf-loses-its-tail", "the last nodes of a leaf that is cleaned are lost"),
    ("earlier-nodes-are-put-away", "of too many near nodes the earlier go into leaves"),
    ("debounce-without-end", "debounced adds put an item off for ever"),
    ("joined-order-is-lost", "an add that joins a delayed one loses its order"),
    ("postpone-moves-earlier", "a postponement to an earlier instant moves the deadline there"),
    ("due-item-can-be-moved", "a delayed add moves the deadline of an item that is due"),
    ("merge-leaves-the-deadline", "an immediate add that should take the delayed one along leaves it"),
    ("earlier-deadline-not-published", "getters do not see that an earlier deadline has come"),
    ("earlier-deadline-wakes-nobody", "the timekeepers sleep on when an earlier deadline comes"),
    ("report-by-an-old-look", "a getter goes to sleep by a deadline that it looked up before it lined up"),
    ("reserve-sleeps-for-ever", "nobody looks when the timekeeper is not polled"),
    ("stalled-keeper-stays", "a timekeeper that missed a deadline keeps its duty"),
    ("hand-over-wakes-nobody", "a timekeeper that leaves does not wake its successor"),
    ("waker-not-updated", "a getter polled again with another waker keeps the first"),
    ("drain-sees-the-gap", "an item that moves at its deadline is for a moment neither delayed nor queued"),
    ("drain-ignores-delayed", "a drain does not wait for delayed items"),
    ("empty-heap-ends-no-drain", "a drain that waits for the last delayed item is not told of its end"),
    ("shutdown-drops-in-silence", "a shutdown does not hand back what was delayed"),
    ("shutdown-wakes-no-keeper", "a shutdown does not wake those who only keep the time"),
    ("shutdown-lets-adds-in", "items can be delayed after a shutdown"),
];
