//! Order: which half of a write is sent first, where both halves exist.
//!
//! A write ends where its first half fails, so the order decides which half can be left half made.

use std::collections::VecDeque;

use super::half::{Attempt, Half, Halves};

/// To take or keep the lease: the `forbidden` half, or else the half that an own write has not made
/// yet. If that write fails, the other half is left to the other candidates, whose wait each write
/// of it would restart. Otherwise the primary half, as in client-go.
pub(super) fn of_hold(
    halves: &Halves,
    attempts: &VecDeque<Attempt>,
    forbidden: Option<Half>,
) -> Half {
    forbidden.or_else(|| missing(halves, attempts)).unwrap_or(Half::Primary)
}

/// To release: a free half, if the other is held. While one half is held no candidate takes both.
/// If the held half came first, both would be free for a moment, and a taker would meet the second
/// half of this release.
///
/// If both are held, and an own write has made only one of them, the other is first. The rest of
/// that write may still land, but it and this release are conditional on one version: only one
/// succeeds. Otherwise the last own write may be on its way as a whole, and its order counts: the
/// later of the two ends at its first half.
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

/// The half that an own write has not made, if it has made the other.
fn missing(halves: &Halves, attempts: &VecDeque<Attempt>) -> Option<Half> {
    halves.half_made(attempts).map(|(_, made)| made.other())
}
