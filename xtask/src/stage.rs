//! A stage: a named, timed step of the CI with a budget shared by its group, and the table that ends a run.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail, ensure};

use crate::process::Deadline;
use crate::workspace::Workspace;

#[cfg(test)]
mod tests;

/// One check: its name on the command line, what it asks, and how it finds out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) asks: &'static str,
    pub(crate) group: Group,
    /// Stages that come along when this one is picked by name: what they build is no part of its time.
    pub(crate) needs: &'static [&'static str],
    pub(crate) run: fn(&Workspace, Deadline) -> Result<Verdict>,
}

/// What a stage that did not fail has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// A tool is absent that a laptop may lack; never under `CI=true`.
    Skipped(String),
}

/// Stages that share one cap of wall time. At its end the command that is running is killed, and its stage fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Static,
    /// Each feature and each package alone: many small builds of the same dependencies.
    Packages,
    Build,
    Test,
    /// Every state of the election, and many runs of it.
    Election,
    /// The programs that play schedules, under six sets of flags.
    Schedules,
    /// Every schedule, many schedules, and what real threads were answered.
    Models,
    Planted,
    Demo,
    /// Go builds Kubernetes once for a machine, in about five minutes.
    Programs,
    /// The cases of the API server on every server, and random calls.
    Conformance,
    Real,
    /// The numeric goals, beside the real server: for a machine that does nothing else.
    Gates,
}

impl Group {
    /// Whether its stages run when none is named. Goals are a command of their own, `gates`: a machine that is busy with
    /// other checks says little about speed.
    const fn runs_unasked(self) -> bool {
        !matches!(self, Self::Gates)
    }

    /// The caps, on a machine with 2 cores and nothing built yet; at full figures others.
    const fn cap(self, is_long: bool) -> Duration {
        Duration::from_secs(
            60 * match self {
                Self::Conformance if is_long => 60,
                Self::Models | Self::Election if is_long => 240,
                Self::Real if is_long => 30,
                Self::Conformance => 4,
                Self::Programs | Self::Gates | Self::Schedules | Self::Election => 20,
                Self::Packages | Self::Test => 15,
                Self::Models | Self::Planted => 12,
                Self::Static | Self::Build => 10,
                Self::Demo | Self::Real => 6,
            },
        )
    }
}

/// The stages of `all` that `names` picks, and those that they need, in the order of `all`; if it names none, all that
/// run unasked.
///
/// # Errors
///
/// A name that is no stage, with the names that are.
pub(crate) fn pick(all: &[Stage], names: &[String]) -> Result<Vec<Stage>> {
    for name in names {
        ensure!(
            all.iter().any(|stage| stage.name == name),
            "there is no stage `{name}`; the stages are: {}",
            all.iter().map(|stage| stage.name).collect::<Vec<_>>().join(" ")
        );
    }
    let named = |stage: &Stage| match names {
        [] => stage.group.runs_unasked(),
        names => names.iter().any(|name| name == stage.name),
    };
    let needed = |wanted: &str| all.iter().any(|stage| named(stage) && stage.needs.contains(&wanted));
    let chosen = |stage: &&Stage| named(stage) || needed(stage.name);
    Ok(all.iter().filter(chosen).copied().collect())
}

/// Runs the stages in order, each to its end even when an earlier one failed, and prints the table.
///
/// # Errors
///
/// The names of the stages that failed.
pub(crate) fn run_all(stages: &[Stage], workspace: &Workspace) -> Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    for stage in stages {
        println!("::group::{}", stage.name);
        let spent = rows.iter().filter(|row| row.group == stage.group).map(|row| row.took).sum();
        let cap = stage.group.cap(workspace.is_long());
        let left = cap.saturating_sub(spent);
        let start = now();
        let result = match Deadline::after(start, left) {
            Some(deadline) if !left.is_zero() => (stage.run)(workspace, deadline),
            _ => Err(anyhow!("the stages before it have used up the time of the {:?} stages", stage.group)),
        };
        let took = start.elapsed();
        println!("::endgroup::");
        let ended = match result {
            Err(error) => Err(format!("{error:#}")),
            Ok(_) if took > left => {
                Err(format!("over its cap: the {:?} stages have {}", stage.group, seconds(cap)))
            }
            Ok(verdict) => Ok(verdict),
        };
        match &ended {
            Ok(Verdict::Passed) => println!("stage {}: ok in {}\n", stage.name, seconds(took)),
            Ok(Verdict::Skipped(why)) => println!("stage {}: skipped, {why}\n", stage.name),
            Err(why) => println!("stage {}: FAILED in {}: {why}\n", stage.name, seconds(took)),
        }
        rows.push(Row { name: stage.name, group: stage.group, took, ended });
    }
    print_table(&rows);
    let failed: Vec<_> = rows.iter().filter(|row| row.ended.is_err()).map(|row| row.name).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(" "));
    }
    Ok(())
}

struct Row {
    name: &'static str,
    group: Group,
    took: Duration,
    ended: Result<Verdict, String>,
}

fn print_table(rows: &[Row]) {
    println!("{:<11} {:>8}  outcome", "stage", "time");
    for row in rows {
        let outcome = match &row.ended {
            Ok(Verdict::Passed) => "ok".to_owned(),
            Ok(Verdict::Skipped(why)) => format!("skipped: {why}"),
            Err(why) => format!("FAILED: {}", why.lines().next().unwrap_or_default()),
        };
        println!("{:<11} {:>8}  {outcome}", row.name, seconds(row.took));
    }
    println!("{:<11} {:>8}", "total", seconds(rows.iter().map(|row| row.took).sum()));
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "stages are timed by the real clock")]
fn now() -> Instant {
    Instant::now()
}
