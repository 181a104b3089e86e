//! `cargo xtask loom [--list] [filter]`: every schedule of small scenarios, each in a process of its own, because a deadlock
//! that loom finds ends the process.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;

use crate::process::{Deadline, said_in_time};
use crate::schedules::{BY_HAND, CRATE, Platform, Programs, each};
use crate::stage::Verdict;
use crate::workspace::Workspace;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print one line a scenario and exit
    #[arg(long)]
    list: bool,
    /// Scenarios whose names contain this; all of them when it is left out
    filter: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let deadline = Deadline::within(BY_HAND);
    let programs = Programs::build(&workspace, Platform::Loom, false, deadline)?;
    if options.list {
        for (name, shows) in scenarios(&programs, &workspace, deadline)? {
            println!("{CRATE} {name:<36} {shows}");
        }
        return Ok(());
    }
    explore(&programs, &workspace, options.filter.as_deref().unwrap_or_default(), deadline)
}

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    let programs = Programs::build(workspace, Platform::Loom, false, deadline)?;
    explore(&programs, workspace, "", deadline)?;
    Ok(Verdict::Passed)
}

/// The scenarios by name, with what each shows.
pub(crate) fn scenarios(
    programs: &Programs,
    workspace: &Workspace,
    deadline: Deadline,
) -> Result<Vec<(String, String)>> {
    let mut command = programs.call(workspace, "loom")?;
    command.arg("--list");
    let (_, text) = said_in_time(command, deadline)?;
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    Ok(lines.map(|(name, shows)| (name.to_owned(), shows.to_owned())).collect())
}

/// Runs the scenarios, and says of each how many schedules it has and how long they took.
fn explore(programs: &Programs, workspace: &Workspace, filter: &str, deadline: Deadline) -> Result<()> {
    let mut chosen = scenarios(programs, workspace, deadline)?;
    chosen.retain(|(name, _)| name.contains(filter));
    ensure!(
        !chosen.is_empty(),
        "no scenario has `{filter}` in its name; `cargo xtask loom --list` prints all"
    );
    each(&chosen, |(name, _)| {
        let mut command = programs.call(workspace, "loom")?;
        command.arg(name);
        let start = now();
        let (status, said) = said_in_time(command, deadline)?;
        let took = start.elapsed();
        match status {
            Some(status) if status.success() => {
                println!("loom {CRATE} {name}: {} schedules in {}", said.trim(), seconds(took));
                Ok(())
            }
            Some(status) => bail!("{CRATE} {name} ended with {status}; again: cargo xtask loom {name}"),
            None => bail!("{CRATE} {name} had not ended after {}", seconds(took)),
        }
    })
    .context("not every schedule is right")?;
    println!("loom: {} scenarios, each complete", chosen.len());
    Ok(())
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "what a scenario takes is timed by the real clock")]
fn now() -> Instant {
    Instant::now()
}
