//! StopSignal: what ends a run before its work does.

use tokio::sync::watch;

/// Set by a stop handle, or by a caller that drops the future of `run`.
pub(super) struct StopSignal {
    stop: watch::Receiver<bool>,
    abandoned: watch::Receiver<()>,
}

impl StopSignal {
    pub(super) fn new(stop: watch::Receiver<bool>, abandoned: watch::Receiver<()>) -> Self {
        Self { stop, abandoned }
    }

    pub(super) fn is_set(&self) -> bool {
        self.is_asked() || self.is_abandoned()
    }

    pub(super) fn is_asked(&self) -> bool {
        *self.stop.borrow()
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.has_changed().is_err()
    }

    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn wait(&mut self) {
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|stopped| *stopped) => {}
            _ = self.abandoned.changed() => {}
        }
    }
}
