//! The searches: test targets that play many sequences, seeds, schedules or processes. The stage
//! `test` leaves them out.

use anyhow::Result;
use clap::Args;

use crate::process::{self, Deadline};
use crate::schedules::{self, BY_HAND, CORE, Platform, QUEUES, TESTS, Table, crates_with};
use crate::workspace::Workspace;

/// Tests in modules of this name take long: `test` leaves them out, too. [`long`] plays them, and
/// so do `properties` and `planted`, which play all tests of their programs.
pub(crate) const LONG: &str = "::long::";

/// Figures at `--effort 1`.
const SEQUENCES: u32 = 20_000;
const HISTORIES: u32 = 20_000;
const SCHEDULES: u32 = 100_000;
/// Proptest's cases. Where each case starts a server, a test plays a share of them
/// (`tests/it/fuzz_target.rs`).
const PROPERTIES: u32 = 2_000;
/// Histories of each pure part of the controller runtime, and of the whole.
const MODELS: u32 = 200_000;
const STACKS: u32 = 10_000;

/// The stage `model`: random sequences against naive oracles.
pub(crate) fn model(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    // Slots leave the table of the shipped wq-core together only in a large queue. Where bugs can
    // be planted the table can be chosen.
    let figure = ("MODEL_SEQUENCES", SEQUENCES);
    play(workspace, "model", None, false, figure, deadline)?;
    play(workspace, "model", Some(CORE), true, figure, deadline)
}

/// The stage `histories`: what real threads were answered must be explained by one order.
pub(crate) fn histories(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let figure = ("HISTORIES", HISTORIES / 2);
    play(workspace, "histories", None, false, figure, deadline)?;
    play(workspace, "histories", None, true, figure, deadline)
}

/// Runs a target of the queues on threads of the machine. `planted`: as it is built for bugs,
/// without any.
fn play(
    workspace: &Workspace,
    target: &str,
    package: Option<&str>,
    planted: bool,
    (name, figure): (&str, u32),
    deadline: Deadline,
) -> Result<()> {
    let programs = schedules::build(workspace, &QUEUES, Platform::Machine, planted, deadline)?;
    for program in programs.of(target, package)? {
        let mut command = program.call();
        command.arg("--nocapture").env_remove("WQ_PLANT").env("HISTORIES_SEED", "1");
        command.env(name, (figure * workspace.effort()).to_string());
        Table::Large.of(&mut command);
        process::run(command, deadline)?;
    }
    Ok(())
}

/// The stage `shuttle`: random and priority-based schedules of large scenarios.
pub(crate) fn shuttle(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    play_schedules(workspace, 0, SCHEDULES * workspace.effort(), None, deadline)
}

/// The stage `properties`: property tests of the embedded server and of the crates below it, and
/// tests of what grows with its objects at full size; models and histories of the controller
/// runtime.
pub(crate) fn properties(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let mut command = workspace.cargo(&["test", "-p", "embedded-apiserver", "--all-features"]);
    command.args(["-p", "k8s-cel", "-p", "k8s-merge", "-p", "k8s-schema", "-p", "api-front"]);
    command.args(["--lib", "--test", "it", "--test", "history", "--test", "memory"]);
    for program in schedules::compiled(workspace, command, &[], deadline)?.iter() {
        let mut command = program.call();
        command.arg("--quiet").env("EMBEDDED_APISERVER_SIZES", "full");
        command.env("PROPTEST_CASES", (PROPERTIES * workspace.effort()).to_string());
        process::run(command, deadline)?;
    }
    let mut command =
        workspace.cargo(&["test", "--locked", "--package", "reconciler", "--all-features"]);
    command.args(["--lib", "--test", "it", "--", "oracle", "histories"]);
    command.env("MODEL_SEQUENCES", (MODELS * workspace.effort()).to_string());
    command.env("HISTORY_SEEDS", (STACKS * workspace.effort()).to_string());
    process::run(command, deadline)
}

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// A seed is one scenario, one scheduler and a hundred schedules; the next hundred have the
    /// next seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many schedules of each crate, half of them with each of wq-core's tables
    #[arg(long, default_value_t = SCHEDULES)]
    schedules: u32,
    /// The crate whose scenarios are played; all that have some when it is left out
    #[arg(long)]
    package: Option<String>,
}

/// The command `cargo xtask shuttle`.
pub(crate) fn run_shuttle(options: &Options) -> Result<()> {
    let Options { seed, schedules, package } = options;
    play_schedules(
        &Workspace::load()?,
        *seed,
        *schedules,
        package.as_deref(),
        Deadline::within(BY_HAND),
    )
}

fn play_schedules(
    workspace: &Workspace,
    seed: u64,
    count: u32,
    package: Option<&str>,
    deadline: Deadline,
) -> Result<()> {
    let programs = schedules::build(workspace, &QUEUES, Platform::Shuttle, false, deadline)?;
    for program in programs.of("shuttle", package)? {
        for table in Table::BOTH {
            let mut command = program.call();
            command.args([seed.to_string(), count.div_ceil(2).to_string()]);
            table.of(&mut command);
            process::run(command, deadline)?;
        }
    }
    Ok(())
}

/// The long tests of a crate's API.
pub(crate) fn long(workspace: &Workspace, package: &str, deadline: Deadline) -> Result<()> {
    let args =
        ["test", "--locked", "--package", package, "--all-features", "--test", TESTS, "--", LONG];
    process::run(workspace.cargo(&args), deadline)
}

/// The stage `processes`: tests that start real processes, or stop a replica at every step, for
/// minutes.
pub(crate) fn processes(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    long(workspace, "hostpath-provisioner", deadline)?;
    let mut command =
        workspace.cargo(&["test", "--locked", "--all-features", "--test", "processes"]);
    command.args(crates_with("processes").iter().flat_map(|package| ["--package", package]));
    process::run(command, deadline)
}

#[cfg(test)]
mod tests {
    use crate::schedules::{TARGETS, crates_with};
    use crate::workspace::Workspace;

    /// Otherwise nobody plays it: cargo is told names of targets, and builds those of all crates.
    #[test]
    fn every_target_with_the_name_of_a_search_is_played_by_a_stage() {
        let workspace = Workspace::load().unwrap();
        let mut found: Vec<(String, String)> = Vec::new();
        for package in workspace.packages() {
            for target in package.targets.iter().filter(|target| target.is_test()) {
                if TARGETS.iter().any(|(search, _)| *search == target.name) {
                    assert!(
                        crates_with(&target.name).contains(&package.name.as_str()),
                        "{} of {}",
                        target.name,
                        package.name
                    );
                    assert!(
                        !target.test,
                        "{} of {} is no `test = false`",
                        target.name, package.name
                    );
                    found.push((target.name.clone(), package.name.to_string()));
                }
            }
        }
        let listed: usize = TARGETS.iter().map(|(_, crates)| crates.len()).sum();
        assert_eq!(found.len(), listed, "a search of the table is not there: {found:?}");
    }
}
