//! The area `release`: each feature alone, a target without an operating system, packages,
//! licences, workflow files.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::{Deadline, is_installed, run};
use crate::stage::Tool;
use crate::workspace::Workspace;

const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// A Go module: `go run` fetches and builds it.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

pub(crate) const WASM: Tool = Tool {
    name: "the target wasm32-unknown-unknown",
    install: "rustup target add wasm32-unknown-unknown",
    is_installed: has_wasm,
};

pub(crate) const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    install: "cargo install --locked cargo-deny",
    is_installed: |_| is_installed("cargo-deny", "--version"),
};

pub(crate) const GO: Tool = Tool {
    name: "Go",
    install: "install Go 1.26",
    is_installed: |_| is_installed("go", "version"),
};

pub(crate) fn features(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    for package in workspace.published() {
        let check = |flags: &[&str]| {
            let mut command =
                workspace.cargo(&["clippy", "--locked", "--quiet", "--package", &package.name]);
            command.args(flags).args(["--", "-Dwarnings"]);
            run(command, deadline)
        };
        check(&["--no-default-features"])?;
        for feature in package.features.keys().filter(|feature| *feature != "default") {
            check(&["--no-default-features", "--features", feature])?;
        }
        check(&["--all-features"])?;
    }
    Ok(())
}

pub(crate) fn wasm(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let mut command = workspace.cargo(&["clippy", "--locked", "--quiet", "--package", "wq-core"]);
    command.args(["--no-default-features", "--target", WASM_TARGET, "--", "-Dwarnings"]);
    run(command, deadline)
}

/// Whether the compiler that the workspace chooses has a standard library for the target.
fn has_wasm(root: &Path) -> bool {
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    rustc.args(["--print", "target-libdir", "--target", WASM_TARGET]).current_dir(root);
    let Ok(output) = rustc.output() else { return false };
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
}

pub(crate) fn package(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    // A new folder: cargo keeps the sources that it packs by folder and version, and would build
    // those of an earlier commit.
    let folder = tempfile::Builder::new().prefix("package-").tempdir_in(workspace.target_dir());
    let folder = folder.context("cannot make a folder for the packages")?;
    let mut command =
        workspace.cargo(&["package", "--locked", "--workspace", "--allow-dirty", "--quiet"]);
    command.arg("--target-dir").arg(folder.path()).env("CARGO_PROFILE_DEV_DEBUG", "false");
    command.args(workspace.unpublished().flat_map(|package| ["--exclude", &package.name]));
    run(command, deadline)
}

pub(crate) fn deny(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let args = ["--log-level", "error", "check", "bans", "licenses", "sources"];
    run(workspace.program("cargo-deny", &args), deadline)
}

pub(crate) fn actionlint(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let mut command = control_plane::go();
    command.args(["run", ACTIONLINT]).current_dir(workspace.root());
    run(command, deadline)
}
