//! The stages `planted` and `planted-election`: put each of the bugs that a crate lists in its
//! `src/planted.rs` into it, and ask the checks of each kind whether they see it. At least two
//! kinds must, and of the election's bugs its model or its simulation; without a bug all must pass.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::loom::{self, Scenario};
use crate::process::{Deadline, output_in_time, status_in_time};
use crate::programs::{LIBRARY, Program, Programs, each};
use crate::schedules::{self, ELECTION, PLANTED, Platform, TESTS, Table};
use crate::workspace::Workspace;

/// Kinds of checks that must see each bug.
const LEAST: usize = 2;
/// A lost wake-up of real threads shows as a program that does not end; without a bug each takes a
/// second or two.
const PATIENCE: Duration = Duration::from_secs(10);
/// What all programs are told. Most bugs show with few preemptions, and two take a tenth of the
/// time of three. Whether a bug is seen must not hang on luck, so proptest draws from a fixed seed.
/// Plain runs of the tests disturb the election's lives at some steps only.
const FIGURES: [(&str, &str); 6] = [
    ("ELECTION_LIVES", "all"),
    ("ELECTION_SEEDS", "64"),
    ("HISTORIES", "2000"),
    ("LOOM_MAX_PREEMPTIONS", "2"),
    ("MODEL_SEQUENCES", "3000"),
    ("PROPTEST_RNG_SEED", "1"),
];
/// The first seed and the number of schedules.
const SHUTTLE: [&str; 2] = ["0", "3000"];
/// The kinds of checks, in the order of the table. All but the first are targets.
const KINDS: [&str; 6] = ["tests", "model", "simulation", "loom", "shuttle", "histories"];

/// Of these kinds one at least must see each of the election's bugs.
const OF_ELECTION: [&str; 2] = ["model", "simulation"];

/// A bug in the queue, or none, and the table that it has.
#[derive(Clone, Copy)]
struct Plant<'b> {
    bug: Option<&'b str>,
    table: Table,
}

/// Everything that is built with the bugs in it.
struct Gear {
    machine: Programs,
    loom: Programs,
    shuttle: Option<Programs>,
    deadline: Deadline,
}

/// A crate that bugs are planted in.
struct Subject<'g> {
    package: &'g str,
    scenarios: Vec<Scenario<'g>>,
    /// Names of integration tests; all of them when there is none.
    filters: Vec<String>,
}

/// Plants the bugs of these crates.
pub(crate) fn judge(workspace: &Workspace, crates: &[&str], deadline: Deadline) -> Result<()> {
    let build = |platform| schedules::build(workspace, crates, platform, true, deadline);
    let machine = build(Platform::Machine)?;
    // The election has no schedules for shuttle.
    let (loom, shuttle) = (
        build(Platform::Loom)?,
        (crates != [ELECTION]).then(|| build(Platform::Shuttle)).transpose()?,
    );
    let gear = Gear { machine, loom, shuttle, deadline };
    let mut rows = Vec::new();
    for program in gear.machine.of(PLANTED, None)? {
        rows.append(&mut judge_crate(&gear, program)?);
    }
    print_table(&rows);
    check_rows(&rows)?;
    println!(
        "planted: {} bugs, each seen by {LEAST} kinds of checks or more; without one all pass",
        rows.len()
    );
    Ok(())
}

/// Who must have seen a bug.
fn check_rows(rows: &[Row]) -> Result<()> {
    let missed = |sees: fn(&Row) -> bool| {
        let missed: Vec<&str> =
            rows.iter().filter(|row| !sees(row)).map(|row| row.bug.as_str()).collect();
        missed.join(", ")
    };
    let by_few = missed(|row| row.saw.iter().flatten().count() >= LEAST);
    ensure!(by_few.is_empty(), "seen by fewer than {LEAST} kinds of checks: {by_few}");
    let untried =
        missed(|row| !row.is_of_election() || OF_ELECTION.iter().any(|kind| row.is_seen_by(kind)));
    ensure!(
        untried.is_empty(),
        "seen by neither {} of {ELECTION}: {untried}",
        OF_ELECTION.join(" nor ")
    );
    Ok(())
}

/// A line of the table.
struct Row {
    /// With its crate: `wq-core/no-pressure`.
    bug: String,
    /// What saw it, of each of the [`KINDS`].
    saw: Vec<Option<String>>,
}

impl Row {
    fn is_of_election(&self) -> bool {
        self.bug.split('/').next() == Some(ELECTION)
    }

    fn is_seen_by(&self, kind: &str) -> bool {
        KINDS.iter().zip(&self.saw).any(|(known, saw)| *known == kind && saw.is_some())
    }
}

/// The rows of one crate's bugs. Without any, all its checks must pass.
fn judge_crate(gear: &Gear, planted: &Program) -> Result<Vec<Row>> {
    let package = planted.package.as_str();
    let lines = |arg: Option<&str>| {
        let mut command = planted.call();
        command.args(arg);
        output_in_time(command, gear.deadline).map(|(_, text)| text)
    };
    let bugs: Vec<String> =
        lines(None)?.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
    ensure!(!bugs.is_empty(), "there is no bug to plant in {package}");
    let filters = lines(Some("--it"))?.split_whitespace().map(str::to_owned).collect();
    let loom = gear.loom.get(package, "loom");
    let scenarios =
        loom.map_or(Ok(Vec::new()), |program| loom::scenarios(program, gear.deadline))?;
    let subject = Subject { package, scenarios, filters };
    // The election knows no queue, and so no table.
    let tables = if package == ELECTION { &Table::BOTH[..1] } else { &Table::BOTH };
    for (&table, kind) in tables.iter().flat_map(|table| KINDS.map(|kind| (table, kind))) {
        if let Some(saw) = see(gear, &subject, kind, Plant { bug: None, table })? {
            bail!(
                "without a bug {kind} of {package}, {} table, must pass, and {saw} did not",
                table.name()
            );
        }
    }
    let seen: Mutex<BTreeMap<&str, Vec<Option<String>>>> = Mutex::default();
    each(&bugs, |bug| {
        let plant = Plant { bug: Some(bug), table: Table::Large };
        let saw = KINDS.map(|kind| see(gear, &subject, kind, plant));
        let saw = saw.into_iter().collect::<Result<Vec<_>>>()?;
        seen.lock().unwrap_or_else(PoisonError::into_inner).insert(bug, saw);
        Ok(())
    })?;
    let mut seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let row = |bug: &String| Row {
        bug: format!("{package}/{bug}"),
        saw: seen.remove(bug.as_str()).unwrap_or_default(),
    };
    Ok(bugs.iter().map(row).collect())
}

fn print_table(rows: &[Row]) {
    let line = |first: &str, cells: Vec<&str>| {
        let cells: Vec<String> = cells.into_iter().map(|cell| format!("{cell:<32}")).collect();
        println!("{}", format!("{first:<46}{}", cells.concat()).trim_end());
    };
    line("planted bug", KINDS.to_vec());
    for row in rows {
        line(&row.bug, row.saw.iter().map(|saw| saw.as_deref().unwrap_or("-")).collect());
    }
}

/// What of a crate's checks of a kind saw what is planted, or `None`.
fn see(gear: &Gear, subject: &Subject<'_>, kind: &str, plant: Plant<'_>) -> Result<Option<String>> {
    let programs = if kind == "shuttle" { gear.shuttle.as_ref() } else { Some(&gear.machine) };
    let call = |target: &str| Some(programs?.get(subject.package, target)?.call());
    let mut calls: Vec<(&str, Command)> = Vec::new();
    match kind {
        // The filters leave out tests of the public API that need real time.
        "tests" => {
            for (target, filters) in [(LIBRARY, &[][..]), (TESTS, &subject.filters)] {
                let Some(mut call) = call(target) else { continue };
                call.args(filters);
                calls.push((target, call));
            }
        }
        "loom" => {
            let scenarios = subject.scenarios.iter();
            calls.extend(scenarios.map(|scenario| (scenario.name(), scenario.call(plant.table))));
        }
        _ => calls.extend(call(kind).map(|call| ("seen", call))),
    }
    for (name, mut command) in calls {
        if kind == "shuttle" {
            command.args(SHUTTLE);
        }
        if !ends_well(gear, command, plant)? {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// Whether the command ends well, and in time, with this planted in the queue.
fn ends_well(gear: &Gear, mut command: Command, plant: Plant<'_>) -> Result<bool> {
    command.env_remove("WQ_PLANT").envs(plant.bug.map(|bug| ("WQ_PLANT", bug))).envs(FIGURES);
    plant.table.of(&mut command);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = status_in_time(command, gear.deadline.or(Deadline::within(PATIENCE)))?;
    Ok(status.is_some_and(|status| status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of a bug that these kinds saw.
    fn row(bug: &str, kinds: &[&str]) -> Row {
        let saw =
            KINDS.iter().map(|kind| kinds.contains(kind).then(|| "seen".to_owned())).collect();
        Row { bug: bug.to_owned(), saw }
    }

    #[test]
    fn two_kinds_must_see_a_bug_and_of_the_election_s_its_model_or_its_simulation() {
        let verdict = |row: Row| check_rows(&[row]).map_err(|error| error.to_string());
        assert!(verdict(row("wq-core/a", &["tests", "loom"])).is_ok());
        assert!(verdict(row("lease-election/a", &["tests", "model"])).is_ok());
        assert!(verdict(row("lease-election/a", &["simulation", "loom"])).is_ok());
        assert_eq!(
            verdict(row("wq-core/a", &["tests"])),
            Err("seen by fewer than 2 kinds of checks: wq-core/a".to_owned())
        );
        assert_eq!(
            verdict(row("lease-election/a", &["tests", "loom"])),
            Err("seen by neither model nor simulation of lease-election: lease-election/a"
                .to_owned())
        );
    }
}
