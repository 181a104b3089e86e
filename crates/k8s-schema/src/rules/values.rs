//! Values as expressions see them: by what their schema says of them
//! (k8s.io/apiserver/pkg/cel/common, `UnstructuredToVal`).

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value as Json};

use crate::schema::{ListType, Schema};
use crate::types::Type;
use k8s_cel::{self as cel, Key, List, Object, Order, Value};

/// A value of a schema; `is_root`: it is a whole object, which has a kind and metadata whatever its
/// schema says.
pub(super) fn of(schema: &Schema, value: &Json, is_root: bool) -> Value {
    let broken = |why: &str| Value::Broken(why.into());
    match (schema.types, value) {
        (_, Json::Null) if schema.nullable => Value::Null,
        (_, Json::Null) => broken("invalid data, got null for schema with nullable=false"),
        (Type::Object, Json::Object(members)) => object(schema, members, is_root),
        (Type::Array, Json::Array(items)) => {
            let Some(of_items) = &schema.items else {
                return broken("invalid array type, expected Items");
            };
            let items = items.iter().map(|item| of(of_items, item, of_items.embedded)).collect();
            let order = match schema.list_type {
                ListType::Atomic => Order::Counts,
                ListType::Set => Order::Set,
                ListType::Map => {
                    let keys = schema
                        .list_keys
                        .iter()
                        .map(|key| cel::escaped(key).unwrap_or_else(|| key.clone()));
                    Order::Keyed(keys.collect())
                }
            };
            Value::List(List { items: Arc::new(items), order })
        }
        (Type::String, Json::String(said)) => text(schema, said),
        (Type::IntOrString, Json::String(said)) => Value::text(said.as_str()),
        (Type::Integer | Type::IntOrString, Json::Number(number)) => match whole(number) {
            Some(number) => Value::Int(number),
            None => broken("invalid data, expected int, got float64"),
        },
        (Type::Number, Json::Number(number)) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        (Type::Boolean, Json::Bool(said)) => Value::Bool(*said),
        (Type::Any, other) => {
            // Nobody can name it, but what it is in can be compared.
            let rest = [(String::new(), other.clone())].into();
            Value::Object(Arc::new(Object { rest, ..Object::default() }))
        }
        (wanted, _) => Value::Broken(format!("invalid data, expected {}", wanted.name()).into()),
    }
}

fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        (float.fract() == 0.0 && float.abs() < 9e18).then_some(float as i64)
    })
}

fn object(schema: &Schema, members: &Map<String, Json>, is_root: bool) -> Value {
    if schema.properties.is_empty()
        && !is_root
        && let Some(values) = schema.additional.schema()
    {
        let entry = |(name, value): (&String, &Json)| {
            (Key::Text(name.as_str().into()), of(values, value, values.embedded))
        };
        return Value::Map(Arc::new(members.iter().map(entry).collect()));
    }
    let mut object = Object::default();
    for (name, value) in members {
        let known = match (name.as_str(), value) {
            ("apiVersion" | "kind", Json::String(said)) if is_root => {
                Some(Value::text(said.as_str()))
            }
            ("metadata", Json::Object(metadata)) if is_root => Some(names_of(metadata)),
            // A null that the schema allows counts as a missing member.
            (name, value) => schema
                .properties
                .get(name)
                .filter(|_| !value.is_null())
                .map(|schema| of(schema, value, schema.embedded)),
        };
        match (known, cel::escaped(name)) {
            (Some(known), Some(name)) => {
                object.members.insert(name, known);
            }
            _ => {
                object.rest.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(Arc::new(object))
}

/// Of its metadata an object shows its name, and what it is generated from.
fn names_of(metadata: &Map<String, Json>) -> Value {
    let mut object = Object::default();
    for (name, value) in metadata {
        match (name.as_str(), value) {
            ("name" | "generateName", Json::String(said)) => {
                object.members.insert(name.clone(), Value::text(said.as_str()));
            }
            _ => {
                object.rest.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(Arc::new(object))
}

fn text(schema: &Schema, said: &str) -> Value {
    let wrong = |what: &str| Value::Broken(format!("Invalid {what} {said}").into());
    match schema.format.map_or("", |format| format.name()) {
        "duration" => cel::duration(said).map_or_else(|| wrong("duration"), Value::Duration),
        "date" => {
            let time: Option<Timestamp> = format!("{said}T00:00:00Z").parse().ok();
            time.map_or_else(|| wrong("date formatted string"), Value::Timestamp)
        }
        "date-time" => {
            let time: Option<Timestamp> = said.parse().ok();
            time.map_or_else(|| wrong("date-time formatted string"), Value::Timestamp)
        }
        "byte" => match BASE64_STANDARD.decode(said) {
            Ok(bytes) => Value::Bytes(bytes.into()),
            Err(_) => wrong("byte formatted string"),
        },
        _ => Value::text(said),
    }
}
