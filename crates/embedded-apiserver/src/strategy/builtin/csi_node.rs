//! CSINodes.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, items, part, said, texts};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{IMMUTABLE, not_negative};
use crate::strategy::builtin::volume_values::validate_driver;
use crate::strategy::columns::Cell::Items;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};
use k8s_value::go_json::go_json;

pub(super) static CSI_NODE: Row = Row {
    group: "storage.k8s.io",
    kind: "CSINode",
    plural: "csinodes",
    strategy: &CsiNode,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[NAME, column("Drivers", Items("/spec/drivers")), AGE];
const LONGEST_ID: usize = 256;

#[derive(Debug)]
struct CsiNode;

impl Strategy for CsiNode {
    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        let mut seen = Vec::new();
        for (path, driver) in items(at(object, "spec.drivers"), "spec.drivers") {
            let name = said(driver, "name");
            validate_driver(name, &format!("{path}.name"), causes);
            validate_id(said(driver, "nodeID"), &format!("{path}.nodeID"), causes);
            if let Some(allocatable) = part(driver, "allocatable") {
                not_negative(allocatable, &format!("{path}.allocatable"), &["count"], causes);
            }
            if seen.contains(&name) {
                causes.push(FieldError::duplicate(format!("{path}.name"), &name.into()));
            }
            seen.push(name);
            validate_keys(&texts(driver.get("topologyKeys")), &path, causes);
        }
    }

    /// All of a driver but its allocatable volumes is immutable.
    #[doc(alias = "ValidateCSINodeUpdate")]
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let fixed = |driver: &Value| {
            ["name", "nodeID", "topologyKeys"].map(|member| part(driver, member).cloned())
        };
        for (_, before) in items(at(old, "spec.drivers"), "") {
            for (_, now) in items(at(object, "spec.drivers"), "") {
                if said(now, "name") == said(before, "name") && fixed(now) != fixed(before) {
                    let shown = shown(now);
                    causes.push(FieldError::invalid_shown("spec.drivers", &shown, IMMUTABLE));
                }
            }
        }
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Formats a driver as Go's type does, without what may change.
fn shown(driver: &Value) -> String {
    format!(
        "{{\"Name\":{},\"NodeID\":{},\"TopologyKeys\":{},\"Allocatable\":null}}",
        go_json(&said(driver, "name")),
        go_json(&said(driver, "nodeID")),
        go_json(&part(driver, "topologyKeys")),
    )
}

fn validate_id(id: &str, path: &str, causes: &mut FieldErrors) {
    if id.is_empty() {
        causes.push(FieldError::required(path, ""));
    }
    if id.len() > LONGEST_ID {
        let why = format!("must be {LONGEST_ID} characters or less");
        causes.push(FieldError::invalid(path, id, &why));
    }
}

fn validate_keys(keys: &[&str], path: &str, causes: &mut FieldErrors) {
    for (at, key) in keys.iter().enumerate() {
        if key.is_empty() {
            causes.push(FieldError::required(path, ""));
        }
        if keys.iter().take(at).any(|other| other == key) {
            causes.push(FieldError::duplicate(path, &(*key).into()));
        }
        for why in names::wrongs_of_qualified_name(key) {
            causes.push(FieldError::invalid(path, key, why));
        }
    }
}
