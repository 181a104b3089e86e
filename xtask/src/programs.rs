//! Programs of tests as cargo builds them: which crate and target each is of, how it is called, and
//! many of them side by side.

use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::Message;
use tempfile::NamedTempFile;

use crate::process::{Deadline, run};
use crate::workspace::Workspace;

/// Stands for the target of a library's own tests.
pub(crate) const LIBRARY: &str = "lib";

/// What one call of cargo built.
#[derive(Debug)]
pub(crate) struct Programs(Vec<Program>);

/// One program: the tests of a target, the library's own, or an example.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) package: String,
    /// [`LIBRARY`] for the library's own tests.
    pub(crate) target: String,
    pub(crate) kind: Kind,
    file: PathBuf,
    /// The package's, where cargo would run it: tests look for their data there.
    folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Library,
    Bin,
    Test,
    Example,
}

impl Program {
    pub(crate) fn call(&self) -> Command {
        let mut command = Command::new(&self.file);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// `wq-core/it`.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.package, self.target)
    }

    /// What cargo calls the target.
    pub(crate) fn flags(&self) -> String {
        let Self { package, target, kind, .. } = self;
        match kind {
            Kind::Library => format!("-p {package} --lib"),
            Kind::Bin => format!("-p {package} --bin {target}"),
            Kind::Test => format!("-p {package} --test {target}"),
            Kind::Example => format!("-p {package} --example {target}"),
        }
    }
}

impl Programs {
    /// Runs `cargo test … --no-run`, and keeps the programs of tests and examples among what it
    /// built.
    pub(crate) fn build(
        workspace: &Workspace,
        mut cargo: Command,
        deadline: Deadline,
    ) -> Result<Self> {
        // A file of its own: another build may write at the same time.
        let said = NamedTempFile::new().context("cannot make a file for cargo's messages")?;
        let file = said.reopen().context("cannot write cargo's messages")?;
        cargo
            .args([
                "--locked",
                "--quiet",
                "--no-run",
                "--message-format",
                "json-render-diagnostics",
            ])
            .stdout(Stdio::from(file));
        run(cargo, deadline)?;
        let mut programs = Vec::new();
        read(workspace, BufReader::new(said), &mut programs)?;
        Ok(Self(programs))
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Program> {
        self.0.iter()
    }

    /// The programs of this test target, or that of one crate.
    ///
    /// # Errors
    ///
    /// The crate has none; which have.
    pub(crate) fn of(&self, target: &str, package: Option<&str>) -> Result<Vec<&Program>> {
        let all: Vec<_> = self.0.iter().filter(|program| program.target == target).collect();
        let Some(package) = package else { return Ok(all) };
        match all.iter().find(|program| program.package == package) {
            Some(program) => Ok(vec![program]),
            None => {
                let known: Vec<_> = all.iter().map(|program| program.package.as_str()).collect();
                bail!("`{package}` has no {target}; there are some of {}", known.join(", "))
            }
        }
    }

    /// The program of this test target of a crate; [`LIBRARY`] is the library's own tests.
    pub(crate) fn get(&self, package: &str, target: &str) -> Option<&Program> {
        self.0.iter().find(|program| program.package == package && program.target == target)
    }
}

/// The programs among what cargo says that it has built.
fn read(workspace: &Workspace, messages: impl BufRead, programs: &mut Vec<Program>) -> Result<()> {
    for message in Message::parse_stream(messages) {
        let Message::CompilerArtifact(artifact) =
            message.context("cannot read cargo's messages")?
        else {
            continue;
        };
        let Some(file) = artifact.executable else { continue };
        let kind = match &artifact.target {
            target if target.is_example() => Kind::Example,
            _ if !artifact.profile.test => continue, // A program that tests call.
            target if target.is_test() => Kind::Test,
            target if target.is_bin() => Kind::Bin,
            _ => Kind::Library,
        };
        let package =
            workspace.packages().into_iter().find(|package| package.id == artifact.package_id);
        let package =
            package.context("cargo built a program of a package that it did not name before")?;
        let folder = package
            .manifest_path
            .parent()
            .map_or_else(|| Path::new(""), |folder| folder.as_std_path());
        programs.push(Program {
            package: package.name.to_string(),
            target: if kind == Kind::Library { LIBRARY.to_owned() } else { artifact.target.name },
            kind,
            file: file.into_std_path_buf(),
            folder: folder.to_owned(),
        });
    }
    Ok(())
}

/// Calls `work` with each of `all`, as many at a time as the machine has processors. The first
/// error ends it.
pub(crate) fn each<'t, T: Sync>(
    all: &'t [T],
    work: impl Fn(&'t T) -> Result<()> + Sync,
) -> Result<()> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let turn = || {
        while let Some(one) = all.get(next.fetch_add(1, Relaxed)) {
            if let Err(error) = work(one) {
                next.store(all.len(), Relaxed);
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            scope.spawn(turn);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
