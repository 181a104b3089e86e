//! MultiStore: two stores as one, for a migration from the one to the other. Requests; what two halves say together is `halves`'.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use crate::announcement::Announcement;
use crate::config::Config;
use crate::error::StoreError;
use crate::planted::planted;
use crate::record::{Record, StoredLease};
use crate::store::{LeaseEvent, LeaseEvents, LeaseStore};
use crate::version::{FenceToken, Version};

mod gone;
mod halves;
use gone::Gone;
use halves::{Attempt, Half, Halves};

/// Two stores as one lease: a candidate leads only if it holds both, so it excludes candidates that know either of the two.
///
/// For a migration from locks in annotations to Leases without a moment of two leaders: first all replicas use the old store, then all use both, then
/// all use the new one. *Never skip the middle step*: those who know only the old and those who know only the new store do not see each other.
/// Halves and order are those of client-go's multi-locks (`endpointsleases`, `configmapsleases`), with which it can share an election.
///
/// # Safe where client-go's is not
/// A write is conditional on the version of *both* halves that was observed; client-go reads the second half right before it overwrites it, whatever
/// it says. A lease is taken when both halves have been seen unchanged for as long as the longer of them says. Halves that disagree are nobody's:
/// their holder reads `leaderelection.k8s.io/unknown`, and they are waited for. A write of which one half was made counts for nothing until the other is.
/// A half that is deleted is waited for, as a Lease is, whatever the other says ([`wait_after_deletion`](crate::ConfigBuilder::wait_after_deletion)): one that this
/// process saw, or that was in the way of its own, or that may have been there and gone since it last looked, if that is longer ago than a lease. What the crate's page says of the
/// deletion of a Lease (A7) counts for each half.
/// The primary half is written first; by who failed to write the other, last, until a write is complete: one that may write a half only leaves the lease to the others.
/// A stop gives back what was half made, if by then it might be taken, and makes no half, and so does maintenance; a half that is on its way then, or left by one who crashed between the two or may not write the other, runs out.
///
/// # What it costs
/// A renewal is two requests, a take-over three (and eight where one half is missing, once), a read three or more. While a half is missing each
/// candidate reads twice in a lease. Each elector needs a store of its own: it is told by its own half-made writes.
///
/// # Fence tokens
/// The resource version of a token is that of both halves, `primary+secondary`. Tokens compare by the greater of the two, so that those of one API server
/// go on rising through all three steps; [`FenceToken::number`] is that number.
#[doc(alias = "MultiLock")]
pub struct MultiStore {
    shared: Arc<Shared>,
}

struct Shared {
    primary: Arc<dyn LeaseStore>,
    secondary: Arc<dyn LeaseStore>,
    /// What a half without a duration is granted.
    own_seconds: i32,
    /// Whether a deletion is waited for.
    waits: bool,
    memory: Mutex<Memory>,
}

/// What this store has seen and tried.
#[derive(Default)]
struct Memory {
    /// The newest of each half, for the watch.
    latest: Halves,
    /// The last states told, newest at the back.
    told: VecDeque<Told>,
    /// The last writes sent, newest at the back: one of them may be half made.
    attempts: VecDeque<Attempt>,
    /// What was seen of halves that went.
    gone: Gone,
    /// The version of the primary half that our last complete write made.
    written: Option<Version>,
    /// The second half of our last write failed, for all that is known.
    second_failed: bool,
}

/// A state of both halves as it was told.
struct Told {
    lease: StoredLease,
    halves: Halves,
    /// What they say to whoever has waited for a half that went.
    before: Record,
}

/// Between a state and the write on it, events and reads may tell a few more.
const REMEMBERED: usize = 16;

impl MultiStore {
    /// Two stores as one. `primary` is the old one, `secondary` the new one; `config` says what a half without a duration is granted.
    #[must_use]
    pub fn new(
        primary: impl LeaseStore + 'static,
        secondary: impl LeaseStore + 'static,
        config: &Config,
    ) -> Self {
        let own = config.lease_duration().as_secs();
        Self {
            shared: Arc::new(Shared {
                primary: Arc::new(primary),
                secondary: Arc::new(secondary),
                own_seconds: i32::try_from(own).unwrap_or(i32::MAX),
                waits: config.wait_after_deletion(),
                memory: Mutex::default(),
            }),
        }
    }
}

impl Memory {
    fn told(&self, version: &Version) -> Option<&Told> {
        self.told.iter().find(|told| told.lease.version == *version)
    }
}

impl Shared {
    fn with<R>(&self, change: impl FnOnce(&mut Memory) -> R) -> R {
        change(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Both halves as they were at one moment: the primary read between two equal readings of the secondary.
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
            memory.gone.see(halves, &mut memory.attempts);
            let Some(version) = halves.version(&memory.gone) else { return Ok(None) };
            let version = version?;
            // One version tells one record, also when the attempt by which it was known is forgotten.
            let known = memory.told(&version).filter(|told| told.halves == *halves);
            let before = known.map(|told| told.before.clone());
            let before = before.unwrap_or_else(|| halves.record(self.own_seconds, &memory.attempts));
            let withheld = halves.withheld(self.own_seconds, &memory.gone).filter(|_| self.waits);
            let lease = StoredLease { version, record: withheld.unwrap_or_else(|| before.clone()) };
            memory.told.retain(|old| old.lease.version != lease.version);
            push(&mut memory.told, Told { lease: lease.clone(), halves: halves.clone(), before });
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
        if halves.are_whole() && halves.version(&Gone::default()) == Some(Ok(from.clone())) {
            Ok(halves)
        } else {
            Err(StoreError::Expired)
        }
    }

    /// Notes that this write on `base` is about to be sent, by which it is known if only one half of it is made.
    fn attempt(&self, base: Option<&Version>, record: &Record) {
        // By its mark it differs from every other.
        if record.write_id.is_none() {
            return;
        }
        self.with(|memory| {
            let (halves, before) = match base.map(|base| memory.told(base)) {
                None => (Halves::default(), Record::half_made()),
                Some(None) => return,
                Some(Some(Told { halves, before, .. })) => {
                    let before = if halves.are_whole() { before.clone() } else { Record::half_made() };
                    (halves.clone(), before)
                }
            };
            push(&mut memory.attempts, Attempt { record: record.clone(), halves, before });
        });
    }

    /// Writes both halves, the primary one first, as client-go does. `is_wary`: last, because the other failed last time, or may be written yet. Who may not
    /// write that one, or cannot, then leaves the primary one to the others, which would begin to wait anew with each write.
    ///
    /// # Cancel safety
    /// Dropped in the second write, that counts as failed.
    async fn replace(
        &self,
        primary: Option<&Version>,
        secondary: Option<&Version>,
        record: &Record,
        is_wary: bool,
    ) -> Result<(StoredLease, StoredLease), StoreError> {
        let note = |has_failed| self.with(|memory| memory.second_failed = has_failed);
        if is_wary {
            let secondary = write(&*self.secondary, secondary, record).await?;
            let primary = write(&*self.primary, primary, record).await?;
            note(false);
            return Ok((primary, secondary));
        }
        let primary = write(&*self.primary, primary, record).await?;
        note(true);
        let secondary = match planted("second-half-overwritten") {
            true => write(&*self.secondary, version(self.secondary.get().await?.as_ref()), record).await,
            false => write(&*self.secondary, secondary, record).await,
        };
        note(secondary.as_ref().is_err_and(|error| *error != StoreError::Conflict));
        Ok((primary, secondary?))
    }

    /// Makes one half; what is in the way has not been waited for.
    async fn make(&self, half: Half, record: &Record) -> Result<StoredLease, StoreError> {
        let store = if half == Half::Primary { &self.primary } else { &self.secondary };
        let made = write(&**store, None, record).await;
        if made == Err(StoreError::Conflict) {
            self.with(|memory| memory.gone.in_the_way(half, record, &mut memory.attempts));
        }
        made
    }

    /// Frees the half that an acquisition of ours made, if the other is still missing. Never makes that other one: a free half that is made late would be
    /// anybody's at once, beside whoever leads by then. Of the two as one nothing is written, and a read tells.
    async fn free_half(
        &self,
        base: &Version,
        halves: (Option<&Version>, Option<&Version>),
        record: &Record,
    ) -> Result<StoredLease, StoreError> {
        let made =
            |memory: &mut Memory| memory.told(base).is_some_and(|told| told.lease.record.is_half_made());
        if self.with(made) {
            let (store, other, half) = match halves {
                (Some(primary), _) => (&self.primary, &self.secondary, primary),
                (None, Some(secondary)) => (&self.secondary, &self.primary, secondary),
                (None, None) => return Err(StoreError::Conflict),
            };
            if other.get().await?.is_none() {
                write(&**store, Some(half), record).await?;
            }
        }
        Err(StoreError::Conflict)
    }

    fn wrote(&self, primary: StoredLease, secondary: StoredLease) -> Result<StoredLease, StoreError> {
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
                let Some(halves) =
                    self.with(|memory| memory.latest.see(half, lease).then(|| memory.latest.clone()))
                else {
                    return Ok(LeaseEvent::Alive);
                };
                Ok(self.tell(&halves)?.map_or(LeaseEvent::Deleted(None), LeaseEvent::Changed))
            }
            LeaseEvent::Deleted(_) => {
                self.with(|memory| {
                    memory.latest.forget(half);
                    memory.gone.missing(half, &mut memory.attempts);
                });
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
    written.map_err(|error| if error == StoreError::NotFound { StoreError::Conflict } else { error })
}

#[async_trait]
impl LeaseStore for MultiStore {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        let halves = self.shared.snapshot().await?;
        self.shared.tell(&halves)
    }

    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        let shared = &self.shared;
        // Who asks to make them has waited for what was there before.
        shared.with(|memory| [Half::Primary, Half::Secondary].map(|half| memory.gone.waited(half)));
        shared.attempt(None, record);
        let primary = shared.make(Half::Primary, record).await?;
        let secondary = shared.make(Half::Secondary, record).await?;
        shared.wrote(primary, secondary)
    }

    async fn update(&self, base: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        let shared = &self.shared;
        // A version of other make was not told by a store like this one.
        let Some((primary, secondary)) = halves::split(base) else { return Err(StoreError::Conflict) };
        let is_own = primary.is_some() && shared.with(|memory| memory.written == primary);
        let is_unlooked = is_own || planted("second-half-overwritten");
        if !is_unlooked && version(shared.secondary.get().await?.as_ref()) != secondary.as_ref() {
            // Looked at first, so that a candidate whose watch of this half lags does not break the other half of a healthy leader.
            return Err(StoreError::Conflict);
        }
        if primary.is_none() || secondary.is_none() {
            if record.is_free() {
                return shared.free_half(base, (primary.as_ref(), secondary.as_ref()), record).await;
            }
            let missing = if primary.is_none() { Half::Primary } else { Half::Secondary };
            if !shared.with(|memory| halves::is_as_gone(base, missing, &memory.gone)) {
                // It was there since, and went again.
                return Err(StoreError::Conflict);
            }
            // Which object the other half will be is not known yet, so no version can be conditional on it. It is made first, as a claim that counts
            // for nothing, and then both are taken.
            shared.attempt(Some(base), record);
            shared.make(missing, record).await?;
            return Err(StoreError::Conflict);
        }
        // The second half of what it frees half of may be made yet: of that and this one only one is to be.
        let is_wary = (!record.is_free() || !is_own) && shared.with(|memory| memory.second_failed);
        if is_wary && version(shared.primary.get().await?.as_ref()) != primary.as_ref() {
            return Err(StoreError::Conflict);
        }
        shared.attempt(Some(base), record);
        let (primary, secondary) =
            shared.replace(primary.as_ref(), secondary.as_ref(), record, is_wary).await?;
        shared.wrote(primary, secondary)
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
        let both = stream::select(marked(Half::Primary, primary), marked(Half::Secondary, secondary));
        // Of a watch of which one half has ended the other is not enough.
        let both = both.scan((), |_, (half, event)| std::future::ready(event.map(|event| (half, event))));
        let told = both.map(move |(half, event)| shared.hear(half, event?));
        Ok(first.chain(told).boxed())
    }

    fn announce(&self, announcement: &Announcement) {
        let fence = &announcement.fence;
        let version = Version::new(&*fence.uid, &*fence.resource_version);
        let Some((primary, secondary)) = halves::split(&version) else { return };
        for (store, version) in [(&self.shared.primary, primary), (&self.shared.secondary, secondary)] {
            if let Some(Version { uid, resource_version }) = version {
                let fence = FenceToken { uid, resource_version, transitions: fence.transitions };
                store.announce(&Announcement { fence, ..announcement.clone() });
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
        let told = self.shared.with(|memory| memory.told.back().map(|told| told.lease.version.clone()));
        f.debug_struct("MultiStore").field("version", &told).finish_non_exhaustive()
    }
}
