//! Violations: V1 to V17 of docs/compared-with-client-go.md, each with a test that we keep
//! exclusion. V6 and V9's refusals are tests of the configuration, V8 of the guard.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{
    Config, Ending, Fault, LeaderElector, LeaseStore, Loss, Lost, Outcome, Record, StoreError,
    TokioClock, Verb, VerifyError,
};
use tokio::time::Instant;

use crate::cluster::{Cluster, LEASE, ManualClock, Releases, Replica, fast, forbidden, sleep_ms};

const MS: Duration = Duration::from_millis(1);
const ALL: [Verb; 5] = [Verb::Get, Verb::Create, Verb::Update, Verb::Watch, Verb::Event];

#[tokio::test(start_paused = true)]
async fn v01_a_deposed_leader_cannot_release_the_lease_of_its_successor() {
    // Its machine slept, and its clock does not count that: it releases a lease that has long been
    // another's. Or it released in time, and the request took that long.
    for slept in [true, false] {
        let cluster = Cluster::new();
        cluster.set("a", &[Verb::Watch], forbidden());
        let travels = if slept { Duration::ZERO } else { 2 * LEASE };
        let store = Releases::new(cluster.store.client("a"), travels);
        let met = Arc::clone(&store.met);
        let (config, clock) = (fast("a").build().unwrap(), ManualClock::new());
        let mut a = Replica::start(
            match slept {
                true => LeaderElector::with_clock(store, config, clock.clone(), 7),
                false => LeaderElector::with_clock(store, config, TokioClock::new(), 7),
            },
            Duration::ZERO,
        );
        a.leads().await;
        let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
        sleep_ms(100).await;
        if slept {
            b.leads().await;
            assert!(a.last().leadership.is_valid(), "it does not know");
        }
        a.elector.stop_handle().stop();
        b.leads().await;
        for _ in 0..100 {
            sleep_ms(100).await;
            clock.advance(10 * MS);
        }
        let outcome = (&mut a.run).await.unwrap();
        assert_eq!(
            outcome,
            Outcome::Finished(Ending::StopRequested),
            "the work ended within its term"
        );
        // Releases were sent (again after a time-out), and arrived when another held the lease.
        let met = met.lock().unwrap().clone();
        assert!(
            !met.is_empty() && met.iter().all(|met| met == "b: Err(Conflict)"),
            "slept: {slept}, {met:?}"
        );
        assert_eq!((a.elector.stats().releases, a.elector.stats().failed_releases), (0, 1));
        assert_eq!(cluster.holder(), "b");
        assert!(b.last().leadership.is_valid() && b.elector.stats().terms == 1);
    }
}

#[tokio::test(start_paused = true)]
async fn v01_a_release_that_meets_a_foreign_holder_gives_up() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Watch], forbidden());
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    sleep_ms(100).await;
    // Another holds the lease as the leader stops, which does not know it.
    let foreign = Record { holder: "b".into(), lease_duration_seconds: 5, ..Record::default() };
    cluster.store.overwrite(foreign.clone());
    a.elector.stop_handle().stop();
    (&mut a.run).await.unwrap();
    assert_eq!(cluster.store.lease().unwrap().record, foreign);
    assert_eq!(a.elector.stats().failed_releases, 1);
}

#[tokio::test(start_paused = true)]
async fn v02_the_lease_is_given_back_only_after_the_work_has_ended() {
    let cluster = Cluster::new();
    let released: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let log = Arc::clone(&released);
    let store = cluster.store.client("a").on_write(move |_, lease| {
        if lease.is_some_and(|lease| lease.record.is_free()) {
            log.lock().unwrap().push(Instant::now());
        }
    });
    let elector =
        LeaderElector::with_clock(store, fast("a").build().unwrap(), TokioClock::new(), 7);
    let mut a = Replica::start(elector, 3000 * MS);
    a.leads().await;
    a.elector.stop_handle().stop();
    (&mut a.run).await.unwrap();
    assert_eq!(released.lock().unwrap().len(), 1);
    assert!(released.lock().unwrap()[0] >= a.last().ended.unwrap());
}

#[tokio::test(start_paused = true)]
async fn v02_in_a_black_hole_the_work_is_told_in_time_and_nothing_is_released_late() {
    let cluster = Cluster::new();
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    let began = a.leads().await;
    cluster.cut("a");
    let outcome = (&mut a.run).await.unwrap();
    assert_eq!(outcome, Outcome::Lost(Ending::Lost(Loss::Expired)));
    let (told, _) = a.last().told.unwrap();
    assert!(told - began < LEASE - 900 * MS, "told {:?} after the acquisition", told - began);
    assert_eq!(a.elector.stats().releases, 0);
    assert_eq!(cluster.holder(), "a");
}

#[tokio::test(start_paused = true)]
async fn v03_a_foreign_holder_ends_the_term_at_once() {
    // Its watch shows it at once; without a watch, its next renewal does.
    for (watch, bound) in [(true, 1 * MS), (false, 1002 * MS)] {
        let cluster = Cluster::new();
        if !watch {
            cluster.set("a", &[Verb::Watch], forbidden());
        }
        let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        a.leads().await;
        sleep_ms(1300).await;
        let mut record = cluster.store.lease().unwrap().record;
        record.holder = "b".into();
        cluster.store.overwrite(record);
        let written = Instant::now();
        let outcome = (&mut a.run).await.unwrap();
        assert!(written.elapsed() <= bound, "{:?}", written.elapsed());
        assert_eq!(outcome, Outcome::Lost(Ending::Lost(Loss::TakenOver { by: "b".into() })));
        assert_eq!(cluster.holder(), "b");
    }
}

#[tokio::test(start_paused = true)]
async fn v04_a_lease_lost_and_regained_is_another_term() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let terms: Arc<Mutex<Vec<lease_election::Leadership>>> = Arc::default();
    let log = Arc::clone(&terms);
    let running = elector.clone();
    let run = tokio::spawn(async move {
        running
            .run_forever(move |leadership| {
                log.lock().unwrap().push(leadership.clone());
                async move {
                    leadership.lost().await;
                }
            })
            .await;
    });
    sleep_ms(2000).await;
    cluster.cut("a");
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    b.leads().await;
    b.elector.stop_handle().stop();
    sleep_ms(100).await;
    cluster.heal("a");
    sleep_ms(4000).await;
    let terms = terms.lock().unwrap();
    assert_eq!(terms.len(), 2);
    assert!(!terms[0].is_valid(), "the first term does not come back");
    assert!(terms[1].is_valid());
    assert!(terms[0].fence() < b.fence() && b.fence() < terms[1].fence());
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn v05_the_hold_counts_from_the_sending_of_the_renewal() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    // The renewal at 1 s arrives at once, and its answer comes at 1.8 s; then nothing more. The
    // elector's own watch is silent.
    cluster.set("a", &[Verb::Event], Fault::Lost);
    cluster.set("a", &[Verb::Update], Fault::Slow { before: Duration::ZERO, after: 800 * MS });
    let start = Instant::now();
    sleep_ms(1500).await;
    cluster.set("a", &[Verb::Update, Verb::Get], Fault::Lost);
    sleep_ms(1000).await;
    let remaining = a.last().leadership.remaining();
    let hold = a.elector.config().hold();
    assert!(hold < 4 * 1000 * MS);
    // The term began within the first milliseconds; the renewal was sent at 1 s.
    let anchor = start + 1000 * MS;
    let until = Instant::now() + remaining;
    assert!(until <= anchor + hold + 1 * MS, "valid until {:?} after the sending", until - anchor);
    assert!(until + 5 * MS >= anchor + hold, "and it does count");
}

#[tokio::test(start_paused = true)]
async fn v07_a_leader_that_was_stopped_finds_its_term_over_at_first_use() {
    // Time goes on while its tasks do not run. (`term/tests.rs` shows that the guard needs no
    // timer.)
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let leadership = a.last().leadership;
    assert!(leadership.is_valid());
    tokio::time::advance(60_000 * MS).await;
    assert!(!leadership.is_valid());
    assert_eq!(leadership.loss(), Some(Loss::Expired));
    sleep_ms(3000).await;
    assert!(!leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn v09_a_healthy_leader_on_a_short_lease_is_never_robbed() {
    let cluster = Cluster::new();
    let short = |id: &str| {
        Config::builder("ns", "lease")
            .identity(id)
            .lease_duration(1000 * MS)
            .retry_period(200 * MS)
            .request_timeout(150 * MS)
            .stop_margin(200 * MS)
    };
    let a = Replica::start(cluster.elector(short("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(short("b")), Duration::ZERO);
    let c = Replica::start(cluster.elector(short("c")), Duration::ZERO);
    sleep_ms(240_000).await;
    assert!(a.last().leadership.is_valid());
    assert!(b.terms.lock().unwrap().is_empty() && c.terms.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn v10_a_deleted_lease_ends_the_term_and_standbys_wait_for_it_to_run_out() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    let c = Replica::start(cluster.elector(fast("c")), Duration::ZERO);
    sleep_ms(1500).await;
    // The leader cannot see the deletion.
    cluster.cut("a");
    cluster.store.delete();
    let deleted = Instant::now();
    let old = a.last().leadership;
    while b.terms.lock().unwrap().is_empty() && c.terms.lock().unwrap().is_empty() {
        sleep_ms(1).await;
    }
    assert!(!old.is_valid());
    assert!(deleted.elapsed() >= LEASE - 501 * MS, "{:?}", deleted.elapsed());
    let new = if b.terms.lock().unwrap().is_empty() { c.fence() } else { b.fence() };
    assert!(old.fence() < new, "also V14: the token survives a deletion");
    assert_eq!(new.transitions, 0);
}

#[tokio::test(start_paused = true)]
async fn v10_a_leader_that_sees_the_deletion_stops_at_once_and_may_lead_again() {
    for watch in [true, false] {
        let cluster = Cluster::new();
        if !watch {
            cluster.set("a", &[Verb::Watch], forbidden());
        }
        let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        a.leads().await;
        sleep_ms(1500).await;
        cluster.store.delete();
        let deleted = Instant::now();
        let outcome = (&mut a.run).await.unwrap();
        assert_eq!(outcome, Outcome::Lost(Ending::Lost(Loss::Deleted)));
        assert!(
            deleted.elapsed() <= if watch { 1 * MS } else { 501 * MS },
            "{:?}",
            deleted.elapsed()
        );
        // No other candidate leads, and its own work has ended. So it need not wait for a lease,
        // but until no request of that work can land.
        let again = Instant::now();
        let old = a.fence();
        let new = a.elector.run(async |leadership| (leadership.fence(), Instant::now())).await;
        let Outcome::Finished((new, began)) = new else { panic!("{new:?}") };
        assert!(old < new);
        assert!(
            (999 * MS..=1001 * MS).contains(&(began - again)),
            "a stop margin: {:?}",
            began - again
        );
        assert_eq!(a.elector.stats().releases, 1);
        assert!(began.elapsed() <= 1 * MS);
    }
}

#[tokio::test(start_paused = true)]
async fn v10_deleting_the_lease_forces_an_election_if_so_configured() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b").wait_after_deletion(false)), Duration::ZERO);
    sleep_ms(1500).await;
    cluster.cut("a");
    cluster.store.delete();
    let deleted = Instant::now();
    assert!(b.leads().await - deleted <= 2 * MS);
}

#[tokio::test(start_paused = true)]
async fn v11_two_processes_with_one_identity_do_not_both_lead() {
    let cluster = Cluster::new();
    let one = Replica::start(cluster.elector(fast("same")), Duration::ZERO);
    one.leads().await;
    let two = Replica::start(cluster.elector(fast("same")), Duration::ZERO);
    sleep_ms(30_000).await;
    assert!(one.last().leadership.is_valid());
    assert!(two.terms.lock().unwrap().is_empty());
    one.elector.stop_handle().stop();
    two.leads().await;
    assert!(!one.last().leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn v12_work_that_ignores_the_loss_is_dropped_after_the_stop_margin() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let running = elector.clone();
    let mut run = tokio::spawn(async move { running.run(|_| std::future::pending::<()>()).await });
    sleep_ms(1500).await;
    cluster.cut("a");
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    let outcome = (&mut run).await.unwrap();
    assert_eq!(outcome, Outcome::Aborted);
    assert!(b.terms.lock().unwrap().is_empty(), "it was dropped before anybody else led");
    b.leads().await;
}

#[tokio::test(start_paused = true)]
async fn v13_the_duration_in_the_record_counts_and_not_ones_own() {
    let cluster = Cluster::new();
    let a = Replica::start(
        cluster.elector(fast("a").lease_duration(Duration::from_secs(15))),
        Duration::ZERO,
    );
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(1500).await;
    cluster.cut("a");
    let cut = Instant::now();
    let took = b.leads().await - cut;
    assert!(took >= 14_400 * MS && took <= 15_202 * MS, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn v13_an_absurd_duration_is_capped_and_none_means_one_of_ours() {
    for (seconds, least, most) in [
        (i32::MAX, 600_000, 600_210),
        (0, 5000, 5210),
        (-1, 5000, 5210),
        (i32::MIN, 5000, 5210),
        (3, 3000, 3210),
    ] {
        let cluster = Cluster::new();
        cluster.store.overwrite(Record {
            holder: "ghost".into(),
            lease_duration_seconds: seconds,
            leader_transitions: i32::MAX,
            ..Record::default()
        });
        let a = cluster.elector(fast("a"));
        let start = Instant::now();
        let led = a.run(async |leadership| (Instant::now(), leadership.fence().transitions)).await;
        let Outcome::Finished((began, transitions)) = led else { panic!("{led:?}") };
        let waited = (began - start).as_millis();
        assert!((least..=most).contains(&waited), "{seconds}: {waited}");
        assert_eq!(transitions, i32::MAX, "saturates");
    }
}

#[cfg(feature = "kube")]
#[tokio::test(start_paused = true)]
async fn v14_terms_on_a_server_whose_lease_is_deleted_in_between_repeat_transitions_and_never_a_token()
 {
    use embedded_apiserver::EmbeddedApiServer;
    use k8s_openapi::api::coordination::v1::Lease;
    use kube::api::{Api, DeleteParams};
    use lease_election::{FenceToken, KubeLeaseStore};

    let server = EmbeddedApiServer::new();
    let mut told: Vec<(i32, FenceToken)> = Vec::new();
    for term in 0..6_u64 {
        let config = Config::builder("default", "lease").identity("a").fast().build().unwrap();
        let store = KubeLeaseStore::new(server.client(), &config);
        let elector = LeaderElector::with_clock(store, config, TokioClock::new(), term);
        let outcome = elector.run(|leadership| async move { leadership.fence() }).await;
        let Outcome::Finished(token) = outcome else { panic!("term {term}: {outcome:?}") };
        told.push((token.transitions, token));
        if term % 2 == 1 {
            let leases = Api::<Lease>::namespaced(server.client(), "default");
            leases.delete("lease", &DeleteParams::default()).await.unwrap();
        }
    }
    let transitions: Vec<i32> = told.iter().map(|(transitions, _)| *transitions).collect();
    assert_eq!(
        transitions,
        [0, 1, 0, 1, 0, 1],
        "as a fence it would let the first leader in again"
    );
    assert!(told.windows(2).all(|pair| pair[0].1 < pair[1].1), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn v15_an_acquisition_without_an_answer_is_found_by_reading_and_counts_from_its_sending() {
    for fault in
        [Fault::AnswerLost, Fault::AppliedBut(StoreError::unknown("500")), Fault::Late(300 * MS)]
    {
        let cluster = Cluster::new();
        cluster.set("a", &[Verb::Create], fault.clone());
        let sent = Instant::now();
        let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        a.leads().await;
        let leadership = a.last().leadership;
        let until = Instant::now() + leadership.remaining();
        assert!(until <= sent + a.elector.config().hold() + 2 * MS, "{fault:?}");
        assert_eq!(
            cluster.store.lease().unwrap().record.leader_transitions,
            0,
            "{fault:?}: one write was enough"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn v15_a_stop_during_an_unanswered_acquisition_strands_nobody() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Create], Fault::AnswerLost);
    cluster.set("a", &[Verb::Watch], forbidden());
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    sleep_ms(10).await;
    assert_eq!(cluster.holder(), "a", "applied, and the candidate does not know");
    a.elector.stop_handle().stop();
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    let asked = Instant::now();
    assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
    assert!(b.leads().await - asked <= 1000 * MS, "not a whole lease");
}

#[tokio::test(start_paused = true)]
async fn v15_a_stop_during_an_unanswered_acquisition_does_not_storm_a_server_that_refuses() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Create], Fault::AnswerLost);
    cluster.set("a", &[Verb::Watch], forbidden());
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    sleep_ms(10).await;
    cluster.set("a", &[Verb::Get], Fault::Refused(StoreError::unknown("connection refused")));
    let reads = cluster.requests_of("a", Verb::Get);
    a.elector.stop_handle().stop();
    let asked = Instant::now();
    assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
    assert!(asked.elapsed() <= 1800 * MS, "two requests' time");
    let reads = cluster.requests_of("a", Verb::Get) - reads;
    assert!((1..=4).contains(&reads), "one each pace: {reads}");
}

#[tokio::test(start_paused = true)]
async fn v15_a_renewal_applied_late_does_not_revive_a_term() {
    let cluster = Cluster::new();
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    cluster.set("a", &ALL, Fault::Lost);
    cluster.set("a", &[Verb::Update], Fault::Late(5000 * MS));
    let outcome = (&mut a.run).await.unwrap();
    assert_eq!(outcome, Outcome::Lost(Ending::Lost(Loss::Expired)));
    let before = cluster.store.lease().unwrap().version;
    sleep_ms(5000).await;
    assert_ne!(cluster.store.lease().unwrap().version, before, "it was applied");
    assert!(!a.last().leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn v15_a_renewal_applied_without_an_answer_keeps_the_term() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let mut applied = 0;
    for _ in 0..10 {
        cluster.set("a", &[Verb::Update], Fault::AnswerLost);
        sleep_ms(1950).await;
        cluster.set("a", &[Verb::Update], Fault::None);
        sleep_ms(2050).await;
        applied += 1;
        assert!(a.last().leadership.is_valid(), "after {applied}");
    }
    // Without a watch, the conflict of the next renewal shows it.
    cluster.set("a", &[Verb::Watch, Verb::Event], forbidden());
    for _ in 0..10 {
        cluster.set("a", &[Verb::Update], Fault::AnswerLost);
        sleep_ms(1200).await;
        cluster.set("a", &[Verb::Update], Fault::None);
        sleep_ms(2000).await;
        assert!(a.last().leadership.is_valid());
    }
    assert_eq!(a.elector.stats().terms, 1);
    assert!(a.elector.stats().renew_failures.conflict > 0);
}

#[tokio::test(start_paused = true)]
async fn v15_a_write_that_a_proxy_sent_twice_is_not_taken_for_a_loss() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    cluster.set("a", &[Verb::Update], Fault::AppliedBut(StoreError::Conflict));
    sleep_ms(10_000).await;
    assert!(a.last().leadership.is_valid());
    assert_eq!(a.elector.stats().terms, 1);
}

#[tokio::test(start_paused = true)]
async fn v16_every_answer_about_leading_is_time_aware() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    assert!(a.elector.is_leader() && a.elector.status().leading);
    tokio::time::advance(5000 * MS).await;
    assert!(!a.elector.is_leader() && !a.elector.status().leading);
}

#[tokio::test(start_paused = true)]
async fn v17_a_foreign_write_ends_the_term_and_a_label_does_not() {
    let cluster = Cluster::new();
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    for _ in 0..5 {
        cluster.store.touch();
        sleep_ms(700).await;
    }
    assert!(a.last().leadership.is_valid());
    assert_eq!(a.elector.stats().terms, 1);
    let mut record = cluster.store.lease().unwrap().record;
    record.lease_duration_seconds = 3600;
    cluster.store.overwrite(record);
    assert_eq!((&mut a.run).await.unwrap(), Outcome::Lost(Ending::Lost(Loss::ForeignWrite)));
    assert_eq!(a.elector.stats().losses.foreign_write, 1);
}

#[tokio::test(start_paused = true)]
async fn v17_a_foreign_write_that_keeps_the_mark_is_seen_by_a_renewal_and_by_verify_remote() {
    for asks in [false, true] {
        let cluster = Cluster::new();
        let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        a.leads().await;
        // No event reports the write.
        cluster.set("a", &[Verb::Event], Fault::Lost);
        let mut record = cluster.store.lease().unwrap().record;
        record.lease_duration_seconds = 1;
        cluster.store.overwrite(record);
        if asks {
            let lost = a.last().leadership.verify_remote().await.unwrap_err();
            assert!(matches!(lost, VerifyError::Lost(Lost(Loss::ForeignWrite))), "{lost}");
        }
        assert_eq!((&mut a.run).await.unwrap(), Outcome::Lost(Ending::Lost(Loss::ForeignWrite)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_went_back_in_time_ends_the_term_and_blocks_nobody() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Watch], forbidden());
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let backup = cluster.store.lease().unwrap();
    sleep_ms(3500).await;
    cluster.store.rewind(backup);
    assert_eq!((&mut a.run).await.unwrap(), Outcome::Lost(Ending::Lost(Loss::Rewound)));
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    b.leads().await;
}

#[tokio::test(start_paused = true)]
async fn labels_that_change_all_the_time_do_not_keep_a_dead_leader_in_office() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(1000).await;
    cluster.cut("a");
    for _ in 0..70 {
        cluster.store.touch();
        sleep_ms(100).await;
    }
    assert!(b.last().leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_everything_is_reported_and_asked_slowly() {
    let cluster = Cluster::new();
    cluster.set("a", &ALL, forbidden());
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    sleep_ms(60_000).await;
    let status = a.elector.status();
    assert!(status.blocked.unwrap().to_string().contains("403"));
    assert!(!status.leading && a.elector.liveness().check().is_ok());
    let asked = cluster.requests_of("a", Verb::Get);
    assert!((24..=40).contains(&asked), "{asked} in a minute");
    cluster.heal("a");
    a.leads().await;
    assert_eq!(a.elector.status().blocked, None);
    assert!(cluster.store.get().await.unwrap().is_some());
}
