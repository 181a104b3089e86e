//! Telling: a store that keeps its announcements.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use lease_election::{
    Announced, Announcement, LeaseEvents, LeaseStore, MemoryLeaseStore, Record, StoreError,
    StoredLease, Version,
};

/// A store that keeps each announcement, with the state of the lease at that moment.
#[derive(Clone)]
pub(crate) struct Telling {
    pub(crate) store: MemoryLeaseStore,
    /// The announcement, its text, and whether the lease was held.
    pub(crate) told: Arc<Mutex<Vec<(Announced, String, bool)>>>,
}

impl Telling {
    pub(crate) fn of(store: MemoryLeaseStore) -> Self {
        Self { store, told: Arc::default() }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.told.lock().unwrap().iter().map(|(_, text, _)| text.clone()).collect()
    }
}

#[async_trait]
impl LeaseStore for Telling {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.store.get().await
    }
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.store.create(record).await
    }
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        self.store.update(version, record).await
    }
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.store.watch(from).await
    }
    fn announce(&self, announcement: &Announcement) {
        let is_held = self.store.lease().is_some_and(|lease| !lease.record.is_free());
        self.told.lock().unwrap().push((announcement.what, announcement.to_string(), is_held));
    }
}
