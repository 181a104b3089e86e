//! The rule of a coordinated candidate that does not lead: the server's controller elects, the
//! candidate only takes what it was given. Pure.

use std::time::Duration;

use super::{Step, decide, runs_out};
use crate::clock::Moment;
use crate::config::Config;
use crate::observation::Observation;
use crate::planted::planted;
use crate::record::Record;

/// How long nobody may be elected before a candidate concludes that nobody elects: three rounds of
/// the server's controller, which looks at a Lease every 5 s, and gives candidates 5 s to answer.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// The same where the Lease says that nobody has elected: it was led, or given back, by one who
/// elected alone, and the controller's hand is not on it. A controller that knows a better
/// candidate, or finds the Lease free, says so when it looks, or when those that it asked have
/// answered: 5 s each.
pub(crate) const SILENCE_UNTOUCHED: Duration = Duration::from_secs(10);

/// What of a candidate's knowledge the rule needs beside the observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// Until then the one who led before the grant may lead on.
    pub(crate) not_before: Moment,
    /// From then on nobody is taken to elect, if this candidate may conclude so.
    pub(crate) silent_from: Option<Moment>,
}

/// The take-over rule where the server's controller elects.
///
/// - A Lease that is absent is not made, one that is free or another's is not taken: the controller
///   does both.
/// - A grant, a record that names this candidate and which nobody has renewed yet, is claimed by a
///   write on condition of that very version, and not before the lease of the one who led until
///   then has run out by this candidate's own observation: the controller goes by wall clocks.
/// - A grant beside which the controller already prefers another, and a record of this candidate's
///   own from a term that is over, are given back, because the controller elects nobody over a
///   holder that is its best candidate. The grant not before it may be claimed either: candidates
///   that elect by themselves take a free Lease at once.
/// - So is what another process has written under this identity, when it has run out.
pub(crate) fn decide_coordinated(
    observation: &Observation,
    config: &Config,
    claim: Claim,
    now: Moment,
) -> Step {
    let never = Step::WaitUntil(claim.silent_from.unwrap_or(Moment::from_origin(Duration::MAX)));
    let until = |moment: Moment, step| if now < moment { Step::WaitUntil(moment) } else { step };
    match observation {
        Observation::Unknown => Step::Read,
        Observation::Present { lease, mine, .. } if lease.record.holder == config.identity() => {
            let record = &lease.record;
            if planted("grant-claimed-at-once") && is_grant(record) {
                return Step::TakeOver;
            }
            if !config.release_on_stop() && (*mine || prefers_another(record, config.identity())) {
                // It is left to run out, and then in the controller's way.
                let runs_out = runs_out(observation, config).unwrap_or(now);
                until(runs_out.max(claim.not_before), Step::GiveBack)
            } else if *mine {
                Step::GiveBack
            } else if is_grant(record) {
                let is_late = prefers_another(record, config.identity());
                until(claim.not_before, if is_late { Step::GiveBack } else { Step::TakeOver })
            } else {
                until(runs_out(observation, config).unwrap_or(now), Step::GiveBack)
            }
        }
        _ => never,
    }
}

/// The rule of a candidate that elects by itself because nobody does for it: the ordinary one, but
/// a grant is a grant, a free Lease that the controller's hand has been on is left to it for a
/// whole lease, and so is what this candidate left beside the note that another is preferred: it
/// makes way once each time that it is asked to, and does not take the lease again from under the
/// one it made way for. If nobody comes, it leads again.
pub(crate) fn decide_alone(
    observation: &Observation,
    config: &Config,
    claim: Claim,
    now: Moment,
) -> Step {
    match observation {
        Observation::Present { lease, mine, .. }
            if lease.record.holder == config.identity()
                && (!mine && is_grant(&lease.record)
                    || prefers_another(&lease.record, config.identity())) =>
        {
            decide_coordinated(observation, config, claim, now)
        }
        Observation::Present { lease, since, .. }
            if lease.record.is_free() && !lease.record.strategy.is_empty() =>
        {
            let left = since.after(config.lease_duration());
            if now < left { Step::WaitUntil(left) } else { Step::TakeOver }
        }
        _ => decide_after_grants(observation, config, claim.not_before, now),
    }
}

/// The ordinary rule, of a candidate that may have seen the controller grant a Lease over the head
/// of one who leads on until `not_before`: a grant is for 5 s, and runs out before that.
pub(crate) fn decide_after_grants(
    observation: &Observation,
    config: &Config,
    not_before: Moment,
    now: Moment,
) -> Step {
    let is_own = matches!(observation, Observation::Present { mine: true, .. });
    match decide(observation, config, now) {
        Step::WaitUntil(moment) if !is_own => Step::WaitUntil(moment.max(not_before)),
        Step::Create | Step::TakeOver if !is_own && now < not_before => Step::WaitUntil(not_before),
        step => step,
    }
}

/// Whether this is the controller's own record, that nobody renewed: it sets no time of
/// acquisition, and a candidate sets one.
pub(crate) fn is_grant(record: &Record) -> bool {
    !record.is_free() && record.acquire_time.is_none()
}

/// Whether one that elected alone left this, and no controller has seen to it since.
pub(crate) fn is_untouched(record: &Record) -> bool {
    record.strategy.is_empty()
        && record.preferred_holder.is_empty()
        && record.acquire_time.is_some()
}

/// Whether the controller asks the holder to make way.
pub(crate) fn prefers_another(record: &Record, identity: &str) -> bool {
    !record.preferred_holder.is_empty() && record.preferred_holder != identity
}

#[cfg(test)]
mod tests;
