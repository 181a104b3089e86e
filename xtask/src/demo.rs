//! `cargo xtask demo`: builds the demo and the provisioner, then becomes the demo.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{self, Deadline};
use crate::suite;
use crate::workspace::Workspace;

/// Builds both programs and hands over to the demo, whose exit status is ours.
pub(crate) fn run(args: &[OsString]) -> Result<()> {
    // Ahead of all else: already the next line may take a second.
    eprintln!("demo: building, about two minutes the first time");
    let workspace = Workspace::load()?;
    let status = build_command(&workspace).status().context("cannot start cargo")?;
    ensure!(status.success(), "the demo does not build: cargo ended with {status}");
    become_it(command(&workspace, args))
}

/// What builds the demo and the provisioner that it starts. Cargo shows its own progress, on
/// stderr.
pub(crate) fn build_command(workspace: &Workspace) -> Command {
    let packages = ["--package", "demo", "--package", "hostpath-provisioner"];
    let mut command = workspace.cargo(&["build", "--locked", "--bins"]);
    command.args(packages);
    command
}

/// The stage `demo`, with the programs of the stage `test`: by themselves they have other features,
/// and are built again.
pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    suite::build(workspace, deadline)?;
    process::run(command(workspace, &["--claims", "64", "--seed", "1"].map(Into::into)), deadline)
}

/// The stage `sabotage`: with a planted wrong outcome the demo must end with exit status 1.
pub(crate) fn sabotage(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    process::run(build_command(workspace), deadline)?;
    process::run(
        command(workspace, &["--claims", "200", "--seed", "1"].map(Into::into)),
        deadline,
    )?;
    for wrong in ["duplicate", "orphan", "lose"] {
        let command = command(
            workspace,
            &["--claims", "64", "--seed", "1", "--sabotage", wrong].map(Into::into),
        );
        println!("$ {} (must end with exit status 1)", process::shown(&command));
        let status = process::status(command, deadline)?;
        ensure!(
            status.code() == Some(1),
            "with a planted `{wrong}` the demo ended with {status}, not with 1"
        );
    }
    Ok(())
}

/// The built demo with `args`, told where the provisioner is.
pub(crate) fn command(workspace: &Workspace, args: &[OsString]) -> Command {
    let mut command = Command::new(workspace.debug_dir().join("demo"));
    command.args(args).arg("--provisioner-bin").arg(suite::provisioner(workspace));
    command
}

/// Replaces this process, so that Ctrl-C and the exit status are the demo's own.
fn become_it(mut command: Command) -> Result<()> {
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start `{}`", process::shown(&command)))
}
