//! The canonical form of a built-in object, as Go decodes and encodes it, by the recorded Go types.
//! Pure.
//!
//! Wrong types are errors. Unknown members are dropped and reported. Times and quantities are
//! normalized. Members that Go always writes are added.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use base64::Engine as _;
use serde_json::{Map, Number, Value};

use crate::api::recorded::types::{Always, Field, Message, Presence, Simpler, TYPES, Type};
use k8s_value::go_json::{shorten_numbers, stored_float};
use k8s_value::go_value::json_type;
use k8s_value::{quantity, time};

/// The largest number of warnings in one response.
const MOST_UNKNOWN: usize = 64;

/// The input of Go's decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// JSON that was sent, or that a patch has made.
    Json,
    /// A map that an apply or a strategic patch has made. Too large an `int32` is truncated.
    Map,
}

/// Returns the canonical form. Adds the paths of unknown members to `unknown`.
///
/// # Errors
///
/// Names the member with the wrong type.
pub(crate) fn canonical(
    message: usize,
    object: Map<String, Value>,
    source: Source,
    unknown: &mut Vec<String>,
) -> Result<Map<String, Value>, String> {
    Walk { source, path: String::new(), unknown }.members(message, object)
}

/// As `canonical`, for the metadata of a custom object at `path`.
///
/// # Errors
///
/// Names the member with the wrong type.
pub(crate) fn metadata(
    sent: Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<Value, String> {
    let object = match sent {
        Value::Object(object) => object,
        other => return Err(mistyped(path, "object", &other)),
    };
    let of = |kind: usize| match TYPES.message(kind)?.member("metadata")?.of {
        Type::Message(metadata) => Some(metadata),
        _ => None,
    };
    // All kinds share the type.
    let Some(message) = TYPES.kind("v1", "ConfigMap").and_then(of) else {
        return Ok(object.into());
    };
    let mut walk = Walk { source: Source::Json, path: path.to_owned(), unknown };
    walk.members(message, object).map(Value::Object)
}

struct Walk<'a> {
    source: Source,
    /// The path in warnings: `spec.containers[0].name`.
    path: String,
    unknown: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn members(
        &mut self,
        message: usize,
        sent: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let Some(message) = TYPES.message(message) else { return Ok(sent) };
        let mut kept = Map::new();
        for (name, value) in sent {
            let Some(field) = message.member(&name) else {
                if self.unknown.len() < MOST_UNKNOWN {
                    let dot = if self.path.is_empty() { "" } else { "." };
                    self.unknown.push(format!("unknown field \"{}{dot}{name}\"", self.path));
                }
                continue;
            };
            let path = self.path.len();
            if path > 0 {
                self.path.push('.');
            }
            self.path.push_str(&name);
            let value = self.member(message, field, value)?;
            self.path.truncate(path);
            if let Some(value) = value {
                kept.insert(name, value);
            }
        }
        for (name, default) in message.defaults() {
            let zero = kept.get(&**name).is_none_or(|value| value.as_str() == Some(""));
            if zero {
                kept.insert(name.to_string(), default.clone());
            }
        }
        for (name, always) in message.always() {
            if !kept.contains_key(&**name) {
                kept.insert(name.to_string(), unset(*always));
            }
        }
        Ok(kept)
    }

    /// The canonical form of a member. `None` if it is equivalent to an absent one.
    fn member(
        &mut self,
        message: &Message,
        field: &Field,
        value: Value,
    ) -> Result<Option<Value>, String> {
        if value.is_null() {
            return Ok(None);
        }
        let value = match field.presence {
            presence if presence.is_list() => {
                let Value::Array(items) = value else {
                    return Err(self.mistyped("array", &value));
                };
                if items.is_empty() {
                    let is_kept = presence == Presence::NullList && message.is_stored_as_json;
                    return Ok(is_kept.then(|| Value::Array(Vec::new())));
                }
                let path = self.path.len();
                let mut kept = Vec::with_capacity(items.len());
                for (at, item) in items.into_iter().enumerate() {
                    self.path.push_str(&format!("[{at}]"));
                    kept.push(self.item(field, item)?);
                    self.path.truncate(path);
                }
                return Ok(Some(kept.into()));
            }
            presence if presence.is_map() => {
                let Value::Object(members) = value else {
                    return Err(self.mistyped("object", &value));
                };
                if members.is_empty() {
                    return Ok(None);
                }
                let path = self.path.len();
                let mut kept = Map::new();
                for (key, item) in members {
                    self.path.push_str(&format!(".{key}"));
                    let item = self.item(field, item)?;
                    self.path.truncate(path);
                    kept.insert(key, item);
                }
                return Ok(Some(kept.into()));
            }
            _ => self.value(field, value)?,
        };
        let zero = match (&value, field.of) {
            // An explicit zero of Go.
            (Value::Null, Type::Time | Type::MicroTime) => field.presence == Presence::OmitZero,
            (Value::Null, _) => return Ok(None),
            // In Go, structs are never empty; texts and numbers may be.
            (
                _,
                Type::Message(_)
                | Type::IntOrString
                | Type::Quantity
                | Type::Json
                | Type::SchemaOr(..),
            ) => false,
            (Value::String(text), _) => text.is_empty(),
            (Value::Bool(flag), _) => !flag,
            (Value::Number(number), _) => number.as_i64() == Some(0),
            (Value::Array(items), _) => items.is_empty(),
            _ => false,
        };
        let omits = matches!(field.presence, Presence::OmitEmpty | Presence::OmitZero);
        Ok((!(zero && omits)).then_some(value))
    }

    /// An item of a list or a map. Null is the zero value.
    fn item(&mut self, field: &Field, item: Value) -> Result<Value, String> {
        if item.is_null() {
            return Ok(match field.of {
                Type::Message(inner) => self.members(inner, Map::new())?.into(),
                Type::String | Type::Bytes => "".into(),
                Type::Bool => false.into(),
                Type::Int32 | Type::Int64 | Type::IntOrString => 0.into(),
                Type::Quantity => "0".into(),
                _ => Value::Null,
            });
        }
        self.value(field, item)
    }

    fn value(&mut self, field: &Field, value: Value) -> Result<Value, String> {
        match (field.of, value) {
            (Type::Message(inner), Value::Object(members)) => {
                Ok(self.members(inner, members)?.into())
            }
            (Type::String, value @ Value::String(_)) | (Type::Bool, value @ Value::Bool(_)) => {
                Ok(value)
            }
            // Go silently truncates an `int32` from a map.
            (Type::Int32, Value::Number(number))
                if self.source == Source::Map && number.is_i64() =>
            {
                let [a, b, c, d, ..] = number.as_i64().unwrap_or_default().to_le_bytes();
                Ok(i32::from_le_bytes([a, b, c, d]).into())
            }
            (Type::Int32 | Type::Int64, Value::Number(number)) => {
                self.integer(number, field.of).map(Value::Number)
            }
            (Type::IntOrString, Value::Number(number)) => {
                self.integer(number, Type::Int32).map(Value::Number)
            }
            (Type::IntOrString, value @ Value::String(_)) => Ok(value),
            (Type::Bytes, Value::String(text)) => self.base64(&text),
            (Type::Bytes, Value::Array(numbers)) => self.bytes(numbers),
            (Type::Time, Value::String(text)) => self.at(time::seconds(&text)),
            (Type::MicroTime, Value::String(text)) => self.at(time::micros(&text)),
            (Type::Quantity, value) => {
                let text = match value {
                    Value::String(text) => text,
                    Value::Number(number) => number.to_string(),
                    other => return Err(self.mistyped("quantity", &other)),
                };
                // A map of quantities is a ResourceList.
                let one_form = if field.presence.is_map() {
                    quantity::canonical_resource
                } else {
                    quantity::canonical
                };
                self.at(one_form(&text)).map(Value::from)
            }
            (Type::Float64, Value::Number(number)) => {
                let float = number.as_f64().and_then(stored_float);
                Ok(Value::Number(float.unwrap_or(number)))
            }
            (Type::Json, mut value) => {
                shorten_numbers(&mut value);
                Ok(value)
            }
            (Type::SchemaOr(simpler, schema), value) => self.schema_or(simpler, schema, value),
            (Type::Strings, Value::Array(items)) => self.strings(items),
            (of, value) => Err(self.mistyped(of.expected(), &value)),
        }
    }

    /// A type with its own decoder, which reports no unknown fields.
    fn schema_or(
        &mut self,
        simpler: Simpler,
        schema: usize,
        value: Value,
    ) -> Result<Value, String> {
        let known = self.unknown.len();
        let outcome = match (simpler, value) {
            (_, Value::Object(members)) => Value::Object(self.members(schema, members)?),
            (Simpler::Bool, value @ Value::Bool(_)) => value,
            (Simpler::Bool, other) => return Err(self.mistyped("bool or schema", &other)),
            (Simpler::Schemas, Value::Array(items)) if !items.is_empty() => {
                let all = items.into_iter().map(|item| match item {
                    Value::Object(members) => self.members(schema, members).map(Value::Object),
                    Value::Null => Ok(unset(Always::Object(schema))),
                    other => Err(self.mistyped("object", &other)),
                });
                Value::Array(all.collect::<Result<_, _>>()?)
            }
            (Simpler::Strings, Value::Array(items)) if !items.is_empty() => self.strings(items)?,
            _ => Value::Null,
        };
        self.unknown.truncate(known);
        Ok(outcome)
    }

    fn strings(&self, items: Vec<Value>) -> Result<Value, String> {
        let all = items.into_iter().map(|item| match item {
            item @ Value::String(_) => Ok(item),
            other => Err(self.mistyped("string", &other)),
        });
        all.collect::<Result<_, _>>().map(Value::Array)
    }

    /// Bytes as a list of numbers, which Go accepts.
    fn bytes(&self, numbers: Vec<Value>) -> Result<Value, String> {
        let byte = |number| match number {
            Value::Null => Ok(0),
            Value::Number(number) => number
                .as_u64()
                .and_then(|number| u8::try_from(number).ok())
                .ok_or_else(|| self.misfit(&number, "uint8")),
            other => Err(self.mistyped("uint8", &other)),
        };
        let bytes: Vec<u8> = numbers.into_iter().map(byte).collect::<Result<_, _>>()?;
        Ok(base64::engine::general_purpose::STANDARD.encode(bytes).into())
    }

    fn integer(&self, number: Number, of: Type) -> Result<Number, String> {
        match number.as_i64() {
            Some(whole) if of == Type::Int64 || i32::try_from(whole).is_ok() => Ok(number),
            _ => Err(self.misfit(&number, of.expected())),
        }
    }

    /// Base64 without line breaks, which Go ignores.
    fn base64(&self, text: &str) -> Result<Value, String> {
        let plain: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        self.at(base64::engine::general_purpose::STANDARD.decode(&plain))?;
        Ok(plain.into())
    }

    /// Adds the path to an error.
    fn at<T, E: Display>(&self, outcome: Result<T, E>) -> Result<T, String> {
        outcome.map_err(|why| format!("{}: {why}", self.path))
    }

    fn mistyped(&self, expected: &str, value: &Value) -> String {
        mistyped(&self.path, expected, value)
    }

    fn misfit(&self, number: &Number, expected: &str) -> String {
        format!("{}: {number} is no {expected}", self.path)
    }
}

/// The error of a member with the wrong type.
fn mistyped(path: &str, expected: &str, value: &Value) -> String {
    format!("{path}: expected {expected}, got {}", json_type(value))
}

/// The value that Go writes for an unset member.
fn unset(always: Always) -> Value {
    match always {
        Always::Null => Value::Null,
        Always::Text => "".into(),
        Always::False => false.into(),
        Always::Zero => 0.into(),
        Always::ZeroQuantity => "0".into(),
        Always::Object(message) => {
            let always = TYPES.message(message).map(Message::always).unwrap_or_default();
            let members = always.iter().map(|(name, always)| (name.to_string(), unset(*always)));
            members.collect::<Map<_, _>>().into()
        }
    }
}
