//! The stage `wasm`: the queue compiles for a machine without an operating system.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::process::{Deadline, run};
use crate::stage::Verdict;
use crate::workspace::Workspace;

const TARGET: &str = "wasm32-unknown-unknown";
const MISSING: &str =
    "the target wasm32-unknown-unknown is not installed: run `rustup target add wasm32-unknown-unknown`";

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    if !is_installed() {
        ensure!(std::env::var_os("CI").is_none(), MISSING);
        return Ok(Verdict::Skipped(MISSING.to_owned()));
    }
    let mut command = workspace.cargo(&["clippy", "--locked", "--quiet", "--package", "wq-core"]);
    command.args(["--no-default-features", "--target", TARGET, "--", "-Dwarnings"]);
    run(command, deadline)?;
    Ok(Verdict::Passed)
}

/// Whether the compiler has a standard library for it.
fn is_installed() -> bool {
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    rustc.args(["--print", "target-libdir", "--target", TARGET]);
    let Ok(output) = rustc.output() else { return false };
    std::path::Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
}
