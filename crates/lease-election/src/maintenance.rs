//! Maintenance: a time in which an elector does not lead. The switch alone; what it does to a
//! campaign and to a term is the driver's.

use tokio::sync::watch;

/// Keeps a [`LeaderElector`](crate::LeaderElector) from leading for a while, for a node that is to
/// be drained or a replica that is to be looked at. Clones are one switch.
///
/// While it is on, a leader hands over in order (as [`step_down`](crate::Leadership::step_down)
/// does: [`ending`](crate::Leadership::ending) fires, the work is joined, then the lease is given
/// back), and does not campaign again. A standby goes on to follow the leader, and takes no lease.
/// Off, it campaigns at once.
#[derive(Clone, Debug)]
pub struct Maintenance {
    pub(crate) on: watch::Sender<bool>,
}

impl Maintenance {
    /// Switches it on. Returns at once;
    /// [`LeaderElector::is_leader`](crate::LeaderElector::is_leader) is false when the lease has
    /// been given back, after work that panicked a stop margin before that.
    pub fn begin(&self) {
        self.switch(true);
    }

    /// Switches it off. A term that was told to end goes on to end.
    pub fn end(&self) {
        self.switch(false);
    }

    /// Switches it on or off, as a condition of the node is seen to change.
    pub fn switch(&self, on: bool) {
        self.on.send_if_modified(|known| std::mem::replace(known, on) != on);
    }

    /// Whether it is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        *self.on.borrow()
    }
}
