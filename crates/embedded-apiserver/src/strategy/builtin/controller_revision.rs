//! ControllerRevisions: snapshots of the state of StatefulSets and DaemonSets.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::NONE;
use crate::strategy::builtin::members::{at, said};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::IMMUTABLE;
use crate::strategy::columns::Cell::{Made, Number};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static CONTROLLER_REVISION: Row = Row {
    group: "apps",
    kind: "ControllerRevision",
    plural: "controllerrevisions",
    strategy: &ControllerRevision,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Controller", Made(controller)),
    column("Revision", Number("/revision")).of("string"),
    AGE,
];

#[derive(Debug)]
struct ControllerRevision;

impl Strategy for ControllerRevision {
    #[doc(alias = "ValidateControllerRevisionCreate")]
    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if let Some(revision) =
            at(object, "revision").filter(|of| of.as_i64().is_some_and(|of| of < 0))
        {
            let why = "must be greater than or equal to 0";
            causes.push(FieldError::invalid_json("revision", revision, why));
        }
        let why = match at(object, "data") {
            _ if write.old.is_some() => return,
            Some(Value::Object(_)) => return,
            None => "data is mandatory",
            Some(_) => "data must be a valid JSON object",
        };
        causes.push(FieldError::required("data", why));
    }

    #[doc(alias = "ValidateControllerRevisionUpdate")]
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        if object.get("data") != old.get("data") {
            let data = object.get("data").unwrap_or(&Value::Null);
            causes.push(FieldError::invalid_json("data", data, IMMUTABLE));
        }
    }

    fn fill_empty(&self, object: &mut Object) {
        object.insert("data".to_owned(), Value::Null);
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Kind, group and name of the controller: `statefulset.apps/web`.
fn controller(revision: &Value) -> Value {
    let owners = revision.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owner = owners.into_iter().flatten().find(|owner| owner["controller"] == true);
    let Some(owner) = owner else { return NONE.into() };
    let (version, kind) = (said(owner, "apiVersion"), said(owner, "kind").to_lowercase());
    let name = said(owner, "name");
    match version.split_once('/') {
        Some((group, _)) => format!("{kind}.{}/{name}", group.to_lowercase()).into(),
        None => format!("{kind}/{name}").into(),
    }
}
