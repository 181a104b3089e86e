//! From the bytes of a request to an object that may be worked on.

use serde_json::Value;

use crate::builtin::{Builtin, unserved};
use crate::fields::Sent;
use crate::go_value::{go_text, shorten_numbers};
use crate::json_syntax;
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

/// JSON that says what it is, or does not.
pub(crate) fn json(kind: &Kind, bytes: &[u8]) -> Result<Value, Status> {
    let value = serde_json::from_slice(bytes)
        .map_err(|error| unrecognized(kind, &json_syntax::unreadable(bytes, &error), bytes))?;
    json_syntax::interpret(&value).map_err(|why| unrecognized(kind, &why, bytes))?;
    Ok(value)
}

/// A body of which it cannot be said what it is (`transformDecodeError` of k8s.io/apiserver/pkg/endpoints/handlers).
fn unrecognized(kind: &Kind, why: &str, body: &[u8]) -> Status {
    let (kind, body) = (kind.kind(), json_syntax::summary(body));
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({body})"
    ))
}

fn cannot_be_handled(kind: &Kind, why: &str) -> Status {
    let (version, kind) = (kind.version(), kind.kind());
    Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}

/// Decodes the body of a create or an update.
pub(crate) fn object(kind: &Kind, bytes: &[u8], validation: FieldValidation) -> Result<Decoded, Status> {
    let not_json =
        |error: serde_json::Error| unrecognized(kind, &json_syntax::unreadable(bytes, &error), bytes);
    let (mut value, twice) = duplicates::read(bytes).map_err(not_json)?;
    json_syntax::interpret(&value).map_err(|why| unrecognized(kind, &why, bytes))?;
    let mut doubtful = Vec::new();
    if twice {
        doubtful = duplicates::find(bytes);
        if kind.builtin.is_some() {
            value = duplicates::merged(bytes).map_err(not_json)?;
        }
    }
    let object = match value {
        Value::Object(object) => object,
        _ => Object::new(),
    };
    if kind.builtin.is_none() && !object.get("kind").is_some_and(|kind| !kind.is_null() && *kind != "") {
        let text = String::from_utf8_lossy(bytes);
        return Err(unrecognized(kind, &format!("Object 'Kind' is missing in '{text}'"), bytes));
    }
    let is_silent = !object.get("apiVersion").is_some_and(|version| !version.is_null() && *version != "");
    if kind.builtin.is_none() && is_silent {
        return Err(Status::bad_request(other_version("", kind)));
    }
    if let Some(why) = unregistered(kind, &object) {
        return Err(Status::bad_request(why));
    }
    if let Some((what, why)) = unconvertible(kind, &object) {
        return Err(Status::bad_request(format!("{what} cannot be handled as a Scale: {why}")));
    }
    check_types(kind, &object).map_err(Status::bad_request)?;
    if let Some(said) = other_kind(kind, &object) {
        return Err(Status::of_other_kind(kind, said, metadata::text(&object, "name")));
    }
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

/// Whose fault it is that what a patch made of an object cannot be decoded, in the words for that.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Blame<'a> {
    /// The document is shown.
    Document,
    /// The patch is shown, which is a strategic one.
    Strategic(&'a Object),
    /// Only where it is: of an apply.
    Apply,
}

impl Blame<'_> {
    fn refuse(self, kind: &Kind, why: &str, document: &Value) -> Status {
        // What reads an object out of a map says so of bytes alone.
        let of_map = |why: &str| {
            let prefix = if why.starts_with("illegal base64") { "error decoding from json: " } else { "" };
            format!("{prefix}{why}")
        };
        match self {
            Self::Document => Status::invalid_patch(&document.to_string(), why),
            Self::Strategic(patch) => {
                Status::invalid_patch(&go_text(&Value::Object(patch.clone())), &of_map(why))
            }
            Self::Apply => {
                let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
                let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
                let what = format!("{}/{}, Kind={}", kind.group(), kind.version(), kind.kind());
                let why = of_map(why);
                Status::unknown(format!(
                    "failed to convert new object ({namespace}/{name}; {what}) to proper version: unable to convert \
                     unstructured object to {what}: {why}"
                ))
            }
        }
    }
}

/// Decodes what a patch made of an object: wrong types are then the patch's fault. `duplicates`: in the patch itself.
pub(crate) fn patched(
    kind: &Kind,
    value: Value,
    duplicates: &[String],
    validation: FieldValidation,
    blame: Blame<'_>,
) -> Result<Decoded, Status> {
    let wrong = |why: &str, result: &Value| blame.refuse(kind, why, result);
    let Value::Object(object) = value else {
        return Err(wrong("the result is no object", &value));
    };
    let value = Value::Object(object);
    json_syntax::interpret(&value).map_err(|why| wrong(&why, &value))?;
    let Value::Object(object) = value else { return Err(wrong("the result is no object", &value)) };
    let other = unconvertible(kind, &object).map(|(_, why)| why);
    if let Some(why) = other.or_else(|| check_types(kind, &object).err()) {
        return Err(wrong(&why, &object.into()));
    }
    if let Some(said) = other_kind(kind, &object) {
        return Err(Status::of_other_kind(kind, said, metadata::text(&object, "name")));
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
    let says = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    let (version, name) = (says("apiVersion"), says("kind"));
    if !version.is_empty() && version != kind.api_version() {
        return Err(other_version(version, kind));
    }
    if kind.builtin.is_some() && !name.is_empty() && name != kind.kind() {
        return Err(format!(
            "the kind in the data ({name}) does not match the expected kind ({})",
            kind.kind()
        ));
    }
    Ok(())
}

/// What is wrong with an object that says to be of a kind that no part of Kubernetes has.
fn unregistered(kind: &Kind, object: &Object) -> Option<String> {
    let said = |member: &str| object.get(member).and_then(Value::as_str).filter(|said| !said.is_empty());
    let (own_version, own_kind) = (kind.api_version(), kind.kind());
    let (version, name) = (said("apiVersion").unwrap_or(&own_version), said("kind").unwrap_or(own_kind));
    let is_own = kind.builtin.is_none() || (version == own_version && name == own_kind);
    if is_own || version.matches('/').count() > 1 || unserved::is_kind(version, name) {
        return None;
    }
    let short = version.rsplit('/').next().unwrap_or_default();
    Some(format!(
        "{name} in version {short:?} cannot be handled as a {own_kind}: no kind {name:?} is registered for version \
         {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    ))
}

/// What an object that is to be a Scale says to be else, and why it is none: it has a way of its own to be decoded.
fn unconvertible(kind: &Kind, object: &Object) -> Option<(String, String)> {
    let said = |member: &str| object.get(member).and_then(Value::as_str).filter(|said| !said.is_empty());
    let (own_version, own_kind) = (kind.api_version(), kind.kind());
    let (version, name) = (said("apiVersion").unwrap_or(&own_version), said("kind").unwrap_or(own_kind));
    if kind.builtin != Some(Builtin::Scale) || (version == own_version && name == own_kind) {
        return None;
    }
    let short = version.rsplit('/').next().unwrap_or_default();
    let why = if name != own_kind && unserved::is_kind(version, name) {
        format!("converting ({short}.{name}) to (autoscaling.Scale): unknown conversion")
    } else {
        format!(
            "no kind {name:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )
    };
    Some((format!("{name} in version {short:?}"), why))
}

/// What a custom object says it is, if that is not its kind.
fn other_kind<'a>(kind: &Kind, object: &'a Object) -> Option<&'a str> {
    let said = object.get("kind").and_then(Value::as_str)?;
    (kind.builtin.is_none() && !said.is_empty() && said != kind.kind()).then_some(said)
}

fn other_version(version: &str, kind: &Kind) -> String {
    let expected = kind.api_version();
    format!("the API version in the data ({version}) does not match the expected API version ({expected})")
}

/// The object's one form, and which members of it the kind does not know; or why it cannot be decoded.
fn canonical(kind: &Kind, mut object: Object) -> Result<(Object, Vec<String>), String> {
    object.remove("apiVersion");
    object.remove("kind");
    let mut unknown = Vec::new();
    let Some(builtin) = kind.builtin else {
        if object.get("metadata").is_some_and(|metadata| !metadata.is_object() && !metadata.is_null()) {
            return Err("metadata is no object".to_owned());
        }
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
