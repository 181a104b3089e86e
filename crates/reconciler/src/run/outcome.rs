//! The whole retry policy: maps the end of a run and its attempt to a verdict for the queue.
//!
//! Pure: no queue, no clock, no key.
//!
//! | the run ended with | attempts left | the key | its failures |
//! | --- | --- | --- | --- |
//! | `Action::await_change()` | | waits for a change | cleared |
//! | `Action::requeue(d)` | | runs again after `d`, at least `min_requeue` | cleared |
//! | an error | yes | runs again when the limiter says | one more |
//! | a conflict | yes | runs again when the limiter says | one more |
//! | `Failure::retry_after(e, d)` | yes | runs again after `d`, at least `min_requeue` | one more |
//! | a panic, or its time was up | yes | as for an error | one more |
//! | any of these five | no | parked until it changes | cleared |
//! | `Failure::terminal(e)` | | parked until it changes | cleared |
//!
//! A change during a successful run makes the key run again at once. After a failed run the
//! worker's admission decides: see `failing`. A run of an event before the retry of a failing key
//! counts no attempt: its failure leaves the count and the time of the retry, unless it asks for a
//! time of its own.

use std::time::Duration;

use crate::Action;
use crate::failure::Then;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It went well.
    Done(Action),
    /// It returned a failure.
    Failed(Then),
    /// It panicked.
    Panicked,
    /// The controller's time-out came first.
    TimedOut,
}

/// The retry settings of one controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    /// Failed runs in a row before the key is parked; `None`: unlimited.
    pub(crate) max_attempts: Option<u32>,
    /// The least delay of a run that the key itself requests.
    pub(crate) min_requeue: Duration,
    /// The least time between a failed run and a run that an event causes.
    pub(crate) failing_interval: Duration,
    /// Whether events of the key's own writes run no key.
    pub(crate) ignores_own_writes: bool,
}

impl Policy {
    /// The policy for a run whose failure counts as an attempt, or does not. A run that does not
    /// count is not the last attempt.
    pub(crate) fn counting(self, counts: bool) -> Self {
        Self { max_attempts: self.max_attempts.filter(|_| counts), ..self }
    }

    /// Whether the key has no attempt after this one.
    pub(crate) fn is_last(&self, attempt: u32) -> bool {
        self.max_attempts.is_some_and(|max| attempt.saturating_add(1) >= max)
    }
}

/// The instruction to the queue after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Clear the failures; run again when a source names the key.
    Rest,
    /// Clear the failures; run again after this time.
    Requeue(Duration),
    /// Count a failure; run again when the limiter says.
    Retry,
    /// Count a failure; run again after this time.
    RetryAfter(Duration),
    /// Clear the failures; run again only when a source names the key.
    Park(Parked),
}

/// Why a key is parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Parked {
    /// The failure was terminal.
    Terminal,
    /// The attempts of the key were used up.
    Exhausted,
}

/// Returns the verdict. `attempt` is 0 for the first run after a success, a park or a start.
pub(crate) fn decide(ended: Ended, attempt: u32, policy: &Policy) -> Verdict {
    let then = match ended {
        Ended::Done(action) => {
            return match action.requeue_after() {
                None => Verdict::Rest,
                Some(after) => Verdict::Requeue(after.max(policy.min_requeue)),
            };
        }
        Ended::Failed(then) => then,
        Ended::Panicked | Ended::TimedOut => Then::Retry,
    };
    let exhausted = policy.is_last(attempt);
    match then {
        Then::GiveUp => Verdict::Park(Parked::Terminal),
        _ if exhausted => Verdict::Park(Parked::Exhausted),
        Then::Retry | Then::Conflict => Verdict::Retry,
        Then::RetryAfter(after) => Verdict::RetryAfter(after.max(policy.min_requeue)),
    }
}

#[cfg(test)]
mod tests;
