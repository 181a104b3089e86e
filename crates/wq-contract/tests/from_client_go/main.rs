//! What `docs/from-client-go.md` promises: every exported name of the Go packages is on it, every
//! name of ours on it exists, and every defect has a test.

#![cfg(not(any(wq_loom, wq_shuttle)))]

mod defects;
mod names;
mod ours;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/from-client-go.md")).unwrap()
}

/// The cells of a row of a table, and what stands in backticks in one of them.
fn cells(row: &str) -> Vec<&str> {
    row.trim().trim_start_matches("| ").trim_end_matches(" |").split(" | ").collect()
}

fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}
