//! Keywords of a schema, as Go reads them: a missing one is empty.

use serde_json::Value;

pub(crate) fn text<'a>(schema: &'a Value, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(crate) fn list<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn members<'a>(
    schema: &'a Value,
    name: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    schema.get(name).and_then(Value::as_object).into_iter().flatten()
}

/// Whether the keyword has an effect: empty lists, texts and objects, `false` and null have none.
pub(crate) fn has(schema: &Value, name: &str) -> bool {
    match schema.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(_) => true,
    }
}

/// Returns the schemas directly inside of an `openAPIV3Schema`: those of properties, of items, and
/// of each alternative.
pub fn subschemas(schema: &Value) -> impl Iterator<Item = &Value> {
    let single = ["items", "not", "additionalProperties"];
    let single = single.into_iter().filter_map(|name| schema.get(name));
    let several = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| list(schema, name));
    let properties = members(schema, "properties").map(|(_, member)| member);
    single.filter(|inner| inner.is_object()).chain(several).chain(properties)
}
