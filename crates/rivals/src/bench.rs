//! Bench: what the programs that measure a queue have in common: the command line, a workload
//! beside its twin, and a run on one processor.
#![expect(clippy::print_stderr, reason = "what programs for the command line share")]

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;

use crate::{Compared, Peer, Pinned, Quiet, heap, interleaved, measured};

/// How a program measures.
#[derive(Debug, Parser)]
struct Cli {
    /// Rounds of each measurement
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Only gates whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Seconds to wait, in all, for a quiet machine
    #[arg(long, default_value_t = 120)]
    patience: u64,
}

/// What all measurements of a program go through.
#[derive(Debug)]
pub struct Bench {
    cli: Cli,
    peer: Peer,
    quiet: Quiet,
}

impl Bench {
    /// As the command line says, with the peer started.
    ///
    /// # Errors
    ///
    /// If the peer does not start, or the program not anew with a heap that keeps its memory.
    pub fn start() -> Result<Self> {
        let cli = Cli::parse();
        heap::keep()?;
        let peer = Peer::start()?;
        let quiet = Quiet::new(Some(peer.id()), Duration::from_secs(cli.patience));
        Ok(Self { cli, peer, quiet })
    }

    /// Whether this gate is among those that were asked for.
    #[must_use]
    pub fn wants(&self, gate: &str) -> bool {
        gate.contains(&self.cli.only)
    }

    /// How many rounds a measurement has.
    #[must_use]
    pub const fn rounds(&self) -> usize {
        self.cli.rounds
    }

    /// At most so many rounds of each measurement from here on: of workloads that take seconds.
    pub fn at_most(&mut self, rounds: usize) {
        self.cli.rounds = self.cli.rounds.min(rounds);
    }

    /// The watch over what else the machine does.
    #[must_use]
    pub const fn quiet(&self) -> &Quiet {
        &self.quiet
    }

    /// Measures one workload on both sides, in nanoseconds an item, and says how many times faster
    /// ours is.
    ///
    /// # Errors
    ///
    /// That of a round.
    pub fn beside_client_go(
        &mut self,
        gate: &str,
        theirs: &str,
        ours: impl FnMut() -> Result<f64>,
    ) -> Result<Option<f64>> {
        self.beside(gate, "client-go", theirs, ours)
    }

    /// As [`beside_client_go`](Self::beside_client_go), for a peer of another name in the same
    /// program.
    ///
    /// # Errors
    ///
    /// That of a round.
    pub fn beside(
        &mut self,
        gate: &str,
        name: &str,
        theirs: &str,
        mut ours: impl FnMut() -> Result<f64>,
    ) -> Result<Option<f64>> {
        if !self.wants(gate) {
            return Ok(None);
        }
        // Once for the caches and the branch predictors.
        ours()?;
        self.peer.round(theirs)?;
        let (quiet, peer) = (&self.quiet, &mut self.peer);
        let compared = pollster::block_on(interleaved(
            self.cli.rounds,
            async |_| Ok(1.0 / quiet.measure(&mut ours)?),
            async |_| Ok(1.0 / quiet.measure(|| peer.round(theirs))?),
        ))?;
        Ok(Some(say(gate, name, &compared)))
    }

    /// Measures two ways of ours, in nanoseconds, and says how many times longer the first takes.
    ///
    /// # Errors
    ///
    /// That of a round.
    pub fn beside_itself(
        &self,
        gate: &str,
        other: &str,
        mut one: impl FnMut() -> Result<f64>,
        mut two: impl FnMut() -> Result<f64>,
    ) -> Result<()> {
        if !self.wants(gate) {
            return Ok(());
        }
        one()?;
        two()?;
        let compared = pollster::block_on(interleaved(
            self.cli.rounds,
            async |_| self.quiet.measure(&mut one),
            async |_| self.quiet.measure(&mut two),
        ))?;
        let ((low, high), ratio) = (compared.range(), compared.ratio());
        eprintln!(
            "{gate}: {:.1} ns, {other} {:.1} ns: {ratio:.2} of it ({low:.2} to {high:.2})",
            compared.ours(),
            compared.theirs(),
        );
        measured(gate, ratio);
        Ok(())
    }

    /// Says how quiet the machine was.
    pub fn end(self) {
        eprintln!("{}", self.quiet.line());
    }
}

/// Prints one comparison with a peer; both sides are rates.
fn say(gate: &str, peer: &str, compared: &Compared) -> f64 {
    let ((low, high), ratio) = (compared.range(), compared.ratio());
    let ((our_best, their_best), of) = (compared.highest(), |rate: f64| 1.0 / rate);
    eprintln!(
        "{gate}: {:.1} ns (at best {:.1}), {peer} {:.1} ns ({:.1}): {ratio:.2} times as fast ({low:.2} to {high:.2})",
        of(compared.ours()),
        of(our_best),
        of(compared.theirs()),
        of(their_best),
    );
    measured(gate, ratio);
    ratio
}

/// The present.
#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since, for each of so many items.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
#[must_use]
pub fn each(since: Instant, items: usize) -> f64 {
    now().duration_since(since).as_nanos() as f64 / items as f64
}

/// Runs on the first processor: nanoseconds an item.
///
/// # Errors
///
/// If the thread cannot be pinned, or that of the run.
pub fn alone(items: usize, run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let _pinned = Pinned::to(0)?;
    let begin = now();
    run()?;
    Ok(each(begin, items))
}

/// Numbers from 0.
#[must_use]
pub fn integers(count: usize) -> Vec<u64> {
    (0_u64..).take(count).collect()
}

/// What controllers hold: a namespace and a name, 24 bytes.
#[must_use]
pub fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("namespace-1/name-{at:07}")).collect()
}
