//! ReplicaSets.

use k8s_value::FieldErrors;
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, fill};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::not_negative;
use crate::strategy::builtin::{label_selector, pod_spec, workload};
use crate::strategy::columns::Cell::{Made, Number};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static REPLICA_SET: Row = Row {
    group: "apps",
    kind: "ReplicaSet",
    plural: "replicasets",
    status: true,
    scale: true,
    short_names: &["rs"],
    categories: &["all"],
    strategy: &ReplicaSet,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Desired", Number("/spec/replicas")),
    column("Current", Number("/status/replicas")),
    column("Ready", Number("/status/readyReplicas")),
    AGE,
    wide("Containers", Made(workload::containers)),
    wide("Images", Made(workload::images)),
    wide("Selector", Made(workload::selector)),
];

#[derive(Debug)]
struct ReplicaSet;

impl Strategy for ReplicaSet {
    #[doc(alias = "SetDefaults_ReplicaSet")]
    fn default(&self, object: &mut Object) {
        fill(object, "spec", &[("replicas", json!(1))]);
        pod_spec::default_template(object);
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        object.insert("status".to_owned(), json!({ "replicas": 0 }));
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    #[doc(alias = "ValidateReplicaSet")]
    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        not_negative(spec, "spec", &["replicas", "minReadySeconds"], causes);
        workload::validate_selector(object, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let path = "spec.selector";
        label_selector::immutable(at(object, path), at(old, path), path, causes);
    }

    #[doc(alias = "ValidateReplicaSetStatusUpdate")]
    fn validate_status_update(&self, object: &Object, _old: &Object, causes: &mut FieldErrors) {
        const COUNTS: [&str; 6] = [
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ];
        let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
        workload::validate_counts(object, &COUNTS, &parts, causes);
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

    fn fill_empty(&self, object: &mut Object) {
        fill(object, "spec", &[("replicas", json!(0))]);
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}
