//! RuntimeClasses.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, items, text};
use crate::strategy::builtin::pod_spec;
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{immutable, label, labels};
use crate::strategy::columns::Cell::Member;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static RUNTIME_CLASS: Row = Row {
    group: "node.k8s.io",
    kind: "RuntimeClass",
    plural: "runtimeclasses",
    strategy: &RuntimeClass,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[NAME, column("Handler", Member("/handler", "")), AGE];

#[derive(Debug)]
struct RuntimeClass;

impl Strategy for RuntimeClass {
    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    #[doc(alias = "ValidateRuntimeClass")]
    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        match text(object, "handler") {
            "" => causes.push(FieldError::required("handler", "")),
            handler => label(handler, "handler", causes),
        }
        if let Some(fixed) = at(object, "overhead.podFixed") {
            let resources = json!({ "limits": fixed });
            pod_spec::validate_resources(Some(&resources), "overhead", causes);
        }
        let selector = at(object, "scheduling.nodeSelector");
        labels(selector, "scheduling.nodeSelector", causes);
        validate_tolerations(object, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        immutable(at(object, "handler"), at(old, "handler"), "handler", causes);
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

fn validate_tolerations(object: &Object, causes: &mut FieldErrors) {
    let path = "scheduling.tolerations";
    let mut seen = Vec::new();
    for (path, toleration) in items(at(object, path), path) {
        pod_spec::validate_toleration(toleration, &path, causes);
        let key = ["key", "operator", "value", "effect"].map(|member| toleration.get(member));
        if seen.contains(&key) {
            causes.push(FieldError::duplicate_shown(path, &shown(toleration)));
        }
        seen.push(key);
    }
}

/// A toleration in the order and format of Go's type.
fn shown(toleration: &Value) -> String {
    let text = |member: &str| toleration.get(member).and_then(Value::as_str).unwrap_or_default();
    format!(
        "{{\"Key\":{:?},\"Operator\":{:?},\"Value\":{:?},\"Effect\":{:?},\"TolerationSeconds\":{}}}",
        text("key"),
        text("operator"),
        text("value"),
        text("effect"),
        toleration.get("tolerationSeconds").unwrap_or(&Value::Null),
    )
}
