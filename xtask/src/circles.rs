//! The files of a crate import each other one way: no circle.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use crate::imports::{Files, Module};
use crate::workspace::Workspace;

#[test]
fn files_import_each_other_one_way() -> Result<()> {
    let workspace = Workspace::load()?;
    let mut wrong = Vec::new();
    for package in workspace.packages() {
        let Some(files) = Files::of(package)? else { continue };
        if let Some(circle) = circle(files.edges()) {
            wrong.push(format!("{}: {}", package.name, circle.join(" -> ")));
        }
    }
    if !wrong.is_empty() {
        bail!("files import each other in circles:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// A circle of files, if there is one.
fn circle(mut edges: BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<String>> {
    // Files that import none of the others are in no circle.
    loop {
        let ends: Vec<Module> =
            edges.iter().filter(|(_, to)| to.is_empty()).map(|(file, _)| file.clone()).collect();
        if ends.is_empty() {
            break;
        }
        edges.retain(|file, _| !ends.contains(file));
        edges.values_mut().for_each(|to| to.retain(|file| !ends.contains(file)));
    }
    let mut way = vec![edges.keys().next()?.clone()];
    loop {
        let next = edges[way.last()?].first()?.clone();
        let start = way.iter().position(|file| *file == next);
        way.push(next);
        if let Some(start) = start {
            return Some(way[start..].iter().map(|file| file.join("/")).collect());
        }
    }
}
