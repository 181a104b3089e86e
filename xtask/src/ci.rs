//! `cargo xtask ci`: runs the picked stages, each to its end even when an earlier one failed, and
//! says what became of them.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::process::{Again, Deadline, forward_signals, now, seconds};
use crate::stage::{Stage, pick};
use crate::stages::STAGES;
use crate::times::Times;
use crate::workspace::Workspace;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Stages to run; with `--full`, areas. Without any: what every change must hold, or with
    /// `--full` everything
    #[arg(value_name = "STAGE|AREA")]
    names: Vec<String>,
    /// Run everything, or the named areas: queues, election, server, e2e, release
    #[arg(long)]
    full: bool,
    /// Print one line a stage and exit
    #[arg(long)]
    list: bool,
    /// How many times as many sequences, seeds, schedules and random calls searches play
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    effort: u32,
}

/// The command.
pub(crate) fn run(options: &Options) -> Result<()> {
    let stages = pick(STAGES, &options.names, options.full)?;
    let workspace = Workspace::load()?.with_effort(options.effort);
    let mut times = Times::load(workspace.target_dir());
    if options.list {
        list(&times)?;
        return Ok(());
    }
    forward_signals()?;
    let mut rows = Vec::new();
    for stage in &stages {
        rows.push(play(stage, &workspace, &mut times));
    }
    conclude(&rows)
}

/// What became of a stage.
struct Row {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

enum Outcome {
    Passed,
    /// Its tool is missing; how to install it.
    Skipped(String),
    Failed(String),
}

fn play(stage: &Stage, workspace: &Workspace, times: &mut Times) -> Row {
    let name = stage.name;
    println!("stage {name}: {}", stage.question);
    let (start, limit) = (now(), stage.limit(workspace.effort()));
    let outcome = match stage.tools.iter().find(|tool| !(tool.is_installed)(workspace.root())) {
        Some(tool) if is_ci() => {
            Outcome::Failed(format!("{} is missing: {}", tool.name, tool.install))
        }
        Some(tool) => Outcome::Skipped(format!("{} is missing: {}", tool.name, tool.install)),
        None => match (stage.run)(workspace, Deadline::within(limit)) {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                let again = error.downcast_ref::<Again>().map_or_else(
                    || format!("cargo xtask ci {name}"),
                    |Again { commands, .. }| commands.join("\n  again: "),
                );
                Outcome::Failed(format!("{error:#}\n  again: {again}"))
            }
        },
    };
    let took = start.elapsed();
    match &outcome {
        Outcome::Passed => {
            println!("stage {name}: ok in {}\n", seconds(took));
            if workspace.effort() == 1 {
                times.note(name, took);
            }
        }
        Outcome::Skipped(why) => println!("stage {name}: skipped, {why}\n"),
        Outcome::Failed(why) => println!("stage {name}: FAILED in {}: {why}\n", seconds(took)),
    }
    Row { name, took, outcome }
}

/// Prints the table of the run, and what was skipped and failed once more.
fn conclude(rows: &[Row]) -> Result<()> {
    println!("{:<18} {:>8}  outcome", "stage", "time");
    for row in rows {
        let outcome = match &row.outcome {
            Outcome::Passed => "ok".to_owned(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
            Outcome::Failed(why) => format!("FAILED: {}", why.lines().next().unwrap_or_default()),
        };
        println!("{:<18} {:>8}  {outcome}", row.name, seconds(row.took));
    }
    println!("{:<18} {:>8}", "total", seconds(rows.iter().map(|row| row.took).sum()));
    let named = |wanted: fn(&Outcome) -> bool| {
        let names = rows.iter().filter(|row| wanted(&row.outcome)).map(|row| row.name);
        names.collect::<Vec<_>>().join(" ")
    };
    let skipped = named(|outcome| matches!(outcome, Outcome::Skipped(_)));
    if !skipped.is_empty() {
        println!("skipped, for want of a tool: {skipped}");
    }
    let failed = named(|outcome| matches!(outcome, Outcome::Failed(_)));
    if !failed.is_empty() {
        bail!("failed: {failed}; again: cargo xtask ci {failed}");
    }
    Ok(())
}

fn list(times: &Times) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<18} {:<15} {:>9}  question", "stage", "runs with", "last here")?;
    for stage in STAGES {
        let last = times.last(stage.name).map_or_else(|| "-".to_owned(), seconds);
        writeln!(out, "{:<18} {:<15} {last:>9}  {}", stage.name, stage.place(), stage.question)?;
    }
    Ok(())
}

/// Whether a missing tool is an error.
fn is_ci() -> bool {
    std::env::var("CI").as_deref() == Ok("true")
}
