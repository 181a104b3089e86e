//! The workspace's own commands: what `cargo xtask` prints, parses and dispatches. Each command is a file of its own.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the command line speaks on it")]

mod stage;
mod workspace;
mod process;
mod ci;
mod arrows;
mod tidy;
mod map;
mod demo;
mod control_plane;
mod real;
mod record_openapi;
mod gates;
mod schedules;
mod loom;
mod shuttle;
mod histories;
mod election;
mod planted;
mod bench;
mod instructions;
mod model;
mod miri;
mod wasm;
mod workflows;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The workspace's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run all checks, or the named stages, in order: the same ones that the CI runs
    Ci {
        /// Stages to run; all of them when none is named
        stages: Vec<String>,
        /// Print one line a stage and exit
        #[arg(long)]
        list: bool,
        /// Run what has them at its full figures: 100,000 random calls instead of 5,000
        #[arg(long)]
        long: bool,
    },
    /// Start a control plane and three provisioners, break them, and judge the outcome from outside
    #[command(disable_help_flag = true)]
    Demo {
        /// Everything behind `demo` goes to the demo itself; `cargo xtask demo --help` shows it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Start a real control plane on this machine (built from source the first time), print its kubeconfig, stop it on Ctrl-C
    ControlPlane(control_plane::Options),
    /// Record anew the structure of the built-in kinds from the real server, for embedded-apiserver
    RecordOpenapi,
    /// Measure the numeric goals of gates.toml beside the peers; fails if one is short
    Gates {
        /// Crates whose gates are measured; all that have some when none is named
        crates: Vec<String>,
    },
    /// Run the benches in criterion; keep what they measure under a name, or compare with what was kept
    Bench(bench::Options),
    /// Play every schedule of the queues' small scenarios (also a stage of `ci`)
    Loom(loom::Options),
    /// Play random and priority-based schedules of the queues' large scenarios (also a stage of `ci`)
    Shuttle(shuttle::Options),
    /// Record what real threads are answered by wq-core, and look for an order that explains it (also a stage of `ci`)
    Histories(histories::Options),
    /// Put random questions to the queues and to naive oracles (also a stage of `ci`)
    Model(model::Options),
    /// Interpret the tests of wq-core with miri, which sees undefined behaviour and races (also a stage of `ci`)
    Miri(miri::Options),
    /// Plant bugs in the queues, and see which checks find each (also a stage of `ci`)
    Planted,
    /// Count the instructions of each operation of wq-core, and compare with its budgets (also a stage of `ci`)
    Instructions,
    /// Check the dependency law and what every published crate must have (also a stage of `ci`)
    Arrows,
    /// Check the shape of the source files (also a stage of `ci`)
    Tidy,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Ci { list: true, .. } => {
            ci::list();
            Ok(())
        }
        Command::Ci { stages, long, .. } => ci::run_stages(&stages, long),
        Command::Demo { args } => demo::run(&args),
        Command::ControlPlane(options) => control_plane::run(&options),
        Command::RecordOpenapi => record_openapi::run(),
        Command::Gates { crates } => gates::run(&crates),
        Command::Bench(options) => bench::run(&options),
        Command::Loom(options) => loom::run(&options),
        Command::Shuttle(options) => shuttle::run(&options),
        Command::Histories(options) => histories::run(&options),
        Command::Model(options) => model::run(&options),
        Command::Miri(options) => miri::run(&options),
        Command::Planted => planted::run(),
        Command::Instructions => instructions::run(),
        Command::Arrows => arrows::check(),
        Command::Tidy => tidy::check(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
