//! The forge runs every stage: the default tier on a pull request, each area every night, the gates
//! every week.

use std::fs;

use anyhow::{Context as _, Result};

use crate::stage::{Area, Tier};
use crate::stages::STAGES;
use crate::workspace::Workspace;

fn read(file: &str) -> Result<String> {
    let path = Workspace::load()?.root().join(".github/workflows").join(file);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

#[test]
fn a_pull_request_runs_the_default_tier() -> Result<()> {
    let text = read("check.yml")?;
    assert!(text.contains("  pull_request:") && text.contains("run: cargo xtask ci\n"), "{text}");
    Ok(())
}

#[test]
fn every_area_is_a_job_of_the_night() -> Result<()> {
    let text = read("nightly.yml")?;
    let areas = Area::ALL.map(Area::name).join(", ");
    assert!(text.contains(&format!("area: [{areas}]")), "no matrix of {areas}");
    assert!(text.contains("run: cargo xtask ci --full ${{ matrix.area }}\n"));
    Ok(())
}

#[test]
fn stages_that_must_be_named_run_every_week() -> Result<()> {
    let text = read("weekly.yml")?;
    for stage in STAGES.iter().filter(|stage| matches!(stage.tier, Tier::Named)) {
        assert!(text.contains(&format!("run: cargo xtask ci {}\n", stage.name)), "{}", stage.name);
    }
    Ok(())
}
