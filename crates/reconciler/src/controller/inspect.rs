//! What the admin server asks a controller: whether it makes progress.

use tokio::time::Instant;

use super::Controller;
use super::term::Managed as _;
use crate::Reconciler;
use crate::hostile::shown;
use crate::stall::{Limits, Stall, stall};
use crate::worker::notice_of;

impl<R: Reconciler> Controller<R> {
    /// Why the controller makes no progress, in words.
    pub(super) fn stalled_by(&self, now: Instant) -> Option<String> {
        let ready = self.counts()?.ready;
        let limits = Limits {
            longest_run: self.timeout.map(|timeout| timeout.saturating_add(notice_of(timeout))),
            progress_deadline: self.progress_deadline,
        };
        let stall = stall(self.active.starts()?, self.workers(), ready, limits, now)?;
        let (key, began) = self.active.oldest(1).pop()?;
        let (key, age) = (shown(&key), now.saturating_duration_since(began).as_secs());
        Some(match stall {
            Stall::Overrun(_) => format!(
                "the run of {key} lasts for {age} s, although its time-out is {:?}",
                self.timeout.unwrap_or_default()
            ),
            Stall::Blocked(since) => format!(
                "no run has started or ended for {} s, and {ready} ready keys wait; the run of {key} lasts for {age} s",
                since.as_secs()
            ),
        })
    }
}
