//! Candidates of the old store, of both and of the new one, with faults of every link to either half: guards never overlap, and when the faults end somebody leads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lease_election::{
    Config, Fault, FenceToken, LeaderElector, Leadership, MemoryLeaseStore, MultiStore, StoreError,
    TokioClock, Verb,
};

use crate::cluster::sleep_ms;

/// A few hundred milliseconds each.
const STEPS: u64 = 2500;

/// How a client's way to one half is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Link {
    Fine,
    /// Every kind of fault, now and then.
    Flaky,
    Cut,
    /// It hears nothing, and is heard.
    Deaf,
}

type Links = Arc<Mutex<HashMap<String, Link>>>;

/// A store to which each client has a link of its own.
fn half(links: &Links, seed: u64) -> MemoryLeaseStore {
    let (links, rng) = (Arc::clone(links), Mutex::new(fastrand::Rng::with_seed(seed)));
    MemoryLeaseStore::new().with_faults(move |client, verb| {
        let link = links.lock().unwrap_or_else(PoisonError::into_inner).get(client).copied();
        let mut rng = rng.lock().unwrap_or_else(PoisonError::into_inner);
        let mut millis = |most: u64| Duration::from_millis(rng.u64(..most));
        match (link.unwrap_or(Link::Fine), verb) {
            (Link::Fine, _) | (Link::Deaf, Verb::Get | Verb::Create | Verb::Update) => Fault::None,
            (Link::Cut | Link::Deaf, _) => Fault::Lost,
            (Link::Flaky, _) => match millis(16).as_millis() {
                0 => Fault::Lost,
                1 => Fault::AnswerLost,
                2 => Fault::Late(millis(6000)),
                3 => Fault::Refused(StoreError::unknown("500")),
                4 => Fault::AppliedBut(StoreError::unknown("500")),
                5 => Fault::Refused(StoreError::TooManyRequests { retry_after: Some(millis(2000)) }),
                6..=9 => Fault::Slow { before: millis(600), after: millis(600) },
                _ => Fault::None,
            },
        }
    })
}

struct Candidate {
    identity: &'static str,
    elector: LeaderElector,
    terms: Arc<Mutex<Vec<Leadership>>>,
    run: tokio::task::JoinHandle<()>,
}

impl Candidate {
    fn start(elector: LeaderElector, identity: &'static str) -> Self {
        let terms: Arc<Mutex<Vec<Leadership>>> = Arc::default();
        let (running, log) = (elector.clone(), Arc::clone(&terms));
        let run = tokio::spawn(async move {
            running
                .run_forever(move |leadership| {
                    log.lock().unwrap_or_else(PoisonError::into_inner).push(leadership.clone());
                    async move { drop(leadership.ending().await) }
                })
                .await;
        });
        Self { identity, elector, terms, run }
    }

    fn valid(&self) -> usize {
        let terms = self.terms.lock().unwrap_or_else(PoisonError::into_inner);
        terms.iter().filter(|term| term.is_valid()).count()
    }

    fn fences(&self) -> Vec<FenceToken> {
        self.terms.lock().unwrap_or_else(PoisonError::into_inner).iter().map(Leadership::fence).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn guards_never_overlap_whatever_happens_to_either_half() {
    let seeds: u64 = std::env::var("MIGRATION_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(24);
    let mut terms = 0;
    for seed in 1..=seeds {
        let mut rng = fastrand::Rng::with_seed(seed);
        let links: [Links; 2] = Default::default();
        let (old, new) = (half(&links[0], seed), half(&links[1], seed + 1000));
        // The first step of the migration or the second.
        let single = if seed % 2 == 0 { &old } else { &new };
        let candidate = |identity: &'static str, both: bool, seconds: u64, n: u64| {
            let config = Config::builder("ns", "lease")
                .fast()
                .lease_duration(Duration::from_secs(seconds))
                .identity(identity)
                .build()
                .unwrap();
            let (clock, seed) = (TokioClock::new(), seed * 100 + n);
            let elector = if both {
                let both = MultiStore::new(old.client(identity), new.client(identity), &config);
                LeaderElector::with_clock(both, config, clock, seed)
            } else {
                LeaderElector::with_clock(single.client(identity), config, clock, seed)
            };
            Candidate::start(elector, identity)
        };
        let candidates = [
            candidate("both-a", true, 5, 1),
            candidate("both-b", true, 9, 2),
            candidate("both-c", true, 5, 3),
            candidate("single-d", false, 5, 4),
            candidate("single-e", false, 9, 5),
        ];
        let mut story = Vec::new();
        for _ in 0..STEPS {
            sleep_ms(rng.u64(10..400)).await;
            let leading: Vec<_> = candidates.iter().filter(|one| one.valid() > 0).collect();
            assert!(
                leading.len() <= 1 && leading.iter().all(|one| one.valid() == 1),
                "seed {seed}: {:?} lead at once, after {story:#?}",
                leading.iter().map(|one| one.identity).collect::<Vec<_>>()
            );
            if rng.u8(..8) == 0 {
                let (client, half) = (rng.choice(&candidates).unwrap().identity, rng.usize(..2));
                let link =
                    [Link::Fine, Link::Fine, Link::Flaky, Link::Flaky, Link::Cut, Link::Deaf][rng.usize(..6)];
                links[half].lock().unwrap_or_else(PoisonError::into_inner).insert(client.to_owned(), link);
                story.push(format!("{client} {half} {link:?}"));
            }
            if rng.u16(..100) == 0 {
                [&old, &new][rng.usize(..2)].touch();
                story.push("a label".to_owned());
            }
        }
        for links in &links {
            links.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        // A late write may come, a half-made one run out, and then a lease.
        sleep_ms(40_000).await;
        assert_eq!(
            candidates.iter().map(Candidate::valid).sum::<usize>(),
            1,
            "seed {seed}: nobody leads, {story:#?}"
        );
        for one in &candidates {
            let fences = one.fences();
            assert!(fences.is_sorted(), "seed {seed}: {} had {fences:?}", one.identity);
            terms += fences.len();
            one.elector.stop_handle().stop();
            one.run.abort();
        }
        sleep_ms(10_000).await;
    }
    assert!(terms >= 4 * usize::try_from(seeds).unwrap(), "{terms} terms: the faults moved nobody");
}
