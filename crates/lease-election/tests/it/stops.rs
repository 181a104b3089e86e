//! Stops: a stop before the elector leads, its waits, and that it leaves nothing for which others
//! have to wait.

use std::time::Duration;

use lease_election::{Fault, Outcome, Record, StoreError, Verb};
use tokio::time::Instant;

use crate::cluster::{Cluster, Replica, fast, forbidden, sleep_ms};

const MS: Duration = Duration::from_millis(1);

/// A free Lease, and a dead holder's Lease, which expires after a second.
fn grounds() -> [Record; 2] {
    let dead = Record { holder: "dead".into(), lease_duration_seconds: 1, ..Record::default() };
    [Record::default(), dead]
}

#[tokio::test(start_paused = true)]
async fn v15_an_acquisition_that_is_applied_after_the_stop_strands_nobody() {
    for ground in grounds() {
        for (late, comes_after) in
            [(300, 0), (901, 0), (1500, 0), (901, 2000), (1500, 2000), (2500, 4000)]
        {
            let cluster = Cluster::new();
            cluster.store.overwrite(ground.clone());
            cluster.set("a", &[Verb::Watch], forbidden());
            cluster.set("a", &[Verb::Create, Verb::Update], Fault::Late(late * MS));
            let mut a = Replica::start(
                cluster.elector(fast("a").takeover_jitter(Duration::ZERO)),
                Duration::ZERO,
            );
            while cluster.requests_of("a", Verb::Create) + cluster.requests_of("a", Verb::Update)
                == 0
            {
                sleep_ms(1).await;
            }
            cluster.set("a", &[Verb::Create, Verb::Update], Fault::None);
            a.elector.stop_handle().stop();
            let asked = Instant::now();
            assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
            assert!(asked.elapsed() <= 1800 * MS, "two requests' time");
            sleep_ms(comes_after).await;
            let after = Instant::now();
            let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
            let took = b.leads().await - after;
            assert!(
                took <= 10 * MS,
                "{ground:?}, applied after {late} ms: took {took:?} from {comes_after} ms on"
            );
            // A write that arrives later meets a conflict.
            sleep_ms(10_000).await;
            assert!(b.last().leadership.is_valid() && b.elector.stats().terms == 1);
        }
    }
}

/// Without a Lease there is no version for a condition. Applied late, the write would make a free
/// Lease beside a leader whose Lease was deleted.
#[tokio::test(start_paused = true)]
async fn v15_a_stop_makes_no_lease() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Watch], forbidden());
    cluster.set("a", &[Verb::Create], Fault::Lost);
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    sleep_ms(10).await;
    assert_eq!(cluster.requests_of("a", Verb::Create), 1);
    cluster.heal("a");
    a.elector.stop_handle().stop();
    assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
    assert_eq!((cluster.requests_of("a", Verb::Create), cluster.store.lease()), (1, None));
}

/// The server stands still for longer than a hold, and then applies the write.
#[tokio::test(start_paused = true)]
async fn v15_an_acquisition_that_was_applied_too_late_for_a_term_is_given_back_by_a_stop() {
    let cluster = Cluster::new();
    cluster.store.overwrite(Record::default());
    cluster.set("a", &[Verb::Watch], forbidden());
    cluster.set("a", &[Verb::Update], Fault::Late(6000 * MS));
    let mut a =
        Replica::start(cluster.elector(fast("a").takeover_jitter(Duration::ZERO)), Duration::ZERO);
    sleep_ms(10).await;
    assert_eq!(cluster.requests_of("a", Verb::Update), 1);
    cluster.set("a", &[Verb::Update], Fault::None);
    cluster.set("a", &[Verb::Get], Fault::Lost);
    sleep_ms(5890).await;
    a.elector.stop_handle().stop();
    let asked = Instant::now();
    sleep_ms(110).await;
    cluster.set("a", &[Verb::Get], Fault::None);
    assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
    assert!(asked.elapsed() <= 1800 * MS, "two requests' time");
    let after = Instant::now();
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    assert!(b.leads().await - after <= 10 * MS);
}

/// A stop is bounded in time, and in its requests to a server that accepts no writes.
#[tokio::test(start_paused = true)]
async fn v15_a_stop_whose_writes_fail_does_not_storm_the_server() {
    for error in
        [StoreError::unknown("500"), StoreError::Rejected { code: 403, message: "no".into() }]
    {
        let cluster = Cluster::new();
        cluster.store.overwrite(Record::default());
        cluster.set("a", &[Verb::Watch], forbidden());
        cluster.set("a", &[Verb::Update], Fault::Late(60_000 * MS));
        let mut a = Replica::start(
            cluster.elector(fast("a").takeover_jitter(Duration::ZERO)),
            Duration::ZERO,
        );
        sleep_ms(10).await;
        assert_eq!(cluster.requests_of("a", Verb::Update), 1);
        cluster.set("a", &[Verb::Update], Fault::Refused(error.clone()));
        a.elector.stop_handle().stop();
        let asked = Instant::now();
        assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
        assert!(asked.elapsed() <= 1800 * MS);
        let sent = cluster.requests_of("a", Verb::Update) + cluster.requests_of("a", Verb::Get);
        assert!((3..=8).contains(&sent), "{error}: {sent} requests");
    }
}

/// The elector waits for as long as the server asks, if that is within the time of two requests.
/// Otherwise it does not wait.
#[tokio::test(start_paused = true)]
async fn v15_a_stop_leaves_a_server_alone_that_asks_for_it() {
    for (asked_for, reads, until) in [(600, 2, 1501), (10_000, 1, 901)] {
        let cluster = Cluster::new();
        cluster.store.overwrite(Record::default());
        cluster.set("a", &[Verb::Watch], forbidden());
        cluster.set("a", &[Verb::Update], Fault::Lost);
        let mut a = Replica::start(
            cluster.elector(fast("a").takeover_jitter(Duration::ZERO)),
            Duration::ZERO,
        );
        while cluster.requests_of("a", Verb::Update) == 0 {
            sleep_ms(1).await;
        }
        let before = cluster.requests_of("a", Verb::Get);
        let busy = StoreError::TooManyRequests { retry_after: Some(asked_for * MS) };
        cluster.set("a", &[Verb::Get], Fault::Refused(busy));
        a.elector.stop_handle().stop();
        let asked = Instant::now();
        assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
        assert!(asked.elapsed() <= until * MS, "{asked_for}: took {:?}", asked.elapsed());
        assert_eq!(cluster.requests_of("a", Verb::Get) - before, reads, "{asked_for}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_gives_nothing_back_writes_nothing_when_it_is_stopped() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Watch], forbidden());
    cluster.set("a", &[Verb::Create], Fault::Lost);
    let mut a = Replica::start(cluster.elector(fast("a").release_on_stop(false)), Duration::ZERO);
    sleep_ms(10).await;
    cluster.heal("a");
    a.elector.stop_handle().stop();
    assert_eq!((&mut a.run).await.unwrap(), Outcome::NeverLed);
    assert_eq!(cluster.store.lease(), None);
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_is_stopped_waits_for_no_read_and_no_watch() {
    for hanging in [Verb::Get, Verb::Watch] {
        for after in (1000..4000).step_by(100) {
            let cluster = Cluster::new();
            let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
            a.leads().await;
            cluster.set(
                "b",
                &[Verb::Watch],
                if hanging == Verb::Watch { Fault::Lost } else { forbidden() },
            );
            let mut b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
            sleep_ms(100).await;
            cluster.set("b", &[Verb::Get], Fault::Lost);
            sleep_ms(after).await;
            b.elector.stop_handle().stop();
            let asked = Instant::now();
            assert_eq!((&mut b.run).await.unwrap(), Outcome::NeverLed);
            assert!(asked.elapsed() <= MS, "{hanging:?}, {after} ms: took {:?}", asked.elapsed());
        }
    }
}
