//! `cargo xtask miri [filter]`: the unit and integration tests of the queue in an interpreter, which sees what no test asserts:
//! memory that is used after it was given back, read before it was written, or raced for, in the queue and in what it is
//! built on.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use clap::Args;

use crate::process::{self, Deadline};
use crate::schedules::BY_HAND;
use crate::stage::Verdict;
use crate::workspace::Workspace;

const MISSING: &str = "miri is not installed: run `rustup toolchain install nightly --profile minimal --component miri,rust-src`";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Tests whose names contain this; all of them when it is left out
    filter: Option<String>,
}

/// The command.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    ensure!(is_installed(&workspace), MISSING);
    interpret(&workspace, options.filter.as_deref(), Deadline::within(BY_HAND))
}

/// The stage. A laptop may do without miri.
pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    if !is_installed(workspace) {
        ensure!(std::env::var_os("CI").is_none(), MISSING);
        return Ok(Verdict::Skipped(MISSING.to_owned()));
    }
    interpret(workspace, None, deadline)?;
    Ok(Verdict::Passed)
}

/// What takes minutes under miri and shows nothing there is left out, or made smaller, by the tests themselves, under `cfg(miri)`.
fn interpret(workspace: &Workspace, filter: Option<&str>, deadline: Deadline) -> Result<()> {
    let mut command = miri(workspace);
    command
        .args(["test", "--locked", "--quiet", "--package", "wq-core", "--lib", "--test=it", "--test=fuzz"])
        .args(filter);
    // A panic with its backtrace takes seconds, and many tests want one.
    command.env("RUST_BACKTRACE", "0");
    // Tests forget guards on purpose, and tie observers to the queue that tells them.
    command.env("MIRIFLAGS", "-Zmiri-ignore-leaks");
    process::run(command, deadline)
}

fn is_installed(workspace: &Workspace) -> bool {
    let mut command = miri(workspace);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Isolated from the machine, as miri is unless told otherwise: clock, seeds and schedule are its own, so that a failure is the
/// same every time.
fn miri(workspace: &Workspace) -> Command {
    let mut command = workspace.program("rustup", &["run", "nightly", "cargo", "miri"]);
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN"); // Those that we were started with.
    command
}
