//! Whether a schema is structural: every place of an object has its type said once, and conditions
//! on it add nothing (pkg/apiserver/schema/validation.go and complete.go of
//! k8s.io/apiextensions-apiserver).

use serde_json::{Map, Value};

use crate::keywords::{flag, has, list, members, subschemas, text};
use crate::path::Path;
use k8s_cel::Pattern;
use k8s_value::{FieldError, FieldErrors};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Returns why a schema is not structural, in the order of the texts.
pub(super) fn check(schema: &Value, path: &Path<'_>) -> FieldErrors {
    let mut causes = FieldErrors::default();
    invariants(schema, Level::Root, path, &mut causes);
    complete(schema, Some(schema), path, path, &mut causes);
    causes.sorted()
}

/// Returns why a schema cannot be read as a structural one; nothing else is checked then.
pub(super) fn unsupported(schema: &Value) -> Option<String> {
    let set = |name: &str| match schema.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(members)) => !members.is_empty() || name == "additionalItems",
        Some(_) => true,
    };
    for (member, name) in [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
        ("additionalItems", "additionalItems"),
        ("definitions", "definitions"),
    ] {
        if set(member) {
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    if schema.get("items").is_some_and(Value::is_array) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let why =
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
        return Some(why.to_owned());
    }
    subschemas(schema).find_map(unsupported)
}

fn invariants(schema: &Value, level: Level, path: &Path<'_>, causes: &mut FieldErrors) {
    if causes.is_full() {
        return;
    }
    let field = |name: &str| path.field(name).to_string();
    let named = text(schema, "type");
    let items = schema.get("items").filter(|items| items.is_object());
    if named == "array" && items.is_none() {
        causes.push(FieldError::required(field("items"), "must be specified"));
    }
    if let Some(items) = items {
        invariants(items, Level::Item, &path.field("items"), causes);
    }
    let properties = path.field("properties");
    for (name, member) in members(schema, "properties") {
        invariants(member, Level::Field, &properties.key(name), causes);
    }
    let additional = schema.get("additionalProperties").filter(|value| !value.is_null());
    if let Some(additional) = additional {
        if level == Level::Root {
            causes.push(FieldError::forbidden(
                field("additionalProperties"),
                "must not be used at the root",
            ));
        }
        if additional.is_object() {
            invariants(additional, Level::Field, &path.field("additionalProperties"), causes);
        }
    }
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    for (set, name) in [
        (preserve, "x-kubernetes-preserve-unknown-fields"),
        (embedded, "x-kubernetes-embedded-resource"),
    ] {
        if int_or_string && set {
            let why = "must be false if x-kubernetes-int-or-string is true";
            causes.push(FieldError::invalid_json(field(name), &Value::Bool(true), why));
        }
    }
    let skip_any_of = is_int_or_string(list(schema, "anyOf"));
    let skip_first_all_of =
        list(schema, "allOf").first().is_some_and(|first| is_int_or_string(list(first, "anyOf")));
    conditions(schema, skip_any_of, skip_first_all_of, path, causes);
    let why = "must be object if x-kubernetes-embedded-resource is true";
    if embedded && named.is_empty() {
        causes.push(FieldError::required(field("type"), why));
    } else if embedded && named != "object" {
        causes.push(FieldError::invalid(field("type"), named, why));
    } else if named.is_empty() && !int_or_string && !preserve {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        causes.push(FieldError::required(field("type"), why));
    }
    if embedded && additional.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        causes.push(FieldError::forbidden(field("additionalProperties"), why));
    }
    if level == Level::Root && !named.is_empty() && named != "object" {
        causes.push(FieldError::invalid(field("type"), named, "must be object at the root"));
    }
    let resource = level == Level::Root || embedded;
    for name in ["kind", "apiVersion"] {
        let member = schema.get("properties").and_then(|properties| properties.get(name));
        if let Some(member) = member.filter(|member| resource && text(member, "type") != "string") {
            let place = properties.key(name);
            let place = place.field("type").to_string();
            causes.push(FieldError::invalid(place, text(member, "type"), "must be string"));
        }
    }
    if let Some(metadata) =
        schema.get("properties").and_then(|properties| properties.get("metadata"))
    {
        let place = properties.key("metadata");
        if resource && text(metadata, "type") != "object" {
            let named = text(metadata, "type");
            causes.push(FieldError::invalid(
                place.field("type").to_string(),
                named,
                "must be object",
            ));
        }
        if level == Level::Root && says_more_than_names(metadata) {
            let why = "must not specify anything other than name and generateName, but metadata \
                       is implicitly specified";
            causes.push(FieldError::forbidden(place.to_string(), why));
        }
    }
    if embedded && !preserve && !has(schema, "properties") {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        causes.push(FieldError::required(field("properties"), why));
    }
}

fn says_more_than_names(metadata: &Value) -> bool {
    let mut names = members(metadata, "properties").map(|(name, _)| name.as_str());
    let only_names = names.all(|name| matches!(name, "name" | "generateName"));
    let others = metadata.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let mut others = others.filter(|name| !matches!(*name, "type" | "properties" | "default"));
    !only_names || others.any(|name| has(metadata, name))
}

/// `[{type: integer}, {type: string}]`, and nothing more.
fn is_int_or_string(any_of: &[Value]) -> bool {
    let only = |schema: &Value, named: &str| {
        schema.as_object().is_some_and(|members| {
            members.iter().all(|(name, _)| name == "type" || !has(schema, name))
                && text(schema, "type") == named
        })
    };
    match any_of {
        [first, second] => only(first, "integer") && only(second, "string"),
        _ => false,
    }
}

fn conditions(
    schema: &Value,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &Path<'_>,
    causes: &mut FieldErrors,
) {
    let place = path.field("anyOf");
    if !skip_any_of {
        for (at, nested) in list(schema, "anyOf").iter().enumerate() {
            condition(nested, false, &place.index(at), causes);
        }
    }
    let place = path.field("allOf");
    for (at, nested) in list(schema, "allOf").iter().enumerate() {
        condition(nested, skip_first_all_of && at == 0, &place.index(at), causes);
    }
    let place = path.field("oneOf");
    for (at, nested) in list(schema, "oneOf").iter().enumerate() {
        condition(nested, false, &place.index(at), causes);
    }
    if let Some(nested) = schema.get("not").filter(|nested| nested.is_object()) {
        condition(nested, false, &path.field("not"), causes);
    }
    let pattern = text(schema, "pattern");
    if let Some(why) = Pattern::problem(pattern) {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        causes.push(FieldError::invalid(path.field("pattern").to_string(), pattern, &why));
    }
}

/// Checks a schema inside of `allOf`, `anyOf`, `oneOf` or `not`, where few keywords are allowed.
fn condition(nested: &Value, skip_any_of: bool, path: &Path<'_>, causes: &mut FieldErrors) {
    if causes.is_full() {
        return;
    }
    conditions(nested, skip_any_of, false, path, causes);
    if let Some(items) = nested.get("items").filter(|items| items.is_object()) {
        condition(items, false, &path.field("items"), causes);
    }
    let properties = path.field("properties");
    for (name, member) in members(nested, "properties") {
        condition(member, false, &properties.key(name), causes);
    }
    let additional = match nested.get("additionalProperties") {
        Some(Value::Bool(allows)) => *allows,
        Some(Value::Null) | None => false,
        Some(_) => true,
    };
    if additional {
        let place = path.field("additionalProperties").to_string();
        causes.push(FieldError::forbidden(place, "must be undefined to be structural"));
    }
    for (name, why) in [
        ("type", "must be empty to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
        ("x-kubernetes-embedded-resource", "must be false to be structural"),
        ("x-kubernetes-int-or-string", "must be false to be structural"),
        ("x-kubernetes-list-map-keys", "must be empty to be structural"),
        ("x-kubernetes-list-type", "must be undefined to be structural"),
        ("x-kubernetes-map-type", "must be undefined to be structural"),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ] {
        let set = match name {
            "default" => nested.get(name).is_some_and(|value| !value.is_null()),
            name => has(nested, name),
        };
        if set {
            causes.push(FieldError::forbidden(path.field(name).to_string(), why));
        }
    }
    let metadata = nested
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|all: &Map<_, _>| all.contains_key("metadata"));
    if metadata {
        let place = properties.key("metadata").to_string();
        causes.push(FieldError::forbidden(place, "must not be specified in a nested context"));
    }
}

/// Checks that each place of `allOf`, `anyOf`, `oneOf` and `not` is in the schema itself.
fn complete(
    value: &Value,
    schema: Option<&Value>,
    at: &Path<'_>,
    from: &Path<'_>,
    causes: &mut FieldErrors,
) {
    if causes.is_full() {
        return;
    }
    if let Some(nested) = value.get("not").filter(|nested| nested.is_object()) {
        complete_nested(nested, schema, at, &from.field("not"), causes);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let place = from.field(name);
        for (index, nested) in list(value, name).iter().enumerate() {
            complete_nested(nested, schema, at, &place.index(index), causes);
        }
    }
}

fn complete_nested(
    nested: &Value,
    schema: Option<&Value>,
    at: &Path<'_>,
    from: &Path<'_>,
    causes: &mut FieldErrors,
) {
    let Some(schema) = schema else {
        let why = format!("because it is defined in {from}");
        causes.push(FieldError::required(at.to_string(), &why));
        return;
    };
    complete(nested, Some(schema), at, from, causes);
    if let Some(items) = nested.get("items").filter(|items| items.is_object()) {
        let known = schema.get("items").filter(|items| items.is_object());
        complete_nested(items, known, &at.field("items"), &from.field("items"), causes);
    }
    let (at, from) = (at.field("properties"), from.field("properties"));
    for (name, member) in members(nested, "properties") {
        let known = schema.get("properties").and_then(|properties| properties.get(name));
        complete_nested(member, known, &at.key(name), &from.key(name), causes);
    }
}
