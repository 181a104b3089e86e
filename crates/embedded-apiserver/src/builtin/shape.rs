//! The one form of an object of a built-in kind: what Go's decoder and encoder make of it, by the
//! recorded Go types. Wrong types are refused in Go's words. Unknown members are dropped and named.
//! Times and quantities get their one notation. Members that Go always writes are set.

mod bytes;
mod go_type;
#[cfg(test)]
mod tests;

use serde_json::{Map, Number, Value};

use crate::builtin::shape::go_type::{go_type, message_type, unset, whole_type};
use crate::json_syntax;
use crate::recorded::types::{Always, Field, Message, Presence, Simpler, TYPES, Type};
use k8s_value::go_json::{shorten_numbers, stored_float};
use k8s_value::go_value::json_type;
use k8s_value::{quantity, time};

/// The most unknown members that are named: an answer has no more warnings.
const MOST_UNKNOWN: usize = 64;

/// What Go reads an object out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The JSON that was sent, or that a patch has made.
    Json,
    /// A map that an apply or a strategic patch has made. A type that decodes itself does not know
    /// which member it is.
    Map,
}

/// The object's one form. The names of members that its type does not have are added to `unknown`,
/// with their path.
///
/// # Errors
///
/// What Go's decoder says of the first member of a wrong type.
pub(crate) fn canonical(
    message: usize,
    object: Map<String, Value>,
    source: Source,
    unknown: &mut Vec<String>,
) -> Result<Map<String, Value>, String> {
    Walk::new(source, "", unknown).whole(message, object)
}

/// As `canonical`, of the metadata of an object whose other members no recorded type tells; they
/// stand at `path`.
///
/// # Errors
///
/// What Go's decoder says of them, or of the first member of a wrong type.
pub(crate) fn metadata(
    sent: Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<Value, String> {
    let object = match sent {
        Value::Object(object) => object,
        other => return Err(json_syntax::mismatch(&other, "value of type v1.ObjectMeta")),
    };
    let of = |kind: usize| match TYPES.message(kind)?.member("metadata")?.of {
        Type::Message(metadata) => Some(metadata),
        _ => None,
    };
    // Every kind has the same.
    let Some(message) = TYPES.kind("v1", "ConfigMap").and_then(of) else {
        return Ok(object.into());
    };
    Walk::new(Source::Json, path, unknown).whole(message, object).map(Value::Object)
}

struct Walk<'a> {
    source: Source,
    /// As warnings have it: `spec.containers[0].name`.
    path: String,
    /// As Go's decoder has it: `spec.containers.name`.
    go_path: String,
    unknown: &'a mut Vec<String>,
    /// The refusal of the first member of a wrong type.
    mistyped: Option<String>,
    /// A type that decodes itself has failed, which ends it.
    ended: bool,
}

impl<'a> Walk<'a> {
    fn new(source: Source, path: &str, unknown: &'a mut Vec<String>) -> Self {
        let (path, go_path) = (path.to_owned(), String::new());
        Self { source, path, go_path, unknown, mistyped: None, ended: false }
    }

    fn whole(
        mut self,
        message: usize,
        sent: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let kept = self.members(message, sent)?;
        self.mistyped.map_or(Ok(kept), Err)
    }

    fn members(
        &mut self,
        message: usize,
        sent: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let Some(message) = TYPES.message(message) else { return Ok(sent) };
        let mut kept = Map::new();
        let mut sent: Vec<_> = sent.into_iter().collect();
        if self.source == Source::Map {
            // Out of a map Go reads in the order of its own structures, where metadata come first.
            sent.sort_by_key(|(name, _)| name != "metadata");
        }
        for (name, value) in sent {
            let Some(field) = message.member(&name) else {
                if self.unknown.len() < MOST_UNKNOWN {
                    let dot = if self.path.is_empty() { "" } else { "." };
                    self.unknown.push(format!("unknown field \"{}{dot}{name}\"", self.path));
                }
                continue;
            };
            let (path, go_path) = (self.path.len(), self.go_path.len());
            for (text, parts) in
                [(&mut self.path, [&*name, ""]), (&mut self.go_path, [&*field.within, &*name])]
            {
                if !text.is_empty() {
                    text.push('.');
                }
                parts.iter().for_each(|part| text.push_str(part));
            }
            let value = match self.member(message, field, value) {
                // Go reads JSON on, and says the first of these in the end, unless something ends
                // it before.
                Err(why) if self.source == Source::Json && self.reads_on(field, &why) => {
                    self.mistyped.get_or_insert(why);
                    None
                }
                value => value?,
            };
            self.path.truncate(path);
            self.go_path.truncate(go_path);
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

    fn reads_on(&mut self, field: &Field, why: &str) -> bool {
        let decodes_itself = matches!(
            field.of,
            Type::Time | Type::MicroTime | Type::Quantity | Type::IntOrString | Type::Json
        );
        self.ended |= decodes_itself;
        let is_saved =
            ["json: cannot unmarshal", "illegal base64"].iter().any(|words| why.starts_with(words));
        is_saved && !self.ended
    }

    /// The member's one form; nothing if it is as good as absent.
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
                    let go = whole_type(field, "[]");
                    return Err(self.mismatch(message, &value, &go));
                };
                if items.is_empty() {
                    let is_kept = presence == Presence::NullList && message.keeps_empty_lists;
                    return Ok(is_kept.then(|| Value::Array(Vec::new())));
                }
                let path = self.path.len();
                let mut kept = Vec::with_capacity(items.len());
                for (at, item) in items.into_iter().enumerate() {
                    self.path.push_str(&format!("[{at}]"));
                    kept.push(self.item(message, field, item)?);
                    self.path.truncate(path);
                }
                return Ok(Some(kept.into()));
            }
            presence if presence.is_map() => {
                let Value::Object(members) = value else {
                    let go = whole_type(field, "map[string]");
                    return Err(self.mismatch(message, &value, &go));
                };
                if members.is_empty() {
                    return Ok(None);
                }
                let path = self.path.len();
                let mut kept = Map::new();
                for (key, item) in members {
                    self.path.push_str(&format!(".{key}"));
                    let item = self.item(message, field, item)?;
                    self.path.truncate(path);
                    kept.insert(key, item);
                }
                return Ok(Some(kept.into()));
            }
            _ => self.value(message, field, value)?,
        };
        let zero = match (&value, field.of) {
            // Go's zero, where something was said.
            (Value::Null, Type::Time | Type::MicroTime) => field.presence == Presence::OmitZero,
            (Value::Null, _) => return Ok(None),
            // Structs are never empty for Go, texts and numbers are.
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

    /// An item of a list or a map: null stands for the zero value.
    fn item(&mut self, message: &Message, field: &Field, item: Value) -> Result<Value, String> {
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
        self.value(message, field, item)
    }

    fn value(&mut self, message: &Message, field: &Field, value: Value) -> Result<Value, String> {
        match (field.of, value) {
            (Type::Message(inner), Value::Object(members)) => {
                Ok(self.members(inner, members)?.into())
            }
            (Type::String, value @ Value::String(_)) | (Type::Bool, value @ Value::Bool(_)) => {
                Ok(value)
            }
            // Out of a map Go takes the lower half of a number that does not fit, and says nothing.
            (Type::Int32, Value::Number(number))
                if self.source == Source::Map && number.is_i64() =>
            {
                let [a, b, c, d, ..] = number.as_i64().unwrap_or_default().to_le_bytes();
                Ok(i32::from_le_bytes([a, b, c, d]).into())
            }
            (Type::Int32 | Type::Int64, Value::Number(number)) => {
                let narrow = field.of == Type::Int32;
                self.integer(message, number, narrow, &field.go).map(Value::Number)
            }
            (Type::IntOrString, Value::Number(number)) => {
                let number = self.integer(message, number, true, "int32");
                number.map(Value::Number).map_err(|why| self.by_itself(why))
            }
            (Type::IntOrString, value @ Value::String(_)) => Ok(value),
            (Type::Bytes, Value::String(text)) => bytes::of_text(&text),
            (Type::Bytes, Value::Array(numbers)) => {
                bytes::of_numbers(numbers).map_err(|what| self.unmarshal(message, &what, "uint8"))
            }
            (Type::Time, Value::String(text)) => Ok(time::seconds(&text)?),
            (Type::MicroTime, Value::String(text)) => Ok(time::micros(&text)?),
            (Type::Quantity, value) => {
                let text = match value {
                    Value::String(text) => text,
                    Value::Number(number) => number.to_string(),
                    _ => return Err(quantity::FORMAT.to_owned()),
                };
                // Maps of quantities are lists of resources.
                let one_form = if field.presence.is_map() {
                    quantity::canonical_resource
                } else {
                    quantity::canonical
                };
                Ok(one_form(&text)?.into())
            }
            (Type::Float64, Value::Number(number)) => {
                let float = number.as_f64().and_then(stored_float);
                Ok(Value::Number(float.unwrap_or(number)))
            }
            (Type::Json, mut value) => {
                shorten_numbers(&mut value);
                Ok(value)
            }
            (Type::SchemaOr(simpler, schema), value) => {
                self.schema_or(message, simpler, schema, value)
            }
            (Type::Strings, Value::Array(items)) => self.strings(message, items),
            (Type::Time | Type::MicroTime | Type::IntOrString, value) => {
                Err(self.by_itself(self.mismatch(message, &value, &go_type(field))))
            }
            (_, value) => Err(self.mismatch(message, &value, &go_type(field))),
        }
    }

    /// A type that decodes itself: its unknown members are not named.
    fn schema_or(
        &mut self,
        message: &Message,
        simpler: Simpler,
        schema: usize,
        value: Value,
    ) -> Result<Value, String> {
        let known = self.unknown.len();
        let outcome = match (simpler, value) {
            (_, Value::Object(members)) => Value::Object(self.members(schema, members)?),
            (Simpler::Bool, value @ Value::Bool(_)) => value,
            (Simpler::Bool, _) => return Err("boolean or JSON schema expected".to_owned()),
            (Simpler::Schemas, Value::Array(items)) if !items.is_empty() => {
                let all = items.into_iter().map(|item| match item {
                    Value::Object(members) => self.members(schema, members).map(Value::Object),
                    Value::Null => Ok(unset(Always::Object(schema))),
                    other => Err(self.mismatch(message, &other, &message_type(schema))),
                });
                Value::Array(all.collect::<Result<_, _>>()?)
            }
            (Simpler::Strings, Value::Array(items)) if !items.is_empty() => {
                self.strings(message, items)?
            }
            _ => Value::Null,
        };
        self.unknown.truncate(known);
        Ok(outcome)
    }

    fn strings(&self, message: &Message, items: Vec<Value>) -> Result<Value, String> {
        let all = items.into_iter().map(|item| match item {
            item @ Value::String(_) => Ok(item),
            other => Err(self.mismatch(message, &other, "string")),
        });
        all.collect::<Result<_, _>>().map(Value::Array)
    }

    fn integer(
        &self,
        message: &Message,
        number: Number,
        narrow: bool,
        go: &str,
    ) -> Result<Number, String> {
        match number.as_i64() {
            Some(whole) if !narrow || i32::try_from(whole).is_ok() => Ok(number),
            _ => Err(self.unmarshal(message, &format!("number {number}"), go)),
        }
    }

    fn mismatch(&self, message: &Message, value: &Value, go: &str) -> String {
        self.unmarshal(message, json_type(value), go)
    }

    /// What a type that decodes itself says where Go tells it what it is in, or does not.
    fn by_itself(&self, why: String) -> String {
        match (self.source, why.split_once(" into Go struct field ")) {
            (Source::Map, Some((what, field))) => {
                let go = field.rsplit_once(" of type ").map_or(field, |(_, go)| go);
                format!("{what} into Go value of type {go}")
            }
            _ => why,
        }
    }

    fn unmarshal(&self, message: &Message, what: &str, go: &str) -> String {
        let (of, path) = (message.short(), &self.go_path);
        format!("json: cannot unmarshal {what} into Go struct field {of}.{path} of type {go}")
    }
}
