//! Why a patch fails.

use std::fmt;

/// Why a patch cannot be read, or not be applied. Each variant names the API server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchError {
    /// The patch is no JSON, or JSON of another form. 400.
    Malformed(String),
    /// The patch has more operations than this limit. 413.
    TooManyOperations(usize),
    /// A path of the patch leads to no value, or a test fails. 422. The text is the one of the API
    /// server's library, which shows it for the patch of a webhook.
    Unprocessable(String),
    /// The API server's library panics over an operation. 500.
    Panic,
    /// A list of the object, or of the patch, cannot be merged. 500, without a reason.
    Unmergeable(String),
    /// The document, the patch or the result has more than
    /// [`READABLE_DEPTH`](k8s_value::json_text::READABLE_DEPTH) levels. The API server has no such
    /// bound.
    TooDeep,
    /// The patch crosses another bound of this crate, or of the API server. 422.
    OutOfBounds(String),
    /// The document is not an object.
    NotAnObject,
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why)
            | Self::Unprocessable(why)
            | Self::Unmergeable(why)
            | Self::OutOfBounds(why) => f.write_str(why),
            Self::TooManyOperations(limit) => {
                write!(f, "the patch has too many operations: the limit is {limit}")
            }
            Self::Panic => f.write_str("the API server panics over an operation of the patch"),
            Self::TooDeep => f.write_str("JSON is nested too deep: the limit is 127 levels"),
            Self::NotAnObject => f.write_str("the document is not an object"),
        }
    }
}

impl PatchError {
    /// The same error of an operation, with what the operation was doing.
    pub(super) fn of(self, doing: &str) -> Self {
        match self {
            Self::Unprocessable(why) => Self::Unprocessable(format!("{doing}: {why}")),
            other => other,
        }
    }
}

impl std::error::Error for PatchError {}
