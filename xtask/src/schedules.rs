//! Programs that play schedules of the queues and the election: every one of a small scenario
//! (loom), many of a large one (shuttle), threads of the machine (model, histories). They differ in
//! `--cfg`, which only the crates of this workspace are told, so that each dependency is built once
//! for all of them.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::process::Deadline;
use crate::programs::Programs;
use crate::workspace::Workspace;

/// The crate whose table it is.
pub(crate) const CORE: &str = "wq-core";

pub(crate) const QUEUES: [&str; 4] = [CORE, "wq-delay", "wq-ratelimit", "wq-priority"];

pub(crate) const ELECTION: &str = "lease-election";

/// Test targets, and the crates whose target of that name a stage of `--full` plays.
pub(crate) const TARGETS: [(&str, &[&str]); 7] = [
    ("model", &[CORE, "wq-delay", "wq-ratelimit", "wq-priority", ELECTION]),
    ("loom", &[CORE, "wq-delay", "wq-ratelimit", ELECTION]),
    ("shuttle", &QUEUES),
    ("histories", &[CORE]),
    ("simulation", &[ELECTION]),
    ("planted", &[CORE, "wq-delay", "wq-ratelimit", "wq-priority", ELECTION]),
    ("processes", &["demo"]),
];

/// The crates whose target of this name a stage plays.
pub(crate) fn crates_with(target: &str) -> &'static [&'static str] {
    TARGETS.iter().find(|(known, _)| *known == target).map_or(&[], |(_, crates)| crates)
}

/// The test target that lists a crate's planted bugs.
pub(crate) const PLANTED: &str = "planted";

/// The target of a crate's tests of its API.
pub(crate) const TESTS: &str = "it";

/// To optimize these tests as the rest takes the compiler minutes more, and saves each run of them
/// a second.
const ELECTION_TESTS_LESS_OPTIMIZED: &str = "profile.schedules.package.lease-election.opt-level=1";

/// How long a command may take that is typed by hand.
pub(crate) const BY_HAND: Duration = Duration::from_hours(24);

/// What stands for the platform: mutex, threads, time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform {
    Machine,
    Loom,
    Shuttle,
}

impl Platform {
    /// The test targets that are built for it.
    const fn targets(self, planted: bool) -> &'static [&'static str] {
        match self {
            Self::Machine if planted => &[PLANTED, "model", "histories", "simulation"],
            Self::Machine => &["model", "histories", "simulation"],
            Self::Loom => &["loom"],
            Self::Shuttle => &["shuttle"],
        }
    }

    const fn cfg(self) -> Option<&'static str> {
        match self {
            Self::Machine => None,
            Self::Loom => Some("wq_loom"),
            Self::Shuttle => Some("wq_shuttle"),
        }
    }
}

/// How slots leave wq-core's table: together, as from a large one of the queue that is shipped, or
/// each at once. The programs can be told, all but those that play the shipped queue on the machine
/// (`crates/wq-core/src/table/large.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Large,
    Small,
}

impl Table {
    pub(crate) const BOTH: [Self; 2] = [Self::Large, Self::Small];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Large => "large",
            Self::Small => "small",
        }
    }

    /// Has the program play with such a table.
    pub(crate) fn of(self, command: &mut Command) {
        command.env("WQ_TABLE", self.name());
    }
}

/// Builds the searches of these crates for a platform.
pub(crate) fn build(
    workspace: &Workspace,
    crates: &[&str],
    platform: Platform,
    planted: bool,
    deadline: Deadline,
) -> Result<Programs> {
    let targets = platform.targets(planted);
    let has_one =
        |package: &&&str| targets.iter().any(|target| crates_with(target).contains(package));
    let mut command = workspace.cargo(&["test"]);
    command.args(crates.iter().filter(has_one).flat_map(|package| ["--package", package]));
    command.args(
        targets
            .iter()
            .filter(|target| crates_with(target).iter().any(|one| crates.contains(one)))
            .flat_map(|target| ["--test", target]),
    );
    command.args(match (platform, planted, crates == [ELECTION]) {
        // Default features are stores for servers. Nobody plants bugs in them, and they have no
        // schedules.
        (Platform::Loom, ..) | (Platform::Machine, true, _) => Some("--no-default-features"),
        // Its simulation runs on a server too.
        (Platform::Machine, false, true) => Some("--all-features"),
        _ => None,
    });
    let cfgs: Vec<&str> = platform.cfg().into_iter().chain(planted.then_some("wq_plant")).collect();
    let mut programs = compiled(workspace, command, &cfgs, deadline)?;
    if planted && platform == Platform::Machine {
        let mut command = workspace.cargo(&["test", "--config", ELECTION_TESTS_LESS_OPTIMIZED]);
        command.args(crates.iter().flat_map(|package| ["--package", package]));
        command.args(["--no-default-features", "--lib", "--test", TESTS]);
        programs.extend(compiled(workspace, command, &cfgs, deadline)?);
    }
    Ok(programs)
}

/// Builds what this command of cargo tests, with these cfgs.
pub(crate) fn compiled(
    workspace: &Workspace,
    mut command: Command,
    cfgs: &[&str],
    deadline: Deadline,
) -> Result<Programs> {
    let folder = folder(workspace)?;
    command.args(["--profile", "schedules", "--target-dir"]).arg(&folder);
    if !cfgs.is_empty() {
        command.env("RUSTC_WORKSPACE_WRAPPER", compiler_with(cfgs, &folder)?);
    }
    Programs::build(workspace, command, deadline)
}

/// Where all of them are built.
fn folder(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target_dir().join("schedules");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// A compiler that has these cfgs. Cargo calls it for the crates of the workspace, for which it is
/// a part of the names of what it builds, and to ask which cfgs there are: a manifest may depend on
/// them.
fn compiler_with(cfgs: &[&str], folder: &Path) -> Result<PathBuf> {
    let path = folder.join(format!("rustc-{}", cfgs.join("-")));
    let flags: String = cfgs.iter().map(|cfg| format!(" --cfg {cfg}")).collect();
    let script = format!("#!/bin/sh\nexec \"$@\"{flags}\n");
    if !fs::read(&path).is_ok_and(|old| old == script.as_bytes()) {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o755).open(&path);
        file.and_then(|mut file| file.write_all(script.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(path)
}
