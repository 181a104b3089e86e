//! PersistentVolumeClaims.

use k8s_value::{FieldError, FieldErrors, quantity};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::{UNSET, text_at};
use crate::strategy::builtin::members::{add_finalizer, at, fill, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::IMMUTABLE;
use crate::strategy::builtin::volume_values::{modes, phase, validate_claim_spec};
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Strategy, Write};

pub(super) static PERSISTENT_VOLUME_CLAIM: Row = Row {
    kind: "PersistentVolumeClaim",
    plural: "persistentvolumeclaims",
    status: true,
    short_names: &["pvc"],
    strategy: &PersistentVolumeClaim,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Status", Made(phase)),
    column("Volume", Member("/spec/volumeName", "")),
    column(
        "Capacity",
        Made(|claim| if_bound(claim, claim["status"]["capacity"]["storage"].clone())),
    ),
    column("Access Modes", Made(|claim| if_bound(claim, modes(&claim["status"]["accessModes"])))),
    column("StorageClass", Member("/spec/storageClassName", "")),
    column("VolumeAttributesClass", Member("/spec/volumeAttributesClassName", UNSET)),
    AGE,
    wide("VolumeMode", Member("/spec/volumeMode", UNSET)),
];

#[derive(Debug)]
struct PersistentVolumeClaim;

impl Strategy for PersistentVolumeClaim {
    fn default(&self, object: &mut Object) {
        default_claim(object);
        copy_source(object);
    }

    fn prepare_create(&self, object: &mut Object, creation: Creation) {
        object.insert("status".to_owned(), json!({ "phase": "Pending" }));
        if creation.protects_volumes {
            add_finalizer(object, "kubernetes.io/pvc-protection");
        }
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_claim_spec(object, "spec", causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validate_change(object, old, causes);
    }

    fn validate_status_update(&self, object: &Object, _old: &Object, causes: &mut FieldErrors) {
        validate_capacity(object, causes);
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    /// The first write of a claim always changes it: upstream stores a new claim in another form.
    fn leaves_unsaid(&self, _object: &Object, old: Option<&Object>) -> bool {
        old.is_none()
    }

    fn class_to_expand<'a>(&self, object: &'a Object, old: &Object) -> Option<&'a str> {
        grows(old, object).then(|| text(object, "spec.storageClassName"))
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Sets the defaults that templates of claims have, too.
#[doc(alias("SetDefaults_PersistentVolumeClaim", "SetDefaults_PersistentVolumeClaimSpec"))]
pub(super) fn default_claim(claim: &mut Object) {
    fill(claim, "spec", &[("volumeMode", "Filesystem".into())]);
    fill(claim, "status", &[("phase", "Pending".into())]);
}

/// Copies dataSource to dataSourceRef, and back.
fn copy_source(claim: &mut Object) {
    let Some(Value::Object(spec)) = claim.get_mut("spec") else { return };
    let foreign = spec.get("dataSourceRef").is_some_and(|source| source.get("namespace").is_some());
    for (from, to) in [("dataSource", "dataSourceRef"), ("dataSourceRef", "dataSource")] {
        if let (Some(source), None, false) = (spec.get(from).cloned(), spec.get(to), foreign) {
            spec.insert(to.to_owned(), source);
        }
    }
}

/// The volume may be set once. The requests of a bound claim may change.
#[doc(alias = "ValidatePersistentVolumeClaimUpdate")]
fn validate_change(object: &Object, old: &Object, causes: &mut FieldErrors) {
    let spec = |object: &Object| {
        object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let (mut new, was) = (spec(object), spec(old));
    let mut allow = |member: &str| match was.get(member) {
        Some(value) => drop(new.insert(member.to_owned(), value.clone())),
        None => drop(new.remove(member)),
    };
    if text(old, "spec.volumeName").is_empty() {
        allow("volumeName");
    }
    if at(old, "spec.storageClassName").is_none() && at(object, "spec.storageClassName").is_some() {
        allow("storageClassName");
    }
    if text(old, "status.phase") == "Bound" {
        allow("volumeAttributesClassName");
        let requests = at(old, "spec.resources.requests").cloned();
        if let (Some(requests), Some(Value::Object(resources))) =
            (requests, new.get_mut("resources"))
        {
            resources.insert("requests".to_owned(), requests);
        }
    }
    if new != was {
        let why = "spec is immutable after creation except resources.requests and \
                   volumeAttributesClassName for bound claims";
        causes.push(FieldError::forbidden("spec", why));
    }
    let has = quantity::bytes(text(old, "status.capacity.storage")).unwrap_or(0);
    if size(object) < size(old) && size(object) <= has {
        let why = "field can not be less than status.capacity";
        causes.push(FieldError::forbidden("spec.resources.requests.storage", why));
    }
    if at(object, "spec.volumeMode") != at(old, "spec.volumeMode") {
        causes.push(FieldError::invalid("volumeMode", text(object, "spec.volumeMode"), IMMUTABLE));
    }
}

#[doc(alias = "ValidatePersistentVolumeClaimStatusUpdate")]
fn validate_capacity(object: &Object, causes: &mut FieldErrors) {
    for (resource, amount) in
        at(object, "status.capacity").and_then(Value::as_object).into_iter().flatten()
    {
        let amount = amount.as_str().and_then(|amount| quantity::Quantity::parse(amount).ok());
        if let Some(amount) = amount.filter(|amount| amount.is_negative()) {
            let (field, why) =
                (format!("status.capacity[{resource}]"), "must be a valid resource quantity");
            causes.push(FieldError::invalid_shown(field, &format!("-{}", amount.whole()), why));
        }
    }
}

/// Whether a claim requests more storage than before.
pub(crate) fn grows(old: &Object, new: &Object) -> bool {
    size(new) > size(old)
}

fn size(claim: &Object) -> u128 {
    quantity::bytes(text(claim, "spec.resources.requests.storage")).unwrap_or(0)
}

fn if_bound(claim: &Value, value: Value) -> Value {
    let bound = !text_at(claim, "/spec/volumeName").is_empty();
    // A missing quantity is zero.
    if bound { if value.is_null() { "0".into() } else { value } } else { "".into() }
}
