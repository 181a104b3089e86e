//! Kept marks: client-go's annotation locks keep our mark beside their record; a half written so is
//! another holder's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lease_election::{
    ConfigBuilder, Fault, LeaderElector, LeaseEvents, LeaseStore, MemoryLeaseStore, MultiStore,
    Record, StoreError, StoredLease, TokioClock, Verb, Version,
};

use crate::cluster::{Replica, fast, sleep_ms};
use crate::migration::{Knows, Stores, leads, led_by};

/// Writes the old half as a candidate of client-go: its own record, in this second, beside the mark
/// that it finds.
fn go_writes(stores: &Stores, second: i64) {
    let there = stores.old.lease().expect("the old half is there");
    let renew_time = jiff::Timestamp::from_second(1_767_225_600 + second).ok();
    stores.old.overwrite(Record { renew_time, write_id: there.record.write_id, ..led_by("go") });
}

#[tokio::test(start_paused = true)]
async fn v01_a_half_that_go_took_under_our_mark_is_not_taken_for_ours() {
    for led_before in [true, false] {
        let mut stores = Stores::new();
        let half = Arc::new(AtomicBool::new(!led_before));
        let (cuts, dead) = (Arc::clone(&half), Arc::clone(&stores.dead));
        stores.new = stores.new.with_faults(move |client, verb| {
            let is_cut = client == "a" && verb == Verb::Update && cuts.load(Ordering::SeqCst);
            if is_cut || dead.lock().unwrap().contains(client) { Fault::Lost } else { Fault::None }
        });
        stores.old.overwrite(Record::default());
        stores.new.overwrite(Record::default());
        let a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
        if led_before {
            a.leads().await;
            sleep_ms(500).await;
            half.store(true, Ordering::SeqCst);
            // Only the first half of a renewal is made.
            sleep_ms(600).await;
        } else {
            while stores.holders().0 != "a" {
                sleep_ms(1).await;
            }
        }
        stores.dead.lock().unwrap().insert("a".into());
        let elector = a.elector.clone();
        // client-go waits for the five seconds of the record.
        sleep_ms(6000).await;
        assert!(!leads(&a));
        go_writes(&stores, 0);
        half.store(false, Ordering::SeqCst);
        stores.dead.lock().unwrap().clear();
        let again = led_before.then(|| Replica::start(elector, Duration::ZERO));
        for second in 1..30 {
            for _ in 0..100 {
                sleep_ms(10).await;
                assert_eq!(
                    stores.holders().0,
                    "go",
                    "led before {led_before}: robbed in second {second}"
                );
                assert!(!leads(&a) && !again.as_ref().is_some_and(leads), "second {second}");
            }
            go_writes(&stores, second);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn v01_a_stop_does_not_free_a_half_that_go_took_under_our_mark() {
    let mut stores = Stores::new();
    stores.new = stores.new.with_faults(|client, verb| {
        let is_refused = client == "a" && verb == Verb::Create;
        if is_refused { Fault::Refused(StoreError::unknown("500")) } else { Fault::None }
    });
    let mut a = Replica::start(stores.elector(Knows::Both, "a", 1), Duration::ZERO);
    while stores.holders().0 != "a" {
        sleep_ms(1).await;
    }
    // client-go takes the half once it stood unchanged for the record's duration.
    let (mut seen, mut unchanged) = (stores.old.lease().unwrap().version, 0);
    while unchanged < 5200 {
        sleep_ms(10).await;
        unchanged += 10;
        let version = stores.old.lease().unwrap().version;
        if version != seen {
            (seen, unchanged) = (version, 0);
        }
    }
    go_writes(&stores, 0);
    sleep_ms(1000).await;
    go_writes(&stores, 1);
    a.elector.stop_handle().stop();
    let outcome = (&mut a.run).await.unwrap();
    assert_eq!(stores.holders().0, "go", "{outcome:?}: the stop gave back what is another's");
}

/// A store that refuses each update after a delay.
struct Refuses {
    store: MemoryLeaseStore,
    after: u64,
    error: StoreError,
}

#[async_trait]
impl LeaseStore for Refuses {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.store.get().await
    }

    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.store.create(record).await
    }

    async fn update(&self, _: &Version, _: &Record) -> Result<StoredLease, StoreError> {
        sleep_ms(self.after).await;
        Err(self.error.clone())
    }

    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.store.watch(from).await
    }
}

/// The candidate writes the first half, and the second is refused: roles for the new store are
/// missing, or a webhook is broken.
#[tokio::test(start_paused = true)]
async fn who_may_write_one_half_only_does_not_keep_the_others_out() {
    let forbidden = StoreError::Rejected { code: 403, message: "no".into() };
    for error in [forbidden, StoreError::unknown("500")] {
        // The refusal comes before the event of the first half, and after it.
        for after in [0, 20] {
            // With ranks, the elector that may not write goes first.
            for (knows, rank) in
                [(Knows::Both, None::<u8>), (Knows::Old, None), (Knows::Both, Some(0))]
            {
                let stores = Stores::new();
                stores.old.overwrite(Record::default());
                stores.new.overwrite(Record::default());
                let ranked = |config: ConfigBuilder, place| match rank {
                    Some(first) => config.rank(first + place),
                    None => config,
                };
                let config = ranked(fast("a"), 0).build().unwrap();
                let refuses =
                    Refuses { store: stores.new.client("a"), after, error: error.clone() };
                let both = MultiStore::new(stores.old.client("a"), refuses, &config);
                let a = LeaderElector::with_clock(both, config, TokioClock::new(), 1);
                let _a = Replica::start(a, Duration::ZERO);
                sleep_ms(100).await;
                let other = stores.elector_of(knows, ranked(fast("b"), 1), 2);
                let other = Replica::start(other, Duration::ZERO);
                for second in 0.. {
                    if leads(&other) {
                        break;
                    }
                    let at =
                        format!("{error} after {after} ms, rank {rank:?}: {:?}", stores.holders());
                    assert!(second < 12, "nobody leads for two leases: {at}");
                    sleep_ms(1000).await;
                }
            }
        }
    }
}
