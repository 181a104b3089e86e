//! The stages `election` and `terms`: every state of the election's protocol, its simulation under
//! every fault, and every schedule of a term.

use std::env;

use anyhow::Result;

use crate::process::{self, Deadline};
use crate::schedules::{self, ELECTION, Platform};
use crate::searches;
use crate::workspace::Workspace;

/// Seeds at `--effort 1`.
const SEEDS: u32 = 2_000;

/// From this effort on the model has larger worlds, and a seed plays an hour instead of a quarter.
const LONG: u32 = 10;

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let seeds = (SEEDS * workspace.effort()).to_string();
    let (model, seconds) =
        if workspace.effort() >= LONG { ("long", "3600") } else { ("full", "900") };
    let figures =
        [("MODEL", model), ("SEEDS", &seeds), ("SERVER_SEEDS", &seeds), ("SECONDS", seconds)];
    let programs = schedules::build(workspace, &[ELECTION], Platform::Machine, false, deadline)?;
    for target in ["model", "simulation"] {
        for program in programs.of(target, Some(ELECTION))? {
            let mut command = program.call();
            if target == "simulation" {
                command.arg("--nocapture");
            }
            for (name, figure) in figures {
                let name = format!("ELECTION_{name}");
                // A person may set other figures, or where to go on (`ELECTION_FROM`).
                if env::var_os(&name).is_none() {
                    command.env(name, figure);
                }
            }
            process::run(command, deadline)?;
        }
    }
    searches::long(workspace, ELECTION, deadline)
}
