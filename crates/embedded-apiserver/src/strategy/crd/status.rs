//! The status that Kubernetes' controllers write for a definition: names and conditions
//! (pkg/controller/status, establish, finalizer of k8s.io/apiextensions-apiserver). Pure.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::crd::conversion_check::has_invalid_ca_bundle;
use crate::strategy::crd::members::is_true;
use crate::strategy::crd::members::{list, text};
use crate::strategy::crd::{CLEANUP, check};

/// The wanted condition.
#[derive(Debug, Clone, Copy)]
struct Condition<'a> {
    name: &'a str,
    holds: bool,
    reason: &'a str,
    message: &'a str,
}

fn set(object: &mut Object, condition: Condition<'_>, now: &str) {
    let status = object.entry("status").or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    let holds = if condition.holds { "True" } else { "False" };
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter_mut().find(|known| text(known, "type") == condition.name);
    match found {
        Some(known) => {
            if text(known, "status") != holds {
                known["lastTransitionTime"] = now.into();
            }
            known["status"] = holds.into();
            known["reason"] = condition.reason.into();
            known["message"] = condition.message.into();
        }
        None => conditions.push(json!({
            "type": condition.name, "status": holds, "lastTransitionTime": now,
            "reason": condition.reason, "message": condition.message,
        })),
    }
    status["conditions"] = conditions.into();
}

/// The next write of a controller. `None` when the status is complete.
///
/// `all`: all definitions of the group, with this one. Their accepted names are taken.
pub(crate) fn next(object: &Object, all: &[Object], now: &str) -> Option<Object> {
    let mut new = object.clone();
    accept_names(&mut new, all, now);
    if new != *object {
        return Some(new);
    }
    let group = object.get("spec").map_or("", |spec| text(spec, "group"));
    if check::is_protected(group) {
        approve(&mut new, now);
        if new != *object {
            return Some(new);
        }
    }
    if is_true(object, "NamesAccepted") && !is_true(object, "Established") {
        let unreadable = has_invalid_ca_bundle(object);
        let (reason, message) = match unreadable {
            true => ("InvalidCABundle", "The conversion webhook CABundle is invalid"),
            false => ("InitialNamesAccepted", "the initial names have been accepted"),
        };
        let condition = Condition { name: "Established", holds: !unreadable, reason, message };
        set(&mut new, condition, now);
        return (new != *object).then_some(new);
    }
    None
}

fn approve(object: &mut Object, now: &str) {
    let annotation =
        metadata::get(object, "annotations").and_then(|all| all.get("api-approved.kubernetes.io"));
    let annotation = annotation.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (holds, reason, message) = if annotation.starts_with("unapproved") {
        (false, "UnapprovedAnnotation", format!("not approved: {annotation:?}"))
    } else {
        (true, "ApprovedAnnotation", format!("approved in {annotation}"))
    };
    let name = "KubernetesAPIApprovalPolicyConformant";
    set(object, Condition { name, holds, reason, message: &message }, now);
}

fn accept_names(object: &mut Object, all: &[Object], now: &str) {
    let wanted = object.get("spec").and_then(|spec| spec.get("names")).cloned().unwrap_or_default();
    let accepted = object
        .get("status")
        .and_then(|status| status.get("acceptedNames"))
        .cloned()
        .unwrap_or_default();
    if NAMES.iter().all(|name| same_name(&wanted, &accepted, name)) {
        return;
    }
    let (mut resources, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for other in all {
        let Some(names) = other.get("status").and_then(|status| status.get("acceptedNames")) else {
            continue;
        };
        resources.extend(["plural", "singular"].map(|name| text(names, name).to_owned()));
        resources
            .extend(list(names, "shortNames").iter().filter_map(Value::as_str).map(str::to_owned));
        kinds.extend(["kind", "listKind"].map(|name| text(names, name).to_owned()));
    }
    let mut new = accepted.clone();
    if !new.is_object() {
        new = json!({});
    }
    let mut refused = None;
    let taken = |name: &str| format!("{name:?} is already in use");
    for (name, used, reason) in [
        ("plural", &resources, "PluralConflict"),
        ("singular", &resources, "SingularConflict"),
        ("shortNames", &resources, "ShortNamesConflict"),
        ("kind", &kinds, "KindConflict"),
        ("listKind", &kinds, "ListKindConflict"),
    ] {
        if name == "shortNames" {
            if same_name(&wanted, &accepted, name) {
                continue;
            }
            let own = list(&accepted, name);
            let fresh = list(&wanted, name)
                .iter()
                .filter(|name| !own.contains(name))
                .filter_map(Value::as_str);
            let conflicts: Vec<_> = fresh.filter(|name| used.contains(*name)).map(taken).collect();
            match &conflicts[..] {
                [] => put(&mut new, &wanted, name),
                [one] => refused = Some((reason, one.clone())),
                several => refused = Some((reason, format!("[{}]", several.join(", ")))),
            }
            continue;
        }
        let (want, have) = (text(&wanted, name), text(&accepted, name));
        if want != have && used.contains(want) {
            refused = Some((reason, taken(want)));
        } else {
            put(&mut new, &wanted, name);
        }
    }
    put(&mut new, &wanted, "categories");
    let (holds, reason, message) = match &refused {
        Some((reason, message)) => (false, *reason, message.as_str()),
        None => (true, "NoConflicts", "no conflicts found"),
    };
    let old = object.clone();
    if let Some(Value::Object(status)) = object.get_mut("status") {
        status.insert("acceptedNames".to_owned(), new);
    }
    set(object, Condition { name: "NamesAccepted", holds, reason, message }, now);
    if !is_true(&old, "Established") {
        let known = old.get("status").is_some_and(|status| {
            list(status, "conditions")
                .iter()
                .any(|condition| text(condition, "type") == "Established")
        });
        if holds {
            let message = "the initial names have been accepted";
            set(
                object,
                Condition { name: "Established", holds: false, reason: "Installing", message },
                now,
            );
        } else if !known {
            let message = "not all names are accepted";
            set(
                object,
                Condition { name: "Established", holds: false, reason: "NotAccepted", message },
                now,
            );
        }
    }
}

const NAMES: [&str; 6] = ["plural", "singular", "shortNames", "kind", "listKind", "categories"];

/// Whether a name, or a list of names, is the same. An empty list equals an absent one.
fn same_name(a: &Value, b: &Value, name: &str) -> bool {
    list(a, name) == list(b, name) && text(a, name) == text(b, name)
}

fn put(into: &mut Value, from: &Value, name: &str) {
    let value =
        from.get(name).filter(|value| !matches!(value, Value::Array(names) if names.is_empty()));
    match value {
        Some(value) => into[name] = value.clone(),
        None => {
            if let Value::Object(into) = into {
                into.remove(name);
            }
        }
    }
}

/// The first DELETE: the definition stays until its objects are deleted.
pub(crate) fn mark_deleted(object: &mut Object, now: &str) {
    metadata::set(object, "deletionTimestamp", now);
    let mut finalizers: Vec<String> =
        metadata::finalizers(object).into_iter().map(str::to_owned).collect();
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
    }
    metadata::set(object, "finalizers", finalizers);
    let message =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    let condition =
        Condition { name: "Terminating", holds: true, reason: "InstanceDeletionPending", message };
    set(object, condition, now);
}

/// Whether this server must still delete the objects of a definition.
pub(crate) fn is_cleaning_up(object: &Object) -> bool {
    metadata::is_being_deleted(object) && metadata::finalizers(object).contains(&CLEANUP)
}

/// Begins the deletion of the objects.
pub(crate) fn begin_clean_up(object: &mut Object, now: &str) {
    let message = "CustomResource deletion is in progress";
    let condition = Condition {
        name: "Terminating",
        holds: true,
        reason: "InstanceDeletionInProgress",
        message,
    };
    set(object, condition, now);
}

/// Ends the deletion of the objects, or reports that there were none.
pub(crate) fn end_clean_up(object: &mut Object, now: &str) {
    let (reason, message) = if is_true(object, "Established") {
        ("InstanceDeletionCompleted", "removed all instances")
    } else {
        ("NeverEstablished", "resource was never established")
    };
    set(object, Condition { name: "Terminating", holds: false, reason, message }, now);
    let finalizers: Vec<String> = metadata::finalizers(object)
        .into_iter()
        .filter(|f| *f != CLEANUP)
        .map(str::to_owned)
        .collect();
    if finalizers.is_empty() {
        metadata::of(object).remove("finalizers");
    } else {
        metadata::set(object, "finalizers", finalizers);
    }
}
