//! Simulation: many electors on one lease, under every fault of the store, with drifting clocks and
//! simulated time.
//!
//! One seed makes one history. After every step no two guards are valid, and no write replaces
//! another's live record. Fence tokens only rise. A lease is released only after its holder's work
//! has ended, and no term begins while the work of another goes on. The lease is in memory, or on
//! an API server in this process, under the same judge.

#[cfg(all(feature = "kube", not(wq_plant)))]
mod applied;
mod backend;
mod calamity;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod connection;
#[cfg(all(feature = "kube", not(wq_plant)))]
#[path = "../it/controller.rs"]
mod controller;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod coordinated;
#[cfg(not(all(feature = "kube", not(wq_plant))))]
#[path = "uncoordinated.rs"]
mod coordinated;
mod fate;
mod go_lock;
mod judge;
mod ledger;
mod memory;
mod migration_faults;
mod node;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod server;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod wire;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use lease_election::{Config, LeaderElector, Record};
use tokio::task::JoinError;
use tokio::time::Instant;

use backend::{Backend, Kind};
use coordinated::{Coordinated, LONGER, may_stay_held};
use fate::{kill, send_away, start_again};
use judge::{Dice, Seen, Trace, World};
use node::{DAY, Mode, Node, Stage};

/// The C library's allocator makes a run take a quarter longer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Faults are drawn this many times a second.
const STEPS: u64 = 10;
const STEP: Duration = Duration::from_millis(1000 / STEPS);
/// Steps from one trouble to the next, on average.
const BETWEEN: u64 = 24 * STEPS;
/// A run reports after this many seeds.
const PIECE: u64 = 1000;
/// The last part of each run has no faults, to show progress.
const FAIR: u64 = 40 * STEPS;
/// Requests sent before the fair part arrive within this time of its start.
#[cfg(all(feature = "kube", not(wq_plant)))]
const LATEST: Duration = Duration::from_secs(20);
/// One run in this many starts ten candidates or more at once.
const CROWDS: u64 = 16;
/// One seed in `HERDS.0`, from seed `HERDS.1` on, starts fifty.
const HERDS: (u64, u64) = (128, 41);
/// The candidates of such a herd that stay after a part of the run.
const STAY: usize = 4;
const STAMPEDE: u64 = 4;
/// Steps until a process that was killed, or started by mistake, is removed.
const AFTER_DEATH: u64 = 10 * STEPS;
const MS: Duration = Duration::from_millis(1);

/// Events that every batch of some hundred runs must reach, wherever the lease is.
const EVERYWHERE: [&str; 34] = [
    "handed over",
    "successor took it",
    "stepped down",
    "maintenance",
    "maintenance of a leader",
    "end of a term told",
    "clock runs fast",
    "clock runs slow",
    "clock set",
    "shorter leases",
    "leases of several lengths",
    "deletion unheard by its leader",
    // A blocked runtime looks the same here: only the clock of the process goes on.
    // `tests/it/watchdog.rs` covers real threads.
    "process stands still",
    "machine suspended",
    "process killed",
    "stopped",
    "future dropped",
    "leader sent away",
    "label",
    "deletion",
    "stranger",
    "work ended",
    "work panicked",
    "term expired",
    "lease given back",
    "work overran",
    "work longer than two leases",
    "restored",
    "unauthorized",
    "no such namespace",
    "hostile record",
    "hostile record waited for",
    "event twice",
    "old event again",
];

/// Only few seeds reach this.
const FIFTY: &str = "fifty start together";

/// Events that only runs in memory must reach.
const IN_MEMORY: [&str; 25] = [
    "ten start together",
    FIFTY,
    "two of one identity",
    "holder known to be gone",
    "led while a dead one's hold went on",
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
    "restored, and revisions again",
    "clock runs half as fast",
    "clock runs twice as fast",
    "watch refused as expired",
    "version too large",
    // Last: too rare for a short run.
    "led beside one whose clock is wrong",
];

/// Events that only runs on a server must reach: faults of its request log, and of whole links.
#[cfg(all(feature = "kube", not(wq_plant)))]
const ON_A_SERVER: [&str; 33] = [
    "conflict",
    "too_many_requests",
    "overloaded",
    "internal_error",
    "apply_internal_error",
    "server_timeout",
    "unavailable",
    "shutting_down",
    "gateway_timeout",
    "apply_gateway_timeout",
    "forbidden",
    "never_answer",
    "apply_never_answer",
    "apply_late",
    "drop_before",
    "drop_after",
    "drop_mid_answer",
    "stall_mid_answer",
    "latency",
    "compact",
    "move_clock",
    "cut_watch",
    "stall_watch",
    "garbage_line",
    "expired",
    "partition",
    "black hole",
    "cache behind",
    "watch interrupted",
    "version too large",
    "no JSON",
    "GOAWAY",
    "TLS error",
];

/// Events that only runs with controllers must reach: their faults, and how electors came to lead.
#[cfg(all(feature = "kube", not(wq_plant)))]
const COORDINATED: [&str; 27] = [
    "controller stands still",
    "controller killed",
    "no controller for long",
    "controllers take turns",
    "two controllers at once",
    "controller's clock ahead",
    "controller's clock behind",
    "controller in foul weather",
    "API switched on",
    "API switched off",
    "API switched off at some servers",
    "no such path",
    "candidate deleted",
    "rolled out",
    "plain elector beside",
    "led beside coordinated ones",
    "candidates asked",
    "granted",
    "another preferred",
    "made way",
    "led as elected",
    "led where the API is absent",
    "led where nobody elects",
    "the preferred one leads",
    "keeps what it held",
    // Last: too rare for a short run.
    "left behind",
    "granted while another leads",
];

/// Draws one trouble, and carries it out.
async fn trouble(
    stage: &Stage,
    running: &mut [Node],
    buried: &mut Vec<(u64, Node)>,
    step: u64,
    dice: &mut Dice,
) {
    let (world, backend) = (&stage.world, &stage.backend);
    match dice.roll(24) {
        0..=3 => {
            world.lock().unwrap().saw("label");
            let backup = backend.back_up().await;
            world.lock().unwrap().backup = backup;
            backend.touch().await;
        }
        4 if running.iter().all(|node| node.still.left().is_zero()) => {
            calamity::delete(stage, running, dice).await;
        }
        5..=6 if backend.lease().await.is_some() => {
            world.lock().unwrap().saw("stranger");
            let passed = stage.start.elapsed();
            // A controller goes by this time, so it must be exact.
            let part = if stage.mode.is_coordinated() { passed.subsec_nanos() as i32 } else { 0 };
            let record = Record {
                holder: "x".into(),
                lease_duration_seconds: 5,
                renew_time: Timestamp::new(DAY + passed.as_secs() as i64, part).ok(),
                ..Record::default()
            };
            backend.overwrite(record).await;
        }
        7 => {
            let n = dice.roll(running.len() as u64) as usize;
            world.lock().unwrap().saw("clock set");
            running[n].wall.set(stage.mode, dice);
        }
        8..=10 => {
            let n = dice.roll(running.len() as u64);
            kill(stage, &running[n as usize]);
            start_again(stage, running, buried, n, step, dice);
        }
        11..=12 => {
            let n = dice.roll(running.len() as u64) as usize;
            let mut now = world.lock().unwrap();
            if now.barred.remove(&running[n].link).is_some() {
                running[n].elector.maintenance().end();
            } else {
                now.barred.insert(running[n].link.clone(), Instant::now());
                now.saw("maintenance");
                if running[n].elector.is_leader() {
                    now.saw("maintenance of a leader");
                }
                drop(now);
                running[n].elector.maintenance().begin();
            }
        }
        // After a restore, a grant would follow a record that its candidate did not see.
        14..=17 if !stage.mode.is_coordinated() => {
            calamity::restore(stage, running, buried, step, dice).await;
        }
        18..=19 if !stage.mode.is_coordinated() => calamity::scribble(stage, dice).await,
        20 if !stage.mode.is_coordinated()
            && running.iter().all(|node| node.still.left().is_zero()) =>
        {
            calamity::lose_namespace(stage, running, dice).await;
        }
        // A process starts by mistake beside a live one of its identity. Its link is fair, and it
        // is stopped in time.
        22..=23
            if stage.kind == Kind::Memory
                && stage.mode.identity(0, 0) == stage.mode.identity(0, step) =>
        {
            let n = dice.roll(running.len() as u64);
            world.lock().unwrap().saw("two of one identity");
            buried.push((step, stage.start(n, step, dice)));
        }
        13 | 21 => {
            let n = dice.roll(running.len() as u64);
            send_away(stage, &running[n as usize], dice);
            start_again(stage, running, buried, n, step, dice);
        }
        _ => {}
    }
}

/// The greatest value of all configurations, by a clock that may be slow.
fn most(mode: Mode, configs: &[Config], of: impl Fn(&Config) -> Duration) -> Duration {
    let slowest = if mode == Mode::Rates { 2 } else { 1 };
    configs.iter().map(of).max().unwrap_or_default() * slowest
}

/// The longest time without a leader in fair weather: a lease, the wait for a turn, and a retry
/// after a spurious conflict.
fn patience(mode: Mode, configs: &[Config]) -> Duration {
    let turn = |config: &Config| {
        config.takeover_jitter() * u32::from(config.rank().map_or(1, |rank| rank + 1))
            + config.request_timeout()
            + config.retry_period() / 2
    };
    most(mode, configs, Config::lease_duration) + most(mode, configs, turn)
}

/// The additional time after the last fault, in which electors notice that the faults are over.
fn slack(mode: Mode, configs: &[Config]) -> Duration {
    // A server may have asked for a pause this long. A stranger's lease is no longer.
    let foreign = Duration::from_secs(5);
    // The slowest retry comes after a request that is never answered, or after a watch that fell
    // silent.
    let retry = |config: &Config| {
        (config.request_timeout() + config.retry_period() * 5 / 2).max(config.retry_period() * 3)
    };
    // The pause of `campaign`.
    let pause = Duration::from_secs(2);
    let lease = most(mode, configs, Config::lease_duration);
    foreign.max(most(mode, configs, retry)).max(pause) + foreign.saturating_sub(lease)
}

async fn simulate(kind: Kind, seed: u64, seconds: u64) -> (Trace, Seen) {
    let mut dice = Dice(seed);
    let world: Arc<Mutex<World>> = Arc::default();
    let start = Instant::now();
    let mut nodes = 2 + dice.roll(3);
    if kind == Kind::Memory && seed % CROWDS == CROWDS - 1 {
        nodes += 8;
        world.lock().unwrap().saw("ten start together");
    }
    let is_herd = kind == Kind::Memory && seed % HERDS.0 == HERDS.1;
    if is_herd {
        nodes = 50;
        world.lock().unwrap().saw(FIFTY);
    }
    let backend = Arc::new(Backend::new(kind, seed, nodes, start, &world));
    let (backend_too, world_too) = (Arc::clone(&backend), Arc::clone(&world));
    let mode = Mode::of(kind, seed);
    let emulated = Arc::new(Mutex::new((0..nodes).map(|n| 1 + (seed / 3 + 5 * n) % 4).collect()));
    let stage = Stage {
        kind,
        seed,
        start,
        backend: backend_too,
        world: world_too,
        mode,
        nodes,
        written: Arc::default(),
        emulated,
    };
    let configs: Vec<Config> = (0..nodes).map(|n| stage.config(n, 0)).collect();
    stage.world.lock().unwrap().begin(mode, &configs);
    let mut beside = Coordinated::new(&stage, &mut dice);
    let mut running: Vec<Node> = (0..nodes).map(|n| stage.start(n, 0, &mut dice)).collect();
    let mut buried: Vec<(u64, Node)> = Vec::new();

    let fair_from = (seconds * STEPS).saturating_sub(FAIR);
    let steps = fair_from + if mode.is_coordinated() { FAIR + LONGER } else { FAIR };
    let (mut step, mut next_change, mut next_trouble) = (0, 1, 1 + dice.roll(2 * BETWEEN));
    let (mut fair_began, mut unled_since, mut led) = (start, None, false);
    let (patience, slack) = (patience(mode, &configs), slack(mode, &configs));
    // The run pays for fifty electors in its first part only.
    let mut disperse = is_herd.then_some(fair_from / STAMPEDE);
    let patience = patience + beside.as_ref().map_or(Duration::ZERO, Coordinated::unled_longer);
    while step < steps {
        // Sleeps to the next change. In between, the electors' own requests and answers trigger the
        // judge.
        let stops =
            buried.iter().map(|(killed, _)| killed + AFTER_DEATH).filter(|stop| *stop > step).min();
        let next = next_change.min(next_trouble).min(fair_from).min(stops.unwrap_or(steps));
        let next = beside.as_ref().map_or(next, |beside| next.min(beside.next()));
        let next = if step < fair_from { next.max(step + 1) } else { step + 1 };
        tokio::time::sleep(STEP * (next - step) as u32).await;
        step = next;
        let fair = step >= fair_from;
        if disperse.take_if(|at| step >= *at).is_some() {
            for node in running.drain(STAY..) {
                buried.push((step, node));
            }
            nodes = STAY as u64;
        }
        if step >= next_change && !fair {
            next_change = step + 4 + dice.roll(15 * STEPS);
            let (mut n, mut weather) = (dice.roll(nodes) as usize, dice.roll(6));
            if let Some(alone) =
                beside.as_mut().and_then(|beside| beside.one_at_a_time(step, nodes, &mut dice))
            {
                (n, weather, next_change) = alone;
            }
            if weather == 4 {
                // The pause is shorter than a request, so that its answer arrives late, or up to
                // three leases.
                let pause =
                    if dice.roll(3) == 0 { 50 + dice.roll(800) } else { 500 + dice.roll(15_000) };
                // The process goes on when the faults stop.
                let pause = pause.min((fair_from - step) * 1000 / STEPS);
                // Timers lag as much as those of `BootClock` may. A controller's bounds leave no
                // room for it.
                let unaware = dice.roll(500).min((fair_from - step) * 1000 / STEPS - pause);
                let suspends = !mode.is_coordinated() && dice.roll(3) == 0;
                let (until, what) = if suspends {
                    (running[n].still.suspend(pause, unaware), "machine suspended")
                } else {
                    (running[n].still.stand(pause), "process stands still")
                };
                let mut world = world.lock().unwrap();
                world.saw(what);
                world.still.insert(running[n].link.clone(), until);
            } else {
                backend.set_weather(&world, n as u64, &running[n].link, weather, &mut dice);
            }
        }
        world.lock().unwrap().check(seed);
        if step == fair_from {
            fair_began = Instant::now();
            for node in &running {
                backend.set_weather(&world, node.number, &node.link, 0, &mut dice);
                node.elector.maintenance().end();
            }
            world.lock().unwrap().barred.clear();
            if let Some(beside) = &mut beside {
                beside.be_fair(&running, &mut dice).await;
            }
        }
        if let Some(beside) = beside.as_mut().filter(|_| !fair)
            && let Some(n) = beside.trouble(step, &mut dice).await
        {
            kill(&stage, &running[n as usize]);
            start_again(&stage, &mut running, &mut buried, n, step, &mut dice);
        }
        // The term of the old process is long over by then.
        for (_, old) in
            buried.iter().filter(|(killed, _): &&(u64, Node)| killed + AFTER_DEATH == step)
        {
            old.elector.stop_handle().stop();
        }
        if step >= next_trouble && !fair {
            next_trouble = step + 1 + dice.roll(2 * BETWEEN);
            if beside.as_mut().is_none_or(|beside| beside.admits(step)) {
                trouble(&stage, &mut running, &mut buried, step, &mut dice).await;
            }
        }
        if let Some(beside) = beside.as_mut().filter(|_| fair && step % STEPS == 0) {
            beside.check(&running, patience + slack, fair_began).await;
        }
        if fair {
            let now = world.lock().unwrap();
            // The last fault ends when the last request sent under it has arrived.
            let last_fault = match kind {
                Kind::Memory => now.late.range(fair_began..=Instant::now()).next_back().copied(),
                // Only the servers know which requests arrive; all have arrived by then.
                #[cfg(all(feature = "kube", not(wq_plant)))]
                Kind::Server => Some((fair_began + LATEST).min(Instant::now())),
            };
            let since = unled_since.unwrap_or_else(Instant::now).max(last_fault.unwrap_or(start));
            unled_since = (!now.somebody_leads()).then_some(since);
            // All electors have noticed by then that the faults are over. A late arrival is a fault
            // with its own slack.
            let noticed = last_fault.unwrap_or(fair_began).elapsed() >= slack;
            // A leader that still acts beside a stranger's record has not heard of it.
            led = noticed && (led || unled_since.is_none() && !now.ledger.is_a_strangers());
            let bound = if led { patience } else { patience + slack };
            let unled = unled_since.map_or(Duration::ZERO, |since| since.elapsed());
            let story = || now.trace.story();
            assert!(
                unled <= bound,
                "seed {seed}: nobody leads in fair weather for {unled:?}\n{}",
                story()
            );
        }
    }
    if let Some(beside) = &mut beside {
        beside.end();
    }
    end(seed, &stage, running, buried, &mut dice).await;
    let mut world = world.lock().unwrap();
    backend.tell(&mut world, start);
    // The store's hooks hold the world, and each term holds the store.
    let terms = std::mem::take(&mut world.terms);
    let told = (std::mem::take(&mut world.trace), std::mem::take(&mut world.seen));
    drop(world);
    drop(terms);
    told
}

/// Stops every elector: the leader releases the lease, and no work remains.
async fn end(
    seed: u64,
    stage: &Stage,
    running: Vec<Node>,
    buried: Vec<(u64, Node)>,
    dice: &mut Dice,
) {
    let (world, backend) = (&stage.world, &stage.backend);
    let all: Vec<Node> =
        running.into_iter().chain(buried.into_iter().map(|(_, old)| old)).collect();
    let electors: Vec<LeaderElector> = all.iter().map(|node| node.elector.clone()).collect();
    let overran = || electors.iter().map(|elector| elector.stats().losses.overran).sum::<u64>();
    let overran_before = overran();
    // The leader stops first, and the others while they are about to take over.
    let leader = all.iter().find(|node| node.elector.is_leader());
    // A term whose work outlived its hand-over expires, perhaps only after the end.
    let runs_out =
        leader.is_none() && backend.lease().await.is_some_and(|lease| !lease.record.is_free());
    if let Some(leader) = leader {
        leader.elector.stop_handle().stop();
        while backend.lease().await.is_some_and(|lease| !lease.record.is_free())
            && !leader.run.is_finished()
        {
            tokio::time::sleep(MS).await;
        }
        tokio::time::sleep(MS * dice.roll(10) as u32).await;
    }
    for node in &all {
        node.elector.stop_handle().stop();
    }
    for node in all {
        let ended = node.run.await;
        assert!(ended.as_ref().err().is_none_or(JoinError::is_cancelled), "seed {seed}: {ended:?}");
        world.lock().unwrap().check(seed);
    }
    let holder = backend.lease().await.map(|lease| lease.record.holder).unwrap_or_default();
    if overran() == overran_before && !runs_out && !may_stay_held(stage, &holder) {
        let story = world.lock().unwrap().trace.story();
        assert_eq!(
            holder, "",
            "seed {seed}: stopped in fair weather, and yet not given back\n{story}"
        );
    }
    // Tasks that the end of their term woke get to run.
    tokio::time::sleep(MS).await;
    let mut world = world.lock().unwrap();
    let story = || world.trace.story();
    assert_eq!(
        world.untold,
        0,
        "seed {seed}: a term is over and was not told to all who wait\n{}",
        story()
    );
    assert!(world.terms.iter().all(|led| led.leadership.remaining().is_zero() && !led.working));
    world.rules(seed, world.ledger.all_ended());
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
}

fn run(kind: Kind, seed: u64, seconds: u64) -> (Trace, Seen) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(simulate(kind, seed, seconds))
}

/// Reads a number from the environment.
fn figure(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// Plays the seeds from `ELECTION_FROM` on. It reports each thousand, so that an aborted run shows
/// its progress.
#[expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "figures of a long run, its rate among them"
)]
fn play(kind: Kind, seeds: u64, seconds: u64, matrix: &[&[&str]]) {
    let from = figure("ELECTION_FROM", 0);
    let (began, mut all) = (std::time::Instant::now(), Seen::new());
    for piece in (from..from + seeds).step_by(PIECE as usize) {
        let to = (piece + PIECE).min(from + seeds);
        let next = AtomicU64::new(piece);
        let work = || {
            let mut all = Seen::new();
            loop {
                let seed = next.fetch_add(1, Ordering::SeqCst);
                if seed >= to {
                    return all;
                }
                for (what, times) in run(kind, seed, seconds).1 {
                    *all.entry(what).or_default() += times;
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                let seen = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                for (what, times) in seen {
                    *all.entry(what).or_default() += times;
                }
            }
        });
        let took = began.elapsed().as_secs_f64();
        println!(
            "election, {kind:?}: seeds {from} to {} of {seconds} simulated seconds, {took:.1} s",
            to - 1
        );
    }
    println!("election, {kind:?}: {} simulated hours: {all:?}", seeds * seconds / 3600);
    for what in matrix.iter().flat_map(|part| part.iter()) {
        let times = all.get(what).copied().unwrap_or(0);
        // Some events happen once in a seed of any length, or only in the seeds of `HERDS`.
        let enough = if *what == FIFTY {
            seeds / HERDS.0
        } else {
            (seeds * seconds.min(900)).div_ceil(15_000)
        };
        assert!(times > 0 && times >= enough, "{what}: {times} times\n{all:?}");
    }
}

/// Whether the run is too short to require rare events.
fn is_short(seeds: u64, seconds: u64) -> bool {
    seeds * seconds < 100_000
}

#[test]
fn under_every_fault_guards_never_overlap_fences_rise_and_release_comes_last() {
    let (seeds, seconds) = (figure("ELECTION_SEEDS", 60), figure("ELECTION_SECONDS", 150));
    let rare = usize::from(is_short(seeds, seconds));
    let matrix: [&[&str]; 2] = [&EVERYWHERE, &IN_MEMORY[..IN_MEMORY.len() - rare]];
    play(Kind::Memory, seeds, seconds, &matrix);
}

#[cfg(all(feature = "kube", not(wq_plant)))]
#[test]
fn on_a_server_under_every_fault_guards_never_overlap_fences_rise_and_release_comes_last() {
    let (seeds, seconds) = (figure("ELECTION_SERVER_SEEDS", 75), figure("ELECTION_SECONDS", 150));
    let rare = if is_short(seeds, seconds) { 2 } else { 0 };
    let matrix: [&[&str]; 3] =
        [&EVERYWHERE, &ON_A_SERVER, &COORDINATED[..COORDINATED.len() - rare]];
    play(Kind::Server, seeds, seconds, &matrix);
}

fn repeats_itself(kind: Kind) {
    // Seeds 5 and 22 have connections on a server, 22 with a controller. Seed 7 has a clock of
    // another speed in memory.
    for seed in [3, 5, 7, 22, 1234, 99_999] {
        let (first, _) = run(kind, seed, 150);
        let (second, _) = run(kind, seed, 150);
        let fork = first.last.iter().zip(&second.last).find(|(a, b)| a != b);
        assert!(first.hash == second.hash && first.lines == second.lines, "seed {seed}: {fork:?}");
        assert!(first.lines > 100);
    }
}

#[test]
fn the_same_seed_makes_the_same_history() {
    repeats_itself(Kind::Memory);
}

#[cfg(all(feature = "kube", not(wq_plant)))]
#[test]
fn on_a_server_the_same_seed_makes_the_same_history() {
    repeats_itself(Kind::Server);
}
