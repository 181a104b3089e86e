//! Many electors, one lease, every fault of the store, clocks that run at different rates, and time that is not real: one seed, one history.
//! After every step: no two valid guards, fence tokens only rise, a lease is emptied only by one whose work has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use lease_election::{
    Clock, Config, Ending, Fault, FenceToken, LeaderElector, Leadership, MemoryLeaseStore, Moment, Record,
    Sleep, StoreError, Verb,
};
use tokio::time::Instant;

/// Checks in a second, on top of those at each write and each new term.
const STEPS: u64 = 10;
const STEP: Duration = Duration::from_millis(1000 / STEPS);
/// The last part of each run is fair, for the sake of progress.
const FAIR: u64 = 25 * STEPS;
const MS: Duration = Duration::from_millis(1);

/// splitmix64, for the plan of faults.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

/// A clock that runs fast or slow by some millionths, and whose wall clock is off by hours. While its process stands still it goes on, and
/// its timers do not fire.
#[derive(Clone, Debug)]
struct Drifting {
    origin: Instant,
    ppm: i64,
    /// Until when the process stands still, in milliseconds.
    still: Arc<AtomicU64>,
}

impl Drifting {
    fn scale(&self, real: Duration) -> Duration {
        let nanos = real.as_nanos() as i128;
        Duration::from_nanos((nanos + nanos * i128::from(self.ppm) / 1_000_000) as u64)
    }
}

impl Clock for Drifting {
    fn now(&self) -> Moment {
        Moment::from_origin(self.scale(self.origin.elapsed()))
    }
    fn wall(&self) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + self.ppm * 1000).unwrap()
    }
    fn sleep_until(&self, deadline: Moment) -> Sleep {
        let clock = self.clone();
        Box::pin(async move {
            loop {
                let still = Duration::from_millis(clock.still.load(Ordering::SeqCst))
                    .saturating_sub(clock.origin.elapsed());
                let left = deadline.since(clock.now()).max(still);
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.max(Duration::from_micros(1))).await;
            }
        })
    }
}

/// What a node is doing, and what has happened so far.
#[derive(Default)]
struct World {
    /// The terms of each node, and whether their work goes on.
    terms: Vec<(String, Leadership, bool)>,
    fences: Vec<FenceToken>,
    /// How a node's link is now.
    weather: BTreeMap<String, u64>,
    /// Links of processes that are no more.
    dead: BTreeSet<String>,
    trace: Trace,
    seen: Seen,
    /// The last step at which somebody led.
    led: u64,
}

/// How often what may happen happened: a simulation that reaches nothing proves nothing.
type Seen = BTreeMap<&'static str, u64>;

/// What every batch of some hundred runs must have seen.
const MATRIX: [&str; 24] = [
    "conflict",
    "too many requests",
    "server error",
    "lost",
    "applied, not answered",
    "applied late",
    "slow",
    "applied, and an error",
    "applied, and a conflict",
    "event lost",
    "event late",
    "watch broke",
    "watch expired",
    "link down",
    "process stands still",
    "process killed",
    "label",
    "deletion",
    "stranger",
    "work ended",
    "work panicked",
    "term expired",
    "lease given back",
    "work overran",
];

/// A splitmix64 of everything that happened, and the end of the story.
#[derive(Default)]
struct Trace {
    hash: u64,
    lines: u64,
    last: std::collections::VecDeque<String>,
}

impl Trace {
    fn note(&mut self, start: Instant, what: std::fmt::Arguments<'_>) {
        let mut line = String::new();
        let _ = write!(line, "{:?} {what}", start.elapsed());
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        self.lines += 1;
        if self.last.len() >= 400 {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    fn story(&self) -> String {
        self.last.iter().fold(String::new(), |story, line| story + line + "\n")
    }
}

impl World {
    /// The invariant that is checked after every step.
    fn check(&self, seed: u64) {
        let valid: Vec<&str> =
            self.terms.iter().filter(|(_, l, _)| l.is_valid()).map(|(n, ..)| n.as_str()).collect();
        assert!(valid.len() <= 1, "seed {seed}: {valid:?} lead at once\n{}", self.trace.story());
    }
}

impl World {
    fn pass(&mut self, seed: u64, step: u64, fair: bool, change: Option<(String, u64)>) {
        self.check(seed);
        if self.terms.iter().any(|(_, leadership, _)| leadership.is_valid()) {
            self.led = step;
        }
        if fair {
            self.weather.clear();
        } else if let Some((node, weather)) = change {
            self.weather.insert(node, weather);
        }
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }
}

fn fault(weather: u64, verb: Verb, dice: &mut Dice) -> Fault {
    let slow = |dice: &mut Dice| Fault::Slow {
        before: Duration::from_millis(dice.roll(700)),
        after: Duration::from_millis(dice.roll(700)),
    };
    match weather {
        // Fair: a few milliseconds, now and then a conflict from nowhere.
        0 => match dice.roll(40) {
            0 if verb == Verb::Update => Fault::Refused(StoreError::Conflict),
            1 if verb == Verb::Event => Fault::Refused(StoreError::unknown("cut")),
            _ => Fault::Slow { before: dice.roll(4) as u32 * MS, after: dice.roll(4) as u32 * MS },
        },
        // Foul: anything.
        1 => match (verb, dice.roll(10)) {
            (Verb::Event, 0..=3) => {
                Fault::Slow { before: Duration::from_millis(dice.roll(3000)), after: Duration::ZERO }
            }
            (Verb::Event, 4..=5) => Fault::Lost,
            (Verb::Event, 6) => Fault::Refused(StoreError::Expired),
            (Verb::Event, _) => Fault::None,
            (_, 0) => Fault::Lost,
            (_, 1) => Fault::AnswerLost,
            (_, 2) => Fault::Late(Duration::from_millis(dice.roll(12_000))),
            (_, 3) => Fault::AppliedBut(StoreError::unknown("500")),
            (_, 4) => Fault::Refused(StoreError::unknown("503")),
            (_, 5) => {
                Fault::Refused(StoreError::TooManyRequests { retry_after: Some(dice.roll(5000) as u32 * MS) })
            }
            (Verb::Update, 6) => Fault::AppliedBut(StoreError::Conflict),
            (Verb::Update, 7) => Fault::Refused(StoreError::Conflict),
            _ => slow(dice),
        },
        // Cut off, but what was sent may arrive later.
        2 => match verb {
            Verb::Update | Verb::Create if dice.roll(2) == 0 => {
                Fault::Late(Duration::from_millis(dice.roll(20_000)))
            }
            _ => Fault::Lost,
        },
        // Answers are lost.
        _ => match verb {
            Verb::Update | Verb::Create => Fault::AnswerLost,
            _ => slow(dice),
        },
    }
}

/// What a fault is called in the matrix.
fn name(verb: Verb, fault: &Fault) -> Option<&'static str> {
    Some(match (verb, fault) {
        (Verb::Event, Fault::Lost) => "event lost",
        (Verb::Event, Fault::Slow { .. }) => "event late",
        (Verb::Event | Verb::Watch, Fault::Refused(StoreError::Expired)) => "watch expired",
        (Verb::Event, Fault::Refused(_)) => "watch broke",
        (_, Fault::Lost) => "lost",
        (_, Fault::AnswerLost) => "applied, not answered",
        (_, Fault::Late(_)) => "applied late",
        (_, Fault::Slow { before, after }) if *before + *after > 300 * MS => "slow",
        (_, Fault::Refused(StoreError::Conflict)) => "conflict",
        (_, Fault::Refused(StoreError::TooManyRequests { .. })) => "too many requests",
        (_, Fault::Refused(_)) => "server error",
        (_, Fault::AppliedBut(StoreError::Conflict)) => "applied, and a conflict",
        (_, Fault::AppliedBut(_)) => "applied, and an error",
        _ => return None,
    })
}

/// A process: it campaigns again and again, until it is stopped.
struct Node {
    elector: LeaderElector,
    link: String,
    still: Arc<AtomicU64>,
    run: tokio::task::JoinHandle<()>,
}

/// What all of a run share.
#[derive(Clone)]
struct Stage {
    seed: u64,
    start: Instant,
    store: MemoryLeaseStore,
    world: Arc<Mutex<World>>,
}

impl Stage {
    /// Starts life number `life` of node `n`. Its lives have one identity.
    fn start(&self, n: u64, life: u64, dice: &mut Dice) -> Node {
        let (identity, link) = (format!("n{n}"), format!("n{n}.{life}"));
        let config = Config::builder("ns", "lease")
            .fast()
            .identity(&identity)
            .drain_timeout(3000 * MS)
            .build()
            .unwrap();
        // Within the drift that the configuration allows for.
        let still = Arc::new(AtomicU64::new(0));
        let clock =
            Drifting { origin: self.start, ppm: dice.roll(1001) as i64 - 500, still: Arc::clone(&still) };
        let seed = self.seed.wrapping_mul(31) + n + 1000 * life;
        let elector = LeaderElector::with_clock(self.store.client(&link), config, clock, seed);
        let (stage, running, node) = (self.clone(), elector.clone(), link.clone());
        let dice = Dice(self.seed ^ (n + 77 * (life + 1)));
        let run = tokio::spawn(async move { stage.campaign(running, node, dice).await });
        Node { elector, link, still, run }
    }

    async fn campaign(self, elector: LeaderElector, node: String, mut dice: Dice) {
        while !elector.is_stopped() {
            let (stage, name) = (self.clone(), node.clone());
            let (length, wind_up) = (dice.roll(25_000), dice.roll(4000));
            let (polite, panics) = (dice.roll(4) != 0, dice.roll(12) == 0);
            let run = elector.run(move |leadership| async move {
                let term = Working::begin(&stage, name, leadership.clone());
                let until = tokio::time::sleep(Duration::from_millis(length));
                tokio::select! {
                    biased;
                    ending = leadership.ending() => {
                        if polite || matches!(ending, Ending::StopRequested) {
                            tokio::time::sleep(Duration::from_millis(wind_up)).await;
                        } else {
                            std::future::pending::<()>().await;
                        }
                    }
                    () = until => {
                        stage.world.lock().unwrap().saw(if panics { "work panicked" } else { "work ended" });
                        drop(term);
                        if panics {
                            std::panic::resume_unwind(Box::new("the work"));
                        }
                    }
                }
            });
            let _ = AssertUnwindSafe(run).catch_unwind().await;
            tokio::time::sleep(Duration::from_millis(dice.roll(2000))).await;
        }
    }
}

async fn simulate(seed: u64, seconds: u64) -> (Trace, Seen) {
    let mut dice = Dice(seed);
    let world: Arc<Mutex<World>> = Arc::default();
    let start = Instant::now();
    let nodes = 2 + dice.roll(3);

    let plan = Arc::new(Mutex::new(Dice(seed ^ 0xfa17)));
    let (skies, log) = (Arc::clone(&world), Arc::clone(&world));
    let store = MemoryLeaseStore::new()
        .with_faults(move |client, verb| {
            let mut world = skies.lock().unwrap();
            let weather =
                if world.dead.contains(client) { 2 } else { world.weather.get(client).copied().unwrap_or(0) };
            let fault = fault(weather, verb, &mut plan.lock().unwrap());
            if let Some(name) = name(verb, &fault) {
                world.saw(name);
            }
            world.trace.note(start, format_args!("{client} {verb:?} {fault:?}"));
            fault
        })
        .on_write(move |client, lease| {
            let mut world = log.lock().unwrap();
            let (version, holder) =
                lease.map_or(("", ""), |lease| (&lease.version.resource_version, &lease.record.holder));
            world.trace.note(start, format_args!("{client} wrote {version} {holder}"));
            world.check(seed);
            if lease.is_some_and(|lease| lease.record.is_free()) {
                let busy = world.terms.iter().any(|(name, _, working)| name == client && *working);
                assert!(
                    !busy,
                    "seed {seed}: {client} released while its work went on\n{}",
                    world.trace.story()
                );
            }
        });
    let stage = Stage { seed, start, store: store.clone(), world: Arc::clone(&world) };
    let mut running: Vec<Node> = (0..nodes).map(|n| stage.start(n, 0, &mut dice)).collect();
    let mut buried: Vec<(u64, Node)> = Vec::new();

    let (steps, mut next_change, mut lives) = (seconds * STEPS, 0, 0);
    for step in 0..steps {
        tokio::time::sleep(STEP).await;
        let fair = step + FAIR > steps;
        let mut change = None;
        if step >= next_change && !fair {
            next_change = step + 4 + dice.roll(15 * STEPS);
            let (n, weather) = (dice.roll(nodes) as usize, dice.roll(5));
            if weather == 4 {
                let pause = 500 + dice.roll(15_000);
                let until = (start.elapsed() + Duration::from_millis(pause)).as_millis() as u64;
                running[n].still.store(until, Ordering::SeqCst);
                world.lock().unwrap().saw("process stands still");
                // Its answers wait until it goes on; those of the watch, too.
                change = Some((running[n].link.clone(), 2));
            } else {
                if weather == 2 {
                    world.lock().unwrap().saw("link down");
                }
                change = Some((running[n].link.clone(), weather));
            }
        }
        world.lock().unwrap().pass(seed, step, fair, change);
        // Its term is long over by then.
        for (_, old) in buried.iter().filter(|(killed, _): &&(u64, Node)| killed + 10 * STEPS == step) {
            old.elector.stop_handle().stop();
        }
        if fair {
            continue;
        }
        match dice.roll(2400) {
            0..=3 => {
                world.lock().unwrap().saw("label");
                store.touch();
            }
            4 => {
                // With nobody cut off, so that all candidates know of the lease that is deleted: the stated assumption.
                world.lock().unwrap().weather.clear();
                tokio::time::sleep(3000 * MS).await;
                world.lock().unwrap().saw("deletion");
                store.delete();
                tokio::time::sleep(3000 * MS).await;
            }
            5..=6 if store.lease().is_some() => {
                world.lock().unwrap().saw("stranger");
                store.overwrite(Record {
                    holder: "x".into(),
                    lease_duration_seconds: 5,
                    renew_time: Timestamp::from_second(step as i64).ok(),
                    ..Record::default()
                });
            }
            7..=9 => {
                lives += 1;
                let n = dice.roll(nodes);
                let next = stage.start(n, lives, &mut dice);
                let old = std::mem::replace(&mut running[n as usize], next);
                let mut world = world.lock().unwrap();
                world.saw("process killed");
                world.dead.insert(old.link.clone());
                buried.push((step, old));
            }
            _ => {}
        }
    }
    // A lease, its jitter, the slowest retry and the longest pause between two campaigns.
    let led = world.lock().unwrap().led;
    assert!(
        led + 10 * STEPS >= steps,
        "seed {seed}: nobody leads in fair weather\n{}",
        world.lock().unwrap().trace.story()
    );

    let all: Vec<Node> = running.into_iter().chain(buried.into_iter().map(|(_, old)| old)).collect();
    let overran = || all.iter().map(|node| node.elector.stats().losses.overran).sum::<u64>();
    let overran_before = overran();
    // The leader first, and the others while they are about to take over.
    if let Some(leader) = all.iter().find(|node| node.elector.is_leader()) {
        leader.elector.stop_handle().stop();
        while store.lease().is_some_and(|lease| !lease.record.is_free()) && !leader.run.is_finished() {
            tokio::time::sleep(MS).await;
        }
        tokio::time::sleep(MS * dice.roll(10) as u32).await;
    }
    for node in &all {
        node.elector.stop_handle().stop();
    }
    let mut stats = Vec::new();
    let electors: Vec<LeaderElector> = all.iter().map(|node| node.elector.clone()).collect();
    for elector in &electors {
        stats.push(elector.clone());
    }
    let overran_after = || stats.iter().map(|elector| elector.stats().losses.overran).sum::<u64>();
    for node in all {
        node.run.await.unwrap();
        world.lock().unwrap().check(seed);
    }
    let holder = store.lease().map(|lease| lease.record.holder).unwrap_or_default();
    if overran_after() == overran_before {
        let story = world.lock().unwrap().trace.story();
        assert_eq!(holder, "", "seed {seed}: stopped in fair weather, and yet not given back\n{story}");
    }

    let mut world = world.lock().unwrap();
    assert!(world.terms.iter().all(|(_, leadership, working)| !leadership.is_valid() && !working));
    for elector in &electors {
        let stats = elector.stats();
        for (what, times) in [
            ("lease given back", stats.releases),
            ("term expired", stats.losses.expired),
            ("work overran", stats.losses.overran),
        ] {
            *world.seen.entry(what).or_default() += times;
        }
    }
    (std::mem::take(&mut world.trace), std::mem::take(&mut world.seen))
}

/// The work of a term, from its first step to its last, also if it is dropped.
struct Working {
    world: Arc<Mutex<World>>,
    index: usize,
}

impl Working {
    fn begin(stage: &Stage, node: String, leadership: Leadership) -> Self {
        let Stage { seed, start, .. } = *stage;
        let world = Arc::clone(&stage.world);
        let mut now = world.lock().unwrap();
        let fence = leadership.fence();
        now.trace.note(start, format_args!("{node} leads {fence}"));
        if let Some(last) = now.fences.last() {
            assert!(*last < fence, "seed {seed}: {last} then {fence}\n{}", now.trace.story());
        }
        assert!(
            !now.terms.iter().any(|(name, _, working)| *name == node && *working),
            "seed {seed}: two works of {node}"
        );
        now.fences.push(fence);
        now.terms.push((node, leadership, true));
        now.saw("term");
        now.check(seed);
        let index = now.terms.len() - 1;
        drop(now);
        Self { world, index }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        // Not while panicking: the world's lock may be held by the one who panics.
        if let Ok(mut world) = self.world.lock() {
            world.terms[self.index].2 = false;
        }
    }
}

fn run(seed: u64, seconds: u64) -> (Trace, Seen) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(simulate(seed, seconds))
}

/// A number from the environment.
fn figure(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

#[expect(clippy::print_stdout, reason = "figures of a long run")]
#[test]
fn under_every_fault_guards_never_overlap_fences_rise_and_release_comes_last() {
    let (seeds, seconds) = (figure("ELECTION_SEEDS", 60), figure("ELECTION_SECONDS", 150));
    let next = AtomicU64::new(0);
    let work = || {
        let mut all = Seen::new();
        loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= seeds {
                return all;
            }
            for (what, times) in run(seed, seconds).1 {
                *all.entry(what).or_default() += times;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let mut all = Seen::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let seen = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            for (what, times) in seen {
                *all.entry(what).or_default() += times;
            }
        }
    });
    println!("election: {seeds} seeds of {seconds} simulated seconds: {all:?}");
    for what in MATRIX {
        let times = all.get(what).copied().unwrap_or(0);
        assert!(times * 10_000 >= seeds * seconds, "{what}: {times} times\n{all:?}");
    }
}

#[test]
fn the_same_seed_makes_the_same_history() {
    for seed in [3, 1234, 99_999] {
        let (first, _) = run(seed, 150);
        let (second, _) = run(seed, 150);
        let fork = first.last.iter().zip(&second.last).find(|(a, b)| a != b);
        assert!(first.hash == second.hash && first.lines == second.lines, "seed {seed}: {fork:?}");
        assert!(first.lines > 300);
    }
}
