//! `EvalError`: why an expression has no value.

use std::fmt;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvalError {
    /// In cel-go's words.
    Message(String),
    /// A function does not take these values.
    NoSuchOverload,
    /// The evaluation cost more than one may.
    TooExpensive,
}

impl EvalError {
    pub(crate) fn said(why: impl Into<String>) -> Self {
        Self::Message(why.into())
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Message(why) => why,
            Self::NoSuchOverload => "no such overload",
            Self::TooExpensive => "operation cancelled: actual cost limit exceeded",
        })
    }
}

impl std::error::Error for EvalError {}
