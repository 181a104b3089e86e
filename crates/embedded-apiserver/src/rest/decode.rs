//! From the bytes of a request to an object that may be worked on.

use serde_json::Value;

use crate::fields::Sent;
use crate::kind::Kind;
use crate::metadata::{self, Object};
use crate::query::FieldValidation;
use crate::rest::duplicates;
use crate::status::Status;

/// An object from outside: its own apiVersion and kind are checked and taken off.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    pub(crate) object: Object,
    pub(crate) warnings: Vec<String>,
    /// As managedFields, which the object has no more.
    pub(crate) sent: Sent,
}

impl Decoded {
    /// Owner references that are there twice become one, with a warning.
    pub(crate) fn remove_equal_owners(&mut self, found: &str) {
        let twice = metadata::remove_equal_owners(&mut self.object);
        if !twice.is_empty() {
            self.warnings.push(format!(
                ".metadata.ownerReferences contains duplicate entries{found}; API server dedups owner references in \
                 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) \
                 observed: {}",
                twice.join(", ")
            ));
        }
    }
}

fn sent(object: &Object) -> Sent {
    Sent::of(metadata::get(object, "managedFields"))
}

fn cannot_be_handled(kind: &Kind, why: &str) -> Status {
    let (version, kind) = (kind.version(), kind.kind());
    Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}

/// Decodes the body of a create or an update.
pub(crate) fn object(kind: &Kind, bytes: &[u8], validation: FieldValidation) -> Result<Decoded, Status> {
    let not_json = |error: serde_json::Error| cannot_be_handled(kind, &error.to_string());
    let (mut value, twice) = duplicates::read(bytes).map_err(not_json)?;
    let mut doubtful = Vec::new();
    if twice {
        doubtful = duplicates::find(bytes);
        if kind.builtin.is_some() {
            value = duplicates::merged(bytes).map_err(not_json)?;
        }
    }
    let object = match value {
        Value::Null => Object::new(),
        Value::Object(object) => object,
        _ => return Err(cannot_be_handled(kind, "json: cannot unmarshal into an object")),
    };
    if kind.builtin.is_none() {
        for member in ["kind", "apiVersion"] {
            if object.get(member).and_then(Value::as_str).unwrap_or_default().is_empty() {
                return Err(Status::bad_request(format!("Object '{member}' is missing in the body")));
            }
        }
    }
    check_types(kind, &object).map_err(Status::bad_request)?;
    let sent = sent(&object);
    let (object, unknown) = canonical(kind, object).map_err(|why| cannot_be_handled(kind, &why))?;
    doubtful.extend(unknown);
    let warnings = match validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn => doubtful,
        FieldValidation::Strict if doubtful.is_empty() => doubtful,
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", doubtful.join(", "));
            return Err(cannot_be_handled(kind, &why));
        }
    };
    Ok(Decoded { object, warnings, sent })
}

/// Decodes what a patch made of an object: wrong types are then the patch's fault. `duplicates`: in the patch itself.
pub(crate) fn patched(
    kind: &Kind,
    value: Value,
    duplicates: &[String],
    validation: FieldValidation,
) -> Result<Decoded, Status> {
    let wrong = |why: &str, result: &Value| Status::invalid_patch(&result.to_string(), why);
    let Value::Object(object) = value else {
        return Err(wrong("the result is no object", &value));
    };
    if let Err(why) = check_types(kind, &object) {
        return Err(wrong(&why, &object.into()));
    }
    let owners = sent(&object);
    // Kept for the message.
    let sent = Value::Object(object.clone());
    let (object, unknown) = canonical(kind, object).map_err(|why| wrong(&why, &sent))?;
    let unknown: Vec<String> = duplicates.iter().cloned().chain(unknown).collect();
    match validation {
        FieldValidation::Strict if !unknown.is_empty() => {
            Err(wrong(&format!("strict decoding error: {}", unknown.join(", ")), &sent))
        }
        FieldValidation::Ignore => Ok(Decoded { object, warnings: Vec::new(), sent: owners }),
        FieldValidation::Warn | FieldValidation::Strict => {
            Ok(Decoded { object, warnings: unknown, sent: owners })
        }
    }
}

fn check_types(kind: &Kind, object: &Object) -> Result<(), String> {
    for member in ["apiVersion", "kind"] {
        if object.get(member).is_some_and(|value| !value.is_string() && !value.is_null()) {
            return Err(format!("{member} is no string"));
        }
    }
    let says = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    let (version, name) = (says("apiVersion"), says("kind"));
    if !version.is_empty() && version != kind.api_version() {
        let expected = kind.api_version();
        return Err(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        ));
    }
    if !name.is_empty() && name != kind.kind() {
        return Err(format!(
            "the kind in the data ({name}) does not match the expected kind ({})",
            kind.kind()
        ));
    }
    Ok(())
}

/// The object's one form, and which members of it the kind does not know; or why it cannot be decoded.
fn canonical(kind: &Kind, mut object: Object) -> Result<(Object, Vec<String>), String> {
    object.remove("apiVersion");
    object.remove("kind");
    if object.get("metadata").is_some_and(|metadata| !metadata.is_object() && !metadata.is_null()) {
        return Err("metadata is no object".to_owned());
    }
    let mut unknown = Vec::new();
    let Some(builtin) = kind.builtin else {
        if let Some(sent) = object.get("metadata").filter(|metadata| metadata.is_object()) {
            let known = metadata::decode(sent)?;
            find_unknown(sent, &known, "metadata", &mut unknown);
            object.insert("metadata".to_owned(), known);
        }
        for value in object.values_mut() {
            shorten_numbers(value);
        }
        if let Some(definition) = kind.definition() {
            unknown.append(&mut definition.decode(&mut object)?);
        }
        metadata::normalize(&mut object);
        return Ok((object, unknown));
    };
    let mut object = builtin.canonical(object, &mut unknown)?;
    metadata::normalize(&mut object);
    Ok((object, unknown))
}

/// Go writes a float that is whole without a fraction.
fn shorten_numbers(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() <= EXACT
                && let Ok(whole) = format!("{float:.0}").parse::<i64>()
            {
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_numbers),
        Value::Object(members) => members.values_mut().for_each(shorten_numbers),
        _ => {}
    }
}

/// What was sent and is not in the object's one form, in words.
pub(crate) fn unknown_fields(sent: &Value, known: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    find_unknown(sent, known, "", &mut unknown);
    unknown
}

/// Members that were sent and are not there after decoding: the first of them.
pub(crate) fn find_unknown(sent: &Value, known: &Value, path: &str, unknown: &mut Vec<String>) {
    /// As many as an answer has warnings.
    const MOST: usize = 64;
    match (sent, known) {
        _ if unknown.len() >= MOST => {}
        (Value::Object(sent), Value::Object(known)) => {
            for (name, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match known.get(name) {
                    Some(known) => find_unknown(value, known, &path, unknown),
                    None if unknown.len() < MOST => unknown.push(format!("unknown field \"{path}\"")),
                    None => return,
                }
            }
        }
        (Value::Array(sent), Value::Array(known)) => {
            for (at, (sent, known)) in sent.iter().zip(known).enumerate() {
                find_unknown(sent, known, &format!("{path}[{at}]"), unknown);
            }
        }
        _ => {}
    }
}
