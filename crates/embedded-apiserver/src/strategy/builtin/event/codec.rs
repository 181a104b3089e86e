//! Event has two groups and one table: objects are stored in the form of core/v1.

use std::borrow::Cow;

use serde_json::Value;

use crate::api::kind::{Codec, field_text};
use crate::api::metadata::Object;

/// The members with different names in core/v1 and events.k8s.io/v1.
pub(super) const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Events of core/v1: shown as stored.
#[derive(Debug)]
pub(super) struct CoreEvent;

/// Events of events.k8s.io/v1.
#[derive(Debug)]
pub(super) struct Event;

impl Codec for CoreEvent {
    fn selectable_value(&self, object: &Value, path: &str) -> Option<String> {
        reporter(object).filter(|_| path == "source")
    }
}

impl Codec for Event {
    fn converts(&self, _revision: u64) -> bool {
        true
    }

    fn to_version(&self, mut object: Object, _revision: u64) -> Object {
        for (core, v1) in NAMES {
            if let Some(value) = object.remove(core) {
                object.insert(v1.to_owned(), value);
            }
        }
        // events.k8s.io omits them when they are empty.
        for member in ["reportingController", "reportingInstance"] {
            if object.get(member).is_some_and(|value| *value == "") {
                object.remove(member);
            }
        }
        object
    }

    fn to_storage(&self, mut object: Object) -> Object {
        for (core, v1) in NAMES {
            if let Some(value) = object.remove(v1) {
                object.insert(core.to_owned(), value);
            }
        }
        // Required in core/v1.
        object.entry("involvedObject").or_insert_with(|| Object::new().into());
        for member in ["reportingComponent", "reportingInstance"] {
            object.entry(member).or_insert_with(|| "".into());
        }
        object
    }

    fn stored_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match path {
            "reportingController" => "reportingComponent".into(),
            _ => match path.strip_prefix("regarding.") {
                Some(rest) => format!("involvedObject.{rest}").into(),
                None => path.into(),
            },
        }
    }

    fn selectable_value(&self, object: &Value, path: &str) -> Option<String> {
        reporter(object).filter(|_| path == "source")
    }
}

/// The reporter of a stored Event: the older member first.
fn reporter(object: &Value) -> Option<String> {
    let reporters = ["source.component", "reportingComponent"].map(|path| field_text(object, path));
    reporters.into_iter().find(|reporter| !reporter.is_empty())
}
