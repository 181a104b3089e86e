//! Presets: durations that go together, with the inequality that `build` checks.

use std::time::Duration;

use super::builder::ConfigBuilder;

impl ConfigBuilder {
    /// Short terms for fast fail-over: 5 s leases, renewals every second, 0.9 s per request and a
    /// stop margin of 1 s.
    ///
    /// With three candidates this costs about as many requests as client-go's defaults. It replaces
    /// only these four values; later calls override them.
    ///
    /// ```text
    /// hold = lease_duration * (1 - rho) / (1 + rho) - stop_margin                 5 s * 0.9995 / 1.0005 - 1 s = 3.995 s
    /// retry_period + 2 * max(request_timeout, retry_period / 2) <= hold         1 s + 2 * 0.9 s = 2.8 s <= 3.995 s
    /// ```
    ///
    /// Three renewals in a row may time out, 3.7 s in all. A standby takes over from a crashed
    /// leader 5 s to 5.2 s after the last renewal it saw.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let config = lease_election::Config::builder("ns", "lease").fast().build()?;
    /// assert_eq!(config.hold(), Duration::from_nanos(3_995_002_498));
    /// assert_eq!(config.attempts_per_hold(), 3);
    /// # Ok::<(), lease_election::ConfigError>(())
    /// ```
    pub fn fast(mut self) -> Self {
        self.lease_duration = Duration::from_secs(5);
        self.retry_period = Duration::from_secs(1);
        self.request_timeout = Duration::from_millis(900);
        self.stop_margin = Duration::from_secs(1);
        self
    }

    /// client-go's defaults (`LeaseDuration` 15 s, `RenewDeadline` 10 s, `RetryPeriod` 2 s), made
    /// safe. Leases of 15 s, renewals every 2 s, 2.5 s per request and a stop margin of 5 s.
    ///
    /// For candidates that share a Lease with candidates of client-go, and for work built for these
    /// times. The work is told to stop within 10 s of its last renewal, and then has the 5 s that
    /// `LeaseDuration` leaves after `RenewDeadline`. It replaces only these four values; later
    /// calls override them.
    ///
    /// ```text
    /// hold = lease_duration * (1 - rho) / (1 + rho) - stop_margin                 15 s * 0.9995 / 1.0005 - 5 s = 9.985 s
    /// retry_period + 2 * max(request_timeout, retry_period / 2) <= hold         2 s + 2 * 2.5 s = 7 s <= 9.985 s
    /// ```
    ///
    /// Three renewals in a row may time out, 9.5 s in all. It is safe where client-go is not:
    /// - The 10 s count from the *sending* of the last successful renewal. client-go counts from
    ///   the pause after its answer: 17 s after the sending if the answer took 5 s.
    /// - No request outlasts the rest of the hold.
    /// - The hold is shorter than `RenewDeadline` by the drift of two clocks.
    /// - The lease is released after the work has ended; client-go's `ReleaseOnCancel` releases it
    ///   before.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let config = lease_election::Config::builder("ns", "lease").client_go_compatible().build()?;
    /// assert_eq!(config.hold(), Duration::from_nanos(9_985_007_496));
    /// assert_eq!(config.attempts_per_hold(), 3);
    /// # Ok::<(), lease_election::ConfigError>(())
    /// ```
    #[doc(alias = "RenewDeadline")]
    pub fn client_go_compatible(mut self) -> Self {
        self.lease_duration = Duration::from_secs(15);
        self.retry_period = Duration::from_secs(2);
        self.request_timeout = Duration::from_millis(2500);
        self.stop_margin = Duration::from_secs(5);
        self
    }
}
