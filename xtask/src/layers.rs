//! The layers of a crate: a folder imports only the folders below it. The table of layers is in
//! `docs/architecture.md`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::imports::Files;
use crate::workspace::Workspace;

const PAGE: &str = "docs/architecture.md";
/// The line above the table.
const HEADING: &str = "### Layers";

/// Folders by their layer; the top has the highest number. Those of one layer do not import each
/// other.
type Layers = BTreeMap<String, usize>;

#[test]
fn folders_import_only_what_is_below_them() -> Result<()> {
    let workspace = Workspace::load()?;
    let page = fs::read_to_string(workspace.root().join(PAGE)).context(PAGE)?;
    let table = table(&page)?;
    let mut wrong = Vec::new();
    for (name, layers) in &table {
        let packages = workspace.packages();
        let package = packages.iter().find(|package| package.name.as_str() == name);
        let files = Files::of(package.with_context(|| format!("{PAGE}: no crate {name}"))?)?;
        for (file, imported) in files.with_context(|| format!("{name} has no files"))?.edges() {
            let folder = file.first().map_or("", String::as_str);
            for other in imported {
                let below = other.first().map_or("", String::as_str);
                if let Some(why) = complaint(layers, folder, below) {
                    wrong.push(format!("{name}: {} -> {}: {why}", file.join("/"), other.join("/")));
                }
            }
        }
    }
    if !wrong.is_empty() {
        bail!("imports that point up:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// What is wrong with an import of one folder by another. Folders that the table does not name are
/// below all others.
fn complaint(layers: &Layers, folder: &str, other: &str) -> Option<String> {
    let (from, to) = (layers.get(folder), layers.get(other));
    (folder != other && to.is_some() && from <= to)
        .then(|| format!("{other} is not below {folder}"))
}

/// The crates of the table, each with its layers.
fn table(page: &str) -> Result<BTreeMap<String, Layers>> {
    let (_, after) = page.split_once(HEADING).with_context(|| format!("{PAGE}: no {HEADING}"))?;
    let rows = after.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let mut table = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, layers] = *cells.as_slice() else { bail!("{PAGE}: expected two cells: {row}") };
        table.insert(plain(name), read(layers));
    }
    ensure!(!table.is_empty(), "{PAGE}: no table below {HEADING}");
    Ok(table)
}

/// `a` → `b`, `c` → `d`
fn read(layers: &str) -> Layers {
    let layers = layers.split('→').rev().enumerate();
    layers.flat_map(|(rank, names)| names.split(',').map(move |name| (plain(name), rank))).collect()
}

fn plain(name: &str) -> String {
    name.trim().trim_matches('`').to_owned()
}

#[test]
fn an_import_of_a_higher_folder_is_found() {
    let layers = read("`server` → `table`, `replica` → `rest`");
    let allowed = [("server", "rest"), ("table", "rest"), ("rest", "words"), ("rest", "rest")];
    let refused = [("rest", "server"), ("table", "replica"), ("words", "rest")];
    for (folder, other) in allowed {
        assert_eq!(complaint(&layers, folder, other), None, "{folder} -> {other}");
    }
    for (folder, other) in refused {
        assert!(complaint(&layers, folder, other).is_some(), "{folder} -> {other}");
    }
}
