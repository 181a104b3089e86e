//! The controller runtime beside kube-runtime and controller-runtime on one API server: what the
//! gates of `gates.toml` are about.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a program for the command line")]
#![expect(clippy::cast_precision_loss, reason = "far below 2^53")]

mod alone;
mod process;
mod real;
mod roles;
mod seen;
mod server;
mod workloads;

use std::io::Write as _;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};
use rivals::{Machine, Peer, Quiet};

/// reconciler beside kube-runtime and controller-runtime.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Option<Role>,
    /// Rounds of each workload, at most
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only gates whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Seconds to wait, in all, for a quiet machine; 0: measures on any, and repeats nothing
    #[arg(long, default_value_t = 120)]
    patience: u64,
}

/// What the program starts itself as, in processes of their own.
#[derive(Debug, Subcommand)]
enum Role {
    /// A controller, until its standard input ends
    Side(roles::Side),
    /// The latency in process
    Alone { who: roles::Who },
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    match cli.command {
        Some(Role::Side(side)) => return roles::run(&side),
        Some(Role::Alone { who }) => return alone::run(who),
        None => {}
    }
    let machine = Machine::before();
    let go = Peer::build()?;
    let quiet = Quiet::new(None, Duration::from_secs(cli.patience));
    workloads::Gates { only: cli.only, rounds: cli.rounds, quiet, go }.run()?;
    eprintln!("{}", machine.line());
    Ok(())
}

/// Waits, as a part of a workload, or where no signal shows its end.
#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// A line for another process.
fn tell(line: &str) {
    println!("{line}");
    // It goes away with its reader.
    let _ = std::io::stdout().flush();
}
