//! Decide: the whole take-over rule, as a pure function of what a candidate knows.

use std::time::Duration;

use crate::clock::Moment;
use crate::config::Config;
use crate::observation::Observation;
use crate::planted::planted;

#[cfg(feature = "coordinated")]
pub(crate) mod coordinated;

/// The next step of a candidate that does not lead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Step {
    /// Read the Lease.
    Read,
    /// Create the Lease, with this candidate as its holder.
    Create,
    /// Write this candidate into the Lease, on condition of the observed version.
    TakeOver,
    /// Write a Lease without a holder, on condition of the observed version. Only in coordinated
    /// election.
    GiveBack,
    /// Do nothing before this moment, unless news comes.
    WaitUntil(Moment),
}

/// The take-over rule of a candidate that does not lead: docs/safety.md, step 4.
///
/// - **An absent Lease**: the candidate creates it. After the deletion of a live holder's Lease it
///   waits until that holder's lease has expired.
/// - **A Lease without a holder** is free at once, whatever its times say. A successor that it
///   names takes it at once. All others first wait for a
///   [`hand_over_wait`](Config::hand_over_wait): then the ranked candidates take turns, then the
///   rest.
/// - **This elector's own record** is free at once, too: no work runs under it any more.
/// - **Any other Lease** is free when the candidate has seen its record unchanged for the record's
///   own duration and a random or ranked wait. A duration of zero or less counts as a lease of the
///   candidate's own; `foreign_lease_cap` is the upper bound. The holder counts from an earlier
///   moment, the sending of its renewal, and for a shorter time.
///
/// An acquisition is late if it lands too late for a term, or for a renewal of it. After two in a
/// row the elector lets the others go first. From its last write that landed it waits for a lease,
/// eight turns of `takeover_jitter`, 1.5 retry periods and a request. A renewal in time ends that.
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

/// When the candidate may take a lease that was released to another; `None` if it was not. The hint
/// only makes a candidate wait, for a bounded time: no safety rests on it.
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

/// When the candidate may take the observed lease of another holder.
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
