//! Coordinated: the pure take-over rule where the API server's controller elects.
//! The candidate only claims what the controller grants to it.

use std::time::Duration;

use super::{Step, decide, runs_out};
use crate::clock::Moment;
use crate::config::Config;
use crate::observation::Observation;
use crate::planted::planted;
use crate::record::Record;

/// How long a candidate waits for an election before it concludes that no controller elects. That
/// is three rounds: the controller looks at a Lease every 5 s, and gives candidates 5 s to answer.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// The same, where the Lease shows no sign of a controller: an elector that elected alone leads, or
/// has released it. A controller that prefers another, or finds the Lease free, writes within 10 s:
/// it looks within 5 s, and waits 5 s for the candidates' answers.
pub(crate) const SILENCE_UNTOUCHED: Duration = Duration::from_secs(10);

/// The part of a candidate's knowledge that the rule needs beside the observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// The leader before the grant may lead on until this moment.
    pub(crate) not_before: Moment,
    /// From this moment the candidate concludes that no controller elects; `None` if it must not.
    pub(crate) silent_from: Option<Moment>,
}

/// The take-over rule where the API server's controller elects.
///
/// - **An absent Lease, a free one, or another's**: the candidate waits for the controller to
///   grant.
/// - **A grant**, a record that names this candidate and has no renewal yet: the candidate claims
///   it by a write on condition of that version. It waits until the former leader's lease has
///   expired by its own observation: the controller goes by wall clocks.
/// - **A grant beside which the controller already prefers another** is given back, but no sooner
///   than it may be claimed: candidates that elect alone take a free Lease at once.
/// - **This candidate's own record from an ended term** is given back: the controller elects no
///   candidate over a holder that is its best one.
/// - **A record that another process wrote under this identity** is given back when it has expired.
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
                // The record first expires. After that it would only block the controller.
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

/// The rule of a candidate that elects alone because no controller does: the ordinary one, except:
///
/// - A grant stays a grant.
/// - A free Lease that carries a controller's strategy is left to the controller for a whole lease.
/// - This candidate's own record, with a note that prefers another, is given back, and then left to
///   the other for as long. The candidate yields once for each such note. If no other comes, it
///   leads.
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

/// The ordinary rule, but no take-over before `not_before`: until then a leader may lead on, from
/// which the controller granted the Lease away. A grant lasts 5 s, and expires before that.
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

/// Whether the controller wrote this record, and its holder has not renewed it. The controller sets
/// no time of acquisition; a candidate sets one.
pub(crate) fn is_grant(record: &Record) -> bool {
    !record.is_free() && record.acquire_time.is_none()
}

/// Whether an elector that elected alone left this record, and no controller has written since.
pub(crate) fn is_untouched(record: &Record) -> bool {
    record.strategy.is_empty()
        && record.preferred_holder.is_empty()
        && record.acquire_time.is_some()
}

/// Whether the controller asks the holder to yield to another candidate.
pub(crate) fn prefers_another(record: &Record, identity: &str) -> bool {
    !record.preferred_holder.is_empty() && record.preferred_holder != identity
}

#[cfg(test)]
mod tests;
