//! OpenAPI v3 documents, with paths for the served kinds.
//!
//! Built-in kinds have recorded schemas, custom kinds those of their definitions. kubectl needs the
//! types, the merge keys, and whether the server validates fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_front::Body;
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Request, Response, StatusCode};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

use crate::api::query::Query;
use crate::api::status::{Status, json_response};
use crate::kubectl::openapi::custom;
use crate::strategy::openapi;
use crate::strategy::registry::Registry;
use crate::strategy::resource::ServedResource;

/// The cached documents. They are large, and change only with the served kinds.
#[derive(Debug, Default)]
pub(crate) struct Documents(Mutex<Option<(u64, Arc<Written>)>>);

/// By path: `api/v1`, `apis/apps/v1`.
type Written = BTreeMap<String, Document>;

#[derive(Debug)]
struct Document {
    hash: String,
    json: Bytes,
}

impl Documents {
    fn of(&self, registry: &Registry) -> Arc<Written> {
        let generation = registry.generation();
        let mut held = self.0.lock();
        if let Some((of, written)) = &*held
            && *of == generation
        {
            return Arc::clone(written);
        }
        let mut written = Written::new();
        for (group, versions) in registry.groups() {
            for version in versions {
                if let Some(document) = document(registry, group, version) {
                    let json = Bytes::from(document.to_string());
                    written.insert(path(group, version), Document { hash: hash(&json), json });
                }
            }
        }
        let written = Arc::new(written);
        *held = Some((generation, Arc::clone(&written)));
        written
    }

    /// `/openapi/v3`: the URLs of the documents. Each URL has the hash of its content, so clients
    /// may cache it forever.
    pub(crate) fn index(&self, registry: &Registry) -> Response<Body> {
        let written = self.of(registry);
        let address = |(path, document): (&String, &Document)| {
            let url = format!("/openapi/v3/{path}?hash={}", document.hash);
            (path.clone(), json!({ "serverRelativeURL": url }))
        };
        let paths: Map<String, Value> = written.iter().map(address).collect();
        // Upstream sends no JSON content type here.
        let mut response = json_response(StatusCode::OK, json!({ "paths": paths }).to_string());
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        response
    }

    /// `/openapi/v3/apis/GROUP/VERSION`: immutable under its own hash, redirected under another
    /// one. 304 if the ETag matches.
    pub(crate) fn document(
        &self,
        registry: &Registry,
        group: &str,
        version: &str,
        request: &Request<Bytes>,
    ) -> Response<Body> {
        let written = self.of(registry);
        let path = path(group, version);
        let mut response = Response::new(Body::empty());
        let Some(document) = written.get(&path) else {
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        };
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let asked = query.get("hash").filter(|asked| !asked.is_empty());
        let tag = format!("\"{}\"", document.hash);
        let text = |text: &str| HeaderValue::from_str(text).ok();
        let mut headers = vec![(header::ETAG, text(&tag))];
        headers.push((header::VARY, Some(HeaderValue::from_static("Accept"))));
        if asked.is_some_and(|asked| asked != document.hash) {
            *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
            headers.push((
                header::LOCATION,
                text(&format!("/openapi/v3/{path}?hash={}", document.hash)),
            ));
        } else {
            let forever = if asked.is_some() { "public, immutable" } else { "no-cache, private" };
            headers.push((header::CACHE_CONTROL, Some(HeaderValue::from_static(forever))));
            if request
                .headers()
                .get(header::IF_NONE_MATCH)
                .is_some_and(|known| known == tag.as_str())
            {
                *response.status_mut() = StatusCode::NOT_MODIFIED;
            } else {
                headers.push((
                    header::CONTENT_TYPE,
                    Some(HeaderValue::from_static("application/json")),
                ));
                response = response.map(|_| Body::full(document.json.clone()));
            }
        }
        for (name, value) in headers {
            if let Some(value) = value {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// SHA-512 in capital letters, as upstream.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha512::digest(bytes).iter().map(|byte| format!("{byte:02X}")).collect()
}

/// `/openapi/v3/apis/GROUP/VERSION`. `None` if no kind is served there.
fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let (mut paths, mut schemas, mut wanted) = (Map::new(), Map::new(), Vec::new());
    for kind in registry.of_version(group, version) {
        write_paths(kind, &mut paths);
        if kind.scale_paths().is_some() {
            wanted.push(openapi::SCALE);
        }
        match kind.recorded_name() {
            Some(name) => wanted.push(name),
            None => {
                schemas.insert(custom::name(kind), custom::schema(kind));
                wanted.push(custom::METADATA);
            }
        }
    }
    if paths.is_empty() {
        return None;
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if let Some(schema) = openapi::all().get(name).filter(|_| seen.insert(name)) {
            references(schema, &mut wanted);
            schemas.insert(name.to_owned(), schema.clone());
        }
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "v1.36.3" },
        "paths": paths,
        "components": { "schemas": schemas },
    }))
}

/// The media type of requests and responses. The at sign makes it malformed for Go.
const WANTED_2: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const VERSION_2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// `/openapi/v2`: an empty document. kubectl requests it before it creates a `List`, and then
/// leaves the validation to the server. There is no JSON form: its readers need the types.
pub(crate) fn version_2(headers: &HeaderMap) -> Result<Response<Body>, Status> {
    /// `swagger: "2.0"`
    const NOTHING: &[u8] = b"\x0a\x032.0";
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if !accepts
        .flat_map(|value| value.split(','))
        .any(|clause| matches!(clause.trim(), WANTED_2 | VERSION_2))
    {
        return Err(Status::not_implemented("OpenAPI v2 with types; read /openapi/v3"));
    }
    let mut response = Response::new(Body::full(NOTHING));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(VERSION_2));
    Ok(response)
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn references<'a>(schema: &'a Value, into: &mut Vec<&'a str>) {
    into.extend(openapi::reference(schema));
    match schema {
        Value::Object(members) => members.values().for_each(|value| references(value, into)),
        Value::Array(items) => items.iter().for_each(|value| references(value, into)),
        _ => {}
    }
}

/// Group, version and kind, as in operations and schemas.
fn names(kind: &ServedResource) -> Value {
    json!({ "group": kind.group(), "version": kind.version(), "kind": kind.kind() })
}

fn write_paths(kind: &ServedResource, paths: &mut Map<String, Value>) {
    let root = format!("/{}", path(kind.group(), kind.version()));
    let names = names(kind);
    let of = |names: &Value, action: &str, options: &[&str]| {
        let parameter = |name: &&str| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } });
        json!({
            "parameters": options.iter().map(parameter).collect::<Vec<_>>(),
            "responses": { "200": { "description": "OK" } },
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": names,
        })
    };
    let operation = |action: &str, options: &[&str]| of(&names, action, options);
    let list = ["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"];
    let write = ["dryRun", "fieldManager", "fieldValidation"];
    let patch = ["dryRun", "fieldManager", "fieldValidation", "force"];
    let collection = if kind.is_namespaced() {
        paths.insert(
            format!("{root}/{}", kind.plural()),
            json!({ "get": operation("list", &list) }),
        );
        format!("{root}/namespaces/{{namespace}}/{}", kind.plural())
    } else {
        format!("{root}/{}", kind.plural())
    };
    let item = json!({
        "get": operation("get", &[]),
        "put": operation("put", &write),
        "patch": operation("patch", &patch),
        "delete": operation("delete", &["dryRun", "gracePeriodSeconds", "propagationPolicy"]),
    });
    paths.insert(format!("{collection}/{{name}}"), item);
    let scale = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
    let subresources =
        [("status", kind.has_status(), &names), ("scale", kind.scale_paths().is_some(), &scale)];
    for (name, _, names) in subresources.iter().filter(|(_, is_there, _)| *is_there) {
        let subresource = json!({
            "get": of(names, "get", &[]), "put": of(names, "put", &write), "patch": of(names, "patch", &patch),
        });
        paths.insert(format!("{collection}/{{name}}/{name}"), subresource);
    }
    let all = json!({
        "get": operation("list", &list),
        "post": operation("post", &write),
        "delete": operation("deletecollection", &list),
    });
    paths.insert(collection, all);
}
