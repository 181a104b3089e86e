//! MemoryLeaseStore: one Lease in memory with the API server's rules, and with faults on request.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::StoreError;
use crate::record::{Record, StoredLease};
use crate::store::{LeaseEvent, LeaseEvents, LeaseStore};
use crate::version::Version;

/// The call that a client makes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Verb {
    /// [`LeaseStore::get`].
    Get,
    /// [`LeaseStore::create`].
    Create,
    /// [`LeaseStore::update`].
    Update,
    /// [`LeaseStore::watch`].
    Watch,
    /// The delivery of one event of a watch.
    Event,
}

/// The outcome that a test chooses for a call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Fault {
    /// No fault.
    #[default]
    None,
    /// The request takes `before` to arrive, and the answer `after` to return. A caller that gives
    /// up before the arrival cancels the request.
    Slow {
        /// On the way there.
        before: Duration,
        /// On the way back.
        after: Duration,
    },
    /// The request never arrives and gets no answer; an event is left out.
    Lost,
    /// The request is carried out and never answered.
    AnswerLost,
    /// The request is never answered, and is carried out after this time, even if the caller gave
    /// up.
    Late(Duration),
    /// The server answers this without carrying it out; a watch breaks with it.
    Refused(StoreError),
    /// The server carries it out and answers this.
    AppliedBut(StoreError),
}

type FaultHook = Arc<dyn Fn(&str, Verb) -> Fault + Send + Sync>;
type WriteHook = Arc<dyn Fn(&str, Option<&StoredLease>) + Send + Sync>;

/// How many changes a watch may lag behind.
const HISTORY: usize = 1024;

#[derive(Default)]
struct Server {
    revision: u64,
    objects: u64,
    lease: Option<StoredLease>,
    history: VecDeque<(u64, Instant, LeaseEvent)>,
}

/// One Lease in memory. Clones share the Lease; [`client`](Self::client) names the caller.
#[derive(Clone)]
pub struct MemoryLeaseStore {
    server: Arc<Mutex<Server>>,
    /// Wakes the watches in FIFO order, so that a simulation repeats itself.
    changed: Arc<Notify>,
    client: Arc<str>,
    faults: Option<FaultHook>,
    written: Option<WriteHook>,
}

impl Default for MemoryLeaseStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryLeaseStore {
    /// A server without a Lease.
    #[must_use]
    pub fn new() -> Self {
        Self {
            server: Arc::default(),
            changed: Arc::default(),
            client: Arc::from(""),
            faults: None,
            written: None,
        }
    }

    /// The same Lease for another client; the hooks get this name.
    #[must_use]
    pub fn client(&self, name: &str) -> Self {
        Self { client: Arc::from(name), ..self.clone() }
    }

    /// The same Lease with faults: each call of this handle, and of handles made from it, asks
    /// `fault`.
    #[must_use]
    pub fn with_faults(&self, fault: impl Fn(&str, Verb) -> Fault + Send + Sync + 'static) -> Self {
        Self { faults: Some(Arc::new(fault)), ..self.clone() }
    }

    /// The same Lease with a hook: each write of this handle, and of handles made from it, calls
    /// `written` right after it was carried out.
    #[must_use]
    pub fn on_write(
        &self,
        written: impl Fn(&str, Option<&StoredLease>) + Send + Sync + 'static,
    ) -> Self {
        Self { written: Some(Arc::new(written)), ..self.clone() }
    }

    /// The Lease as it is, without faults.
    #[must_use]
    pub fn lease(&self) -> Option<StoredLease> {
        self.locked(|server| server.lease.clone())
    }

    /// Deletes the Lease, as an operator would.
    pub fn delete(&self) {
        self.change(|server| {
            if let Some(gone) = server.lease.take() {
                server.revision += 1;
                let version = Version::new(gone.version.uid, server.revision.to_string());
                server
                    .note(LeaseEvent::Deleted(Some(StoredLease { version, record: gone.record })));
            }
        });
    }

    /// Writes a record without any condition, as an operator or a careless program would. Makes the
    /// Lease if it is absent.
    pub fn overwrite(&self, record: Record) {
        self.change(|server| server.put(record));
    }

    /// Makes a new version with the same record, as a change of a label does.
    pub fn touch(&self) {
        self.change(|server| {
            if let Some(lease) = server.lease.clone() {
                server.put(lease.record);
            }
        });
    }

    /// Sets the Lease and the revision back to an earlier state, as a restored backup does.
    pub fn rewind(&self, to: StoredLease) {
        self.change(|server| {
            server.revision = to.version.resource_version.parse().unwrap_or(0);
            server.lease = Some(to);
            server.history.clear();
        });
    }

    fn locked<R>(&self, with: impl FnOnce(&mut Server) -> R) -> R {
        with(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Carries a write out, wakes the watches, then calls the hook without the lock.
    fn change<R>(&self, write: impl FnOnce(&mut Server) -> R) -> R {
        let (result, before, revision, lease) = self.locked(|server| {
            let before = server.revision;
            let result = write(server);
            (result, before, server.revision, server.lease.clone())
        });
        if before == revision {
            return result;
        }
        self.changed.notify_waiters();
        if let Some(written) = &self.written {
            written(&self.client, lease.as_ref());
        }
        result
    }

    fn fault(&self, verb: Verb) -> Fault {
        self.faults.as_ref().map_or(Fault::None, |fault| fault(&self.client, verb))
    }

    /// Makes a call with the fault that the hook chooses.
    async fn call<R: Send + 'static>(
        &self,
        verb: Verb,
        carry_out: impl FnOnce(&Self) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        match self.fault(verb) {
            Fault::None => carry_out(self),
            Fault::Slow { before, after } => {
                tokio::time::sleep(before).await;
                let answer = carry_out(self);
                tokio::time::sleep(after).await;
                answer
            }
            Fault::Lost => std::future::pending().await,
            Fault::AnswerLost => {
                let _ = carry_out(self);
                std::future::pending().await
            }
            Fault::Late(after) => {
                let server = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    let _ = carry_out(&server);
                });
                std::future::pending().await
            }
            Fault::Refused(error) => Err(error),
            Fault::AppliedBut(error) => {
                let _ = carry_out(self);
                Err(error)
            }
        }
    }
}

impl Server {
    /// Makes a new version with this record; `update` does not call it for an unchanged one.
    fn put(&mut self, record: Record) -> StoredLease {
        self.revision += 1;
        let uid = match &self.lease {
            Some(lease) => lease.version.uid.clone(),
            None => {
                self.objects += 1;
                format!("lease-{}", self.objects)
            }
        };
        let lease = StoredLease { version: Version::new(uid, self.revision.to_string()), record };
        self.lease = Some(lease.clone());
        self.note(LeaseEvent::Changed(lease.clone()));
        lease
    }

    fn note(&mut self, event: LeaseEvent) {
        if self.history.len() >= HISTORY {
            self.history.pop_front();
        }
        self.history.push_back((self.revision, Instant::now(), event));
    }

    fn update(&mut self, version: &Version, record: Record) -> Result<StoredLease, StoreError> {
        let Some(lease) = &self.lease else { return Err(StoreError::NotFound) };
        if lease.version != *version {
            return Err(StoreError::Conflict);
        }
        if lease.record == record {
            return Ok(lease.clone());
        }
        Ok(self.put(record))
    }

    /// The first event after a revision; an error if the history no longer reaches back.
    fn after(&self, revision: u64) -> Result<Option<(u64, Instant, LeaseEvent)>, StoreError> {
        match self.history.front() {
            Some((first, ..)) if *first > revision.saturating_add(1) => Err(StoreError::Expired),
            _ => Ok(self.history.iter().find(|(at, ..)| *at > revision).cloned()),
        }
    }
}

#[async_trait]
impl LeaseStore for MemoryLeaseStore {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.call(Verb::Get, |store| Ok(store.lease())).await
    }

    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        let record = record.clone();
        self.call(Verb::Create, move |store| {
            store.change(|server| match server.lease {
                Some(_) => Err(StoreError::Conflict),
                None => Ok(server.put(record)),
            })
        })
        .await
    }

    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        let (version, record) = (version.clone(), record.clone());
        self.call(Verb::Update, move |store| store.change(|server| server.update(&version, record)))
            .await
    }

    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        let from = match from {
            Some(version) => {
                Some(version.resource_version.parse::<u64>().map_err(|_| StoreError::Expired)?)
            }
            None => None,
        };
        // The first event, if any, and the revision from which to go on.
        let (first, after) = self
            .call(Verb::Watch, move |store| {
                store.locked(|server| match from {
                    Some(revision) => server.after(revision).map(|_| (None, revision)),
                    None => Ok((server.lease.clone().map(LeaseEvent::Changed), server.revision)),
                })
            })
            .await?;
        let cursor = Cursor { store: self.clone(), first, after };
        Ok(Box::pin(futures::stream::unfold(cursor, Cursor::next)))
    }
}

struct Cursor {
    store: MemoryLeaseStore,
    first: Option<LeaseEvent>,
    after: u64,
}

impl Cursor {
    async fn next(mut self) -> Option<(Result<LeaseEvent, StoreError>, Self)> {
        if let Some(first) = self.first.take() {
            return Some((Ok(first), self));
        }
        let changed = Arc::clone(&self.store.changed);
        loop {
            let mut woken = std::pin::pin!(changed.notified());
            woken.as_mut().enable();
            let found = self.store.locked(|server| server.after(self.after));
            let (written, event) = match found {
                Err(error) => return Some((Err(error), self)),
                Ok(None) => {
                    woken.await;
                    continue;
                }
                Ok(Some((revision, written, event))) => {
                    self.after = revision;
                    (written, event)
                }
            };
            match self.store.fault(Verb::Event) {
                Fault::Lost | Fault::AnswerLost => {}
                Fault::Slow { before, after } => {
                    arrive(written, before.saturating_add(after)).await;
                    return Some((Ok(event), self));
                }
                Fault::Late(after) => {
                    arrive(written, after).await;
                    return Some((Ok(event), self));
                }
                Fault::Refused(error) | Fault::AppliedBut(error) => {
                    return Some((Err(error), self));
                }
                Fault::None => return Some((Ok(event), self)),
            }
        }
    }
}

/// Waits until an event of `written` has been on its way for `travel`.
async fn arrive(written: Instant, travel: Duration) {
    match written.checked_add(travel) {
        Some(arrival) => tokio::time::sleep_until(arrival).await,
        None => std::future::pending().await,
    }
}

impl fmt::Debug for MemoryLeaseStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLeaseStore").field("client", &self.client).finish_non_exhaustive()
    }
}
