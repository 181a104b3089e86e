//! Leftover: unfinished work of an ended term. The manager waits for it before it campaigns again,
//! and the liveness endpoint reports a long wait.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The start of the current wait, if there is one. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftover(Arc<Mutex<Option<Instant>>>);

/// A wait for leftover work. It ends when this is dropped.
pub(crate) struct Awaited<'a>(&'a Leftover);

impl Leftover {
    pub(crate) fn awaited(&self) -> Awaited<'_> {
        *self.0.lock() = Some(Instant::now());
        Awaited(self)
    }

    /// Returns how long the wait has lasted, if longer than `patience`.
    #[cfg_attr(not(feature = "admin"), expect(dead_code, reason = "only the admin server asks"))]
    pub(crate) fn overdue(&self, patience: Duration) -> Option<Duration> {
        (*self.0.lock()).map(|since| since.elapsed()).filter(|waited| *waited > patience)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        *self.0.0.lock() = None;
    }
}
