//! Announcements: a store that panics at an announcement.

use std::sync::Arc;

use async_trait::async_trait;
use lease_election::{
    Announced, Announcement, LeaderElector, LeaseEvents, LeaseStore, MemoryLeaseStore, Outcome,
    Record, StoreError, StoredLease, TokioClock, Version,
};

use crate::cluster::fast;

/// Panics at this announcement.
struct Panicking(MemoryLeaseStore, Announced);

#[async_trait]
impl LeaseStore for Panicking {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.0.get().await
    }
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.0.create(record).await
    }
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        self.0.update(version, record).await
    }
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.0.watch(from).await
    }
    fn announce(&self, announcement: &Announcement) {
        assert_ne!(announcement.what, self.1, "what is told is for people, and costs no lease");
    }
}

#[tokio::test(start_paused = true)]
async fn an_announcement_that_panics_costs_neither_the_term_nor_the_release() {
    for what in [Announced::BecameLeader, Announced::StoppedLeading] {
        let store = MemoryLeaseStore::new();
        let panicking = Arc::new(Panicking(store.clone(), what));
        let elector =
            LeaderElector::with_clock(panicking, fast("a").build().unwrap(), TokioClock::new(), 1);
        let outcome = elector.run(async |leadership| leadership.is_valid()).await;
        assert_eq!(outcome, Outcome::Finished(true), "{what:?}");
        assert!(store.lease().unwrap().record.is_free(), "{what:?}: it was not given back");
    }
}
