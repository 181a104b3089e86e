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

/// Details of a sent custom object that upstream keeps and the canonical form here drops.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hidden {
    /// A whole number outside of metadata and status was written as a float. Go compares it as a
    /// different value until it is stored.
    pub(crate) floats: bool,
    /// An applied object is stored as it was sent, and reads differently.
    pub(crate) pruned: bool,
    /// As `pruned`, for an empty list or map in the metadata.
    pub(crate) emptied: bool,
    /// A negative zero outside of metadata and status: stored with its sign, read without.
    pub(crate) sign: bool,
    /// As `sign`, in the status.
    pub(crate) sign_in_status: bool,
    /// The deletionTimestamp was Go's zero time: null in the output, and still set.
    pub(crate) ends_at_zero: bool,
}

impl Hidden {
    /// Whether an object reads differently from its stored form. A write to a `subresource` leaves
    /// the metadata of custom objects alone.
    pub(crate) fn is_stored(self, kind: &Kind, subresource: Option<&str>) -> bool {
        let (emptied, signed) = match subresource {
            None => (self.emptied, self.sign || (self.sign_in_status && !kind.has_status())),
            Some(_) => (false, self.sign_in_status),
        };
        self.pruned || emptied || signed
    }
}

/// The source of an object that no client has sent as a whole.
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
    /// The origin of a patched object.
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

/// The canonical form of an object, and the warnings for its unknown fields.
pub(super) struct Canonical {
    pub(super) object: Object,
    pub(super) unknown: Vec<String>,
    pub(super) hidden: Hidden,
}

/// Returns the canonical form, or why the object cannot be decoded. `origin`: `None` for a request
/// body.
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
            // Conversion to the stored version drops it, or fails.
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
            // Go reads every number of an apply as a float.
            hidden.floats |=
                shortened && !is_apply && !matches!(name.as_str(), "metadata" | "status");
        }
        match kind.definition() {
            Some(definition) if is_apply => hidden.pruned = definition.applied(&mut object),
            // An object of another kind or group is not checked against this kind's schema.
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
    // Null bytes are stored unlike absent ones, and read the same.
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

/// Removes unreadable times and numbers from the metadata of an applied custom object. Fields that
/// the server does not set are kept for the conversion, unless the version is the stored one
/// (`stays`).
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

/// Whether the canonical metadata lack a sent member. Ignores members that the server sets.
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
