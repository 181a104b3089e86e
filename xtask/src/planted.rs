//! `cargo xtask planted`: puts each of the bugs of `crates/wq-core/src/planted.rs` into the queue, and asks the checks of each kind
//! whether they see it. At least two kinds must; without a bug all must pass.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::loom;
use crate::process::{Deadline, said_in_time, status_in_time};
use crate::schedules::{BY_HAND, Platform, Programs, each};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// Kinds of checks that must see each bug.
const LEAST: usize = 2;
/// A lost wake-up of real threads shows as a program that does not end; without a bug each takes a second or two.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bugs show with few preemptions, and two take a tenth of the time of three.
const PREEMPTIONS: &str = "2";
const SCHEDULES: &str = "1800";
const HISTORIES: &str = "2000";

/// The kinds of checks, in the order of the table.
const KINDS: [(&str, Check); 4] =
    [("tests", tests), ("loom", loom_check), ("shuttle", shuttle), ("histories", histories)];

/// What saw the bug that is planted, or `None`.
type Check = fn(&Gear<'_>, Option<&str>) -> Result<Option<String>>;

/// Everything that is built with the bugs in it.
struct Gear<'w> {
    workspace: &'w Workspace,
    machine: Programs,
    loom: Programs,
    shuttle: Programs,
    scenarios: Vec<String>,
    deadline: Deadline,
}

pub(crate) fn run() -> Result<()> {
    judge(&Workspace::load()?, Deadline::within(BY_HAND))
}

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    judge(workspace, deadline)?;
    Ok(Verdict::Passed)
}

fn judge(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let build = |platform| Programs::build(workspace, platform, true, deadline);
    let (machine, loom, shuttle) =
        (build(Platform::Machine)?, build(Platform::Loom)?, build(Platform::Shuttle)?);
    let scenarios = loom::scenarios(&loom, workspace, deadline)?;
    let scenarios = scenarios.into_iter().map(|(name, _)| name).collect();
    let gear = Gear { workspace, machine, loom, shuttle, scenarios, deadline };
    for (kind, check) in KINDS {
        if let Some(saw) = check(&gear, None)? {
            bail!("without a bug {kind} must pass, and {saw} did not");
        }
    }
    let bugs = bugs(&gear)?;
    let seen: Mutex<BTreeMap<&str, Vec<Option<String>>>> = Mutex::default();
    each(&bugs, |bug| {
        let saw = KINDS.iter().map(|(_, check)| check(&gear, Some(bug))).collect::<Result<Vec<_>>>()?;
        seen.lock().unwrap_or_else(PoisonError::into_inner).insert(bug, saw);
        Ok(())
    })?;
    let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    print_table(&bugs, &seen);
    let missed: Vec<&str> = bugs
        .iter()
        .map(String::as_str)
        .filter(|bug| seen.get(bug).is_none_or(|saw| saw.iter().flatten().count() < LEAST))
        .collect();
    ensure!(missed.is_empty(), "seen by fewer than {LEAST} kinds of checks: {}", missed.join(", "));
    println!(
        "planted: {} bugs, each seen by {LEAST} kinds of checks or more; without one all pass",
        bugs.len()
    );
    Ok(())
}

fn print_table(bugs: &[String], seen: &BTreeMap<&str, Vec<Option<String>>>) {
    let row = |first: &str, cells: Vec<&str>| {
        let cells: Vec<String> = cells.into_iter().map(|cell| format!("{cell:<32}")).collect();
        println!("{}", format!("{first:<34}{}", cells.concat()).trim_end());
    };
    row("planted bug", KINDS.iter().map(|(kind, _)| *kind).collect());
    for bug in bugs {
        let saw = seen.get(bug.as_str()).into_iter().flatten();
        row(bug, saw.map(|saw| saw.as_deref().unwrap_or("-")).collect());
    }
}

fn bugs(gear: &Gear<'_>) -> Result<Vec<String>> {
    let mut command = gear.loom.call(gear.workspace, "loom")?;
    command.arg("--bugs");
    let (_, text) = said_in_time(command, gear.deadline)?;
    let bugs: Vec<String> =
        text.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
    ensure!(!bugs.is_empty(), "there is no bug to plant");
    Ok(bugs)
}

/// Unit tests, the model, and those tests of the public API that poll by hand.
fn tests(gear: &Gear<'_>, bug: Option<&str>) -> Result<Option<String>> {
    for (target, args) in [("wq_core", &[][..]), ("model", &[]), ("it", &["cancel::", "process::"])] {
        let mut command = gear.machine.call(gear.workspace, target)?;
        // Where cargo would run it: proptest looks for its sources.
        command.args(args).current_dir(crate_folder(gear));
        if !passes(gear, command, bug)? {
            return Ok(Some(target.to_owned()));
        }
    }
    Ok(None)
}

fn loom_check(gear: &Gear<'_>, bug: Option<&str>) -> Result<Option<String>> {
    for scenario in &gear.scenarios {
        let mut command = gear.loom.call(gear.workspace, "loom")?;
        command.arg(scenario).env("LOOM_MAX_PREEMPTIONS", PREEMPTIONS);
        if !passes(gear, command, bug)? {
            return Ok(Some(scenario.clone()));
        }
    }
    Ok(None)
}

fn shuttle(gear: &Gear<'_>, bug: Option<&str>) -> Result<Option<String>> {
    let mut command = gear.shuttle.call(gear.workspace, "shuttle")?;
    command.args(["0", SCHEDULES]);
    Ok((!passes(gear, command, bug)?).then(|| "seen".to_owned()))
}

fn histories(gear: &Gear<'_>, bug: Option<&str>) -> Result<Option<String>> {
    let mut command = gear.machine.call(gear.workspace, "histories")?;
    command.env("HISTORIES", HISTORIES);
    Ok((!passes(gear, command, bug)?).then(|| "seen".to_owned()))
}

/// Whether the program ends well, and in time, with this bug in the queue.
fn passes(gear: &Gear<'_>, mut command: Command, bug: Option<&str>) -> Result<bool> {
    command.env_remove("WQ_PLANT").envs(bug.map(|bug| ("WQ_PLANT", bug)));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = status_in_time(command, gear.deadline.or(Deadline::within(PATIENCE)))?;
    Ok(status.is_some_and(|status| status.success()))
}

fn crate_folder(gear: &Gear<'_>) -> PathBuf {
    gear.workspace.root().join("crates").join(crate::schedules::CRATE)
}
