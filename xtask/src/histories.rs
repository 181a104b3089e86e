//! `cargo xtask histories [--seed …] [--histories …]`: what real threads were answered must be explained by one order.

use anyhow::Result;
use clap::Args;

use crate::process::{self, Deadline};
use crate::schedules::{BY_HAND, Platform, Programs, Table};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// Histories of one run of the checks, and of one at full figures: half of them of the queue as it is shipped.
const HISTORIES: u64 = 20_000;
const LONG: u64 = 1_000_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// What the threads ask for; when they do is the machine's
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many histories, half of them of the queue as it is shipped, half with slots that leave its table together
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
    // Where bugs can be planted the table can be chosen.
    for can_be_planted in [false, true] {
        let programs = Programs::build(workspace, Platform::Machine, can_be_planted, deadline)?;
        for program in programs.of("histories") {
            let mut command = program.call();
            command
                .args(["--nocapture", "--quiet"])
                .env("HISTORIES", options.histories.div_ceil(2).to_string())
                .env("HISTORIES_SEED", options.seed.to_string())
                .env_remove("WQ_PLANT");
            Table::Large.of(&mut command);
            process::run(command, deadline)?;
        }
    }
    Ok(())
}
