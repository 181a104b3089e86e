//! `cargo xtask gates [crate…]`: measures the goals of `gates.toml` with the programs of `rivals`,
//! and fails if one is short.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::process::{self, Deadline};
use crate::real;
use crate::schedules::BY_HAND;
use crate::workspace::Workspace;

#[cfg(test)]
mod tests;

/// `gates.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gates {
    gate: Vec<Gate>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gate {
    #[serde(rename = "crate")]
    of: String,
    name: String,
    goal: Goal,
    /// Where it is to go, for whoever reads the file.
    #[serde(default)]
    #[expect(dead_code, reason = "read by people, checked to be a goal")]
    aim: Option<Goal>,
    unit: String,
    workload: String,
    #[expect(dead_code, reason = "read by people")]
    why: String,
    /// Where to begin when it is short.
    look: String,
}

/// `>= 8` or `<= 5`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Goal {
    least: bool,
    bound: f64,
}

impl Goal {
    /// Something that is no number meets no goal.
    fn is_met(self, measured: f64) -> bool {
        if self.least { measured >= self.bound } else { measured <= self.bound }
    }

    const fn sign(self) -> &'static str {
        if self.least { ">=" } else { "<=" }
    }
}

impl TryFrom<String> for Goal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let goal = text.split_once(' ').and_then(|(sign, bound)| {
            let bound: f64 = bound.parse().ok().filter(|bound: &f64| bound.is_finite())?;
            matches!(sign, ">=" | "<=").then_some(Self { least: sign == ">=", bound })
        });
        goal.ok_or_else(|| format!("a goal is {text:?}; it must be `>= NUMBER` or `<= NUMBER`"))
    }
}

/// The command: measures the gates of these crates, or of all that have some.
pub(crate) fn run(crates: &[String]) -> Result<()> {
    judge_all(&Workspace::load()?, crates, Deadline::within(BY_HAND))
}

/// The stage: the gates of all crates.
pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    real::programs(workspace, deadline)?;
    judge_all(workspace, &[], deadline)
}

fn judge_all(workspace: &Workspace, crates: &[String], deadline: Deadline) -> Result<()> {
    let file = workspace.root().join("gates.toml");
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let by_crate = select(&text, crates).with_context(|| format!("in {}", file.display()))?;
    let mut short = Vec::new();
    for (of, gates) in &by_crate {
        let measured = measure(workspace, of, deadline)?;
        for gate in gates {
            let (line, met) = judge(gate, measured.get(gate.name.as_str()).copied());
            println!("{line}");
            if !met {
                short.push(format!("{of}/{}", gate.name));
            }
        }
    }
    ensure!(short.is_empty(), "short: {}", short.join(", "));
    Ok(())
}

/// The gates of the named crates, or all, by crate.
fn select(text: &str, crates: &[String]) -> Result<BTreeMap<String, Vec<Gate>>> {
    let gates: Gates = toml::from_str(text).context("it is no list of gates")?;
    let mut by_crate: BTreeMap<String, Vec<Gate>> = BTreeMap::new();
    for gate in gates.gate {
        by_crate.entry(gate.of.clone()).or_default().push(gate);
    }
    if let Some(unknown) = crates.iter().find(|name| !by_crate.contains_key(*name)) {
        let known: Vec<_> = by_crate.keys().map(String::as_str).collect();
        bail!("{unknown} has no gates; there are some of {}", known.join(", "));
    }
    by_crate.retain(|name, _| crates.is_empty() || crates.contains(name));
    Ok(by_crate)
}

/// One line on a gate, and whether its goal is met; of one that is short also what to look at. What
/// was not measured is short.
fn judge(gate: &Gate, measured: Option<f64>) -> (String, bool) {
    let met = measured.is_some_and(|measured| gate.goal.is_met(measured));
    let shown = measured.map_or_else(|| "nothing".to_owned(), |measured| format!("{measured:.2}"));
    let Gate { of, name, goal, unit, .. } = gate;
    let word = if met { "ok" } else { "short" };
    let mut line = format!(
        "gate {of}/{name} measured={shown} goal={}{} {word} ({unit})",
        goal.sign(),
        goal.bound
    );
    if !met {
        line.push_str(&format!("\n  measured: {}\n  look at: {}", gate.workload, gate.look));
    }
    (line, met)
}

/// Builds and runs the program that measures a crate; what it measured, by gate.
fn measure(workspace: &Workspace, of: &str, deadline: Deadline) -> Result<BTreeMap<String, f64>> {
    let program = ["--release", "-p", "rivals", "--bin", of];
    process::run(workspace.cargo(&[&["build"][..], &program].concat()), deadline)?;
    let said = workspace.root().join("target").join(format!("gates-{of}.txt"));
    if let Some(folder) = said.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let file = File::create(&said).with_context(|| format!("cannot write {}", said.display()))?;
    let mut command = workspace.cargo(&[&["run", "--quiet"][..], &program].concat());
    command.stdout(Stdio::from(file));
    process::run(command, deadline)?;
    let text =
        fs::read_to_string(&said).with_context(|| format!("cannot read {}", said.display()))?;
    Ok(text.lines().filter_map(read).collect())
}

/// `measured NAME VALUE`.
fn read(line: &str) -> Option<(String, f64)> {
    let mut words = line.strip_prefix("measured ")?.split(' ');
    let (name, value) = (words.next()?, words.next()?.parse().ok()?);
    words.next().is_none().then(|| (name.to_owned(), value))
}
