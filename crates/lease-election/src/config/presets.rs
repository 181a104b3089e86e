//! Presets: sets of durations that go together, and what each makes of the inequality that `build`
//! checks.

use std::time::Duration;

use super::builder::ConfigBuilder;

impl ConfigBuilder {
    /// Short terms for fast fail-over: 5 s leases, renewals each second, 0.9 s for a request and 1
    /// s to stop.
    ///
    /// For three candidates this costs about as many requests as client-go's defaults do. Replaces
    /// these four values and nothing else; what is set afterwards counts.
    ///
    /// ```text
    /// hold = lease_duration * (1 - rho) / (1 + rho) - stop_margin                 5 s * 0.9995 / 1.0005 - 1 s = 3.995 s
    /// retry_period + 2 * max(request_timeout, retry_period / 2) <= hold         1 s + 2 * 0.9 s = 2.8 s <= 3.995 s
    /// ```
    ///
    /// Three renewals in a row may go unanswered for their whole time-out, 3.7 s in all. A standby
    /// takes over from a crashed leader 5 s to 5.2 s after the last renewal it saw.
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
    /// safe: 15 s leases, renewals every 2 s, 2.5 s for a request and 5 s to stop.
    ///
    /// For candidates that take turns with Go ones on one Lease, and for work that was built for
    /// these times: it is told to stop within 10 s of its last renewal, and then has the 5 s
    /// that `LeaseDuration` leaves after `RenewDeadline`. Replaces these four values and nothing
    /// else; what is set afterwards counts.
    ///
    /// ```text
    /// hold = lease_duration * (1 - rho) / (1 + rho) - stop_margin                 15 s * 0.9995 / 1.0005 - 5 s = 9.985 s
    /// retry_period + 2 * max(request_timeout, retry_period / 2) <= hold         2 s + 2 * 2.5 s = 7 s <= 9.985 s
    /// ```
    ///
    /// Three renewals in a row may go unanswered for their whole time-out, 9.5 s in all. What makes
    /// it safe where client-go is not: the 10 s count from the *sending* of the last renewal
    /// that succeeded, and not from the pause after its answer (which is 17 s after the sending if
    /// the answer took 5 s); no request outlasts what is left of them; and they are shorter
    /// than `RenewDeadline` by what two clocks may drift apart. The lease is given back when
    /// the work has ended, which in client-go is `ReleaseOnCancel`, and happens before.
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
