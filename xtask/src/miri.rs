//! The stage `miri`: the unit and integration tests of the queue in an interpreter, which sees what
//! no test asserts: memory used after it was freed, read before it was written, or raced for, in
//! the queue and in its dependencies.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::process::{self, Deadline};
use crate::stage::Tool;
use crate::workspace::Workspace;

pub(crate) const MIRI: Tool = Tool {
    name: "miri",
    install: "rustup toolchain install nightly --profile minimal --component miri,rust-src",
    is_installed,
};

/// Tests that take minutes under miri and show nothing there leave themselves out, or play less,
/// under `cfg(miri)`.
pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let mut command = workspace.program("rustup", &["run", "nightly", "cargo", "miri"]);
    without_our_toolchain(&mut command);
    command.args(["test", "--locked", "--quiet", "--package", "wq-core", "--lib", "--test=it"]);
    // A panic with its backtrace takes seconds, and many tests want one.
    command.env("RUST_BACKTRACE", "0");
    // Tests forget guards on purpose, and tie observers to their queue. Otherwise isolated from the
    // machine: clock, seeds and schedule are miri's own, so that a failure is the same every
    // time.
    command.env("MIRIFLAGS", "-Zmiri-ignore-leaks");
    process::run(command, deadline)
}

fn is_installed(_: &Path) -> bool {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "miri", "--version"]);
    without_our_toolchain(&mut command);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn without_our_toolchain(command: &mut Command) {
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
}
