//! The stage `workflows`: whether the forge runs every check, and whether its files are what it understands.

use std::collections::HashSet;
use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::process::{Deadline, run};
use crate::stage::{Stage, pick};
use crate::workspace::Workspace;

/// The newest actionlint; a Go module, so `go run` fetches and builds it.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/// How a job calls its stages.
const CALL: &str = "run: cargo xtask ci ";

/// That each of `stages` is run by a job.
pub(crate) fn run_all_of(stages: &[Stage], workspace: &Workspace) -> Result<()> {
    let folder = workspace.root().join(".github/workflows");
    let mut jobs = String::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        jobs += &fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    let left_out = left_out(stages, &jobs)?;
    ensure!(left_out.is_empty(), "no job of .github/workflows runs {}", left_out.join(", "));
    Ok(())
}

/// The stages that no line of `jobs` calls, nor comes along with one that is called.
fn left_out(stages: &[Stage], jobs: &str) -> Result<Vec<&'static str>> {
    let mut run = HashSet::new();
    for (_, names) in jobs.lines().filter_map(|line| line.split_once(CALL)) {
        let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        run.extend(pick(stages, &names)?.iter().map(|stage| stage.name));
    }
    Ok(stages.iter().map(|stage| stage.name).filter(|name| !run.contains(name)).collect())
}

pub(crate) fn lint(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let mut actionlint = control_plane::go();
    actionlint.args(["run", ACTIONLINT]).current_dir(workspace.root());
    run(actionlint, deadline)
}

#[cfg(test)]
mod tests {
    use crate::stage::{Group, Verdict};

    use super::*;

    const fn stage(name: &'static str, needs: &'static [&'static str]) -> Stage {
        Stage { name, asks: "", group: Group::Test, needs, run: |_, _| Ok(Verdict::Passed) }
    }

    #[test]
    fn a_stage_that_no_job_runs_is_named() {
        let stages = [stage("build", &[]), stage("test", &["build"]), stage("model", &[]), stage("fmt", &[])];
        let jobs = "# `cargo xtask ci`\n      - run: cargo xtask ci test\n      - run: cargo xtask ci fmt\n";
        assert_eq!(left_out(&stages, jobs).unwrap(), ["model"]);
        assert!(left_out(&stages, "run: cargo xtask ci fmt tests").is_err(), "no such stage");
    }
}
