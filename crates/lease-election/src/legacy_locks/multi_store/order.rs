//! Order: which half of a write is sent first. Pure. A write ends where its first half fails, so
//! what one order leaves half made another does not. Both halves are there.

use std::collections::VecDeque;

use super::half::{Attempt, Half, Halves};

/// To take the lease, or to keep it: the half that we were `forbidden` to write, or else the one
/// that a write of ours has not made yet: who may not write that, or cannot, leaves the other to
/// the others, which would begin to wait anew with each write. Otherwise the primary one, as
/// client-go does.
pub(super) fn of_hold(
    halves: &Halves,
    attempts: &VecDeque<Attempt>,
    forbidden: Option<Half>,
) -> Half {
    forbidden.or_else(|| missing(halves, attempts)).unwrap_or(Half::Primary)
}

/// To give it back. While one half is held nobody takes both, so one that is free is written first:
/// if the held one were, both would be free for a moment, and who took them then would meet the
/// second half of this release.
///
/// Of two that are held, one of them by a write of ours whose other half is not made, that other
/// one is first: it may be made yet, and of that and this only one is, since both are conditional
/// on one version. Otherwise our last write may be on its way as a whole, and the order is its own:
/// the later of the two ends at its first half.
pub(super) fn of_release(halves: &Halves, attempts: &VecDeque<Attempt>) -> Half {
    let is_free = |half| halves.get(half).is_some_and(|lease| lease.record.is_free());
    match (is_free(Half::Primary), is_free(Half::Secondary)) {
        (true, false) => Half::Primary,
        (false, true) => Half::Secondary,
        _ => {
            let last = attempts.back().map_or(Half::Primary, |attempt| attempt.first);
            missing(halves, attempts).unwrap_or(last)
        }
    }
}

/// The half that a write of ours has not made, if it has made the other.
fn missing(halves: &Halves, attempts: &VecDeque<Attempt>) -> Option<Half> {
    halves.half_made(attempts).map(|(_, made)| made.other())
}
