//! Turn: sends due requests and feeds answers and events to the candidate, until there is news.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::candidate::{Action, Candidate, News, Purpose, Read, Write};
use crate::clock::{Clock, Moment};
use crate::error::StoreError;
use crate::evidence::Inquiry;
use crate::feed::{Feed, FeedNews};
use crate::observation::Observation;
use crate::record::StoredLease;
use crate::shared::Shared;
use crate::standing::Changes;

/// The answer to the request in flight.
pub(super) enum Reply {
    Read(Read, Result<Option<StoredLease>, StoreError>),
    Written(Box<Write>, Result<StoredLease, StoreError>),
}

/// A request in flight.
pub(super) struct Request {
    pub(super) writes: bool,
    reply: BoxFuture<'static, Reply>,
}

pub(super) async fn sleep_until(clock: &Arc<dyn Clock>, deadline: Option<Moment>) {
    match deadline {
        Some(deadline) => clock.sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for the answer to the request in flight; pending for ever without one.
///
/// # Cancel safety
/// The request stays under way.
pub(super) async fn reply(request: &mut Option<Request>) -> Reply {
    match request {
        Some(pending) => {
            let reply = (&mut pending.reply).await;
            *request = None;
            reply
        }
        None => std::future::pending().await,
    }
}

/// Works until there is news: sends due requests, takes in answers and events, and watches the
/// deadline. With a `horizon` it also returns, without news, when nothing is in flight and the next
/// attempt is not due before then.
///
/// # Cancel safety
/// Requests and the watch stay under way.
pub(super) async fn turn(
    shared: &Arc<Shared>,
    candidate: &mut Candidate,
    feed: &mut Feed,
    inquiry: &mut Inquiry,
    request: &mut Option<Request>,
    horizon: Option<Moment>,
) -> News {
    loop {
        let now = shared.clock.now();
        let standing = shared.standing.as_ref().map(|standing| {
            // A warm-up ends no term.
            let barred = match candidate.is_leading() {
                true => shared.maintenance.is_on(),
                false => shared.is_barred(),
            };
            standing.arrange(candidate, barred, now)
        });
        let news = candidate.tick(now);
        if news != News::Nothing {
            return news;
        }
        let wake = if request.is_some() {
            candidate.deadline()
        } else {
            match candidate.action(now, feed.is_open()) {
                Action::Wait(until) if horizon.is_some_and(|horizon| until >= horizon) => {
                    return News::Nothing;
                }
                Action::Wait(until) => {
                    Some(candidate.deadline().map_or(until, |deadline| until.min(deadline)))
                }
                Action::Read => {
                    let read = candidate.begin_read(now);
                    *request = Some(send_read(shared, read));
                    continue;
                }
                Action::Write(purpose) => {
                    let write = candidate.begin_write(now, shared.clock.wall(), purpose);
                    *request = Some(send_write(shared, candidate, write, now));
                    continue;
                }
            }
        };
        let wake = match candidate.may_stand_from(now) {
            Some(from) if standing.is_some() => Some(wake.map_or(from, |wake| wake.min(from))),
            _ => wake,
        };
        let asks = inquiry.plan(candidate.observation(), now);
        let wake = asks.map_or(wake, |asks| Some(wake.map_or(asks, |wake| wake.min(asks))));
        let known = *candidate.observation() != Observation::Unknown;
        let from = candidate.watch_from().cloned();
        let news = tokio::select! {
            biased;
            reply = reply(request) => {
                let silent = matches!(&reply, Reply::Read(read, Ok(_)) if read.routine) && feed.is_open();
                let before = candidate.observation().version().cloned();
                let news = absorb(shared, candidate, reply);
                if silent && !candidate.is_leading() && candidate.observation().version() != before.as_ref() {
                    // The read found what the watch had missed.
                    feed.restart();
                    doubt_connection(shared);
                    shared.counters.watching(false);
                }
                news
            }
            told = feed.next(known, from.as_ref()) => match told {
                FeedNews::Opened { anew, leaps } => {
                    candidate.opened(leaps);
                    if anew {
                        candidate.distrust();
                    }
                    shared.counters.count(|stats| &mut stats.watches);
                    shared.counters.watching(true);
                    News::Nothing
                }
                FeedNews::Event(event) => {
                    let left_behind = candidate.is_left_behind();
                    let news = candidate.heard(shared.clock.now(), event);
                    note_return(shared, candidate, left_behind);
                    note_leader(shared, candidate);
                    news
                }
                FeedNews::Closed(error) => {
                    shared.counters.note_watch(false, error.clone());
                    if let Some(error) = error {
                        tracing::debug!(lease = shared.config.name(), %error, "the watch broke");
                        candidate.distrust();
                    }
                    News::Nothing
                }
            },
            gone = inquiry.answer() => {
                if let Some(version) = gone
                    && !candidate.is_reissued()
                {
                    candidate.vacate(shared.clock.now(), &version);
                }
                News::Nothing
            }
            () = changed(standing) => News::Nothing,
            () = sleep_until(&shared.clock, wake) => News::Nothing,
        };
        if news != News::Nothing {
            return news;
        }
    }
}

async fn changed(standing: Option<Changes>) {
    match standing {
        Some(mut standing) => {
            let _ = standing.changed().await;
        }
        None => std::future::pending().await,
    }
}

pub(super) fn send_read(shared: &Arc<Shared>, read: Read) -> Request {
    shared.counters.count(|stats| &mut stats.reads);
    let store = Arc::clone(&shared.store);
    let timeout = shared.config.request_timeout();
    let reply = Box::pin(async move {
        let answer = tokio::time::timeout(timeout, store.get()).await;
        Reply::Read(read, answer.unwrap_or_else(|_| Err(no_answer())))
    });
    Request { writes: false, reply }
}

pub(super) fn send_write(
    shared: &Arc<Shared>,
    candidate: &Candidate,
    write: Write,
    now: Moment,
) -> Request {
    let store = Arc::clone(&shared.store);
    let timeout = shared.config.request_timeout();
    let timeout = candidate.deadline().map_or(timeout, |deadline| timeout.min(deadline.since(now)));
    let reply = Box::pin(async move {
        let call = async {
            match &write.base {
                None => store.create(&write.record).await,
                Some(base) => store.update(base, &write.record).await,
            }
        };
        let answer = tokio::time::timeout(timeout, call).await;
        Reply::Written(Box::new(write), answer.unwrap_or_else(|_| Err(no_answer())))
    });
    Request { writes: true, reply }
}

fn no_answer() -> StoreError {
    StoreError::unknown("no answer within the request time-out")
}

/// Feeds an answer to the candidate, and counts it.
pub(super) fn absorb(shared: &Arc<Shared>, candidate: &mut Candidate, reply: Reply) -> News {
    let now = shared.clock.now();
    let leading = candidate.is_leading();
    let left_behind = candidate.is_left_behind();
    let altered = match &reply {
        Reply::Written(write, Ok(lease)) => write.record.differs_in(&lease.record),
        _ => None,
    };
    let altered = altered.map(|field| StoreError::Altered { field });
    let error = match &reply {
        Reply::Read(_, answer) => answer.as_ref().err(),
        Reply::Written(_, answer) => answer.as_ref().err().or(altered.as_ref()),
    };
    match error {
        Some(error) => {
            if shared.counters.failed(leading, error) {
                let lease = shared.config.name();
                tracing::warn!(lease, %error, "nobody can lead: what is written is not what is stored");
            }
            if matches!(reply, Reply::Written(..)) {
                shared.counters.count(|stats| &mut stats.slow_path);
            }
            if let (Reply::Written(write, _), StoreError::Conflict) = (&reply, error)
                && shared.counters.conflicted(write.base.as_ref())
            {
                tracing::warn!(
                    lease = shared.config.name(),
                    "nobody can lead: the server answers each write with a conflict, and nobody else writes; look for a quota or admission"
                );
            }
            tracing::debug!(lease = shared.config.name(), leading, %error, "a request failed");
            if matches!(error, StoreError::Unknown { .. }) {
                doubt_connection(shared);
            }
        }
        None => shared.counters.succeeded(matches!(reply, Reply::Written(..))),
    }
    if let Reply::Written(write, Ok(_)) = &reply
        && write.purpose == Purpose::Renew
    {
        shared.counters.renewed(now.since(write.sent));
    }
    if let Some(standing) = &shared.standing
        && matches!(&reply, Reply::Read(_, Ok(_)) | Reply::Written(_, Ok(_)))
    {
        standing.lease_known();
    }
    let news = match reply {
        Reply::Read(read, answer) => candidate.read(now, read, answer),
        Reply::Written(write, answer) => candidate.wrote(now, &write, answer),
    };
    note_return(shared, candidate, left_behind);
    note_leader(shared, candidate);
    news
}

/// Counts a belated release, whether the write's answer, a read or an event shows it.
fn note_return(shared: &Shared, candidate: &Candidate, was_left_behind: bool) {
    if was_left_behind && candidate.has_given_back() {
        shared.counters.count(|stats| &mut stats.releases);
        tracing::info!(lease = shared.config.name(), "lease given back after all");
    }
}

/// The LeaseCandidate's watch uses the same connection.
fn doubt_connection(shared: &Shared) {
    if let Some(standing) = &shared.standing {
        standing.doubt_connection();
    }
}

/// Publishes the holder of the lease if it changed, and tells the counters the current version.
fn note_leader(shared: &Shared, candidate: &Candidate) {
    if *candidate.observation() != Observation::Unknown {
        shared.counters.saw(candidate.observation().version());
    }
    let holder = candidate.observation().holder();
    let changed = shared.leader.send_if_modified(|known| {
        let differs = known.as_deref() != holder;
        if differs {
            *known = holder.map(str::to_owned);
        }
        differs
    });
    if changed {
        shared.counters.count(|stats| &mut stats.transitions);
    }
}
