//! `cargo xtask loom [--list] [filter]`: every schedule of small scenarios, each in a process of
//! its own, because a deadlock that loom finds ends the process.

use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use crate::process::{Again, Deadline, now, output_in_time, seconds};
use crate::programs::{Program, Programs, each};
use crate::schedules::{self, BY_HAND, CORE, ELECTION, Platform, QUEUES, Table};
use crate::workspace::Workspace;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print one line a scenario and exit
    #[arg(long)]
    list: bool,
    /// Scenarios whose names, with that of the crate before them, contain this; all of them when
    /// it is left out
    filter: Option<String>,
}

/// One scenario, and the program that plays it.
#[derive(Debug)]
pub(crate) struct Scenario<'p> {
    program: &'p Program,
    name: String,
    shows: String,
}

impl Scenario<'_> {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// `wq-core/two_drainers`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.program.package, self.name)
    }

    /// A call that plays it.
    pub(crate) fn call(&self, table: Table) -> Command {
        let mut command = self.program.call();
        command.arg(&self.name);
        table.of(&mut command);
        command
    }

    /// wq-core's own with either; the others', which are of what rests on it, with the one that
    /// nearly every queue has.
    fn tables(&self) -> &'static [Table] {
        if self.program.package == CORE { &Table::BOTH } else { &[Table::Small] }
    }
}

/// The command.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (workspace, deadline) = (Workspace::load()?, Deadline::within(BY_HAND));
    let mut programs = schedules::build(&workspace, &QUEUES, Platform::Loom, false, deadline)?;
    programs.extend(schedules::build(&workspace, &[ELECTION], Platform::Loom, false, deadline)?);
    if options.list {
        for scenario in all_scenarios(&programs, deadline)? {
            println!("{:<54} {}", scenario.full_name(), scenario.shows);
        }
        return Ok(());
    }
    explore(&programs, options.filter.as_deref().unwrap_or_default(), deadline)
}

/// Every schedule of the scenarios of these crates.
pub(crate) fn play(workspace: &Workspace, crates: &[&str], deadline: Deadline) -> Result<()> {
    explore(&schedules::build(workspace, crates, Platform::Loom, false, deadline)?, "", deadline)
}

fn all_scenarios(programs: &Programs, deadline: Deadline) -> Result<Vec<Scenario<'_>>> {
    let all: Result<Vec<_>> = programs.iter().map(|program| scenarios(program, deadline)).collect();
    Ok(all?.into_iter().flatten().collect())
}

/// What the program says that it can play.
pub(crate) fn scenarios(program: &Program, deadline: Deadline) -> Result<Vec<Scenario<'_>>> {
    let mut command = program.call();
    command.arg("--list");
    let (_, text) = output_in_time(command, deadline)?;
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let scenarios: Vec<_> = lines
        .map(|(name, shows)| Scenario { program, name: name.to_owned(), shows: shows.to_owned() })
        .collect();
    ensure!(!scenarios.is_empty(), "the program of {} lists no scenario", program.package);
    Ok(scenarios)
}

/// Runs the scenarios, and says of each how many schedules it has and how long they took.
fn explore(programs: &Programs, filter: &str, deadline: Deadline) -> Result<()> {
    let mut chosen = all_scenarios(programs, deadline)?;
    chosen.retain(|scenario| scenario.full_name().contains(filter));
    ensure!(
        !chosen.is_empty(),
        "no scenario has `{filter}` in its name; `cargo xtask loom --list` prints all"
    );
    let with_table =
        |scenario| Scenario::tables(scenario).iter().map(move |table| (scenario, *table));
    let plays: Vec<_> = chosen.iter().flat_map(with_table).collect();
    each(&plays, |(scenario, table)| {
        let name = scenario.full_name();
        let shown = if name.starts_with(ELECTION) {
            name.clone()
        } else {
            format!("{name}, {} table", table.name())
        };
        let start = now();
        let (status, said) = output_in_time(scenario.call(*table), deadline)?;
        let took = start.elapsed();
        match status {
            Some(status) if status.success() => {
                println!(
                    "loom {shown}: {} schedules in {}",
                    said.lines().last().unwrap_or_default(),
                    seconds(took)
                );
                Ok(())
            }
            status => {
                let ended = status.map_or_else(|| "did not end".to_owned(), |it| it.to_string());
                println!("{said}");
                let what = format!("{shown}: {ended} after {}", seconds(took));
                Err(Again { what, commands: vec![format!("cargo xtask loom {name}")] }.into())
            }
        }
    })?;
    println!("loom: {} scenarios, each complete", chosen.len());
    Ok(())
}
