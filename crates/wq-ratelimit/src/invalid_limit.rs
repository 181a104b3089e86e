//! `InvalidLimit`: the error of a limiter that cannot be made.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// An invalid argument of a limiter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidLimit {
    /// The argument.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// The bound that it violates.
    pub bound: String,
    /// How to correct it.
    pub remedy: &'static str,
}

impl InvalidLimit {
    pub(crate) fn new(
        field: &'static str,
        value: impl fmt::Debug,
        bound: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self { field, value: format!("{value:?}"), bound: bound.into(), remedy }
    }

    /// Checks a back-off from `base` to `max`.
    pub(crate) fn unless_within(base: Duration, max: Duration) -> Result<(), Self> {
        if base.is_zero() {
            let remedy = "add the item without a limiter for no wait at all";
            return Err(Self::new("base", base, "at least 1ns", remedy));
        }
        if base > max {
            let bound = format!("at most max, which is {max:?}");
            return Err(Self::new(
                "base",
                base,
                bound,
                "raise max, or set both alike for a wait that stays",
            ));
        }
        Ok(())
    }
}

impl fmt::Display for InvalidLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {} but must be {}; {}", self.field, self.value, self.bound, self.remedy)
    }
}

impl Error for InvalidLimit {}
