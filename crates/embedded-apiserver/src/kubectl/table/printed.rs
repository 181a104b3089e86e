//! Additional printer columns of a definition
//! (k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor).

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::strategy::age;
use crate::strategy::crd::{Column, Served};

/// The columns of a kind. By default, its age.
pub(super) fn definitions(definition: &Served) -> Vec<Value> {
    let name = json!({ "name": "Name", "type": "string", "format": "name", "description": "", "priority": 0 });
    let age =
        json!({ "name": "Age", "type": "date", "format": "", "description": "", "priority": 0 });
    let own = definition.columns.iter().map(|column| {
        json!({
            "name": column.name, "type": column.types, "format": column.format,
            "description": column.description, "priority": column.priority,
        })
    });
    let own = own.chain(definition.columns.is_empty().then_some(age));
    std::iter::once(name).chain(own).collect()
}

/// The cells of an object.
pub(super) fn cells(definition: &Served, object: &Value, now: Timestamp) -> Vec<Value> {
    // A bookmark has no name.
    let name = object["metadata"]["name"].as_str().unwrap_or_default().into();
    let age =
        definition.columns.is_empty().then(|| aged(&object["metadata"]["creationTimestamp"], now));
    let own = definition.columns.iter().map(|column| cell(column, object, now));
    std::iter::once(name).chain(own).chain(age).collect()
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let Some(value) = column.path.first(object) else { return Value::Null };
    match (column.types.as_str(), value) {
        ("string", Value::String(text)) => text.as_str().into(),
        ("string", Value::Null) => "<nil>".into(),
        ("string", value) => k8s_value::go_value::shown(value).into(),
        ("integer", Value::Number(number)) =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "as Go's int64(float)")]
            number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)).into()
        }
        ("number", value @ Value::Number(_)) | ("boolean", value @ Value::Bool(_)) => value.clone(),
        ("date", value) => aged(value, now),
        _ => Value::Null,
    }
}

/// The age of a time.
fn aged(time: &Value, now: Timestamp) -> Value {
    match time.as_str() {
        None => Value::Null,
        Some(time) => match time.parse::<Timestamp>() {
            Ok(time) => age::human(now.as_second().saturating_sub(time.as_second())).into(),
            Err(_) => "<invalid>".into(),
        },
    }
}
