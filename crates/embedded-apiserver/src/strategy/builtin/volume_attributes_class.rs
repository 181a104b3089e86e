//! VolumeAttributesClasses: immutable.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::members::text;
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::volume_values::validate_provisioner;
use crate::strategy::columns::Cell::Member;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static VOLUME_ATTRIBUTES_CLASS: Row = Row {
    group: "storage.k8s.io",
    kind: "VolumeAttributesClass",
    plural: "volumeattributesclasses",
    short_names: &["vac"],
    strategy: &VolumeAttributesClass,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[NAME, column("DriverName", Member("/driverName", "")), AGE];

#[derive(Debug)]
struct VolumeAttributesClass;

impl Strategy for VolumeAttributesClass {
    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_provisioner(text(object, "driverName"), "driverName", causes);
        let parameters = object.get("parameters").and_then(Value::as_object);
        if parameters.is_some_and(|parameters| parameters.contains_key("")) {
            causes.push(FieldError::invalid("parameters", "", "field can not be empty."));
        }
        if parameters.is_none_or(serde_json::Map::is_empty) {
            let why = "must contain at least one key/value pair";
            causes.push(FieldError::required("parameters", why));
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        for member in ["driverName", "parameters"] {
            if object.get(member) != old.get(member) {
                let why = format!("updates to {member} are forbidden.");
                causes.push(FieldError::forbidden(member, &why));
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
