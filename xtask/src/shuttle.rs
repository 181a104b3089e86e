//! `cargo xtask shuttle [--seed …] [--schedules …]`: random and priority-based schedules of large scenarios.

use anyhow::Result;
use clap::Args;

use crate::process::{self, Deadline};
use crate::schedules::{BY_HAND, Platform, Programs, Table};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// Schedules of one run of the checks, and of one at full figures: half of them with each table.
const SCHEDULES: u64 = 100_000;
const LONG: u64 = 10_000_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A seed is one scenario, one scheduler and a hundred schedules; the next hundred have the next seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many schedules of each crate, half of them with slots that leave wq-core's table together, half with such that leave at once
    #[arg(long, default_value_t = SCHEDULES)]
    schedules: u64,
    /// The crate whose scenarios are played; all that have some when it is left out
    #[arg(long)]
    package: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    play(&Workspace::load()?, options, Deadline::within(BY_HAND))
}

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    let schedules = if workspace.is_long() { LONG } else { SCHEDULES };
    play(workspace, &Options { seed: 0, schedules, package: None }, deadline)?;
    Ok(Verdict::Passed)
}

fn play(workspace: &Workspace, options: &Options, deadline: Deadline) -> Result<()> {
    let programs = Programs::build(workspace, Platform::Shuttle, false, deadline)?;
    for program in programs.of_chosen("shuttle", options.package.as_deref())? {
        for table in Table::BOTH {
            let mut command = program.call();
            command.args([options.seed, options.schedules.div_ceil(2)].map(|number| number.to_string()));
            table.of(&mut command);
            process::run(command, deadline)?;
        }
    }
    Ok(())
}
