//! Which changes of a Pod's spec are refused.

use k8s_value::go_json::go_json;
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Map, Value};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{items, members, said};

type Members = Map<String, Value>;

const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Images and the deadline may change, tolerations may be added, scheduling gates be removed. A
/// gated Pod may get a closer choice of nodes.
#[doc(alias = "ValidatePodUpdate")]
pub(super) fn validate(object: &Object, old: &Object, causes: &mut FieldErrors) {
    let (mut new, was) = (members(object.get("spec")), members(old.get("spec")));
    for member in CONTAINERS {
        if list(&new, member).len() != list(&was, member).len() {
            let why = "pod updates may not add or remove containers";
            return causes.push(FieldError::forbidden(format!("spec.{member}"), why));
        }
    }
    if !is_deadline_allowed(&new, &was, causes) {
        return;
    }
    validate_tolerations(&new, &was, causes);
    validate_gates(&new, &was, causes);
    for member in CONTAINERS {
        let containers = new.get_mut(member).and_then(Value::as_array_mut).into_iter().flatten();
        for (container, old) in containers.zip(list(&was, member)) {
            if let (Some(container), Some(image)) = (container.as_object_mut(), old.get("image")) {
                container.insert("image".to_owned(), image.clone());
            }
        }
    }
    for member in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        keep(&mut new, &was, member);
    }
    let grace = |spec: &Members| spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace(&was).is_some_and(|seconds| seconds < 0) && grace(&new) == Some(1) {
        keep(&mut new, &was, "terminationGracePeriodSeconds");
    }
    if !list(&was, "schedulingGates").is_empty() {
        validate_node_selector(&new, &was, causes);
        keep(&mut new, &was, "nodeSelector");
        validate_node_affinity(&new, &was, causes);
        keep_node_affinity(&mut new, &was);
    }
    if new != was {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                   (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` \
                   (allow it to be set to 1 if it was previously negative)";
        causes.push(FieldError::forbidden("spec", why));
    }
}

fn list<'a>(spec: &'a Members, member: &str) -> &'a [Value] {
    spec.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Gives a member its old value.
fn keep(new: &mut Members, was: &Members, member: &str) {
    match was.get(member) {
        Some(value) => drop(new.insert(member.to_owned(), value.clone())),
        None => drop(new.remove(member)),
    }
}

/// Whether the deadline comes no later. If not, nothing else is checked.
fn is_deadline_allowed(new: &Members, was: &Members, causes: &mut FieldErrors) -> bool {
    let field = "spec.activeDeadlineSeconds";
    let deadline = |spec: &Members| spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    let why = match (deadline(new), deadline(was)) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            "must be between 0 and 2147483647, inclusive"
        }
        (Some(new), Some(was)) if new > was => "must be less than or equal to previous value",
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            causes.push(FieldError::invalid_json(field, &Value::Null, why));
            return true;
        }
        _ => return true,
    };
    causes.push(FieldError::invalid_json(field, &deadline(new).into(), why));
    false
}

/// Only the seconds of a toleration may change (`validateOnlyAddedTolerations`).
fn validate_tolerations(new: &Members, was: &Members, causes: &mut FieldErrors) {
    let timeless = |toleration: &Value| {
        let mut toleration = members(Some(toleration));
        toleration.remove("tolerationSeconds");
        toleration
    };
    let now: Vec<Members> = list(new, "tolerations").iter().map(timeless).collect();
    if !list(was, "tolerations").iter().all(|old| now.contains(&timeless(old))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(FieldError::forbidden("spec.tolerations", why));
    }
}

#[doc(alias = "validateOnlyDeletedSchedulingGates")]
fn validate_gates(new: &Members, was: &Members, causes: &mut FieldErrors) {
    let known: Vec<&str> =
        list(was, "schedulingGates").iter().map(|gate| said(gate, "name")).collect();
    for (path, gate) in items(new.get("schedulingGates"), "spec.schedulingGates") {
        let name = said(gate, "name");
        if !known.contains(&name) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            causes.push(FieldError::forbidden(format!("{path}.name"), &why));
        }
    }
}

#[doc(alias = "validateNodeSelectorMutation")]
fn validate_node_selector(new: &Members, was: &Members, causes: &mut FieldErrors) {
    let selector = |spec: &Members| members(spec.get("nodeSelector"));
    let now = selector(new);
    if selector(was).iter().any(|(key, value)| now.get(key) != Some(value)) {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        let shown = new.get("nodeSelector").unwrap_or(&Value::Null);
        causes.push(FieldError::invalid_json("spec.nodeSelector", shown, why));
    }
}

/// The required terms of the node affinity.
fn terms(spec: &Members) -> &[Value] {
    const PATH: &str =
        "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let terms = spec.get("affinity").and_then(|affinity| affinity.pointer(PATH));
    terms.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[doc(alias = "validateNodeAffinityMutation")]
fn validate_node_affinity(new: &Members, was: &Members, causes: &mut FieldErrors) {
    const FIELD: &str = "spec.affinity.nodeAffinity.\
        requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let (now, before) = (terms(new), terms(was));
    if before.is_empty() {
        return;
    }
    if now.len() != before.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let all = match now {
            [] => "null".to_owned(),
            all => format!("[{}]", all.iter().map(shown).collect::<Vec<_>>().join(",")),
        };
        return causes.push(FieldError::invalid_shown(FIELD, &all, why));
    }
    for (at, (now, before)) in now.iter().zip(before).enumerate() {
        if !has_only_additions(now, before) {
            let why = "only additions are allowed (no mutations or deletions)";
            causes.push(FieldError::invalid_shown(format!("{FIELD}[{at}]"), &shown(now), why));
        }
    }
}

#[doc(alias = "validateNodeSelectorTermHasOnlyAdditions")]
fn has_only_additions(now: &Value, before: &Value) -> bool {
    let of = |term: &Value, member: &str| {
        term.get(member).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let parts = ["matchExpressions", "matchFields"];
    // An empty term selects no node, and stays so.
    if parts.iter().all(|part| of(before, part).is_empty()) {
        return parts.iter().all(|part| of(now, part).is_empty());
    }
    parts.iter().all(|part| of(now, part).starts_with(&of(before, part)))
}

/// A term in the order and format of Go's type.
fn shown(term: &Value) -> String {
    let requirement = |requirement: &Value| {
        format!(
            "{{\"Key\":{},\"Operator\":{},\"Values\":{}}}",
            go_json(said(requirement, "key")),
            go_json(said(requirement, "operator")),
            go_json(&requirement.get("values")),
        )
    };
    let part = |member: &str| match term.get(member).and_then(Value::as_array) {
        Some(all) => {
            format!("[{}]", all.iter().map(requirement).collect::<Vec<_>>().join(","))
        }
        None => "null".to_owned(),
    };
    let (expressions, fields) = (part("matchExpressions"), part("matchFields"));
    format!("{{\"MatchExpressions\":{expressions},\"MatchFields\":{fields}}}")
}

/// Gives the node affinity its old value.
fn keep_node_affinity(new: &mut Members, was: &Members) {
    let of = |spec: &Members| spec.get("affinity").and_then(|all| all.get("nodeAffinity")).cloned();
    let before = of(was);
    if of(new) == before {
        return;
    }
    let mut affinity = members(new.get("affinity"));
    match before {
        Some(before) => drop(affinity.insert("nodeAffinity".to_owned(), before)),
        None => drop(affinity.remove("nodeAffinity")),
    }
    if affinity.is_empty() && !was.contains_key("affinity") {
        new.remove("affinity");
    } else {
        new.insert("affinity".to_owned(), affinity.into());
    }
}
