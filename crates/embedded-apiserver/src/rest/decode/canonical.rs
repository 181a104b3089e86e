//! The canonical form of an object that a client or a patch has made.

use serde_json::Value;

use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::api::status::Status;
use crate::rest::patches::Patch;
use crate::strategy::resource::ServedResource;
use crate::strategy::shape::{Source, metadata as canonical_metadata};
use k8s_value::go_json::{has_sign_of_zero, shorten_numbers};
use k8s_value::time;

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

    pub(super) fn refuse(self, why: &str) -> Status {
        match self {
            Self::Document | Self::Strategic => Status::invalid_patch(why),
            Self::Apply => {
                Status::unknown(format!("the applied configuration cannot be decoded: {why}"))
            }
        }
    }
}

/// An object's one form, and which members of it the kind does not know.
pub(super) struct Canonical {
    pub(super) object: Object,
    pub(super) unknown: Vec<String>,
    pub(super) hidden: Hidden,
}

/// The object's one form; or why it cannot be decoded. `origin`: of what a patch has made.
pub(super) fn canonical(
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
