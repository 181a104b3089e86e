#![doc = include_str!("../README.md")]

pub mod field_error;
pub mod go_json;
pub mod go_value;
pub mod json_text;
pub mod names;
pub mod quantity;
pub mod time;

use std::borrow::Cow;
use std::fmt;

pub use field_error::{FieldError, FieldErrors};
pub use quantity::Quantity;

/// Why a text is no quantity or no time, in the words of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(Cow<'static, str>);

impl ParseError {
    pub(crate) fn new(why: impl Into<Cow<'static, str>>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

impl From<ParseError> for String {
    fn from(error: ParseError) -> Self {
        error.0.into_owned()
    }
}
