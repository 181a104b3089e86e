//! Config: the names and durations of one election, checked once. Every `Config` is safe to run.

use std::time::Duration;

mod builder;
mod names;
mod presets;
mod random;
mod warnings;
pub use builder::ConfigBuilder;
pub(crate) use names::check_identity;
#[cfg(all(feature = "kube", feature = "coordinated"))]
pub(crate) use names::check_name;
pub(crate) use random::random;
pub use warnings::ConfigWarning;

/// The longest lease an elector asks for, and the least cap on what it grants to others: 10
/// minutes.
///
/// One bound for both: a candidate that grants less than a leader relies on takes over a valid
/// lease.
pub const MAX_LEASE: Duration = Duration::from_secs(600);

/// The lowest rank a candidate can have; 0 is the highest.
pub const MAX_RANK: u8 = 7;

/// A checked configuration, made by [`Config::builder`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[doc(alias = "LeaderElectionConfig")]
pub struct Config {
    namespace: String,
    name: String,
    identity: String,
    lease_duration: Duration,
    retry_period: Duration,
    request_timeout: Duration,
    stop_margin: Duration,
    drift_ppm: u32,
    hold: Duration,
    takeover_jitter: Duration,
    rank: Option<u8>,
    hand_over_wait: Duration,
    drain_timeout: Duration,
    foreign_lease_cap: Duration,
    release_on_stop: bool,
    wait_after_deletion: bool,
}

impl Config {
    /// The Lease's namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }
    /// The Lease's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// This candidate's identity, as written into the Lease.
    pub fn identity(&self) -> &str {
        &self.identity
    }
    /// How long a lease is.
    pub fn lease_duration(&self) -> Duration {
        self.lease_duration
    }
    /// The lease duration as a record stores it.
    pub(crate) fn lease_seconds(&self) -> i32 {
        i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX)
    }
    /// From the sending of one successful renewal to the next renewal.
    pub fn retry_period(&self) -> Duration {
        self.retry_period
    }
    /// How long one request may take.
    pub fn request_timeout(&self) -> Duration {
        self.request_timeout
    }
    /// How long the work may run on after its term has ended.
    pub fn stop_margin(&self) -> Duration {
        self.stop_margin
    }
    /// How long the leader may act after it *sent* a successful renewal: the lease, less the drift
    /// of two clocks, less the stop margin.
    ///
    /// `lease_duration * (1 - rho) / (1 + rho) - stop_margin`, where rho is the clock drift.
    pub fn hold(&self) -> Duration {
        self.hold
    }
    /// The longest random wait of a candidate after a lease has expired.
    pub fn takeover_jitter(&self) -> Duration {
        self.takeover_jitter
    }
    /// This candidate's place in the order in which candidates take an expired lease; 0 is the
    /// first.
    pub fn rank(&self) -> Option<u8> {
        self.rank
    }
    /// How long the other candidates leave a lease alone that was handed over.
    pub fn hand_over_wait(&self) -> Duration {
        self.hand_over_wait
    }
    /// How long this candidate leaves it alone, before its own turn or its jitter.
    pub(crate) fn hold_back(&self) -> Duration {
        let ranked = if self.rank.is_none() { u32::from(MAX_RANK) + 1 } else { 0 };
        self.hand_over_wait.saturating_add(self.takeover_jitter.saturating_mul(ranked))
    }
    /// The wait after a lease has expired: the rank's turn, or without a rank a `fraction` of the
    /// jitter.
    pub(crate) fn turn(&self, fraction: impl FnOnce(Duration) -> Duration) -> Duration {
        match self.rank {
            Some(rank) => self.takeover_jitter.saturating_mul(u32::from(rank)),
            None => fraction(self.takeover_jitter),
        }
    }
    /// How long the work may run on after a stop was requested.
    pub fn drain_timeout(&self) -> Duration {
        self.drain_timeout
    }
    /// The longest lease granted to other holders, whatever they write.
    pub fn foreign_lease_cap(&self) -> Duration {
        self.foreign_lease_cap
    }
    /// Whether the lease is released when the work has ended.
    pub fn release_on_stop(&self) -> bool {
        self.release_on_stop
    }
    /// Whether a candidate waits out the lease of a leader whose Lease object was deleted.
    pub fn wait_after_deletion(&self) -> bool {
        self.wait_after_deletion
    }
    /// How many renewals in a row may time out within a term.
    pub fn attempts_per_hold(&self) -> u32 {
        attempts(self.hold, self.retry_period, self.request_timeout)
    }
    /// From the start of a failed attempt to the start of the next.
    pub(crate) fn pace(&self) -> Duration {
        self.retry_period / 2
    }
}

/// How many attempts fit between the first renewal and the end of the hold, if each takes its whole
/// time-out.
fn attempts(hold: Duration, retry_period: Duration, request_timeout: Duration) -> u32 {
    let attempt = request_timeout.max(retry_period / 2).as_nanos().max(1);
    let room = hold.saturating_sub(retry_period).as_nanos();
    u32::try_from(room / attempt).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
