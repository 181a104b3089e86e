//! Deployments.

use jiff::Timestamp;
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::cells::number;
use crate::strategy::builtin::members::{at, fill, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{
    at_most_100_percent, int_or_percent, not_negative, percent,
};
use crate::strategy::builtin::{label_selector, pod_spec, workload};
use crate::strategy::columns::Cell::{Made, Number};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static DEPLOYMENT: Row = Row {
    group: "apps",
    kind: "Deployment",
    plural: "deployments",
    status: true,
    scale: true,
    short_names: &["deploy"],
    categories: &["all"],
    strategy: &Deployment,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Ready", Made(ready)),
    column("Up-to-date", Number("/status/updatedReplicas")).of_text(),
    column("Available", Number("/status/availableReplicas")).of_text(),
    AGE,
    wide("Containers", Made(workload::containers)),
    wide("Images", Made(workload::images)),
    wide("Selector", Made(workload::selector)),
];

#[derive(Debug)]
struct Deployment;

impl Strategy for Deployment {
    #[doc(alias = "SetDefaults_Deployment")]
    fn default(&self, object: &mut Object) {
        let defaults = [
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
            ("progressDeadlineSeconds", json!(600)),
        ];
        fill(object, "spec", &defaults);
        default_strategy(object);
        pod_spec::default_template(object);
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        object.insert("status".to_owned(), json!({}));
    }

    fn prepare_status_update(&self, object: &mut Object, old: &Object, _now: Timestamp) {
        metadata::copy(old, object, "labels");
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    #[doc(alias = "ValidateDeployment")]
    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        not_negative(spec, "spec", &["replicas"], causes);
        workload::validate_selector(object, causes);
        validate_strategy(object, causes);
        validate_times(spec, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let path = "spec.selector";
        label_selector::immutable(at(object, path), at(old, path), path, causes);
    }

    #[doc(alias = "ValidateDeploymentStatusUpdate")]
    fn validate_status_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        const COUNTS: [&str; 8] = [
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ];
        let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
        workload::validate_counts(object, &COUNTS, &parts, causes);
        workload::validate_collisions(object, old, causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        workload::warnings(object, old)
    }

    fn generation(&self) -> Generation {
        Generation::SpecAndAnnotations
    }

    fn reset_fields_of_status(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"], &["metadata", "labels"]]
    }

    fn fill_empty(&self, object: &mut Object) {
        fill(object, "spec", &[("replicas", json!(0))]);
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

fn default_strategy(object: &mut Object) {
    let spec = object.get_mut("spec").and_then(|spec| spec.as_object_mut());
    let strategy = spec.map(|spec| spec.entry("strategy").or_insert_with(|| json!({})));
    let Some(Value::Object(strategy)) = strategy else { return };
    strategy.entry("type").or_insert_with(|| "RollingUpdate".into());
    if strategy.get("type").is_none_or(|of| of != "RollingUpdate") {
        return;
    }
    let rolling = strategy.entry("rollingUpdate").or_insert_with(|| json!({}));
    if let Value::Object(rolling) = rolling {
        rolling.entry("maxUnavailable").or_insert_with(|| "25%".into());
        rolling.entry("maxSurge").or_insert_with(|| "25%".into());
    }
}

fn validate_times(spec: &Value, causes: &mut FieldErrors) {
    let times = ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"];
    not_negative(spec, "spec", &times, causes);
    let number = |member: &str| spec.get(member).and_then(Value::as_i64);
    if let Some(deadline) = number("progressDeadlineSeconds")
        && deadline <= number("minReadySeconds").unwrap_or(0)
    {
        let why = "must be greater than minReadySeconds";
        let field = "spec.progressDeadlineSeconds";
        causes.push(FieldError::invalid_json(field, &deadline.into(), why));
    }
}

fn validate_strategy(object: &Object, causes: &mut FieldErrors) {
    let rolling = at(object, "spec.strategy.rollingUpdate");
    let path = "spec.strategy.rollingUpdate";
    match text(object, "spec.strategy.type") {
        "Recreate" => {
            if rolling.is_some() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                causes.push(FieldError::forbidden(path, why));
            }
        }
        "RollingUpdate" => {
            let member =
                |name: &str| rolling.and_then(|rolling| rolling.get(name)).unwrap_or(&Value::Null);
            let (unavailable, surge) = (member("maxUnavailable"), member("maxSurge"));
            int_or_percent(unavailable, &format!("{path}.maxUnavailable"), causes);
            int_or_percent(surge, &format!("{path}.maxSurge"), causes);
            let value = |value: &Value| match value {
                Value::String(text) => percent(text).unwrap_or(0),
                number => number.as_i64().unwrap_or(0),
            };
            let field = format!("{path}.maxUnavailable");
            if value(unavailable) == 0 && value(surge) == 0 {
                let why = "may not be 0 when `maxSurge` is 0";
                causes.push(FieldError::invalid_json(field.as_str(), unavailable, why));
            }
            at_most_100_percent(unavailable, &field, causes);
        }
        _ => {
            let strategy = at(object, "spec.strategy").unwrap_or(&Value::Null);
            causes.push(FieldError::unsupported_shown(
                "spec.strategy",
                &strategy.to_string(),
                &["Recreate", "RollingUpdate"],
            ));
        }
    }
}

/// How many of how many pods are ready.
fn ready(object: &Value) -> Value {
    format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas"))
        .into()
}
