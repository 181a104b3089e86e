//! What stands between a replica that lost its lease and the world: asked before every effect.

use std::fmt;
use std::sync::Arc;

use crate::marker::Fence;

/// A term of leadership as the disk and the API code see it: its token, and whether it still holds.
///
/// Cheap to clone; moved into blocking work.
#[derive(Clone)]
pub struct Term {
    fence: Fence,
    valid: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Term {
    /// A term with this token; `valid` is asked before each effect and must never become true again
    /// once it was false.
    #[must_use]
    pub fn new(fence: Fence, valid: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { fence, valid: Arc::new(valid) }
    }

    /// A term that nobody can end, for a program that runs alone, as tests do.
    #[must_use]
    pub fn unfenced() -> Self {
        Self::new(Fence::default(), || true)
    }

    /// The token that goes into markers.
    #[must_use]
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Refuses when the term is over.
    ///
    /// # Errors
    /// [`TermOver`] from the moment on at which the lease can no longer be proven to be held.
    pub fn check(&self) -> Result<(), TermOver> {
        if (self.valid)() { Ok(()) } else { Err(TermOver) }
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Term").field("fence", &self.fence).field("valid", &(self.valid)()).finish()
    }
}

/// The lease is not held any more, so the next effect belongs to somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermOver;

impl fmt::Display for TermOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the term of leadership is over")
    }
}

impl std::error::Error for TermOver {}
