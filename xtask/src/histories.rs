//! `cargo xtask histories [--seed …] [--histories …]`: what real threads were answered must be explained by one order.

use anyhow::Result;
use clap::Args;

use crate::process::{self, Deadline};
use crate::schedules::{BY_HAND, Platform, Programs};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// Histories of one run of the checks, and of one at full figures.
const HISTORIES: u64 = 20_000;
const LONG: u64 = 1_000_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// What the threads ask for; when they do is the machine's
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many histories
    #[arg(long, default_value_t = HISTORIES)]
    histories: u64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    play(&Workspace::load()?, options, Deadline::within(BY_HAND))
}

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    let histories = if workspace.is_long() { LONG } else { HISTORIES };
    play(workspace, &Options { seed: 1, histories }, deadline)?;
    Ok(Verdict::Passed)
}

fn play(workspace: &Workspace, options: &Options, deadline: Deadline) -> Result<()> {
    let programs = Programs::build(workspace, Platform::Machine, false, deadline)?;
    for program in programs.of("histories") {
        let mut command = program.call();
        command
            .args(["--nocapture", "--quiet"])
            .env("HISTORIES", options.histories.to_string())
            .env("HISTORIES_SEED", options.seed.to_string());
        process::run(command, deadline)?;
    }
    Ok(())
}
