//! Warm-up: a cold candidate looks on, for as long as it asked for, and a term that has begun goes
//! on.

use std::time::Duration;

use lease_election::{Ending, Fault, Outcome, Verb};
use tokio::time::Instant;

use crate::cluster::{Cluster, Replica, fast, sleep_ms};

const MS: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_cold_standby_leaves_the_lease_to_others_and_takes_it_when_it_is_warm() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let cold = cluster.elector(fast("b"));
    let (one, other) = (cold.warm_up(MINUTE), cold.warm_up(MINUTE));
    let b = Replica::start(cold, Duration::ZERO);
    sleep_ms(2000).await;
    assert!(b.elector.status().warming_up && !a.elector.status().warming_up);
    assert_eq!(b.elector.leader().as_deref(), Some("a"), "it looks on");
    a.elector.stop_handle().stop();
    assert_eq!(a.run.await.unwrap(), Outcome::Finished(Ending::StopRequested));
    sleep_ms(3000).await;
    drop(one);
    sleep_ms(3000).await;
    assert_eq!(cluster.holder(), "", "both are waited for");
    assert_eq!(cluster.requests_of("b", Verb::Update), 0);
    let c = Replica::start(cluster.elector(fast("c")), Duration::ZERO);
    assert!(c.leads().await.elapsed() <= 5 * MS, "one that is warm leads meanwhile");
    sleep_ms(1000).await;
    c.elector.stop_handle().stop();
    c.run.await.unwrap();
    let warm = Instant::now();
    drop(other);
    assert!(b.leads().await - warm <= 5 * MS);
    assert!(!b.elector.status().warming_up);
    b.run.abort();
}

#[tokio::test(start_paused = true)]
async fn where_nobody_leads_the_first_to_be_out_of_patience_does() {
    let cluster = Cluster::new();
    let start = Instant::now();
    let electors = [("a", 20), ("b", 10)].map(|(identity, seconds)| {
        let elector = cluster.elector(fast(identity));
        let warm_up = elector.warm_up(Duration::from_secs(seconds));
        (Replica::start(elector, Duration::ZERO), warm_up)
    });
    let [(a, _), (b, _)] = &electors;
    let led = b.leads().await - start;
    assert!(10_000 * MS <= led && led <= 10_005 * MS, "took {led:?}");
    // Its readiness no longer matters, and another warm-up ends no term.
    let _more = b.elector.warm_up(MINUTE);
    sleep_ms(20_000).await;
    assert!(b.elector.is_leader() && !a.elector.is_leader());
    a.run.abort();
    b.run.abort();
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_that_was_sent_before_begins_its_term() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Create], Fault::Slow { before: 100 * MS, after: 100 * MS });
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    sleep_ms(50).await;
    let _cold = a.elector.warm_up(MINUTE);
    a.leads().await;
    assert!(a.elector.is_leader());
    // The next campaign waits.
    a.run.abort();
    sleep_ms(10).await;
    let again = Replica::start(a.elector.clone(), Duration::ZERO);
    sleep_ms(30_000).await;
    assert!(!again.elector.is_leader());
    again.elector.stop_handle().stop();
    assert_eq!(again.run.await.unwrap(), Outcome::NeverLed, "a stop need not wait for it");
}
