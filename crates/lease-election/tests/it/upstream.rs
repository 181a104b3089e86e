//! Upstream: client-go's own test cases by name, as they are or by our rule and the difference.
//!
//! | upstream | here |
//! | --- | --- |
//! | `leaderelection_test.go` | below; the table of `testTryAcquireOrRenew` also clock by clock in `src/decide/tests.rs` and `src/candidate/tests.rs` (`upstream_…`) |
//! | the cases of `MultiLock` (removed there) | below |
//! | `leaselock_test.go` | below, and `TestLeaseConversion` field by field in `src/kube_store/tests.rs` |
//! | `healthzadaptor_test.go`: `TestLeaderElectionHealthChecker` | all five cases in `src/liveness/tests.rs` |
//! | `leasecandidate_test.go`: `TestLeaseCandidateCreation`, `TestLeaseCandidateAck` | `lease_candidate_creation`, `lease_candidate_ack` in `upstream_candidates.rs` |
//! | `TestTryCoordinatedRenew` | `src/decide/coordinated/tests.rs` and `src/candidate/tests/coordinated.rs` (`upstream_…`), beside those named below |
#![expect(clippy::disallowed_names, reason = "upstream's candidate is called so")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use lease_election::{
    Config, ConfigBuilder, Ending, Fault, LeaderElector, MemoryLeaseStore, MultiStore, Outcome,
    Record, StoreError, TokioClock, Verb,
};
use tokio::time::Instant;

use crate::cluster::{Cluster, Replica, sleep_ms};
use crate::telling::Telling;

/// Upstream's candidate: `baz`, with leases of 10 s.
fn baz() -> ConfigBuilder {
    Config::builder("foo", "bar")
        .identity("baz")
        .lease_duration(Duration::from_secs(10))
        .request_timeout(Duration::from_secs(2))
}

/// Another holder's record.
fn led_by(holder: &str, seconds: i32) -> Record {
    let time = "2026-01-01T00:00:00Z".parse().ok();
    Record {
        holder: holder.into(),
        lease_duration_seconds: seconds,
        acquire_time: time,
        renew_time: time,
        ..Record::default()
    }
}

fn calls(cluster: &Cluster) -> (u64, u64, u64) {
    let of = |verb| cluster.requests_of("baz", verb);
    (of(Verb::Get), of(Verb::Create), of(Verb::Update))
}

/// Runs `baz` on a lease with this record, for this long.
async fn campaign(found: Option<Record>, time_ms: u64) -> (Cluster, Replica) {
    let cluster = Cluster::new();
    if let Some(record) = found {
        cluster.store.overwrite(record);
    }
    let replica = Replica::start(cluster.elector(baz()), Duration::ZERO);
    sleep_ms(time_ms).await;
    (cluster, replica)
}

fn transitions(cluster: &Cluster) -> i32 {
    cluster.store.lease().unwrap().record.leader_transitions
}

/// testTryAcquireOrRenew: "acquire from no object".
#[tokio::test(start_paused = true)]
async fn try_acquire_or_renew_acquire_from_no_object() {
    let (cluster, baz) = campaign(None, 100).await;
    assert!(baz.elector.is_leader());
    assert_eq!((cluster.holder(), transitions(&cluster)), ("baz".into(), 0));
    assert_eq!(calls(&cluster), (1, 1, 0));
    assert_eq!(baz.elector.leader().as_deref(), Some("baz"));
}

/// testTryAcquireOrRenew: "acquire from object without annotations".
#[tokio::test(start_paused = true)]
async fn try_acquire_or_renew_acquire_from_object_without_annotations() {
    let (cluster, baz) = campaign(Some(Record::default()), 100).await;
    assert!(baz.elector.is_leader());
    assert_eq!((cluster.holder(), transitions(&cluster)), ("baz".into(), 1));
    assert_eq!(calls(&cluster), (1, 0, 1));
}

/// testTryAcquireOrRenew: "acquire from led object with the lease duration seconds".
#[tokio::test(start_paused = true)]
async fn try_acquire_or_renew_acquire_from_led_object_with_the_lease_duration_seconds() {
    let (cluster, baz) = campaign(Some(led_by("bing", 3)), 2900).await;
    assert!(!baz.elector.is_leader());
    assert_eq!(baz.elector.leader().as_deref(), Some("bing"));
    // It waits for the record's 3 s and not its own 10, and for our jitter.
    sleep_ms(350).await;
    assert!(baz.elector.is_leader());
    assert_eq!((cluster.holder(), transitions(&cluster)), ("baz".into(), 1));
}

/// testTryAcquireOrRenew: "acquire from unled object".
#[tokio::test(start_paused = true)]
async fn try_acquire_or_renew_acquire_from_unled_object() {
    let (cluster, baz) = campaign(Some(led_by("", 0)), 100).await;
    assert!(baz.elector.is_leader());
    assert_eq!(transitions(&cluster), 1);
}

/// testTryAcquireOrRenew: "acquire from led, unacked object". We differ in when the lease expires:
/// by our own first sight of the record, never by its times.
#[tokio::test(start_paused = true)]
async fn try_acquire_or_renew_acquire_from_led_unacked_object() {
    let (cluster, baz) = campaign(Some(led_by("bing", 10)), 9900).await;
    assert!(!baz.elector.is_leader());
    sleep_ms(350).await;
    assert!(baz.elector.is_leader());
    assert_eq!((transitions(&cluster), calls(&cluster).2), (1, 1));
}

/// testTryAcquireOrRenew: "acquire from empty led, acked object".
#[tokio::test(start_paused = true)]
async fn try_acquire_or_renew_acquire_from_empty_led_acked_object() {
    let future = Record { renew_time: "2999-01-01T00:00:00Z".parse().ok(), ..led_by("", 3600) };
    let (cluster, baz) = campaign(Some(future), 100).await;
    assert!(baz.elector.is_leader());
    assert_eq!(calls(&cluster), (1, 0, 1));
}

/// testTryAcquireOrRenew: "don't acquire from led, acked object"; and TestTryCoordinatedRenew's
/// case of that name, without coordination.
#[tokio::test(start_paused = true)]
async fn try_acquire_or_renew_dont_acquire_from_led_acked_object() {
    let (cluster, baz) = campaign(Some(led_by("bing", 3600)), 1000).await;
    assert!(!baz.elector.is_leader());
    assert_eq!(calls(&cluster), (1, 0, 0));
    assert_eq!(baz.elector.leader().as_deref(), Some("bing"));
    assert_eq!(cluster.store.lease().unwrap().record, led_by("bing", 3600));
}

/// testTryAcquireOrRenew: "renew already acquired object"; and TestTryCoordinatedRenew's case of
/// that name. We differ in one call less: a leader that has its own last version renews without a
/// read (upstream's fast path, which came later).
#[tokio::test(start_paused = true)]
async fn try_acquire_or_renew_renew_already_acquired_object() {
    let (cluster, baz) = campaign(None, 100).await;
    let acquired = cluster.store.lease().unwrap();
    let before = calls(&cluster);
    sleep_ms(2000).await;
    assert_eq!(calls(&cluster), (before.0, before.1, before.2 + 1));
    let renewed = cluster.store.lease().unwrap();
    assert!(baz.elector.is_leader());
    assert_eq!(renewed.record.acquire_time, acquired.record.acquire_time);
    assert!(renewed.record.renew_time > acquired.record.renew_time);
    assert_eq!((renewed.record.leader_transitions, renewed.version.uid), (0, acquired.version.uid));
}

/// TestReleaseLeaseLeases: "release acquired lock from no object".
#[tokio::test(start_paused = true)]
async fn release_lease_release_acquired_lock_from_no_object() {
    let (cluster, mut baz) = campaign(None, 100).await;
    let mut leaders = baz.elector.observe();
    assert_eq!(leaders.next().await, Some(Some("baz".into())));
    baz.elector.stop_handle().stop();
    assert_eq!((&mut baz.run).await.unwrap(), Outcome::Finished(Ending::StopRequested));
    let released = cluster.store.lease().unwrap().record;
    assert_eq!((released.holder.as_str(), released.leader_transitions), ("", 0));
    assert_eq!(released.lease_duration_seconds, 1, "the API refuses zero");
    assert_eq!(leaders.next().await, Some(None));
}

/// TestReleaseMethodCallsGet. We differ: a release is one write, conditional on our own last
/// version. It asks for no newer version, which could be another holder's.
#[tokio::test(start_paused = true)]
async fn release_method_calls_no_get() {
    let (cluster, mut baz) = campaign(None, 100).await;
    let before = calls(&cluster);
    baz.elector.stop_handle().stop();
    (&mut baz.run).await.unwrap();
    assert_eq!(calls(&cluster), (before.0, before.1, before.2 + 1));
    assert_eq!(cluster.holder(), "");
}

/// Logs every call of one client in order, of which some meet a fault.
fn scripted(
    faults: impl Fn(usize, Verb) -> Fault + Send + Sync + 'static,
) -> (MemoryLeaseStore, Arc<Mutex<Vec<Verb>>>) {
    let log: Arc<Mutex<Vec<Verb>>> = Arc::default();
    let calls = Arc::clone(&log);
    let store = MemoryLeaseStore::new().with_faults(move |_, verb| {
        if matches!(verb, Verb::Watch | Verb::Event) {
            return Fault::None;
        }
        let mut calls = calls.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        calls.push(verb);
        faults(calls.len(), verb)
    });
    (store, log)
}

fn elector(store: MemoryLeaseStore, config: ConfigBuilder) -> LeaderElector {
    LeaderElector::with_clock(store, config.build().unwrap(), TokioClock::new(), 1)
}

/// TestReleaseRetriesOnConflict.
#[tokio::test(start_paused = true)]
async fn release_retries_on_conflict() {
    let (store, log) = scripted(|n, _| match n {
        3 => Fault::Refused(StoreError::Conflict),
        _ => Fault::None,
    });
    let mut baz = Replica::start(elector(store.clone(), baz()), Duration::ZERO);
    baz.leads().await;
    baz.elector.stop_handle().stop();
    assert!(matches!((&mut baz.run).await.unwrap(), Outcome::Finished(_)));
    assert_eq!(store.lease().unwrap().record.holder, "");
    // After a conflict it reads the Lease again.
    assert_eq!(
        *log.lock().unwrap(),
        [Verb::Get, Verb::Create, Verb::Update, Verb::Get, Verb::Update]
    );
}

/// TestReleaseOnCancellation_Leases: "release acquired lock on cancellation of update". Upstream's
/// leases, deadlines and periods are 15, 2 and 1 s.
#[tokio::test(start_paused = true)]
async fn release_on_cancellation_of_update() {
    let (store, log) = scripted(|n, _| if n == 3 { Fault::Lost } else { Fault::None });
    let telling = Telling::of(store.clone());
    let config = Config::builder("foo", "bar")
        .identity("baz")
        .retry_period(Duration::from_secs(1))
        .request_timeout(Duration::from_secs(2))
        .build()
        .unwrap();
    let elector = LeaderElector::with_clock(telling.clone(), config, TokioClock::new(), 1);
    let mut baz = Replica::start(elector, Duration::ZERO);
    baz.leads().await;
    sleep_ms(1100).await;
    assert_eq!(
        *log.lock().unwrap(),
        [Verb::Get, Verb::Create, Verb::Update],
        "the renewal is under way"
    );
    let stopped = Instant::now();
    baz.elector.stop_handle().stop();
    assert!(matches!((&mut baz.run).await.unwrap(), Outcome::Finished(_)));
    // We differ: the elector waits for the renewal until its time-out, because the release is
    // conditional on its result.
    assert!(stopped.elapsed() <= Duration::from_millis(2100));
    assert_eq!(log.lock().unwrap().last(), Some(&Verb::Update));
    assert_eq!(store.lease().unwrap().record.holder, "");
    assert_eq!(telling.texts(), ["baz became leader", "baz stopped leading"]);
}

/// TestReleaseOnCancellation_Leases: "release acquired lock on cancellation of get". We differ:
/// neither a renewal nor a release reads, so unanswered reads delay neither.
#[tokio::test(start_paused = true)]
async fn release_on_cancellation_of_get() {
    let (store, _) =
        scripted(|n, verb| if verb == Verb::Get && n > 1 { Fault::Lost } else { Fault::None });
    let telling = Telling::of(store.clone());
    let elector =
        LeaderElector::with_clock(telling.clone(), baz().build().unwrap(), TokioClock::new(), 1);
    let mut baz = Replica::start(elector, Duration::ZERO);
    baz.leads().await;
    sleep_ms(5000).await;
    let stopped = Instant::now();
    baz.elector.stop_handle().stop();
    assert!(matches!((&mut baz.run).await.unwrap(), Outcome::Finished(_)));
    assert!(stopped.elapsed() <= Duration::from_millis(2));
    assert_eq!(store.lease().unwrap().record.holder, "");
    assert_eq!(telling.texts(), ["baz became leader", "baz stopped leading"]);
}

/// TestLeaderElectionConfigValidation: "valid config", "empty identity", and the order of the
/// durations. We differ: `build` refuses configurations that upstream accepts and that cannot be
/// safe.
#[test]
fn leader_election_config_validation() {
    let config = |lease, interval, timeout| {
        Config::builder("foo", "bar")
            .identity("id")
            .lease_duration(Duration::from_secs(lease))
            .retry_period(Duration::from_secs(interval))
            .request_timeout(Duration::from_secs(timeout))
    };
    assert!(config(15, 1, 2).build().is_ok());
    assert_eq!(config(15, 1, 2).identity("").build().unwrap_err().field, "identity");
    // RetryPeriod and RenewDeadline of 10 and 14 s on a lease of 15 s: upstream lets that act for
    // 24 s.
    assert!(config(15, 10, 14).build().is_err());
    for zero in [config(0, 1, 2), config(15, 0, 2), config(15, 1, 0)] {
        assert!(zero.build().is_err());
    }
}

/// TestFastPathLeaderElection: "Exercise fast path after lock acquired".
#[tokio::test(start_paused = true)]
async fn fast_path_after_lock_acquired() {
    let (store, log) = scripted(|_, _| Fault::None);
    let baz = Replica::start(elector(store, baz()), Duration::ZERO);
    baz.leads().await;
    sleep_ms(4100).await;
    assert_eq!(*log.lock().unwrap(), [Verb::Get, Verb::Create, Verb::Update, Verb::Update]);
    assert_eq!(baz.elector.stats().slow_path, 0);
}

/// TestFastPathLeaderElection: "Fallback to slow path after fast path fails".
#[tokio::test(start_paused = true)]
async fn fallback_to_slow_path_after_fast_path_fails() {
    let (store, log) =
        scripted(|n, _| if n == 4 { Fault::Refused(StoreError::Conflict) } else { Fault::None });
    let baz = Replica::start(elector(store, baz()), Duration::ZERO);
    baz.leads().await;
    sleep_ms(7200).await;
    let expected = [
        Verb::Get,
        Verb::Create,
        Verb::Update,
        Verb::Update,
        Verb::Get,
        Verb::Update,
        Verb::Update,
    ];
    assert_eq!(log.lock().unwrap()[..7], expected);
    assert_eq!((baz.elector.stats().slow_path, baz.elector.stats().terms), (1, 1));
}

/// TestCheckMethodRace: Check() beside Run, from other threads.
#[tokio::test(start_paused = true)]
async fn check_method_race() {
    let (store, _) = scripted(|_, _| Fault::None);
    let elector = elector(store, baz());
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let checkers: Vec<_> = (0..2)
        .map(|_| {
            let (liveness, elector, done) =
                (elector.liveness(), elector.clone(), Arc::clone(&done));
            std::thread::spawn(move || {
                let mut checks = 0u64;
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    liveness.check().unwrap();
                    let _ =
                        (elector.is_leader(), elector.leader(), elector.status(), elector.stats());
                    checks += 1;
                }
                checks
            })
        })
        .collect();
    let baz = Replica::start(elector, Duration::ZERO);
    baz.leads().await;
    sleep_ms(60_000).await;
    baz.elector.stop_handle().stop();
    baz.run.await.unwrap();
    done.store(true, std::sync::atomic::Ordering::SeqCst);
    for checker in checkers {
        checker.join().unwrap();
    }
}

/// The first records of a multi-lock's two halves; `None` if there is no such object.
struct Multi {
    old: MemoryLeaseStore,
    new: MemoryLeaseStore,
    baz: Replica,
}

impl Multi {
    async fn campaign(primary: Option<Record>, secondary: Option<Record>, time_ms: u64) -> Self {
        let (old, new) = (MemoryLeaseStore::new(), MemoryLeaseStore::new());
        for (store, record) in [(&old, primary), (&new, secondary)] {
            if let Some(record) = record {
                store.overwrite(record);
            }
        }
        let config = baz().build().unwrap();
        let both = MultiStore::new(old.client("baz"), new.client("baz"), &config);
        let elector = LeaderElector::with_clock(both, config, TokioClock::new(), 1);
        let baz = Replica::start(elector, Duration::ZERO);
        sleep_ms(time_ms).await;
        Self { old, new, baz }
    }

    fn holders(&self) -> (String, String) {
        let holder = |store: &MemoryLeaseStore| {
            store.lease().map(|lease| lease.record.holder).unwrap_or_default()
        };
        (holder(&self.old), holder(&self.new))
    }

    #[track_caller]
    fn leads_both(&self) {
        assert!(self.baz.elector.is_leader());
        assert_eq!(self.holders(), ("baz".into(), "baz".into()));
    }
}

/// MultiLock: "acquire from no object".
#[tokio::test(start_paused = true)]
async fn multi_lock_acquire_from_no_object() {
    Multi::campaign(None, None, 100).await.leads_both();
}

/// MultiLock: "acquire from unled old object": the secondary is missing and is created.
#[tokio::test(start_paused = true)]
async fn multi_lock_acquire_from_unled_old_object() {
    Multi::campaign(Some(Record::default()), None, 100).await.leads_both();
}

/// MultiLock: "acquire from unled transition object".
#[tokio::test(start_paused = true)]
async fn multi_lock_acquire_from_unled_transition_object() {
    Multi::campaign(Some(Record::default()), Some(Record::default()), 100).await.leads_both();
}

/// MultiLock: "acquire from led, unack old object".
#[tokio::test(start_paused = true)]
async fn multi_lock_acquire_from_led_unack_old_object() {
    let multi = Multi::campaign(Some(led_by("bing", 10)), None, 9900).await;
    assert!(!multi.baz.elector.is_leader());
    sleep_ms(350).await;
    multi.leads_both();
}

/// MultiLock: "acquire from led, unack transition object".
#[tokio::test(start_paused = true)]
async fn multi_lock_acquire_from_led_unack_transition_object() {
    let multi = Multi::campaign(Some(led_by("bing", 10)), Some(led_by("bing", 10)), 9900).await;
    assert!(!multi.baz.elector.is_leader());
    sleep_ms(350).await;
    multi.leads_both();
}

/// MultiLock: "acquire from conflict led, ack transition object": an unknown leader, and no
/// acquisition.
#[tokio::test(start_paused = true)]
async fn multi_lock_conflict_led_ack_transition_object() {
    let multi = Multi::campaign(Some(led_by("bing", 10)), Some(led_by("baz", 10)), 1000).await;
    assert!(!multi.baz.elector.is_leader());
    assert_eq!(multi.baz.elector.leader().as_deref(), Some("leaderelection.k8s.io/unknown"));
    assert_eq!(multi.holders(), ("bing".into(), "baz".into()));
}

/// MultiLock: "acquire from conflict led, unack unknown object".
#[tokio::test(start_paused = true)]
async fn multi_lock_acquire_from_conflict_led_unack_unknown_object() {
    let multi = Multi::campaign(
        Some(led_by("leaderelection.k8s.io/unknown", 10)),
        Some(led_by("x", 10)),
        10_300,
    )
    .await;
    multi.leads_both();
}

/// MultiLock: "don't acquire from led, ack old object".
#[tokio::test(start_paused = true)]
async fn multi_lock_dont_acquire_from_led_ack_old_object() {
    let multi = Multi::campaign(Some(led_by("bing", 10)), None, 1000).await;
    assert!(!multi.baz.elector.is_leader());
    assert_eq!(multi.baz.elector.leader().as_deref(), Some("bing"));
    assert_eq!(multi.new.lease(), None, "and the missing half is not made");
}

/// MultiLock: "don't acquire from led, acked new object, observe new record".
#[tokio::test(start_paused = true)]
async fn multi_lock_dont_acquire_from_led_acked_new_object_observe_new_record() {
    let multi = Multi::campaign(Some(led_by("bing", 10)), None, 9000).await;
    multi.old.overwrite(led_by("bong", 10));
    sleep_ms(9000).await;
    assert!(!multi.baz.elector.is_leader());
    assert_eq!(multi.baz.elector.leader().as_deref(), Some("bong"));
}

/// MultiLock: "don't acquire from led, acked new object, observe transition record".
#[tokio::test(start_paused = true)]
async fn multi_lock_dont_acquire_from_led_acked_new_object_observe_transition_record() {
    let multi = Multi::campaign(Some(led_by("bing", 10)), Some(led_by("bing", 10)), 9000).await;
    for store in [&multi.old, &multi.new] {
        store.overwrite(led_by("bong", 10));
    }
    sleep_ms(9000).await;
    assert!(!multi.baz.elector.is_leader());
    assert_eq!(multi.baz.elector.leader().as_deref(), Some("bong"));
}

/// MultiLock: "renew already required object" (sic).
#[tokio::test(start_paused = true)]
async fn multi_lock_renew_already_acquired_object() {
    let multi = Multi::campaign(None, None, 100).await;
    let before = (multi.old.lease().unwrap(), multi.new.lease().unwrap());
    sleep_ms(2000).await;
    let after = (multi.old.lease().unwrap(), multi.new.lease().unwrap());
    multi.leads_both();
    assert_eq!(multi.baz.elector.stats().terms, 1);
    assert!(before.0.record.renew_time < after.0.record.renew_time);
    assert_eq!(after.0.record, after.1.record);
    assert_eq!(after.0.record.leader_transitions, 0);
}

#[cfg(all(feature = "kube", not(wq_plant)))]
mod lease_lock {
    //! `leaselock_test.go`.

    use embedded_apiserver::EmbeddedApiServer;
    use k8s_openapi::api::coordination::v1::Lease;
    use kube::Api;
    use kube::api::{Patch, PatchParams};
    use lease_election::{
        Announced, Announcement, Config, FenceToken, KubeLeaseStore, LeaseStore, Record,
        StoreError, Version,
    };
    use serde_json::json;

    fn store(server: &EmbeddedApiServer) -> KubeLeaseStore {
        let config = Config::builder("default", "lease").identity("id").build().unwrap();
        KubeLeaseStore::new(server.client(), &config)
    }

    fn server() -> EmbeddedApiServer {
        EmbeddedApiServer::builder().seed(1).build()
    }

    fn record() -> Record {
        Record {
            holder: "holder".into(),
            lease_duration_seconds: 15,
            acquire_time: "2026-01-02T03:04:05.000006Z".parse().ok(),
            renew_time: "2026-01-02T03:04:06.123456Z".parse().ok(),
            leader_transitions: 4,
            ..Record::default()
        }
    }

    /// TestGetError. We differ: a missing lease is an answer and no error.
    #[tokio::test(start_paused = true)]
    async fn get_error() {
        assert_eq!(store(&server()).get().await, Ok(None));
    }

    /// TestGet.
    #[tokio::test(start_paused = true)]
    async fn get() {
        let server = server();
        let made = store(&server).create(&record()).await.unwrap();
        let read = store(&server).get().await.unwrap().unwrap();
        assert_eq!((&read.record, &read.version), (&record(), &made.version));
    }

    /// TestRecordEventSuccess, for the text; `events.rs` has the recording.
    /// TestRecordEventNilRecorder.
    #[tokio::test(start_paused = true)]
    async fn record_event_success_and_nil_recorder() {
        let fence = FenceToken { uid: "u".into(), resource_version: "1".into(), transitions: 0 };
        let at = jiff::Timestamp::UNIX_EPOCH;
        let announcement = Announcement::new(Announced::BecameLeader, "id", fence, at);
        assert_eq!(announcement.to_string(), "id became leader");
        store(&server()).announce(&announcement);
    }

    /// TestCreateError.
    #[tokio::test(start_paused = true)]
    async fn create_error() {
        let server = server();
        store(&server).create(&record()).await.unwrap();
        assert_eq!(store(&server).create(&record()).await, Err(StoreError::Conflict));
    }

    /// TestUpdateError: "lease not initialized". We differ: an update names the version that it is
    /// conditional on, and needs no call before it.
    #[tokio::test(start_paused = true)]
    async fn update_error() {
        let server = server();
        let nothing = store(&server).update(&Version::new("u", "1"), &record()).await;
        assert_eq!(nothing, Err(StoreError::NotFound));
        let made = store(&server).create(&record()).await.unwrap();
        assert!(store(&server).update(&made.version, &record()).await.is_ok());
    }

    /// TestDescribe: namespace and name.
    #[tokio::test(start_paused = true)]
    async fn describe() {
        let shown = format!("{:?}", store(&server()));
        assert!(shown.contains("\"default\"") && shown.contains("\"lease\""), "{shown}");
    }

    /// TestLeaseConversion and TestLeaseSpecToLeaderElectionRecordRoundTrip, through a server.
    #[tokio::test(start_paused = true)]
    async fn lease_conversion() {
        let server = server();
        let full = Record {
            strategy: "OldestEmulationVersion".into(),
            preferred_holder: "other".into(),
            ..record()
        };
        store(&server).create(&full).await.unwrap();
        assert_eq!(store(&server).get().await.unwrap().unwrap().record, full);
        let spec = Api::<Lease>::default_namespaced(server.client())
            .get("lease")
            .await
            .unwrap()
            .spec
            .unwrap();
        assert_eq!(spec.holder_identity.as_deref(), Some("holder"));
        assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(15), Some(4)));
        assert_eq!(spec.acquire_time.map(|time| time.0), full.acquire_time);
        assert_eq!(spec.renew_time.map(|time| time.0), full.renew_time);
        assert_eq!(spec.strategy.as_deref(), Some("OldestEmulationVersion"));
        assert_eq!(spec.preferred_holder.as_deref(), Some("other"));
    }

    /// TestUpdateWithNilLabelsOnLease, TestUpdateWithNilLabelsOnLeaseLock, TestLabelUpdate. We
    /// differ: a Lease gets only the labels of `with_labels`, and keeps others' labels.
    #[tokio::test(start_paused = true)]
    async fn update_with_nil_labels_and_label_update() {
        let server = server();
        let store = store(&server);
        let made = store.create(&record()).await.unwrap();
        let updated = store
            .update(&made.version, &Record { leader_transitions: 5, ..record() })
            .await
            .unwrap();
        let leases = Api::<Lease>::default_namespaced(server.client());
        assert_eq!(leases.get("lease").await.unwrap().metadata.labels, None);
        let label = json!({"metadata": {"labels": {"foreign": "kept"}}});
        leases.patch("lease", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
        // The server refuses an update of the version before the label; a later update keeps the
        // label.
        let next = Record { leader_transitions: 6, ..record() };
        assert_eq!(store.update(&updated.version, &next).await, Err(StoreError::Conflict));
        let seen = store.get().await.unwrap().unwrap();
        store.update(&seen.version, &next).await.unwrap();
        let labels = leases.get("lease").await.unwrap().metadata.labels.unwrap();
        assert_eq!(labels.get("foreign").map(String::as_str), Some("kept"));
    }
}
