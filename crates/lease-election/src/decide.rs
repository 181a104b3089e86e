//! decide: what a candidate that does not lead does about what it knows. Pure: the whole take-over
//! rule on one page.

use std::time::Duration;

use crate::clock::Moment;
use crate::config::Config;
use crate::observation::Observation;
use crate::planted::planted;

#[cfg(feature = "coordinated")]
pub(crate) mod coordinated;

/// What a candidate that does not lead does next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Step {
    /// Read the Lease.
    Read,
    /// Make the Lease, with this candidate as its holder.
    Create,
    /// Write this candidate into the Lease, on condition that it is still the version observed.
    TakeOver,
    /// Write that nobody holds the Lease, on condition that it is still the version observed. Only
    /// in coordinated election.
    GiveBack,
    /// Do nothing before this moment, unless news comes.
    WaitUntil(Moment),
}

/// The take-over rule.
///
/// - A Lease that is absent is made; after the deletion of a live holder's Lease not before that
///   holder's lease has run out.
/// - A Lease without a holder is free at once, whatever its times say. If its last holder named a
///   successor, that one takes it at once, and the others only when it did not come: those with a
///   rank a [`hand_over_wait`](Config::hand_over_wait) later and in their order, then the rest.
/// - So is one that this elector wrote itself: nothing runs under it any more. (If it was written
///   too late for a term, or for a renewal of it, and so was the one before, the elector lets the
///   others go first: for a lease, eight turns of `takeover_jitter`, one and a half retry periods
///   and a request, from the last of its writes that landed. A renewal in time ends that.)
/// - Any other is taken when its record has been seen unchanged for as long as *it* says (zero or
///   less: a whole lease of ours; never longer than the cap), and a little random wait. Its holder
///   counts from an earlier moment, the sending of its renewal, and for a shorter time.
#[must_use]
pub fn decide(observation: &Observation, config: &Config, now: Moment) -> Step {
    match observation {
        Observation::Unknown => Step::Read,
        Observation::Absent { free_at } if now < *free_at => Step::WaitUntil(*free_at),
        Observation::Absent { .. } => Step::Create,
        Observation::Present { lease, mine, .. } if lease.record.is_free() || *mine => {
            match turn_comes(observation, config) {
                Some(moment) if now < moment => Step::WaitUntil(moment),
                _ => Step::TakeOver,
            }
        }
        Observation::Present { .. } => match runs_out(observation, config) {
            Some(moment) if now < moment => Step::WaitUntil(moment),
            _ => Step::TakeOver,
        },
    }
}

/// When the observed lease may be taken although it was given back to somebody else; `None` if it
/// was not. Only ever makes a candidate wait: no safety rests on what stands there, and the wait is
/// bounded, whoever wrote it.
fn turn_comes(observation: &Observation, config: &Config) -> Option<Moment> {
    match observation {
        Observation::Present { lease, since, jitter, .. } => {
            let named = lease.record.hint()?;
            if planted("hint-for-ever") && named != config.identity() {
                return Some(Moment::from_origin(Duration::MAX));
            }
            (named != config.identity()).then(|| since.after(config.hold_back()).after(*jitter))
        }
        _ => None,
    }
}

/// When the observed lease of another holder may be taken.
pub(crate) fn runs_out(observation: &Observation, config: &Config) -> Option<Moment> {
    match observation {
        Observation::Present { lease, since, jitter, .. } => {
            let patience =
                lease.record.patience(config.lease_duration(), config.foreign_lease_cap());
            Some(since.after(patience).after(*jitter))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
