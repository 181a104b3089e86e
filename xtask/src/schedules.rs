//! The programs that play schedules: every one of a small scenario (loom), many of a large one (shuttle), what real threads
//! were answered (histories). How they are built, with and without planted bugs, each in a folder of its own: they differ
//! in `--cfg`, and so do all their dependencies.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use cargo_metadata::Message;

use crate::process::{Deadline, run};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// The crate whose schedules are played.
pub(crate) const CRATE: &str = "wq-core";

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
            Self::Machine if planted => &["--lib", "--test=model", "--test=it", "--test=histories"],
            Self::Machine => &["--test=model", "--test=histories"],
            Self::Loom => &["--test=loom"],
            Self::Shuttle => &["--test=shuttle"],
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

/// The stage: all of these programs, so that the time of the stages after it is the time of what they run.
pub(crate) fn programs(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    for planted in [false, true] {
        for platform in [Platform::Machine, Platform::Loom, Platform::Shuttle] {
            Programs::build(workspace, platform, planted, deadline)?;
        }
    }
    Ok(Verdict::Passed)
}

/// What was built for one platform.
#[derive(Debug)]
pub(crate) struct Programs(Vec<(String, PathBuf)>);

impl Programs {
    pub(crate) fn build(
        workspace: &Workspace,
        platform: Platform,
        planted: bool,
        deadline: Deadline,
    ) -> Result<Self> {
        let cfgs = platform.cfg().into_iter().chain(planted.then_some("wq_plant"));
        let flags: Vec<String> = cfgs.map(|cfg| format!("--cfg {cfg}")).collect();
        let plain = format!("{platform:?}").to_lowercase();
        let folder = if planted { format!("{plain}-planted") } else { plain };
        let folder = workspace.target_dir().join("schedules").join(folder);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let built = folder.join("built.json");
        let file = File::create(&built).with_context(|| format!("cannot write {}", built.display()))?;
        let mut command = workspace.cargo(&["test", "--locked", "--quiet", "--package", CRATE, "--no-run"]);
        command
            .args(platform.targets(planted))
            .args(["--profile", "schedules", "--message-format", "json-render-diagnostics", "--target-dir"])
            .arg(&folder)
            .stdout(Stdio::from(file));
        if !flags.is_empty() {
            command.env("RUSTFLAGS", flags.join(" "));
        }
        run(command, deadline)?;
        let file = File::open(&built).with_context(|| format!("cannot read {}", built.display()))?;
        Ok(Self(read(BufReader::new(file))?))
    }

    /// The program of a test target, or of the library's own tests.
    pub(crate) fn get(&self, target: &str) -> Result<&Path> {
        let found = self.0.iter().find(|(name, _)| name == target);
        found
            .map(|(_, path)| path.as_path())
            .with_context(|| format!("cargo did not say where `{target}` is"))
    }

    /// A call of the program of this target.
    pub(crate) fn call(&self, workspace: &Workspace, target: &str) -> Result<Command> {
        let mut command = Command::new(self.get(target)?);
        command.current_dir(workspace.root());
        Ok(command)
    }
}

/// The programs among what cargo says that it has built.
fn read(messages: impl BufRead) -> Result<Vec<(String, PathBuf)>> {
    let mut programs = Vec::new();
    for message in Message::parse_stream(messages) {
        if let Message::CompilerArtifact(artifact) =
            message.context("cargo wrote what is no message of its own")?
            && let Some(path) = artifact.executable
        {
            programs.push((artifact.target.name, path.into_std_path_buf()));
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
