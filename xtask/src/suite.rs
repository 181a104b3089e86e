//! The stage `test`: every test program but the searches, side by side, then the documentation's
//! tests and the examples.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use crate::process::{Again, Deadline, now, output_in_time, run, seconds};
use crate::programs::{Kind, Program, Programs, each};
use crate::searches;
use crate::workspace::Workspace;

#[cfg(test)]
mod tests;

/// Their tests start processes and wait for them. They run first, so that other tests use the
/// processors meanwhile.
const WAIT: [&str; 3] = ["demo", "hostpath-provisioner", "control-plane"];

/// Cases of each property test. A plain `cargo test` draws proptest's 256, stages of `--full` more.
const PROPERTY_CASES: &str = "12";

pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let built = build(workspace, deadline)?;
    let (examples, mut programs): (Vec<_>, Vec<_>) =
        built.iter().partition(|program| program.kind == Kind::Example);
    programs.sort_by_key(|program| !WAIT.contains(&program.package.as_str()));
    let passed = play(workspace, &programs, deadline)?;
    run(
        workspace.cargo(&["test", "--locked", "--workspace", "--all-features", "--doc", "--quiet"]),
        deadline,
    )?;
    for example in examples {
        let mut command = example.call();
        // With this an example that serves for ever ends.
        command.arg("--once").stdout(Stdio::null());
        run(command, deadline)?;
    }
    println!("{passed} passed, 0 failed");
    Ok(())
}

/// Builds what a plain `cargo test` of the workspace builds: all but the searches, which say `test
/// = false` in their manifests.
pub(crate) fn build(workspace: &Workspace, deadline: Deadline) -> Result<Programs> {
    Programs::build(
        workspace,
        workspace.cargo(&["test", "--workspace", "--all-features"]),
        deadline,
    )
}

/// The built provisioner, which the demo and tests start.
pub(crate) fn provisioner(workspace: &Workspace) -> PathBuf {
    workspace.debug_dir().join("hostpath-provisioner")
}

/// Runs the programs, each to its end even when another failed; how many tests passed.
fn play(workspace: &Workspace, programs: &[&Program], deadline: Deadline) -> Result<u64> {
    let all = Mutex::new((0, Vec::new()));
    each(programs, |program| {
        let start = now();
        let mut command = program.call();
        command
            .args(["--skip", searches::LONG])
            .env("PROPTEST_CASES", PROPERTY_CASES)
            .env("PROVISIONER_BIN", provisioner(workspace));
        let (status, output) = output_in_time(command, deadline)?;
        let (report, took) = (Report::read(&output), start.elapsed());
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        if status.is_some_and(|status| status.success()) {
            if report.passed > 0 {
                println!("{}: {} passed in {}", program.name(), report.passed, seconds(took));
            }
            all.0 += report.passed;
        } else {
            let ended = status
                .map_or_else(|| "was killed at the stage's limit".to_owned(), |it| it.to_string());
            println!("{output}\n{}: FAILED, {ended}", program.name());
            all.1.push((program.name(), report.again(program)));
        }
        Ok(())
    })?;
    let (passed, failed) = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() {
        return Ok(passed);
    }
    let (names, commands): (Vec<_>, Vec<_>) = failed.into_iter().unzip();
    Err(Again { what: format!("tests failed in {}", names.join(", ")), commands }.into())
}

/// What a test program printed, read.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    passed: u64,
    failed: Vec<String>,
}

impl Report {
    /// A program without a harness prints no result: it is one test.
    fn read(output: &str) -> Self {
        let failed = output.lines().filter_map(|line| {
            let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
            Some(name.strip_suffix(" - should panic").unwrap_or(name).to_owned())
        });
        let result = output.lines().rev().find_map(|line| line.strip_prefix("test result: "));
        let passed = result.map_or(Some(1), |result| {
            let (before, _) = result.split_once(" passed;")?;
            before.rsplit(' ').next()?.parse().ok()
        });
        Self { passed: passed.unwrap_or(0), failed: failed.collect() }
    }

    /// The command that runs just what failed.
    fn again(&self, program: &Program) -> String {
        let mut command = format!("cargo test --all-features {}", program.flags());
        if !self.failed.is_empty() {
            let _ = write!(command, " -- --exact {}", self.failed.join(" "));
        }
        command
    }
}
