//! The programs that play schedules of the queues: every one of a small scenario (loom), many of a large one (shuttle), what
//! real threads were answered (histories), random sequences (model). How they are built, with and without planted bugs: they differ
//! in `--cfg`, which only the crates of this workspace are told, so that each dependency is built once for all of them.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use cargo_metadata::{Message, Package};
use tempfile::NamedTempFile;

use crate::process::{Deadline, run};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// The crates whose schedules are played. Each takes part with those test targets that it has.
pub(crate) const CRATES: [&str; 5] = [CORE, "wq-delay", "wq-ratelimit", "wq-priority", ELECTION];

/// Without planted bugs it takes part with the schedules of a term alone: its model and its simulation are built by themselves, with all features.
pub(crate) const ELECTION: &str = "lease-election";

/// The test target that lists a crate's planted bugs; one without it has none.
pub(crate) const PLANTED: &str = "planted";

/// The crate whose table it is.
pub(crate) const CORE: &str = "wq-core";

/// Stands for the target of a library's own tests.
pub(crate) const LIBRARY: &str = "lib";

/// The target of a crate's tests of its API.
pub(crate) const TESTS: &str = "it";

/// To optimize these tests as the rest takes the compiler minutes more, and saves each run of them a second.
const ELECTION_TESTS_LESS_OPTIMIZED: &str = "profile.schedules.package.lease-election.opt-level=1";

/// Played whole by the stage `election`.
const OF_ELECTION: [&str; 2] = ["model", "simulation"];

/// Whether a stage of its own plays this test target of the package.
pub(crate) fn has_a_stage(package: &Package, target: &str) -> bool {
    let plays = |platform: Platform, planted| {
        takes_part(package, platform, planted) && platform.targets(planted).contains(&target)
    };
    (package.name == ELECTION && OF_ELECTION.contains(&target))
        || (target == PLANTED && plays(Platform::Machine, true))
        || [Platform::Machine, Platform::Loom, Platform::Shuttle]
            .iter()
            .any(|platform| plays(*platform, false))
}

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
            Self::Machine => &["model", "histories"],
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

/// How slots leave wq-core's table: together, as from a large one of the queue that is shipped, or each at once. The programs can be
/// told, all but those that play the shipped queue on the machine (`crates/wq-core/src/table/large.rs`).
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

/// The stage: all of these programs, so that the time of the stages after it is the time of what they run.
pub(crate) fn programs(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    for planted in [false, true] {
        for platform in [Platform::Machine, Platform::Loom, Platform::Shuttle] {
            Programs::build(workspace, platform, planted, deadline)?;
        }
    }
    Programs::of_election(workspace, deadline)?;
    Ok(Verdict::Passed)
}

/// What was built for one platform.
#[derive(Debug)]
pub(crate) struct Programs(Vec<Program>);

/// One program: the tests of a target, or the library's own.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) package: String,
    target: String,
    file: PathBuf,
    /// The package's, where cargo would run it: proptest looks for its sources.
    folder: PathBuf,
}

impl Program {
    pub(crate) fn call(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.current_dir(&self.folder);
        command
    }
}

impl Programs {
    pub(crate) fn build(
        workspace: &Workspace,
        platform: Platform,
        planted: bool,
        deadline: Deadline,
    ) -> Result<Self> {
        let mut command = workspace.cargo(&["test"]);
        for package in workspace.packages() {
            if takes_part(package, platform, planted) {
                command.args(["--package", &package.name]);
            }
        }
        // Default features are stores for whole servers, which nobody plants bugs in, and which have no schedules.
        if platform == Platform::Loom || (planted && platform == Platform::Machine) {
            command.arg("--no-default-features");
        }
        for target in platform.targets(planted) {
            command.args(["--test", target]);
        }
        let cfgs: Vec<&str> = platform.cfg().into_iter().chain(planted.then_some("wq_plant")).collect();
        let mut programs = compiled(workspace, command, &cfgs, deadline)?;
        if planted && platform == Platform::Machine {
            let mut command = workspace.cargo(&["test", "--config", ELECTION_TESTS_LESS_OPTIMIZED]);
            command.args(CRATES.iter().flat_map(|package| ["--package", package]));
            command.args(["--no-default-features", "--lib", "--test", TESTS]);
            programs.extend(compiled(workspace, command, &cfgs, deadline)?);
        }
        Ok(Self(programs))
    }

    /// The model and the simulation of the election, whole, with its stores on a server.
    pub(crate) fn of_election(workspace: &Workspace, deadline: Deadline) -> Result<Self> {
        let mut command = workspace.cargo(&["test", "--package", ELECTION, "--all-features"]);
        command.args(OF_ELECTION.iter().flat_map(|target| ["--test", target]));
        Ok(Self(compiled(workspace, command, &[], deadline)?))
    }

    /// The programs of this test target, one of each crate that has it, in the order of [`CRATES`].
    pub(crate) fn of(&self, target: &str) -> impl Iterator<Item = &Program> {
        CRATES.iter().filter_map(move |package| self.get(package, target))
    }

    /// The programs of this test target, or that of one crate.
    ///
    /// # Errors
    ///
    /// The crate has none; which have.
    pub(crate) fn of_chosen(&self, target: &str, package: Option<&str>) -> Result<Vec<&Program>> {
        let Some(package) = package else { return Ok(self.of(target).collect()) };
        let known = || self.of(target).map(|program| program.package.as_str()).collect::<Vec<_>>().join(", ");
        let program = self.get(package, target);
        Ok(vec![program.with_context(|| format!("`{package}` has no {target}; {} have", known()))?])
    }

    /// The program of this test target of a crate; [`LIBRARY`] is the library's own tests.
    pub(crate) fn get(&self, package: &str, target: &str) -> Option<&Program> {
        self.0.iter().find(|program| program.package == package && program.target == target)
    }
}

/// Builds programs with these cfgs.
fn compiled(
    workspace: &Workspace,
    mut command: Command,
    cfgs: &[&str],
    deadline: Deadline,
) -> Result<Vec<Program>> {
    let folder = folder(workspace)?;
    // One of its own: another build may be writing too.
    let said =
        NamedTempFile::new_in(&folder).with_context(|| format!("cannot write in {}", folder.display()))?;
    let file = said.reopen().context("cannot write what cargo says")?;
    command
        .args(["--locked", "--quiet", "--no-run", "--profile", "schedules"])
        .args(["--message-format", "json-render-diagnostics", "--target-dir"])
        .arg(&folder)
        .stdout(Stdio::from(file));
    if !cfgs.is_empty() {
        command.env("RUSTC_WORKSPACE_WRAPPER", compiler_with(cfgs, &folder)?);
    }
    run(command, deadline)?;
    read(workspace, BufReader::new(said))
}

/// Where all of them are built.
fn folder(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target_dir().join("schedules");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// A compiler that has these cfgs. Cargo calls it for the crates of the workspace, for which it is a part of the names of what
/// it builds, and to ask which cfgs there are: a manifest may depend on them.
fn compiler_with(cfgs: &[&str], folder: &Path) -> Result<PathBuf> {
    let path = folder.join(format!("rustc-{}", cfgs.join("-")));
    let flags: String = cfgs.iter().map(|cfg| format!(" --cfg {cfg}")).collect();
    let script = format!("#!/bin/sh\nexec \"$@\"{flags}\n");
    if !fs::read(&path).is_ok_and(|old| old == script.as_bytes()) {
        write_program(&path, &script).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(path)
}

#[cfg(unix)]
fn write_program(path: &Path, script: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;

    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(path);
    file?.write_all(script.as_bytes())
}

#[cfg(not(unix))]
fn write_program(_: &Path, _: &str) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "a script cannot stand for the compiler here; use a Unix"))
}

fn takes_part(package: &Package, platform: Platform, planted: bool) -> bool {
    let has = |name: &str| package.targets.iter().any(|target| target.is_test() && target.name == name);
    CRATES.contains(&package.name.as_str())
        && (if planted { has(PLANTED) } else { package.name != ELECTION || platform == Platform::Loom })
        && platform.targets(planted).iter().any(|target| has(target))
}

/// The programs among what cargo says that it has built.
fn read(workspace: &Workspace, messages: impl BufRead) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for message in Message::parse_stream(messages) {
        if let Message::CompilerArtifact(artifact) =
            message.context("cargo wrote what is no message of its own")?
            && let Some(file) = artifact.executable
        {
            let package = workspace.packages().into_iter().find(|package| package.id == artifact.package_id);
            let package =
                package.context("cargo built a program of a package that it did not name before")?;
            let folder = package.manifest_path.parent().context("a manifest is in no folder")?;
            let is_library = !artifact.target.is_test();
            programs.push(Program {
                package: package.name.to_string(),
                target: if is_library { LIBRARY.to_owned() } else { artifact.target.name },
                file: file.into_std_path_buf(),
                folder: folder.as_std_path().to_owned(),
            });
        }
    }
    Ok(programs)
}

/// Does something with each, as many at a time as the machine has processors. The first error ends it.
pub(crate) fn each<'t, T: Sync>(all: &'t [T], each: impl Fn(&'t T) -> Result<()> + Sync) -> Result<()> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        while let Some(one) = all.get(next.fetch_add(1, Relaxed)) {
            if let Err(error) = each(one) {
                next.store(all.len(), Relaxed); // Nobody begins another.
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            scope.spawn(work);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::has_a_stage;
    use crate::workspace::Workspace;

    #[test]
    fn a_test_has_a_stage_if_that_plays_it_in_this_crate() {
        let workspace = Workspace::load().unwrap();
        let has = |package: &str, target| {
            let packages = workspace.packages();
            has_a_stage(packages.iter().find(|known| known.name == package).unwrap(), target)
        };
        for target in ["planted", "model", "histories", "loom", "shuttle"] {
            assert!(has("wq-core", target), "{target}");
            assert!(!has("reconciler", target), "{target}");
        }
        assert!(
            ["planted", "model", "simulation", "loom"].iter().all(|target| has("lease-election", target))
        );
        assert!(!has("lease-election", "shuttle") && !has("lease-election", "histories"));
        assert!(!has("wq-core", "simulation") && !has("wq-core", "it"));
    }
}
