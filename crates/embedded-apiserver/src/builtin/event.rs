//! Event has two groups and one table: objects are stored in core/v1's form, and shown in
//! events.k8s.io/v1's there. And its rules, of which the younger group has more.

use std::borrow::Cow;

use serde_json::Value;

use crate::builtin::Builtin;
use crate::builtin::rules::{at, text};
use crate::kind::{Codec, field_text};
use crate::metadata::{self, Object};
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;

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

/// Events of core/v1: they are stored as they are shown.
#[derive(Debug)]
pub(super) struct Reporters;

/// Events of events.k8s.io/v1.
#[derive(Debug)]
pub(super) struct EventsV1;

impl Codec for Reporters {
    fn converts(&self, _revision: u64) -> bool {
        false
    }

    fn to_version(&self, object: Object, _revision: u64) -> Object {
        object
    }

    fn to_storage(&self, object: Object) -> Object {
        object
    }

    fn selectable_value(&self, object: &Value, path: &str) -> Option<String> {
        reporter(object).filter(|_| path == "source")
    }
}

impl Codec for EventsV1 {
    fn converts(&self, _revision: u64) -> bool {
        true
    }

    fn to_version(&self, mut object: Object, _revision: u64) -> Object {
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

    fn to_storage(&self, mut object: Object) -> Object {
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

/// Who has reported a stored Event: the older member first.
fn reporter(object: &Value) -> Option<String> {
    let reporters = ["source.component", "reportingComponent"].map(|path| field_text(object, path));
    reporters.into_iter().find(|reporter| !reporter.is_empty())
}

/// As `legacyValidateEvent` and `ValidateEventCreate` of pkg/apis/core/validation/events.go.
pub(crate) fn check(
    builtin: Builtin,
    object: &Object,
    old: Option<&Object>,
    causes: &mut FieldErrors,
) {
    let is_v1 = builtin == Builtin::EventV1;
    check_old_rules(is_v1, object, causes);
    if is_v1 {
        if old.is_none_or(|old| old.get("series") != object.get("series")) {
            check_series(object, causes);
        }
        if old.is_none() {
            check_creation(object, causes);
        }
    }
}

fn check_old_rules(is_v1: bool, object: &Object, causes: &mut FieldErrors) {
    let name = |core, v1| if is_v1 { v1 } else { core };
    let of_object = text(object, name("involvedObject.namespace", "regarding.namespace"));
    let namespace = metadata::text(object, "namespace");
    let is_new = at(object, "eventTime").is_some();
    // Events about objects of cluster scope are kept in `default`; new ones, also in kube-system.
    let fits = match (is_new, of_object) {
        (false, "") => namespace == "default",
        (false, of_object) => of_object == namespace,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !fits {
        causes.push(FieldError::invalid(
            "involvedObject.namespace",
            of_object,
            "does not match event.namespace",
        ));
    }
    if !is_new {
        return;
    }
    let reporter = name("reportingComponent", "reportingController");
    let require = |member: &str, most: usize, causes: &mut FieldErrors| {
        let value = text(object, member);
        if value.is_empty() {
            causes.push(FieldError::required(member, ""));
        }
        if value.len() > most {
            let why = format!("can have at most {most} characters");
            causes.push(FieldError::invalid(member, "", &why));
        }
    };
    require(reporter, usize::MAX, causes);
    for why in names::wrongs_of_qualified_name(text(object, reporter)) {
        causes.push(FieldError::invalid(reporter, text(object, reporter), why));
    }
    for member in ["reportingInstance", "action", "reason"] {
        require(member, 128, causes);
    }
    if text(object, name("message", "note")).len() > 1024 {
        causes.push(FieldError::invalid("message", "", "can have at most 1024 characters"));
    }
}

/// What of an Event only its creation says, in the order in which the real server looks; its series
/// may be added and counted up.
const STAYS: [(&str, Zero); 13] = [
    ("regarding", Zero::Reference),
    ("reason", Zero::Text),
    ("note", Zero::Text),
    ("deprecatedSource", Zero::Source),
    ("deprecatedFirstTimestamp", Zero::Null),
    ("deprecatedLastTimestamp", Zero::Null),
    ("deprecatedCount", Zero::Number),
    ("type", Zero::Text),
    ("eventTime", Zero::Null),
    ("action", Zero::Text),
    ("related", Zero::Null),
    ("reportingController", Zero::Text),
    ("reportingInstance", Zero::Text),
];

/// What Go has of a member that is not there.
#[derive(Clone, Copy)]
enum Zero {
    Null,
    Number,
    Text,
    Reference,
    Source,
}

/// As `ValidateEventUpdate`: what is wrong is said by its name in core/v1, but for who reports.
pub(super) fn check_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    for (member, zero) in STAYS {
        let value = object.get(member).unwrap_or(&Value::Null);
        if value == old.get(member).unwrap_or(&Value::Null) {
            continue;
        }
        let shown = match (zero, value) {
            (Zero::Null, Value::Object(_)) | (Zero::Reference, _) => as_in_go(value, &REFERENCE),
            (Zero::Source, _) => as_in_go(value, &[("Component", "component"), ("Host", "host")]),
            (Zero::Number, Value::Null) => "0".to_owned(),
            (Zero::Text, Value::Null) => "\"\"".to_owned(),
            (_, value) => value.to_string(),
        };
        let name = NAMES.iter().find(|(_, v1)| *v1 == member && member != "reportingController");
        let field = name.map_or(member, |(core, _)| core);
        causes.push(FieldError::invalid_shown(field, &shown, "field is immutable"));
    }
}

/// The members of `ObjectReference`, by their names in Go and in JSON.
const REFERENCE: [(&str, &str); 7] = [
    ("Kind", "kind"),
    ("Namespace", "namespace"),
    ("Name", "name"),
    ("UID", "uid"),
    ("APIVersion", "apiVersion"),
    ("ResourceVersion", "resourceVersion"),
    ("FieldPath", "fieldPath"),
];

/// Texts as Go shows a structure of its own.
fn as_in_go(value: &Value, members: &[(&str, &str)]) -> String {
    let text = |member: &str| value.get(member).cloned().unwrap_or_else(|| "".into());
    let members: Vec<_> =
        members.iter().map(|(go, json)| format!("\"{go}\":{}", text(json))).collect();
    format!("{{{}}}", members.join(","))
}

fn check_series(object: &Object, causes: &mut FieldErrors) {
    let Some(series) = object.get("series").and_then(Value::as_object) else { return };
    if series.get("count").and_then(Value::as_i64).unwrap_or(0) < 2 {
        causes.push(FieldError::invalid("series.count", "", "should be at least 2"));
    }
    if series.get("lastObservedTime").is_none_or(Value::is_null) {
        causes.push(FieldError::required("series.lastObservedTime", ""));
    }
}

fn check_creation(object: &Object, causes: &mut FieldErrors) {
    if at(object, "eventTime").is_none() {
        causes.push(FieldError::required("eventTime", ""));
    }
    let said = text(object, "type");
    if !matches!(said, "Normal" | "Warning") {
        causes.push(FieldError::invalid("type", "", &format!("has invalid value: {said}")));
    }
    // By their names in core/v1.
    for (core, v1) in NAMES {
        let is_old = matches!(core, "firstTimestamp" | "lastTimestamp" | "count" | "source");
        let is_set = |value: &Value| match value {
            Value::Object(members) => !members.is_empty(),
            other => !other.is_null() && *other != 0,
        };
        if is_old && object.get(v1).is_some_and(is_set) {
            causes.push(FieldError::invalid(core, "", "needs to be unset"));
        }
    }
}
