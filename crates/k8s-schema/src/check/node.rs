//! The keywords that a schema in a definition may have, node by node
//! (`ValidateCustomResourceDefinitionOpenAPISchema` of k8s.io/apiextensions-apiserver).

use serde_json::Value;

use crate::field_path::find_field;
use crate::keywords::{flag, has, list, members, text};
use crate::path::Path;
use k8s_value::go_value::shown;
use k8s_value::{FieldError, FieldErrors};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The place of a node.
#[derive(Debug, Clone, Copy)]
struct Around<'a> {
    is_root: bool,
    /// It is inside of apiVersion, kind or metadata of a resource.
    inside_meta: bool,
    /// Why defaults may not stand here.
    no_defaults: Option<&'a str>,
}

/// Checks a schema and all schemas inside of it.
pub(super) fn check(schema: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    node(schema, path, Around { is_root: true, inside_meta: false, no_defaults: None }, causes);
}

fn node(schema: &Value, path: &Path<'_>, around: Around<'_>, causes: &mut FieldErrors) {
    if causes.is_full() {
        return;
    }
    let field = |name: &str| path.field(name).to_string();
    own_members(schema, path, around, causes);
    if flag(schema, "uniqueItems") {
        let why =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(FieldError::forbidden(field("uniqueItems"), why));
    }
    let inside = Around { is_root: false, ..around };
    if let Some(additional) = schema.get("additionalProperties").filter(|value| !value.is_null()) {
        if has(schema, "properties") && *additional != Value::Bool(true) {
            let why = "additionalProperties and properties are mutual exclusive";
            causes.push(FieldError::forbidden(field("additionalProperties"), why));
        }
        if additional.is_object() {
            let why = "inside additionalProperties applying to object metadata";
            let no_defaults = if around.inside_meta { Some(why) } else { around.no_defaults };
            node(
                additional,
                &path.field("additionalProperties"),
                Around { no_defaults, ..inside },
                causes,
            );
        }
    }
    let properties = path.field("properties");
    for (name, member) in members(schema, "properties") {
        let is_meta = META.contains(&name.as_str())
            && (around.is_root || flag(schema, "x-kubernetes-embedded-resource"));
        let why = format!("in top-level {name}");
        let no_defaults =
            if is_meta && around.is_root { Some(why.as_str()) } else { around.no_defaults };
        let of_member =
            Around { inside_meta: around.inside_meta || is_meta, no_defaults, is_root: false };
        node(member, &properties.key(name), of_member, causes);
    }
    if let Some(nested) = schema.get("not").filter(|nested| nested.is_object()) {
        node(nested, &path.field("not"), inside, causes);
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        let place = path.field(name);
        for (at, nested) in list(schema, name).iter().enumerate() {
            node(nested, &place.index(at), inside, causes);
        }
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        node(items, &path.field("items"), inside, causes);
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let place = field("x-kubernetes-preserve-unknown-fields");
        causes.push(FieldError::invalid_json(
            place,
            &Value::Bool(false),
            "must be true or undefined",
        ));
    }
    topology(schema, path, causes);
    rules(schema, path, causes);
}

fn own_members(schema: &Value, path: &Path<'_>, around: Around<'_>, causes: &mut FieldErrors) {
    let field = |name: &str| path.field(name).to_string();
    let named = text(schema, "type");
    if !named.is_empty() && !TYPES.contains(&named) {
        causes.push(FieldError::unsupported(field("type"), named, &TYPES));
    }
    if let Some(why) =
        around.no_defaults.filter(|_| schema.get("default").is_some_and(|value| !value.is_null()))
    {
        causes.push(FieldError::forbidden(field("default"), &format!("must not be set {why}")));
    }
    for name in
        ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"]
    {
        let set = match name {
            "additionalItems" => schema.get(name).is_some_and(|value| !value.is_null()),
            name => has(schema, name),
        };
        if set {
            causes.push(FieldError::forbidden(field(name), &format!("{name} is not supported")));
        }
    }
    if named == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        causes.push(FieldError::forbidden(field("type"), why));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        causes.push(FieldError::forbidden(
            field("items"),
            "items must be a schema object and not an array",
        ));
    }
    if around.inside_meta && flag(schema, "x-kubernetes-embedded-resource") {
        let place = field("x-kubernetes-embedded-resource");
        causes.push(FieldError::forbidden(place, "must not be used inside of resource meta"));
    }
}

/// List types, map types and the keys of lists.
fn topology(schema: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    let field = |name: &str| path.field(name).to_string();
    let named = text(schema, "type");
    let items = schema.get("items").filter(|items| items.is_object());
    let said =
        |schema: &'_ Value, name: &str| schema.get(name).and_then(Value::as_str).map(str::to_owned);
    let wrong_type = |wanted: &str, by: &str, causes: &mut FieldErrors| {
        let why = format!("must be {wanted} if {by} is specified");
        causes.push(match named {
            "" => FieldError::required(field("type"), &why),
            named => FieldError::invalid(field("type"), named, &why),
        });
    };
    if let Some(map_type) = said(schema, "x-kubernetes-map-type") {
        if named != "object" {
            wrong_type("object", "x-kubernetes-map-type", causes);
        }
        if !matches!(map_type.as_str(), "atomic" | "granular") {
            let place = field("x-kubernetes-map-type");
            causes.push(FieldError::unsupported(place, &map_type, &["atomic", "granular"]));
        }
    }
    let list_type = said(schema, "x-kubernetes-list-type");
    let keys = list(schema, "x-kubernetes-list-map-keys");
    let of_items = path.field("items");
    if list_type.is_some() && named != "array" {
        wrong_type("array", "x-kubernetes-list-type", causes);
    } else if let (Some("set"), Some(items)) = (list_type.as_deref(), items) {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let inner = |name: &str| said(items, name);
        let shows = |name: &str| Value::from(inner(name));
        match text(items, "type") {
            "array" if inner("x-kubernetes-list-type").is_some_and(|inner| inner != "atomic") => {
                let place = of_items.field("x-kubernetes-list-type").to_string();
                causes.push(FieldError::invalid_json(place, &shows("x-kubernetes-list-type"), why));
            }
            "object" if inner("x-kubernetes-map-type").is_none_or(|inner| inner != "atomic") => {
                let place = of_items.field("x-kubernetes-map-type").to_string();
                causes.push(FieldError::invalid_json(place, &shows("x-kubernetes-list-type"), why));
            }
            _ => {}
        }
    }
    if let Some(other) =
        list_type.as_deref().filter(|known| !matches!(*known, "atomic" | "set" | "map"))
    {
        let place = field("x-kubernetes-list-type");
        causes.push(FieldError::unsupported(place, other, &["atomic", "set", "map"]));
    }
    if !keys.is_empty() {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type.as_deref() {
            None => causes.push(FieldError::required(field("x-kubernetes-list-type"), why)),
            Some("map") => {}
            Some(other) => {
                causes.push(FieldError::invalid(field("x-kubernetes-list-type"), other, why))
            }
        }
    }
    if list_type.as_deref() == Some("map") {
        map_keys(schema, items, keys, path, causes);
    }
    if let (Some(list_type @ ("set" | "map")), Some(items)) = (list_type.as_deref(), items) {
        if flag(items, "nullable") {
            let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            causes.push(FieldError::forbidden(of_items.field("nullable").to_string(), &why));
        }
        if list_type == "map" {
            required_keys(items, keys, &of_items, causes);
        }
    }
}

fn map_keys(
    schema: &Value,
    items: Option<&Value>,
    keys: &[Value],
    path: &Path<'_>,
    causes: &mut FieldErrors,
) {
    let field = |name: &str| path.field(name).to_string();
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        causes.push(FieldError::required(field("x-kubernetes-list-map-keys"), why));
    }
    let Some(items) = items else {
        let why = "must have a schema if x-kubernetes-list-type is map";
        causes.push(FieldError::required(field("items"), why));
        return;
    };
    let of_items = path.field("items");
    let named = text(items, "type");
    if named != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        causes.push(FieldError::invalid(of_items.field("type").to_string(), named, why));
        return;
    }
    let all = schema.get("x-kubernetes-list-map-keys").cloned().unwrap_or_default();
    let properties = of_items.field("properties");
    for (at, key) in keys.iter().enumerate() {
        let name = key.as_str().unwrap_or_default();
        match items.get("properties").and_then(|properties| properties.get(name)) {
            Some(member) if matches!(text(member, "type"), "array" | "object") => {
                let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let place = properties.key(name);
                causes.push(FieldError::invalid(place.field("type").to_string(), named, why));
            }
            Some(_) => {}
            None => {
                let why = "entries must all be names of item properties";
                causes.push(FieldError::invalid_json(
                    field("x-kubernetes-list-map-keys"),
                    &all,
                    why,
                ));
            }
        }
        if keys.get(..at).is_some_and(|before| before.contains(key)) {
            let why = "must not contain duplicate entries";
            causes.push(FieldError::invalid_json(field("x-kubernetes-list-map-keys"), &all, why));
        }
    }
}

fn required_keys(items: &Value, keys: &[Value], of_items: &Path<'_>, causes: &mut FieldErrors) {
    let properties = of_items.field("properties");
    for key in keys {
        let name = key.as_str().unwrap_or_default();
        let Some(member) = items.get("properties").and_then(|properties| properties.get(name))
        else {
            continue;
        };
        let place = properties.key(name);
        let has_default = member.get("default").is_some_and(|value| !value.is_null());
        if !list(items, "required").contains(key) && !has_default {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default \
                       or be a required property";
            causes.push(FieldError::required(place.field("default").to_string(), why));
        }
        if flag(member, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            causes.push(FieldError::forbidden(place.field("nullable").to_string(), why));
        }
    }
}

/// Checks how `x-kubernetes-validations` are written. They are not compiled here.
fn rules(schema: &Value, path: &Path<'_>, causes: &mut FieldErrors) {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let all = path.field("x-kubernetes-validations");
    let breaks = |text: &str| text.contains(['\n', '\r']);
    for (at, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        let place = all.index(at);
        let field = |name: &str| place.field(name).to_string();
        let (said, message) = (text(rule, "rule"), text(rule, "message"));
        if said.trim().is_empty() {
            causes.push(FieldError::required(field("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            causes.push(FieldError::invalid(
                field("message"),
                message,
                "must be non-empty if specified",
            ));
        } else if breaks(message.trim()) {
            causes.push(FieldError::invalid(
                field("message"),
                message,
                "must not contain line breaks",
            ));
        } else if breaks(said.trim()) && message.trim().is_empty() {
            let why = "message must be specified if rule contains line breaks";
            causes.push(FieldError::required(field("message"), why));
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let why = "messageExpression must be non-empty if specified";
            causes.push(FieldError::required(field("messageExpression"), why));
        }
        if let Some(reason) = rule.get("reason").and_then(Value::as_str)
            && !REASONS.contains(&reason)
        {
            causes.push(FieldError::unsupported(field("reason"), reason, &REASONS));
        }
        let field_path = text(rule, "fieldPath");
        if !field_path.is_empty() {
            let quoted = shown(&field_path.into());
            let mut wrong = |why: &str| {
                causes.push(FieldError::invalid_shown(field("fieldPath"), &quoted, why))
            };
            if field_path.trim().is_empty() {
                wrong("must be non-empty if specified");
            }
            if breaks(field_path) {
                wrong("must not contain line breaks");
            }
            if find_field(field_path, schema, true).is_err() {
                wrong("must be a valid path");
            }
        }
    }
}
