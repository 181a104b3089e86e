//! Values as errors show them: structs of upstream's internal Go types, which have no names for
//! JSON and leave nothing out.

use serde_json::Value;

use crate::strategy::builtin::members::{items, part};
use k8s_value::go_json::go_json;

/// A member of a struct: its name in Go, its name in JSON, and its type.
pub(super) type Field = (&'static str, &'static str, Shape);

/// The type of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// A text, empty if it is absent.
    Text,
    /// A number, zero if it is absent.
    Number,
    /// Null if it is absent, and else as it is in JSON.
    Plain,
    /// Null, whatever is there.
    Null,
    Struct(&'static [Field]),
    /// A struct, null if it is absent.
    Pointer(&'static [Field]),
    /// A list of structs, null if it is absent.
    List(&'static [Field]),
}

/// Formats a struct.
pub(super) fn shown(value: &Value, fields: &[Field]) -> String {
    let members = fields.iter().map(|(name, member, shape)| {
        let value = part(value, member);
        let shown = match shape {
            Shape::Text => go_json(value.unwrap_or(&"".into())),
            Shape::Number => go_json(value.unwrap_or(&0.into())),
            Shape::Plain => go_json(value.unwrap_or(&Value::Null)),
            Shape::Null => "null".to_owned(),
            Shape::Struct(fields) => shown(value.unwrap_or(&Value::Null), fields),
            Shape::Pointer(fields) => {
                value.map_or_else(|| "null".to_owned(), |value| shown(value, fields))
            }
            Shape::List(fields) => value.map_or_else(
                || "null".to_owned(),
                |_| {
                    let items = items(value, "").map(|(_, item)| shown(item, fields));
                    format!("[{}]", items.collect::<Vec<_>>().join(","))
                },
            ),
        };
        format!("{name:?}:{shown}")
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}
