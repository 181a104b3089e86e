//! What can keep a claim or a volume waiting: one word for machines, one sentence for people, and
//! whether trying again helps.

use std::fmt;
use std::time::Duration;

use crate::directory::{DirectoryError, Trouble};
use crate::location::InvalidLocation;
use crate::parameters::InvalidParameters;

/// The longest message that is shown, in bytes: what an Event's note may have. Servers and tenants
/// can put anything into one.
pub const MESSAGE_MAX_BYTES: usize = 1024;

/// Why something waits, as one word. Also the label of metrics: the set is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The StorageClass is not there.
    ClassNotFound,
    /// The StorageClass asks for something this provisioner cannot do.
    ClassUnusable,
    /// The claim asks for something this provisioner cannot do.
    ClaimUnusable,
    /// A volume of the claim's name exists and is not the claim's.
    VolumeNameTaken,
    /// Something that is no directory stands where one belongs.
    DirectoryInTheWay,
    /// A directory that is not ours stands there.
    DirectoryForeign,
    /// Another file system is mounted where a directory is, or in it.
    DirectoryMounted,
    /// A volume is wanted whose directory has been removed.
    DirectoryLost,
    /// The claim exists whose directory was to be removed.
    ClaimExists,
    /// Nothing is removed until an operator confirms it.
    RemovalsPaused,
    /// The file system is full.
    NoSpace,
    /// The disk failed otherwise.
    DirectoryFailed,
    /// The API server refused for lack of a permission.
    Forbidden,
    /// The API server failed or could not be reached.
    ApiFailed,
    /// It took longer than it may.
    TimedOut,
    /// The replica lost the lease in the middle of it.
    LeaseLost,
}

impl Reason {
    /// The word, as it stands in annotations, Events and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClassNotFound => "ClassNotFound",
            Self::ClassUnusable => "ClassUnusable",
            Self::ClaimUnusable => "ClaimUnusable",
            Self::VolumeNameTaken => "VolumeNameTaken",
            Self::DirectoryInTheWay => "DirectoryInTheWay",
            Self::DirectoryForeign => "DirectoryForeign",
            Self::DirectoryMounted => "DirectoryMounted",
            Self::DirectoryLost => "DirectoryLost",
            Self::ClaimExists => "ClaimExists",
            Self::RemovalsPaused => "RemovalsPaused",
            Self::NoSpace => "NoSpace",
            Self::DirectoryFailed => "DirectoryFailed",
            Self::Forbidden => "Forbidden",
            Self::ApiFailed => "ApiFailed",
            Self::TimedOut => "TimedOut",
            Self::LeaseLost => "LeaseLost",
        }
    }
}

/// When the next attempt makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// By back-off.
    Backoff,
    /// Not before this long from now: the server said so.
    After(Duration),
    /// Not before the claim, the class or the volume changes.
    OnChange,
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One word.
    pub reason: Reason,
    /// One sentence, short and without control characters.
    pub message: String,
    /// When the next attempt makes sense.
    pub retry: Retry,
}

impl Problem {
    /// One that back-off may cure.
    #[must_use]
    pub fn passing(reason: Reason, message: &str) -> Self {
        Self { reason, message: shown(message), retry: Retry::Backoff }
    }

    /// One that only a change can cure.
    #[must_use]
    pub fn lasting(reason: Reason, message: &str) -> Self {
        Self { reason, message: shown(message), retry: Retry::OnChange }
    }

    /// What an API call's failure means. `what` names the call, as in "create volume".
    #[must_use]
    pub fn of_api(what: &str, error: &kube::Error) -> Self {
        let message = format!("cannot {what}: {error}");
        match error {
            kube::Error::Api(status) if status.code == 403 => {
                Self::passing(Reason::Forbidden, &message)
            }
            kube::Error::Api(status) => {
                let mut problem = Self::passing(Reason::ApiFailed, &message);
                let wait = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                if wait > 0 {
                    // A server that asks for more than a minute is not believed.
                    problem.retry = Retry::After(Duration::from_secs(u64::from(wait.min(60))));
                }
                problem
            }
            _ => Self::passing(Reason::ApiFailed, &message),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl From<DirectoryError> for Problem {
    fn from(error: DirectoryError) -> Self {
        let reason = match error.trouble() {
            Trouble::InTheWay => Reason::DirectoryInTheWay,
            Trouble::Foreign => Reason::DirectoryForeign,
            Trouble::NoSpace => Reason::NoSpace,
            Trouble::Superseded => Reason::LeaseLost,
            Trouble::Mounted => Reason::DirectoryMounted,
            Trouble::Paused => Reason::RemovalsPaused,
            Trouble::Denied | Trouble::Failed => Reason::DirectoryFailed,
        };
        match reason {
            // The end of the pause tries it again.
            Reason::RemovalsPaused => Self::lasting(reason, &error.to_string()),
            _ => Self::passing(reason, &error.to_string()),
        }
    }
}

impl From<InvalidParameters> for Problem {
    fn from(error: InvalidParameters) -> Self {
        Self::lasting(Reason::ClassUnusable, &error.to_string())
    }
}

impl From<InvalidLocation> for Problem {
    fn from(error: InvalidLocation) -> Self {
        Self::lasting(Reason::ClaimUnusable, &error.to_string())
    }
}

/// A message as it may be shown: control characters out, cut at [`MESSAGE_MAX_BYTES`].
#[must_use]
pub fn shown(message: &str) -> String {
    let mut clean: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if clean.len() > MESSAGE_MAX_BYTES {
        let end =
            (0..=MESSAGE_MAX_BYTES - 3).rev().find(|at| clean.is_char_boundary(*at)).unwrap_or(0);
        clean.truncate(end);
        clean.push_str("...");
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_shown_short_and_without_control_characters() {
        assert_eq!(shown("a\nb\x1b[31mc"), "a b [31mc");
        let long = shown(&"\u{e9}".repeat(600));
        assert!(long.len() <= MESSAGE_MAX_BYTES && long.ends_with("..."), "{long}");
    }

    fn api(code: u16, wait: Option<u32>) -> Problem {
        let status = serde_json::from_value(serde_json::json!({
            "status": "Failure", "message": "no", "reason": "no", "code": code,
            "details": wait.map(|wait| serde_json::json!({"retryAfterSeconds": wait})),
        }))
        .unwrap();
        Problem::of_api("create volume", &kube::Error::Api(status))
    }

    #[test]
    fn a_server_that_names_a_wait_is_obeyed_within_reason() {
        assert_eq!(api(429, Some(3)).retry, Retry::After(Duration::from_secs(3)));
        assert_eq!(api(429, Some(u32::MAX)).retry, Retry::After(Duration::from_secs(60)));
        assert_eq!(api(429, Some(0)).retry, Retry::Backoff);
        assert_eq!(api(500, None).retry, Retry::Backoff);
        assert_eq!(api(403, None).reason, Reason::Forbidden);
    }
}
