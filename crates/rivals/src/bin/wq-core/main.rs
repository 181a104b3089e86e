//! wq-core beside client-go's work queue, and beside itself: what its gates in `gates.toml` are about.
#![expect(clippy::print_stderr, reason = "a program for the command line")]

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use rivals::{Compared, Peer, Quiet, interleaved, measured};

mod alone;
mod ourselves;
mod tasks;
mod threads;

/// wq-core beside client-go, and beside itself.
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

fn main() -> Result<()> {
    let cli = Cli::parse();
    let peer = Peer::start()?;
    let quiet = Quiet::new(Some(peer.id()), Duration::from_secs(cli.patience));
    let mut bench = Bench { cli, peer, quiet };
    alone::run(&mut bench)?;
    threads::run(&mut bench)?;
    tasks::run(&mut bench)?;
    ourselves::run(&mut bench)?;
    eprintln!("{}", bench.quiet.line());
    Ok(())
}

/// What all measurements go through.
#[derive(Debug)]
struct Bench {
    cli: Cli,
    peer: Peer,
    quiet: Quiet,
}

impl Bench {
    fn wants(&self, gate: &str) -> bool {
        gate.contains(&self.cli.only)
    }

    /// Measures one workload on both sides, in nanoseconds an item, and says how many times faster ours is.
    fn beside_client_go(
        &mut self,
        gate: &str,
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
        Ok(Some(say(gate, "client-go", &compared)))
    }

    /// Measures two ways of ours, in nanoseconds, and says how many times longer the first takes.
    fn beside_itself(
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

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since, for each of so many items.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn each(since: Instant, items: usize) -> f64 {
    now().duration_since(since).as_nanos() as f64 / items as f64
}
