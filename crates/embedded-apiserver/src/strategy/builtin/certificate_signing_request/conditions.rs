//! The conditions of a CertificateSigningRequest: their writers, and the times of their changes.

use jiff::Timestamp;
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::clock;
use crate::api::metadata::Object;
use crate::strategy::builtin::cells::list;
use crate::strategy::builtin::members::{at, items, objects, said, set_missing};

const PATH: &str = "status.conditions";
/// The conditions that only the subresource `approval` may set.
const APPROVAL: [&str; 2] = ["Approved", "Denied"];
/// The conditions that are true, or not there.
const KNOWN: [&str; 3] = ["Approved", "Denied", "Failed"];

fn of_type<'a>(object: &'a Object, kind: &str) -> Vec<&'a Value> {
    let all = at(object, PATH).and_then(Value::as_array).into_iter().flatten();
    all.filter(|condition| said(condition, "type") == kind).collect()
}

/// Puts back the conditions of the approval, unless their number has changed.
#[doc(alias = "preserveConditionInstances")]
pub(super) fn keep_approval(object: &mut Object, old: &Object) {
    for kind in APPROVAL {
        let before: Vec<Value> = of_type(old, kind).into_iter().cloned().collect();
        if of_type(object, kind).len() != before.len() {
            continue;
        }
        let all = object.get_mut("status").and_then(|status| status.get_mut("conditions"));
        let all = all.and_then(Value::as_array_mut).into_iter().flatten();
        let same = all.filter(|condition| said(condition, "type") == kind);
        same.zip(before).for_each(|(condition, before)| *condition = before);
    }
}

/// Sets the times that the client has left out.
#[doc(alias = "populateConditionTimestamps")]
pub(super) fn set_times(object: &mut Object, old: &Object, now: Timestamp) {
    let now = clock::seconds(now);
    let before = Value::Object(old.clone());
    let all = object.get_mut("status").and_then(|status| status.get_mut("conditions"));
    for condition in objects(all) {
        let (kind, status) = (condition.get("type").cloned(), condition.get("status").cloned());
        let same = list(&before, "/status/conditions").iter().find(|before| {
            before.get("type") == kind.as_ref()
                && before.get("status") == status.as_ref()
                && before["lastTransitionTime"].is_string()
        });
        let changed = same.map_or_else(|| json!(now), |same| same["lastTransitionTime"].clone());
        set_missing(condition, &[("lastUpdateTime", json!(now)), ("lastTransitionTime", changed)]);
    }
}

#[doc(alias = "validateConditions")]
pub(super) fn validate(object: &Object, old: Option<&Object>, causes: &mut FieldErrors) {
    let had = |kind| old.is_some_and(|old| !of_type(old, kind).is_empty());
    let may_contradict = had("Approved") && had("Denied");
    let mut seen: Vec<&str> = Vec::new();
    for (path, condition) in items(at(object, PATH), PATH) {
        let (kind, status) = (said(condition, "type"), said(condition, "status"));
        if kind.is_empty() {
            causes.push(FieldError::required(format!("{path}.type"), ""));
        }
        let states: &[&str] =
            if KNOWN.contains(&kind) { &["True"] } else { &["False", "True", "Unknown"] };
        if status.is_empty() {
            causes.push(FieldError::required(format!("{path}.status"), ""));
        } else if !states.contains(&status) {
            causes.push(FieldError::unsupported(format!("{path}.status"), status, states));
        }
        let contradicts = APPROVAL.contains(&kind)
            && APPROVAL.iter().any(|other| *other != kind && seen.contains(other));
        if contradicts && !may_contradict {
            let why = "Approved and Denied conditions are mutually exclusive";
            causes.push(FieldError::invalid(PATH, kind, why));
        }
        if seen.contains(&kind) {
            causes.push(FieldError::duplicate(format!("{path}.type"), &kind.into()));
        }
        seen.push(kind);
    }
}

/// The conditions of the approval stay, and only the subresource `approval` adds them.
#[doc(alias = "validateCertificateSigningRequestUpdate")]
pub(super) fn validate_change(
    object: &Object,
    old: &Object,
    subresource: Option<&str>,
    causes: &mut FieldErrors,
) {
    for kind in KNOWN {
        if of_type(object, kind).len() < of_type(old, kind).len() {
            let why = format!("updates may not remove a condition of type {kind:?}");
            causes.push(FieldError::forbidden(PATH, &why));
        }
    }
    if subresource == Some("approval") {
        return;
    }
    for kind in APPROVAL {
        if of_type(object, kind).len() > of_type(old, kind).len() {
            let why = format!("updates may not add a condition of type {kind:?}");
            causes.push(FieldError::forbidden(PATH, &why));
        }
    }
}
