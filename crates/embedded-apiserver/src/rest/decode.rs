//! From the bytes of a request to an object that may be worked on.

use bytes::Bytes;
use http::Request;
use serde_json::Value;

use crate::api::json_syntax;
use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::api::query::FieldValidation;
use crate::api::status::Status;
use crate::rest::duplicates::{self, Shape};
use crate::rest::patches::Patch;
use crate::strategy::resource::ServedResource;
use crate::strategy::shape::{Source, metadata as canonical_metadata};
use k8s_merge::managed_fields::RequestedFields;
use k8s_value::go_json::{has_sign_of_zero, shorten_numbers};
use k8s_value::time;

mod declared_kind;

use declared_kind::{
    MISSING_KIND, MISSING_VERSION, Untyped, check_said_types, check_types, other_version,
    unconvertible, unregistered,
};
pub(crate) use declared_kind::{check_own_type, said_types};

/// An object from outside: its own apiVersion and kind are checked and taken off.
#[derive(Debug, Clone)]
pub(crate) struct Decoded {
    pub(crate) object: Object,
    pub(crate) warnings: Vec<String>,
    /// As managedFields, which the object has no more.
    pub(crate) sent: RequestedFields,
    pub(crate) hidden: Hidden,
}

/// What the one form of a custom object does not show of what a client has sent, and the real
/// server's does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hidden {
    /// A whole number was written as a float, beside metadata and status: to Go that is another
    /// value, until it is stored.
    pub(crate) floats: bool,
    /// Something was left out of what was applied, or is another thing when it is read: it is
    /// stored as it was sent.
    pub(crate) pruned: bool,
    /// As `pruned`, of an empty list or map in the metadata.
    pub(crate) emptied: bool,
    /// A zero below zero was sent beside metadata and status: its sign is stored, and not read.
    pub(crate) sign: bool,
    /// As `sign`, in the status.
    pub(crate) sign_in_status: bool,
    /// The deletionTimestamp was Go's zero time, which is shown as null and is a time all the
    /// same.
    pub(crate) ends_at_zero: bool,
}

impl Hidden {
    /// Whether what is stored is another thing than what is read. `subresource`: that of the write,
    /// which leaves the metadata of a custom object alone.
    pub(crate) fn is_stored(self, kind: &Kind, subresource: Option<&str>) -> bool {
        let (emptied, signed) = match subresource {
            None => (self.emptied, self.sign || (self.sign_in_status && !kind.has_status())),
            Some(_) => (false, self.sign_in_status),
        };
        self.pruned || emptied || signed
    }
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

fn sent_owners(kind: &ServedResource, object: &Object) -> RequestedFields {
    match metadata::get(object, "managedFields") {
        // Of custom objects it is left out with all that is empty in the metadata.
        Some(Value::Array(none)) if none.is_empty() && !kind.is_built_in() => {
            RequestedFields::Unset
        }
        said => RequestedFields::of(said),
    }
}

/// JSON that says what it is, or does not.
pub(crate) fn json(kind: &ServedResource, bytes: &[u8]) -> Result<Value, Status> {
    let value =
        serde_json::from_slice(bytes).map_err(|error| unrecognized(kind, &error.to_string()))?;
    json_syntax::interpret(&value).map_err(|why| unrecognized(kind, &why))?;
    Ok(value)
}

/// A body of which it cannot be said what it is (`transformDecodeError` of
/// k8s.io/apiserver/pkg/endpoints/handlers).
fn unrecognized(kind: &ServedResource, why: &str) -> Status {
    let kind = kind.kind();
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why}"
    ))
}

/// An object that says to be of a version and a kind, and cannot be decoded.
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
        // What is not known is not looked into: nobody sees that it is there twice.
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
            // A custom object was decoded by then, and is taken for what it says.
            let expected = if kind.is_built_in() { kind.kind() } else { &of };
            return Err(refuse(expected, &why));
        }
    };
    // The version of a custom object is looked at when it has been decoded.
    if !kind.is_built_in() && version != kind.api_version() {
        return Err(Status::bad_request(other_version(&version, kind)).warned(&warnings));
    }
    Ok(Decoded { object, warnings, sent: owners, hidden })
}

/// Whether a member that is there twice is an unknown one, or in one: both as warnings have it.
fn is_within(twice: &str, unknown: &str) -> bool {
    let path = |warning: &str, prefix: &str| {
        warning.strip_prefix(prefix).and_then(|path| path.strip_suffix('"')).map(str::to_owned)
    };
    let (twice, unknown) = (path(twice, "duplicate field \""), path(unknown, "unknown field \""));
    let (Some(twice), Some(unknown)) = (twice, unknown) else { return false };
    twice.strip_prefix(&unknown).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// What made an object that a client has not sent as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A JSON patch, a merge patch or an admission hook.
    Document,
    /// A strategic merge patch.
    Strategic,
    /// An apply.
    Apply,
}

impl Origin {
    /// Of the patch that made it.
    pub(crate) const fn of(patch: &Patch) -> Self {
        if patch.is_strategic() { Self::Strategic } else { Self::Document }
    }

    fn refuse(self, why: &str) -> Status {
        match self {
            Self::Document | Self::Strategic => Status::invalid_patch(why),
            Self::Apply => {
                Status::unknown(format!("the applied configuration cannot be decoded: {why}"))
            }
        }
    }
}

/// Decodes what a patch made of an object: wrong types are then the patch's fault. `duplicates`: in
/// the patch itself.
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
        // An apply has said what it is.
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

/// An object's one form, and which members of it the kind does not know.
struct Canonical {
    object: Object,
    unknown: Vec<String>,
    hidden: Hidden,
}

/// The object's one form; or why it cannot be decoded. `origin`: of what a patch has made.
fn canonical(
    kind: &ServedResource,
    mut object: Object,
    origin: Option<Origin>,
) -> Result<Canonical, String> {
    let types = [("apiVersion", kind.api_version()), ("kind", kind.kind().to_owned())];
    let types = types.map(|(member, own)| {
        let said = object.remove(member);
        (
            member,
            said.filter(|said| said.as_str().is_some_and(|said| !said.is_empty() && *said != own)),
        )
    });
    let mut unknown = Vec::new();
    let end = object.get("metadata").and_then(|metadata| metadata.get("deletionTimestamp"));
    let ends_at_zero =
        end.and_then(Value::as_str).is_some_and(|end| time::seconds(end) == Ok(Value::Null));
    let mut hidden = Hidden { ends_at_zero, ..Hidden::default() };
    if !kind.is_built_in() {
        let is_apply = origin == Some(Origin::Apply);
        let of_other_group = types[0].1.as_ref().and_then(Value::as_str).is_some_and(|version| {
            version.split_once('/').map_or("", |(group, _)| group) != kind.group()
        });
        if let Some(mut sent) = object.remove("metadata").filter(|metadata| !metadata.is_null()) {
            let before = is_apply.then(|| sent.clone());
            // Of another version than the stored one it is left out on the way there, or cannot go
            // there.
            let stays = kind.definition().is_none_or(|definition| definition.is_stored);
            if is_apply {
                remove_unreadable(&mut sent, stays);
            }
            let known = canonical_metadata(sent, "metadata", &mut unknown)?;
            hidden.emptied = stays && before.is_some_and(|sent| shrinks(&sent, &known));
            object.insert("metadata".to_owned(), known);
        }
        for (name, value) in &mut object {
            match name.as_str() {
                "metadata" => {}
                "status" => hidden.sign_in_status |= has_sign_of_zero(value),
                _ => hidden.sign |= has_sign_of_zero(value),
            }
            let shortened = shorten_numbers(value);
            // All numbers of an apply are floats to Go, and nobody takes notice.
            hidden.floats |=
                shortened && !is_apply && !matches!(name.as_str(), "metadata" | "status");
        }
        match kind.definition() {
            Some(definition) if is_apply => hidden.pruned = definition.applied(&mut object),
            // Nobody holds what says to be of another kind, or of another group, to the schema of
            // this one.
            Some(_) if types[1].1.is_some() || of_other_group => {}
            Some(definition) => unknown.append(&mut definition.decode(&mut object)?),
            None => {}
        }
        metadata::normalize(&mut object);
        let others =
            types.into_iter().filter_map(|(member, said)| Some((member.to_owned(), said?)));
        object.extend(others);
        return Ok(Canonical { object, unknown, hidden });
    }
    // Bytes of null are stored otherwise than none, as which they are read.
    let bytes = kind.strategy().bytes_member().and_then(|member| object.get(member));
    hidden.pruned =
        bytes.and_then(Value::as_object).is_some_and(|all| all.values().any(Value::is_null));
    let source = match origin {
        None | Some(Origin::Document) => Source::Json,
        Some(Origin::Strategic | Origin::Apply) => Source::Map,
    };
    let mut object = kind.canonical(object, source, &mut unknown)?;
    metadata::normalize(&mut object);
    Ok(Canonical { object, unknown, hidden })
}

/// Times and numbers in the metadata of custom objects are read out of what was applied where they
/// are wanted: what is none is as good as absent. What the server does not set itself has to be
/// converted first, unless it `stays` in its version.
fn remove_unreadable(metadata: &mut Value, stays: bool) {
    let Value::Object(members) = metadata else { return };
    let is_time = |value: &Value| value.as_str().is_some_and(|time| time::seconds(time).is_ok());
    members.retain(|name, value| match name.as_str() {
        "creationTimestamp" => is_time(value),
        "deletionTimestamp" => !stays || is_time(value),
        "generation" => value.is_i64(),
        "deletionGracePeriodSeconds" => !stays || value.is_i64(),
        _ => true,
    });
}

/// Whether metadata have members that their one form does not have, beside those that the server
/// sets.
fn shrinks(sent: &Value, known: &Value) -> bool {
    const SET: [&str; 8] = [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "selfLink",
        "managedFields",
    ];
    let mut sent = sent.as_object().into_iter().flatten();
    sent.any(|(name, value)| !SET.contains(&&**name) && known.get(name) != Some(value))
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
