//! Resolves a path. Pure, apart from the registry of kinds.

use std::sync::Arc;

use crate::api::query::is_malformed;
use crate::store::state::Place;
use crate::strategy::registry::Registry;
use crate::strategy::resource::ServedResource;
use crate::strategy::unserved;

/// The meaning of a path.
#[derive(Debug, Clone)]
pub(crate) enum Route {
    /// `/`
    Root,
    /// `/version`
    Version,
    /// `/livez`, `/readyz`, `/healthz`: all checks, or one of them.
    Health { endpoint: &'static str, check: String },
    /// A path that only upstream serves.
    NotImplemented(&'static str),
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`
    Resources { group: String, version: String },
    /// `/openapi/v2`
    OpenApiV2,
    /// `/openapi/v3`
    OpenApiIndex,
    /// `/openapi/v3/apis/GROUP/VERSION`
    OpenApi { group: String, version: String },
    /// A resource.
    Objects(Target),
    /// A namespaced kind with an empty namespace in the path.
    WithoutNamespace(Target),
    /// A percent sign without two hex digits.
    Malformed,
    /// A missing version or resource of a served group.
    NoSuchResource,
    /// No such path.
    Nothing,
}

/// A collection, or an object.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) kind: Arc<ServedResource>,
    /// `None`: all namespaces, or cluster scope.
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Target {
    /// The table and namespace of its objects.
    pub(crate) fn place(&self) -> Place<'_> {
        Place { table: &self.kind.storage, namespace: self.namespace.as_deref(), from: None }
    }
}

/// Resolves a path, with percent encoding.
pub(crate) fn route(path: &str, registry: &Registry) -> Route {
    if is_malformed(path) {
        return Route::Malformed;
    }
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    let Some(whole) = decoded.strip_prefix('/') else { return Route::Nothing };
    let path = whole.trim_end_matches('/');
    let segments: Vec<&str> = path.split('/').collect();
    // go-restful and the handler of custom kinds ignore trailing slashes.
    let found = to_segments(&segments, registry);
    match (whole.len() - path.len(), &found) {
        (0, _) => found,
        (1, Route::Groups | Route::Group(_)) => found,
        (_, Route::Root | Route::Health { .. } | Route::Groups) => Route::Nothing,
        // This path names nothing.
        (_, Route::OpenApiIndex) => Route::OpenApi { group: String::new(), version: String::new() },
        _ => found,
    }
}

fn to_segments(segments: &[&str], registry: &Registry) -> Route {
    match *segments {
        ["" | "index.html"] => Route::Root,
        ["version"] => Route::Version,
        ["healthz", ref check @ ..] => {
            Route::Health { endpoint: "healthz", check: check.join("/") }
        }
        ["livez", ref check @ ..] => Route::Health { endpoint: "livez", check: check.join("/") },
        ["readyz", ref check @ ..] => Route::Health { endpoint: "readyz", check: check.join("/") },
        ["metrics", ..] => Route::NotImplemented("/metrics"),
        ["debug", ..] => Route::NotImplemented("/debug"),
        ["statusz"] => Route::NotImplemented("/statusz"),
        ["openid", "v1", "jwks"] => Route::NotImplemented("/openid/v1/jwks"),
        [".well-known", "openid-configuration"] => {
            Route::NotImplemented("/.well-known/openid-configuration")
        }
        ["api"] => Route::Core,
        ["apis"] => Route::Groups,
        ["api", _, "watch", ..] | ["apis", _, _, "watch", ..] => {
            Route::NotImplemented("watches at /watch/: use the collection's path with watch=true")
        }
        ["apis", "", ..] => Route::Nothing,
        ["apis", group] => Route::Group(group.to_owned()),
        ["openapi", "v2"] => Route::OpenApiV2,
        ["openapi", "v3"] => Route::OpenApiIndex,
        ["openapi", "v3", "api", version] => {
            Route::OpenApi { group: String::new(), version: version.to_owned() }
        }
        ["openapi", "v3", "apis", group, version] => {
            Route::OpenApi { group: group.to_owned(), version: version.to_owned() }
        }
        ["openapi", "v3", ..] => Route::OpenApi { group: String::new(), version: String::new() },
        ["api", version] => resources(registry, "", version),
        ["apis", group, version] => resources(registry, group, version),
        ["api", version, ref rest @ ..] => objects(registry, "", version, rest),
        ["apis", group, version, ref rest @ ..] => objects(registry, group, version, rest),
        _ => Route::Nothing,
    }
}

fn resources(registry: &Registry, group: &str, version: &str) -> Route {
    if is_unknown_version(registry, group, version) {
        return nothing_of(registry, group);
    }
    Route::Resources { group: group.to_owned(), version: version.to_owned() }
}

/// The response to a missing resource of a served group: a Status, or plain text in a custom group.
fn nothing_of(registry: &Registry, group: &str) -> Route {
    if registry.is_custom_group(group) { Route::Nothing } else { Route::NoSuchResource }
}

/// Whether a served group lacks the version.
fn is_unknown_version(registry: &Registry, group: &str, version: &str) -> bool {
    registry.of_version(group, version).next().is_none() && registry.groups().contains_key(group)
}

fn objects(registry: &Registry, group: &str, version: &str, rest: &[&str]) -> Route {
    if is_unknown_version(registry, group, version) {
        return nothing_of(registry, group);
    }
    if registry.of_version(group, version).next().is_none() {
        return Route::Nothing;
    }
    let target =
        |namespace: Option<&str>, plural: &str, name: Option<&str>, subresource: Option<&str>| {
            let kind = registry.find(group, version, plural)?;
            // A cluster-scoped kind has no path below a namespace. A namespaced object has no path
            // outside of one.
            let fits = match (kind.is_namespaced(), namespace) {
                (true, None) => name.is_none(),
                (true, Some(_)) | (false, None) => true,
                (false, Some(_)) => false,
            };
            let owned = |text: Option<&str>| text.map(str::to_owned);
            fits.then(|| Target {
                kind,
                namespace: owned(namespace),
                name: owned(name),
                subresource: owned(subresource.filter(|subresource| !subresource.is_empty())),
            })
        };
    // The handler of custom kinds ignores the path after a subresource. After `proxy` it is that of
    // another server.
    let ends = |target: &Target, more: &[&str]| {
        let goes_on = !target.kind.is_built_in() || target.subresource.as_deref() == Some("proxy");
        more.is_empty() || goes_on
    };
    let found = match *rest {
        ["namespaces", "", subresource @ ("status" | "finalize")] if group.is_empty() => {
            target(None, "namespaces", Some(""), Some(subresource))
        }
        ["namespaces", "", plural, ref more @ ..] => {
            let found =
                target(None, plural, None, None).filter(|target| target.kind.is_namespaced());
            return match found {
                Some(target) if target.kind.is_built_in() && more.len() < 3 => {
                    let part = |at: usize| more.get(at).map(|part| (*part).to_owned());
                    Route::WithoutNamespace(Target {
                        name: part(0),
                        subresource: part(1),
                        ..target
                    })
                }
                // The handler of custom kinds takes an empty namespace for all namespaces.
                Some(target) if !target.kind.is_built_in() && more.is_empty() => {
                    Route::Objects(target)
                }
                _ => nothing_of(registry, group),
            };
        }
        ["namespaces", name, subresource @ ("status" | "finalize")] if group.is_empty() => {
            target(None, "namespaces", Some(name), Some(subresource))
        }
        ["namespaces"] if group.is_empty() => target(None, "namespaces", None, None),
        ["namespaces", name] if group.is_empty() => target(None, "namespaces", Some(name), None),
        ["namespaces", namespace, plural] => target(Some(namespace), plural, None, None),
        ["namespaces", namespace, plural, name] => {
            target(Some(namespace), plural, Some(name), None)
        }
        ["namespaces", namespace, plural, name, subresource, ref more @ ..] => {
            target(Some(namespace), plural, Some(name), Some(subresource)).filter(|t| ends(t, more))
        }
        [plural] => target(None, plural, None, None),
        [plural, name] => target(None, plural, Some(name), None),
        [plural, name, subresource, ref more @ ..] => {
            target(None, plural, Some(name), Some(subresource)).filter(|t| ends(t, more))
        }
        _ => None,
    };
    // With a subresource, the missing name is reported later.
    let is_whole = |target: &Target| {
        let empty = rest.iter().filter(|part| part.is_empty()).count();
        let nameless = target.subresource.is_some() && target.name.as_deref() == Some("");
        !target.kind.is_built_in() || empty == usize::from(nameless)
    };
    found.filter(is_whole).map_or_else(|| nothing_of(registry, group), Route::Objects)
}

/// The resource of a path that upstream serves and this server does not: `statefulsets.apps`.
pub(crate) fn unserved_resource(path: &str, registry: &Registry) -> Option<String> {
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
    let has = |name: &str| unserved::is_resource(&version, name);
    let named =
        if subresource.is_empty() { plural.to_owned() } else { format!("{plural}/{subresource}") };
    (has(&named) || has(plural))
        .then(|| if group.is_empty() { named } else { format!("{named}.{group}") })
}
