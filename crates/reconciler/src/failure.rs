//! `Failure`: a reconcile that did not succeed, and whether to try again.

use std::fmt;
use std::time::Duration;

/// Any error that may cross threads.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A reconcile that failed. Made from any error by `?`, and then it is tried again with back-off.
///
/// ```
/// use std::time::Duration;
/// use reconciler::{Action, Failure};
///
/// fn step(text: &str) -> Result<Action, Failure> {
///     let seconds: u64 = text.parse()?; // tried again, later and later
///     if seconds > 3600 {
///         return Err(Failure::terminal("more than an hour")); // given up until it changes
///     }
///     Ok(Action::requeue(Duration::from_secs(seconds)))
/// }
/// assert!(step("7200").unwrap_err().is_terminal());
/// ```
#[doc(alias = "TerminalError")]
pub struct Failure {
    error: BoxError,
    then: Then,
}

/// What a failed reconcile wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The controller's limiter says when.
    Retry,
    /// At this distance, whatever the limiter says.
    RetryAfter(Duration),
    /// Not before a source names the key again.
    GiveUp,
}

impl Failure {
    /// A failure that a retry cannot cure: the key is parked until a source names it again, and its
    /// count of failures is cleared.
    pub fn terminal(error: impl Into<BoxError>) -> Self {
        Self { error: error.into(), then: Then::GiveUp }
    }

    /// A failure to be tried again after a given time, in place of the limiter's. It counts as a failure.
    pub fn retry_after(error: impl Into<BoxError>, after: Duration) -> Self {
        Self { error: error.into(), then: Then::RetryAfter(after) }
    }

    /// A failure to be tried again with back-off: what `?` makes.
    pub fn retry(error: impl Into<BoxError>) -> Self {
        Self { error: error.into(), then: Then::Retry }
    }

    /// Whether the key is given up until it changes.
    pub fn is_terminal(&self) -> bool {
        self.then == Then::GiveUp
    }

    /// The error inside.
    pub fn error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.error
    }

    /// The error inside, by value.
    pub fn into_error(self) -> BoxError {
        self.error
    }

    pub(crate) fn then(&self) -> Then {
        self.then
    }
}

// `Failure` is no `Error` itself, or this conversion would overlap with the identity (anyhow's way).
impl<E: Into<BoxError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::retry(error)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure").field("error", &self.error).field("then", &self.then).finish()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Chain(&*self.error), f)
    }
}

/// An error with its sources, each once: many errors already print their source.
struct Chain<'a>(&'a (dyn std::error::Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.to_string();
        let mut source = self.0.source();
        while let Some(error) = source {
            let text = error.to_string();
            if !shown.contains(&text) {
                shown.push_str(": ");
                shown.push_str(&text);
            }
            source = error.source();
        }
        f.write_str(&shown)
    }
}
