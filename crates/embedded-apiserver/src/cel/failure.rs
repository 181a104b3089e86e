//! Why an expression has no value.

/// What went wrong while an expression was evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// In words, as cel-go says it.
    Said(String),
    /// A function does not take these values.
    NoSuchOverload,
    /// It took more than one evaluation may.
    TooExpensive,
}

impl Failure {
    pub(super) fn said(why: impl Into<String>) -> Self {
        Self::Said(why.into())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Said(why) => why,
            Self::NoSuchOverload => "no such overload",
            Self::TooExpensive => "operation cancelled: actual cost limit exceeded",
        })
    }
}
