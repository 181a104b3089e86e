//! The stage `election`: every state of the election's protocol, and its simulation under every fault.

use std::env;

use anyhow::{Context as _, Result};

use crate::process::{self, Deadline};
use crate::schedules::{ELECTION, Programs};
use crate::stage::Verdict;
use crate::workspace::Workspace;

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<Verdict> {
    let figures = if workspace.is_long() {
        [("MODEL", "long"), ("SEEDS", "20000"), ("SERVER_SEEDS", "20000"), ("SECONDS", "3600")]
    } else {
        [("MODEL", "full"), ("SEEDS", "2000"), ("SERVER_SEEDS", "2000"), ("SECONDS", "900")]
    };
    let programs = Programs::of_election(workspace, deadline)?;
    for target in ["model", "simulation"] {
        let program = programs.get(ELECTION, target).context("the election has no such program")?;
        let mut command = program.call();
        if target == "simulation" {
            command.arg("--nocapture");
        }
        for (name, figure) in figures {
            let name = format!("ELECTION_{name}");
            // Who names other figures, or where to go on (`ELECTION_FROM`), is heard.
            if env::var_os(&name).is_none() {
                command.env(name, figure);
            }
        }
        process::run(command, deadline)?;
    }
    Ok(Verdict::Passed)
}
