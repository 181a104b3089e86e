//! PriorityClasses.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::members::at;
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{immutable, one_of};
use crate::strategy::columns::Cell::{Is, Member, Number};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy, Write};

pub(super) static PRIORITY_CLASS: Row = Row {
    group: "scheduling.k8s.io",
    kind: "PriorityClass",
    plural: "priorityclasses",
    short_names: &["pc"],
    strategy: &PriorityClass,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Value", Number("/value")),
    column("Global-Default", Is("/globalDefault")),
    AGE,
    column("PreemptionPolicy", Member("/preemptionPolicy", "")),
];

/// The classes of the system, with their values.
pub(super) const SYSTEM: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// The largest value of another class.
#[doc(alias = "HighestUserDefinablePriority")]
const HIGHEST: i64 = 1_000_000_000;

#[derive(Debug)]
struct PriorityClass;

impl Strategy for PriorityClass {
    fn default(&self, object: &mut Object) {
        object.entry("preemptionPolicy").or_insert_with(|| "PreemptLowerPriority".into());
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    #[doc(alias = "ValidatePriorityClass")]
    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        // Nothing that is checked here can change.
        if write.old.is_some() {
            return;
        }
        let name = metadata::text(object, "name");
        let value = at(object, "value").and_then(Value::as_i64).unwrap_or(0);
        if name.starts_with("system-") {
            if let Some(why) = wrong_system_class(object, name, value) {
                let why = format!(
                    "priority class names with 'system-' prefix are reserved for system use only. \
                     error: {why}"
                );
                causes.push(FieldError::forbidden("metadata.name", &why));
            }
        } else if value > HIGHEST {
            let why = format!("maximum allowed value of a user defined priority is {HIGHEST}");
            causes.push(FieldError::forbidden("value", &why));
        }
        one_of(object, "preemptionPolicy", &["PreemptLowerPriority", "Never"], causes);
    }

    #[doc(alias = "ValidatePriorityClassUpdate")]
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        if at(object, "value") != at(old, "value") {
            causes.push(FieldError::forbidden("value", "may not be changed in an update."));
        }
        let path = "preemptionPolicy";
        immutable(at(object, path), at(old, path), path, causes);
    }

    fn generation(&self) -> Generation {
        Generation::Constant
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "IsKnownSystemPriorityClass")]
fn wrong_system_class(object: &Object, name: &str, value: i64) -> Option<String> {
    match SYSTEM.iter().find(|(known, _)| *known == name) {
        None => Some(format!("{name} is not a known system priority class")),
        Some((_, of)) if *of != value => {
            Some(format!("value of {name} PriorityClass must be {of}"))
        }
        Some(_) if object.get("globalDefault") == Some(&Value::Bool(true)) => {
            Some(format!("globalDefault of {name} PriorityClass must be false"))
        }
        Some(_) => None,
    }
}
