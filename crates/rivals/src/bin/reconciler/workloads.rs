//! Workloads: the rows of the table, each measured on all sides in turn.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use rivals::{Quiet, measured, median};
use rustix::process::Signal;

use crate::pause;
use crate::process::{DEFAULTS, FOUR, Peer, Process};
use crate::real;
use crate::roles::Who;
use crate::seen::{Mode, monotonic};
use crate::server::Server;

pub(crate) const MANY: usize = 100_000;
const FEW: usize = 1_000;

/// How the workloads are measured.
pub(crate) struct Gates {
    pub(crate) only: String,
    pub(crate) rounds: usize,
    pub(crate) quiet: Quiet,
    /// The program with controller-runtime.
    pub(crate) go: PathBuf,
}

/// Figures of one side: one list for each, one entry for each round.
pub(crate) type Figures<const N: usize> = [Vec<f64>; N];

impl Gates {
    fn wants(&self, gates: &[&str]) -> bool {
        gates.iter().any(|gate| gate.contains(&self.only))
    }

    fn start(&self, peer: Peer, server: &Server, mode: Mode, objects: usize) -> Result<Process> {
        Process::start(&self.go, peer, &server.url(), mode, objects)
    }

    /// Rounds of all sides in turn; another begins each round.
    pub(crate) fn rounds<const N: usize>(
        &self,
        rounds: usize,
        peers: &[Peer],
        mut measure: impl FnMut(Peer) -> Result<[f64; N]>,
    ) -> Result<Vec<Figures<N>>> {
        let mut all = vec![[const { Vec::new() }; N]; peers.len()];
        for round in 0..rounds.min(self.rounds) {
            for at in 0..peers.len() {
                let at = (at + round) % peers.len();
                let figures = self.quiet.measure(|| measure(peers[at]))?;
                for (rounds, figure) in all[at].iter_mut().zip(figures) {
                    rounds.push(figure);
                }
            }
        }
        Ok(all)
    }

    pub(crate) fn run(&self) -> Result<()> {
        let start = ["start_kr", "start_cr", "first_to_last", "first_to_last_kr", "start_cpu"];
        let held = ["resident", "relist_runs", "relist_peak"];
        if self.wants(&start) || self.wants(&held) {
            let server = Server::start(MANY)?;
            eprintln!("{MANY} objects, each of {} bytes", server.bytes(MANY - 1)?);
            if self.wants(&start) {
                self.starts(&server)?;
            }
            if self.wants(&held) {
                self.held(&server)?;
            }
        }
        if self.wants(&["latency_bare", "latency_kr", "latency_cr"]) {
            self.latency()?;
        }
        if self.wants(&["in_process"]) {
            self.in_process()?;
        }
        if self.wants(&["updates_cpu", "caught_up"]) {
            self.updates()?;
        }
        if self.wants(&["cold_beside_hot"]) {
            self.cold_beside_hot()?;
        }
        if self.wants(&["cold_at_start"]) {
            self.cold_at_start()?;
        }
        if self.wants(&["idle"]) {
            self.idle()?;
        }
        if self.wants(&["real_start_kr", "real_start_cr", "real_resident"]) {
            real::run(self)?;
        }
        eprintln!("{}", self.quiet.line());
        Ok(())
    }

    /// From nothing to a run of each of 100,000 objects.
    fn starts(&self, server: &Server) -> Result<()> {
        let [ours, kube, go] = DEFAULTS;
        let peers = [ours, kube, go, Peer::Rust(Who::Ours, 1), Peer::Rust(Who::Kube, 1)];
        let figures = self.rounds(5, &peers, |peer| {
            let mut process = self.start(peer, server, Mode::Noop, MANY)?;
            let reached = process.must_reach()?;
            ensure!(process.count()?.runs == MANY as u64, "{peer:?} ran a key twice");
            let [whole, runs] = [process.began, reached.first].map(|from| since(from, reached.at));
            Ok([whole / 1e9, runs / 1e6, reached.cpu as f64 / 1e9])
        })?;
        let [ours, kube, go, ours_1, kube_1] = &figures[..] else { unreachable!() };
        let all = [
            ("", ours),
            (" kr", kube),
            (" c-r", go),
            (" with 1 worker", ours_1),
            (" kr with 1", kube_1),
        ];
        row("start, s", &all, 0);
        row("first to last, ms", &all, 1);
        row("CPU of the start, s", &all, 2);
        measured("start_kr", ratio(&kube[0], &ours[0]));
        measured("start_cr", ratio(&go[0], &ours[0]));
        measured("first_to_last", ratio(&ours[1], &ours_1[1]));
        measured("first_to_last_kr", ratio(&kube_1[1], &ours[1]));
        measured("start_cpu", ratio(&ours[2], &kube[2]));
        Ok(())
    }

    /// Memory with 100,000 objects, and what a list does of which one has changed.
    fn held(&self, server: &Server) -> Result<()> {
        let mut turn = 0;
        let figures = self.rounds(3, &DEFAULTS, |peer| {
            let mut process = self.start(peer, server, Mode::Noop, MANY)?;
            process.must_reach()?;
            pause(Duration::from_secs(5));
            let resident = process.memory("VmRSS")?;
            process.forget_peak()?;
            let before = process.count()?.runs;
            turn += 1;
            server.expire(0, turn)?;
            let after = settled(&mut process, before)?;
            let peak = process.memory("VmHWM")?;
            Ok([resident / 1e6, (after - before) as f64, peak / resident])
        })?;
        let [ours, kube, go] = &figures[..] else { unreachable!() };
        let all = [("", ours), (" kr", kube), (" c-r", go)];
        row("resident, MB", &all, 0);
        row("list again, runs", &all, 1);
        row("list again, peak of resident", &all, 2);
        measured("resident", ratio(&ours[0], &go[0]));
        measured("relist_runs", median(&mut ours[1].clone()));
        measured("relist_peak", median(&mut ours[2].clone()));
        Ok(())
    }

    /// From the answer of a write to the first line of the run that it causes, over loopback.
    fn latency(&self) -> Result<()> {
        let server = Server::start(FEW)?;
        let [ours, kube, go] = DEFAULTS;
        let mut turn = 0;
        let figures = self.rounds(5, &[ours, kube, go, Peer::Rust(Who::Bare, 0)], |peer| {
            let process = self.start(peer, &server, Mode::Each, FEW)?;
            process.must_reach()?;
            pause(Duration::from_millis(300));
            let mut connection = server.connect()?;
            let mut took = Vec::new();
            for number in 0..300 {
                turn += 1;
                let answered = server.put(&mut connection, number, turn)?;
                took.push(process.ran()? as f64 - answered as f64);
                pause(Duration::from_millis(2));
            }
            Ok([median(&mut took) / 1e3])
        })?;
        let [ours, kube, go, bare] = &figures[..] else { unreachable!() };
        row("loopback, us", &[("", ours), (" kr", kube), (" c-r", go), (" bare watch", bare)], 0);
        let more = |other: &[f64]| {
            median(&mut ours[0].iter().zip(other).map(|(a, b)| a - b).collect::<Vec<_>>())
        };
        measured("latency_bare", more(&bare[0]));
        measured("latency_kr", ratio(&ours[0], &kube[0]));
        measured("latency_cr", more(&go[0]));
        Ok(())
    }

    /// The same on one thread, without sockets.
    fn in_process(&self) -> Result<()> {
        let figures = self.rounds(5, &DEFAULTS[..2], |peer| {
            let who = if let Peer::Rust(Who::Ours, _) = peer { "ours" } else { "kube" };
            let mut alone = Command::new(std::env::current_exe()?);
            let said = alone.args(["alone", who]).stderr(Stdio::inherit()).output()?;
            ensure!(said.status.success(), "{who} alone: {}", said.status);
            let nanos: f64 = String::from_utf8(said.stdout)?.trim().parse()?;
            Ok([nanos / 1e3])
        })?;
        let [ours, kube] = &figures[..] else { unreachable!() };
        row("in process, us", &[("", ours), (" kr", kube)], 0);
        measured("in_process", median(&mut ours[0].clone()));
        Ok(())
    }

    /// 20,000 updates of 1,000 objects: 5,000 a second, and at once while the side is stopped.
    fn updates(&self) -> Result<()> {
        const TURNS: u64 = 20;
        let updates = FEW as f64 * TURNS as f64;
        let figures = self.rounds(5, &DEFAULTS, |peer| {
            let server = Server::start(FEW)?;
            let mut process = self.start(peer, &server, Mode::Read, FEW)?;
            process.must_reach()?;
            let before = process.turn(TURNS, FEW)?.cpu;
            for turn in 1..=TURNS {
                for begin in (0..FEW).step_by(5) {
                    let next = monotonic() + 1_000_000;
                    server.write(begin..begin + 5, turn)?;
                    pause(Duration::from_nanos(next.saturating_sub(monotonic())));
                }
            }
            let used = process.must_reach()?.cpu - before;
            process.turn(2 * TURNS, FEW)?;
            process.signal(Signal::STOP)?;
            for turn in TURNS + 1..=2 * TURNS {
                server.write(0..FEW, turn)?;
            }
            // What the server does for them is done.
            pause(Duration::from_millis(200));
            let on = monotonic();
            process.signal(Signal::CONT)?;
            let caught_up = since(on, process.must_reach()?.at);
            Ok([used as f64 / updates / 1e3, caught_up / 1e6])
        })?;
        let [ours, kube, go] = &figures[..] else { unreachable!() };
        let all = [("", ours), (" kr", kube), (" c-r", go)];
        row("CPU of an update, us", &all, 0);
        row("caught up, ms", &all, 1);
        measured("updates_cpu", ratio(&ours[0], &kube[0]));
        measured("caught_up", ratio(&ours[1], &kube[1]));
        Ok(())
    }

    /// The longest wait of 1,000 keys that change one after the other beside 50 that always run.
    fn cold_beside_hot(&self) -> Result<()> {
        let figures = self.rounds(3, &FOUR, |peer| {
            let server = Server::start(FEW)?;
            let mut process = self.start(peer, &server, Mode::Work, FEW)?;
            process.must_reach()?;
            server.heat(50)?;
            pause(Duration::from_millis(500));
            process.turn(1, FEW)?;
            for number in 0..FEW {
                server.write(number..number + 1, 1)?;
                pause(Duration::from_millis(3));
            }
            let all = process.reached(Duration::from_secs(10))?;
            let count = process.count()?;
            if all.is_none() {
                eprintln!("{peer:?}: {} of {FEW} cold keys ran within 10 s", count.distinct);
                return Ok([f64::INFINITY]);
            }
            Ok([count.longest as f64 / 1e6])
        })?;
        let [ours, kube, go] = &figures[..] else { unreachable!() };
        row("cold beside hot, ms", &[("", ours), (" kr", kube), (" c-r", go)], 0);
        measured("cold_beside_hot", ratio(&ours[0], &go[0]));
        Ok(())
    }

    /// From the first run to the last of 1,000 keys of the first list, beside 8 objects that are
    /// written at full speed.
    fn cold_at_start(&self) -> Result<()> {
        let figures = self.rounds(3, &FOUR, |peer| {
            let server = Server::start(FEW)?;
            let end = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let writes = scope.spawn(|| server.storm(8, &end));
                pause(Duration::from_millis(100));
                let process = self.start(peer, &server, Mode::Work, FEW)?;
                let reached = process.reached(Duration::from_secs(60));
                end.store(true, Ordering::Relaxed);
                let writes =
                    writes.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
                eprintln!("{peer:?}: beside {writes} writes");
                Ok([reached?.map_or(f64::INFINITY, |all| since(all.first, all.at) / 1e9)])
            })
        })?;
        let [ours, kube, go] = &figures[..] else { unreachable!() };
        row("cold at the start, s", &[("", ours), (" kr", kube), (" c-r", go)], 0);
        measured("cold_at_start", median(&mut ours[0].clone()));
        Ok(())
    }

    /// How often threads wait in a minute in which nothing happens.
    fn idle(&self) -> Result<()> {
        let server = Server::start(FEW)?;
        let start = |peer| self.start(peer, &server, Mode::Noop, FEW);
        let sides: Vec<_> = DEFAULTS.into_iter().map(start).collect::<Result<_>>()?;
        for side in &sides {
            side.must_reach()?;
        }
        pause(Duration::from_secs(10));
        let wake_ups = || sides.iter().map(Process::wake_ups).collect::<Result<Vec<f64>>>();
        let before = wake_ups()?;
        pause(Duration::from_mins(1));
        let figures: Vec<Figures<1>> =
            wake_ups()?.iter().zip(before).map(|(after, before)| [vec![after - before]]).collect();
        let [ours, kube, go] = &figures[..] else { unreachable!() };
        row("idle, wake-ups", &[("", ours), (" kr", kube), (" c-r", go)], 0);
        measured("idle", median(&mut ours[0].clone()));
        Ok(())
    }
}

/// Waits until a side has run something since, and then nothing for two seconds.
fn settled(process: &mut Process, before: u64) -> Result<u64> {
    let (mut last, mut quiet) = (before, 0);
    for _ in 0..240 {
        pause(Duration::from_millis(250));
        let runs = process.count()?.runs;
        quiet = if runs == last && runs > before { quiet + 1 } else { 0 };
        if quiet == 8 {
            return Ok(runs);
        }
        last = runs;
    }
    bail!("a side did not see a change within a minute")
}

/// Prints one figure of all sides: medians, and the lowest and highest of the rounds.
pub(crate) fn row<const N: usize>(name: &str, sides: &[(&str, &Figures<N>)], figure: usize) {
    let side = |(side, figures): &(&str, &Figures<N>)| {
        let rounds = &figures[figure];
        let (low, high) =
            rounds.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
                (low.min(*one), high.max(*one))
            });
        format!("{side} {:.2} ({low:.2} to {high:.2})", median(&mut rounds.clone()))
    };
    let sides: Vec<String> = sides.iter().map(side).collect();
    eprintln!("{name}: ours{}", sides.join(","));
}

/// The median of the rounds' ratios: a slow minute weighs on both sides.
pub(crate) fn ratio(one: &[f64], other: &[f64]) -> f64 {
    median(&mut one.iter().zip(other).map(|(one, other)| one / other).collect::<Vec<_>>())
}

/// Nanoseconds from one moment to another.
pub(crate) fn since(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64
}
