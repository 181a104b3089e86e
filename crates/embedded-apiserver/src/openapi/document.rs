//! OpenAPI v3 documents: for built-in kinds the recorded schemas, for custom kinds "any object"; the paths are written
//! from what is served now. Enough for kubectl, which looks for types, for merge keys, and for whether the server
//! checks fields itself.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use http::{HeaderMap, HeaderValue, Response, header};
use serde_json::{Map, Value, json};

use crate::body::Body;
use crate::kind::Kind;
use crate::openapi::schema;
use crate::registry::Registry;
use crate::status::Status;

/// `/openapi/v3`: where the document of each group and version is. The address changes with the content, which clients
/// may keep for ever.
pub(crate) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, versions) in registry.groups() {
        for version in versions {
            let Some(document) = document(registry, group, version) else { continue };
            let mut hasher = DefaultHasher::new();
            document.to_string().hash(&mut hasher);
            let path = path(group, version);
            let url = format!("/openapi/v3/{path}?hash={:016X}", hasher.finish());
            paths.insert(path, json!({ "serverRelativeURL": url }));
        }
    }
    json!({ "paths": paths })
}

/// `/openapi/v3/apis/GROUP/VERSION`; nothing if no kind is served there.
pub(crate) fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let (mut paths, mut schemas, mut wanted) = (Map::new(), Map::new(), Vec::new());
    for kind in registry.of_version(group, version) {
        write_paths(kind, &mut paths);
        match schema::name_of(kind) {
            Some(name) => wanted.push(name),
            None => {
                schemas.insert(custom_name(kind), any_object(kind));
            }
        }
    }
    if paths.is_empty() {
        return None;
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if let Some(schema) = schema::all().get(name).filter(|_| seen.insert(name)) {
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

/// What is asked for, and what is answered: with an at sign it is no media type that Go can read.
const WANTED_2: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const VERSION_2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// `/openapi/v2`: a document that describes nothing, for kubectl, which asks for it before it creates a `List` and then
/// leaves the checking of the items to the server. In JSON it is not served: whoever reads that wants the types.
pub(crate) fn version_2(headers: &HeaderMap) -> Result<Response<Body>, Status> {
    /// `swagger: "2.0"`
    const NOTHING: &[u8] = b"\x0a\x032.0";
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if !accepts.flat_map(|value| value.split(',')).any(|clause| matches!(clause.trim(), WANTED_2 | VERSION_2))
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
    into.extend(schema::reference(schema));
    match schema {
        Value::Object(members) => members.values().for_each(|value| references(value, into)),
        Value::Array(items) => items.iter().for_each(|value| references(value, into)),
        _ => {}
    }
}

/// Group, version and kind, as operations and schemas say them.
fn names(kind: &Kind) -> Value {
    json!({ "group": kind.group(), "version": kind.version(), "kind": kind.kind() })
}

/// As the real server: the group's parts in reverse.
fn custom_name(kind: &Kind) -> String {
    let group: Vec<&str> = kind.group().rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), kind.version(), kind.kind())
}

fn any_object(kind: &Kind) -> Value {
    json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-group-version-kind": [names(kind)],
    })
}

fn write_paths(kind: &Kind, paths: &mut Map<String, Value>) {
    let root = format!("/{}", path(kind.group(), kind.version()));
    let names = names(kind);
    let operation = |action: &str, options: &[&str]| {
        let parameter = |name: &&str| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } });
        json!({
            "parameters": options.iter().map(parameter).collect::<Vec<_>>(),
            "responses": { "200": { "description": "OK" } },
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": names,
        })
    };
    let list = ["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"];
    let write = ["dryRun", "fieldManager", "fieldValidation"];
    let collection = if kind.is_namespaced() {
        paths.insert(format!("{root}/{}", kind.plural()), json!({ "get": operation("list", &list) }));
        format!("{root}/namespaces/{{namespace}}/{}", kind.plural())
    } else {
        format!("{root}/{}", kind.plural())
    };
    let item = json!({
        "get": operation("get", &[]),
        "put": operation("put", &write),
        "patch": operation("patch", &["dryRun", "fieldManager", "fieldValidation", "force"]),
        "delete": operation("delete", &["dryRun", "gracePeriodSeconds", "propagationPolicy"]),
    });
    paths.insert(format!("{collection}/{{name}}"), item);
    let all = json!({
        "get": operation("list", &list),
        "post": operation("post", &write),
        "delete": operation("deletecollection", &list),
    });
    paths.insert(collection, all);
}
