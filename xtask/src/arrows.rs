//! The dependency law: which crate of ours may depend on which, what may never be linked, and what every published crate carries.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, bail};
use cargo_metadata::{DependencyKind, Package};

use crate::workspace::{Workspace, is_published};

/// Who may depend on whom among the published crates, dev-dependencies excepted. Everything that is not written here is forbidden.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("wq-core", &[]),
    ("wq-delay", &["wq-core"]),
    ("wq-ratelimit", &["wq-delay"]),
    ("wq-priority", &["wq-core"]),
    ("lease-election", &[]),
    ("embedded-apiserver", &[]),
    ("reconciler", &["wq-ratelimit", "wq-priority", "lease-election", "embedded-apiserver"]),
];

/// Arrows that exist only behind a feature.
const OPTIONAL: &[(&str, &str)] = &[("reconciler", "lease-election"), ("reconciler", "embedded-apiserver")];

/// Heavy crates that a crate of ours must not name, optional or not, because users of that layer do not want them.
const NEVER: &[(&str, &[&str])] = &[
    ("wq-core", &["tokio", "kube", "k8s-openapi"]),
    ("wq-delay", &["kube", "k8s-openapi"]),
    ("wq-ratelimit", &["kube", "k8s-openapi"]),
    ("wq-priority", &["tokio", "kube", "k8s-openapi"]),
    ("xtask", &["tokio", "kube", "k8s-openapi"]),
];

/// Checks all of it, and reports every violation at once.
pub(crate) fn check() -> Result<()> {
    let workspace = Workspace::load()?;
    let packages = workspace.packages();
    let ours: BTreeMap<&str, &Package> =
        packages.iter().map(|package| (package.name.as_str(), *package)).collect();
    let mut wrong = Vec::new();
    for package in &packages {
        arrows_of(package, &ours, &mut wrong);
        if is_published(package) {
            completeness_of(package, &mut wrong);
        }
    }
    if !wrong.is_empty() {
        bail!("the dependency law does not hold:\n  {}", wrong.join("\n  "));
    }
    println!(
        "arrows: {} crates, {} published: all point down",
        packages.len(),
        workspace.published().count()
    );
    Ok(())
}

fn arrows_of(package: &Package, ours: &BTreeMap<&str, &Package>, wrong: &mut Vec<String>) {
    let name = package.name.as_str();
    let allowed = lookup(MAY_DEPEND_ON, name);
    if is_published(package) && allowed.is_none() {
        wrong
            .push(format!("{name} is published, and xtask/src/arrows.rs does not say what it may depend on"));
    }
    for dependency in &package.dependencies {
        let target = dependency.name.as_str();
        if lookup(NEVER, name).is_some_and(|never| never.contains(&target))
            && dependency.kind != DependencyKind::Development
        {
            wrong.push(format!("{name} must not depend on {target}"));
        }
        let Some(below) = ours.get(target) else { continue };
        if dependency.kind == DependencyKind::Development {
            if dependency.req != cargo_metadata::semver::VersionReq::STAR {
                wrong.push(format!("{name}: the dev-dependency {target} must be a path without a version"));
            }
            continue;
        }
        if !is_published(package) {
            continue;
        }
        if !is_published(below) {
            wrong.push(format!("{name} is published and depends on {target}, which is not"));
        } else if !allowed.is_some_and(|allowed| allowed.contains(&target)) {
            wrong.push(format!("{name} must not depend on {target}: the arrow does not point down"));
        }
        if OPTIONAL.contains(&(name, target)) && !dependency.optional {
            wrong.push(format!("{name} may depend on {target} only behind a feature"));
        }
        if dependency.req == cargo_metadata::semver::VersionReq::STAR {
            wrong.push(format!("{name} depends on {target} without a version, so it cannot be published"));
        }
    }
}

fn completeness_of(package: &Package, wrong: &mut Vec<String>) {
    let name = package.name.as_str();
    let folder = package.manifest_path.parent().map(|path| path.as_std_path().to_owned()).unwrap_or_default();
    if folder.file_name().is_none_or(|file_name| file_name != name) {
        wrong.push(format!("{name} lives in a folder of another name"));
    }
    if package.description.as_deref().is_none_or(str::is_empty) {
        wrong.push(format!("{name} has no description"));
    }
    if package.license.as_deref().is_none_or(str::is_empty) {
        wrong.push(format!("{name} has no licence"));
    }
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        if !folder.join(file).is_file() {
            wrong.push(format!("{name} has no {file}"));
        }
    }
    let changelog = fs::read_to_string(folder.join("CHANGELOG.md")).unwrap_or_default();
    let heading = format!("## {}", package.version);
    let headings = changelog
        .lines()
        .filter(|line| line.split(" - ").next().is_some_and(|start| start.trim_end() == heading));
    if headings.count() != 1 {
        wrong.push(format!("{name}: CHANGELOG.md must have exactly one heading `{heading}`"));
    }
    let page = fs::read_to_string(folder.join("src/lib.rs")).unwrap_or_default();
    if !page.contains("#![doc = include_str!(\"../README.md\")]") {
        wrong.push(format!("{name}: src/lib.rs must include README.md as the crate page"));
    }
}

fn lookup<'a>(table: &[(&str, &'a [&'a str])], name: &str) -> Option<&'a [&'a str]> {
    table.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
}
