//! Aggregated discovery: all groups and resources in one response, `apidiscovery.k8s.io/v2`, with
//! an ETag.

use api_front::Body;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};

use crate::api::media;
use crate::kubectl::discovery::resources;
use crate::strategy::registry::Registry;
use crate::strategy::resource::ServedResource;

const MEDIA_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Whether the client accepts it.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    media::accepts_as(headers, ["APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2"])
}

/// `/api` (the core group) or `/apis` (all others). 304 if the ETag matches.
pub(super) fn answer(registry: &Registry, core: bool, headers: &HeaderMap) -> Response<Body> {
    let items: Vec<Value> = if core {
        let versions = registry.groups().get("").cloned().unwrap_or_default();
        vec![group(registry, "", &versions)]
    } else {
        let groups = resources::ordered_groups(registry);
        groups.iter().map(|(name, versions)| group(registry, name, versions)).collect()
    };
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    });
    let body = list.to_string();
    let tag = etag(body.as_bytes());
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let mut response = Response::new(if known { Body::empty() } else { Body::full(body) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// SHA-512 in capital letters, quoted.
fn etag(bytes: &[u8]) -> String {
    format!("\"{}\"", crate::kubectl::openapi::document::hash(bytes))
}

fn group<S: AsRef<str>>(registry: &Registry, name: &str, versions: &[S]) -> Value {
    let versions = resources::ordered_versions(versions).into_iter().map(|version| {
        let resources: Vec<Value> =
            registry.of_version(name, version).map(|kind| resource(kind)).collect();
        json!({ "version": version, "resources": resources, "freshness": "Current" })
    });
    let metadata = if name.is_empty() { json!({}) } else { json!({ "name": name }) };
    json!({ "metadata": metadata, "versions": versions.collect::<Vec<_>>() })
}

fn resource(kind: &ServedResource) -> Value {
    // As upstream, the kind of a built-in resource has no group and version if they are those of
    // the path.
    let own = match kind.is_built_in() {
        true => json!({ "group": "", "version": "", "kind": kind.kind() }),
        false => json!({ "group": kind.group(), "version": kind.version(), "kind": kind.kind() }),
    };
    let mut resource = json!({
        "resource": kind.plural(),
        "responseKind": own,
        "scope": if kind.is_namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular(),
        "verbs": resources::verbs(kind),
    });
    if !kind.short_names().is_empty() {
        resource["shortNames"] = kind.short_names().into();
    }
    if !kind.categories().is_empty() {
        resource["categories"] = kind.categories().into();
    }
    let subresources = resources::subresources(kind).into_iter().map(|subresource| {
        let shows = match subresource.shows {
            Some((group, version, kind)) => json!({ "group": group, "version": version, "kind": kind }),
            None => own.clone(),
        };
        json!({ "subresource": subresource.name, "responseKind": shows, "verbs": subresource.verbs })
    });
    let subresources: Vec<Value> = subresources.collect();
    if !subresources.is_empty() {
        resource["subresources"] = subresources.into();
    }
    resource
}
