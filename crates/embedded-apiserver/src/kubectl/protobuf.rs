//! Converts protobuf bodies to JSON. Go clients send protobuf for built-in kinds by default.
//! Responses are JSON, which every client accepts as its second choice.

#[cfg(test)]
mod tests;
mod wire;

use base64::Engine as _;
use bytes::Bytes;
use http::{HeaderValue, Request, header};
use serde_json::{Number, Value};

use crate::api::media;
use crate::api::metadata::Object;
use crate::api::recorded::types::{Field, Presence, Simpler, TYPES, Type};
use crate::api::status::Status;
use crate::kubectl::protobuf::wire::{Malformed, Payload, fields};
use crate::strategy::resource::ServedResource;
use k8s_value::time::{Precision, since_1970};

/// The prefix of Kubernetes' envelope.
const MAGIC: &[u8] = b"k8s\0";
/// The deepest nesting of messages: that of JSON. Schemas are recursive.
const MAX_DEPTH: usize = 120;
const TOO_DEEP: &str = "the messages are nested too deeply";

/// Converts a protobuf body of the `kind` to JSON. As upstream, custom kinds have no protobuf form.
pub(crate) fn into_json(
    request: Request<Bytes>,
    kind: &ServedResource,
) -> Result<Request<Bytes>, Status> {
    let known = kind.is_built_in();
    if !known || media::essence(request.headers()) != media::PROTOBUF || request.body().is_empty() {
        return Ok(request);
    }
    let (mut parts, body) = request.into_parts();
    let json = enveloped(&body).map_err(|Malformed(why)| match why.as_str() {
        TOO_DEEP => Status::not_implemented(&format!(
            "protobuf that is nested deeper than {MAX_DEPTH} levels"
        )),
        _ => Status::bad_request(why),
    })?;
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(Request::from_parts(parts, Bytes::from(json.to_string())))
}

/// Decodes `runtime.Unknown`: the type of the object, and its message.
fn enveloped(body: &[u8]) -> Result<Value, Malformed> {
    let Some(envelope) = body.strip_prefix(MAGIC) else {
        let why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
        return Err(Malformed(why.to_owned()));
    };
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in fields(envelope) {
        match field? {
            (1, Payload::Bytes(types)) => {
                for field in fields(types) {
                    match field? {
                        (1, Payload::Bytes(text)) => version = lossy(text),
                        (2, Payload::Bytes(text)) => kind = lossy(text),
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(message)) => raw = message,
            _ => {}
        }
    }
    // Every group has DeleteOptions.
    let known = if kind == "DeleteOptions" { "v1" } else { version.as_str() };
    let Some(message) = TYPES.kind(known, &kind) else {
        return Err(Malformed(format!("no kind {kind:?} is registered for version {version:?}")));
    };
    let mut object = Object::new();
    object.insert("apiVersion".to_owned(), version.into());
    object.insert("kind".to_owned(), kind.into());
    read(MAX_DEPTH, message, raw, &mut object)?;
    Ok(Value::Object(object))
}

/// Decodes a message into the members of an object.
fn read(deeper: usize, message: usize, bytes: &[u8], object: &mut Object) -> Result<(), Malformed> {
    let too_deep = || Malformed(TOO_DEEP.to_owned());
    let deeper = deeper.checked_sub(1).ok_or_else(too_deep)?;
    for field in fields(bytes) {
        let (number, payload) = field?;
        // As in Go, unknown fields are ignored.
        let Some(field) = TYPES.field(message, number) else { continue };
        match field.presence {
            Presence::List | Presence::NullList => {
                let items = object.entry(&*field.name).or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(items) = items else { continue };
                match (field.of, payload) {
                    // Numbers may be packed.
                    (Type::Int32 | Type::Int64, Payload::Bytes(packed)) => {
                        let mut rest = packed;
                        while !rest.is_empty() {
                            items.push(integer(field.of, wire::varint(&mut rest)?));
                        }
                    }
                    _ => items.push(value(deeper, field, payload)?),
                }
            }
            Presence::Map | Presence::NullMap => {
                let (key, value) = entry(deeper, field, payload)?;
                let members =
                    object.entry(&*field.name).or_insert_with(|| Value::Object(Object::new()));
                if let Value::Object(members) = members {
                    members.insert(key, value);
                }
            }
            presence => {
                let value = match (field.of, payload) {
                    (Type::Message(message), Payload::Bytes(bytes)) if &*field.name == "-" => {
                        read(deeper, message, bytes, object)?;
                        continue;
                    }
                    // A message in parts is merged.
                    (Type::Message(message), Payload::Bytes(bytes)) => {
                        let mut inner = match object.remove(&*field.name) {
                            Some(Value::Object(inner)) => inner,
                            _ => Object::new(),
                        };
                        read(deeper, message, bytes, &mut inner)?;
                        Value::Object(inner)
                    }
                    // Otherwise the last value wins.
                    _ => value(deeper, field, payload)?,
                };
                if matches!(presence, Presence::Pointer | Presence::NullPointer)
                    || !is_zero(presence, &value)
                {
                    object.insert(field.name.to_string(), value);
                } else {
                    object.remove(&*field.name);
                }
            }
        }
    }
    Ok(())
}

/// Go writes a field that is no pointer even if it is unset. Its zero value counts as unset. An
/// embedded object cannot be distinguished from an empty one.
fn is_zero(presence: Presence, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        _ if presence == Presence::Value => false,
        Value::String(text) => text.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Array(items) => items.is_empty(),
    }
}

/// An entry of a map: a message of key and value. A zero one may be omitted.
fn entry(deeper: usize, field: &Field, payload: Payload<'_>) -> Result<(String, Value), Malformed> {
    let Payload::Bytes(bytes) = payload else { return Err(mismatch(field)) };
    let (mut key, mut found) = (String::new(), None);
    for part in fields(bytes) {
        match part? {
            (1, Payload::Bytes(text)) => key = lossy(text),
            (2, payload) => found = Some(value(deeper, field, payload)?),
            _ => {}
        }
    }
    match found {
        Some(found) => Ok((key, found)),
        None => Ok((key, value(deeper, field, zero(field.of))?)),
    }
}

fn value(deeper: usize, field: &Field, payload: Payload<'_>) -> Result<Value, Malformed> {
    match (field.of, payload) {
        (Type::String, Payload::Bytes(text)) => Ok(lossy(text).into()),
        (Type::Bytes, Payload::Bytes(bytes)) => {
            Ok(base64::engine::general_purpose::STANDARD.encode(bytes).into())
        }
        (Type::Bool, Payload::Varint(flag)) => Ok((flag != 0).into()),
        (Type::Int32 | Type::Int64, Payload::Varint(number)) => Ok(integer(field.of, number)),
        (Type::Time, Payload::Bytes(bytes)) => {
            time(bytes, Precision::Seconds).map_err(|()| mismatch(field))
        }
        (Type::MicroTime, Payload::Bytes(bytes)) => {
            time(bytes, Precision::Micros).map_err(|()| mismatch(field))
        }
        // A message with one field, the text.
        (Type::Quantity, Payload::Bytes(bytes)) => {
            let text = first_bytes(bytes)?.map(lossy).unwrap_or_default();
            Ok(if text.is_empty() { "0".into() } else { text.into() })
        }
        // A message with one field, JSON.
        (Type::Json, Payload::Bytes(bytes)) => match first_bytes(bytes)? {
            Some(json) if !json.is_empty() => serde_json::from_slice(json)
                .map_err(|error| Malformed(format!("{}: {error}", field.name))),
            _ => Ok(Value::Null),
        },
        (Type::IntOrString, Payload::Bytes(bytes)) => int_or_string(bytes),
        // A message with one field, a list of texts.
        (Type::Strings, Payload::Bytes(bytes)) => {
            let mut items = Vec::new();
            for field in fields(bytes) {
                if let (1, Payload::Bytes(text)) = field? {
                    items.push(lossy(text).into());
                }
            }
            Ok(Value::Array(items))
        }
        (Type::Float64, Payload::Fixed(bytes)) => Ok(f64::from_le_bytes(bytes).into()),
        (Type::SchemaOr(simpler, schema), Payload::Bytes(bytes)) => {
            schema_or(deeper, simpler, schema, bytes)
                .and_then(|found| found.ok_or_else(|| mismatch(field)))
        }
        (Type::Message(message), Payload::Bytes(bytes)) => whole(deeper, message, bytes),
        _ => Err(mismatch(field)),
    }
}

fn whole(deeper: usize, message: usize, bytes: &[u8]) -> Result<Value, Malformed> {
    let mut object = Object::new();
    read(deeper, message, bytes, &mut object)?;
    Ok(Value::Object(object))
}

/// A message with a field for the schema and one for the simpler value. `None` if a field has the
/// wrong type.
fn schema_or(
    deeper: usize,
    simpler: Simpler,
    schema: usize,
    message: &[u8],
) -> Result<Option<Value>, Malformed> {
    let (of_schema, of_simpler) = if simpler == Simpler::Bool { (2, 1) } else { (1, 2) };
    let (mut found, mut allows, mut items) = (None, false, Vec::new());
    for field in fields(message) {
        match (field?, simpler) {
            ((number, Payload::Bytes(bytes)), _) if number == of_schema => {
                found = Some(whole(deeper, schema, bytes)?);
            }
            ((number, Payload::Varint(flag)), Simpler::Bool) if number == of_simpler => {
                allows = flag != 0
            }
            ((number, Payload::Bytes(bytes)), Simpler::Schemas) if number == of_simpler => {
                items.push(whole(deeper, schema, bytes)?);
            }
            ((number, Payload::Bytes(text)), Simpler::Strings) if number == of_simpler => {
                items.push(lossy(text).into());
            }
            ((number, _), _) if number == of_schema || number == of_simpler => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(match (found, simpler) {
        (Some(found), _) if items.is_empty() => found,
        (_, Simpler::Bool) => allows.into(),
        (_, Simpler::Schemas | Simpler::Strings) if items.is_empty() => Value::Null,
        (_, Simpler::Schemas | Simpler::Strings) => items.into(),
    }))
}

/// The wire form of a zero value.
const fn zero(of: Type) -> Payload<'static> {
    match of {
        Type::Bool | Type::Int32 | Type::Int64 => Payload::Varint(0),
        Type::Float64 => Payload::Fixed([0; 8]),
        _ => Payload::Bytes(&[]),
    }
}

fn mismatch(field: &Field) -> Malformed {
    Malformed(format!("proto: wrong wireType or value for field {}", field.name))
}

/// A varint is 64 bits in two's complement. As in Go, it is truncated to the field's size.
fn integer(of: Type, number: u64) -> Value {
    let [a, b, c, d, ..] = number.to_le_bytes();
    Value::Number(match of {
        Type::Int64 => Number::from(number.cast_signed()),
        _ => Number::from(i32::from_le_bytes([a, b, c, d])),
    })
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn first_bytes(message: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let mut found = None;
    for field in fields(message) {
        if let (1, Payload::Bytes(bytes)) = field? {
            found = Some(bytes);
        }
    }
    Ok(found)
}

/// Seconds and nanoseconds. A message without fields is an absent time.
fn time(message: &[u8], precision: Precision) -> Result<Value, ()> {
    let (mut seconds, mut nanos, mut any) = (0, 0, false);
    for field in fields(message) {
        any = true;
        match field.map_err(drop)? {
            (1, Payload::Varint(number)) => seconds = number.cast_signed(),
            (2, Payload::Varint(number)) => nanos = i32::try_from(number).map_err(drop)?,
            _ => {}
        }
    }
    if !any {
        return Ok(Value::Null);
    }
    since_1970(seconds, nanos, precision).map(Value::from).ok_or(())
}

fn int_or_string(message: &[u8]) -> Result<Value, Malformed> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for field in fields(message) {
        match field? {
            (1, Payload::Varint(kind)) => is_text = kind == 1,
            (2, Payload::Varint(value)) => number = value,
            (3, Payload::Bytes(value)) => text = lossy(value),
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { integer(Type::Int32, number) })
}
