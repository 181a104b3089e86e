//! `InvalidLimit`: why a limiter could not be made.

use std::error::Error;
use std::fmt;

/// A number that no limiter can be made with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidLimit {
    /// The argument at fault.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub bound: String,
}

impl InvalidLimit {
    pub(crate) fn new(field: &'static str, value: impl fmt::Debug, bound: impl Into<String>) -> Self {
        Self { field, value: format!("{value:?}"), bound: bound.into() }
    }
}

impl fmt::Display for InvalidLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {} but must be {}", self.field, self.value, self.bound)
    }
}

impl Error for InvalidLimit {}
