//! The stages `fmt`, `clippy` and `doc`.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::process::{Deadline, run};
use crate::workspace::Workspace;

pub(crate) fn fmt(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    run(workspace.cargo(&["fmt", "--all", "--check"]), deadline)
}

pub(crate) fn clippy(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let mut command = workspace.cargo(&["clippy", "--locked", "--workspace", "--all-features"]);
    command.args(["--lib", "--bins", "--examples", "--benches"]);
    // By name: `--all-targets` leaves out what a plain `cargo test` leaves out.
    let targets = workspace.packages().into_iter().flat_map(|package| &package.targets);
    let names: BTreeSet<_> =
        targets.filter(|target| target.is_test()).map(|target| &target.name).collect();
    command.args(names.into_iter().flat_map(|name| ["--test", name])).args(["--", "-Dwarnings"]);
    run(command, deadline)
}

pub(crate) fn doc(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let mut command =
        workspace.cargo(&["doc", "--locked", "--workspace", "--no-deps", "--all-features"]);
    command.arg("--document-private-items").env("RUSTDOCFLAGS", "-Dwarnings");
    run(command, deadline)
}
