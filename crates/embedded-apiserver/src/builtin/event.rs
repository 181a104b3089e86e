//! Event has two groups and one table: objects are stored in core/v1's form, and shown in events.k8s.io/v1's there.

use std::borrow::Cow;

use crate::builtin::Builtin;
use crate::kind::Kind;
use crate::metadata::Object;

/// Members by their name in core/v1 and in events.k8s.io/v1; the others are called the same.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The table that both groups of Event share.
#[cfg(feature = "actors")]
pub(crate) const STORAGE: &str = "/events";

pub(crate) fn is_events_v1(kind: &Kind) -> bool {
    kind.builtin == Some(Builtin::EventV1)
}

/// From the stored form to the one of events.k8s.io/v1.
pub(crate) fn to_events_v1(mut object: Object) -> Object {
    for (core, v1) in NAMES {
        if let Some(value) = object.remove(core) {
            object.insert(v1.to_owned(), value);
        }
    }
    // Left out there when they are empty.
    for member in ["reportingController", "reportingInstance"] {
        if object.get(member).is_some_and(|value| *value == "") {
            object.remove(member);
        }
    }
    object
}

/// From the form of events.k8s.io/v1 to the stored one.
pub(crate) fn from_events_v1(mut object: Object) -> Object {
    for (core, v1) in NAMES {
        if let Some(value) = object.remove(v1) {
            object.insert(core.to_owned(), value);
        }
    }
    // Not optional in core/v1.
    object.entry("involvedObject").or_insert_with(|| Object::new().into());
    for member in ["reportingComponent", "reportingInstance"] {
        object.entry(member).or_insert_with(|| "".into());
    }
    object
}

/// Where a selectable field of a kind is in the stored form.
pub(crate) fn stored_path<'a>(kind: &Kind, path: &'a str) -> Cow<'a, str> {
    if !is_events_v1(kind) {
        return path.into();
    }
    match path {
        "reportingController" => "reportingComponent".into(),
        _ => match path.strip_prefix("regarding.") {
            Some(rest) => format!("involvedObject.{rest}").into(),
            None => path.into(),
        },
    }
}
