//! Deployments and ReplicaSets: what they leave out, what they refuse, and what of them may change.
//! Pure.

use serde_json::{Value, json};

use crate::builtin::pod_checks::check_template;
use crate::builtin::rules::{at, fill, text};
use crate::builtin::values::{int_or_percent, members, not_negative, percent};
use crate::builtin::{Builtin, pods, selectors};
use crate::metadata::Object;
use crate::status::{FieldError, FieldErrors};

/// `SetDefaults_Deployment` and `SetDefaults_ReplicaSet`.
pub(super) fn default(builtin: Builtin, object: &mut Object) {
    fill(object, "spec", &[("replicas", json!(1))]);
    if builtin == Builtin::Deployment {
        fill(
            object,
            "spec",
            &[("revisionHistoryLimit", json!(10)), ("progressDeadlineSeconds", json!(600))],
        );
        let strategy = object.get_mut("spec").and_then(|spec| spec.as_object_mut());
        let strategy = strategy.map(|spec| spec.entry("strategy").or_insert_with(|| json!({})));
        if let Some(Value::Object(strategy)) = strategy {
            strategy.entry("type").or_insert_with(|| "RollingUpdate".into());
            if strategy.get("type").is_some_and(|of| of == "RollingUpdate") {
                let rolling = strategy.entry("rollingUpdate").or_insert_with(|| json!({}));
                if let Value::Object(rolling) = rolling {
                    rolling.entry("maxUnavailable").or_insert_with(|| "25%".into());
                    rolling.entry("maxSurge").or_insert_with(|| "25%".into());
                }
            }
        }
    }
    pods::default_template(object);
}

/// `ValidateDeployment` and `ValidateReplicaSet`.
pub(super) fn check(builtin: Builtin, object: &Object, causes: &mut FieldErrors) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let own = builtin == Builtin::Deployment;
    not_negative(
        spec,
        "spec",
        if own { &["replicas"] } else { &["replicas", "minReadySeconds"] },
        causes,
    );
    match at(object, "spec.selector") {
        None => {
            causes.push(FieldError::required("spec.selector", ""));
            // Nothing is selected by nothing, so the template is not of it.
            check_of_template(object, None, causes);
        }
        Some(selector) => {
            selectors::check(selector, "spec.selector", causes);
            if selectors::is_empty(selector) {
                causes.push(FieldError::invalid_json(
                    "spec.selector",
                    selector,
                    "empty selector is invalid for deployment",
                ));
            }
            if selectors::is_usable(selector) {
                check_of_template(object, Some(selector), causes);
            } else {
                let shown = selectors::shown(selector);
                causes.push(FieldError::invalid_shown(
                    "spec.selector",
                    &shown,
                    "invalid label selector",
                ));
            }
        }
    }
    if own {
        check_strategy(object, causes);
        not_negative(
            spec,
            "spec",
            &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"],
            causes,
        );
        let number = |member: &str| spec.get(member).and_then(Value::as_i64);
        if let Some(deadline) = number("progressDeadlineSeconds")
            && deadline <= number("minReadySeconds").unwrap_or(0)
        {
            let why = "must be greater than minReadySeconds";
            causes.push(FieldError::invalid_json(
                "spec.progressDeadlineSeconds",
                &deadline.into(),
                why,
            ));
        }
    }
}

fn check_of_template(object: &Object, selector: Option<&Value>, causes: &mut FieldErrors) {
    let path = "spec.template";
    let labels = at(object, "spec.template.metadata.labels");
    let matches = match selector {
        // A selector of nothing matches nothing; an empty one is said already.
        None => false,
        Some(selector) => {
            selectors::is_empty(selector) || selectors::matches(selector, &members(labels))
        }
    };
    if !matches {
        let why = "`selector` does not match template `labels`";
        let labels = labels.unwrap_or(&Value::Null);
        causes.push(FieldError::invalid_json("spec.template.metadata.labels", labels, why));
    }
    check_template(at(object, path), path, causes);
    let policy = text(object, "spec.template.spec.restartPolicy");
    if policy != "Always" {
        causes.push(FieldError::unsupported(
            "spec.template.spec.restartPolicy",
            policy,
            &["Always"],
        ));
    }
    if at(object, "spec.template.spec.activeDeadlineSeconds").is_some() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        causes.push(FieldError::forbidden("spec.template.spec.activeDeadlineSeconds", why));
    }
}

fn check_strategy(object: &Object, causes: &mut FieldErrors) {
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
            if unavailable.as_str().and_then(percent).is_some_and(|percent| percent > 100) {
                causes.push(FieldError::invalid_json(
                    field,
                    unavailable,
                    "must not be greater than 100%",
                ));
            }
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

/// What may not change of the spec.
pub(super) fn check_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    selectors::immutable(
        at(object, "spec.selector"),
        at(old, "spec.selector"),
        "spec.selector",
        causes,
    );
}

/// `ValidateDeploymentStatusUpdate` and `ValidateReplicaSetStatusUpdate`.
pub(super) fn check_status(
    builtin: Builtin,
    object: &Object,
    old: &Object,
    causes: &mut FieldErrors,
) {
    let status = object.get("status").unwrap_or(&Value::Null);
    let number = |member: &str| status.get(member).and_then(Value::as_i64).unwrap_or(0);
    let (counts, parts): (&[&str], &[&str]) = match builtin {
        Builtin::Deployment => (
            &[
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "terminatingReplicas",
                "collisionCount",
            ],
            &["updatedReplicas", "readyReplicas", "availableReplicas"],
        ),
        _ => (
            &[
                "replicas",
                "fullyLabeledReplicas",
                "readyReplicas",
                "availableReplicas",
                "observedGeneration",
                "terminatingReplicas",
            ],
            &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        ),
    };
    not_negative(status, "status", counts, causes);
    let mut least = |member: &str, than: &str, why: &str| {
        if number(member) > number(than) {
            causes.push(FieldError::invalid_json(
                format!("status.{member}"),
                &number(member).into(),
                why,
            ));
        }
    };
    for part in parts {
        least(part, "replicas", "cannot be greater than status.replicas");
    }
    least("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas");
    let collisions =
        |object: &Object| at(object, "status.collisionCount").and_then(Value::as_i64).unwrap_or(0);
    if builtin == Builtin::Deployment && collisions(object) < collisions(old) {
        let why = "cannot be decremented";
        causes.push(FieldError::invalid_json(
            "status.collisionCount",
            &collisions(object).into(),
            why,
        ));
    }
}
