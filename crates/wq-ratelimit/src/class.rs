//! `Class`: what kind of failure it was, for a limiter that makes a difference.

/// A kind of failure, by a name that the program gives it: `Class::new("infeasible")`.
///
/// A worker hints at it with [`Outcome::RetryAs`](crate::Outcome::RetryAs), and a [`PerClass`](crate::PerClass) limiter has a
/// pace for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Class(&'static str);

impl Class {
    /// The class of this name. Equal names are one class.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}
