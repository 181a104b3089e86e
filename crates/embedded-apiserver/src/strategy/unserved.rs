//! The resources that upstream serves and this server does not. They get a 501 that names them.

use std::collections::HashSet;
use std::sync::LazyLock;

use api_front::RESOURCES;

/// `GROUP/VERSION NAME`, with the subresource after a slash.
static SERVED_BY_THE_REAL_ONE: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = RESOURCES.lines();
    lines
        .filter_map(|line| line.match_indices(' ').nth(1).and_then(|(at, _)| line.get(..at)))
        .collect()
});

/// Whether upstream has a resource, or a subresource after a slash.
pub(crate) fn is_resource(version: &str, name: &str) -> bool {
    SERVED_BY_THE_REAL_ONE.contains(format!("{version} {name}").as_str())
}

/// Whether upstream has this subresource.
pub(crate) fn is_subresource(version: &str, plural: &str, subresource: &str) -> bool {
    is_resource(version, &format!("{plural}/{subresource}"))
}

/// What a test can do without a subresource that a kubelet answers upstream.
pub(crate) fn instead_of(subresource: &str) -> &'static str {
    match subresource {
        "attach" | "exec" | "log" | "portforward" | "proxy" => {
            ": no kubelet runs here. A test can answer the request itself, in a tower layer around \
             EmbeddedApiServer::service"
        }
        _ => "",
    }
}

/// Whether upstream has a kind of this name and version.
pub(crate) fn is_kind(version: &str, kind: &str) -> bool {
    let ends = |line: &str| {
        line.split(' ').next() == Some(version) && line.rsplit(' ').next() == Some(kind)
    };
    RESOURCES.lines().any(ends)
}

/// Whether upstream has this group, in this version or in any.
pub(crate) fn is_group(group: &str, version: Option<&str>) -> bool {
    RESOURCES
        .lines()
        .filter_map(|line| line.split(' ').next()?.split_once('/'))
        .any(|(known, of)| known == group && version.is_none_or(|version| version == of))
}
