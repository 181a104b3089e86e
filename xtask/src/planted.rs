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
/// Most bugs show with few preemptions, and two take a tenth of the time of three.
const PREEMPTIONS: &str = "2";
const SCHEDULES: &str = "3000";
const HISTORIES: &str = "2000";
const SEEDS: &str = "64";
const SEQUENCES: &str = "3000";
/// What proptest draws from: whether a bug is seen must not hang on luck. Plain runs of the tests
/// draw anew each time.
const DRAWN_FROM: (&str, &str) = ("PROPTEST_RNG_SEED", "1");
/// The kinds of checks, in the order of the table.
const KINDS: [(&str, Check); 6] = [
    ("tests", tests),
    ("model", model),
    ("simulation", simulation),
    ("loom", loom_check),
    ("shuttle", shuttle),
    ("histories", histories),
];

/// Of these kinds one at least must see each of the election's bugs.
const OF_ELECTION: [&str; 2] = ["model", "simulation"];

/// What of a crate's checks saw what is planted, or `None`.
type Check = fn(&Gear, &Subject<'_>, Plant<'_>) -> Result<Option<String>>;

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
        KINDS.iter().zip(&self.saw).any(|((known, _), saw)| *known == kind && saw.is_some())
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
    for (&table, (kind, check)) in tables.iter().flat_map(|table| KINDS.map(|kind| (table, kind))) {
        if let Some(saw) = check(gear, &subject, Plant { bug: None, table })? {
            bail!(
                "without a bug {kind} of {package}, {} table, must pass, and {saw} did not",
                table.name()
            );
        }
    }
    let seen: Mutex<BTreeMap<&str, Vec<Option<String>>>> = Mutex::default();
    each(&bugs, |bug| {
        let plant = Plant { bug: Some(bug), table: Table::Large };
        let saw = KINDS
            .iter()
            .map(|(_, check)| check(gear, &subject, plant))
            .collect::<Result<Vec<_>>>()?;
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
    line("planted bug", KINDS.iter().map(|(kind, _)| *kind).collect());
    for row in rows {
        line(&row.bug, row.saw.iter().map(|saw| saw.as_deref().unwrap_or("-")).collect());
    }
}

/// Unit tests, and those tests of the public API that need no real time.
fn tests(gear: &Gear, subject: &Subject<'_>, plant: Plant<'_>) -> Result<Option<String>> {
    for (target, filters) in [(LIBRARY, &[][..]), (TESTS, &subject.filters)] {
        let program = gear.machine.get(subject.package, target);
        // The election's lives that are disturbed at every step: a plain run of the tests plays
        // some.
        if !passes(gear, program, filters, &[("ELECTION_LIVES", "all")], plant)? {
            return Ok(Some(target.to_owned()));
        }
    }
    Ok(None)
}

fn model(gear: &Gear, subject: &Subject<'_>, plant: Plant<'_>) -> Result<Option<String>> {
    let program = gear.machine.get(subject.package, "model");
    let vars = [("MODEL_SEQUENCES", SEQUENCES)];
    Ok((!passes(gear, program, &[], &vars, plant)?).then(|| "seen".to_owned()))
}

fn simulation(gear: &Gear, subject: &Subject<'_>, plant: Plant<'_>) -> Result<Option<String>> {
    let program = gear.machine.get(subject.package, "simulation");
    Ok((!passes(gear, program, &[], &[("ELECTION_SEEDS", SEEDS)], plant)?)
        .then(|| "seen".to_owned()))
}

fn loom_check(gear: &Gear, subject: &Subject<'_>, plant: Plant<'_>) -> Result<Option<String>> {
    for scenario in &subject.scenarios {
        let mut command = scenario.call(plant.table);
        command.env("LOOM_MAX_PREEMPTIONS", PREEMPTIONS);
        if !ends_well(gear, command, plant)? {
            return Ok(Some(scenario.name().to_owned()));
        }
    }
    Ok(None)
}

fn shuttle(gear: &Gear, subject: &Subject<'_>, plant: Plant<'_>) -> Result<Option<String>> {
    let program =
        gear.shuttle.as_ref().and_then(|programs| programs.get(subject.package, "shuttle"));
    let args = ["0", SCHEDULES].map(str::to_owned);
    Ok((!passes(gear, program, &args, &[], plant)?).then(|| "seen".to_owned()))
}

fn histories(gear: &Gear, subject: &Subject<'_>, plant: Plant<'_>) -> Result<Option<String>> {
    let program = gear.machine.get(subject.package, "histories");
    Ok((!passes(gear, program, &[], &[("HISTORIES", HISTORIES)], plant)?)
        .then(|| "seen".to_owned()))
}

/// Whether the program, if the crate has it, ends well with this planted in it.
fn passes(
    gear: &Gear,
    program: Option<&Program>,
    args: &[String],
    vars: &[(&str, &str)],
    plant: Plant<'_>,
) -> Result<bool> {
    let Some(program) = program else { return Ok(true) };
    let mut command = program.call();
    command.args(args).envs(vars.iter().copied());
    ends_well(gear, command, plant)
}

/// Whether the command ends well, and in time, with this planted in the queue.
fn ends_well(gear: &Gear, mut command: Command, plant: Plant<'_>) -> Result<bool> {
    command.env_remove("WQ_PLANT").envs(plant.bug.map(|bug| ("WQ_PLANT", bug))).envs([DRAWN_FROM]);
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
            KINDS.iter().map(|(kind, _)| kinds.contains(kind).then(|| "seen".to_owned())).collect();
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
