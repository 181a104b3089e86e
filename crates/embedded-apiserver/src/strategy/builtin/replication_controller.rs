//! ReplicationControllers, the elder kin of ReplicaSets.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::strategy::builtin::members::{at, fill, members};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::not_negative;
use crate::strategy::builtin::{pod_spec, workload};
use crate::strategy::columns::Cell::{Made, Number};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Dependents, Generation, Strategy, Write};

pub(super) static REPLICATION_CONTROLLER: Row = Row {
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    status: true,
    scale: true,
    short_names: &["rc"],
    categories: &["all"],
    selectable: &["status.replicas"],
    strategy: &ReplicationController,
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
    wide("Selector", Made(|controller| workload::labels_cell(&controller["spec"]["selector"]))),
];

#[derive(Debug)]
struct ReplicationController;

impl Strategy for ReplicationController {
    #[doc(alias = "SetDefaults_ReplicationController")]
    fn default(&self, object: &mut Object) {
        fill(object, "spec", &[("replicas", json!(1))]);
        let labels = members(at(object, "spec.template.metadata.labels"));
        if !labels.is_empty() && members(metadata::get(object, "labels")).is_empty() {
            metadata::set(object, "labels", labels.clone());
        }
        let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
        if !labels.is_empty() && members(spec.get("selector")).is_empty() {
            spec.insert("selector".to_owned(), labels.into());
        }
        if spec.contains_key("template") {
            pod_spec::default_template_of(spec);
        }
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        object.insert("status".to_owned(), json!({ "replicas": 0 }));
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    #[doc(alias = "ValidateReplicationControllerSpec")]
    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            return;
        }
        let spec = object.get("spec").unwrap_or(&Value::Null);
        not_negative(spec, "spec", &["replicas", "minReadySeconds"], causes);
        let selector = members(spec.get("selector"));
        if selector.is_empty() {
            causes.push(FieldError::required("spec.selector", ""));
        }
        let template = spec.get("template");
        if template.is_none() {
            return causes.push(FieldError::required("spec.template", ""));
        }
        let labels = at(object, "spec.template.metadata.labels");
        let has = members(labels);
        if selector.iter().any(|(key, value)| has.get(key) != Some(value)) {
            workload::refuse_labels(labels, causes);
        }
        pod_spec::validate_template(template, "spec.template", causes);
        workload::validate_running(object, "ReplicationController", causes);
    }

    #[doc(alias = "ValidateReplicationControllerStatus")]
    fn validate_status_update(&self, object: &Object, _old: &Object, causes: &mut FieldErrors) {
        let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
        let counts = ["replicas", "observedGeneration"];
        workload::validate_counts(object, &[counts.as_slice(), &parts].concat(), &parts, causes);
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

    fn storage_prefix(&self, _kind: &Kind) -> String {
        "controllers".to_owned()
    }

    fn dependents(&self) -> Dependents {
        Dependents::Orphan(None)
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}
