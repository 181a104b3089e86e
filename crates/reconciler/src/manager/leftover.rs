//! Leftover: work of a term that is over, for which a manager waits before it campaigns again, as
//! the liveness endpoint sees it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Since when it is waited for, if it is. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftover(Arc<Mutex<Option<Instant>>>);

/// It is waited for until this is dropped.
pub(crate) struct Awaited<'a>(&'a Leftover);

impl Leftover {
    pub(crate) fn awaited(&self) -> Awaited<'_> {
        *self.0.lock() = Some(Instant::now());
        Awaited(self)
    }

    /// For how long it has been waited for, if longer than this.
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
