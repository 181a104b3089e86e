//! `cargo xtask bench [crate…] [--save NAME] [--against NAME]`: the benches in criterion, kept
//! under a name and compared.

use anyhow::{Result, ensure};
use clap::Args;

use crate::process::{self, Deadline};
use crate::schedules::BY_HAND;
use crate::workspace::Workspace;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Crates whose benches are run; all that have some when none is named
    crates: Vec<String>,
    /// Keep what is measured under this name
    #[arg(long)]
    save: Option<String>,
    /// Compare with what was kept under this name
    #[arg(long, conflicts_with = "save")]
    against: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let all: Vec<(String, Vec<String>)> = workspace.published().filter_map(benches).collect();
    for name in &options.crates {
        let known = || all.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        ensure!(
            all.iter().any(|(other, _)| other == name),
            "{name} has no benches; there are some of {}",
            known()
        );
    }
    let kept = [("--save-baseline", &options.save), ("--baseline", &options.against)];
    let kept = kept.into_iter().filter_map(|(flag, name)| Some([flag.to_owned(), name.clone()?]));
    let kept: Vec<String> = kept.flatten().collect();
    for (package, benches) in
        all.iter().filter(|(name, _)| options.crates.is_empty() || options.crates.contains(name))
    {
        for bench in benches {
            let mut command =
                workspace.cargo(&["bench", "--locked", "--package", package, "--bench", bench]);
            command.arg("--").args(&kept);
            process::run(command, Deadline::within(BY_HAND))?;
        }
    }
    Ok(())
}

/// The benches of a package that are criterion's; `instructions` is run under callgrind, by a
/// command of its own.
fn benches(package: &cargo_metadata::Package) -> Option<(String, Vec<String>)> {
    let benches =
        package.targets.iter().filter(|target| target.is_bench() && target.name != "instructions");
    let names: Vec<String> = benches.map(|target| target.name.clone()).collect();
    (!names.is_empty()).then(|| (package.name.to_string(), names))
}
