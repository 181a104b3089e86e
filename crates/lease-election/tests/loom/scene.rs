//! Scene: one term that is valid until ten, and a clock that a test moves by hand.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::clock::{Clock, Moment, Sleep};
use crate::error::StoreError;
use crate::leadership::Leadership;
use crate::platform::{AtomicU64, Notify, Ordering};
use crate::record::{Marks, Record, StoredLease};
use crate::store::{LeaseEvents, LeaseStore};
use crate::term::{Term, TermParts};
use crate::version::{FenceToken, Version};

/// When the hold ends, unless it is renewed.
pub(crate) const END: u64 = 10;

pub(crate) const fn at(seconds: u64) -> Moment {
    Moment::from_origin(Duration::from_secs(seconds))
}

/// A clock: each reader sees the last time that was set, because real clocks never go back.
#[derive(Clone)]
pub(crate) struct Hand(Arc<(AtomicU64, Option<Notify>)>);

impl Hand {
    /// Moves the time on, and fires the timers.
    pub(crate) fn set(&self, seconds: u64) {
        let (time, timers) = &*self.0;
        time.swap(seconds, Ordering::SeqCst);
        timers.iter().for_each(Notify::notify_waiters);
    }

    fn seconds(&self) -> u64 {
        self.0.0.fetch_add(0, Ordering::SeqCst)
    }
}

impl fmt::Debug for Hand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hand")
    }
}

impl Clock for Hand {
    fn now(&self) -> Moment {
        at(self.seconds())
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn sleep_until(&self, deadline: Moment) -> Sleep {
        let hand = self.clone();
        Box::pin(async move {
            let Some(timers) = &hand.0.1 else { return std::future::pending().await };
            loop {
                let told = timers.notified();
                if hand.now() >= deadline {
                    return;
                }
                told.await;
            }
        })
    }
}

/// No scenario uses the store.
struct NoStore;

#[async_trait]
impl LeaseStore for NoStore {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        Err(StoreError::Expired)
    }
    async fn create(&self, _: &Record) -> Result<StoredLease, StoreError> {
        Err(StoreError::Expired)
    }
    async fn update(&self, _: &Version, _: &Record) -> Result<StoredLease, StoreError> {
        Err(StoreError::Expired)
    }
    async fn watch(&self, _: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        Err(StoreError::Expired)
    }
}

/// The handles of each thread.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) clock: Hand,
    pub(crate) term: Arc<Term>,
}

impl Scene {
    /// No timer ever fires, so no thread relies on a wake-up by time.
    pub(crate) fn without_timers() -> Self {
        Self::new(None)
    }

    pub(crate) fn with_timers() -> Self {
        Self::new(Some(Notify::new()))
    }

    fn new(timers: Option<Notify>) -> Self {
        let clock = Hand(Arc::new((AtomicU64::new(1), timers)));
        let term = Term::begin(TermParts {
            fence: FenceToken { uid: "u".into(), resource_version: "7".into(), transitions: 1 },
            identity: "a".into(),
            writer: "w".into(),
            marks: Marks::All,
            acquire_time: Timestamp::UNIX_EPOCH,
            valid_until: at(END),
            clock: Arc::new(clock.clone()),
            store: Arc::new(NoStore),
            request_timeout: Duration::from_secs(1),
            releases: true,
            standing: None,
        });
        Self { clock, term }
    }

    pub(crate) fn leadership(&self) -> Leadership {
        Leadership::of(Arc::clone(&self.term))
    }
}
