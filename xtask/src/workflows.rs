//! The forge runs every stage: the default tier on a pull request, each area every night, the gates
//! every week.

use std::fs;

use anyhow::{Context as _, Result};

use crate::stage::{Area, Tier};
use crate::stages::STAGES;
use crate::workspace::Workspace;

/// A file of the repository without comments.
fn read(file: &str) -> Result<String> {
    let path = Workspace::load()?.root().join(file);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let code = text.lines().map(|line| line.split(" #").next().unwrap_or_default());
    Ok(code
        .filter(|line| !line.trim_start().starts_with('#'))
        .map(|line| line.to_owned() + "\n")
        .collect())
}

/// A workflow, whose jobs and steps must all run.
fn workflow(file: &str) -> Result<String> {
    let text = read(&format!(".github/workflows/{file}"))?;
    let is_conditional = |line: &str| line.trim_start().trim_start_matches("- ").starts_with("if:");
    assert!(!text.lines().any(is_conditional), "{file} leaves something out on a condition");
    Ok(text)
}

#[test]
fn a_change_lands_when_the_default_tier_has_passed() -> Result<()> {
    let text = read(".ci/run")?;
    assert_eq!(text.lines().last(), Some("exec cargo xtask ci \"$@\""), "{text}");
    Ok(())
}

#[test]
fn a_pull_request_runs_the_default_tier() -> Result<()> {
    let text = workflow("check.yml")?;
    assert!(text.contains("  pull_request:") && text.contains("run: cargo xtask ci\n"), "{text}");
    Ok(())
}

#[test]
fn every_area_is_a_job_of_the_night() -> Result<()> {
    let text = workflow("nightly.yml")?;
    let areas = Area::ALL.map(Area::name).join(", ");
    assert!(text.contains(&format!("area: [{areas}]")), "no matrix of {areas}");
    assert!(text.contains("run: cargo xtask ci --full ${{ matrix.area }}\n"));
    Ok(())
}

#[test]
fn stages_that_must_be_named_run_every_week() -> Result<()> {
    let text = workflow("weekly.yml")?;
    for stage in STAGES.iter().filter(|stage| matches!(stage.tier, Tier::Named)) {
        assert!(text.contains(&format!("run: cargo xtask ci {}\n", stage.name)), "{}", stage.name);
    }
    Ok(())
}
