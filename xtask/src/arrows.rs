//! The dependency law: which crate of ours may depend on which, what may never be linked, and what
//! every published crate carries.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, bail};
use cargo_metadata::semver::VersionReq;
use cargo_metadata::{DependencyKind, Package};

use crate::workspace::{Workspace, is_published};

mod tests;

/// Who may depend on whom among the published crates, dev-dependencies excepted. Everything that is
/// not written here is forbidden.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("wq-core", &[]),
    ("wq-delay", &["wq-core"]),
    ("wq-ratelimit", &["wq-delay"]),
    ("wq-priority", &["wq-core"]),
    ("wq-prometheus", &["wq-core", "wq-delay", "wq-ratelimit", "wq-priority"]),
    ("lease-election", &[]),
    ("k8s-value", &[]),
    ("k8s-cel", &["k8s-value"]),
    ("k8s-schema", &["k8s-cel", "k8s-value"]),
    ("k8s-merge", &["k8s-value"]),
    ("api-front", &["k8s-value"]),
    ("embedded-apiserver", &["api-front", "k8s-cel", "k8s-schema", "k8s-merge", "k8s-value"]),
    ("reconciler", &["wq-ratelimit", "wq-priority", "lease-election", "embedded-apiserver"]),
];

/// Arrows that exist only behind a feature.
const OPTIONAL: &[(&str, &str)] =
    &[("reconciler", "lease-election"), ("reconciler", "embedded-apiserver")];

/// Heavy crates that a crate of ours must not name, optional or not, because users of that layer do
/// not want them.
const NEVER: &[(&str, &[&str])] = &[
    ("wq-core", &["tokio", "kube", "k8s-openapi"]),
    ("wq-delay", &["kube", "k8s-openapi"]),
    ("wq-ratelimit", &["kube", "k8s-openapi"]),
    ("wq-priority", &["tokio", "kube", "k8s-openapi"]),
    ("wq-prometheus", &["tokio", "kube", "k8s-openapi"]),
    ("k8s-value", &["tokio", "kube", "k8s-openapi"]),
    ("k8s-cel", &["tokio", "kube", "k8s-openapi"]),
    ("k8s-schema", &["tokio", "kube", "k8s-openapi"]),
    ("k8s-merge", &["tokio", "kube", "k8s-openapi"]),
    ("control-plane", &["tokio", "kube", "k8s-openapi"]),
    ("xtask", &["tokio", "kube", "k8s-openapi"]),
];

#[test]
fn dependencies_point_down_and_published_crates_are_complete() -> Result<()> {
    let workspace = Workspace::load()?;
    let packages = workspace.packages();
    let ours: BTreeMap<&str, &Package> =
        packages.iter().map(|package| (package.name.as_str(), *package)).collect();
    let mut wrong = Vec::new();
    for package in &packages {
        wrong.extend(arrows_of(package, &ours).into_iter().filter_map(violation));
        if is_published(package) {
            completeness_of(package, &mut wrong);
        }
    }
    if !wrong.is_empty() {
        bail!("the dependency law does not hold:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// One line of a manifest's dependencies, as far as the law is about it.
#[derive(Debug, Clone, Copy)]
struct Arrow<'a> {
    from: &'a str,
    from_published: bool,
    to: &'a str,
    /// Whether the target is published, if it is one of ours.
    to_ours: Option<bool>,
    dev: bool,
    versioned: bool,
    optional: bool,
}

fn arrows_of<'a>(package: &'a Package, ours: &BTreeMap<&str, &Package>) -> Vec<Arrow<'a>> {
    let arrow = |dependency: &'a cargo_metadata::Dependency| Arrow {
        from: &package.name,
        from_published: is_published(package),
        to: &dependency.name,
        to_ours: ours.get(dependency.name.as_str()).map(|package| is_published(package)),
        dev: dependency.kind == DependencyKind::Development,
        versioned: dependency.req != VersionReq::STAR,
        optional: dependency.optional,
    };
    package.dependencies.iter().map(arrow).collect()
}

/// What is wrong with an arrow, if anything.
fn violation(arrow: Arrow<'_>) -> Option<String> {
    let Arrow { from, to, .. } = arrow;
    if arrow.dev {
        return (arrow.to_ours.is_some() && arrow.versioned)
            .then(|| format!("{from}: the dev-dependency {to} must be a path without a version"));
    }
    if lookup(NEVER, from).is_some_and(|never| never.contains(&to)) {
        return Some(format!("{from} must not depend on {to}"));
    }
    let to_published = arrow.to_ours?;
    if !arrow.from_published {
        return None;
    }
    if !to_published {
        return Some(format!("{from} is published and depends on {to}, which is not"));
    }
    if !lookup(MAY_DEPEND_ON, from).is_some_and(|allowed| allowed.contains(&to)) {
        return Some(format!("{from} must not depend on {to}: the arrow does not point down"));
    }
    if OPTIONAL.contains(&(from, to)) && !arrow.optional {
        return Some(format!("{from} may depend on {to} only behind a feature"));
    }
    (!arrow.versioned)
        .then(|| format!("{from} depends on {to} without a version, so it cannot be published"))
}

fn completeness_of(package: &Package, wrong: &mut Vec<String>) {
    let name = package.name.as_str();
    if lookup(MAY_DEPEND_ON, name).is_none() {
        wrong.push(format!(
            "{name} is published, and xtask/src/arrows.rs does not say what it may depend on"
        ));
    }
    let folder = package
        .manifest_path
        .parent()
        .map(|path| path.as_std_path().to_owned())
        .unwrap_or_default();
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
    if !page.contains("doc = include_str!(\"../README.md\")") {
        wrong.push(format!("{name}: src/lib.rs must include README.md as the crate page"));
    }
}

fn lookup<'a>(table: &[(&str, &'a [&'a str])], name: &str) -> Option<&'a [&'a str]> {
    table.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
}
