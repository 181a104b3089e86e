//! Decodes the body of a request.

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::api::json_syntax;
use crate::api::metadata::{self, Object};
use crate::api::query::FieldValidation;
use crate::api::status::Status;
use crate::rest::duplicates::{self, Shape};
use crate::strategy::resource::ServedResource;
use k8s_merge::managed_fields::RequestedFields;

mod canonical;
mod declared_kind;

use canonical::{Canonical, canonical};
pub(crate) use canonical::{Hidden, Origin};
use declared_kind::{
    MISSING_KIND, MISSING_VERSION, Untyped, check_said_types, check_types, other_version,
    unconvertible, unregistered,
};
pub(crate) use declared_kind::{check_own_type, said_types};

/// A decoded object. Its apiVersion and kind are checked and removed.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    pub(crate) object: Object,
    pub(crate) warnings: Vec<String>,
    /// The managedFields that were sent. They are removed from the object.
    pub(crate) sent: RequestedFields,
    pub(crate) hidden: Hidden,
}

impl Decoded {
    /// Removes duplicate owner references, with a warning.
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

fn sent_owners(kind: &ServedResource, object: &Object) -> RequestedFields {
    match metadata::get(object, "managedFields") {
        // The metadata of custom objects omits empty lists.
        Some(Value::Array(none)) if none.is_empty() && !kind.is_built_in() => {
            RequestedFields::Unset
        }
        said => RequestedFields::of(said),
    }
}

/// Parses JSON that need not declare a kind.
pub(crate) fn json(kind: &ServedResource, bytes: &[u8]) -> Result<Value, Status> {
    let value =
        serde_json::from_slice(bytes).map_err(|error| unrecognized(kind, &error.to_string()))?;
    json_syntax::interpret(&value).map_err(|why| unrecognized(kind, &why))?;
    Ok(value)
}

/// The error of a body that declares no kind (`transformDecodeError` of
/// k8s.io/apiserver/pkg/endpoints/handlers).
fn unrecognized(kind: &ServedResource, why: &str) -> Status {
    let kind = kind.kind();
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why}"
    ))
}

/// The error of an object that declares its kind and cannot be decoded.
fn cannot_be_handled(
    kind: &ServedResource,
    (version, of): (&str, &str),
    expected: &str,
    why: &str,
) -> Status {
    let is_unsaid = version.is_empty() && kind.is_built_in();
    let version =
        if is_unsaid { kind.version() } else { version.rsplit('/').next().unwrap_or(version) };
    let of = if of.is_empty() { kind.kind() } else { of };
    Status::bad_request(format!(
        "{of} in version {version:?} cannot be handled as a {expected}: {why}"
    ))
}

/// Decodes the body of a create or an update.
pub(crate) fn body(
    kind: &ServedResource,
    request: &Request<Bytes>,
    validation: FieldValidation,
) -> Result<Decoded, Status> {
    let bytes = request.body();
    let not_json = |error: serde_json::Error| unrecognized(kind, &error.to_string());
    let (value, twice) = duplicates::read(bytes).map_err(not_json)?;
    json_syntax::interpret(&value).map_err(|why| unrecognized(kind, &why))?;
    let mut doubtful = Vec::new();
    if twice {
        doubtful = duplicates::find(bytes, Shape::of(kind));
    }
    let object = match value {
        Value::Object(object) => object,
        _ => Object::new(),
    };
    if !kind.is_built_in() && !object.get("kind").is_some_and(|kind| !kind.is_null() && *kind != "")
    {
        return Err(unrecognized(kind, MISSING_KIND));
    }
    if let Some(why) = unregistered(kind, &object) {
        return Err(Status::bad_request(why));
    }
    if let Some(why) = unconvertible(kind, &object) {
        return Err(Status::bad_request(why));
    }
    if !kind.is_built_in() && object.get("apiVersion").is_some_and(Value::is_null) {
        return Err(unrecognized(kind, MISSING_VERSION));
    }
    let says =
        |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, of) = (says("apiVersion"), says("kind"));
    if kind.is_built_in() {
        check_types(kind, &object).map_err(Status::bad_request)?;
    }
    let owners = sent_owners(kind, &object);
    let refuse =
        |expected: &str, why: &str| cannot_be_handled(kind, (&version, &of), expected, why);
    let Canonical { object, unknown, hidden } =
        canonical(kind, object, None).map_err(|why| refuse(kind.kind(), &why))?;
    if kind.is_built_in() {
        // Upstream skips unknown fields, so it finds no duplicates in them.
        doubtful.retain(|twice| !unknown.iter().any(|unknown| is_within(twice, unknown)));
    }
    doubtful.extend(unknown);
    let warnings = match validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn => doubtful,
        FieldValidation::Strict if doubtful.is_empty() => doubtful,
        FieldValidation::Strict => {
            if !kind.is_built_in() && version.rsplit('/').next().is_none_or(str::is_empty) {
                return Err(Status::bad_request(MISSING_VERSION));
            }
            let why = format!("strict decoding error: {}", doubtful.join(", "));
            // Upstream has decoded a custom object by now and names its declared kind.
            let expected = if kind.is_built_in() { kind.kind() } else { &of };
            return Err(refuse(expected, &why));
        }
    };
    // The version of a custom object is checked after decoding.
    if !kind.is_built_in() && version != kind.api_version() {
        return Err(Status::bad_request(other_version(&version, kind)).warned(&warnings));
    }
    Ok(Decoded { object, warnings, sent: owners, hidden })
}

/// Whether a duplicate field equals or lies in an unknown one. Both are warnings.
fn is_within(twice: &str, unknown: &str) -> bool {
    let path = |warning: &str, prefix: &str| {
        warning.strip_prefix(prefix).and_then(|path| path.strip_suffix('"')).map(str::to_owned)
    };
    let (twice, unknown) = (path(twice, "duplicate field \""), path(unknown, "unknown field \""));
    let (Some(twice), Some(unknown)) = (twice, unknown) else { return false };
    twice.strip_prefix(&unknown).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Decodes the result of a patch. Wrong types are errors of the patch. `duplicates`: those of the
/// patch itself.
pub(crate) fn patched(
    kind: &ServedResource,
    value: Value,
    duplicates: &[String],
    validation: FieldValidation,
    origin: Origin,
) -> Result<Decoded, Status> {
    let wrong = |why: &str| origin.refuse(why);
    json_syntax::interpret(&value).map_err(|why| wrong(&why))?;
    let Value::Object(object) = value else {
        return Err(wrong("the result is no object"));
    };
    let is_apply = origin == Origin::Apply;
    match kind.is_built_in() {
        true => {
            let other = unconvertible(kind, &object);
            if let Some(why) = other.or_else(|| check_types(kind, &object).err()) {
                return Err(wrong(&why));
            }
        }
        // An apply has declared its kind.
        false if is_apply => {}
        false => check_said_types(&object).map_err(|why| match why {
            Untyped::Decoding(why) => wrong(&why),
            Untyped::Later(why) => Status::internal(&why),
        })?,
    }
    let owners = sent_owners(kind, &object);
    let Canonical { object, unknown, hidden } =
        canonical(kind, object, Some(origin)).map_err(|why| wrong(&why))?;
    let unknown: Vec<String> = duplicates.iter().cloned().chain(unknown).collect();
    match validation {
        FieldValidation::Strict if !unknown.is_empty() => {
            Err(wrong(&format!("strict decoding error: {}", unknown.join(", "))))
        }
        FieldValidation::Ignore => {
            Ok(Decoded { object, warnings: Vec::new(), sent: owners, hidden })
        }
        FieldValidation::Warn | FieldValidation::Strict => {
            Ok(Decoded { object, warnings: unknown, sent: owners, hidden })
        }
    }
}

/// The warnings for sent fields that the canonical form lacks.
pub(crate) fn unknown_fields(sent: &Value, known: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    find_unknown(sent, known, "", &mut unknown);
    unknown
}

/// Collects the first sent fields that decoding removed.
pub(crate) fn find_unknown(sent: &Value, known: &Value, path: &str, unknown: &mut Vec<String>) {
    /// The largest number of warnings in one response.
    const MOST: usize = 64;
    match (sent, known) {
        _ if unknown.len() >= MOST => {}
        (Value::Object(sent), Value::Object(known)) => {
            for (name, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match known.get(name) {
                    Some(known) => find_unknown(value, known, &path, unknown),
                    None if unknown.len() < MOST => {
                        unknown.push(format!("unknown field \"{path}\""))
                    }
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
