//! Observer: follows the leader for processes that do not campaign. It has its own watch and reads,
//! writes nothing, and runs no task.

use std::cmp::Ordering;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, Stream, StreamExt};

use crate::candidate::Read;
use crate::clock::{Clock, Moment, default_clock};
use crate::config::Config;
use crate::error::StoreError;
use crate::feed::{Feed, FeedNews};
use crate::record::StoredLease;
use crate::store::{LeaseEvent, LeaseStore};
use crate::version::{Version, compare_resource_versions};

/// Streams the holder of the lease, in order: for processes that do not campaign, to route to the
/// leader or to display it.
///
/// The first item comes with the server's first answer, each further item with a change. `None`:
/// the lease is free, or this process saw no renewal for the record's duration by its own clock,
/// maybe because it is cut off. For display and routing only: another holder may have the lease by
/// the time the item is read.
///
/// It costs as little as a standby: one watch, and a read when the watch was silent for three retry
/// periods. Without permission to watch it polls. From `config` it takes the retry period, the
/// request time-out, and the duration for a record without one. It ignores the identity.
///
/// The stream works only when it is polled, and never ends.
/// [`LeaderElector::observe`](crate::LeaderElector::observe) is the same for an elector.
///
/// ```
/// use futures::StreamExt;
/// use lease_election::{Config, MemoryLeaseStore, Record, observe};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), lease_election::ConfigError> {
/// let store = MemoryLeaseStore::new();
/// let mut leaders = observe(store.clone(), &Config::builder("default", "my-operator").build()?);
/// assert_eq!(leaders.next().await, Some(None));
/// store.overwrite(Record { holder: "pod-1".into(), lease_duration_seconds: 15, ..Record::default() });
/// assert_eq!(leaders.next().await, Some(Some("pod-1".to_owned())));
/// # Ok(())
/// # }
/// ```
#[doc(alias = "OnNewLeader")]
pub fn observe(store: impl LeaseStore + 'static, config: &Config) -> Leaders {
    assemble(Arc::new(store), config, default_clock())
}

/// [`observe`] with a clock of your own.
pub fn observe_with_clock(
    store: impl LeaseStore + 'static,
    config: &Config,
    clock: impl Clock,
) -> Leaders {
    assemble(Arc::new(store), config, Arc::new(clock))
}

/// The stream of [`observe`].
pub struct Leaders(stream::BoxStream<'static, Option<String>>);

impl Stream for Leaders {
    type Item = Option<String>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Option<String>>> {
        self.0.as_mut().poll_next(context)
    }
}

impl fmt::Debug for Leaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaders").finish_non_exhaustive()
    }
}

fn assemble(store: Arc<dyn LeaseStore>, config: &Config, clock: Arc<dyn Clock>) -> Leaders {
    let (timeout, pace) = (config.request_timeout(), config.pace());
    let observer = Observer {
        feed: Feed::new(Arc::clone(&store), Arc::clone(&clock), timeout, pace),
        store,
        clock,
        config: config.clone(),
        sight: Sight::Unknown,
        changes: 0,
        request: None,
        must_read: true,
        read_not_before: Moment::from_origin(Duration::ZERO),
        last_heard: Moment::from_origin(Duration::ZERO),
        failed_reads: 0,
        told: None,
    };
    let told = stream::unfold(observer, |mut observer| async move {
        let leader = observer.next().await;
        Some((leader, observer))
    });
    Leaders(told.boxed())
}

/// The known state of the Lease, and since when.
enum Sight {
    Unknown,
    Absent,
    Present {
        lease: Box<StoredLease>,
        since: Moment,
        /// No renewal was seen for the duration in the record.
        ran_out: bool,
    },
}

impl Sight {
    fn version(&self) -> Option<&Version> {
        match self {
            Self::Present { lease, .. } => Some(&lease.version),
            _ => None,
        }
    }

    fn leader(&self) -> Option<&str> {
        match self {
            Self::Present { lease, ran_out: false, .. } if !lease.record.is_free() => {
                Some(&lease.record.holder)
            }
            _ => None,
        }
    }

    /// Whether `version` is older than the known one.
    fn is_after(&self, version: &Version) -> bool {
        self.version().is_some_and(|known| {
            let order =
                compare_resource_versions(&version.resource_version, &known.resource_version);
            order == Some(Ordering::Less)
        })
    }
}

type Answer = Result<Option<StoredLease>, StoreError>;

struct Observer {
    store: Arc<dyn LeaseStore>,
    clock: Arc<dyn Clock>,
    config: Config,
    feed: Feed,
    sight: Sight,
    /// How often the sight changed.
    changes: u64,
    /// The read in flight.
    request: Option<(Read, BoxFuture<'static, Answer>)>,
    must_read: bool,
    read_not_before: Moment,
    last_heard: Moment,
    failed_reads: u32,
    told: Option<Option<String>>,
}

impl Observer {
    async fn next(&mut self) -> Option<String> {
        loop {
            if !matches!(self.sight, Sight::Unknown)
                && self.told.as_ref().map(Option::as_deref) != Some(self.sight.leader())
            {
                let leader = self.sight.leader().map(str::to_owned);
                self.told = Some(leader.clone());
                return leader;
            }
            self.turn().await;
        }
    }

    /// Handles the next news, or the next deadline.
    async fn turn(&mut self) {
        let now = self.clock.now();
        let mut wake = self.runs_out();
        if self.request.is_none() {
            let due = self.read_due();
            if due <= now {
                self.send(now);
            } else {
                wake = Some(wake.map_or(due, |wake| wake.min(due)));
            }
        }
        let known = !matches!(self.sight, Sight::Unknown);
        let from = self.sight.version().cloned();
        let sleep = async {
            match wake {
                Some(moment) => self.clock.sleep_until(moment).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            (read, answer) = answer(&mut self.request) => self.read(read, answer),
            news = self.feed.next(known, from.as_ref()) => self.hear(news),
            // Last, so that a process that was stopped first hears the renewals of that time.
            () = sleep => {
                let now = self.clock.now();
                if self.runs_out().is_some_and(|end| end <= now)
                    && let Sight::Present { ran_out, .. } = &mut self.sight
                {
                    *ran_out = true;
                }
            }
        }
    }

    /// When the observed lease expires without a renewal.
    fn runs_out(&self) -> Option<Moment> {
        match &self.sight {
            Sight::Present { lease, since, ran_out: false } if !lease.record.is_free() => {
                let (own, cap) = (self.config.lease_duration(), self.config.foreign_lease_cap());
                Some(since.after(lease.record.patience(own, cap)))
            }
            _ => None,
        }
    }

    fn read_due(&self) -> Moment {
        if self.must_read {
            return self.read_not_before;
        }
        let interval = self.config.retry_period();
        let patience = interval.saturating_mul(if self.feed.is_open() { 3 } else { 1 });
        self.last_heard.after(patience).max(self.read_not_before)
    }

    fn send(&mut self, now: Moment) {
        let (store, timeout) = (Arc::clone(&self.store), self.config.request_timeout());
        let answer = Box::pin(async move {
            match tokio::time::timeout(timeout, store.get()).await {
                Ok(answer) => answer,
                Err(_) => Err(StoreError::unknown("no answer within the request time-out")),
            }
        });
        let read = Read { changes: self.changes, sent: now, routine: !self.must_read };
        self.request = Some((read, answer));
    }

    fn read(&mut self, read: Read, answer: Answer) {
        let now = self.clock.now();
        let undisturbed = read.changes == self.changes;
        match answer {
            Ok(found) => {
                self.failed_reads = 0;
                self.last_heard = now;
                self.must_read = false;
                let before = self.changes;
                match found {
                    Some(lease) if undisturbed || !self.sight.is_after(&lease.version) => {
                        self.see(now, lease);
                    }
                    None if undisturbed => self.see_absent(),
                    // The watch was faster: only another read shows which of the two is later.
                    _ => {
                        self.must_read = true;
                        self.read_not_before = read.sent.after(self.config.pace());
                    }
                }
                if read.routine && self.feed.is_open() && self.changes != before {
                    // The read found what the watch had missed.
                    self.feed.restart();
                }
            }
            Err(error) => {
                tracing::debug!(lease = self.config.name(), %error, "the leader cannot be read");
                let pause = (self.config.pace() / 4).saturating_mul(1 << self.failed_reads.min(5));
                self.failed_reads = self.failed_reads.saturating_add(1);
                let asked = error.retry_after().unwrap_or_default();
                self.must_read = true;
                self.read_not_before =
                    read.sent.after(pause).max(now.after(asked.min(self.config.lease_duration())));
            }
        }
    }

    fn hear(&mut self, news: FeedNews) {
        let now = self.clock.now();
        match news {
            FeedNews::Opened { anew, .. } => self.must_read |= anew,
            FeedNews::Closed(error) => self.must_read |= error.is_some(),
            FeedNews::Event(event) => {
                self.last_heard = now;
                match event {
                    LeaseEvent::Changed(lease) if !self.sight.is_after(&lease.version) => {
                        self.see(now, lease)
                    }
                    LeaseEvent::Deleted(Some(last)) if !self.sight.is_after(&last.version) => {
                        self.see_absent()
                    }
                    LeaseEvent::Deleted(None) => self.must_read = true,
                    _ => {}
                }
            }
        }
    }

    fn see(&mut self, now: Moment, lease: StoredLease) {
        match &mut self.sight {
            Sight::Present { lease: known, .. } if known.version == lease.version => return,
            // Only metadata changed: this is no renewal.
            Sight::Present { lease: known, .. }
                if known.record == lease.record && known.version.uid == lease.version.uid =>
            {
                known.version = lease.version;
            }
            sight => *sight = Sight::Present { lease: Box::new(lease), since: now, ran_out: false },
        }
        self.changes = self.changes.wrapping_add(1);
    }

    fn see_absent(&mut self) {
        if !matches!(self.sight, Sight::Absent) {
            self.sight = Sight::Absent;
            self.changes = self.changes.wrapping_add(1);
        }
    }
}

/// # Cancel safety
/// The request stays under way.
async fn answer(request: &mut Option<(Read, BoxFuture<'static, Answer>)>) -> (Read, Answer) {
    match request {
        Some((read, answer)) => {
            let answered = (*read, answer.await);
            *request = None;
            answered
        }
        None => std::future::pending().await,
    }
}
