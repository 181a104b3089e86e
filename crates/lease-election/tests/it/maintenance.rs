//! Maintenance: a leader hands over and a standby stands back, until maintenance ends.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{Ending, Fault, MemoryLeaseStore, Outcome, Record, Release, StoreError, Verb};
use tokio::time::Instant;

use crate::cluster::{Cluster, LEASE, Replica, fast, forbidden, sleep_ms};
use crate::migration::{Knows, Stores, leads, led_by};

const MS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_leader_hands_over_in_order_and_leads_again_when_it_may() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let (running, log) = (elector.clone(), tokio::sync::mpsc::unbounded_channel());
    let (tell, mut told) = log;
    let run = tokio::spawn(async move {
        running
            .run_forever(move |leadership| {
                let tell = tell.clone();
                async move {
                    tell.send((Instant::now(), leadership.clone())).unwrap();
                    assert_eq!(leadership.ending().await, Ending::StopRequested);
                    sleep_ms(300).await;
                    assert!(leadership.is_valid(), "the lease is renewed while it winds up");
                }
            })
            .await;
    });
    let (_, first) = told.recv().await.unwrap();
    let mut b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(2000).await;
    let maintenance = elector.maintenance();
    let asked = Instant::now();
    maintenance.begin();
    maintenance.begin();
    assert!(maintenance.is_on() && elector.status().maintenance);
    let began = b.leads().await;
    assert!(300 * MS <= began - asked && began - asked <= 303 * MS, "took {:?}", began - asked);
    assert!(!first.is_valid());
    // The lease is free for a while, and then `c` crashes: this elector takes it in neither case.
    b.elector.stop_handle().stop();
    assert_eq!((&mut b.run).await.unwrap(), Outcome::Finished(Ending::StopRequested));
    sleep_ms(20_000).await;
    assert_eq!(cluster.holder(), "");
    let c = Replica::start(cluster.elector(fast("c")), Duration::ZERO);
    c.leads().await;
    sleep_ms(5).await;
    assert_eq!(elector.leader().as_deref(), Some("c"), "it looks on");
    cluster.cut("c");
    sleep_ms(20_000).await;
    assert_eq!(cluster.holder(), "c");
    assert!(told.try_recv().is_err());
    let asked = Instant::now();
    maintenance.end();
    let (began, second) = told.recv().await.unwrap();
    assert!(began - asked <= 2 * MS, "took {:?}", began - asked);
    assert!(second.fence() > first.fence());
    c.run.abort();
    elector.stop_handle().stop();
    run.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_under_way_when_it_begins_is_given_back_without_work() {
    for fault in [
        Fault::AnswerLost,
        Fault::Slow { before: 100 * MS, after: 100 * MS },
        Fault::Late(400 * MS),
    ] {
        let cluster = Cluster::new();
        cluster.set("a", &[Verb::Create], fault.clone());
        // Otherwise the watch tells at once that it leads.
        cluster.set("a", &[Verb::Watch], Fault::Lost);
        let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        sleep_ms(50).await;
        a.elector.maintenance().begin();
        sleep_ms(3000).await;
        assert_eq!(
            cluster.store.lease().map(|lease| lease.record.holder).as_deref(),
            Some(""),
            "{fault:?}"
        );
        assert!(a.terms.lock().unwrap().is_empty(), "{fault:?}");
        assert!(cluster.requests_of("a", Verb::Update) <= 1, "{fault:?}");
        cluster.heal("a");
        sleep_ms(10_000).await;
        assert_eq!(cluster.holder(), "");
        a.elector.maintenance().end();
        assert!(a.leads().await.elapsed() <= 5 * MS);
        a.elector.stop_handle().stop();
        a.run.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn half_of_an_acquisition_in_two_stores_is_given_back_when_it_begins() {
    let no = StoreError::Rejected { code: 403, message: "no".into() };
    let busy = StoreError::TooManyRequests { retry_after: None };
    for (fault, within) in [
        (Fault::Refused(no), 100),
        (Fault::Refused(busy), 100),
        (Fault::Refused(StoreError::unknown("500")), 100),
        // The request times out.
        (Fault::Lost, 1000),
    ] {
        let mut stores = Stores::new();
        let (once, with) = (AtomicBool::new(true), fault.clone());
        stores.new = stores.new.with_faults(move |_, verb| {
            let falls = verb == Verb::Update && once.swap(false, Ordering::SeqCst);
            if falls { with.clone() } else { Fault::None }
        });
        stores.old.overwrite(Record::default());
        stores.new.overwrite(Record::default());
        let config = || fast("a").takeover_jitter(Duration::ZERO);
        let a = Replica::start(stores.elector_of(Knows::Both, config(), 1), Duration::ZERO);
        while stores.holders().0 != "a" {
            sleep_ms(1).await;
        }
        assert_eq!(stores.holders().1, "", "{fault:?}: half of it");
        a.elector.maintenance().begin();
        sleep_ms(within).await;
        assert_eq!(stores.holders(), (String::new(), String::new()), "{fault:?}");
        let version = |store: &MemoryLeaseStore| store.lease().unwrap().version;
        let given_back = (version(&stores.old), version(&stores.new));
        sleep_ms(20_000).await;
        assert_eq!((version(&stores.old), version(&stores.new)), given_back, "{fault:?}: once");
        assert!(a.terms.lock().unwrap().is_empty(), "{fault:?}");
        a.elector.maintenance().end();
        assert!(a.leads().await.elapsed() <= 5 * MS);
    }
}

#[tokio::test(start_paused = true)]
async fn v01_half_of_an_acquisition_is_given_back_only_if_the_other_half_is_not_made_late() {
    let mut stores = Stores::new();
    let late = |verb: Verb,
                count: Arc<AtomicU32>,
                number: u32,
                by: Duration,
                dead: Arc<Mutex<BTreeSet<String>>>| {
        move |client: &str, what: Verb| {
            if dead.lock().unwrap().contains(client) {
                return Fault::Lost;
            }
            let falls =
                client == "a" && what == verb && count.fetch_add(1, Ordering::SeqCst) + 1 == number;
            if falls { Fault::Late(by) } else { Fault::None }
        }
    };
    let dead = || Arc::clone(&stores.dead);
    let (first, second) = (
        late(Verb::Update, Arc::default(), 2, 700 * MS, dead()),
        late(Verb::Update, Arc::default(), 1, 1200 * MS, dead()),
    );
    (stores.old, stores.new) = (stores.old.with_faults(first), stores.new.with_faults(second));
    stores.old.overwrite(Record::default());
    stores.new.overwrite(Record::default());
    let config = |who| fast(who).takeover_jitter(Duration::ZERO);
    let a = Replica::start(stores.elector_of(Knows::Both, config("a"), 1), Duration::ZERO);
    while stores.holders().0 != "a" {
        sleep_ms(1).await;
    }
    let old = Replica::start(stores.elector_of(Knows::Old, config("old"), 2), Duration::ZERO);
    // The elector sends its write about the half before the maintenance ends, and the other half
    // arrives before that write.
    a.elector.maintenance().begin();
    sleep_ms(1000).await;
    a.elector.maintenance().end();
    for _ in 0..12_000 {
        sleep_ms(1).await;
        if leads(&a) {
            stores.dead.lock().unwrap().insert("a".into());
        }
        assert!(!leads(&a) || !leads(&old));
    }
    assert!(leads(&old));
}

#[tokio::test(start_paused = true)]
async fn one_that_may_not_write_the_second_half_keeps_nobody_out_while_it_is_under_maintenance() {
    let mut stores = Stores::new();
    let no = StoreError::Rejected { code: 403, message: "no".into() };
    stores.new = stores.new.with_faults(move |client, verb| {
        if client == "a" && verb == Verb::Update { Fault::Refused(no.clone()) } else { Fault::None }
    });
    stores.old.overwrite(led_by("dead"));
    stores.new.overwrite(led_by("dead"));
    let config = |who| fast(who).takeover_jitter(Duration::ZERO);
    let a = Replica::start(stores.elector_of(Knows::Both, config("a"), 1), Duration::ZERO);
    sleep_ms(1000).await;
    let b = Replica::start(stores.elector_of(Knows::Both, config("b"), 2), Duration::ZERO);
    while stores.holders().0 != "a" {
        sleep_ms(1).await;
    }
    a.elector.maintenance().begin();
    let began = Instant::now();
    assert!(b.leads().await - began <= LEASE + 100 * MS);
}

/// The server was away for as long as the elector tried to release.
#[tokio::test(start_paused = true)]
async fn a_release_that_failed_is_made_good_as_soon_as_the_server_is_back() {
    for stops in [false, true] {
        let cluster = Cluster::new();
        let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        a.leads().await;
        cluster.set("a", &[Verb::Update], Fault::Lost);
        a.elector.maintenance().begin();
        a.run.await.unwrap();
        assert_eq!((a.elector.stats().failed_releases, cluster.holder().as_str()), (1, "a"));
        a = Replica::start(a.elector, Duration::ZERO);
        if stops {
            sleep_ms(10).await;
            a.elector.stop_handle().stop();
        }
        cluster.heal("a");
        let back = Instant::now();
        while !cluster.holder().is_empty() {
            assert!(back.elapsed() <= 2000 * MS, "two retry periods; stops: {stops}");
            sleep_ms(1).await;
        }
        assert!(a.terms.lock().unwrap().is_empty());
        a.elector.stop_handle().stop();
        a.run.await.unwrap();
        let stats = a.elector.stats();
        assert_eq!(
            (stats.releases, stats.failed_releases),
            (1, 1),
            "one attempt failed, the next did not"
        );
    }
}

/// The elector finds it when its hold is over: no term began by it, and none may.
#[tokio::test(start_paused = true)]
async fn an_acquisition_that_is_applied_too_late_for_a_term_is_given_back_under_maintenance() {
    let cluster = Cluster::new();
    cluster.store.overwrite(Record::default());
    cluster.set("a", &[Verb::Watch], forbidden());
    cluster.set("a", &[Verb::Update], Fault::Late(6000 * MS));
    let a =
        Replica::start(cluster.elector(fast("a").takeover_jitter(Duration::ZERO)), Duration::ZERO);
    sleep_ms(10).await;
    assert_eq!(cluster.requests_of("a", Verb::Update), 1);
    a.elector.maintenance().begin();
    cluster.heal("a");
    sleep_ms(9000).await;
    assert_eq!(cluster.holder(), "");
    assert!(a.terms.lock().unwrap().is_empty());
    a.elector.stop_handle().stop();
    a.run.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_that_is_kept_from_leading_can_be_stopped_and_asks_next_to_nothing() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    elector.maintenance().begin();
    let a = Replica::start(elector, Duration::ZERO);
    sleep_ms(60_000).await;
    assert_eq!(cluster.requests_of("a", Verb::Create), 0);
    let reads = cluster.requests_of("a", Verb::Get);
    assert!(
        reads <= 30,
        "{reads} reads in a minute without a lease: one in each half of {LEASE:?}"
    );
    let asked = Instant::now();
    a.elector.stop_handle().stop();
    assert_eq!(a.run.await.unwrap(), Outcome::NeverLed);
    assert!(asked.elapsed() <= MS);
}

#[tokio::test(start_paused = true)]
async fn one_that_ends_before_the_work_has_wound_up_still_ends_the_term() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), 500 * MS);
    a.leads().await;
    a.elector.maintenance().begin();
    sleep_ms(100).await;
    a.elector.maintenance().end();
    assert_eq!(a.run.await.unwrap(), Outcome::Finished(Ending::StopRequested));
    assert_eq!(cluster.holder(), "");
}

/// An acquisition that was declined when maintenance began says nothing about the lease at a later
/// stop.
#[tokio::test(start_paused = true)]
async fn an_acquisition_that_was_declined_is_told_of_only_while_its_lease_may_run() {
    for (declines, stopped_after, told) in [
        (Fault::None, 1000, Release::NotDue),
        (Fault::Lost, 3000, Release::Failed),
        (Fault::Lost, 60_000, Release::NotDue),
    ] {
        let cluster = Cluster::new();
        cluster.set("a", &[Verb::Create], Fault::Slow { before: 100 * MS, after: 100 * MS });
        cluster.set("a", &[Verb::Watch], Fault::Lost);
        cluster.set("a", &[Verb::Update], declines.clone());
        let elector = cluster.elector(fast("a"));
        let switch = (elector.maintenance(), elector.stop_handle());
        tokio::spawn(async move {
            sleep_ms(50).await;
            switch.0.begin();
            sleep_ms(stopped_after).await;
            switch.1.stop();
        });
        let mut campaigns = elector.campaigns();
        assert_eq!(campaigns.run(async |_| ()).await, Outcome::NeverLed);
        assert_eq!(campaigns.release(), told, "{declines:?}, stopped {stopped_after} ms later");
        let left = cluster.store.lease().map(|lease| lease.record.holder);
        assert_eq!(left.as_deref(), Some(if declines == Fault::None { "" } else { "a" }));
    }
}
