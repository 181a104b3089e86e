//! ConfigMaps.

use k8s_value::FieldErrors;

use crate::api::metadata::Object;
use crate::strategy::builtin::config_data::{validate_data, validate_immutable};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::columns::Cell::Count;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static CONFIG_MAP: Row = Row {
    kind: "ConfigMap",
    plural: "configmaps",
    short_names: &["cm"],
    strategy: &ConfigMap,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[NAME, column("Data", Count(&["/data", "/binaryData"])), AGE];

#[derive(Debug)]
struct ConfigMap;

impl Strategy for ConfigMap {
    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_data(object, "[]", causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validate_immutable(object, old, causes);
    }

    fn bytes_member(&self) -> Option<&'static str> {
        Some("binaryData")
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}
