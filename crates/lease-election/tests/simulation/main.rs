//! Many electors, one lease, every fault of the store, clocks that run at different rates, and time that is not real: one seed, one history.
//! After every step: no two valid guards, fence tokens only rise, a lease is emptied only by one whose work has ended, and no term begins
//! while the work of another goes on. The lease is in memory, or on an API server in this process; the judge is the same.

mod backend;
mod judge;
mod memory;
mod node;
#[cfg(all(feature = "kube", not(wq_plant)))]
mod server;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use lease_election::{LeaderElector, Record};
use tokio::time::Instant;

use backend::{Backend, Kind};
use judge::{Dice, Seen, Trace, World};
use node::{Node, Stage};

/// What befalls whom is drawn in steps of this length.
const STEPS: u64 = 10;
const STEP: Duration = Duration::from_millis(1000 / STEPS);
/// From one trouble to the next, on average.
const BETWEEN: u64 = 24 * STEPS;
/// So many seeds are told of at a time.
const PIECE: u64 = 1000;
/// The last part of each run is fair, for the sake of progress.
const FAIR: u64 = 25 * STEPS;
/// When a process that was killed is taken away.
const AFTER_DEATH: u64 = 10 * STEPS;
const MS: Duration = Duration::from_millis(1);

/// What every batch of some hundred runs must have seen, wherever the lease is.
const EVERYWHERE: [&str; 11] = [
    "clock set",
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

/// And in memory.
const IN_MEMORY: [&str; 14] = [
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
];

/// And on a server: the words of its request log, and what was done to a whole link.
#[cfg(all(feature = "kube", not(wq_plant)))]
const ON_A_SERVER: [&str; 29] = [
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
];

/// What happens to whom, by chance.
async fn trouble(
    stage: &Stage,
    running: &mut [Node],
    buried: &mut Vec<(u64, Node)>,
    step: u64,
    dice: &mut Dice,
) {
    let (world, backend) = (&stage.world, &stage.backend);
    match dice.roll(11) {
        0..=3 => {
            world.lock().unwrap().saw("label");
            backend.touch().await;
        }
        // With nobody cut off or standing still, so that all candidates know of the lease that is deleted: the stated assumption.
        4 if running.iter().all(|node| node.still.left().is_zero()) => {
            for node in running.iter() {
                backend.set_weather(world, node.number, &node.link, 0, dice);
            }
            tokio::time::sleep(4000 * MS).await;
            world.lock().unwrap().saw("deletion");
            backend.delete().await;
            tokio::time::sleep(3000 * MS).await;
        }
        5..=6 if backend.lease().await.is_some() => {
            world.lock().unwrap().saw("stranger");
            let record = Record {
                holder: "x".into(),
                lease_duration_seconds: 5,
                renew_time: Timestamp::from_second(step as i64).ok(),
                ..Record::default()
            };
            backend.overwrite(record).await;
        }
        7 => {
            let n = dice.roll(running.len() as u64) as usize;
            world.lock().unwrap().saw("clock set");
            running[n].wall.set(dice.roll(20_000) as i64 - 10_000);
        }
        8..=10 => {
            let n = dice.roll(running.len() as u64);
            let next = stage.start(n, step, dice);
            let old = std::mem::replace(&mut running[n as usize], next);
            let mut now = world.lock().unwrap();
            now.saw("process killed");
            now.dead.insert(old.link.clone());
            drop(now);
            // Its plan names the dead.
            backend.set_weather(world, n, &running[n as usize].link, 0, dice);
            buried.push((step, old));
        }
        _ => {}
    }
}

async fn simulate(kind: Kind, seed: u64, seconds: u64) -> (Trace, Seen) {
    let mut dice = Dice(seed);
    let world: Arc<Mutex<World>> = Arc::default();
    let start = Instant::now();
    let nodes = 2 + dice.roll(3);
    let backend = Arc::new(Backend::new(kind, seed, nodes, start, &world));
    let stage = Stage { seed, start, backend: Arc::clone(&backend), world: Arc::clone(&world) };
    let mut running: Vec<Node> = (0..nodes).map(|n| stage.start(n, 0, &mut dice)).collect();
    let mut buried: Vec<(u64, Node)> = Vec::new();

    let (steps, fair_from) = (seconds * STEPS, (seconds * STEPS).saturating_sub(FAIR));
    let (mut step, mut next_change, mut next_trouble, mut led) = (0, 1, 1 + dice.roll(2 * BETWEEN), 0);
    while step < steps {
        // To what happens next; from link to link the electors are judged by what they do themselves.
        let stops = buried.iter().map(|(killed, _)| killed + AFTER_DEATH).filter(|stop| *stop > step).min();
        let next = next_change.min(next_trouble).min(fair_from).min(stops.unwrap_or(steps));
        let next = if step < fair_from { next.max(step + 1) } else { step + 1 };
        tokio::time::sleep(STEP * (next - step) as u32).await;
        step = next;
        let fair = step >= fair_from;
        if step >= next_change && !fair {
            next_change = step + 4 + dice.roll(15 * STEPS);
            let (n, weather) = (dice.roll(nodes) as usize, dice.roll(5));
            if weather == 4 {
                // For less than a request may take, so that its answer is taken in late, or for up to three leases.
                let pause = if dice.roll(3) == 0 { 50 + dice.roll(800) } else { 500 + dice.roll(15_000) };
                let until = running[n].still.stand(pause);
                let mut world = world.lock().unwrap();
                world.saw("process stands still");
                world.still.insert(running[n].link.clone(), until);
            } else {
                backend.set_weather(&world, n as u64, &running[n].link, weather, &mut dice);
            }
        }
        world.lock().unwrap().check(seed);
        if step == fair_from {
            for node in &running {
                backend.set_weather(&world, node.number, &node.link, 0, &mut dice);
            }
        }
        // Its term is long over by then.
        for (_, old) in buried.iter().filter(|(killed, _): &&(u64, Node)| killed + AFTER_DEATH == step) {
            old.elector.stop_handle().stop();
        }
        if step >= next_trouble && !fair {
            next_trouble = step + 1 + dice.roll(2 * BETWEEN);
            trouble(&stage, &mut running, &mut buried, step, &mut dice).await;
        }
        if fair && world.lock().unwrap().somebody_leads() {
            led = step;
        }
    }
    // A lease, its jitter, the slowest retry and the longest pause between two campaigns.
    assert!(
        led + 10 * STEPS >= steps,
        "seed {seed}: nobody leads in fair weather\n{}",
        world.lock().unwrap().trace.story()
    );
    end(seed, &stage, running, buried, &mut dice).await;
    let mut world = world.lock().unwrap();
    backend.tell(&mut world, start);
    (std::mem::take(&mut world.trace), std::mem::take(&mut world.seen))
}

/// Everybody is stopped: whoever leads gives the lease back, and nobody works.
async fn end(seed: u64, stage: &Stage, running: Vec<Node>, buried: Vec<(u64, Node)>, dice: &mut Dice) {
    let (world, backend) = (&stage.world, &stage.backend);
    let all: Vec<Node> = running.into_iter().chain(buried.into_iter().map(|(_, old)| old)).collect();
    let electors: Vec<LeaderElector> = all.iter().map(|node| node.elector.clone()).collect();
    let overran = || electors.iter().map(|elector| elector.stats().losses.overran).sum::<u64>();
    let overran_before = overran();
    // The leader first, and the others while they are about to take over.
    if let Some(leader) = all.iter().find(|node| node.elector.is_leader()) {
        leader.elector.stop_handle().stop();
        while backend.lease().await.is_some_and(|lease| !lease.record.is_free()) && !leader.run.is_finished()
        {
            tokio::time::sleep(MS).await;
        }
        tokio::time::sleep(MS * dice.roll(10) as u32).await;
    }
    for node in &all {
        node.elector.stop_handle().stop();
    }
    for node in all {
        node.run.await.unwrap();
        world.lock().unwrap().check(seed);
    }
    let holder = backend.lease().await.map(|lease| lease.record.holder).unwrap_or_default();
    if overran() == overran_before {
        let story = world.lock().unwrap().trace.story();
        assert_eq!(holder, "", "seed {seed}: stopped in fair weather, and yet not given back\n{story}");
    }
    let mut world = world.lock().unwrap();
    assert!(world.terms.iter().all(|led| led.leadership.remaining().is_zero() && !led.working));
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

/// A number from the environment.
fn figure(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// The seeds from `ELECTION_FROM` on, a thousand after the other, so that a run that is cut short has said how far it came.
#[expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "figures of a long run, its rate among them"
)]
fn play(kind: Kind, seeds: u64, seconds: u64, matrix: &[&str]) {
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
    for what in matrix.iter().chain(&EVERYWHERE) {
        let times = all.get(what).copied().unwrap_or(0);
        assert!(times > 0 && times * 15_000 >= seeds * seconds, "{what}: {times} times\n{all:?}");
    }
}

#[test]
fn under_every_fault_guards_never_overlap_fences_rise_and_release_comes_last() {
    play(Kind::Memory, figure("ELECTION_SEEDS", 60), figure("ELECTION_SECONDS", 150), &IN_MEMORY);
}

#[cfg(all(feature = "kube", not(wq_plant)))]
#[test]
fn on_a_server_under_every_fault_guards_never_overlap_fences_rise_and_release_comes_last() {
    play(Kind::Server, figure("ELECTION_SERVER_SEEDS", 30), figure("ELECTION_SECONDS", 150), &ON_A_SERVER);
}

fn repeats_itself(kind: Kind) {
    for seed in [3, 1234, 99_999] {
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
