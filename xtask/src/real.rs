//! What runs on a real control plane: the stages `programs` and `real`, and what they share.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use control_plane::{Assets, Component};

use crate::demo;
use crate::process::{Deadline, run};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// Why a laptop may do without. Under `CI=true` nothing may.
const SKIPPED: &str = "neither Go nor KUBEBUILDER_ASSETS is there, so there is no real control plane";

/// The tests that a plain `cargo test` leaves out.
const TESTS: [&str; 6] = ["test", "--locked", "--package", "verify", "--test=clients", "--test=real"];

/// Builds all that `real` starts: the control plane from source, the demo and the provisioner, the tests, and the Go program among them.
pub(crate) fn programs(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    if !can_run()? {
        return Ok(Verdict::Skipped(SKIPPED));
    }
    let ourselves = std::env::current_exe().context("cannot tell where this program is")?;
    let mut command = Command::new(ourselves);
    command.args(["control-plane", "--build"]).current_dir(workspace.root());
    run(command, deadline)?;
    if crate::process::is_installed("go", "version") {
        let mut command = workspace.program("go", &["vet", "./..."]);
        command.current_dir(workspace.root().join("crates/verify/go"));
        run(command, deadline)?;
    }
    run(demo::build_command(workspace), deadline)?;
    let mut command = workspace.cargo(&TESTS);
    command.arg("--no-run");
    run(command, deadline)?;
    Ok(Verdict::Passed)
}

/// The demo, and every test that needs the real thing.
pub(crate) fn real(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    if !can_run()? {
        return Ok(Verdict::Skipped(SKIPPED));
    }
    let args = ["--real", "--claims", "150", "--seed", "1"].map(Into::into);
    run(demo::command(workspace, &args), deadline)?;
    run(workspace.cargo(&TESTS), deadline)?;
    Ok(Verdict::Passed)
}

fn can_run() -> Result<bool> {
    let can = Assets::can_be_had(&Component::ALL);
    ensure!(can || std::env::var("CI").as_deref() != Ok("true"), "{SKIPPED}; install Go 1.26");
    Ok(can)
}
