//! What the server says about itself: groups, versions, resources, health.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::body::Body;
use crate::builtin::Builtin;
use crate::kind::{Kind, api_version};
use crate::media;
use crate::openapi::document;
use crate::registry::Registry;
use crate::rest::text;
use crate::route::Route;
use crate::server::Core;
use crate::status::{Status, json_response};

pub(crate) fn answer(core: &Core, route: &Route, request: &Request<Bytes>) -> Result<Response<Body>, Status> {
    if let Route::NoSuchResource = route {
        return Err(Status::no_such_resource());
    }
    if request.method() != Method::GET {
        return Err(Status::method_not_allowed());
    }
    let registry = core.registry.read();
    let json = match route {
        Route::Plain("/version") => version(),
        Route::Plain(_) => return Ok(text(StatusCode::OK, "ok")),
        Route::Core => json!({
            "kind": "APIVersions",
            "versions": registry.groups().get("").cloned().unwrap_or_default(),
            "serverAddressByClientCIDRs": [],
        }),
        Route::Groups => groups(&registry),
        Route::Group(name) => match registry.groups().get(name.as_str()) {
            Some(versions) if !name.is_empty() => {
                let mut group = group(name, versions);
                group["kind"] = "APIGroup".into();
                group["apiVersion"] = "v1".into();
                group
            }
            _ => return Ok(text(StatusCode::NOT_FOUND, "404 page not found\n")),
        },
        Route::Resources { group, version } => {
            let mut kinds = registry.of_version(group, version).peekable();
            if kinds.peek().is_none() {
                return Ok(text(StatusCode::NOT_FOUND, "404 page not found\n"));
            }
            json!({
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": api_version(group, version),
                "resources": kinds.flat_map(|kind| resources(kind)).collect::<Vec<_>>(),
            })
        }
        Route::OpenApiV2 => return document::version_2(request.headers()),
        Route::OpenApiIndex => document::index(&registry),
        Route::OpenApi { group, version } => match document::document(&registry, group, version) {
            Some(document) => document,
            None => return Ok(text(StatusCode::NOT_FOUND, "404 page not found\n")),
        },
        Route::Objects(_) | Route::NoSuchResource | Route::Nothing => return Err(Status::no_such_resource()),
    };
    media::accepted(request.headers())?;
    Ok(json_response(StatusCode::OK, json.to_string()))
}

/// The version of Kubernetes whose behaviour was looked at; `+embedded` says that this is not it.
fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": concat!("v1.36.3+embedded.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

fn groups(registry: &Registry) -> Value {
    let groups = registry.groups();
    let named = groups.iter().filter(|(name, _)| !name.is_empty());
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": named.map(|(name, versions)| group(name, versions)).collect::<Vec<_>>(),
    })
}

fn group(name: &str, versions: &[&str]) -> Value {
    let mut versions = versions.to_vec();
    versions.sort_by_key(|version| std::cmp::Reverse(stability(version)));
    let shown = |version: &&str| json!({ "groupVersion": api_version(name, version), "version": version });
    json!({
        "name": name,
        "versions": versions.iter().map(shown).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(shown),
    })
}

/// v2 before v1 before v1beta2 before v1beta1 before v1alpha1 before anything else.
fn stability(version: &str) -> (u8, u64, u64) {
    let parse = || {
        let rest = version.strip_prefix('v')?;
        let number = |text: &str| text.parse::<u64>().ok();
        for (word, rank) in [("beta", 1), ("alpha", 0)] {
            if let Some((major, minor)) = rest.split_once(word) {
                return Some((rank, number(major)?, number(minor)?));
            }
        }
        Some((2, number(rest)?, 0))
    };
    parse().map_or((0, 0, 0), |(rank, major, minor)| (rank + 1, major, minor))
}

fn resources(kind: &Kind) -> Vec<Value> {
    let mut verbs = vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    if kind.builtin == Some(Builtin::Namespace) {
        verbs.retain(|verb| *verb != "deletecollection");
    }
    let mut resource = json!({
        "name": kind.plural(),
        "singularName": kind.singular(),
        "namespaced": kind.is_namespaced(),
        "kind": kind.kind(),
        "verbs": verbs,
    });
    if !kind.short_names().is_empty() {
        resource["shortNames"] = kind.short_names().into();
    }
    if !kind.categories().is_empty() {
        resource["categories"] = kind.categories().into();
    }
    let mut all = vec![resource];
    let mut subresource = |name: &str, verbs: &[&str]| {
        all.push(json!({
            "name": format!("{}/{name}", kind.plural()),
            "singularName": "",
            "namespaced": kind.is_namespaced(),
            "kind": kind.kind(),
            "verbs": verbs,
        }));
    };
    if kind.builtin == Some(Builtin::Namespace) {
        subresource("finalize", &["update"]);
    }
    if kind.has_status() {
        subresource("status", &["get", "patch", "update"]);
    }
    all
}
