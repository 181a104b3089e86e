//! Events of both groups. `events.k8s.io` has more rules.

mod cells;
mod codec;

use std::sync::Arc;

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::either;
use crate::strategy::builtin::event::codec::{CoreEvent, Event, NAMES};
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::wrong_path_name;
use crate::strategy::columns::Cell::{Made, Member, Since};
use crate::strategy::columns::{Column, column, wide};
use crate::strategy::{Dependents, Strategy, Write};

/// The table that both groups of Event share.
#[cfg(feature = "actors")]
pub(crate) const STORAGE: &str = "/events";

pub(super) static CORE_EVENT: Row = Row {
    kind: "Event",
    plural: "events",
    short_names: &["ev"],
    selectable: &[
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "type",
        "source",
    ],
    codec: Some(|| Arc::new(CoreEvent)),
    strategy: &CoreEvent,
    ..NAMESPACED
};

pub(super) static EVENT: Row = Row {
    group: "events.k8s.io",
    kind: "Event",
    plural: "events",
    short_names: &["ev"],
    selectable: &[
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reason",
        "reportingController",
        "type",
    ],
    older_group: Some(""),
    codec: Some(|| Arc::new(Event)),
    strategy: &Event,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    column(
        "Last Seen",
        Since(&[
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/deprecatedLastTimestamp",
            "/eventTime",
        ]),
    ),
    column("Type", Member("/type", "")),
    column("Reason", Member("/reason", "")),
    column("Object", Made(cells::object)),
    wide(
        "Subobject",
        Made(|event| either(event, "/involvedObject/fieldPath", "/regarding/fieldPath")),
    ),
    wide("Source", Made(cells::source)),
    column("Message", Made(|event| either(event, "/message", "/note"))),
    wide("First Seen", Since(&["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"])),
    wide("Count", Made(cells::count)),
    wide("Name", Member("/metadata/name", "")),
];

impl Strategy for CoreEvent {
    fn validate_name(&self, name: &str) -> Option<&'static str> {
        wrong_path_name(name)
    }

    /// The generateName may begin with dots: more text follows.
    fn validate_generate_name(&self, prefix: &str) -> Vec<&'static str> {
        names::wrongs_of_path_prefix(prefix).collect()
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        validate_old_rules(false, object, causes);
        if write.old.is_none() {
            causes.metadata_last();
        }
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn has_watch_cache(&self) -> bool {
        false
    }

    fn dependents(&self) -> Dependents {
        Dependents::Unsupported
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

impl Strategy for Event {
    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        validate_old_rules(true, object, causes);
        if write.old.is_none_or(|old| old.get("series") != object.get("series")) {
            validate_series(object, causes);
        }
        if write.old.is_none() {
            validate_creation(object, causes);
        }
    }

    /// Through core/v1 an Event may change: old recorders increase its count.
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validate_change(object, old, causes);
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn has_watch_cache(&self) -> bool {
        false
    }

    fn dependents(&self) -> Dependents {
        Dependents::Unsupported
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Checks the rules of both groups.
#[doc(alias = "legacyValidateEvent")]
fn validate_old_rules(is_v1: bool, object: &Object, causes: &mut FieldErrors) {
    let name = |core, v1| if is_v1 { v1 } else { core };
    let of_object = text(object, name("involvedObject.namespace", "regarding.namespace"));
    let namespace = metadata::text(object, "namespace");
    let is_new = at(object, "eventTime").is_some();
    // Events about cluster-scoped objects are in `default`; new ones may also be in kube-system.
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

/// The members that are immutable, in the order of their checks.
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

/// Go's zero value of a missing member.
#[derive(Clone, Copy)]
enum Zero {
    Null,
    Number,
    Text,
    Reference,
    Source,
}

/// Names members as core/v1 does, except for the reporter.
#[doc(alias = "ValidateEventUpdate")]
fn validate_change(object: &Object, old: &Object, causes: &mut FieldErrors) {
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

/// A structure of texts, as Go shows it.
fn as_in_go(value: &Value, members: &[(&str, &str)]) -> String {
    let text = |member: &str| value.get(member).cloned().unwrap_or_else(|| "".into());
    let members: Vec<_> =
        members.iter().map(|(go, json)| format!("\"{go}\":{}", text(json))).collect();
    format!("{{{}}}", members.join(","))
}

fn validate_series(object: &Object, causes: &mut FieldErrors) {
    let Some(series) = object.get("series").and_then(Value::as_object) else { return };
    if series.get("count").and_then(Value::as_i64).unwrap_or(0) < 2 {
        causes.push(FieldError::invalid("series.count", "", "should be at least 2"));
    }
    if series.get("lastObservedTime").is_none_or(Value::is_null) {
        causes.push(FieldError::required("series.lastObservedTime", ""));
    }
}

#[doc(alias = "ValidateEventCreate")]
fn validate_creation(object: &Object, causes: &mut FieldErrors) {
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
