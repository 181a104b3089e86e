//! Discovery: groups, versions, resources, health. This file maps paths to responses, [`resources`]
//! lists a kind's resources, [`aggregated`] lists all, [`health`] reports health.

mod aggregated;
mod health;
mod resources;

use api_front::Body;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use parking_lot::RwLock;
use serde_json::{Value, json};

use crate::api::kind::api_version;
use crate::api::media;
use crate::api::response::text;
use crate::api::status::{Status, json_response};
use crate::kubectl::openapi::document::{self, Documents};
use crate::rest::route::Route;
use crate::strategy::registry::Registry;
use crate::strategy::unserved;

pub(crate) fn answer(
    registry: &RwLock<Registry>,
    openapi: &Documents,
    route: &Route,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    match route {
        Route::NoSuchResource => return Err(Status::no_such_resource()),
        Route::NotImplemented(what) => return Err(Status::not_implemented(what)),
        // For any method: upstream does not serve them as resources.
        Route::Health { endpoint, check } => return Ok(health::answer(endpoint, check)),
        Route::OpenApiV2 => return document::version_2(request.headers()),
        Route::OpenApiIndex => return Ok(openapi.index(&registry.read())),
        Route::OpenApi { group, version } => {
            return Ok(openapi.document(&registry.read(), group, version, request));
        }
        _ => {}
    }
    let registry = registry.read();
    if let Some(missing) = missing(route, &registry) {
        return missing;
    }
    if request.method() != Method::GET && !is_answered_to_any_method(route, &registry) {
        return Err(Status::method_not_allowed());
    }
    if matches!(route, Route::Core | Route::Groups) && aggregated::is_wanted(request.headers()) {
        return Ok(aggregated::answer(&registry, matches!(route, Route::Core), request.headers()));
    }
    let json = match route {
        Route::Root => json!({ "paths": paths(&registry) }),
        Route::Version => version(),
        Route::Core => json!({
            "kind": "APIVersions",
            "versions": registry.groups().get("").cloned().unwrap_or_default(),
            "serverAddressByClientCIDRs": [],
        }),
        Route::Groups => groups(&registry),
        Route::Group(name) => {
            let versions = registry.groups().get(name.as_str()).cloned().unwrap_or_default();
            let mut group = group(name, &versions);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            group
        }
        Route::Resources { group, version } => resource_list(&registry, group, version),
        _ => return Err(Status::no_such_resource()),
    };
    let own = match route {
        Route::Core => true,
        Route::Resources { group, .. } => !registry.is_custom_group(group),
        _ => false,
    };
    if own {
        media::check_path(request.headers(), false)?;
    }
    if !matches!(route, Route::Root | Route::Version)
        && (media::accepted(request.headers()).is_err() || media::prefers_table(request.headers()))
    {
        return Err(media::not_acceptable());
    }
    Ok(json_response(StatusCode::OK, json.to_string()))
}

/// The response to a group or version that is not served, for any method.
fn missing(route: &Route, registry: &Registry) -> Option<Result<Response<Body>, Status>> {
    let (group, version) = match route {
        Route::Group(group) => (group, None),
        Route::Resources { group, version } => (group, Some(version.as_str())),
        _ => return None,
    };
    let is_served = match version {
        Some(version) => registry.of_version(group, version).next().is_some(),
        None => !group.is_empty() && registry.groups().contains_key(group.as_str()),
    };
    if is_served {
        return None;
    }
    if unserved::is_group(group, version) {
        return Some(Err(Status::not_implemented(&format!("the group {group}"))));
    }
    Some(Ok(text(StatusCode::NOT_FOUND, health::NOT_FOUND)))
}

/// Upstream's handlers of these paths ignore the method.
fn is_answered_to_any_method(route: &Route, registry: &Registry) -> bool {
    match route {
        Route::Root | Route::Groups => true,
        Route::Group(_) => true,
        Route::Resources { group, .. } => registry.is_custom_group(group),
        _ => false,
    }
}

/// The implemented version of Kubernetes. `+embedded` marks this server.
fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": concat!("v1.36.3+embedded.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// All paths except those of objects.
fn paths(registry: &Registry) -> Vec<String> {
    let mut paths: Vec<String> =
        ["/api", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"]
            .map(str::to_owned)
            .to_vec();
    for (group, versions) in registry.groups() {
        if !group.is_empty() {
            paths.push(format!("/apis/{group}"));
        }
        let below = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
        paths.extend(versions.iter().map(|version| format!("{below}/{version}")));
    }
    paths.extend(health::paths());
    paths.sort();
    paths
}

fn groups(registry: &Registry) -> Value {
    let groups = resources::ordered_groups(registry);
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": groups.iter().map(|(name, versions)| group(name, versions)).collect::<Vec<_>>(),
    })
}

fn group<S: AsRef<str>>(name: &str, versions: &[S]) -> Value {
    let versions = resources::ordered_versions(versions);
    let shown =
        |version: &&str| json!({ "groupVersion": api_version(name, version), "version": version });
    json!({
        "name": name,
        "versions": versions.iter().map(shown).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(shown),
    })
}

fn resource_list(registry: &Registry, group: &str, version: &str) -> Value {
    let kinds = registry.of_version(group, version);
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version(group, version),
        "resources": kinds.flat_map(|kind| resources::listed(kind)).collect::<Vec<_>>(),
    });
    // The core group's list has no apiVersion: it is older than that convention.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}
