//! What can keep a claim or a volume waiting: one word for machines, one sentence for people, and
//! whether trying again helps.

use std::fmt;

use kube::core::Status;
use reconciler::Failure;

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

/// A failed attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// One word.
    pub reason: Reason,
    /// One sentence, short and without control characters.
    pub message: String,
    /// Whether only a change of the claim, the class or the volume can cure it.
    pub is_lasting: bool,
    /// The answer of the API server, if it is one. It decides when the next attempt is.
    pub answer: Option<Box<Status>>,
}

impl Problem {
    /// One that back-off may cure.
    #[must_use]
    pub fn passing(reason: Reason, message: &str) -> Self {
        Self { reason, message: shown(message), is_lasting: false, answer: None }
    }

    /// One that only a change can cure.
    #[must_use]
    pub fn lasting(reason: Reason, message: &str) -> Self {
        Self { is_lasting: true, ..Self::passing(reason, message) }
    }

    /// What an API call's failure means. `what` names the call, as in "create the volume".
    #[must_use]
    pub fn of_api(what: &str, error: kube::Error) -> Self {
        let failure = Failure::from(error);
        let answer = failure.status().cloned().map(Box::new);
        let is_refusal = answer.as_ref().is_some_and(|answer| answer.code == 403);
        let reason = if is_refusal { Reason::Forbidden } else { Reason::ApiFailed };
        Self { answer, ..Self::passing(reason, &format!("cannot {what}: {failure}")) }
    }

    /// The HTTP status; 0 when there was no answer.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.answer.as_ref().map_or(0, |answer| answer.code)
    }

    /// How it ends a run.
    pub(crate) fn into_failure(self) -> Failure {
        if self.is_lasting { Failure::terminal(self) } else { self.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.answer.as_deref().map(|answer| answer as _)
    }
}

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
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_wrote_is_shown_short_and_without_control_characters() {
        assert_eq!(shown("a\nb\x1b[31mc"), "a b [31mc");
        let long = shown(&"\u{e9}".repeat(600));
        assert!(long.len() <= MESSAGE_MAX_BYTES && long.ends_with("..."), "{long}");
    }

    fn api(code: u16, message: &str) -> Problem {
        let status = json!({"status": "Failure", "code": code, "message": message, "reason": "X"});
        let status = serde_json::from_value(status).unwrap();
        Problem::of_api("create the volume", kube::Error::Api(status))
    }

    #[test]
    fn an_answer_of_the_server_is_told_once_and_kept() {
        for (code, reason) in [(403, Reason::Forbidden), (429, Reason::ApiFailed)] {
            let problem = api(code, "no");
            assert_eq!((problem.reason, problem.code(), problem.is_lasting), (reason, code, false));
            assert_eq!(problem.message, format!("cannot create the volume: no ({code} X)"));
            let failure = problem.clone().into_failure();
            assert_eq!(failure.status().map(|status| status.code), Some(code));
            assert_eq!(failure.to_string(), problem.message);
        }
    }

    #[test]
    fn only_a_lasting_problem_ends_the_attempts() {
        assert!(!api(429, "no").into_failure().is_terminal());
        assert!(!Problem::passing(Reason::NoSpace, "full").into_failure().is_terminal());
        assert!(Problem::lasting(Reason::ClaimUnusable, "no").into_failure().is_terminal());
    }
}
