//! Jobs: what they leave out, the selector that is made for them, what they refuse, and what of
//! them may change. Pure.

use serde_json::{Value, json};

use crate::builtin::pod_checks::check_template;
use crate::builtin::rules::{at, fill, text};
use crate::builtin::values::{immutable, members, not_negative};
use crate::builtin::{pods, selectors};
use crate::metadata::{self, Object};
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;

const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

/// `SetDefaults_Job`.
pub(super) fn default(object: &mut Object) {
    let has = |object: &Object, member: &str| at(object, &format!("spec.{member}")).is_some();
    if !has(object, "completions") && !has(object, "parallelism") {
        fill(object, "spec", &[("completions", json!(1))]);
    }
    let limit = if has(object, "backoffLimitPerIndex") { i32::MAX } else { 6 };
    let replacement =
        if has(object, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    fill(
        object,
        "spec",
        &[
            ("parallelism", json!(1)),
            ("backoffLimit", json!(limit)),
            ("completionMode", json!("NonIndexed")),
            ("suspend", json!(false)),
            ("podReplacementPolicy", json!(replacement)),
            ("manualSelector", json!(false)),
        ],
    );
    pods::default_template(object);
    default_labels(object);
}

/// A Job without labels has its template's.
fn default_labels(object: &mut Object) {
    let labels = members(at(object, "spec.template.metadata.labels"));
    if !labels.is_empty() && members(metadata::get(object, "labels")).is_empty() {
        metadata::set(object, "labels", labels);
    }
}

/// `generateSelector`: a new Job selects its pods by its own uid, unless it makes its selector
/// itself.
pub(super) fn prepare_create(object: &mut Object) {
    if at(object, "spec.manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let (name, uid) =
        (metadata::text(object, "name").to_owned(), metadata::text(object, "uid").to_owned());
    let inherits = metadata::get(object, "labels") == at(object, "spec.template.metadata.labels")
        || members(metadata::get(object, "labels")).is_empty();
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let template = spec.entry("template").or_insert_with(|| json!({}));
    let labels = NAME_LABELS
        .iter()
        .map(|label| (*label, &name))
        .chain(UID_LABELS.iter().map(|label| (*label, &uid)));
    for (label, value) in labels {
        insert_new(template, "metadata", "labels", label, value);
    }
    insert_new_into(
        spec.entry("selector").or_insert_with(|| json!({})),
        "matchLabels",
        UID_LABELS[1],
        &uid,
    );
    if inherits {
        metadata::of(object).remove("labels");
        default_labels(object);
    }
}

fn insert_new(value: &mut Value, member: &str, map: &str, key: &str, text: &str) {
    if let Value::Object(members) = value {
        insert_new_into(members.entry(member).or_insert_with(|| json!({})), map, key, text);
    }
}

fn insert_new_into(value: &mut Value, map: &str, key: &str, text: &str) {
    let Value::Object(members) = value else { return };
    if let Value::Object(map) = members.entry(map).or_insert_with(|| json!({})) {
        map.entry(key).or_insert_with(|| text.into());
    }
}

/// `ValidateJob`.
pub(super) fn check(object: &Object, causes: &mut FieldErrors) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    not_negative(
        spec,
        "spec",
        &[
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
        ],
        causes,
    );
    let has = |member: &str| spec.get(member).is_some_and(|value| !value.is_null());
    if has("maxFailedIndexes") && !has("backoffLimitPerIndex") {
        causes.push(FieldError::required(
            "spec.backoffLimitPerIndex",
            "when maxFailedIndexes is specified",
        ));
    }
    check_mode(object, causes);
    let replacement = text(object, "spec.podReplacementPolicy");
    match (has("podFailurePolicy"), replacement) {
        (_, "") | (true, "Failed") | (false, "Failed" | "TerminatingOrFailed") => {}
        (true, other) => {
            causes.push(FieldError::unsupported("spec.podReplacementPolicy", other, &["Failed"]))
        }
        (false, other) => {
            let supported = ["Failed", "TerminatingOrFailed"];
            causes.push(FieldError::unsupported("spec.podReplacementPolicy", other, &supported));
        }
    }
    check_template(at(object, "spec.template"), "spec.template", causes);
    let field = "spec.template.spec.restartPolicy";
    match text(object, field) {
        "" | "Always" => {
            causes.push(FieldError::required(field, "valid values: \"OnFailure\", \"Never\""))
        }
        "OnFailure" if has("podFailurePolicy") => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            causes.push(FieldError::invalid(field, "OnFailure", why));
        }
        "OnFailure" | "Never" => {}
        other => causes.push(FieldError::unsupported(field, other, &["OnFailure", "Never"])),
    }
    let selector = at(object, "spec.selector");
    match selector {
        None => causes.push(FieldError::required("spec.selector", "")),
        Some(selector) => selectors::check(selector, "spec.selector", causes),
    }
    let labels = at(object, "spec.template.metadata.labels");
    let matches = selector.is_some_and(|selector| selectors::matches(selector, &members(labels)));
    if !matches && selector.is_none_or(selectors::is_usable) {
        let why = "`selector` does not match template `labels`";
        let labels = labels.unwrap_or(&Value::Null);
        causes.push(FieldError::invalid_json("spec.template.metadata.labels", labels, why));
    }
}

/// `ValidateGeneratedSelector`: by whose uid a Job selects its pods, which no write to its status
/// is asked.
pub(crate) fn check_generated(object: &Object, causes: &mut FieldErrors) {
    if at(object, "spec.manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let Some(selector) = at(object, "spec.selector") else { return };
    let (name, uid) = (metadata::text(object, "name"), metadata::text(object, "uid"));
    let labels = members(at(object, "spec.template.metadata.labels"));
    let expected = [
        (UID_LABELS[0], uid),
        (NAME_LABELS[0], name),
        (UID_LABELS[1], uid),
        (NAME_LABELS[1], name),
    ];
    for (label, value) in expected {
        let (field, why) =
            (format!("spec.template.metadata.labels[{label}]"), format!("must be '{value}'"));
        match labels.get(label).and_then(Value::as_str) {
            None => causes.push(FieldError::required(field, &why)),
            Some(said) if said == value => {}
            Some(_) => {
                causes.push(FieldError::invalid_json(field, &Value::Object(labels.clone()), &why))
            }
        }
    }
    let expected =
        expected.into_iter().map(|(label, value)| (label.to_owned(), value.into())).collect();
    if !selectors::matches(selector, &expected) {
        let shown = selectors::shown(selector);
        causes.push(FieldError::invalid_shown(
            "spec.selector",
            &shown,
            "`selector` not auto-generated",
        ));
    }
}

fn check_mode(object: &Object, causes: &mut FieldErrors) {
    let number = |member: &str| at(object, &format!("spec.{member}")).and_then(Value::as_i64);
    let mode = at(object, "spec.completionMode").and_then(Value::as_str).unwrap_or("NonIndexed");
    match mode {
        "NonIndexed" => {
            for member in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(value) = number(member) {
                    let why = "requires indexed completion mode";
                    causes.push(FieldError::invalid_json(
                        format!("spec.{member}"),
                        &value.into(),
                        why,
                    ));
                }
            }
        }
        "Indexed" => match number("completions") {
            None => causes
                .push(FieldError::required("spec.completions", "when completion mode is Indexed")),
            Some(completions) => {
                let name =
                    format!("{}-{}", metadata::text(object, "name"), completions.saturating_sub(1));
                if completions > 0 && names::wrong_label(&name).is_some() {
                    let why = format!("will not able to create pod with invalid DNS label: {name}");
                    causes.push(FieldError::invalid(
                        "metadata.name",
                        metadata::text(object, "name"),
                        &why,
                    ));
                }
            }
        },
        other => causes.push(FieldError::unsupported(
            "spec.completionMode",
            other,
            &["NonIndexed", "Indexed"],
        )),
    }
}

/// `ValidateJobUpdate`.
pub(super) fn check_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    let mut stay = |members: &[&str]| {
        for member in members {
            let path = format!("spec.{member}");
            immutable(at(object, &path), at(old, &path), &path, causes);
        }
    };
    let is_indexed = text(object, "spec.completionMode") == "Indexed";
    if !is_indexed {
        stay(&["completions"]);
    }
    let is_suspended = is_suspended_and_unstarted(old);
    if !is_suspended {
        stay(&["template"]);
    }
    stay(&[
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ]);
    if is_suspended {
        let spec = |object| without_directives(at(object, "spec.template.spec"));
        immutable(Some(&spec(object)), Some(&spec(old)), "spec.template.spec", causes);
    }
    let selector = |object| at(object, "spec.selector");
    selectors::immutable(selector(object), selector(old), "spec.selector", causes);
    // `validateCompletions`: the indexes of a Job grow and shrink with the pods that run at once.
    let (completions, parallelism) =
        (at(object, "spec.completions"), at(object, "spec.parallelism"));
    if let Some(completions) =
        completions.filter(|now| is_indexed && Some(*now) != at(old, "spec.completions"))
        && Some(completions) != parallelism
    {
        let why = "can only be modified in tandem with spec.parallelism";
        causes.push(FieldError::invalid_json("spec.completions", completions, why));
    }
}

/// The spec of a template without what may still change before any pod is made of it: where pods
/// may go, and what they ask for.
fn without_directives(spec: Option<&Value>) -> Value {
    let mut spec = members(spec);
    for member in ["nodeSelector", "tolerations", "schedulingGates", "affinity"] {
        spec.remove(member);
    }
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        containers
            .filter_map(Value::as_object_mut)
            .for_each(|container| drop(container.remove("resources")));
    }
    spec.into()
}

/// `ValidateJobStatusUpdate`, as far as it counts.
pub(super) fn check_status(object: &Object, old: &Object, causes: &mut FieldErrors) {
    let status = object.get("status").unwrap_or(&Value::Null);
    not_negative(
        status,
        "status",
        &["active", "succeeded", "failed", "ready", "terminating"],
        causes,
    );
    let number = |object: &Object, member: &str| {
        at(object, &format!("status.{member}")).and_then(Value::as_i64)
    };
    let (ready, active) = (number(object, "ready"), number(object, "active").unwrap_or(0));
    let changed = ready != number(old, "ready") || active != number(old, "active").unwrap_or(0);
    if let Some(ready) = ready.filter(|ready| changed && *ready > active) {
        let why = "cannot set more ready pods than active";
        causes.push(FieldError::invalid_json("status.ready", &ready.into(), why));
    }
    for member in ["failed", "succeeded"] {
        let count = |object| number(object, member).unwrap_or(0);
        // Of a Job by index only those are counted that are left: its indexes are what may not
        // shrink.
        let by_index = member == "succeeded" && text(object, "spec.completionMode") == "Indexed";
        if count(object) < count(old) && !by_index {
            let why = format!("cannot decrease the {member} counter");
            causes.push(FieldError::invalid_json(
                format!("status.{member}"),
                &count(object).into(),
                &why,
            ));
        }
    }
}

/// Where its pods may go can still be said.
fn is_suspended_and_unstarted(job: &Object) -> bool {
    at(job, "spec.suspend") == Some(&Value::Bool(true)) && at(job, "status.startTime").is_none()
}
