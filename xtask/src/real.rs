//! What runs on a real control plane: the stages `programs`, `conformance`, `clients` and `real`.

use std::process::Command;

use anyhow::{Context as _, Result};
use control_plane::{Assets, Component};

use crate::demo;
use crate::process::{Deadline, is_installed, run};
use crate::stage::Tool;
use crate::workspace::Workspace;

/// The programs of the control plane, or Go to build them.
pub(crate) const CONTROL_PLANE: Tool = Tool {
    name: "a control plane",
    install: "install Go 1.26, which builds it, or set KUBEBUILDER_ASSETS",
    is_installed: |_| Assets::missing(&Component::ALL).is_none(),
};

/// The tests that a plain `cargo test` leaves out.
const TESTS: [&str; 6] =
    ["test", "--locked", "--package", "verify", "--test=clients", "--test=real"];

/// The tests that are a stage of their own.
const CONFORMANCE: [&str; 2] = ["conformance::", "fuzz::"];

/// Figures at `--effort 1`: random calls, seeds of histories, rounds of the election's scenarios,
/// terms in turns with client-go.
const CALLS: u32 = 5_000;
const HISTORIES: u32 = 3;
const ROUNDS: u32 = 12;
const TERMS: u32 = 8;

/// Builds what the other stages start: the control plane, the demo and the provisioner, the tests,
/// and the Go program among them.
pub(crate) fn programs(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let ourselves = std::env::current_exe().context("cannot tell where this program is")?;
    let mut command = Command::new(ourselves);
    command.args(["control-plane", "--build"]).current_dir(workspace.root());
    run(command, deadline)?;
    if is_installed("go", "version") {
        let mut command = control_plane::go();
        command.args(["vet", "./..."]).current_dir(workspace.root().join("crates/verify/go"));
        run(command, deadline)?;
    } else {
        println!("Go is not installed: the tests with client-go say that they are skipped");
    }
    run(demo::build_command(workspace), deadline)?;
    let mut command = workspace.cargo(&TESTS);
    command.arg("--no-run");
    run(command, deadline)
}

/// The demo on a real control plane, and every test that needs one and is no stage of its own.
pub(crate) fn real(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    programs(workspace, deadline)?;
    let args = ["--real", "--claims", "150", "--seed", "1"].map(Into::into);
    run(demo::command(workspace, &args), deadline)?;
    let mut command = workspace.cargo(&TESTS);
    command.arg("--").args(CONFORMANCE.map(|tests| format!("--skip={tests}")));
    command.env("ELECTION_ROUNDS", (ROUNDS * workspace.effort()).to_string());
    command.env("ELECTION_TERMS", (TERMS * workspace.effort()).to_string());
    run(command, deadline)
}

/// Every case on every server, and random calls to the embedded one and the real one.
pub(crate) fn conformance(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    programs(workspace, deadline)?;
    let mut command =
        workspace.cargo(&["test", "--locked", "--package", "verify", "--test=real", "--"]);
    // One after the other: both measure time, and two cores are few.
    command.args(CONFORMANCE).args(["--nocapture", "--test-threads=1"]);
    command.env("FUZZ_CALLS", (CALLS * workspace.effort()).to_string());
    run(command, deadline)?;
    let mut command =
        workspace.cargo(&["test", "--locked", "--package", "verify", "--test=conformance", "--"]);
    command.arg("histories::").env("HISTORY_SEEDS", (HISTORIES * workspace.effort()).to_string());
    run(command, deadline)
}
