//! Jobs.

mod cells;
pub(crate) mod selector;
pub(super) mod spec;

use std::sync::Arc;

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::kind::Codec;
use crate::api::metadata::{self, Object};
use crate::strategy::builtin::job::selector::{
    default_labels, generate, has_no_labels, validate_generated,
};
use crate::strategy::builtin::members::{at, fill, members, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{immutable, not_negative};
use crate::strategy::builtin::{label_selector, pod_spec, workload};
use crate::strategy::columns::Cell::{Made, Timed};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Dependents, Generation, Strategy, Write};

pub(super) static JOB: Row = Row {
    group: "batch",
    kind: "Job",
    plural: "jobs",
    status: true,
    categories: &["all"],
    selectable: &["status.successful"],
    codec: Some(|| Arc::new(Job)),
    strategy: &Job,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Status", Made(cells::status)),
    column("Completions", Made(cells::completions)),
    column("Duration", Timed(cells::duration)),
    AGE,
    wide("Containers", Made(workload::containers)),
    wide("Images", Made(workload::images)),
    wide("Selector", Made(workload::selector)),
];

#[derive(Debug)]
struct Job;

impl Codec for Job {
    fn selectable_value(&self, object: &Value, path: &str) -> Option<String> {
        let succeeded = || object.pointer("/status/succeeded")?.as_i64();
        (path == "status.successful").then(|| succeeded().unwrap_or(0).to_string())
    }
}

impl Strategy for Job {
    fn default(&self, object: &mut Object) {
        default_spec(object);
        pod_spec::default_template(object);
        default_labels(object);
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        generate(object);
        object.insert("status".to_owned(), json!({}));
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_none() {
            validate_generated(object, causes);
        }
        validate_spec(object, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validate_change(object, old, causes);
    }

    fn validate_status_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validate_status(object, old, causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        workload::warnings(object, old)
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn leaves_unsaid(&self, object: &Object, _old: Option<&Object>) -> bool {
        has_no_labels(object)
    }

    fn why_unselectable(&self, path: &str) -> String {
        format!("field label {path:?} not supported for Job")
    }

    fn dependents(&self) -> Dependents {
        Dependents::Orphan(Some(
            "child pods are preserved by default when jobs are deleted; set \
             propagationPolicy=Background to remove them or set propagationPolicy=Orphan to \
             suppress this warning",
        ))
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "SetDefaults_Job")]
fn default_spec(object: &mut Object) {
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
}

#[doc(alias = "ValidateJobSpec")]
fn validate_spec(object: &Object, causes: &mut FieldErrors) {
    spec::validate(object.get("spec").unwrap_or(&Value::Null), "spec", causes);
    validate_hostnames(object, causes);
    let selector = at(object, "spec.selector");
    match selector {
        None => causes.push(FieldError::required("spec.selector", "")),
        Some(selector) => label_selector::validate(selector, "spec.selector", causes),
    }
    let labels = at(object, "spec.template.metadata.labels");
    let matches =
        selector.is_some_and(|selector| label_selector::matches(selector, &members(labels)));
    if !matches && selector.is_none_or(label_selector::is_usable) {
        workload::refuse_labels(labels, causes);
    }
}

/// The pods of an indexed Job have its name and an index as hostname.
fn validate_hostnames(object: &Object, causes: &mut FieldErrors) {
    let completions = at(object, "spec.completions").and_then(Value::as_i64).unwrap_or(0);
    if text(object, "spec.completionMode") != "Indexed" || completions <= 0 {
        return;
    }
    let name = metadata::text(object, "name");
    let last = format!("{name}-{}", completions.saturating_sub(1));
    if names::wrong_label(&last).is_some() {
        let why = format!("will not able to create pod with invalid DNS label: {last}");
        causes.push(FieldError::invalid("metadata.name", name, &why));
    }
}

#[doc(alias = "ValidateJobUpdate")]
fn validate_change(object: &Object, old: &Object, causes: &mut FieldErrors) {
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
    label_selector::immutable(selector(object), selector(old), "spec.selector", causes);
    // The indexes of an elastic Job grow and shrink with its parallelism.
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

/// The spec of a template without the scheduling directives, which may change before the first pod.
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

/// Checks the counts of pods.
#[doc(alias = "ValidateJobStatusUpdate")]
fn validate_status(object: &Object, old: &Object, causes: &mut FieldErrors) {
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
        // In an indexed Job only the remaining indexes count: exactly these must not shrink.
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

/// Whether the Job is suspended and has never started: then its scheduling directives may change.
fn is_suspended_and_unstarted(job: &Object) -> bool {
    at(job, "spec.suspend") == Some(&Value::Bool(true)) && at(job, "status.startTime").is_none()
}
