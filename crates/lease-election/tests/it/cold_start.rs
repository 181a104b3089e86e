//! Cold start: a starting candidate that trusts wall clocks within their bound (A8) need not watch
//! a dead leader's Lease for a whole lease.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lease_election::{
    Clock, Config, FenceToken, LeaderElector, Leadership, Moment, Record, Sleep, TokioClock,
};
use tokio::time::Instant;

use crate::cluster::{Cluster, LEASE, fast, sleep_ms};

const BOUND: Duration = Duration::from_millis(500);

/// A clock whose wall clock is off by this many milliseconds.
#[derive(Clone, Copy, Debug)]
struct Skewed {
    clock: TokioClock,
    by: i64,
}

impl Clock for Skewed {
    fn now(&self) -> Moment {
        self.clock.now()
    }
    fn wall(&self) -> Timestamp {
        self.clock.wall() + SignedDuration::from_millis(self.by)
    }
    fn sleep_until(&self, deadline: Moment) -> Sleep {
        self.clock.sleep_until(deadline)
    }
}

type Terms = Arc<Mutex<Vec<Leadership>>>;

/// Campaigns in the background until the test ends, by a wall clock that is off.
fn start(
    cluster: &Cluster,
    clock: TokioClock,
    identity: &str,
    skew: i64,
    seed: u64,
    trusts: bool,
) -> Terms {
    let config = fast(identity);
    let config = if trusts { config.trust_wall_clocks_within(BOUND) } else { config };
    let store = cluster.store.client(identity);
    let elector =
        LeaderElector::with_clock(store, config.build().unwrap(), Skewed { clock, by: skew }, seed);
    let terms = Terms::default();
    let log = Arc::clone(&terms);
    tokio::spawn(async move {
        let work = move |leadership: Leadership| {
            log.lock().unwrap().push(leadership.clone());
            async move {
                leadership.lost().await;
            }
        };
        elector.run_forever(work).await;
    });
    terms
}

fn leads(terms: &Terms) -> Option<FenceToken> {
    terms.lock().unwrap().iter().find(|term| term.is_valid()).map(Leadership::fence)
}

/// The time until it leads.
async fn time_to_lead(terms: &Terms) -> Duration {
    let began = Instant::now();
    while leads(terms).is_none() {
        assert!(began.elapsed() < Duration::from_secs(60));
        sleep_ms(1).await;
    }
    began.elapsed()
}

/// The record of a holder whose process is gone.
fn left_behind(clock: TokioClock, ago: Duration) -> Record {
    let renewed =
        clock.wall() - SignedDuration::try_from(ago).unwrap() + SignedDuration::from_millis(1);
    Record {
        holder: "gone".into(),
        lease_duration_seconds: 5,
        acquire_time: Some(renewed),
        renew_time: Some(renewed),
        ..Record::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ran_out_long_ago_by_the_wall_clock_is_taken_at_once_if_asked_for() {
    for (trusts, ago, at_least, at_most) in [
        (true, 3600.0, 0.0, 0.25),
        (false, 3600.0, 5.0, 5.25),
        // The candidate waits for the rest of the lease, and the bound.
        (true, 2.0, 3.45, 3.75),
        // A whole lease, as without trust.
        (true, 0.0, 5.0, 5.25),
    ] {
        let (cluster, clock) = (Cluster::new(), TokioClock::new());
        cluster.store.overwrite(left_behind(clock, Duration::from_secs_f64(ago)));
        let took = time_to_lead(&start(&cluster, clock, "a", 0, 1, trusts)).await.as_secs_f64();
        assert!((at_least..=at_most).contains(&took), "{trusts} {ago}: {took}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_renewed_after_all_is_not_taken() {
    let (cluster, clock) = (Cluster::new(), TokioClock::new());
    cluster.store.overwrite(left_behind(clock, Duration::from_secs(3600)));
    // The answer travels for longer than the take-over takes: the read is old, and the write meets
    // a conflict.
    cluster.set(
        "a",
        &[lease_election::Verb::Get],
        lease_election::Fault::Slow { before: Duration::ZERO, after: Duration::from_millis(300) },
    );
    let terms = start(&cluster, clock, "a", 0, 1, true);
    sleep_ms(100).await;
    cluster.heal("a");
    let mut record = left_behind(clock, Duration::ZERO);
    record.leader_transitions = 1;
    cluster.store.overwrite(record);
    let took = time_to_lead(&terms).await;
    assert!(took > LEASE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn only_the_first_lease_that_a_candidate_sees_is_judged_so() {
    let (cluster, clock) = (Cluster::new(), TokioClock::new());
    cluster.store.overwrite(left_behind(clock, Duration::ZERO));
    let terms = start(&cluster, clock, "a", 0, 1, true);
    sleep_ms(2000).await;
    // This leader's wall clock is an hour behind. The candidate goes by its own watching.
    cluster.store.overwrite(left_behind(clock, Duration::from_secs(3600)));
    let took = time_to_lead(&terms).await;
    assert!(took > LEASE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_healthy_leader_whose_wall_clock_breaks_the_bound_is_robbed_and_one_within_it_is_not() {
    for (skew, is_robbed) in [(0, false), (-250, false), (-3_600_000, true)] {
        let (cluster, clock) = (Cluster::new(), TokioClock::new());
        let healthy = start(&cluster, clock, "healthy", skew, 1, true);
        sleep_ms(3300).await;
        assert!(leads(&healthy).is_some());
        let cold = start(&cluster, clock, "cold", 250, 2, true);
        sleep_ms(20_000).await;
        assert_eq!(!cold.lock().unwrap().is_empty(), is_robbed, "{skew}");
    }
}

/// Cuts leaders off, which work on until their hold ends, while candidates start at any time.
/// Returns how often two led at once.
async fn overlaps(seed: u64, farthest_ms: i64) -> u32 {
    let mut random = fastrand::Rng::with_seed(seed);
    let (cluster, clock) = (Cluster::new(), TokioClock::new());
    let mut nodes: Vec<Terms> = Vec::new();
    let mut overlaps = 0;
    for round in 0..12 {
        let identity = format!("node-{round}");
        let skew = random.i64(-farthest_ms..=farthest_ms);
        nodes.push(start(&cluster, clock, &identity, skew, random.u64(..), true));
        // Long enough to lead at times, and too short for quiet.
        let cut = random.u64(0..12_000);
        for at in 0..random.u64(1..12_000) / 20 {
            if at == cut / 20 {
                for node in 0..round {
                    cluster.cut(&format!("node-{node}"));
                }
            }
            sleep_ms(20).await;
            overlaps += u32::from(nodes.iter().filter_map(leads).count() > 1);
        }
        if random.bool() {
            cluster.cut(&identity);
        }
    }
    let began: usize = nodes.iter().map(|terms| terms.lock().unwrap().len()).sum();
    assert!(began > 3, "{began} terms");
    overlaps
}

#[test]
fn a_bound_that_makes_no_sense_is_refused_with_the_numbers() {
    for bound in [Duration::ZERO, Duration::from_millis(9), Duration::from_secs(601), Duration::MAX]
    {
        let error =
            Config::builder("ns", "lease").trust_wall_clocks_within(bound).build().unwrap_err();
        assert_eq!(error.field, "trust_wall_clocks_within");
        assert!(
            error.to_string().contains("10ms") && error.to_string().contains("600s"),
            "{error}"
        );
    }
    assert_eq!(
        Config::builder("ns", "lease").build().unwrap().wall_clock_bound(),
        None,
        "never by default"
    );
}

/// A stage of `--full` runs these tests; the stage `test` skips `long`.
mod long {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn within_the_bound_no_two_lead_at_once_and_beyond_it_they_do() {
        for seed in 0..8 {
            assert_eq!(overlaps(seed, 250).await, 0, "seed {seed}");
        }
        let mut broken = 0;
        for seed in 0..8 {
            broken += overlaps(seed, 5_000).await;
        }
        assert!(broken > 0, "clocks that are out by seconds break it: the world can tell");
    }
}
