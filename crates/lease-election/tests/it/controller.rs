//! Controller: one look of kube-apiserver's controller of coordinated election (1.36), without
//! informers, at a Lease and its candidates. Its caller decides when it looks. The simulation uses
//! this file too.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::{Api, Client};
use lease_election::Clock;

pub(crate) const STRATEGY: &str = "OldestEmulationVersion";

/// How often it looks without a change, and how long candidates may take to answer.
/// (`defaultRequeueInterval`, `electionDuration`.)
pub(crate) const ROUND: Duration = Duration::from_secs(5);

/// The seconds of a grant. (`defaultLeaseDurationSeconds`.)
const GRANT: i32 = 5;

/// The seconds of silence after which it forgets a candidate. (`leaseCandidateValidDuration`.)
const VALID: i64 = 1800;

/// The result of a look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// There is no candidate to elect, or no change to make.
    Content,
    /// It asked candidates, or waits for their answers.
    Asks,
    /// It wrote this holder into the Lease.
    Granted(String),
    /// It wrote this preferred candidate beside the holder.
    Prefers(String),
}

pub(crate) struct Controller {
    leases: Api<Lease>,
    candidates: Api<LeaseCandidate>,
    clock: Arc<dyn Clock>,
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

fn round() -> SignedDuration {
    seconds(ROUND.as_secs() as i64)
}

fn renewed(candidate: &LeaseCandidate) -> Timestamp {
    candidate.spec.renew_time.as_ref().map_or(Timestamp::MIN, |time| time.0)
}

/// Orders the better candidate first: the oldest emulation version, then the oldest binary, then
/// the oldest object. (All versions here have single digits.)
pub(crate) fn by_preference(one: &LeaseCandidate, other: &LeaseCandidate) -> Ordering {
    let order = |candidate: &LeaseCandidate| {
        let spec = &candidate.spec;
        let made = candidate.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (
            spec.emulation_version.clone(),
            spec.binary_version.clone(),
            made,
            candidate.metadata.name.clone(),
        )
    };
    order(one).cmp(&order(other))
}

fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

impl Controller {
    /// Its wall clock decides which leases have expired.
    pub(crate) fn new(client: Client, clock: impl Clock) -> Self {
        Self {
            leases: Api::namespaced(client.clone(), "default"),
            candidates: Api::namespaced(client, "default"),
            clock: Arc::new(clock),
        }
    }

    /// # Errors
    /// A conflict, or a failed request: the caller looks again.
    pub(crate) async fn step(&self) -> Result<Look, kube::Error> {
        let now = self.clock.wall();
        let mut found: Vec<LeaseCandidate> =
            self.candidates.list(&ListParams::default()).await?.items;
        found.retain(|candidate| {
            candidate.spec.lease_name == "lease" && renewed(candidate) + seconds(VALID) > now
        });
        found.sort_by(by_preference);
        let Some(best) = found.first().and_then(|best| best.metadata.name.as_deref()) else {
            return Ok(Look::Content);
        };
        let held = self.leases.get_opt("lease").await?;
        let has_run_out = |lease: &Lease| match lease.spec.as_ref() {
            Some(LeaseSpec {
                renew_time: Some(time),
                lease_duration_seconds: Some(length),
                ..
            }) => time.0 + seconds((*length).into()) < now,
            _ => true,
        };
        if held.as_ref().is_some_and(|lease| !has_run_out(lease) && holder(lease) == Some(best)) {
            return Ok(Look::Content);
        }
        if self.ask(&found, now).await? {
            return Ok(Look::Asks);
        }
        let Some(electee) = found.iter().find(|candidate| renewed(candidate) + round() > now)
        else {
            return Ok(Look::Content);
        };
        let electee = electee.metadata.name.clone().unwrap_or_default();
        let granted = LeaseSpec {
            holder_identity: Some(electee.clone()),
            lease_duration_seconds: Some(GRANT),
            renew_time: Some(MicroTime(now)),
            strategy: Some(STRATEGY.into()),
            ..LeaseSpec::default()
        };
        let put = PostParams::default();
        let Some(mut lease) = held else {
            let metadata = ObjectMeta { name: Some("lease".into()), ..ObjectMeta::default() };
            self.leases.create(&put, &Lease { metadata, spec: Some(granted) }).await?;
            return Ok(Look::Granted(electee));
        };
        let (before, is_electees) = (lease.clone(), holder(&lease) == Some(electee.as_str()));
        let is_free = holder(&lease).is_none() || has_run_out(&lease) && !is_electees;
        let spec = lease.spec.get_or_insert_default();
        spec.strategy = Some(STRATEGY.into());
        let look = if is_free {
            *spec = LeaseSpec { lease_transitions: spec.lease_transitions, ..granted };
            Look::Granted(electee)
        } else if !is_electees {
            spec.preferred_holder = Some(electee.clone());
            Look::Prefers(electee)
        } else {
            Look::Content
        };
        if lease == before {
            return Ok(Look::Content);
        }
        self.leases.replace("lease", &put, &lease).await?;
        Ok(look)
    }

    /// Asks each candidate that was silent for a round, and gives it a round to answer. Returns
    /// whether an answer is outstanding.
    async fn ask(&self, found: &[LeaseCandidate], now: Timestamp) -> Result<bool, kube::Error> {
        let mut waits = false;
        for candidate in found {
            let asked = candidate.spec.ping_time.as_ref().map(|time| time.0);
            let answered = asked.is_none_or(|asked| renewed(candidate) >= asked);
            if !answered && asked.is_some_and(|asked| asked + round() > now) {
                waits = true;
            } else if renewed(candidate) + round() <= now && answered {
                let mut asked = candidate.clone();
                asked.spec.ping_time = Some(MicroTime(now));
                let name = candidate.metadata.name.clone().unwrap_or_default();
                self.candidates.replace(&name, &PostParams::default(), &asked).await?;
                waits = true;
            }
        }
        Ok(waits)
    }
}
