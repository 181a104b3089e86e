//! DaemonSets.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::kind::Codec;
use crate::api::metadata::{self, Object};
use crate::strategy::builtin::members::{at, fill, said};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{
    at_most_100_percent, int_or_percent, not_negative, percent,
};
use crate::strategy::builtin::{label_selector, pod_spec, workload};
use crate::strategy::columns::Cell::{Made, Number};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static DAEMON_SET: Row = Row {
    group: "apps",
    kind: "DaemonSet",
    plural: "daemonsets",
    status: true,
    short_names: &["ds"],
    categories: &["all"],
    codec: Some(|| Arc::new(DaemonSet)),
    strategy: &DaemonSet,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Desired", Number("/status/desiredNumberScheduled")),
    column("Current", Number("/status/currentNumberScheduled")),
    column("Ready", Number("/status/numberReady")),
    column("Up-to-date", Number("/status/updatedNumberScheduled")),
    column("Available", Number("/status/numberAvailable")),
    column("Node Selector", Made(node_selector)),
    AGE,
    wide("Containers", Made(workload::containers)),
    wide("Images", Made(workload::images)),
    wide("Selector", Made(workload::selector)),
];

/// The annotation that counts the changes of the template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The member that is stored instead.
const STORED_GENERATION: &str = "templateGeneration";

/// The counts of a status that Go always writes.
const COUNTS: [&str; 4] =
    ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"];

#[derive(Debug)]
struct DaemonSet;

impl Strategy for DaemonSet {
    #[doc(alias = "SetDefaults_DaemonSet")]
    fn default(&self, object: &mut Object) {
        fill(object, "spec", &[("revisionHistoryLimit", json!(10))]);
        default_strategy(object);
        pod_spec::default_template(object);
        if template_generation(object).is_none() {
            set_template_generation(object, 0);
        }
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        let status = COUNTS.iter().map(|count| ((*count).to_owned(), json!(0))).collect();
        object.insert("status".to_owned(), Value::Object(status));
        let generation = template_generation(object).unwrap_or(0);
        set_template_generation(object, generation.max(1));
    }

    fn prepare_update(&self, object: &mut Object, old: &Object) {
        let changes = at(object, "spec.template") != at(old, "spec.template");
        let generation = template_generation(old).unwrap_or(0);
        set_template_generation(object, generation.saturating_add(changes.into()));
    }

    fn prepare_status_update(&self, object: &mut Object, old: &Object, _now: Timestamp) {
        set_template_generation(object, template_generation(old).unwrap_or(0));
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    #[doc(alias = "ValidateDaemonSetSpec")]
    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            return;
        }
        let selector = at(object, "spec.selector");
        if let Some(selector) = selector {
            label_selector::validate(selector, "spec.selector", causes);
            workload::refuse_empty_selector(selector, "daemonset", causes);
        }
        if selector.is_none_or(label_selector::is_usable) {
            workload::validate_labels(object, selector, causes);
        }
        pod_spec::validate_template(at(object, "spec.template"), "spec.template", causes);
        workload::validate_running(object, "DaemonSet", causes);
        let spec = object.get("spec").unwrap_or(&Value::Null);
        not_negative(spec, "spec", &["minReadySeconds", "revisionHistoryLimit"], causes);
        validate_strategy(object, causes);
    }

    #[doc(alias = "ValidateDaemonSetSpecUpdate")]
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let path = "spec.selector";
        label_selector::immutable(at(object, path), at(old, path), path, causes);
    }

    #[doc(alias = "ValidateDaemonSetStatusUpdate")]
    fn validate_status_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let status = object.get("status").unwrap_or(&Value::Null);
        not_negative(status, "status", &COUNTS, causes);
        let others = [
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ];
        not_negative(status, "status", &others, causes);
        workload::validate_collisions(object, old, causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        let path = "spec.template";
        if old.is_none_or(|old| at(old, path) != at(object, path)) {
            workload::warn_of_template(object, None, path, &mut warnings);
        }
        warnings
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn fill_empty(&self, object: &mut Object) {
        set_template_generation(object, 0);
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// The annotation is stored as a member: as upstream, only whole objects show it.
impl Codec for DaemonSet {
    fn converts(&self, _revision: u64) -> bool {
        true
    }

    fn to_version(&self, mut object: Object, _revision: u64) -> Object {
        let generation = object.remove(STORED_GENERATION).and_then(|number| number.as_i64());
        set_template_generation(&mut object, generation.unwrap_or(0));
        object
    }

    fn to_storage(&self, mut object: Object) -> Object {
        let generation = template_generation(&object).unwrap_or(0);
        object.insert(STORED_GENERATION.to_owned(), generation.into());
        let annotations = metadata::of(&mut object).get_mut("annotations");
        if let Some(Value::Object(annotations)) = annotations {
            annotations.remove(TEMPLATE_GENERATION);
            if annotations.is_empty() {
                metadata::of(&mut object).remove("annotations");
            }
        }
        object
    }
}

fn template_generation(object: &Object) -> Option<i64> {
    let annotations = metadata::get(object, "annotations")?;
    annotations.get(TEMPLATE_GENERATION)?.as_str()?.parse().ok()
}

fn set_template_generation(object: &mut Object, generation: i64) {
    let annotations = metadata::of(object).entry("annotations").or_insert_with(|| json!({}));
    if let Value::Object(annotations) = annotations {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
    }
}

fn default_strategy(object: &mut Object) {
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    let strategy = spec.map(|spec| spec.entry("updateStrategy").or_insert_with(|| json!({})));
    let Some(Value::Object(strategy)) = strategy else { return };
    strategy.entry("type").or_insert_with(|| "RollingUpdate".into());
    if strategy.get("type").is_none_or(|of| of != "RollingUpdate") {
        return;
    }
    let rolling = strategy.entry("rollingUpdate").or_insert_with(|| json!({}));
    if let Value::Object(rolling) = rolling {
        rolling.entry("maxUnavailable").or_insert_with(|| json!(1));
        rolling.entry("maxSurge").or_insert_with(|| json!(0));
    }
}

#[doc(alias = "ValidateDaemonSetUpdateStrategy")]
fn validate_strategy(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.updateStrategy.rollingUpdate";
    let strategy = at(object, "spec.updateStrategy").unwrap_or(&Value::Null);
    let rolling = at(object, path);
    match said(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let member = |name: &str| rolling.and_then(|rolling| rolling.get(name));
            let limit = |name: &str, causes: &mut FieldErrors| {
                let limit = member(name).unwrap_or(&Value::Null);
                let path = format!("{path}.{name}");
                int_or_percent(limit, &path, causes);
                at_most_100_percent(limit, &path, causes);
                let amount = limit.as_i64().or_else(|| percent(limit.as_str()?));
                amount.unwrap_or(0) != 0
            };
            match (limit("maxUnavailable", causes), limit("maxSurge", causes)) {
                (true, true) => causes.push(FieldError::invalid_json(
                    format!("{path}.maxSurge"),
                    member("maxSurge").unwrap_or(&Value::Null),
                    "may not be set when maxUnavailable is non-zero",
                )),
                (false, false) => causes.push(FieldError::required(
                    format!("{path}.maxUnavailable"),
                    "cannot be 0 when maxSurge is 0",
                )),
                _ => {}
            }
        }
        other => {
            let rolling = rolling.map_or_else(|| "null".to_owned(), shown_rolling);
            let shown = format!("{{\"Type\":{other:?},\"RollingUpdate\":{rolling}}}");
            let supported = ["RollingUpdate", "OnDelete"];
            causes.push(FieldError::unsupported_shown("spec.updateStrategy", &shown, &supported));
        }
    }
}

/// In the order and format of Go's type.
fn shown_rolling(rolling: &Value) -> String {
    let member = |name: &str| rolling.get(name).cloned().unwrap_or_else(|| json!(0));
    let (unavailable, surge) = (member("maxUnavailable"), member("maxSurge"));
    format!("{{\"MaxUnavailable\":{unavailable},\"MaxSurge\":{surge}}}")
}

fn node_selector(set: &Value) -> Value {
    workload::labels_cell(&set["spec"]["template"]["spec"]["nodeSelector"])
}
