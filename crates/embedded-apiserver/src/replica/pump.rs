//! The task that brings a cache on: it takes each write as soon as it is made, and passes it on
//! when it is due.

use std::collections::VecDeque;
use std::sync::Arc;

use api_front::Follower;
use tokio::time::{Instant, sleep_until};

use crate::replica::lag::{Due, Lag};
use crate::rest::ApiState;
use crate::store::state::Change;
use crate::store::state::follow::Everything;

/// Something that the cache does not know yet.
struct News<T> {
    written: Instant,
    revision: u64,
    what: T,
}

type Changes = VecDeque<News<(Arc<str>, Change)>>;

/// Changes one by one, perhaps after a leap.
#[derive(Default)]
struct Stage {
    /// All there is: what came before can no longer be told.
    leap: Option<News<Everything>>,
    changes: Changes,
}

/// Follows until it is dropped.
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
    /// Everything up to this revision has been taken.
    read: u64,
    /// What the cache learns next. It is never given up for what is newer: under steady writes
    /// nothing would ever be due.
    stage: Stage,
    /// What comes then, after more changes than anybody keeps. Given up for what is newer.
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
                    let news = changes.into_iter().map(|(table, change)| News {
                        written: now,
                        revision: change.revision,
                        what: (table, change),
                    });
                    last.changes.extend(news);
                }
                // More than anybody keeps: a cache that far behind begins anew, too.
                _ => {
                    let leap = News { written: now, revision, what: state.everything() };
                    self.next = Some(Stage { leap: Some(leap), changes: VecDeque::new() });
                }
            }
        });
    }

    /// Passes on what is due; answers when there is more.
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

    /// Tells the cache the next news.
    fn tell(&mut self) {
        let Stage { leap, changes } = &mut self.stage;
        if let Some(News { revision, what, .. }) = leap.take() {
            self.to.store.write(|state| state.replace_with(what, revision));
        } else if let Some(News { what: (table, change), .. }) = changes.pop_front() {
            self.to.store.write(|state| state.follow(&table, change));
        }
    }
}

impl Stage {
    /// When the next news was written, and as which revision.
    fn first(&self) -> Option<(Instant, u64)> {
        let leap = self.leap.as_ref().map(|news| (news.written, news.revision));
        leap.or_else(|| self.changes.front().map(|news| (news.written, news.revision)))
    }
}
