//! PodDisruptionBudgets.

use k8s_value::go_json::go_json;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::at;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::{
    at_most_100_percent, int_or_percent, not_negative, one_of, wrong_path_name,
};
use crate::strategy::builtin::{conditions, label_selector};
use crate::strategy::columns::Cell::{Member, Number};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static POD_DISRUPTION_BUDGET: Row = Row {
    group: "policy",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    status: true,
    short_names: &["pdb"],
    strategy: &PodDisruptionBudget,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Min Available", Member("/spec/minAvailable", "N/A")),
    column("Max Unavailable", Member("/spec/maxUnavailable", "N/A")),
    column("Allowed Disruptions", Number("/status/disruptionsAllowed")),
    AGE,
];

const COUNTS: [&str; 4] =
    ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

#[derive(Debug)]
struct PodDisruptionBudget;

impl Strategy for PodDisruptionBudget {
    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        let status = COUNTS.iter().map(|count| ((*count).to_owned(), json!(0))).collect();
        object.insert("status".to_owned(), Value::Object(status));
    }

    fn validate_name(&self, name: &str) -> Option<&'static str> {
        wrong_path_name(name)
    }

    fn validate_generate_name(&self, prefix: &str) -> Vec<&'static str> {
        names::wrongs_of_path_prefix(prefix).collect()
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validates_finalizer_names(&self, _write: Write<'_>) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_none() {
            validate_spec(object, causes);
        }
        // As upstream, the metadata of a new object is checked if the rest is valid.
        if write.old.is_none() {
            causes.metadata_last();
        }
    }

    #[doc(alias = "ValidatePodDisruptionBudgetStatusUpdate")]
    fn validate_status_update(&self, object: &Object, _old: &Object, causes: &mut FieldErrors) {
        conditions::validate(at(object, "status.conditions"), "status.conditions", causes);
        let status = object.get("status").unwrap_or(&Value::Null);
        not_negative(status, "status", &COUNTS, causes);
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "ValidatePodDisruptionBudgetSpec")]
fn validate_spec(object: &Object, causes: &mut FieldErrors) {
    let spec = |member: &str| at(object, &format!("spec.{member}"));
    let limits = ["minAvailable", "maxUnavailable"].map(|member| (member, spec(member)));
    if limits.iter().all(|(_, limit)| limit.is_some()) {
        // In the order and format of Go's type.
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\
             \"UnhealthyPodEvictionPolicy\":{}}}",
            go_json(&spec("minAvailable")),
            label_selector::shown(spec("selector").unwrap_or(&Value::Null)),
            go_json(&spec("maxUnavailable")),
            go_json(&spec("unhealthyPodEvictionPolicy")),
        );
        let why = "minAvailable and maxUnavailable cannot be both set";
        causes.push(FieldError::invalid_shown("spec", &shown, why));
    }
    for (member, limit) in limits {
        if let Some(limit) = limit {
            let path = format!("spec.{member}");
            int_or_percent(limit, &path, causes);
            at_most_100_percent(limit, &path, causes);
        }
    }
    if let Some(selector) = spec("selector") {
        label_selector::validate(selector, "spec.selector", causes);
    }
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    one_of(object, "spec.unhealthyPodEvictionPolicy", &policies, causes);
}
