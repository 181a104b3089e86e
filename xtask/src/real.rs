//! What runs on a real control plane: the stages `programs`, `conformance` and `real`, and what they share.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use control_plane::{Assets, Component};

use crate::demo;
use crate::process::{Deadline, is_installed, run};
use crate::stage::Verdict;
use crate::workspace::Workspace;

/// The tests that a plain `cargo test` leaves out.
const TESTS: [&str; 6] = ["test", "--locked", "--package", "verify", "--test=clients", "--test=real"];

/// The tests that are a stage of their own.
const CONFORMANCE: [&str; 2] = ["conformance::", "fuzz::"];
/// Random calls of the stage at its full figures.
const LONG: &str = "100000";
/// Rounds of the election's scenarios, and terms in turns with client-go, at full figures.
const LONG_ELECTION: [(&str, &str); 2] = [("ELECTION_ROUNDS", "60"), ("ELECTION_TERMS", "20")];

/// Builds all that `conformance` and `real` start: the control plane from source, the demo and the provisioner, the tests, and the Go program among them.
pub(crate) fn programs(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    if let Some(skipped) = skipped()? {
        return Ok(skipped);
    }
    let ourselves = std::env::current_exe().context("cannot tell where this program is")?;
    let mut command = Command::new(ourselves);
    command.args(["control-plane", "--build"]).current_dir(workspace.root());
    run(command, deadline)?;
    if is_ci() || is_installed("go", "version") {
        let mut command = control_plane::go();
        command.args(["vet", "./..."]).current_dir(workspace.root().join("crates/verify/go"));
        run(command, deadline)?;
    } else {
        println!("Go is not installed: the tests with client-go say that they are skipped");
    }
    run(demo::build_command(workspace), deadline)?;
    let mut command = workspace.cargo(&TESTS);
    command.arg("--no-run");
    run(command, deadline)?;
    Ok(Verdict::Passed)
}

/// The demo, and every test that needs the real thing and is no stage of its own.
pub(crate) fn real(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    if let Some(skipped) = skipped()? {
        return Ok(skipped);
    }
    let args = ["--real", "--claims", "150", "--seed", "1"].map(Into::into);
    run(demo::command(workspace, &args), deadline)?;
    let mut command = workspace.cargo(&TESTS);
    command.arg("--").args(CONFORMANCE.map(|tests| format!("--skip={tests}")));
    if workspace.is_long() {
        command.envs(LONG_ELECTION);
    }
    run(command, deadline)?;
    Ok(Verdict::Passed)
}

/// Every case on every server, and random calls to the embedded one and the real one.
pub(crate) fn conformance(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    if let Some(skipped) = skipped()? {
        return Ok(skipped);
    }
    let mut command = workspace.cargo(&["test", "--locked", "--package", "verify", "--test=real", "--"]);
    // One after the other: both measure time, and two cores are few.
    command.args(CONFORMANCE).args(["--nocapture", "--test-threads=1"]);
    if workspace.is_long() {
        command.env("FUZZ_CALLS", LONG);
    }
    run(command, deadline)?;
    Ok(Verdict::Passed)
}

/// A laptop may do without a control plane. Under `CI=true` nothing may.
pub(crate) fn skipped() -> Result<Option<Verdict>> {
    match Assets::missing(&Component::ALL) {
        Some(missing) if is_ci() => bail!(missing),
        Some(missing) => Ok(Some(Verdict::Skipped(missing.to_string()))),
        None => Ok(None),
    }
}

fn is_ci() -> bool {
    std::env::var("CI").as_deref() == Ok("true")
}
