//! Altered: a server that alters records, as admission may: no elector leads on it, and each
//! reports why.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use lease_election::{
    Ending, LeaderElector, LeaseEvents, LeaseStore, Loss, MemoryLeaseStore, Outcome, Record,
    StoreError, StoredLease, TokioClock, Version,
};

use crate::cluster::{Replica, fast, sleep_ms};

type Change = fn(&mut Record);

/// A store that alters records before it writes them, while `alters` is set.
#[derive(Clone)]
struct Altering {
    store: MemoryLeaseStore,
    change: Change,
    alters: Arc<AtomicBool>,
    writes: Arc<AtomicU32>,
}

impl Altering {
    fn new(change: Change) -> Self {
        let (alters, writes) = (Arc::new(AtomicBool::new(true)), Arc::default());
        Self { store: MemoryLeaseStore::new(), change, alters, writes }
    }

    fn altered(&self, record: &Record) -> Record {
        self.writes.fetch_add(1, Ordering::SeqCst);
        let mut record = record.clone();
        if self.alters.load(Ordering::SeqCst) {
            (self.change)(&mut record);
        }
        record
    }

    fn elector(&self) -> LeaderElector {
        LeaderElector::with_clock(self.clone(), fast("a").build().unwrap(), TokioClock::new(), 1)
    }
}

#[async_trait]
impl LeaseStore for Altering {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.store.get().await
    }
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.store.create(&self.altered(record)).await
    }
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        self.store.update(version, &self.altered(record)).await
    }
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.store.watch(from).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_alters_records_is_reported_and_asked_slowly() {
    let changes: [(Change, &str); 5] = [
        (|record| record.renew_time = Some(Timestamp::UNIX_EPOCH), "renewTime"),
        (|record| record.holder = format!("prefix-{}", record.holder), "holderIdentity"),
        (|record| record.holder = String::new(), "holderIdentity"),
        (|record| record.lease_duration_seconds = 1, "leaseDurationSeconds"),
        (|record| record.write_id = None, "the annotation of the write"),
    ];
    for (change, field) in changes {
        let store = Altering::new(change);
        let a = Replica::start(store.elector(), Duration::ZERO);
        sleep_ms(60_000).await;
        assert!(a.terms.lock().unwrap().is_empty(), "{field}: it led");
        assert_eq!(a.elector.status().blocked, Some(StoreError::Altered { field }));
        let writes = store.writes.load(Ordering::SeqCst);
        assert!((2..=31).contains(&writes), "{field}: {writes} writes in a minute");
        store.alters.store(false, Ordering::SeqCst);
        a.leads().await;
        assert_eq!(a.elector.status().blocked, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_altered_ends_the_term_and_is_reported() {
    let store = Altering::new(|record| record.lease_duration_seconds = 1);
    store.alters.store(false, Ordering::SeqCst);
    let mut a = Replica::start(store.elector(), Duration::ZERO);
    a.leads().await;
    store.alters.store(true, Ordering::SeqCst);
    assert_eq!((&mut a.run).await.unwrap(), Outcome::Lost(Ending::Lost(Loss::ForeignWrite)));
    let field = "leaseDurationSeconds";
    assert_eq!(a.elector.status().blocked, Some(StoreError::Altered { field }));
}
