//! Why a kind cannot be registered.

use std::fmt;

use crate::api::kind::Kind;

/// Why a kind cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidKind {
    field: &'static str,
    value: String,
    why: String,
}

impl fmt::Display for InvalidKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot register a kind with {} {:?}: {}", self.field, self.value, self.why)
    }
}

impl std::error::Error for InvalidKind {}

impl InvalidKind {
    /// The API refuses the definition.
    pub(crate) fn refused(name: &str, why: &str) -> Self {
        Self { field: "definition", value: name.to_owned(), why: why.to_owned() }
    }

    pub(crate) fn is_built_in(kind: &Kind) -> Self {
        let why = format!("{} is built in, with rules of its own", kind.qualified_plural());
        Self { field: "plural", value: kind.plural.clone(), why }
    }
}

impl Kind {
    pub(crate) fn check(&self) -> Result<(), InvalidKind> {
        let bad = |field, value: &str, why: &str| {
            Err(InvalidKind { field, value: value.to_owned(), why: why.to_owned() })
        };
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !self.group.chars().all(|c| lower(c) || c == '.') {
            return bad("group", &self.group, "only lower case letters, digits, dashes and dots");
        }
        if self.version.is_empty() || !self.version.chars().all(lower) {
            return bad(
                "version",
                &self.version,
                "lower case letters, digits and dashes, as v1alpha1",
            );
        }
        if self.plural.is_empty() || !self.plural.chars().all(lower) {
            return bad(
                "plural",
                &self.plural,
                "lower case letters, digits and dashes, as widgets",
            );
        }
        if self.kind.is_empty() || !self.kind.chars().all(|c| c.is_ascii_alphanumeric()) {
            return bad("kind", &self.kind, "letters and digits, as Widget");
        }
        Ok(())
    }
}
