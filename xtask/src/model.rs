//! `cargo xtask model [--sequences …]`: random sequences of everything that the queues and their parts can be asked for,
//! against naive oracles.

use anyhow::Result;
use clap::Args;

use crate::process::{self, Deadline};
use crate::schedules::{BY_HAND, CORE, Platform, Program, Programs, Table};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// Sequences of one run of the checks, and of one at full figures.
const SEQUENCES: u64 = 20_000;
const LONG: u64 = 200_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many sequences of each model
    #[arg(long, default_value_t = SEQUENCES)]
    sequences: u64,
    /// The crate whose models are played; all that have some when it is left out
    #[arg(long)]
    package: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    play(&Workspace::load()?, options, Deadline::within(BY_HAND))
}

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    let sequences = if workspace.is_long() { LONG } else { SEQUENCES };
    play(workspace, &Options { sequences, package: None }, deadline)?;
    Ok(Verdict::Passed)
}

fn play(workspace: &Workspace, options: &Options, deadline: Deadline) -> Result<()> {
    let play = |program: &Program| {
        let mut command = program.call();
        command
            .arg("--nocapture")
            .env("MODEL_SEQUENCES", options.sequences.to_string())
            .env_remove("WQ_PLANT");
        Table::Large.of(&mut command);
        process::run(command, deadline)
    };
    let programs = Programs::build(workspace, Platform::Machine, false, deadline)?;
    for program in programs.of_chosen("model", options.package.as_deref())? {
        play(program)?;
    }
    // As it is shipped its slots leave a table together only where hundreds of thousands are held. Where bugs can be planted the
    // table can be chosen.
    if options.package.as_deref().is_none_or(|package| package == CORE) {
        let programs = Programs::build(workspace, Platform::Machine, true, deadline)?;
        for program in programs.of_chosen("model", Some(CORE))? {
            play(program)?;
        }
    }
    Ok(())
}
