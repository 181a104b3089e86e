//! lease-election beside client-go's elector on the real API server, and a thousand electors on the
//! embedded one: what the gates of `gates.toml` are about.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a program for the command line")]

mod contest;
mod memory;
mod thousand;

use std::alloc::System;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand};
use control_plane::ControlPlane;
use rivals::{Machine, Peer, cluster, measured, median, real};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// lease-election beside client-go.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Option<Serve>,
    /// Only the gates whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Hand-overs of ours; client-go's are a quarter of it
    #[arg(long, default_value_t = 80)]
    hand_overs: usize,
    /// Crashes on each of eight Leases; of client-go half as many
    #[arg(long, default_value_t = 4)]
    crashes: usize,
    /// Seconds to count requests for; a watch is opened again every 290 s
    #[arg(long, default_value_t = 290)]
    count_for: u64,
}

#[derive(Debug, Subcommand)]
enum Serve {
    /// Serves on loopback until its standard input ends: the program starts itself so, in a process
    /// of its own
    Serve,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    if cli.command.is_some() {
        return thousand::serve();
    }
    let machine = Machine::before();
    let wanted = |names: &[&str]| names.iter().any(|name| name.contains(&cli.only));
    if wanted(&["memory"]) {
        memory::run()?;
    }
    if wanted(&["lateness"]) {
        thousand::run()?;
    }
    let beside =
        ["hand_over", "hand_over_p50", "hand_over_p95", "crash", "requests", "standby_requests"];
    let of_ours = ["crash", "crash_mean", "crash_max", "herd_take_overs", "herd_writes"];
    if wanted(&beside) || wanted(&of_ours) {
        on_the_real_server(&cli, wanted(&beside), wanted(&of_ours))?;
    }
    eprintln!("{}", machine.line());
    Ok(())
}

const NAMESPACE: &str = "default";
/// In one process.
const ELECTORS: usize = 1_000;

fn on_the_real_server(cli: &Cli, beside: bool, of_ours: bool) -> Result<()> {
    let plane = real(ControlPlane::builder())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let cluster = runtime.block_on(cluster(plane.kubeconfig_file("admin")?))?;
    // Counts are taken while the rest is measured: they do not depend on what else the machine
    // does.
    let counting = if beside {
        let (cluster, span) = (cluster.clone(), Duration::from_secs(cli.count_for));
        Some((
            ClientGo::start(&plane, cli)?,
            thread::spawn(move || contest::requests(&cluster, span)),
        ))
    } else {
        None
    };
    let mut hand_overs = Vec::new();
    if beside {
        hand_overs = contest::hand_overs(&cluster, cli.hand_overs)?;
    }
    let mut crashes = Vec::new();
    if of_ours {
        crashes = contest::crashes(&cluster, 8, cli.crashes)?;
        let (mean, max) = (mean(&crashes), crashes.iter().copied().fold(0.0, f64::max));
        eprintln!("crash: {} of them, mean {mean:.3} s, max {max:.3} s", crashes.len());
        measured("crash_mean", mean);
        measured("crash_max", max);
        let (take_overs, writes) = contest::herd(&cluster, 50)?;
        eprintln!("herd: 50 standbys and one release: {take_overs} take-overs, {writes} writes");
        measured("herd_take_overs", take_overs);
        measured("herd_writes", writes);
    }
    if let Some((client_go, requests)) = counting {
        let requests = requests.join().map_err(|_| anyhow::anyhow!("the count panicked"))??;
        let theirs = client_go.end()?;
        let (ours_mean, p50) = (mean(&hand_overs), median(&mut hand_overs.clone()));
        hand_overs.sort_by(f64::total_cmp);
        let p95 = hand_overs.get(hand_overs.len() * 95 / 100).copied().context("no hand-overs")?;
        eprintln!(
            "hand_over: {} of ours, mean {ours_mean:.1} ms, p50 {p50:.1}, p95 {p95:.1}, max {:.1}; client-go mean {:.0} ms, p50 {:.0}, max {:.0}",
            hand_overs.len(),
            hand_overs.last().copied().unwrap_or(f64::NAN),
            theirs.mean,
            theirs.p50,
            theirs.max,
        );
        measured("hand_over_p50", p50);
        measured("hand_over_p95", p95);
        measured("hand_over", theirs.mean / ours_mean);
        if !crashes.is_empty() {
            eprintln!(
                "crash: of client-go, mean {:.1} s, max {:.1} s",
                theirs.crash, theirs.crash_max
            );
            measured("crash", theirs.crash / mean(&crashes));
        }
        eprintln!(
            "requests an hour: {:.0} of ours at 5 s / 1 s (each standby at most {:.0}), {:.0} of client-go's at 15 s / 2 s",
            requests.all, requests.standby, theirs.requests,
        );
        measured("requests", requests.all / theirs.requests);
        measured("standby_requests", requests.standby);
    }
    plane.stop()?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The program with client-go's elector, at work.
struct ClientGo(Child);

/// What it measured: hand-overs in milliseconds, from a crash to the next leader in seconds,
/// requests an hour.
struct Theirs {
    mean: f64,
    p50: f64,
    max: f64,
    crash: f64,
    crash_max: f64,
    requests: f64,
}

impl ClientGo {
    fn start(plane: &ControlPlane, cli: &Cli) -> Result<Self> {
        let program = Peer::build()?;
        let child = Command::new(program)
            .arg("elections")
            .arg(plane.kubeconfig_file("admin")?)
            .arg(NAMESPACE)
            .arg((cli.hand_overs / 4).max(1).to_string())
            .arg((cli.crashes / 2).max(1).to_string())
            .arg((cli.count_for / 2).max(1).to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the peer")?;
        Ok(Self(child))
    }

    fn end(mut self) -> Result<Theirs> {
        let stdout = self.0.stdout.take().context("no output")?;
        let said = std::io::read_to_string(stdout)?;
        ensure!(self.0.wait()?.success(), "the peer failed");
        let numbers = |name: &str| -> Result<Vec<f64>> {
            let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let line =
                line.with_context(|| format!("the peer said nothing of {name}: {said:?}"))?;
            line.split(' ').map(|number| number.parse().context("no number")).collect()
        };
        let told = (&numbers("hand_over")?[..], &numbers("crash")?[..], &numbers("requests")?[..]);
        let ([mean, p50, max], [crash, crash_max], [requests]) = told else {
            bail!("the peer said {said:?}")
        };
        let (crash, crash_max, requests) = (*crash, *crash_max, *requests);
        Ok(Theirs { mean: *mean, p50: *p50, max: *max, crash, crash_max, requests })
    }
}

impl Drop for ClientGo {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits, because it is the length of what is measured, or because nobody tells when it is over.
#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn pause(span: Duration) {
    thread::sleep(span);
}

/// More files than many systems allow a process unasked.
fn allow_many_sockets() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, the sockets will be missing, and that is said.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
}

/// Bytes that this process has allocated and not given back.
fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

/// A line for another process.
fn tell(line: &str) {
    println!("{line}");
    let _ = std::io::Write::flush(&mut std::io::stdout());
}
