//! Stale: electors whose API servers lag by changing times or revisions: that may cost time, and
//! never makes a second leader.

use std::collections::BTreeMap;
use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use lease_election::{Config, FenceToken, KubeLeaseStore, LeaderElector, TokioClock};

use crate::cluster::{Replica, sleep_ms};

const IDENTITIES: [&str; 3] = ["a", "b", "c"];

/// An elector at an API server of its own.
struct Candidate {
    front: embedded_apiserver::Replica,
    replica: Replica,
}

impl Candidate {
    fn start(server: &EmbeddedApiServer, identity: &str, seed: u64) -> Self {
        let front = server.replica();
        let config = Config::builder("default", "lease").fast().identity(identity).build().unwrap();
        let store = KubeLeaseStore::new(front.client_as(identity), &config);
        let elector = LeaderElector::with_clock(store, config, TokioClock::new(), seed);
        Self { front, replica: Replica::start(elector, Duration::ZERO) }
    }

    fn is_valid(&self) -> bool {
        self.replica.terms.lock().unwrap().last().is_some_and(|led| led.leadership.is_valid())
    }

    /// Sets another lag, up to one longer than a lease, or to no news at all.
    fn lag(&self, rng: &mut fastrand::Rng) {
        match rng.u8(..4) {
            0 => self.front.behind(Duration::ZERO),
            1 => self.front.behind(Duration::from_millis(rng.u64(..20_000))),
            2 => self.front.behind_revisions(rng.u64(..8)),
            _ => self.front.behind(Duration::MAX),
        };
    }
}

/// Notes a term and its elector: no two terms have the same fence token.
fn note(terms: &mut BTreeMap<(String, u64), String>, identity: &str, fence: &FenceToken) {
    let version = fence.resource_version.parse().unwrap();
    let had = terms.entry((fence.uid.clone(), version)).or_insert_with(|| identity.to_owned());
    assert_eq!(had, identity, "two terms with one fence");
}

#[tokio::test(start_paused = true)]
async fn electors_on_servers_that_lag_behind_never_lead_together_and_lead_again() {
    let mut leaders_crashed = 0;
    for seed in 1..=3 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let server = EmbeddedApiServer::builder().seed(seed).build();
        let mut candidates: BTreeMap<&str, Candidate> = BTreeMap::new();
        let mut terms = BTreeMap::new();
        let mut crashed = Vec::new();
        for step in 0..800 {
            sleep_ms(rng.u64(50..500)).await;
            let identity = IDENTITIES[rng.usize(..3)];
            match (rng.u8(..60), candidates.get(identity)) {
                (_, None) => {
                    candidates.insert(identity, Candidate::start(&server, identity, rng.u64(..)));
                }
                (0, Some(candidate)) => {
                    // It crashes: its requests are lost, it releases nothing, and its guard no
                    // longer counts.
                    candidate.front.faults().partition(identity);
                    leaders_crashed += usize::from(candidate.is_valid());
                    candidate.replica.run.abort();
                    crashed.push(candidate.replica.elector.clone());
                    candidates.remove(identity);
                }
                (1 | 2, Some(candidate)) => {
                    candidate.replica.elector.stop_handle().stop();
                    let mut stopped = candidates.remove(identity).unwrap();
                    (&mut stopped.replica.run).await.expect("it did not panic");
                }
                (3..12, Some(candidate)) => candidate.lag(&mut rng),
                _ => {}
            }
            let valid: Vec<_> =
                candidates.iter().filter(|(_, candidate)| candidate.is_valid()).collect();
            assert!(
                valid.len() <= 1,
                "seed {seed}, step {step}: {:?}",
                valid.iter().map(|one| one.0).collect::<Vec<_>>()
            );
            for (identity, candidate) in valid {
                note(&mut terms, identity, &candidate.replica.fence());
            }
            // An elector that lost its term has ended without a panic.
            for identity in IDENTITIES {
                if candidates.get(identity).is_some_and(|one| one.replica.run.is_finished()) {
                    let ended = candidates.remove(identity).unwrap();
                    ended.replica.run.await.expect("it did not panic");
                }
            }
        }
        for elector in crashed {
            assert_eq!(elector.stats().releases, 0, "seed {seed}: who crashed gave the lease back");
        }
        assert!(terms.len() > 5, "seed {seed}: {} terms", terms.len());
        for candidate in candidates.values() {
            candidate.front.behind(Duration::ZERO);
        }
        sleep_ms(30_000).await;
        assert!(
            candidates.values().any(Candidate::is_valid),
            "seed {seed}: nobody leads when all is well"
        );
    }
    assert!(leaders_crashed > 0, "no leader ever crashed");
}
