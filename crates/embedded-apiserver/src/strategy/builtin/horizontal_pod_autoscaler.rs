//! HorizontalPodAutoscalers of autoscaling/v2, the stored version, and of autoscaling/v1.

mod behavior;
mod cells;
mod codec;
mod metrics;
mod reference;
mod v1;

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::UNSET;
use crate::strategy::builtin::horizontal_pod_autoscaler::codec::{
    DEFAULT_PERCENT, behavior_of, cpu, drop_annotations,
};
use crate::strategy::builtin::horizontal_pod_autoscaler::reference::{Version, validate_reference};
use crate::strategy::builtin::members::{at, fill, said, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::not_negative;
use crate::strategy::columns::Cell::{Made, Member, Number};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Strategy, Write};

pub(super) use v1::HORIZONTAL_POD_AUTOSCALER_V1;

pub(super) static HORIZONTAL_POD_AUTOSCALER: Row = Row {
    group: "autoscaling",
    version: "v2",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    status: true,
    short_names: &["hpa"],
    categories: &["all"],
    strategy: &HorizontalPodAutoscaler,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Reference", Made(cells::reference)),
    column("Targets", Made(cells::targets)),
    column("MinPods", Member("/spec/minReplicas", UNSET)),
    column("MaxPods", Number("/spec/maxReplicas")).of("string"),
    column("Replicas", Number("/status/currentReplicas")).of("string"),
    AGE,
];

#[derive(Debug)]
struct HorizontalPodAutoscaler;

impl Strategy for HorizontalPodAutoscaler {
    #[doc(alias = "SetDefaults_HorizontalPodAutoscaler")]
    fn default(&self, object: &mut Object) {
        drop_annotations(object);
        let metrics = json!([cpu(DEFAULT_PERCENT)]);
        fill(object, "spec", &[("minReplicas", json!(1)), ("metrics", metrics)]);
        if let Some(Value::Object(behavior)) = behavior_of(object) {
            behavior::default(behavior);
        }
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        let status = json!({ "currentMetrics": null, "desiredReplicas": 0 });
        object.insert("status".to_owned(), status);
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_none() {
            validate_spec(object, write.old, causes);
        }
    }

    #[doc(alias = "ValidateHorizontalPodAutoscalerStatusUpdate")]
    fn validate_status_update(&self, object: &Object, _old: &Object, causes: &mut FieldErrors) {
        let status = object.get("status").unwrap_or(&Value::Null);
        not_negative(status, "status", &["currentReplicas", "desiredReplicas"], causes);
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "validateHorizontalPodAutoscalerSpec")]
fn validate_spec(object: &Object, old: Option<&Object>, causes: &mut FieldErrors) {
    let number = |path: &str| at(object, path).and_then(Value::as_i64);
    let (path, least) = ("spec.minReplicas", number("spec.minReplicas"));
    let least = least.unwrap_or(1);
    if least < 1 {
        let why = "must be greater than or equal to 1";
        causes.push(FieldError::invalid_json(path, &least.into(), why));
    }
    let (path, most) = ("spec.maxReplicas", number("spec.maxReplicas").unwrap_or(0));
    if most == 0 {
        causes.push(FieldError::required(path, "must be set and greater than 0"));
    }
    let mut refuse = |why: &str| causes.push(FieldError::invalid_json(path, &most.into(), why));
    if most < 0 {
        refuse("must be greater than or equal to 1");
    }
    if most < least {
        refuse("must be greater than or equal to `minReplicas`");
    }
    validate_target(object, old, causes);
    let known = old.is_some_and(metrics::has_wrong_reference);
    metrics::validate(at(object, "spec.metrics"), known, causes);
    let has_outer = metrics::has_outer(at(object, "spec.metrics"));
    if least == 0 && !has_outer {
        let why = "must specify at least one Object or External metric to support scaling to \
                   zero replicas";
        causes.push(FieldError::forbidden("spec.metrics", why));
    }
    for member in ["scaleUp", "scaleDown"] {
        let path = format!("spec.behavior.{member}");
        if let Some(rules) = at(object, &path) {
            behavior::validate(rules, &path, causes);
        }
    }
}

fn validate_target(object: &Object, old: Option<&Object>, causes: &mut FieldErrors) {
    let path = "spec.scaleTargetRef";
    let target = at(object, path).unwrap_or(&Value::Null);
    let is_same = |member: &str| {
        let path = format!("{path}.{member}");
        old.is_some_and(|old| text(object, &path) == text(old, &path))
    };
    let version = match said(target, "kind") {
        _ if is_same("apiVersion") && is_same("kind") => Version::Any,
        // The only kind of the core group that scales.
        "ReplicationController" => Version::Valid,
        _ => Version::Grouped,
    };
    validate_reference(target, path, version, causes);
}
