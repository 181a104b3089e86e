//! What the admin server asks a controller: whether it makes progress, and its state as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Controller;
use super::term::Managed as _;
use crate::hostile::{let_go, shown};
use crate::run::stall::{Limits, Stall, stall};
use crate::run::worker::notice_of;
use crate::{Key, Parked, Reconciler};

/// The most keys in one list of the state.
pub(crate) const MOST: usize = 100;

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
        let (key, age) = (text(key), now.saturating_duration_since(began).as_secs());
        Some(match stall {
            Stall::Overrun(_) => format!(
                "the run of {key} lasts for {age} s, although its time-out is {:?}",
                self.timeout.unwrap_or_default()
            ),
            Stall::Blocked(since) => format!(
                "no run has started or ended for {} s, and {ready} ready keys wait; \
                 the run of {key} lasts for {age} s",
                since.as_secs()
            ),
        })
    }

    /// The state of the controller. No lock is held for longer than the clones of [`MOST`] keys.
    ///
    /// # Panics
    ///
    /// If the own code of a key panics.
    pub(super) fn state_at(&self, now: Instant) -> Value {
        let queue = self.inbox.queue();
        let counts = queue.as_ref().map(|queue| queue.counts()).unwrap_or_default();
        let active = self.active.starts().map_or(0, |starts| starts.runs);
        let runs = self.active.oldest(MOST).into_iter().map(|(key, began)| {
            let age = now.saturating_duration_since(began);
            json!({"key": text(key), "ms": millis(age)})
        });
        let (failing, keys) = self.failing.some(MOST);
        let retries = keys.into_iter().map(|(key, error)| {
            let (failures, left) =
                queue.as_ref().map(|queue| queue.retry_of(&key)).unwrap_or_default();
            let (key, retry_in) = (text(key), left.map(millis));
            json!({"key": key, "failures": failures, "retry_in_ms": retry_in, "last_error": error})
        });
        let parked = self.parked.some(MOST).into_iter().map(|(key, reason)| {
            let reason = match reason {
                Parked::Terminal => "terminal",
                Parked::Exhausted => "exhausted",
            };
            json!({"key": text(key), "reason": reason})
        });
        json!({
            "name": &*self.name,
            "runs": queue.is_some(),
            "missing_caches": self.missing(),
            "workers": self.workers(),
            "depth": counts.depth,
            "delayed": counts.delayed,
            "in_flight": list(active, runs),
            "back_off": list(failing, retries),
            "parked": list(self.parked.len(), parked),
        })
    }
}

/// A list with the number of all its items.
fn list(all: usize, listed: impl Iterator<Item = Value>) -> Value {
    let keys: Vec<Value> = listed.collect();
    let omitted = all.saturating_sub(keys.len());
    json!({"keys": keys, "omitted": omitted})
}

fn text(key: impl Key) -> String {
    let text = shown(&key);
    let_go(key);
    text
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
