//! The published schema of a custom kind: that of its definition, with the members of every object.

use serde_json::{Map, Value, json};

use crate::strategy::resource::ServedResource;

/// The recorded schema of an object's metadata.
pub(super) const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
    convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const STANDARD: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The schema's name: the reversed group, version, kind.
pub(super) fn name(kind: &ServedResource) -> String {
    let group: Vec<&str> = kind.group().rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), kind.version(), kind.kind())
}

/// The published schema of a kind. Without a schema in its definition, any object.
pub(super) fn schema(kind: &ServedResource) -> Value {
    let mut schema = match kind.schema() {
        Some(own) => published(own),
        None => json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
    };
    let open = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    if let Some(members) = schema.as_object_mut() {
        // As upstream, a kind that preserves unknown fields lists no standard members.
        if !open || members.contains_key("properties") {
            let properties =
                members.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            properties["apiVersion"] = json!({ "description": API_VERSION, "type": "string" });
            properties["kind"] = json!({ "description": KIND, "type": "string" });
            let metadata = json!([{ "$ref": format!("#/components/schemas/{METADATA}") }]);
            properties["metadata"] = json!({ "description": STANDARD, "allOf": metadata });
        }
        let names =
            json!({ "group": kind.group(), "version": kind.version(), "kind": kind.kind() });
        members.insert("x-kubernetes-group-version-kind".to_owned(), json!([names]));
    }
    schema
}

/// Converts a structural schema to OpenAPI v3, with int-or-string in OpenAPI's own words.
fn published(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut shown: Map<String, Value> =
                members.iter().map(|(name, value)| (name.clone(), published(value))).collect();
            if shown.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true))
                && !shown.contains_key("anyOf")
            {
                shown.insert(
                    "anyOf".to_owned(),
                    json!([{ "type": "integer" }, { "type": "string" }]),
                );
            }
            Value::Object(shown)
        }
        Value::Array(items) => items.iter().map(published).collect(),
        other => other.clone(),
    }
}
