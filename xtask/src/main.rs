//! The workspace's own commands: what `cargo xtask` prints, parses and dispatches. Each command is
//! a file of its own.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the command line speaks on it"
)]

mod stage;
mod workspace;
mod process;
mod programs;
mod schedules;
mod searches;
mod loom;
mod election;
mod planted;
mod miri;
mod instructions;
mod lint;
mod suite;
mod demo;
mod real;
mod release;
mod gates;
mod stages;
mod times;
mod ci;
mod control_plane;
mod record_openapi;
#[cfg(test)]
mod arrows;
#[cfg(test)]
mod circles;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod map;
#[cfg(test)]
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
    /// Run what every change must hold, the named stages, or with --full everything
    Ci(ci::Options),
    /// Start a control plane and three provisioners, break them, and judge the outcome from outside
    #[command(disable_help_flag = true)]
    Demo {
        /// Everything behind `demo` goes to the demo itself; `cargo xtask demo --help` shows it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Start a real control plane on this machine (built from source the first time), print its
    /// kubeconfig, stop it on Ctrl-C
    ControlPlane(control_plane::Options),
    /// Record anew the structure of the built-in kinds from the real server, for embedded-apiserver
    RecordOpenapi,
    /// Measure the numeric goals of gates.toml beside the peers; fails if one is short
    Gates {
        /// Crates whose gates are measured; all that have some when none is named
        crates: Vec<String>,
    },
    /// Play every schedule of small scenarios, or of those with a name (stages `loom` and `terms`
    /// of `ci`)
    Loom(loom::Options),
    /// Play random schedules of large scenarios from a seed on (stage `shuttle` of `ci`)
    Shuttle(searches::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Ci(options) => ci::run(&options),
        Command::Demo { args } => demo::run(&args),
        Command::ControlPlane(options) => control_plane::run(&options),
        Command::RecordOpenapi => record_openapi::run(),
        Command::Gates { crates } => gates::run(&crates),
        Command::Loom(options) => loom::run(&options),
        Command::Shuttle(options) => searches::run_shuttle(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
