//! ResourceSlices: the driver, the pool and the nodes. The devices themselves are not checked.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{immutable, subdomain};
use crate::strategy::builtin::volume_values::validate_driver;
use crate::strategy::columns::Cell::Member;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Generation, Strategy, Write};

pub(super) static RESOURCE_SLICE: Row = Row {
    group: "resource.k8s.io",
    kind: "ResourceSlice",
    plural: "resourceslices",
    selectable: &["spec.driver", "spec.nodeName"],
    strategy: &ResourceSlice,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Node", Member("/spec/nodeName", "")),
    column("Driver", Member("/spec/driver", "")),
    column("Pool", Member("/spec/pool/name", "")),
    AGE,
];
const LONGEST_POOL: usize = 253;

#[derive(Debug)]
struct ResourceSlice;

impl Strategy for ResourceSlice {
    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_driver(text(object, "spec.driver"), "spec.driver", causes);
        validate_pool(object, causes);
        validate_nodes(object, causes);
        if at(object, "spec.sharedCounters").is_some() && at(object, "spec.devices").is_some() {
            let why = "only one of `sharedCounters` or `devices` is allowed";
            causes.push(FieldError::invalid("spec", "", why));
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        for path in ["spec.pool.name", "spec.driver", "spec.nodeName"] {
            immutable(at(object, path), at(old, path), path, causes);
        }
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let driver = text(object, "spec.driver");
        let is_mixed = driver != driver.to_lowercase();
        let why = "driver names should be lowercase";
        let warning = || format!("spec.driver: {why}; {driver:?} contains uppercase characters");
        is_mixed.then(warning).into_iter().collect()
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "validateResourcePool")]
fn validate_pool(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.pool.name";
    let name = text(object, path);
    if name.is_empty() {
        causes.push(FieldError::required(path, ""));
    } else {
        if name.len() > LONGEST_POOL {
            causes.push(FieldError::too_long(path, LONGEST_POOL));
        }
        name.split('/').for_each(|part| subdomain(part, path, causes));
    }
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or_default();
    for (path, least, why) in [
        ("spec.pool.resourceSliceCount", 1, "must be greater than zero"),
        ("spec.pool.generation", 0, "must be greater than or equal to zero"),
    ] {
        if number(path) < least {
            causes.push(FieldError::invalid_json(path, &json!(number(path)), why));
        }
    }
}

/// A slice says in one way on which nodes its devices are.
fn validate_nodes(object: &Object, causes: &mut FieldErrors) {
    let mut set = Vec::new();
    match at(object, "spec.nodeName").and_then(Value::as_str) {
        None => {}
        Some("") => {
            let why = "must be either unset or set to a non-empty string";
            causes.push(FieldError::invalid("spec.nodeName", "", why));
        }
        Some(name) => {
            set.push("`nodeName`");
            subdomain(name, "spec.nodeName", causes);
        }
    }
    if at(object, "spec.nodeSelector").is_some() {
        set.push("`nodeSelector`");
    }
    for (path, shown) in [
        ("spec.allNodes", "`allNodes`"),
        ("spec.perDeviceNodeSelection", "`perDeviceNodeSelection`"),
    ] {
        match at(object, path) {
            Some(Value::Bool(true)) => set.push(shown),
            Some(value) => {
                let why = "must be either unset or set to true";
                causes.push(FieldError::invalid_json(path, value, why));
            }
            None => {}
        }
    }
    let why = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` \
               is required";
    match set.as_slice() {
        [] => causes.push(FieldError::required("spec", why)),
        [_] => {}
        many => {
            let shown = format!("{{{}}}", many.join(", "));
            let why = format!("{why}, but multiple fields are set");
            causes.push(FieldError::invalid("spec", &shown, &why));
        }
    }
}
