//! The files of a crate import each other one way: no circle.
//!
//! A re-export is no import: a file that names `crate::cache::Unseen` imports the file that defines
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

use crate::workspace::Workspace;

/// Crates whose files import each other in circles. A crate without one leaves this list.
const CIRCULAR: &[&str] = &["demo", "hostpath-provisioner", "lease-election"];

/// The path of a module in its crate; that of `lib.rs` is empty.
type Module = Vec<String>;

#[test]
fn files_import_each_other_one_way() -> Result<()> {
    let workspace = Workspace::load()?;
    let mut wrong = Vec::new();
    for package in workspace.packages() {
        let folder = package.manifest_path.parent().context("a folder")?;
        let root = ["src/lib.rs", "src/main.rs"].map(|name| folder.join(name));
        let Some(root) = root.iter().find(|root| root.is_file()) else { continue };
        let mut files = Files::default();
        files.read(root.as_std_path(), Vec::new())?;
        let name = package.name.as_str();
        match (files.circle(), CIRCULAR.contains(&name)) {
            (Some(circle), false) => wrong.push(format!("{name}: {}", circle.join(" -> "))),
            (None, true) => {
                wrong.push(format!("{name} has no circle any more: remove it from CIRCULAR"))
            }
            _ => {}
        }
    }
    if !wrong.is_empty() {
        bail!("files import each other in circles:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// The files of a crate.
#[derive(Default)]
struct Files {
    /// By module. A module within a file belongs to the file.
    modules: BTreeMap<Module, Module>,
    /// What the names that a module imports stand for.
    names: BTreeMap<(Module, String), Module>,
    /// The paths that a file names.
    paths: BTreeMap<Module, BTreeSet<Module>>,
}

impl Files {
    fn read(&mut self, file: &Path, module: Module) -> Result<()> {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("in {}", file.display()))?;
        let is_root = module.is_empty();
        let stem = file.with_extension("");
        let children = if is_root { file.parent().unwrap_or(file).to_owned() } else { stem };
        self.modules.insert(module.clone(), module.clone());
        self.items(&parsed.items, &module, &module, &children)
    }

    fn items(
        &mut self,
        items: &[Item],
        module: &Module,
        file: &Module,
        children: &Path,
    ) -> Result<()> {
        for item in items {
            let Item::Mod(item) = item else { continue };
            if is_test(&item.attrs) {
                continue;
            }
            let name = item.ident.to_string();
            let inner = joined(module, [name.clone()]);
            match &item.content {
                Some((_, items)) => {
                    self.modules.insert(inner.clone(), file.clone());
                    self.items(items, &inner, file, &children.join(&name))?;
                }
                None => {
                    let flat = children.join(format!("{name}.rs"));
                    let nested = children.join(&name).join("mod.rs");
                    self.read(if flat.is_file() { &flat } else { &nested }, inner)?;
                }
            }
        }
        for item in items {
            if let Item::Use(item) = item
                && !is_test(&item.attrs)
            {
                self.import(item, module, file);
            }
        }
        // The children of this module are known now, and so their names.
        let mut paths = Paths { module, files: self, found: BTreeSet::new() };
        items.iter().for_each(|item| paths.visit_item(item));
        let found = paths.found;
        self.paths.entry(file.clone()).or_default().extend(found);
        Ok(())
    }

    fn import(&mut self, item: &ItemUse, module: &Module, file: &Module) {
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (path, name) in leaves {
            let Some(path) = self.absolute(module, &path) else { continue };
            // A module hands on what its own children have.
            let is_handed_on =
                !matches!(item.vis, Visibility::Inherited) && path.starts_with(module);
            if !is_handed_on {
                self.paths.entry(file.clone()).or_default().insert(path.clone());
            }
            self.names.insert((module.clone(), name), path);
        }
    }

    /// The path from the root of the crate. `None` for a path of another crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some(joined(module, rest.to_vec())),
            "super" => {
                let (_, parent) = module.split_last()?;
                match rest.first().map(String::as_str) {
                    Some("super") => self.absolute(&parent.to_vec(), rest),
                    _ => Some(joined(parent, rest.to_vec())),
                }
            }
            _ => {
                let child = joined(module, [first.clone()]);
                self.modules.contains_key(&child).then(|| joined(module, path.to_vec()))
            }
        }
    }

    /// The file that defines what a path names.
    fn file_of(&self, path: &Module) -> Module {
        let mut path = path.clone();
        // Names stand for names: a limit, should two stand for each other.
        for _ in 0..16 {
            let at = (0..=path.len()).rev().find(|at| self.modules.contains_key(&path[..*at]));
            let (module, rest) = path.split_at(at.unwrap_or(0));
            let alias =
                rest.first().and_then(|name| self.names.get(&(module.to_vec(), name.clone())));
            match alias {
                Some(stands_for) => path = joined(stands_for, rest[1..].to_vec()),
                None => return self.modules.get(module).cloned().unwrap_or_default(),
            }
        }
        path
    }

    /// A circle of files, if there is one.
    fn circle(&self) -> Option<Vec<String>> {
        let mut edges: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (file, paths) in self.paths.iter().filter(|(file, _)| !file.is_empty()) {
            let imported = paths.iter().map(|path| self.file_of(path));
            let others = imported.filter(|other| other != file && !other.is_empty());
            edges.insert(file.clone(), others.collect());
        }
        // Files that import none of the others are in no circle.
        loop {
            let ends: Vec<Module> = edges
                .iter()
                .filter(|(_, to)| to.is_empty())
                .map(|(file, _)| file.clone())
                .collect();
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
}

/// The paths in the items of a module.
struct Paths<'a> {
    module: &'a Module,
    files: &'a Files,
    found: BTreeSet<Module>,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        // Other modules and imports are read by themselves.
        if !matches!(item, Item::Mod(_) | Item::Use(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
        if segments.len() > 1 {
            self.found.extend(self.files.absolute(self.module, &segments));
        }
        visit::visit_path(self, path);
    }
}

/// The paths of a tree, each with the name under which it is known then.
fn flatten(tree: &UseTree, before: &mut Vec<String>, leaves: &mut Vec<(Module, String)>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, leaves);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            leaves.extend(before.last().map(|last| (before.clone(), last.clone())));
        }
        UseTree::Name(name) => {
            leaves.push((joined(before, [name.ident.to_string()]), name.ident.to_string()));
        }
        UseTree::Rename(name) => {
            let path = joined(before, [name.ident.to_string()]);
            let path = if name.ident == "self" { before.clone() } else { path };
            leaves.push((path, name.rename.to_string()));
        }
        UseTree::Glob(_) => leaves.push((before.clone(), "*".to_owned())),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, before, leaves));
        }
    }
}

fn joined(module: &[String], names: impl IntoIterator<Item = String>) -> Module {
    module.iter().cloned().chain(names).collect()
}

/// `#[cfg(test)]`, or with other conditions beside it.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if attribute.path().is_ident("cfg") => {
            let tokens = list.tokens.to_string();
            // Not a feature whose name has the word in it.
            tokens.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
        }
        _ => false,
    })
}
