//! Observe: leaders as a process sees them that does not stand, in order, by the clock, with and
//! without a watch, and without a write.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use lease_election::{Fault, Record, StoreError, TokioClock, Verb, observe_with_clock};
use tokio::time::Instant;

use crate::cluster::{Cluster, LEASE, Replica, fast, forbidden, sleep_ms};

type Seen = Arc<Mutex<Vec<(Instant, Option<String>)>>>;

/// An observer that is always polled, and its items.
fn observed(cluster: &Cluster) -> Seen {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let config = fast("unused").build().unwrap();
    let mut leaders = observe_with_clock(cluster.store.client("o"), &config, TokioClock::new());
    tokio::spawn(async move {
        while let Some(leader) = leaders.next().await {
            log.lock().unwrap().push((Instant::now(), leader));
        }
    });
    seen
}

fn names(seen: &Seen) -> Vec<Option<String>> {
    seen.lock().unwrap().iter().map(|(_, leader)| leader.clone()).collect()
}

fn some(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn leaders_come_in_order_and_a_release_between_them() {
    let cluster = Cluster::new();
    let seen = observed(&cluster);
    sleep_ms(10).await;
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    cluster.set(
        "b",
        &[Verb::Event],
        Fault::Slow { before: Duration::from_millis(50), after: Duration::ZERO },
    );
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(60_000).await;
    assert_eq!(names(&seen), [None, some("a")], "renewals are no change of leaders");
    a.elector.stop_handle().stop();
    b.leads().await;
    sleep_ms(10).await;
    assert_eq!(names(&seen), [None, some("a"), None, some("b")]);
    cluster.store.delete();
    sleep_ms(1).await;
    assert_eq!(names(&seen).last(), Some(&None));
    for verb in [Verb::Create, Verb::Update] {
        assert_eq!(cluster.requests_of("o", verb), 0);
    }
    assert_eq!(cluster.requests_of("o", Verb::Watch), 1);
    assert_eq!(cluster.requests_of("o", Verb::Get), 1, "its watch was never silent");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_crashed_leads_until_its_lease_has_run_out() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let seen = observed(&cluster);
    sleep_ms(2100).await;
    assert_eq!(names(&seen), [some("a")], "the first item is what there is");
    cluster.cut("a");
    let cut = Instant::now();
    sleep_ms(8000).await;
    assert_eq!(names(&seen), [some("a"), None]);
    let told = seen.lock().unwrap()[1].0 - cut;
    assert!(told <= LEASE && told >= LEASE - Duration::from_millis(1001), "{told:?}");
    // A changed label is no sign of life.
    cluster.store.touch();
    sleep_ms(10).await;
    assert_eq!(names(&seen).len(), 2);
    let mut record = cluster.store.lease().unwrap().record;
    record.renew_time = None;
    cluster.store.overwrite(record);
    sleep_ms(10).await;
    assert_eq!(names(&seen), [some("a"), None, some("a")]);
}

#[tokio::test(start_paused = true)]
async fn without_a_watch_or_with_one_that_is_silent_it_reads() {
    for (verb, fault, within) in [
        (Verb::Watch, forbidden(), 1010),
        (Verb::Watch, Fault::Lost, 1910),
        (Verb::Event, Fault::Lost, 3010),
        (Verb::Event, Fault::Refused(StoreError::unknown("cut")), 1010),
    ] {
        let cluster = Cluster::new();
        cluster.set("o", &[verb], fault.clone());
        let seen = observed(&cluster);
        sleep_ms(5000).await;
        let lease = Record { holder: "x".into(), lease_duration_seconds: 15, ..Record::default() };
        cluster.store.overwrite(lease);
        let written = Instant::now();
        sleep_ms(4000).await;
        assert_eq!(names(&seen), [None, some("x")], "{fault:?}");
        let told = seen.lock().unwrap()[1].0 - written;
        assert!(told <= Duration::from_millis(within), "{fault:?}: {told:?}");
        assert!(cluster.requests_of("o", Verb::Get) <= 14, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn cut_off_it_knows_no_leader_and_afterwards_the_right_one() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let seen = observed(&cluster);
    sleep_ms(3000).await;
    cluster.cut("o");
    sleep_ms(30_000).await;
    assert_eq!(names(&seen), [some("a"), None]);
    let reads = cluster.requests_of("o", Verb::Get);
    assert!(reads <= 25, "{reads} reads in half a minute of an outage");
    a.elector.stop_handle().stop();
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    b.leads().await;
    cluster.heal("o");
    sleep_ms(10_000).await;
    assert_eq!(names(&seen), [some("a"), None, some("b")]);
}

#[tokio::test(start_paused = true)]
async fn what_happened_between_two_polls_is_told_in_order() {
    let cluster = Cluster::new();
    let config = fast("unused").build().unwrap();
    let mut leaders = observe_with_clock(cluster.store.client("o"), &config, TokioClock::new());
    assert_eq!(leaders.next().await, Some(None));
    // Opens the watch.
    assert!(tokio::time::timeout(Duration::from_millis(5), leaders.next()).await.is_err());
    for holder in ["a", "b", "", "c"] {
        cluster.store.overwrite(Record {
            holder: holder.into(),
            lease_duration_seconds: 5,
            ..Record::default()
        });
    }
    sleep_ms(60_000).await;
    for holder in [some("a"), some("b"), None, some("c"), None] {
        assert_eq!(leaders.next().await, Some(holder));
    }
}
