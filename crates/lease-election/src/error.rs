//! Errors: an unusable configuration, and the ways in which a call to a store fails.

use std::fmt;
use std::time::Duration;

/// A configuration that cannot be run, with the field, its value, the bound it breaks and the
/// remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ConfigError {
    /// The builder's method that set the offending value.
    pub field: &'static str,
    /// The value, as text, cut to 256 bytes.
    pub value: String,
    /// The bound that it breaks, with the numbers.
    pub bound: String,
    /// The remedy.
    pub remedy: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} is not usable: {}; {}", self.field, self.value, self.bound, self.remedy)
    }
}

impl std::error::Error for ConfigError {}

/// Why a call to a [`LeaseStore`](crate::LeaseStore) failed, by what the elector may conclude.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The Lease does not exist (update).
    NotFound,
    /// The version is no longer current (update), or the Lease exists already (create).
    Conflict,
    /// The server refused, and certainly did not apply the write: bad request, no permission,
    /// invalid object, no such namespace.
    Rejected {
        /// HTTP status.
        code: u16,
        /// The server's words.
        message: String,
    },
    /// The server is overloaded and did not look at the request.
    TooManyRequests {
        /// How long the server asks clients to wait.
        retry_after: Option<Duration>,
    },
    /// The version asked for is too old to watch from.
    Expired,
    /// The server applied the write, but stored another record: admission changed it, for example.
    /// No term can rest on such a record.
    Altered {
        /// The first field that differs, as the Lease calls it.
        field: &'static str,
    },
    /// The outcome is unknown, or the server applied only a part of the write: no answer in time, a
    /// broken connection, a server error.
    Unknown {
        /// The known details.
        message: String,
        /// How long the server asks clients to wait.
        retry_after: Option<Duration>,
    },
}

impl StoreError {
    /// An [`Unknown`](Self::Unknown) with this message.
    #[must_use]
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::Unknown { message: message.into(), retry_after: None }
    }

    /// How long the server asks clients to wait, if it does.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after } | Self::Unknown { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("the lease does not exist"),
            Self::Conflict => f.write_str("the lease changed since it was read"),
            Self::Rejected { code, message } => {
                write!(f, "refused with status {code}: {}", shown(message))
            }
            Self::TooManyRequests { retry_after: None } => f.write_str("too many requests"),
            Self::TooManyRequests { retry_after: Some(after) } => {
                write!(f, "too many requests, retry after {after:?}")
            }
            Self::Expired => f.write_str("the version to watch from is too old"),
            Self::Altered { field } => {
                write!(f, "the server changed {field} of the record that it was given")
            }
            Self::Unknown { message, .. } => write!(f, "no certain answer: {}", shown(message)),
        }
    }
}

impl std::error::Error for StoreError {}

/// Foreign text for a message or a log line: control characters escaped, cut at 256 bytes.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    for piece in text
        .chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
    {
        if out.len() + piece.len() > 256 {
            out.push('…');
            break;
        }
        out.push_str(&piece);
    }
    out
}
