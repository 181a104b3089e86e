//! Maintenance: the switch that keeps an elector from leading.

use tokio::sync::watch;

/// Keeps a [`LeaderElector`](crate::LeaderElector) from leading for a while: to drain a node, to
/// inspect a replica. Clones are one switch.
///
/// While it is on, a leader does not campaign again, and ends its term as by
/// [`step_down`](crate::Leadership::step_down). That is: [`ending`](crate::Leadership::ending)
/// fires, the work is joined, then the lease is released. A standby follows the leader and takes no
/// lease. Switched off, the elector campaigns at once.
#[derive(Clone, Debug)]
pub struct Maintenance {
    pub(crate) on: watch::Sender<bool>,
}

impl Maintenance {
    /// Switches it on. Returns at once;
    /// [`LeaderElector::is_leader`](crate::LeaderElector::is_leader) is false when the lease has
    /// been released. After work that panicked it is false a stop margin earlier.
    pub fn begin(&self) {
        self.switch(true);
    }

    /// Switches it off. A term that was told to end still ends.
    pub fn end(&self) {
        self.switch(false);
    }

    /// Switches it on or off, as a condition of the node changes.
    pub fn switch(&self, on: bool) {
        self.on.send_if_modified(|known| std::mem::replace(known, on) != on);
    }

    /// Whether it is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        *self.on.borrow()
    }
}
