//! MultiStore: two stores as one, for a migration from the one to the other. Requests; what two
//! halves say together is `halves`'.

use std::collections::VecDeque;
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
mod order;
use half::{Attempt, Half, Halves};

/// Two stores as one lease: a candidate leads only if it holds both, so it excludes candidates that
/// know either of the two.
///
/// For a migration from locks in annotations to Leases without a moment of two leaders: first all
/// replicas use the old store, then all use both, then all use the new one. *Never skip the middle
/// step*: those who know only the old and those who know only the new store do not see each other.
/// Halves and order are those of client-go's multi-locks (`endpointsleases`, `configmapsleases`),
/// with which it can share an election.
///
/// # Safe where client-go's is not
/// A write is conditional on the version of *both* halves that was observed; client-go reads the
/// second half right before it overwrites it, whatever it says. A lease is taken when both halves
/// have been seen unchanged for as long as the longer of them says. Halves that disagree are
/// nobody's: their holder reads `leaderelection.k8s.io/unknown`, and they are waited for. A write
/// of which one half was made counts for nothing until the other is.
///
/// **Nobody deletes a half during the migration**: who leads by a half that goes may act on beside
/// the next. Delete the old lock when the last replica that knows it has ended.
///
/// To take the lease or to keep it the primary half is written first, as client-go does. Whoever
/// made one half, and not the other, goes on with the same write; and a half that it was forbidden
/// to write it writes first, until that succeeds: a candidate that may write one half only leaves
/// the lease to the others. To give it back a half that is free is written first.
///
/// Half a write runs out like a lease if its sender stops or crashes, or may not write the other
/// half. So does the first half of the first write of all, where neither lock exists yet.
///
/// # What it costs
/// A renewal is two requests; after half of one failed the next one is five (nine where its event
/// was not heard), and the one after that three; a take-over three (and eight where one half is
/// missing, once); a read three or more, one after the other, which must all be answered within one
/// `request_timeout`: it has to be longer than three round trips to the server. Each elector needs
/// a store of its own: it is told by its own half-made writes.
///
/// # Fence tokens
/// The resource version of a token is that of both halves, `primary+secondary`. Tokens compare by
/// the greater of the two, so that those of one API server go on rising through all three steps;
/// [`FenceToken::number`] is that number.
#[doc(alias = "MultiLock")]
pub struct MultiStore {
    shared: Arc<Shared>,
}

struct Shared {
    primary: Arc<dyn LeaseStore>,
    secondary: Arc<dyn LeaseStore>,
    /// What a half without a duration is granted.
    own_seconds: i32,
    memory: Mutex<Memory>,
}

/// What this store has seen and tried.
#[derive(Default)]
struct Memory {
    /// The newest of each half that was told or read, or that a create or a complete write made:
    /// what the watch of one half tells is joined to what is known of the other.
    latest: Halves,
    /// The last states told, newest at the back.
    told: VecDeque<Told>,
    /// The last writes sent, newest at the back: one of them may be half made.
    attempts: VecDeque<Attempt>,
    /// The version of the primary half that our last complete write made.
    written: Option<Version>,
    /// The half that we were forbidden to write when we had made the other one, until we may. That
    /// another can write it says nothing.
    forbidden: Option<Half>,
}

/// A state of both halves as it was told.
struct Told {
    lease: StoredLease,
    halves: Halves,
}

/// So often what is left of an acquisition or a renewal is tried; then it is made anew. Each try is
/// a write of its own to whoever asks for it, and keeps 64 of them (`MAX_PENDING`): the one that is
/// made in the end must be among those.
const TRIES: u32 = 8;

/// Between a state and the write on it, events and reads may tell a few more.
const REMEMBERED: usize = 16;

impl MultiStore {
    /// Two stores as one. `primary` is the old one, `secondary` the new one; `config` says what a
    /// half without a duration is granted.
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

impl Memory {
    fn told(&self, version: &Version) -> Option<&Told> {
        self.told.iter().find(|told| told.lease.version == *version)
    }

    /// What a write of ours has left to do, of which one half was made, if `record` is to do the
    /// same and nobody has been at either half since: the half that is left, and what is to be
    /// written there. It need not be the last one: a leader that did not hear what became of it
    /// tries on the version before.
    fn rest(&self, base: &Version, record: &Record) -> Option<(Half, Record)> {
        let halves = &self.told(base)?.halves;
        let (begun, made) = halves.half_made(&self.attempts)?;
        let left = made.other();
        let is_held = !halves.get(left)?.record.is_free();
        let is_same = match record.is_free() {
            // What is free already is left as it is: while it changed others would wait for it
            // anew, and if this came first both were free, and not one lease, so that
            // who took them met the rest of this write.
            true => begun.record.is_free() && is_held,
            // Who gets no answers, or may not write so soon again, would make each half anew in
            // turn, and never both. (What a claim has made is no object that our last observation
            // was of.)
            false => !begun.record.is_free() && begun.halves.are_whole() && begun.tries < TRIES,
        };
        is_same.then(|| (left, begun.record.clone()))
    }

    /// Counts that what is left of this write is tried.
    fn try_rest(&mut self, record: &Record) {
        let same = self.attempts.iter_mut().filter(|attempt| attempt.record == *record);
        same.for_each(|attempt| attempt.tries += 1);
    }

    /// Which half of a write on `base` is sent first.
    fn first(&self, base: &Version, record: &Record) -> Half {
        let Some(halves) =
            self.told(base).map(|told| &told.halves).filter(|halves| halves.are_whole())
        else {
            return Half::Primary;
        };
        match record.is_free() {
            true => order::of_release(halves, &self.attempts),
            false => order::of_hold(halves, &self.attempts, self.forbidden),
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

    /// Both halves as they were at one moment: the primary read between two equal readings of the
    /// secondary.
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

    /// What the halves say, remembered as told.
    fn tell(&self, halves: &Halves) -> Result<Option<StoredLease>, StoreError> {
        self.with(|memory| {
            let Some(version) = halves.version() else { return Ok(None) };
            let version = version?;
            // One version tells one record, also when the attempt by which it was known is
            // forgotten.
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

    /// Both halves as they were at this version, so that all can be told that came since.
    async fn halves_of(&self, from: &Version) -> Result<Halves, StoreError> {
        let known = self.with(|memory| memory.told(from).map(|told| told.halves.clone()));
        let halves = match known {
            Some(halves) => halves,
            // Told by another store: known only if nothing came since.
            None => self.snapshot().await?,
        };
        // A half that was not there cannot be watched from then on.
        if halves.are_whole() && halves.version() == Some(Ok(from.clone())) {
            Ok(halves)
        } else {
            Err(StoreError::Expired)
        }
    }

    /// Notes that this write on `base` is about to be sent, by which it is known if only one half
    /// of it is made.
    fn attempt(&self, base: &Version, record: &Record, first: Half) {
        // By its mark it differs from every other.
        if record.write_id.is_none() {
            return;
        }
        self.with(|memory| {
            let Some(Told { lease, halves }) = memory.told(base) else { return };
            let before = if halves.are_whole() {
                lease.record.clone()
            } else {
                // Whoever makes the missing half has waited for the other, and goes on counting
                // where that one is.
                Record { leader_transitions: lease.record.leader_transitions, ..Record::default() }
            };
            let halves = halves.clone();
            push(
                &mut memory.attempts,
                Attempt { record: record.clone(), halves, before, first, tries: 0 },
            );
        });
    }

    /// Writes both halves on what was observed of them.
    ///
    /// # Cancel safety
    /// Dropped in the second write, that counts as failed.
    async fn replace(
        &self,
        halves: &[Option<Version>; 2],
        record: &Record,
        first: Half,
    ) -> Result<StoredLease, StoreError> {
        let second = first.other();
        let one = write(self.store(first), halves[first as usize].as_ref(), record).await?;
        // Where it came first because it was forbidden, it is forbidden no more. Who went on with
        // that order would cross with the others.
        self.with(|memory| memory.forbidden.take_if(|half| *half == first));
        let other = self.write_second(second, halves, record).await?;
        match first {
            Half::Primary => self.wrote(one, other),
            Half::Secondary => self.wrote(other, one),
        }
    }

    /// Writes the half that comes after the other, which is made, and notes if it may not.
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

    /// Makes one half.
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

    /// What the watch of one half tells, as news of both.
    fn hear(&self, half: Half, event: LeaseEvent) -> Result<LeaseEvent, StoreError> {
        match event {
            LeaseEvent::Changed(lease) => {
                // Told also if it is known by a read: that need not have been the elector's.
                let halves = self.with(|memory| {
                    memory.latest.see(half, lease);
                    memory.latest.clone()
                });
                Ok(self.tell(&halves)?.map_or(LeaseEvent::Deleted(None), LeaseEvent::Changed))
            }
            LeaseEvent::Deleted(_) => {
                self.with(|memory| memory.latest.forget(half));
                // What is left can only be read.
                Ok(LeaseEvent::Deleted(None))
            }
            LeaseEvent::Alive => Ok(LeaseEvent::Alive),
        }
    }
}

fn push<T>(queue: &mut VecDeque<T>, newest: T) {
    while queue.len() >= REMEMBERED {
        queue.pop_front();
    }
    queue.push_back(newest);
}

/// Refused is but the other half: what stands there, and may have to be given back, a read tells.
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

/// Writes one half: on its version, or makes it if there was none.
async fn write(
    store: &dyn LeaseStore,
    base: Option<&Version>,
    record: &Record,
) -> Result<StoredLease, StoreError> {
    let written = match base {
        Some(base) => store.update(base, record).await,
        None => store.create(record).await,
    };
    // Of both together it cannot be said that there are none.
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
        // A version of other make was not told by a store like this one.
        let Some(halves) = halves::split(base) else { return Err(StoreError::Conflict) };
        let (is_own, first, rest) = shared.with(|memory| {
            let is_own = halves[0].is_some() && memory.written == halves[0];
            (is_own, memory.first(base, record), memory.rest(base, record))
        });
        // The half that comes second, or is not written, is looked at before the first is written,
        // so that a candidate whose watch of it lags does not break the other half of a
        // healthy leader. Where the primary one is its own nobody else can lead.
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
            // A free half that is made late would be anybody's at once, beside whoever leads by
            // then.
            if !record.is_free() {
                // Which object the other half will be is not known yet, so no version can be
                // conditional on it. It is made first, as a claim that counts for nothing, and
                // then both are taken.
                shared.attempt(base, record, missing);
                shared.make(missing, record).await?;
            }
            return Err(StoreError::Conflict);
        }
        if let Some((left, record)) = rest {
            shared.with(|memory| memory.try_rest(&record));
            // A read tells what it made.
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
        // Of a watch of which one half has ended the other is not enough.
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
