//! Hand-over: the time without a leader, after a release or a crash, with or without a watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use lease_election::{
    Config, Ending, Fault, LeaderElector, LeaseEvents, LeaseStore, MemoryLeaseStore, Outcome,
    Record, StoreError, StoredLease, TokioClock, Verb, Version,
};

use crate::cluster::{Cluster, LEASE, Replica, fast, forbidden, sleep_ms};

const MS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn after_a_release_the_next_one_leads_within_one_event_and_one_write() {
    for phase in [0, 137, 990] {
        let cluster = Cluster::new();
        // An event takes 8 ms, a write 4 ms.
        cluster.set("b", &[Verb::Event], Fault::Slow { before: 8 * MS, after: Duration::ZERO });
        cluster.set("b", &[Verb::Update], Fault::Slow { before: 2 * MS, after: 2 * MS });
        let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        a.leads().await;
        let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
        sleep_ms(3000 + phase).await;

        let asked = tokio::time::Instant::now();
        a.elector.stop_handle().stop();
        let took = b.leads().await - asked;
        assert!(took <= 13 * MS, "took {took:?}");
        assert_eq!((&mut a.run).await.unwrap(), Outcome::Finished(Ending::StopRequested));
        assert!(b.fence() > a.last().leadership.fence());
        assert!(!a.last().leadership.is_valid());
        assert_eq!(a.elector.stats().releases, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn one_fault_does_not_cost_a_release_half_a_second() {
    for (verb, fault) in [
        (Verb::Update, Fault::Refused(StoreError::unknown("500"))),
        (Verb::Update, Fault::AppliedBut(StoreError::unknown("connection reset"))),
        // The watch breaks at the event of the release.
        (Verb::Event, Fault::Refused(StoreError::unknown("cut"))),
    ] {
        let armed = Arc::new(AtomicBool::new(false));
        let trap = Arc::clone(&armed);
        let once = fault.clone();
        let store = MemoryLeaseStore::new().with_faults(move |client, called| {
            let hit = client == "b" && called == verb && trap.swap(false, Ordering::SeqCst);
            if hit { once.clone() } else { Fault::None }
        });
        let elector = |identity: &str, seed| {
            let config = fast(identity).build().unwrap();
            LeaderElector::with_clock(store.client(identity), config, TokioClock::new(), seed)
        };
        let a = Replica::start(elector("a", 1), Duration::ZERO);
        a.leads().await;
        let b = Replica::start(elector("b", 2), Duration::ZERO);
        sleep_ms(3000).await;
        armed.store(true, Ordering::SeqCst);
        let asked = tokio::time::Instant::now();
        a.elector.stop_handle().stop();
        let took = b.leads().await - asked;
        assert!(!armed.load(Ordering::SeqCst), "{fault:?} was met");
        assert!(took <= 100 * MS, "{fault:?}: took {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_at_once_again_and_again_is_opened_ever_more_slowly() {
    let cluster = Cluster::new();
    cluster.set("b", &[Verb::Event], Fault::Refused(StoreError::unknown("cut")));
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(60_000).await;
    let opened = cluster.requests_of("b", Verb::Watch);
    assert!(opened <= 75, "{opened} watches in a minute, one for each renewal and a few more");
    drop((a, b));
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_the_next_one_leads_within_a_lease_and_the_jitter() {
    for phase in [1, 250, 999] {
        let cluster = Cluster::new();
        let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        a.leads().await;
        let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
        sleep_ms(3000 + phase).await;
        cluster.cut("a");
        let cut = tokio::time::Instant::now();
        let took = b.leads().await - cut;
        assert!(took <= LEASE + 202 * MS, "took {took:?}");
        assert!(took >= LEASE - 1001 * MS, "took {took:?}");
        assert!(!a.last().leadership.is_valid());
        let (told, ending) = a.last().told.unwrap();
        assert!(matches!(ending, Ending::Lost(_)));
        assert!(told < b.last().began);
        a.run.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_without_permission_to_watch_polls() {
    let cluster = Cluster::new();
    cluster.set("b", &[Verb::Watch], forbidden());
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(10_000).await;
    assert!(!b.elector.status().watching);
    assert!(b.elector.status().blocked.is_none_or(|blocked| blocked.to_string().contains("403")));
    let polls = cluster.requests_of("b", Verb::Get);
    assert!((6..=14).contains(&polls), "{polls} reads in 10 s at an interval of 1 to 1.5 s");
    let asked = tokio::time::Instant::now();
    a.elector.stop_handle().stop();
    let took = b.leads().await - asked;
    assert!(took <= 1502 * MS, "took {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_noticed_after_three_retry_periods() {
    let cluster = Cluster::new();
    cluster.set("b", &[Verb::Event], Fault::Lost);
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(20_000).await;
    assert!(b.terms.lock().unwrap().is_empty(), "it saw the renewals by reading");
    let reads = cluster.requests_of("b", Verb::Get);
    assert!((5..=8).contains(&reads), "{reads}");
    assert!(b.elector.stats().watches > 1, "a watch that is behind is opened again");
    a.run.abort();
}

#[tokio::test(start_paused = true)]
async fn a_watching_standby_asks_next_to_nothing() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(60_000).await;
    assert_eq!(cluster.requests_of("b", Verb::Get), 1);
    assert_eq!(cluster.requests_of("b", Verb::Watch), 1);
    assert_eq!(cluster.requests_of("b", Verb::Update), 0);
    let renewals = cluster.requests_of("a", Verb::Update);
    assert!((58..=61).contains(&renewals), "{renewals}");
    assert_eq!(a.elector.stats().slow_path, 0);
    drop((a, b));
}

#[tokio::test(start_paused = true)]
async fn fifty_standbys_do_not_storm_a_released_lease() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let standbys: Vec<Replica> = (0..50)
        .map(|n| Replica::start(cluster.elector(fast(&format!("s{n}"))), Duration::ZERO))
        .collect();
    sleep_ms(3000).await;
    cluster.requests.lock().unwrap().clear();
    a.elector.stop_handle().stop();
    sleep_ms(1000).await;
    assert_eq!(standbys.iter().filter(|s| s.elector.is_leader()).count(), 1);
    let requests = cluster.requests.lock().unwrap();
    let calls: u64 =
        requests.iter().filter(|((_, verb), _)| *verb != Verb::Event).map(|(_, n)| n).sum();
    assert!(calls <= 110, "{calls} requests: each standby tries once and reads once");
}

#[tokio::test(start_paused = true)]
async fn observers_are_told_each_leader_in_order() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    let mut seen = a.elector.observe();
    assert_eq!(seen.next().await, Some(None));
    assert_eq!(seen.next().await, Some(Some("a".into())));
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(2000).await;
    assert_eq!(b.elector.leader(), Some("a".into()));
    assert!(!b.elector.is_leader() && a.elector.is_leader());
    a.elector.stop_handle().stop();
    assert_eq!(seen.next().await, Some(None));
    b.leads().await;
    assert_eq!(b.elector.leader(), Some("b".into()));
    assert!(b.elector.status().leading);
}

/// A server that remembers nothing: it refuses to watch from any version, as too old.
#[derive(Clone)]
struct Forgetful {
    store: MemoryLeaseStore,
    refused: Arc<AtomicU32>,
}

#[async_trait]
impl LeaseStore for Forgetful {
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
        if from.is_some() {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(StoreError::Expired);
        }
        self.store.watch(None).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_old_to_watch_from_is_not_watched_from_again() {
    let cluster = Cluster::new();
    // The leader is silent for minutes.
    let config =
        || Config::builder("ns", "lease").lease_duration(600_000 * MS).retry_period(240_000 * MS);
    let a = Replica::start(cluster.elector(config().identity("a")), Duration::ZERO);
    a.leads().await;
    let store = Forgetful { store: cluster.store.client("b"), refused: Arc::default() };
    let refused = Arc::clone(&store.refused);
    let b = LeaderElector::with_clock(
        store,
        config().identity("b").build().unwrap(),
        TokioClock::new(),
        9,
    );
    let b = Replica::start(b, Duration::ZERO);
    sleep_ms(200_000).await;
    assert!(b.elector.status().watching);
    assert_eq!(refused.load(Ordering::SeqCst), 1);
    assert!(cluster.requests_of("b", Verb::Get) <= 3, "and it reads no more than twice more");
    let asked = tokio::time::Instant::now();
    a.elector.stop_handle().stop();
    assert!(b.leads().await - asked <= 5 * MS);
}
