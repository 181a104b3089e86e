//! The shape of the source tree: every Rust file says what lives in it, stays readable in one
//! sitting, and is not a drawer; and the pages that describe it name only what is there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::map;
use crate::workspace::Workspace;

mod tests;

/// A file beyond this many lines holds two ideas (tests and tables of cases excepted).
const LINES_MAX: usize = 600;

/// Comments wrap here, as code does. Tables and examples in them may be wider.
const COLUMNS_MAX: usize = 100;

/// A thing without a home is a missing concept: it wants a name, not a drawer.
const DRAWERS: &[&str] = &["util", "utils", "common", "helpers", "helper", "misc", "support"];

#[test]
fn the_tree_is_tidy() -> Result<()> {
    let workspace = Workspace::load()?;
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&workspace.root().join(folder), &mut files)?;
    }
    let mut wrong = Vec::new();
    for file in &files {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let shown = file.strip_prefix(workspace.root()).unwrap_or(file);
        for complaint in complaints(shown, &text) {
            wrong.push(format!("{}: {complaint}", shown.display()));
        }
    }
    for page in ["docs/architecture.md", "README.md", "CONTRIBUTING.md"] {
        wrong.extend(map::missing(workspace.root(), &workspace.root().join(page))?);
    }
    if !wrong.is_empty() {
        bail!("untidy files:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "target" {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

fn complaints(path: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let first = text.lines().next().unwrap_or_default();
    let is_crate_page = path.ends_with("src/lib.rs");
    let says_so = first.starts_with("//! ") || (is_crate_page && first.contains("doc = "));
    if !says_so {
        found.push("the first line must be `//!` and say what lives here".to_owned());
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let parents = path.components().filter_map(|part| part.as_os_str().to_str());
    if let Some(drawer) = DRAWERS
        .iter()
        .find(|drawer| stem == **drawer || parents.clone().any(|part| part == **drawer))
    {
        found.push(format!("`{drawer}` is a drawer: name the concept"));
    }
    let lines = text.lines().count();
    // Tests, and the tables of what a server must answer.
    let is_test =
        stem == "tests" || parents.clone().any(|part| part == "tests" || part == "conformance");
    if lines > LINES_MAX && !is_test {
        found.push(format!("{lines} lines; at most {LINES_MAX}: which are the two ideas?"));
    }
    if let Some(number) = text.lines().position(|line| line.ends_with([' ', '\t'])) {
        found.push(format!("line {} ends in white space", number + 1));
    }
    if let Some(number) = wide_comment(text) {
        found.push(format!("line {number} is a comment beyond column {COLUMNS_MAX}"));
    }
    found
}

/// The first line of prose in a comment that is too wide.
fn wide_comment(text: &str) -> Option<usize> {
    let mut is_example = false;
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_example = false;
            continue;
        };
        let words = comment.trim_start_matches(['/', '!']).trim_start();
        if words.starts_with("```") {
            is_example = !is_example;
        } else if !is_example && !words.starts_with('|') && line.chars().count() > COLUMNS_MAX {
            return Some(index + 1);
        }
    }
    None
}
