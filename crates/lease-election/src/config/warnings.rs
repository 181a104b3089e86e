//! What is allowed in a configuration, and seldom meant.

use std::fmt;
use std::time::Duration;

use super::Config;

/// Something that [`Config::warnings`] warns of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// Fewer than three renewals that time out fit into the hold.
    FewAttempts {
        /// How many do.
        attempts: u32,
        /// The hold.
        hold: Duration,
    },
    /// Renewals come more often than once a second. Each names another whole second, because Go candidates tell records apart by nothing else, so that
    /// `renewTime` runs ahead of the clock.
    RenewTimeRunsAhead {
        /// The interval of the renewals.
        renew_interval: Duration,
        /// By how much the written time is ahead after an hour as a leader. (After a day ahead it begins again at the clock's time.)
        ahead_after_an_hour: Duration,
    },
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewAttempts { attempts, hold } => write!(
                f,
                "only {attempts} renewals that time out fit into the hold of {hold:?}, fewer than three: a short outage of the API server ends the term"
            ),
            Self::RenewTimeRunsAhead { renew_interval, ahead_after_an_hour } => write!(
                f,
                "renew_interval {renew_interval:?} is below 1s, and each renewal names another second: after an hour as a leader renewTime is \
                 {ahead_after_an_hour:?} ahead of the clock, for whoever judges a leader by it"
            ),
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn of(config: &Config) -> Vec<ConfigWarning> {
    let mut warnings = Vec::new();
    let attempts = config.attempts_per_hold();
    if attempts < 3 {
        warnings.push(ConfigWarning::FewAttempts { attempts, hold: config.hold() });
    }
    let renew_interval = config.renew_interval();
    if renew_interval < SECOND {
        let hour = Duration::from_secs(3600);
        let renewals = hour.as_nanos() / renew_interval.as_nanos().max(1);
        let written = SECOND.saturating_mul(u32::try_from(renewals).unwrap_or(u32::MAX));
        let ahead_after_an_hour = written.saturating_sub(hour);
        warnings.push(ConfigWarning::RenewTimeRunsAhead { renew_interval, ahead_after_an_hour });
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
        assert_eq!(Config::builder("ns", "lease").client_go_compatible().build().unwrap().warnings(), []);
    }

    #[test]
    fn renewals_that_outrun_the_clock_are_warned_of_with_the_numbers() {
        let config = Config::builder("ns", "lease").fast().renew_interval(Duration::from_millis(500));
        let warnings = config.build().unwrap().warnings();
        let (renew_interval, ahead_after_an_hour) = (Duration::from_millis(500), Duration::from_secs(3600));
        assert_eq!(warnings, [ConfigWarning::RenewTimeRunsAhead { renew_interval, ahead_after_an_hour }]);
        assert!(warnings[0].to_string().contains("500ms") && warnings[0].to_string().contains("3600s"));
    }

    #[test]
    fn few_attempts_are_warned_of_with_the_numbers() {
        let config = Config::builder("ns", "lease").request_timeout(Duration::from_secs(5)).build().unwrap();
        let warnings = config.warnings();
        assert_eq!(warnings, [ConfigWarning::FewAttempts { attempts: 2, hold: config.hold() }]);
        assert!(warnings[0].to_string().contains("2 renewals") && warnings[0].to_string().contains("12.98"));
    }
}
