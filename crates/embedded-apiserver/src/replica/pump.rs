//! The task that brings a cache on: it takes each write as soon as it is made, and passes it on when it is due.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::replica::lag::{Due, Lag};
use crate::server::Core;
use crate::store::state::Change;
use crate::store::state::follow::Everything;

/// Something that the cache does not know yet.
struct News {
    written: Instant,
    revision: u64,
    what: What,
}

enum What {
    Change(Arc<str>, Change),
    /// All there is: what came before can no longer be told.
    Everything(Everything),
}

/// Follows until it is dropped.
pub(super) async fn run(from: Arc<Core>, to: Arc<Core>, mut lag: watch::Receiver<Lag>) {
    let mut newest = from.store.newest();
    let mut pump = Pump { read: to.store.revision(), from, to, news: VecDeque::new() };
    loop {
        newest.borrow_and_update();
        pump.take();
        let next = pump.pass_on(*lag.borrow_and_update());
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
    from: Arc<Core>,
    to: Arc<Core>,
    /// Everything up to this revision has been taken.
    read: u64,
    news: VecDeque<News>,
}

impl Pump {
    fn take(&mut self) {
        let now = Instant::now();
        let most = self.from.options.history.changes.max(1);
        self.from.store.write(|inner| {
            let revision = inner.state.revision();
            let changes = inner.state.since(self.read);
            self.read = revision;
            match changes {
                Ok(changes) if self.news.len().saturating_add(changes.len()) <= most => {
                    let news = changes.into_iter().map(|(table, change)| News {
                        written: now,
                        revision: change.revision,
                        what: What::Change(table, change),
                    });
                    self.news.extend(news);
                }
                // More than anybody keeps: a cache that far behind begins anew, too.
                _ => {
                    self.news.clear();
                    let what = What::Everything(inner.state.everything());
                    self.news.push_back(News { written: now, revision, what });
                }
            }
        });
    }

    /// Passes on what is due; answers when there is more.
    fn pass_on(&mut self, lag: Lag) -> Option<Instant> {
        let now = Instant::now();
        while let Some(news) = self.news.pop_front() {
            match lag.due(news.written, news.revision, self.read, now) {
                Due::Now => self.tell(news),
                later => {
                    self.news.push_front(news);
                    return match later {
                        Due::At(due) => Some(due),
                        _ => None,
                    };
                }
            }
        }
        None
    }

    fn tell(&self, news: News) {
        self.to.store.write(|inner| match news.what {
            What::Change(table, change) => inner.state.follow(&table, change),
            What::Everything(everything) => inner.state.replace_with(everything, news.revision),
        });
    }
}
