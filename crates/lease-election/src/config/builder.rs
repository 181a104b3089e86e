//! Builder: collects the values of a configuration and checks them.

use std::time::Duration;

#[cfg(all(feature = "kube", feature = "coordinated"))]
use super::names::host;
use super::names::{check_identity, check_name, default_identity};
#[cfg(all(feature = "kube", feature = "coordinated"))]
use super::random::random;
use super::{Config, MAX_LEASE, MAX_RANK, attempts};
use crate::error::ConfigError;

impl Config {
    /// Begins a configuration for the Lease `namespace/name`: 15 s leases, renewals every 2 s, 3 s
    /// per request and a stop margin of 2 s. Other times that go together:
    /// [`fast`](ConfigBuilder::fast),
    /// [`client_go_compatible`](ConfigBuilder::client_go_compatible).
    pub fn builder(namespace: impl Into<String>, name: impl Into<String>) -> ConfigBuilder {
        ConfigBuilder {
            namespace: namespace.into(),
            name: name.into(),
            identity: None,
            lease_duration: Duration::from_secs(15),
            retry_period: Duration::from_secs(2),
            request_timeout: Duration::from_secs(3),
            stop_margin: Duration::from_secs(2),
            drift_ppm: 500,
            takeover_jitter: Duration::from_millis(200),
            rank: None,
            hand_over_wait: Duration::from_secs(1),
            drain_timeout: Duration::from_secs(30),
            foreign_lease_cap: MAX_LEASE,
            release_on_stop: true,
            wait_after_deletion: true,
        }
    }
}

/// An unchecked configuration. Each method replaces one value; [`build`](Self::build) checks them
/// all.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct ConfigBuilder {
    namespace: String,
    name: String,
    identity: Option<String>,
    pub(super) lease_duration: Duration,
    pub(super) retry_period: Duration,
    pub(super) request_timeout: Duration,
    pub(super) stop_margin: Duration,
    drift_ppm: u32,
    takeover_jitter: Duration,
    rank: Option<u8>,
    hand_over_wait: Duration,
    drain_timeout: Duration,
    foreign_lease_cap: Duration,
    release_on_stop: bool,
    wait_after_deletion: bool,
}

impl ConfigBuilder {
    /// This candidate's identity. It should differ between processes, also between two lives of
    /// one Pod: a candidate waits for a lease under its own name as for any other.
    ///
    /// Default: the host's name (in Kubernetes, the Pod's) and 64 random bits.
    #[doc(alias = "Identity")]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// How long a lease is: whole seconds, because a Lease stores no fractions, and at most
    /// [`MAX_LEASE`]. Default 15 s.
    #[doc(alias = "LeaseDuration")]
    pub fn lease_duration(mut self, lease_duration: Duration) -> Self {
        self.lease_duration = lease_duration;
        self
    }

    /// From the sending of one successful renewal to the next renewal. Failed renewals are repeated
    /// twice as often. Default 2 s.
    #[doc(alias = "RetryPeriod")]
    pub fn retry_period(mut self, retry_period: Duration) -> Self {
        self.retry_period = retry_period;
        self
    }

    /// How long one request may take. A good value is three times the slowest usual request.
    /// Default 3 s.
    pub fn request_timeout(mut self, request_timeout: Duration) -> Self {
        self.request_timeout = request_timeout;
        self
    }

    /// How long the work may run on after its term has ended, before another candidate may take the
    /// lease. Default 2 s. In client-go it is what `LeaseDuration` leaves after `RenewDeadline`.
    pub fn stop_margin(mut self, stop_margin: Duration) -> Self {
        self.stop_margin = stop_margin;
        self
    }

    /// The largest error in the rate of a clock, in millionths, at most 100000. Default 500, the
    /// bound NTP keeps.
    pub fn clock_drift_ppm(mut self, ppm: u32) -> Self {
        self.drift_ppm = ppm;
        self
    }

    /// The longest random wait of a candidate after a lease has expired, so that candidates do not
    /// all write at once. Not used after a release. Default 200 ms.
    pub fn takeover_jitter(mut self, takeover_jitter: Duration) -> Self {
        self.takeover_jitter = takeover_jitter;
        self
    }

    /// This candidate's place in the order in which candidates take an expired lease, from 0 (at
    /// once) to [`MAX_RANK`]. It waits `rank * takeover_jitter` after the lease, and nothing
    /// random. Default: no rank, and a random wait of up to one `takeover_jitter`.
    ///
    /// Give every candidate a rank, or none. Two candidates of one rank write at one time, and one
    /// of them fails. After a release ranks do not count: the first candidate takes the lease,
    /// unless its holder named a successor ([`hand_over_to`](crate::Leadership::hand_over_to)).
    pub fn rank(mut self, rank: u8) -> Self {
        self.rank = Some(rank);
        self
    }

    /// How long the other candidates leave a lease alone that was handed over, counted from their
    /// own sight of the release. If the successor has not taken it by then, candidates with a rank
    /// do, each `takeover_jitter` apart. Candidates without a rank follow after [`MAX_RANK`] + 1
    /// such turns. With 200 ms of jitter a hand-over to a dead candidate leaves the lease free for
    /// 1 s to 2.8 s. At most a lease. Default 1 s.
    ///
    /// A successor that polls needs one and a half of its retry periods; a successor of client-go,
    /// a retry period and a fifth.
    pub fn hand_over_wait(mut self, wait: Duration) -> Self {
        self.hand_over_wait = wait;
        self
    }

    /// How long the work may run on after a stop was requested, while the lease is still renewed.
    /// Work that takes longer is dropped, and the lease expires instead of being released. If the
    /// elector campaigns again, it may lead, or release the lease, a stop margin later. Default
    /// 30 s.
    pub fn drain_timeout(mut self, drain_timeout: Duration) -> Self {
        self.drain_timeout = drain_timeout;
        self
    }

    /// The longest lease granted to other holders, whatever they write; at least [`MAX_LEASE`], the
    /// default. Raise it if another implementation uses longer leases.
    pub fn foreign_lease_cap(mut self, cap: Duration) -> Self {
        self.foreign_lease_cap = cap;
        self
    }

    /// Whether the lease is released when the work has ended, so that another candidate starts at
    /// once. Default true. With `false` it expires, also when the controller of a coordinated
    /// election prefers another candidate.
    #[doc(alias = "ReleaseOnCancel")]
    pub fn release_on_stop(mut self, release: bool) -> Self {
        self.release_on_stop = release;
        self
    }

    /// Whether a candidate that sees the Lease of a live leader deleted waits until that leader's
    /// lease has expired. Default true.
    ///
    /// With `false` a deletion forces an election at once. The old leader works on until it
    /// notices: a renewal later at most, if it can reach the server.
    pub fn wait_after_deletion(mut self, wait: bool) -> Self {
        self.wait_after_deletion = wait;
        self
    }

    /// Without an identity, sets what `make` makes of the host's name and 64 random bits.
    #[cfg(all(feature = "kube", feature = "coordinated"))]
    pub(crate) fn with_default_identity(mut self, make: impl FnOnce(&str, u64) -> String) -> Self {
        self.identity.get_or_insert_with(|| make(&host(), random()));
        self
    }

    /// Checks that the identity can be the name of an object.
    #[cfg(all(feature = "kube", feature = "coordinated"))]
    pub(crate) fn check_identity_is_name(&self) -> Result<(), ConfigError> {
        self.identity
            .as_ref()
            .map_or(Ok(()), |identity| check_name("identity", identity, 253, true))
    }

    /// Checks all values.
    ///
    /// # Errors
    /// Names the first value that cannot be used, its bound with the numbers, and a remedy. In
    /// particular two renewals that time out must fit into the [hold](Config::hold):
    /// `retry_period + 2 * max(request_timeout, retry_period / 2) <= hold`.
    pub fn build(self) -> Result<Config, ConfigError> {
        check_name("namespace", &self.namespace, 63, false)?;
        check_name("name", &self.name, 253, true)?;
        let identity = self.identity.clone().unwrap_or_else(default_identity);
        check_identity(&identity)?;
        self.check_ranges()?;

        let hold = hold(self.lease_duration, self.drift_ppm, self.stop_margin);
        if attempts(hold, self.retry_period, self.request_timeout) < 2 {
            let attempt = self.request_timeout.max(self.retry_period / 2);
            let need = self.retry_period.saturating_add(attempt.saturating_mul(2));
            return Err(ConfigError {
                field: "retry_period",
                value: format!("{:?}", self.retry_period),
                bound: format!(
                    "retry_period {:?} + 2 attempts of {attempt:?} (the longer of request_timeout {:?} and half a retry_period) is {need:?} and must \
                     not exceed the hold of {hold:?} (lease_duration {:?}, less {} ppm of clock drift, less stop_margin {:?})",
                    self.retry_period,
                    self.request_timeout,
                    self.lease_duration,
                    self.drift_ppm,
                    self.stop_margin
                ),
                remedy: "shorten retry_period, request_timeout or stop_margin, or lengthen lease_duration",
            });
        }
        let config = Config {
            namespace: self.namespace,
            name: self.name,
            identity,
            lease_duration: self.lease_duration,
            retry_period: self.retry_period,
            request_timeout: self.request_timeout,
            stop_margin: self.stop_margin,
            drift_ppm: self.drift_ppm,
            hold,
            takeover_jitter: self.takeover_jitter,
            rank: self.rank,
            hand_over_wait: self.hand_over_wait,
            drain_timeout: self.drain_timeout,
            foreign_lease_cap: self.foreign_lease_cap,
            release_on_stop: self.release_on_stop,
            wait_after_deletion: self.wait_after_deletion,
        };
        for warning in config.warnings() {
            tracing::warn!(lease = config.name(), "{warning}");
        }
        Ok(config)
    }

    fn check_ranges(&self) -> Result<(), ConfigError> {
        if self.lease_duration.subsec_nanos() != 0
            || self.lease_duration.is_zero()
            || self.lease_duration > MAX_LEASE
        {
            return Err(range(
                "lease_duration",
                self.lease_duration,
                format!("a lease is a whole number of seconds, from 1s to {MAX_LEASE:?}"),
                "round it to whole seconds within these bounds",
            ));
        }
        let least = Duration::from_millis(10);
        for (field, value) in [
            ("retry_period", self.retry_period),
            ("request_timeout", self.request_timeout),
            ("stop_margin", self.stop_margin),
        ] {
            if value < least || value >= self.lease_duration {
                return Err(range(
                    field,
                    value,
                    format!(
                        "must be at least {least:?} and shorter than lease_duration {:?}",
                        self.lease_duration
                    ),
                    "choose a value between the two, or a longer lease_duration; `fast()` sets all of them",
                ));
            }
        }
        if self.drift_ppm > 100_000 {
            return Err(ConfigError {
                field: "clock_drift_ppm",
                value: self.drift_ppm.to_string(),
                bound: "at most 100000 (10 %)".into(),
                remedy: "repair the clock, or use a longer lease and a longer stop_margin",
            });
        }
        if self.takeover_jitter > self.lease_duration {
            return Err(range(
                "takeover_jitter",
                self.takeover_jitter,
                format!("at most lease_duration {:?}", self.lease_duration),
                "use some hundred milliseconds",
            ));
        }
        if let Some(rank) = self.rank.filter(|rank| *rank > MAX_RANK) {
            return Err(ConfigError {
                field: "rank",
                value: rank.to_string(),
                bound: format!("from 0 (the first) to {MAX_RANK}"),
                remedy: "let those behind share the last rank",
            });
        }
        if self.hand_over_wait > self.lease_duration {
            return Err(range(
                "hand_over_wait",
                self.hand_over_wait,
                format!("at most lease_duration {:?}", self.lease_duration),
                "use a second, or what a successor that polls needs",
            ));
        }
        if self.foreign_lease_cap < MAX_LEASE {
            return Err(range(
                "foreign_lease_cap",
                self.foreign_lease_cap,
                format!(
                    "at least {MAX_LEASE:?}, the longest lease a candidate of this crate asks for"
                ),
                "leave it at its default",
            ));
        }
        Ok(())
    }
}

fn range(field: &'static str, value: Duration, bound: String, remedy: &'static str) -> ConfigError {
    ConfigError { field, value: format!("{value:?}"), bound, remedy }
}

/// `lease * (1 - rho) / (1 + rho) - margin` in whole nanoseconds, rounded down.
fn hold(lease: Duration, drift_ppm: u32, margin: Duration) -> Duration {
    let drift = u128::from(drift_ppm);
    let nanos =
        lease.as_nanos().saturating_mul(1_000_000 - drift.min(1_000_000)) / (1_000_000 + drift);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).saturating_sub(margin)
}
