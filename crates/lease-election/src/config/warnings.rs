//! Warnings: configurations that are allowed, and seldom meant.

use std::fmt;
use std::time::Duration;

use super::Config;

/// A warning of [`Config::warnings`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// Fewer than three renewals that time out fit into the hold.
    FewAttempts {
        /// How many fit.
        attempts: u32,
        /// The hold.
        hold: Duration,
    },
    /// Renewals come more often than once a second. Each names another whole second, because
    /// candidates in Go tell records apart by nothing else, so `renewTime` runs ahead of the clock.
    RenewTimeRunsAhead {
        /// The interval of the renewals.
        retry_period: Duration,
        /// How far the written time is ahead after an hour as a leader. (A day ahead, it begins
        /// again at the clock's time.)
        ahead_after_an_hour: Duration,
    },
    /// The stop margin is shorter than a busy machine may take to run a thread. A thread must drop
    /// work at its next await, and the watchdog's must end the process after half of the margin.
    ThinMargin {
        /// The stop margin.
        stop_margin: Duration,
        /// The rest of the margin, and so of the lease, after a watchdog's default grace.
        left: Duration,
    },
    /// Requests time out that a healthy server may still answer: Kubernetes promises most answers
    /// to writes within a second.
    ShortRequestTimeout {
        /// The time-out of a request.
        request_timeout: Duration,
    },
    /// This candidate's turn may come so late that a crash costs half a lease more.
    LateTurn {
        /// The longest wait after the lease has expired: the jitter, or the jitter times the rank.
        turn: Duration,
        /// The lease.
        lease_duration: Duration,
    },
    /// Work has no time to wind up: it is dropped, and the lease expires instead of being released.
    ShortDrain {
        /// How long work may run on after a stop was requested.
        drain_timeout: Duration,
    },
}

impl Config {
    /// Lists values that are allowed, and seldom meant.
    /// [`ConfigBuilder::build`](crate::ConfigBuilder::build) logs each of them.
    pub fn warnings(&self) -> Vec<ConfigWarning> {
        of(self)
    }
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewAttempts { attempts, hold } => write!(
                f,
                "only {attempts} renewals that time out fit into the hold of {hold:?}, fewer than three: a short outage of the API server ends the term"
            ),
            Self::RenewTimeRunsAhead { retry_period, ahead_after_an_hour } => write!(
                f,
                "retry_period {retry_period:?} is below 1s, and each renewal names another second: after an hour as a leader renewTime is \
                 {ahead_after_an_hour:?} ahead of the clock, for whoever judges a leader by it"
            ),
            Self::ThinMargin { stop_margin, left } => write!(
                f,
                "stop_margin {stop_margin:?} is below {THIN:?}: a watchdog has {left:?} left to end the process before the lease ends, and a busy machine \
                 may take longer to run a thread"
            ),
            Self::ShortRequestTimeout { request_timeout } => write!(
                f,
                "request_timeout {request_timeout:?} is below {PROMPT:?}: a busy API server may answer later, and a term ends although it is well"
            ),
            Self::LateTurn { turn, lease_duration } => write!(
                f,
                "this candidate may wait {turn:?} (takeover_jitter, times its rank) after a lease of {lease_duration:?} has run out, and nobody leads meanwhile"
            ),
            Self::ShortDrain { drain_timeout } => write!(
                f,
                "drain_timeout {drain_timeout:?} is below {THIN:?}: work that is to end is dropped, and its lease runs out instead of being given back"
            ),
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);
/// Some turns of a scheduler on a machine with more threads than processors.
const THIN: Duration = Duration::from_millis(100);

/// How long a healthy server that is far away or busy may take for a write.
const PROMPT: Duration = Duration::from_millis(250);

fn of(config: &Config) -> Vec<ConfigWarning> {
    let mut warnings = Vec::new();
    let attempts = config.attempts_per_hold();
    if attempts < 3 {
        warnings.push(ConfigWarning::FewAttempts { attempts, hold: config.hold() });
    }
    let retry_period = config.retry_period();
    if retry_period < SECOND {
        let hour = Duration::from_secs(3600);
        let renewals = hour.as_nanos() / retry_period.as_nanos().max(1);
        let written = SECOND.saturating_mul(u32::try_from(renewals).unwrap_or(u32::MAX));
        let ahead_after_an_hour = written.saturating_sub(hour);
        warnings.push(ConfigWarning::RenewTimeRunsAhead { retry_period, ahead_after_an_hour });
    }
    let stop_margin = config.stop_margin();
    if stop_margin < THIN {
        warnings
            .push(ConfigWarning::ThinMargin { stop_margin, left: stop_margin - stop_margin / 2 });
    }
    let request_timeout = config.request_timeout();
    if request_timeout < PROMPT {
        warnings.push(ConfigWarning::ShortRequestTimeout { request_timeout });
    }
    let (turn, lease_duration) = (config.turn(|jitter| jitter), config.lease_duration());
    if turn > lease_duration / 2 {
        warnings.push(ConfigWarning::LateTurn { turn, lease_duration });
    }
    let drain_timeout = config.drain_timeout();
    if drain_timeout < THIN {
        warnings.push(ConfigWarning::ShortDrain { drain_timeout });
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_are_warned_of_nothing() {
        assert_eq!(Config::builder("ns", "lease").build().unwrap().warnings(), []);
        assert_eq!(Config::builder("ns", "lease").fast().build().unwrap().warnings(), []);
        assert_eq!(
            Config::builder("ns", "lease").client_go_compatible().build().unwrap().warnings(),
            []
        );
    }

    #[test]
    fn renewals_that_outrun_the_clock_are_warned_of_with_the_numbers() {
        let config = Config::builder("ns", "lease").fast().retry_period(Duration::from_millis(500));
        let warnings = config.build().unwrap().warnings();
        let (retry_period, ahead_after_an_hour) =
            (Duration::from_millis(500), Duration::from_secs(3600));
        assert_eq!(
            warnings,
            [ConfigWarning::RenewTimeRunsAhead { retry_period, ahead_after_an_hour }]
        );
        assert!(
            warnings[0].to_string().contains("500ms") && warnings[0].to_string().contains("3600s")
        );
    }

    #[test]
    fn a_thin_stop_margin_is_warned_of_with_what_is_left_to_a_watchdog() {
        let margin = |millis| {
            Config::builder("ns", "lease").fast().stop_margin(Duration::from_millis(millis))
        };
        assert_eq!(margin(100).build().unwrap().warnings(), []);
        let warnings = margin(99).build().unwrap().warnings();
        let (stop_margin, left) = (Duration::from_millis(99), Duration::from_micros(49_500));
        assert_eq!(warnings, [ConfigWarning::ThinMargin { stop_margin, left }]);
        assert!(
            warnings[0].to_string().contains("99ms") && warnings[0].to_string().contains("49.5ms")
        );
    }

    #[test]
    fn what_costs_terms_or_time_without_need_is_warned_of_with_the_numbers() {
        let (fast, ms) = (|| Config::builder("ns", "lease").fast(), Duration::from_millis);
        let short = |millis| fast().request_timeout(ms(millis));
        assert_eq!(short(250).build().unwrap().warnings(), []);
        let warnings = short(249).build().unwrap().warnings();
        assert_eq!(warnings, [ConfigWarning::ShortRequestTimeout { request_timeout: ms(249) }]);
        assert!(warnings[0].to_string().contains("249ms"));

        let late = |rank, millis| fast().rank(rank).takeover_jitter(ms(millis));
        assert_eq!(late(5, 500).build().unwrap().warnings(), []);
        let warnings = late(6, 500).build().unwrap().warnings();
        assert_eq!(
            warnings,
            [ConfigWarning::LateTurn { turn: ms(3000), lease_duration: ms(5000) }]
        );
        assert!(warnings[0].to_string().contains("3s") && warnings[0].to_string().contains("5s"));

        assert_eq!(fast().drain_timeout(ms(100)).build().unwrap().warnings(), []);
        let warnings = fast().drain_timeout(Duration::ZERO).build().unwrap().warnings();
        assert_eq!(warnings, [ConfigWarning::ShortDrain { drain_timeout: Duration::ZERO }]);
        assert!(warnings[0].to_string().contains("0ns"));
    }

    #[test]
    fn few_attempts_are_warned_of_with_the_numbers() {
        let config =
            Config::builder("ns", "lease").request_timeout(Duration::from_secs(5)).build().unwrap();
        let warnings = config.warnings();
        assert_eq!(warnings, [ConfigWarning::FewAttempts { attempts: 2, hold: config.hold() }]);
        assert!(
            warnings[0].to_string().contains("2 renewals")
                && warnings[0].to_string().contains("12.98")
        );
    }
}
