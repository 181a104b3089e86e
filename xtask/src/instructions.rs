//! The stage `instructions`: counts the instructions of each operation of the queue under
//! callgrind, which is exact, and compares them with the budgets in
//! `crates/wq-core/benches/instructions.toml`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::process::{Deadline, is_installed, output_in_time};
use crate::stage::Tool;
use crate::workspace::Workspace;

#[cfg(test)]
mod tests;

const BUDGETS: &str = "crates/wq-core/benches/instructions.toml";

/// The program is run with so many operations and with twice as many: the difference is of the
/// operations alone.
const OPERATIONS: u64 = 10_000;

/// Another release of the compiler may cost so much, in percent; more is looked into.
const SLACK: u64 = 2;

pub(crate) const VALGRIND: Tool = Tool {
    name: "valgrind",
    install: "install the package `valgrind`",
    is_installed: |_| is_installed("valgrind", "--version"),
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budgets {
    budget: Vec<Budget>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    operation: String,
    instructions: u64,
    #[expect(dead_code, reason = "read by people")]
    what: String,
}

/// Prints a line for each operation, and fails if one is over its budget.
pub(crate) fn stage(workspace: &Workspace, deadline: Deadline) -> Result<()> {
    let file = workspace.root().join(BUDGETS);
    let budgets = read(&file)?;
    let mut over = Vec::new();
    for budget in &budgets.budget {
        let once = count(workspace, &budget.operation, OPERATIONS, deadline)?;
        let twice = count(workspace, &budget.operation, 2 * OPERATIONS, deadline)?;
        let each = twice.saturating_sub(once) / OPERATIONS;
        let (line, is_met) = judge(budget, each);
        println!("{line}");
        if !is_met {
            over.push(budget.operation.as_str());
        }
    }
    ensure!(over.is_empty(), "over their budgets in {BUDGETS}: {}", over.join(", "));
    Ok(())
}

fn read(file: &Path) -> Result<Budgets> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is no list of budgets", file.display()))
}

fn judge(budget: &Budget, each: u64) -> (String, bool) {
    let Budget { operation, instructions, .. } = budget;
    let is_met = each <= instructions.saturating_mul(100 + SLACK) / 100;
    let word = match is_met {
        false => "OVER",
        true if each < instructions.saturating_mul(100 - SLACK) / 100 => {
            "ok (the budget can be lowered)"
        }
        true => "ok",
    };
    (
        format!("instructions wq-core/{operation} measured={each} budget={instructions} {word}"),
        is_met,
    )
}

/// How many instructions the program takes for so many operations.
fn count(
    workspace: &Workspace,
    operation: &str,
    operations: u64,
    deadline: Deadline,
) -> Result<u64> {
    let runner = r#"target."cfg(all())".runner = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]"#;
    let bench = ["bench", "--locked", "--quiet", "--package", "wq-core", "--bench", "instructions"];
    let mut command = workspace.cargo(&["--config", runner]);
    command.args(bench).args(["--", operation, &operations.to_string()]);
    let (status, said) = output_in_time(command, deadline)?;
    match collected(&said) {
        // What gives up half way takes few.
        Some(count) if status.is_some_and(|status| status.success()) => Ok(count),
        _ => bail!("{operation} did not run to its end under callgrind, in time:\n{said}"),
    }
}

/// `==7== Collected : 5362057`.
fn collected(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}
