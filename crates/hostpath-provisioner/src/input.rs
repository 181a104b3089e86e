//! What is wrong with what the program was given: one line that names the thing and the remedy.

use std::fmt;

use crate::outcome::shown;

/// Input that the program refuses to start with. Printed as one line; the exit status is 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    thing: String,
    wrong: String,
    remedy: String,
}

impl InputError {
    /// `thing` as the user wrote it, what is `wrong` with it, and the `remedy`.
    #[must_use]
    pub fn new(
        thing: impl Into<String>,
        wrong: impl fmt::Display,
        remedy: impl Into<String>,
    ) -> Self {
        Self { thing: thing.into(), wrong: shown(&wrong.to_string()), remedy: remedy.into() }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thing, wrong, remedy } = self;
        let line = if remedy.is_empty() {
            format!("{thing}: {wrong}")
        } else {
            format!("{thing}: {wrong}; {remedy}")
        };
        f.write_str(&line.replace(char::is_control, " "))
    }
}

impl std::error::Error for InputError {}
