//! `x-kubernetes-embedded-resource`: objects in objects. Their apiVersion, kind and metadata are
//! validated like those of any object (pkg/apiserver/schema/objectmeta of
//! k8s.io/apiextensions-apiserver).

use serde_json::{Map, Value};

use crate::api::metadata;
use crate::api::status::{FieldError, FieldErrors};
use crate::strategy::shape::metadata as canonical_metadata;
use k8s_schema::{Path, Schema};
use k8s_value::names;

/// Brings the metadata of embedded objects to the canonical form. Returns unknown fields.
///
/// # Errors
///
/// A member of the metadata has the wrong type.
pub(crate) fn coerce(
    members: &mut Map<String, Value>,
    schema: &Schema,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    coerce_members(members, schema, false, &Path::Root, unknown)
}

fn coerce_members(
    members: &mut Map<String, Value>,
    schema: &Schema,
    embedded: bool,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    for (name, value) in members.iter_mut() {
        if embedded {
            match name.as_str() {
                "apiVersion" | "kind" if !value.is_string() => {
                    let path = path.field(name);
                    return Err(format!(
                        "{path}: Invalid value: {}: must be a string",
                        k8s_value::go_value::shown(value)
                    ));
                }
                "metadata" => {
                    let path = path.field("metadata").to_string();
                    *value = canonical_metadata(value.clone(), &path, unknown)
                        .map_err(|why| format!("{path}: Invalid value: {value}: {why}"))?;
                }
                _ => {}
            }
        }
        match schema.properties.get(name) {
            Some(member) => coerce_value(value, member, &path.field(name), unknown)?,
            None => {
                if let Some(member) = schema.additional.schema() {
                    coerce_value(value, member, &path.key(name), unknown)?;
                }
            }
        }
    }
    Ok(())
}

fn coerce_value(
    value: &mut Value,
    schema: &Schema,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    match value {
        Value::Object(members) => coerce_members(members, schema, schema.embedded, path, unknown),
        Value::Array(items) => {
            let Some(of_items) = &schema.items else { return Ok(()) };
            for (at, item) in items.iter_mut().enumerate() {
                coerce_value(item, of_items, &path.index(at), unknown)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Validates embedded objects.
pub(crate) fn check_embedded(
    schema: &Schema,
    object: &Map<String, Value>,
    causes: &mut FieldErrors,
) {
    check_members(schema, object, false, &Path::Root, causes);
}

fn check_members(
    schema: &Schema,
    object: &Map<String, Value>,
    embedded: bool,
    path: &Path<'_>,
    causes: &mut FieldErrors,
) {
    if embedded {
        check_object(object, path, causes);
    }
    for (name, value) in object {
        match schema.properties.get(name) {
            Some(member) => check_value(member, value, &path.field(name), causes),
            None => {
                if let Some(member) = schema.additional.schema() {
                    check_value(member, value, &path.key(name), causes);
                }
            }
        }
    }
}

fn check_value(schema: &Schema, value: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    match value {
        Value::Object(members) => check_members(schema, members, schema.embedded, path, causes),
        Value::Array(items) => {
            if let Some(of_items) = &schema.items {
                for (at, item) in items.iter().enumerate() {
                    check_value(of_items, item, &path.index(at), causes);
                }
            }
        }
        _ => {}
    }
}

fn check_object(object: &Map<String, Value>, path: &Path<'_>, causes: &mut FieldErrors) {
    for name in ["apiVersion", "kind"] {
        let field = path.field(name).to_string();
        match object.get(name) {
            None => causes.push(FieldError::required(field, "")),
            Some(Value::String(text)) if text.is_empty() => {
                causes.push(FieldError::invalid(field, text, "must not be empty"));
            }
            Some(Value::String(text)) if name == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    let why = format!("unexpected GroupVersion string: {text}");
                    causes.push(FieldError::invalid(field, text, &why));
                }
            }
            Some(Value::String(text)) => {
                if let Some(why) = names::wrong_dns_1035_label(&text.to_lowercase()) {
                    let why = format!("may have mixed case, but should otherwise match: {why}");
                    causes.push(FieldError::invalid(field, text, &why));
                }
            }
            Some(other) => causes.push(FieldError::invalid_json(field, other, "must be a string")),
        }
    }
    let Some(Value::Object(embedded)) = object.get("metadata") else { return };
    let place = path.field("metadata");
    if let Some(name) = embedded.get("name").and_then(Value::as_str)
        && let Some(why) = names::wrong_path_segment(name)
    {
        causes.push(FieldError::invalid(place.field("name").to_string(), name, why));
    }
    // The rules for labels, annotations and owners are those of any object, at another path.
    let mut found = FieldErrors::default();
    let alone: Map<String, Value> =
        std::iter::once(("metadata".to_owned(), Value::Object(embedded.clone()))).collect();
    metadata::check(&alone, &mut found);
    causes.append_below(&path.to_string(), found);
}
