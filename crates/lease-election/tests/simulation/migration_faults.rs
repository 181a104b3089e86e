//! Migration faults: candidates of the old store, of the new one and of both, beside two of
//! client-go's.
//!
//! All links to either half have faults, and processes crash, stop and restart. Guards never
//! overlap, and a candidate leads once the faults end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lease_election::{
    Config, Fault, FenceToken, LeaderElector, Leadership, LeaseStore, MemoryLeaseStore, MultiStore,
    StoreError, TokioClock, Verb,
};
use tokio::time::{Instant, sleep};

use crate::go_lock::GoLock;

/// A few hundred milliseconds each.
const STEPS: u64 = 2500;
/// The shorter leases.
const LEASE: Duration = Duration::from_secs(5);
/// The longer leases, where lengths differ.
const LONG: Duration = Duration::from_secs(9);
/// The time to a leader once all processes run again, a shorter lease after the last fault. A late
/// write may arrive a second later, and is noticed within five. Then it must expire: the longer
/// lease, and the random wait.
const LEADS_WITHIN: Duration = Duration::from_secs(16);
/// A candidate that may not write one half may write the other once, before it finds out.
const FINDS_OUT_WITHIN: Duration = LEASE;
/// The time that a request takes on a far link, and its answer.
const FAR: Duration = Duration::from_millis(20);

/// The state of a client's link to one half.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Link {
    Fine,
    /// Requests take a while; events arrive before their answers.
    Far,
    /// The client may read, but not write.
    Forbidden,
    /// Writes are applied, and not answered.
    Unanswered,
    /// Every kind of fault, sometimes.
    Flaky,
    Cut,
    /// Watches and events are lost; other requests succeed.
    Deaf,
}

type Links = Arc<Mutex<HashMap<String, Link>>>;

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A store with a link for each client.
fn half(links: &Links, seed: u64) -> MemoryLeaseStore {
    let (links, rng) = (Arc::clone(links), Mutex::new(fastrand::Rng::with_seed(seed)));
    MemoryLeaseStore::new().with_faults(move |client, verb| {
        let link = locked(&links).get(client).copied();
        let mut rng = locked(&rng);
        let mut millis = |most: u64| Duration::from_millis(rng.u64(..most));
        match (link.unwrap_or(Link::Fine), verb) {
            (Link::Fine, _) | (Link::Deaf, Verb::Get | Verb::Create | Verb::Update) => Fault::None,
            (Link::Far, Verb::Event)
            | (Link::Forbidden | Link::Unanswered, Verb::Get | Verb::Watch | Verb::Event) => {
                Fault::None
            }
            (Link::Unanswered, _) => Fault::AnswerLost,
            (Link::Far, _) => Fault::Slow { before: FAR, after: FAR },
            (Link::Forbidden, _) => {
                Fault::Refused(StoreError::Rejected { code: 403, message: "no".into() })
            }
            (Link::Cut | Link::Deaf, _) => Fault::Lost,
            (Link::Flaky, _) => match millis(16).as_millis() {
                0 => Fault::Lost,
                1 => Fault::AnswerLost,
                2 => Fault::Late(millis(6000)),
                3 => Fault::Refused(StoreError::unknown("500")),
                4 => Fault::AppliedBut(StoreError::unknown("500")),
                5 => {
                    Fault::Refused(StoreError::TooManyRequests { retry_after: Some(millis(2000)) })
                }
                6..=9 => Fault::Slow { before: millis(600), after: millis(600) },
                _ => Fault::None,
            },
        }
    })
}

/// Sets the links of all candidates to this half.
fn set_links(candidates: &[Candidate], links: &Links, link: Link) {
    let mut links = locked(links);
    for one in candidates {
        links.insert(one.identity.to_owned(), link);
    }
}

/// One process of a candidate.
struct Process {
    elector: LeaderElector,
    terms: Arc<Mutex<Vec<Leadership>>>,
    run: tokio::task::JoinHandle<()>,
}

/// A candidate over all its processes.
struct Candidate {
    identity: &'static str,
    /// The only half that it knows; both if `None`.
    only: Option<usize>,
    lease: Duration,
    /// The present process is the last. No two of their guards may be valid at once.
    processes: Vec<Process>,
}

/// The parts that the candidates share.
struct World {
    halves: [MemoryLeaseStore; 2],
    seed: u64,
    /// One clock for all processes, so that no record repeats an earlier process's.
    clock: TokioClock,
    /// Work ends by itself no more.
    calm: Arc<AtomicBool>,
}

impl World {
    fn start(&self, candidate: &mut Candidate, n: u64) {
        let Candidate { identity, only, lease, .. } = *candidate;
        let config = Config::builder("ns", "lease").fast().lease_duration(lease).identity(identity);
        let config = config.build().unwrap();
        let [old, new] = [0, 1].map(|half| self.halves[half].client(identity));
        let store: Arc<dyn LeaseStore> = match only {
            Some(0) => Arc::new(old),
            Some(_) => Arc::new(new),
            None => Arc::new(MultiStore::new(old, new, &config)),
        };
        let seed = self.seed * 10_000 + n;
        let elector = LeaderElector::with_clock(store, config, self.clock, seed);
        let terms: Arc<Mutex<Vec<Leadership>>> = Arc::default();
        let (running, log, calm) = (elector.clone(), Arc::clone(&terms), Arc::clone(&self.calm));
        let mut rng = fastrand::Rng::with_seed(seed);
        let run = tokio::spawn(async move {
            running
                .run_forever(move |leadership| {
                    locked(&log).push(leadership.clone());
                    let (calm, done) = (Arc::clone(&calm), Duration::from_secs(rng.u64(2..60)));
                    async move {
                        let work = tokio::time::timeout(done, leadership.ending()).await;
                        if work.is_err() && calm.load(Ordering::SeqCst) {
                            drop(leadership.ending().await);
                        }
                    }
                })
                .await;
        });
        candidate.processes.push(Process { elector, terms, run });
    }
}

impl Candidate {
    fn valid(&self) -> usize {
        let terms = self.processes.iter().map(|process| locked(&process.terms));
        terms.map(|terms| terms.iter().filter(|term| term.is_valid()).count()).sum()
    }

    fn fences(&self) -> Vec<FenceToken> {
        let terms = self.processes.iter().map(|process| locked(&process.terms));
        terms.flat_map(|terms| terms.iter().map(Leadership::fence).collect::<Vec<_>>()).collect()
    }

    fn process(&self) -> &Process {
        self.processes.last().expect("it was started")
    }
}

/// The events of all seeds.
#[derive(Default, Debug)]
struct Counts {
    terms: usize,
    given_back: u64,
    crashed: usize,
    /// Crashes while leading.
    crashed_leading: usize,
    stopped: usize,
    started_again: usize,
    go_terms: usize,
    go_over_marks: usize,
    maintenance: usize,
    forbidden: usize,
    unanswered: usize,
}

#[tokio::test(start_paused = true)]
async fn guards_never_overlap_whatever_happens_to_either_half() {
    let seeds: u64 =
        std::env::var("MIGRATION_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(24);
    let from: u64 =
        std::env::var("MIGRATION_FROM").ok().and_then(|from| from.parse().ok()).unwrap_or(1);
    let mut counts = Counts::default();
    for seed in from..from + seeds {
        one_seed(seed, &mut counts).await;
    }
    let at_least = usize::try_from(seeds).unwrap();
    assert!(counts.terms >= 4 * at_least, "{counts:?}: the faults moved nobody");
    if from == 1 && seeds >= 24 {
        let Counts { given_back, crashed, crashed_leading, stopped, started_again, .. } = counts;
        let Counts { go_terms, go_over_marks, maintenance, forbidden, unanswered, .. } = counts;
        let happened = [
            crashed,
            stopped,
            started_again,
            go_terms,
            go_over_marks,
            maintenance,
            forbidden,
            unanswered,
        ];
        assert!(happened.into_iter().all(|times| times >= at_least), "{counts:?}");
        assert!(given_back >= seeds && crashed_leading > 0, "{counts:?}");
    }
}

async fn one_seed(seed: u64, counts: &mut Counts) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let links: [Links; 2] = Default::default();
    let halves = [half(&links[0], seed), half(&links[1], seed + 1000)];
    let world = World { halves, seed, clock: TokioClock::new(), calm: Arc::default() };
    // The first step of the migration, or the second.
    let single = usize::from(!seed.is_multiple_of(2));
    let long = if seed.is_multiple_of(3) { LONG } else { LEASE };
    let candidate =
        |identity, only, lease| Candidate { identity, only, lease, processes: Vec::new() };
    let mut candidates = [
        candidate("both-a", None, LEASE),
        candidate("both-b", None, long),
        candidate("both-c", None, LEASE),
        candidate("single-d", Some(single), LEASE),
        candidate("single-e", Some(single), long),
    ];
    let mut started = 0;
    for one in &mut candidates {
        started += 1;
        world.start(one, started);
    }
    let mut go = vec![GoLock::new("go", vec![world.halves[single].clone()], world.clock, long)];
    if single == 0 {
        // In the other step, its MultiLock would overwrite the new candidates' record.
        go.push(GoLock::new("go-multi", world.halves.to_vec(), world.clock, long));
    }
    let mut story = Vec::new();
    let mut outage: Option<Instant> = None;
    let began = Instant::now();
    for _ in 0..STEPS {
        sleep(Duration::from_millis(rng.u64(10..400))).await;
        go.iter_mut().for_each(GoLock::step);
        let go_leads = go.iter().filter(|go| go.leads()).count();
        let leading: Vec<_> = candidates.iter().filter(|one| one.valid() > 0).collect();
        assert!(
            leading.len() + go_leads <= 1 && leading.iter().all(|one| one.valid() == 1),
            "seed {seed}: {:?} and {go_leads} of client-go lead at once, at {:?}, after {story:#?}",
            leading.iter().map(|one| one.identity).collect::<Vec<_>>(),
            began.elapsed()
        );
        let leader = leading.first().map(|one| one.identity);
        let mut tell =
            |what: String| story.push(format!("{:?} {leader:?} leads: {what}", began.elapsed()));
        if rng.u8(..8) == 0 {
            let (client, half) = (rng.choice(&candidates).unwrap().identity, rng.usize(..2));
            let link = [
                Link::Fine,
                Link::Far,
                Link::Flaky,
                Link::Flaky,
                Link::Cut,
                Link::Deaf,
                Link::Forbidden,
                Link::Unanswered,
            ][rng.usize(..8)];
            counts.forbidden += usize::from(link == Link::Forbidden);
            counts.unanswered += usize::from(link == Link::Unanswered);
            locked(&links[half]).insert(client.to_owned(), link);
            tell(format!("{client} {half} {link:?}"));
        }
        if rng.u16(..100) == 0 {
            world.halves[rng.usize(..2)].touch();
            tell("a label".to_owned());
        }
        let number = rng.usize(..go.len());
        let lock = &mut go[number];
        if rng.u8(..40) == 0 {
            lock.be_silent_for(Duration::from_millis(rng.u64(1..12_000)));
            tell(format!("client-go {number} is silent"));
        }
        if rng.u8(..60) == 0 {
            lock.release();
            lock.be_silent_for(Duration::from_secs(3));
            tell(format!("client-go {number} starts again"));
        }
        match outage {
            None if rng.u8(..60) == 0 => {
                outage = Some(Instant::now());
                set_links(&candidates, &links[1], Link::Cut);
                tell("the new half is cut off from all of ours".to_owned());
            }
            Some(since) if since.elapsed() > LEASE * 2 => {
                outage = None;
                links.iter().for_each(|links| locked(links).clear());
                tell("all of ours are back".to_owned());
            }
            // Half of the writes in flight are applied.
            Some(since) if since.elapsed() > Duration::from_millis(1500) => {
                set_links(&candidates, &links[0], Link::Cut);
            }
            _ => {}
        }
        if rng.u8(..20) == 0 {
            let one = &candidates[rng.usize(..5)];
            let maintenance = one.process().elector.maintenance();
            maintenance.switch(!maintenance.is_on());
            counts.maintenance += 1;
            tell(format!("{} is under maintenance: {}", one.identity, maintenance.is_on()));
        }
        let one = &mut candidates[rng.usize(..5)];
        if one.process().run.is_finished() {
            started += 1;
            counts.started_again += 1;
            world.start(one, started);
            tell(format!("{} starts", one.identity));
        } else if rng.u8(..60) == 0 {
            counts.crashed += 1;
            counts.crashed_leading += usize::from(leader == Some(one.identity));
            one.process().run.abort();
            tell(format!("{} crashes", one.identity));
        } else if rng.u8(..60) == 0 {
            counts.stopped += 1;
            one.process().elector.stop_handle().stop();
            tell(format!("{} is stopped", one.identity));
        }
    }
    for links in &links {
        locked(links).clear();
    }
    // All links work, except those of one candidate in half of the seeds.
    let within = match seed % 4 {
        0 | 1 => LEADS_WITHIN,
        2 => {
            let half = rng.usize(..2);
            locked(&links[half]).insert(candidates[0].identity.to_owned(), Link::Forbidden);
            story.push(format!("{} may not write half {half}", candidates[0].identity));
            LEADS_WITHIN + FINDS_OUT_WITHIN
        }
        _ => {
            for links in &links {
                locked(links).insert(candidates[0].identity.to_owned(), Link::Unanswered);
            }
            story.push(format!("no write of {} is answered", candidates[0].identity));
            LEADS_WITHIN
        }
    };
    for mut go in go {
        go.release();
        counts.go_terms += go.terms;
        counts.go_over_marks += go.over_marks;
    }
    world.calm.store(true, Ordering::SeqCst);
    for one in &candidates {
        one.process().elector.maintenance().end();
    }
    sleep(LEASE).await;
    for one in &mut candidates {
        if one.process().run.is_finished() {
            started += 1;
            world.start(one, started);
        }
    }
    let ended = Instant::now();
    while candidates.iter().all(|one| one.valid() == 0) {
        assert!(ended.elapsed() < within, "seed {seed}: nobody leads, {story:#?}");
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_secs(20)).await;
    assert_eq!(
        candidates.iter().map(Candidate::valid).sum::<usize>(),
        1,
        "seed {seed}: not one leads, {story:#?}"
    );
    for one in &candidates {
        let fences = one.fences();
        assert!(fences.is_sorted(), "seed {seed}: {} had {fences:?}", one.identity);
        counts.terms += fences.len();
        for process in &one.processes {
            counts.given_back += process.elector.stats().releases;
            process.elector.stop_handle().stop();
            process.run.abort();
        }
    }
    sleep(Duration::from_secs(10)).await;
}
