//! What the real server serves and this one does not: it answers 501 there, and says what is
//! missing.

use std::collections::HashSet;
use std::sync::LazyLock;

use api_front::RESOURCES;

use crate::registry::Registry;

/// `GROUP/VERSION NAME`, with the subresource after a slash.
static SERVED_BY_THE_REAL_ONE: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = RESOURCES.lines();
    lines
        .filter_map(|line| line.match_indices(' ').nth(1).and_then(|(at, _)| line.get(..at)))
        .collect()
});

/// Whether the real server has this subresource.
pub(crate) fn is_subresource(version: &str, plural: &str, subresource: &str) -> bool {
    SERVED_BY_THE_REAL_ONE.contains(format!("{version} {plural}/{subresource}").as_str())
}

/// Whether the real server has a kind of this name in this version, served here or not.
pub(crate) fn is_kind(version: &str, kind: &str) -> bool {
    let ends = |line: &str| {
        line.split(' ').next() == Some(version) && line.rsplit(' ').next() == Some(kind)
    };
    RESOURCES.lines().any(ends)
}

/// Whether the real server has this group, in this version or in any.
pub(crate) fn is_group(group: &str, version: Option<&str>) -> bool {
    RESOURCES
        .lines()
        .filter_map(|line| line.split(' ').next()?.split_once('/'))
        .any(|(known, of)| known == group && version.is_none_or(|version| version == of))
}

/// The resource that a path names, if the real server has it and this one has not:
/// `statefulsets.apps`.
pub(crate) fn named_by(path: &str, registry: &Registry) -> Option<String> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (version, rest) = match *segments.as_slice() {
        ["api", version, ref rest @ ..] => (version.to_owned(), rest),
        ["apis", group, version, ref rest @ ..] => (format!("{group}/{version}"), rest),
        _ => return None,
    };
    let rest = match *rest {
        ["watch", "namespaces", _, ref rest @ ..] | ["namespaces", _, ref rest @ ..]
            if !rest.is_empty() =>
        {
            rest
        }
        ["watch", ref rest @ ..] => rest,
        _ => rest,
    };
    let (plural, subresource) = match *rest {
        [plural] | [plural, _] => (plural, ""),
        [plural, _, subresource, ..] => (plural, subresource),
        [] => return None,
    };
    let (group, short) = version.rsplit_once('/').unwrap_or(("", &version));
    if registry.find(group, short, plural).is_some() {
        return None;
    }
    let has = |name: &str| SERVED_BY_THE_REAL_ONE.contains(format!("{version} {name}").as_str());
    let named =
        if subresource.is_empty() { plural.to_owned() } else { format!("{plural}/{subresource}") };
    (has(&named) || has(plural))
        .then(|| if group.is_empty() { named } else { format!("{named}.{group}") })
}
