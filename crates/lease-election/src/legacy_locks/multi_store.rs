//! MultiStore: two stores as one lease, for a migration from the first to the second.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use crate::announcement::Announcement;
use crate::config::Config;
use crate::error::StoreError;
use crate::record::{Record, StoredLease};
use crate::store::{LeaseEvent, LeaseEvents, LeaseStore};
use crate::version::{FenceToken, Version};

mod half;
mod halves;
mod memory;
mod order;
use half::{Attempt, Half, Halves};
use memory::{Memory, Told, push};

/// Two stores as one lease: a candidate leads only if it holds both, and so excludes candidates
/// that know only one of them.
///
/// It moves an election from locks in annotations to Leases without a moment of two leaders: all
/// replicas use the old store, then all use both, then all use the new one. *Never skip the middle
/// step*: candidates of the old store alone and candidates of the new one alone do not exclude each
/// other. Halves and order are those of client-go's multi-locks (`endpointsleases`,
/// `configmapsleases`), which can share the election.
///
/// # Safe where client-go's is not
/// - A write is conditional on the observed version of *both* halves. client-go reads the second
///   half right before it overwrites it, whatever it says.
/// - A lease is taken once both halves were unchanged for the longer of their durations.
/// - Halves that disagree have the holder `leaderelection.k8s.io/unknown`, and are waited for.
/// - A write of which one half is made counts for nothing until the other is.
///
/// **Delete no half during the migration**: a leader that loses one may act on beside the next.
/// Delete the old lock when the last replica that knows it has ended.
///
/// To take or keep the lease the primary half is written first, as in client-go. A candidate that
/// made one half goes on with the same write. A half that it was forbidden to write goes first
/// until that succeeds. So a candidate that may write only one half leaves the lease to the others.
/// A release writes a free half first.
///
/// A half-made write runs out like a lease if its sender stops, crashes or may not write the other
/// half. So does the first half of the very first write, where neither lock exists yet.
///
/// # What it costs
/// | | requests |
/// | --- | --- |
/// | renewal | 2; after a half-made one 5 (9 if its event was not heard), then 3 |
/// | take-over | 3; 8 where one half is missing, once |
/// | read | 3 or more in sequence, all within one `request_timeout`, which must exceed three round trips |
///
/// Each elector needs a store of its own, which knows its half-made writes.
///
/// # Fence tokens
/// The resource version of a token is that of both halves, `primary+secondary`. Tokens compare by
/// the greater of the two, so the tokens of one API server rise through all three steps.
/// [`FenceToken::number`] is that number.
#[doc(alias = "MultiLock")]
pub struct MultiStore {
    shared: Arc<Shared>,
}

struct Shared {
    primary: Arc<dyn LeaseStore>,
    secondary: Arc<dyn LeaseStore>,
    /// The duration that is granted to a half without one.
    own_seconds: i32,
    memory: Mutex<Memory>,
}

impl MultiStore {
    /// Joins two stores: `primary` is the old one, `secondary` the new one. A half without a
    /// duration is granted that of `config`.
    #[must_use]
    pub fn new(
        primary: impl LeaseStore + 'static,
        secondary: impl LeaseStore + 'static,
        config: &Config,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                primary: Arc::new(primary),
                secondary: Arc::new(secondary),
                own_seconds: config.lease_seconds(),
                memory: Mutex::default(),
            }),
        }
    }
}

impl Shared {
    fn with<R>(&self, change: impl FnOnce(&mut Memory) -> R) -> R {
        change(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn store(&self, half: Half) -> &dyn LeaseStore {
        match half {
            Half::Primary => &*self.primary,
            Half::Secondary => &*self.secondary,
        }
    }

    /// Both halves at one moment: the primary, read between two equal reads of the secondary.
    async fn snapshot(&self) -> Result<Halves, StoreError> {
        let mut secondary = self.secondary.get().await?;
        for _ in 0..4 {
            let primary = self.primary.get().await?;
            let again = self.secondary.get().await?;
            if version(again.as_ref()) == version(secondary.as_ref()) {
                return Ok(Halves { primary, secondary });
            }
            secondary = again;
        }
        Err(StoreError::unknown("the two halves change too fast to be read together"))
    }

    /// The joint lease of the halves, remembered as reported.
    fn tell(&self, halves: &Halves) -> Result<Option<StoredLease>, StoreError> {
        self.with(|memory| {
            let Some(version) = halves.version() else { return Ok(None) };
            let version = version?;
            // One version has one record, even after its attempt is forgotten.
            let known = memory.told(&version).filter(|told| told.halves == *halves);
            let record = known.map(|told| told.lease.record.clone());
            let record =
                record.unwrap_or_else(|| halves.record(self.own_seconds, &memory.attempts));
            let lease = StoredLease { version, record };
            memory.told.retain(|old| old.lease.version != lease.version);
            push(&mut memory.told, Told { lease: lease.clone(), halves: halves.clone() });
            Ok(Some(lease))
        })
    }

    /// Both halves at this version, so that a watch reports every change since.
    async fn halves_of(&self, from: &Version) -> Result<Halves, StoreError> {
        let known = self.with(|memory| memory.told(from).map(|told| told.halves.clone()));
        let halves = match known {
            Some(halves) => halves,
            // Another store reported it: known only if nothing has changed since.
            None => self.snapshot().await?,
        };
        // A half that did not exist cannot be watched from then on.
        if halves.are_whole() && halves.version() == Some(Ok(from.clone())) {
            Ok(halves)
        } else {
            Err(StoreError::Expired)
        }
    }

    /// Remembers a write on `base` before it is sent, to recognise it if only one half is made.
    fn attempt(&self, base: &Version, record: &Record, first: Half) {
        // Only its mark distinguishes it from every other write.
        if record.write_id.is_none() {
            return;
        }
        self.with(|memory| {
            let Some(Told { lease, halves }) = memory.told(base) else { return };
            let before = if halves.are_whole() {
                lease.record.clone()
            } else {
                // The maker of the missing half has waited for the other, and counts transitions on
                // from it.
                Record { leader_transitions: lease.record.leader_transitions, ..Record::default() }
            };
            let halves = halves.clone();
            push(
                &mut memory.attempts,
                Attempt { record: record.clone(), halves, before, first, tries: 0 },
            );
        });
    }

    /// Writes both halves on their observed versions.
    ///
    /// # Cancel safety
    /// If dropped in the second write, that write counts as failed.
    async fn replace(
        &self,
        halves: &[Option<Version>; 2],
        record: &Record,
        first: Half,
    ) -> Result<StoredLease, StoreError> {
        let second = first.other();
        let one = write(self.store(first), halves[first as usize].as_ref(), record).await?;
        // A forbidden half that went first is forbidden no more. With that order kept, the writes
        // of this candidate would cross with those of others.
        self.with(|memory| memory.forbidden.take_if(|half| *half == first));
        let other = self.write_second(second, halves, record).await?;
        match first {
            Half::Primary => self.wrote(one, other),
            Half::Secondary => self.wrote(other, one),
        }
    }

    /// Writes the second half after the first, and notes a refusal.
    async fn write_second(
        &self,
        half: Half,
        halves: &[Option<Version>; 2],
        record: &Record,
    ) -> Result<StoredLease, StoreError> {
        let written = write(self.store(half), halves[half as usize].as_ref(), record).await;
        match written {
            Ok(_) => self.with(|memory| memory.forbidden = None),
            Err(StoreError::Rejected { .. }) => self.with(|memory| memory.forbidden = Some(half)),
            Err(_) => {}
        }
        written.map_err(one_half_made)
    }

    /// Creates one half.
    async fn make(&self, half: Half, record: &Record) -> Result<StoredLease, StoreError> {
        let made = write(self.store(half), None, record).await?;
        self.with(|memory| memory.latest.see(half, made.clone()));
        Ok(made)
    }

    fn wrote(
        &self,
        primary: StoredLease,
        secondary: StoredLease,
    ) -> Result<StoredLease, StoreError> {
        self.with(|memory| {
            memory.written = Some(primary.version.clone());
            memory.latest.see(Half::Primary, primary.clone());
            memory.latest.see(Half::Secondary, secondary.clone());
        });
        let halves = Halves { primary: Some(primary), secondary: Some(secondary) };
        self.tell(&halves)?.ok_or_else(|| StoreError::unknown("nothing was written"))
    }

    /// Turns an event of one half into news of both.
    fn hear(&self, half: Half, event: LeaseEvent) -> Result<LeaseEvent, StoreError> {
        match event {
            LeaseEvent::Changed(lease) => {
                // Reported even if a read knows it: that read need not have been the elector's.
                let halves = self.with(|memory| {
                    memory.latest.see(half, lease);
                    memory.latest.clone()
                });
                Ok(self.tell(&halves)?.map_or(LeaseEvent::Deleted(None), LeaseEvent::Changed))
            }
            LeaseEvent::Deleted(_) => {
                self.with(|memory| memory.latest.forget(half));
                // Only a read tells the rest.
                Ok(LeaseEvent::Deleted(None))
            }
            LeaseEvent::Alive => Ok(LeaseEvent::Alive),
        }
    }
}

/// Only the second half was refused: a read finds the first, which may have to be released.
fn one_half_made(error: StoreError) -> StoreError {
    match error {
        StoreError::Rejected { .. } | StoreError::TooManyRequests { .. } => StoreError::Unknown {
            message: format!("one half is made, and the other is not: {error}"),
            retry_after: error.retry_after(),
        },
        error => error,
    }
}

fn version(lease: Option<&StoredLease>) -> Option<&Version> {
    lease.map(|lease| &lease.version)
}

/// Writes one half on its version, or creates it.
async fn write(
    store: &dyn LeaseStore,
    base: Option<&Version>,
    record: &Record,
) -> Result<StoredLease, StoreError> {
    let written = match base {
        Some(base) => store.update(base, record).await,
        None => store.create(record).await,
    };
    // `NotFound` would say that both halves are absent.
    written
        .map_err(|error| if error == StoreError::NotFound { StoreError::Conflict } else { error })
}

#[async_trait]
impl LeaseStore for MultiStore {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        let halves = self.shared.snapshot().await?;
        self.shared.with(|memory| {
            for (half, lease) in
                Half::BOTH.into_iter().filter_map(|half| Some((half, halves.get(half)?)))
            {
                memory.latest.see(half, lease.clone());
            }
        });
        self.shared.tell(&halves)
    }

    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        let shared = &self.shared;
        let primary = shared.make(Half::Primary, record).await?;
        let secondary = shared.make(Half::Secondary, record).await.map_err(one_half_made)?;
        shared.wrote(primary, secondary)
    }

    async fn update(&self, base: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        let shared = &self.shared;
        // No store like this one reported such a version.
        let Some(halves) = halves::split(base) else { return Err(StoreError::Conflict) };
        let (is_own, first, rest) = shared.with(|memory| {
            let is_own = halves[0].is_some() && memory.written == halves[0];
            (is_own, memory.first(base, record), memory.rest(base, record))
        });
        // The half that is written second, or not at all, is read before the first is written. So a
        // candidate whose watch lags does not break the other half of a healthy leader. If the
        // primary half is this store's own, no other candidate can lead.
        let second = rest.as_ref().map_or(first, |(left, _)| *left).other();
        let is_looked_at = !is_own || second == Half::Primary;
        if is_looked_at
            && version(shared.store(second).get().await?.as_ref())
                != halves[second as usize].as_ref()
        {
            return Err(StoreError::Conflict);
        }
        if let Some(missing) = Half::BOTH.into_iter().find(|half| halves[*half as usize].is_none())
        {
            // A free half that is created late could be taken at once, beside a new leader.
            if !record.is_free() {
                // The missing half has no version yet to be conditional on. It is created first, as
                // a claim that counts for nothing, and then both halves are taken.
                shared.attempt(base, record, missing);
                shared.make(missing, record).await?;
            }
            return Err(StoreError::Conflict);
        }
        if let Some((left, record)) = rest {
            shared.with(|memory| memory.try_rest(&record));
            // A read tells the result.
            shared.write_second(left, &halves, &record).await?;
            return Err(StoreError::Conflict);
        }
        shared.attempt(base, record, first);
        shared.replace(&halves, record, first).await
    }

    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        let shared = Arc::clone(&self.shared);
        let (halves, first) = match from {
            None => {
                let halves = shared.snapshot().await?;
                let first = shared.tell(&halves)?;
                (halves, first)
            }
            Some(from) => (shared.halves_of(from).await?, None),
        };
        shared.with(|memory| memory.latest = halves.clone());
        let primary = shared.primary.watch(version(halves.primary.as_ref())).await?;
        let secondary = shared.secondary.watch(version(halves.secondary.as_ref())).await?;
        let first = stream::iter(first.map(|lease| Ok(LeaseEvent::Changed(lease))));
        let both =
            stream::select(marked(Half::Primary, primary), marked(Half::Secondary, secondary));
        // When the watch of one half has ended, the other is not enough.
        let both =
            both.scan((), |_, (half, event)| std::future::ready(event.map(|event| (half, event))));
        let told = both.map(move |(half, event)| shared.hear(half, event?));
        Ok(first.chain(told).boxed())
    }

    fn announce(&self, announcement: &Announcement) {
        let fence = &announcement.fence;
        let version = Version::new(&*fence.uid, &*fence.resource_version);
        let Some(halves) = halves::split(&version) else { return };
        for (half, version) in Half::BOTH.into_iter().zip(halves) {
            if let Some(Version { uid, resource_version }) = version {
                let fence = FenceToken { uid, resource_version, transitions: fence.transitions };
                self.shared.store(half).announce(&Announcement { fence, ..announcement.clone() });
            }
        }
    }
}

type Marked = BoxStream<'static, (Half, Option<Result<LeaseEvent, StoreError>>)>;

/// The events of one half, and `None` at their end.
fn marked(half: Half, events: LeaseEvents) -> Marked {
    let end = stream::once(std::future::ready(None));
    events.map(Some).chain(end).map(move |event| (half, event)).boxed()
}

impl fmt::Debug for MultiStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told =
            self.shared.with(|memory| memory.told.back().map(|told| told.lease.version.clone()));
        f.debug_struct("MultiStore").field("version", &told).finish_non_exhaustive()
    }
}
