//! StorageClasses.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::text_at;
use crate::strategy::builtin::members::text;
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::topology;
use crate::strategy::builtin::values::{IMMUTABLE, one_of};
use crate::strategy::builtin::volume_values::validate_provisioner;
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, column};
use crate::strategy::{Strategy, Write};

pub(super) static STORAGE_CLASS: Row = Row {
    group: "storage.k8s.io",
    kind: "StorageClass",
    plural: "storageclasses",
    short_names: &["sc"],
    strategy: &StorageClass,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    column("Name", Made(class_name)),
    column("Provisioner", Member("/provisioner", "")),
    column("ReclaimPolicy", Member("/reclaimPolicy", "Delete")),
    column("VolumeBindingMode", Member("/volumeBindingMode", "Immediate")),
    column("AllowVolumeExpansion", Made(|class| json!(class["allowVolumeExpansion"] == true))),
    AGE,
];

#[derive(Debug)]
struct StorageClass;

impl Strategy for StorageClass {
    fn default(&self, object: &mut Object) {
        object.entry("reclaimPolicy").or_insert_with(|| "Delete".into());
        object.entry("volumeBindingMode").or_insert_with(|| "Immediate".into());
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_provisioner(text(object, "provisioner"), "provisioner", causes);
        one_of(object, "reclaimPolicy", &["Delete", "Retain"], causes);
        one_of(object, "volumeBindingMode", &["Immediate", "WaitForFirstConsumer"], causes);
        let topologies = object.get("allowedTopologies").and_then(Value::as_array);
        topology::check_topologies(topologies.map_or(&[], Vec::as_slice), causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        for member in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            if object.get(member) != old.get(member) {
                let value = object.get(member).unwrap_or(&Value::Null);
                causes.push(FieldError::invalid_json(member, value, IMMUTABLE));
            }
        }
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

fn class_name(class: &Value) -> Value {
    let name = text_at(class, "/metadata/name");
    if class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true" {
        format!("{name} (default)").into()
    } else {
        name.into()
    }
}
