//! Members of a definition and of its objects. As in Go, a missing one is empty.

use serde_json::Value;

use crate::api::metadata::Object;

pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(object: &Value, name: &str) -> bool {
    object.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The schema of a version.
pub(super) fn schema_of(version: &Value) -> Option<&Value> {
    version.get("schema")?.get("openAPIV3Schema").filter(|schema| schema.is_object())
}

/// Whether a condition is true.
pub(crate) fn is_true(object: &Object, condition: &str) -> bool {
    let conditions = object.get("status").map_or(&[][..], |status| list(status, "conditions"));
    conditions.iter().any(|c| text(c, "type") == condition && text(c, "status") == "True")
}

/// Takes the metadata out, which the schema does not describe.
pub(super) fn without_metadata<T>(object: &mut Object, work: impl FnOnce(&mut Object) -> T) -> T {
    let metadata = object.remove("metadata");
    let outcome = work(object);
    if let Some(metadata) = metadata {
        object.insert("metadata".to_owned(), metadata);
    }
    outcome
}
