//! A stage of `cargo xtask ci`: its tier, its tools, its usual time; and which stages a command
//! line picks.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::process::Deadline;
use crate::workspace::Workspace;

#[cfg(test)]
mod tests;

/// One check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The question it answers.
    pub(crate) question: &'static str,
    pub(crate) tier: Tier,
    /// What it needs beside the toolchain.
    pub(crate) tools: &'static [Tool],
    /// Seconds it usually takes on two cores with an empty cache, at `--effort 1`.
    pub(crate) usual: u32,
    pub(crate) run: Run,
}

pub(crate) type Run = fn(&Workspace, Deadline) -> Result<()>;

impl Stage {
    /// Needs these tools beside the toolchain.
    pub(crate) const fn with(self, tools: &'static [Tool]) -> Self {
        Self { tools, ..self }
    }

    /// A stage that runs for longer hangs: three times its usual time.
    pub(crate) fn limit(&self, effort: u32) -> Duration {
        Duration::from_secs(3 * u64::from(self.usual)) * effort
    }

    /// The tier and the areas, as a person types them.
    pub(crate) fn place(&self) -> String {
        match self.tier {
            Tier::Change => "ci".to_owned(),
            Tier::Full(areas) => areas.iter().map(|area| area.name()).collect::<Vec<_>>().join(" "),
            Tier::Named => "by name".to_owned(),
        }
    }
}

/// When a stage runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tier {
    /// With every `cargo xtask ci`.
    Change,
    /// With `--full`, and with `--full` of one of these areas.
    Full(&'static [Area]),
    /// Only when it is named.
    Named,
}

impl Tier {
    /// A stage of this tier that needs no tool.
    pub(crate) const fn stage(
        self,
        name: &'static str,
        question: &'static str,
        usual: u32,
        run: Run,
    ) -> Stage {
        Stage { name, question, tier: self, tools: &[], usual, run }
    }
}

/// A part of `--full` that is a job of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    Queues,
    Election,
    Server,
    E2e,
    Release,
}

impl Area {
    pub(crate) const ALL: [Self; 5] =
        [Self::Queues, Self::Election, Self::Server, Self::E2e, Self::Release];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Queues => "queues",
            Self::Election => "election",
            Self::Server => "server",
            Self::E2e => "e2e",
            Self::Release => "release",
        }
    }
}

/// A program that a machine may lack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// How a person gets it: one line.
    pub(crate) install: &'static str,
    pub(crate) is_installed: fn(root: &Path) -> bool,
}

/// The stages of `all` that a command line picks, in the order of `all`.
///
/// # Errors
///
/// A name that is no stage (with `--full`: no area), with those that there are.
pub(crate) fn pick(all: &[Stage], names: &[String], full: bool) -> Result<Vec<Stage>> {
    let areas = Area::ALL.map(Area::name);
    for name in names {
        let known: Vec<&str> =
            if full { areas.to_vec() } else { all.iter().map(|stage| stage.name).collect() };
        if known.contains(&name.as_str()) {
            continue;
        }
        ensure!(
            full || !areas.contains(&name.as_str()),
            "`{name}` is an area: cargo xtask ci --full {name}"
        );
        let (one, many) = if full { ("area", "areas") } else { ("stage", "stages") };
        bail!("there is no {one} `{name}`; the {many} are: {}", known.join(" "));
    }
    let is_named = |name: &str| names.iter().any(|known| known == name);
    let picked = |stage: &&Stage| match stage.tier {
        _ if !full && !names.is_empty() => is_named(stage.name),
        Tier::Change => names.is_empty(),
        Tier::Full(areas) => {
            full && (names.is_empty() || areas.iter().any(|area| is_named(area.name())))
        }
        Tier::Named => false,
    };
    Ok(all.iter().filter(picked).copied().collect())
}
