//! The task that feeds a cache: it takes each write at once and passes it on when it is due.

use std::collections::VecDeque;
use std::sync::Arc;

use api_front::Follower;
use tokio::time::{Instant, sleep_until};

use crate::replica::lag::{Due, Lag};
use crate::rest::ApiState;
use crate::store::state::Change;
use crate::store::state::follow::Everything;

/// A write that the cache does not know yet.
struct PendingWrite<T> {
    written: Instant,
    revision: u64,
    what: T,
}

type Changes = VecDeque<PendingWrite<(Arc<str>, Change)>>;

/// Changes, after an optional replacement of the whole state.
#[derive(Default)]
struct Stage {
    /// The whole state, if the changes before are compacted.
    leap: Option<PendingWrite<Everything>>,
    changes: Changes,
}

/// Runs until it is dropped.
pub(crate) async fn run(from: Arc<ApiState>, to: Arc<ApiState>, mut lag: Follower<Lag>) {
    let mut newest = from.store.newest();
    let mut pump =
        Pump { read: to.store.revision(), from, to, stage: Stage::default(), next: None };
    loop {
        newest.see();
        lag.see();
        pump.take();
        let next = pump.pass_on(lag.read(|lag| *lag));
        tokio::select! {
            biased;
            changed = newest.changed() => if changed.is_err() { return },
            changed = lag.changed() => if changed.is_err() { return },
            () = async {
                match next {
                    Some(next) => sleep_until(next).await,
                    None => std::future::pending().await,
                }
            } => {}
        }
    }
}

struct Pump {
    from: Arc<ApiState>,
    to: Arc<ApiState>,
    /// The revision up to which all writes were taken.
    read: u64,
    /// The writes that the cache learns next. Never replaced: otherwise nothing would be due under
    /// steady writes.
    stage: Stage,
    /// The writes after them, if more are pending than the history keeps. Replaced by newer ones.
    next: Option<Stage>,
}

impl Pump {
    fn take(&mut self) {
        let now = Instant::now();
        let most = self.from.options.history.changes.max(1);
        self.from.store.write(|state| {
            let revision = state.revision();
            let changes = state.since(self.read);
            self.read = revision;
            let last = self.next.as_mut().unwrap_or(&mut self.stage);
            match changes {
                Ok(changes) if last.changes.len().saturating_add(changes.len()) <= most => {
                    let writes = changes.into_iter().map(|(table, change)| PendingWrite {
                        written: now,
                        revision: change.revision,
                        what: (table, change),
                    });
                    last.changes.extend(writes);
                }
                // More writes than the history keeps: the cache starts again from the whole state.
                _ => {
                    let leap = PendingWrite { written: now, revision, what: state.everything() };
                    self.next = Some(Stage { leap: Some(leap), changes: VecDeque::new() });
                }
            }
        });
    }

    /// Passes on the due writes. Returns when the next one is due.
    fn pass_on(&mut self, lag: Lag) -> Option<Instant> {
        let now = Instant::now();
        loop {
            let Some((written, revision)) = self.stage.first() else {
                self.stage = self.next.take()?;
                continue;
            };
            match lag.due(written, revision, self.read, now) {
                Due::Now => self.tell(),
                Due::At(due) => return Some(due),
                Due::Later => return None,
            }
        }
    }

    /// Passes the next write to the cache.
    fn tell(&mut self) {
        let Stage { leap, changes } = &mut self.stage;
        if let Some(PendingWrite { revision, what, .. }) = leap.take() {
            self.to.store.write(|state| state.replace_with(what, revision));
        } else if let Some(PendingWrite { what: (table, change), .. }) = changes.pop_front() {
            self.to.store.write(|state| state.follow(&table, change));
        }
    }
}

impl Stage {
    /// The time and the revision of the next write.
    fn first(&self) -> Option<(Instant, u64)> {
        let leap = self.leap.as_ref().map(|write| (write.written, write.revision));
        leap.or_else(|| self.changes.front().map(|write| (write.written, write.revision)))
    }
}
