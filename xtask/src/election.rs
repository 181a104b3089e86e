//! The stage `election`: every state of the election's protocol, and its simulation under every fault.

use anyhow::{Context as _, Result};

use crate::process::{self, Deadline};
use crate::schedules::{ELECTION, Programs};
use crate::stage::Verdict;
use crate::workspace::Workspace;

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    let (effort, seeds, on_a_server) =
        if workspace.is_long() { ("long", "20000", "2000") } else { ("full", "390", "24") };
    let programs = Programs::of_tests(workspace, &["model", "simulation"], deadline)?;
    for target in ["model", "simulation"] {
        let program = programs.get(ELECTION, target).context("the election has no such program")?;
        let mut command = program.call();
        if target == "simulation" {
            command.arg("--nocapture");
        }
        // A quarter of an hour each; in a long run an hour, which makes 20,000 of them in memory. On a server an hour takes twelve times as long.
        let seconds = if workspace.is_long() { "3600" } else { "900" };
        command.env("ELECTION_MODEL", effort).env("ELECTION_SEEDS", seeds).env("ELECTION_SECONDS", seconds);
        command.env("ELECTION_SERVER_SEEDS", on_a_server);
        process::run(command, deadline)?;
    }
    Ok(Verdict::Passed)
}
