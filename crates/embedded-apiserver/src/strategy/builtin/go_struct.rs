//! Upstream's internal Go types as JSON: in the values of errors, and in annotations. Most have no
//! names for JSON and leave nothing out.

use k8s_value::go_json::go_json;
use serde_json::{Map, Value, json};

use crate::strategy::builtin::members::items;

/// A member of a struct: its name in Go, its path in the JSON of a version, and its type.
pub(super) type Field = (&'static str, &'static str, Shape);

/// The type of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// A text, empty if it is absent.
    Text,
    /// A number, zero if it is absent.
    Number,
    /// A quantity, zero if it is absent.
    Quantity,
    /// Null if it is absent, and else as it is in JSON.
    Plain,
    /// Null, whatever is there.
    Null,
    /// Left out if it is absent, and else as it is in JSON.
    OmitEmpty,
    Struct(&'static [Field]),
    /// A struct, null if it is absent.
    Pointer(&'static [Field]),
    /// A struct, left out if it is absent.
    OmitEmptyStruct(&'static [Field]),
    /// A list of structs, null if it is absent.
    List(&'static [Field]),
    /// A list of structs, left out if it is absent.
    OmitEmptyList(&'static [Field]),
}

/// Formats a struct.
pub(super) fn shown(value: &Value, fields: &[Field]) -> String {
    let members = fields.iter().filter_map(|(name, path, shape)| {
        let shown = shown_member(at(value, path), *shape)?;
        Some(format!("{name:?}:{shown}"))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// Formats a list of structs.
pub(super) fn shown_list(items: &[Value], fields: &[Field]) -> String {
    let items = items.iter().map(|item| shown(item, fields));
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// Formats a member. `None`: it is left out.
fn shown_member(value: Option<&Value>, shape: Shape) -> Option<String> {
    let Some(value) = value else {
        let absent = match shape {
            Shape::Text => "\"\"".to_owned(),
            Shape::Number => "0".to_owned(),
            Shape::Quantity => "\"0\"".to_owned(),
            Shape::Struct(fields) => shown(&Value::Null, fields),
            Shape::Plain | Shape::Null | Shape::Pointer(_) | Shape::List(_) => "null".to_owned(),
            Shape::OmitEmpty | Shape::OmitEmptyStruct(_) | Shape::OmitEmptyList(_) => return None,
        };
        return Some(absent);
    };
    Some(match shape {
        Shape::Text | Shape::Number | Shape::Quantity | Shape::Plain | Shape::OmitEmpty => {
            go_json(value)
        }
        Shape::Null => "null".to_owned(),
        Shape::Struct(fields) | Shape::Pointer(fields) | Shape::OmitEmptyStruct(fields) => {
            shown(value, fields)
        }
        Shape::List(fields) | Shape::OmitEmptyList(fields) => {
            let items: Vec<_> = items(Some(value), "").map(|(_, item)| item.clone()).collect();
            shown_list(&items, fields)
        }
    })
}

/// Reads a struct that was formatted. As in Go, the case of names does not count, and unknown
/// members are ignored. A value of a wrong type stays as it is.
pub(super) fn read(value: &Value, fields: &[Field]) -> Value {
    let Value::Object(sent) = value else { return value.clone() };
    let mut object = json!({});
    for (name, path, shape) in fields {
        let found = sent.get(*name).or_else(|| {
            sent.iter().find_map(|(sent, value)| sent.eq_ignore_ascii_case(name).then_some(value))
        });
        let Some(value) = found.filter(|value| !value.is_null()) else { continue };
        let read = match (shape, value) {
            (
                Shape::Struct(fields) | Shape::Pointer(fields) | Shape::OmitEmptyStruct(fields),
                value,
            ) => read(value, fields),
            (Shape::List(fields) | Shape::OmitEmptyList(fields), Value::Array(items)) => {
                items.iter().map(|item| read(item, fields)).collect()
            }
            (_, value) => value.clone(),
        };
        put(&mut object, path, read);
    }
    object
}

/// The value at a path; `None` for null.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let found = path.split('.').try_fold(value, |value, part| value.get(part));
    found.filter(|value| !value.is_null())
}

/// Sets the value at a path.
fn put(object: &mut Value, path: &str, value: Value) {
    let Value::Object(members) = object else { return };
    match path.split_once('.') {
        None => drop(members.insert(path.to_owned(), value)),
        Some((first, rest)) => {
            let inner = members.entry(first).or_insert_with(|| Map::new().into());
            put(inner, rest, value);
        }
    }
}
