//! Metrics: each metric as a scrape sees it, while a process stands still, and after an elector is
//! gone.

use std::time::Duration;

use lease_election::prometheus::ElectionMetrics;
use lease_election::{Fault, LeaderElector, MemoryLeaseStore, StoreError, Verb};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::cluster::{Cluster, Replica, fast, forbidden, sleep_ms};
use crate::suspend::Suspending;

const MS: Duration = Duration::from_millis(1);

struct Scraped {
    registry: Registry,
    metrics: ElectionMetrics,
}

impl Scraped {
    fn new() -> Self {
        let mut registry = Registry::default();
        let metrics = ElectionMetrics::register(&mut registry);
        Self { registry, metrics }
    }

    fn of(elector: &LeaderElector) -> Self {
        let scraped = Self::new();
        scraped.metrics.watch(elector);
        scraped
    }

    fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        text
    }

    /// The value of a series of the lease `lease`, with `labels` before the name.
    fn value(&self, metric: &str, labels: &str) -> Option<f64> {
        let text = self.text();
        let begin = format!("leader_election_{metric}{{{labels}name=\"lease\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&begin)).map(|value| value.parse().unwrap())
    }

    #[track_caller]
    fn is(&self, metric: &str, labels: &str, value: f64) {
        assert_eq!(
            self.value(metric, labels),
            Some(value),
            "{metric} {labels} in\n{}",
            self.text()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn names_and_types_are_those_of_client_go_and_all_are_there_at_zero() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let scraped = Scraped::of(&elector);
    let text = scraped.text();
    for line in [
        "# TYPE leader_election_master_status gauge",
        "leader_election_master_status{name=\"lease\"} 0.0",
        "# TYPE leader_election_slowpath counter",
        "leader_election_slowpath_total{name=\"lease\"} 0",
        "leader_election_term_remaining_seconds{name=\"lease\"} 0.0",
        "# TYPE leader_election_renew_duration_seconds histogram",
        "leader_election_renew_duration_seconds_count{name=\"lease\"} 0",
        "leader_election_renew_duration_seconds_bucket{le=\"+Inf\",name=\"lease\"} 0",
        "leader_election_term_token{name=\"lease\"} 0.0",
        "leader_election_takeover_duration_seconds_count{name=\"lease\"} 0",
        "leader_election_drain_duration_seconds_count{name=\"lease\"} 0",
        "leader_election_renewals_total{name=\"lease\"} 0",
        "leader_election_terms_total{name=\"lease\"} 0",
        "leader_election_transitions_total{name=\"lease\"} 0",
        "leader_election_losses_total{reason=\"expired\",name=\"lease\"} 0",
        "leader_election_releases_total{outcome=\"released\",name=\"lease\"} 0",
        "leader_election_request_failures_total{role=\"leader\",reason=\"conflict\",name=\"lease\"} 0",
        "leader_election_reads_total{name=\"lease\"} 0",
        "leader_election_watches_total{name=\"lease\"} 0",
        "leader_election_publisher_failures_total{name=\"lease\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
    }
    assert_eq!(text.matches("leader_election_renew_duration_seconds_bucket").count(), 16);
    assert!(!text.contains("\"a\""), "no identity is a label: {text}");
}

#[tokio::test(start_paused = true)]
async fn master_status_is_one_for_the_leader_and_zero_for_a_standby_and_after_a_stop() {
    let cluster = Cluster::new();
    let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(2500).await;
    let (of_a, of_b) = (Scraped::of(&a.elector), Scraped::of(&b.elector));
    of_a.is("master_status", "", 1.0);
    of_b.is("master_status", "", 0.0);
    // Of two electors of one name, one leads.
    of_b.metrics.watch(&a.elector);
    of_b.is("master_status", "", 1.0);
    // client-go's gauge stays at 1 after a stop between two renewals.
    a.elector.stop_handle().stop();
    (&mut a.run).await.unwrap();
    of_a.is("master_status", "", 0.0);
    of_a.is("releases_total", "outcome=\"released\",", 1.0);
    of_a.is("releases_total", "outcome=\"failed\",", 0.0);
}

/// `a` hands over to `b`, with work that takes 100 ms to wind up. Then `b` is cut off, and `c`
/// takes over.
#[tokio::test(start_paused = true)]
async fn a_take_over_is_counted_from_when_the_lease_was_anybodys_and_a_drain_from_when_it_was_asked_for()
 {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), 100 * MS);
    a.leads().await;
    let config = fast("b").takeover_jitter(Duration::ZERO);
    let b = Replica::start(cluster.elector(config), Duration::ZERO);
    sleep_ms(2500).await;
    let (of_a, of_b) = (Scraped::of(&a.elector), Scraped::of(&b.elector));
    let number = |replica: &Replica| {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let token = replica.fence().number().unwrap() as f64;
        token
    };
    of_a.is("term_token", "", number(&a));
    of_a.is("takeover_duration_seconds_count", "", 1.0);
    a.elector.stop_handle().stop();
    b.leads().await;
    of_a.is("term_token", "", 0.0);
    of_a.is("drain_duration_seconds_count", "", 1.0);
    of_a.is("drain_duration_seconds_bucket", "le=\"0.05\",", 0.0);
    of_a.is("drain_duration_seconds_bucket", "le=\"0.1\",", 1.0);
    of_b.is("term_token", "", number(&b));
    assert!(number(&b) > number(&a));
    of_b.is("takeover_duration_seconds_bucket", "le=\"0.005\",", 1.0);
    sleep_ms(2500).await;
    cluster.cut("b");
    let config = fast("c").takeover_jitter(Duration::ZERO);
    let c = Replica::start(cluster.elector(config), Duration::ZERO);
    c.leads().await;
    // It had seen the record for a whole lease: the time counts from then on.
    Scraped::of(&c.elector).is("takeover_duration_seconds_bucket", "le=\"0.005\",", 1.0);
    // Lost work was not asked to end in time.
    of_b.is("drain_duration_seconds_count", "", 0.0);
    b.run.abort();
    c.run.abort();
}

#[tokio::test(start_paused = true)]
async fn while_a_process_stands_still_its_gauges_go_on() {
    let clock = Suspending::new();
    let config = fast("a").build().unwrap();
    let elector = LeaderElector::with_clock(MemoryLeaseStore::new(), config, clock.clone(), 1);
    let scraped = Scraped::of(&elector);
    let a = Replica::start(elector, Duration::ZERO);
    a.leads().await;
    sleep_ms(500).await;
    scraped.is("master_status", "", 1.0);
    let before = scraped.value("term_remaining_seconds", "").unwrap();
    assert!((3.0..4.0).contains(&before), "{before}");
    // No task runs from here on: only the scrape reads the clock.
    clock.suspend(2000 * MS);
    let after = scraped.value("term_remaining_seconds", "").unwrap();
    assert!((before - after - 2.0).abs() < 1e-6, "{before} and then {after}");
    scraped.is("master_status", "", 1.0);
    clock.suspend(2000 * MS);
    scraped.is("master_status", "", 0.0);
    scraped.is("term_remaining_seconds", "", 0.0);
    a.run.abort();
}

#[tokio::test(start_paused = true)]
async fn renewals_fall_into_the_bucket_of_the_time_they_took() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Update], Fault::Slow { before: 30 * MS, after: 10 * MS });
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let scraped = Scraped::of(&a.elector);
    sleep_ms(3500).await;
    scraped.is("renewals_total", "", 3.0);
    scraped.is("renew_duration_seconds_count", "", 3.0);
    let sum = scraped.value("renew_duration_seconds_sum", "").unwrap();
    assert!((0.12..0.13).contains(&sum), "{sum}");
    scraped.is("renew_duration_seconds_bucket", "le=\"0.025\",", 0.0);
    scraped.is("renew_duration_seconds_bucket", "le=\"0.05\",", 3.0);
    // The watch reports the renewal whose answer is lost: it counts, without a duration.
    cluster.set("a", &[Verb::Update], Fault::AnswerLost);
    sleep_ms(600).await;
    scraped.is("renewals_total", "", 4.0);
    scraped.is("renew_duration_seconds_count", "", 3.0);
    scraped.is("slowpath_total", "", 0.0);
    // Its time-out is the slow path.
    sleep_ms(900).await;
    scraped.is("slowpath_total", "", 1.0);
    scraped.is("request_failures_total", "role=\"leader\",reason=\"unknown\",", 1.0);
}

#[tokio::test(start_paused = true)]
async fn losses_are_counted_by_reason_and_terms_and_transitions_with_them() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let scraped = Scraped::of(&elector);
    let running = elector.clone();
    let run = tokio::spawn(async move {
        running.run_forever(|leadership| async move { drop(leadership.lost().await) }).await;
    });
    let loss =
        |reason: &str| scraped.value("losses_total", &format!("reason=\"{reason}\",")).unwrap();
    sleep_ms(1500).await;
    cluster.store.delete();
    sleep_ms(10).await;
    assert_eq!((loss("deleted"), loss("expired")), (1.0, 0.0));
    sleep_ms(1000).await;
    let mut record = cluster.store.lease().unwrap().record;
    record.holder = "b".into();
    cluster.store.overwrite(record);
    sleep_ms(10).await;
    assert_eq!(loss("taken_over"), 1.0);
    sleep_ms(6000).await;
    let mut record = cluster.store.lease().unwrap().record;
    assert_eq!(record.holder, "a");
    record.renew_time = None;
    cluster.store.overwrite(record);
    sleep_ms(10).await;
    assert_eq!(loss("foreign_write"), 1.0);
    sleep_ms(6000).await;
    cluster.cut("a");
    sleep_ms(6000).await;
    assert_eq!(loss("expired"), 1.0);
    // a, no holder, a, b, a; the foreign write changed no holder.
    scraped.is("transitions_total", "", 5.0);
    scraped.is("terms_total", "", 4.0);
    scraped.is("master_status", "", 0.0);
    let failed =
        scraped.value("request_failures_total", "role=\"leader\",reason=\"unknown\",").unwrap();
    assert!(failed >= 2.0, "{failed}");
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_may_not_is_seen_to_fail_and_polls_are_counted() {
    let cluster = Cluster::new();
    cluster.set("a", &[Verb::Create], forbidden());
    cluster.set("a", &[Verb::Watch], forbidden());
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    b.leads().await;
    sleep_ms(10_000).await;
    let (of_a, of_b) = (Scraped::of(&a.elector), Scraped::of(&b.elector));
    assert!(
        of_a.value("request_failures_total", "role=\"candidate\",reason=\"rejected\",").unwrap()
            >= 1.0
    );
    of_a.is("watches_total", "", 0.0);
    of_b.is("watches_total", "", 1.0);
    let reads = of_a.value("reads_total", "").unwrap();
    assert!((6.0..=16.0).contains(&reads), "{reads}");
    cluster.set(
        "b",
        &[Verb::Update],
        Fault::Refused(StoreError::TooManyRequests { retry_after: None }),
    );
    sleep_ms(1100).await;
    assert!(
        of_b.value("request_failures_total", "role=\"leader\",reason=\"too_many_requests\",")
            .unwrap()
            >= 1.0
    );
}

#[tokio::test(start_paused = true)]
async fn what_an_elector_counted_stays_when_it_is_gone_and_its_gauges_go() {
    let cluster = Cluster::new();
    let scraped = Scraped::new();
    for _ in 0..2 {
        let elector = cluster.elector(fast("a"));
        scraped.metrics.watch(&elector);
        let mut a = Replica::start(elector, Duration::ZERO);
        a.leads().await;
        a.elector.stop_handle().stop();
        (&mut a.run).await.unwrap();
        scraped.is("master_status", "", 0.0);
    }
    scraped.is("terms_total", "", 2.0);
    assert_eq!(scraped.value("master_status", ""), None);
    scraped.is("terms_total", "", 2.0);
    scraped.metrics.watch_as("of its own", &cluster.elector(fast("c")));
    assert!(format!("{:?}", scraped.metrics).contains("ElectionMetrics"));
    assert!(scraped.text().contains("leader_election_terms_total{name=\"of its own\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn an_elector_that_is_watched_twice_counts_once() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let scraped = Scraped::of(&elector);
    scraped.metrics.watch(&elector.clone());
    let mut a = Replica::start(elector, Duration::ZERO);
    a.leads().await;
    scraped.is("terms_total", "", 1.0);
    scraped.is("master_status", "", 1.0);
    a.elector.stop_handle().stop();
    (&mut a.run).await.unwrap();
    drop(a);
    scraped.is("terms_total", "", 1.0);
}
