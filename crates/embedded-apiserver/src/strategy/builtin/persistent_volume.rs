//! PersistentVolumes.

use jiff::Timestamp;
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::clock;
use crate::api::metadata::Object;
use crate::strategy::builtin::cells::{UNSET, text_at};
use crate::strategy::builtin::members::{add_finalizer, at, fill, text};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::topology;
use crate::strategy::builtin::values::{IMMUTABLE, one_of};
use crate::strategy::builtin::volume_values::{modes, phase};
use crate::strategy::builtin::volume_values::{
    validate_access_modes, validate_class_and_mode, validate_size,
};
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Strategy, Write};

/// The members of a volume's spec that are not a source.
const NOT_SOURCES: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

pub(super) static PERSISTENT_VOLUME: Row = Row {
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    status: true,
    short_names: &["pv"],
    strategy: &PersistentVolume,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Capacity", Member("/spec/capacity/storage", "")),
    column("Access Modes", Made(|volume| modes(&volume["spec"]["accessModes"]))),
    column("Reclaim Policy", Member("/spec/persistentVolumeReclaimPolicy", "")),
    column("Status", Made(phase)),
    column("Claim", Made(claim_of)),
    column("StorageClass", Member("/spec/storageClassName", "")),
    column("VolumeAttributesClass", Member("/spec/volumeAttributesClassName", UNSET)),
    column("Reason", Member("/status/reason", "")),
    AGE,
    wide("VolumeMode", Member("/spec/volumeMode", UNSET)),
];

#[derive(Debug)]
struct PersistentVolume;

impl Strategy for PersistentVolume {
    fn default(&self, object: &mut Object) {
        let defaults = [
            ("volumeMode", json!("Filesystem")),
            ("persistentVolumeReclaimPolicy", json!("Retain")),
        ];
        fill(object, "spec", &defaults);
        fill(object, "status", &[("phase", json!("Pending"))]);
        let source = object.get_mut("spec").and_then(|spec| spec.get_mut("hostPath"));
        if let Some(Value::Object(source)) = source {
            source.entry("type").or_insert_with(|| "".into());
        }
    }

    fn prepare_create(&self, object: &mut Object, creation: Creation) {
        let since = clock::seconds(creation.now);
        let status = json!({ "phase": "Pending", "lastPhaseTransitionTime": since });
        object.insert("status".to_owned(), status);
        if creation.protects_volumes {
            add_finalizer(object, "kubernetes.io/pv-protection");
        }
    }

    fn prepare_status_update(&self, object: &mut Object, old: &Object, now: Timestamp) {
        note_transition(object, old, now);
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_access_modes(object, "", causes);
        validate_capacity(object, causes);
        if let Some(affinity) = at(object, "spec.nodeAffinity") {
            topology::check_node_affinity(affinity, causes);
        }
        validate_source(object, causes);
        validate_policy(object, causes);
        validate_class_and_mode(object, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validate_change(object, old, causes);
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Sets the time of a phase change.
fn note_transition(object: &mut Object, old: &Object, now: Timestamp) {
    let member =
        |object: &Object, name: &str| object.get("status").and_then(|s| s.get(name)).cloned();
    let same_time =
        member(object, "lastPhaseTransitionTime") == member(old, "lastPhaseTransitionTime");
    let missing = member(object, "lastPhaseTransitionTime").is_none();
    let moves = member(object, "phase") != member(old, "phase");
    let time = if moves && (same_time || missing) {
        Some(clock::seconds(now).into())
    } else {
        member(old, "lastPhaseTransitionTime").filter(|_| missing)
    };
    fill(object, "status", &[]);
    if let (Some(time), Some(Value::Object(status))) = (time, object.get_mut("status")) {
        status.insert("lastPhaseTransitionTime".to_owned(), time);
    }
}

fn validate_capacity(object: &Object, causes: &mut FieldErrors) {
    let capacity = at(object, "spec.capacity").and_then(Value::as_object);
    if capacity.is_none_or(serde_json::Map::is_empty) {
        causes.push(FieldError::required("spec.capacity", ""));
    }
    if !capacity.is_some_and(|capacity| capacity.len() == 1 && capacity.contains_key("storage")) {
        let value = capacity.map_or(Value::Null, |capacity| capacity.clone().into());
        causes.push(FieldError::unsupported_shown(
            "spec.capacity",
            &value.to_string(),
            &["storage"],
        ));
    }
    if capacity.is_some_and(|capacity| capacity.contains_key("storage")) {
        validate_size(at(object, "spec.capacity.storage"), "spec.capacity[storage]", causes);
    }
}

fn validate_policy(object: &Object, causes: &mut FieldErrors) {
    let policy = "spec.persistentVolumeReclaimPolicy";
    one_of(object, policy, &["Delete", "Recycle", "Retain"], causes);
    if text(object, policy) == "Recycle" && text(object, "spec.hostPath.path") == "/" {
        causes.push(FieldError::forbidden(
            policy,
            "may not be 'recycle' for a hostPath mount of '/'",
        ));
    }
}

fn sources(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
    let members = object.get("spec").and_then(Value::as_object).into_iter().flatten();
    members.filter(|(name, value)| !NOT_SOURCES.contains(&name.as_str()) && !value.is_null())
}

fn validate_source(object: &Object, causes: &mut FieldErrors) {
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let mut names: Vec<_> = sources(object).map(|(name, _)| name.as_str()).collect();
    // Upstream checks hostPath before most others.
    names.sort_by_key(|name| *name != "hostPath");
    if names.is_empty() {
        causes.push(FieldError::required("spec", "must specify a volume type"));
    }
    for name in names.iter().skip(1) {
        causes.push(FieldError::forbidden(
            format!("spec.{name}"),
            "may not specify more than 1 volume type",
        ));
    }
    for source in ["hostPath", "local"] {
        if !names.contains(&source) {
            continue;
        }
        let field = format!("spec.{source}.path");
        let path = text(object, &field);
        if path.is_empty() {
            causes.push(FieldError::required(field, ""));
        } else if path.split('/').any(|part| part == "..") {
            causes.push(FieldError::invalid(field, path, "must not contain '..'"));
        }
    }
    one_of(object, "spec.hostPath.type", &TYPES, causes);
    if names.contains(&"local") && at(object, "spec.nodeAffinity").is_none() {
        causes
            .push(FieldError::required("spec.nodeAffinity", "Local volume requires node affinity"));
    }
}

/// Source and mode are immutable. The node affinity may be set once.
#[doc(alias = "ValidatePersistentVolumeUpdate")]
fn validate_change(object: &Object, old: &Object, causes: &mut FieldErrors) {
    if !sources(object).eq(sources(old)) {
        let why = "spec.persistentvolumesource is immutable after creation";
        causes.push(FieldError::forbidden("spec.persistentvolumesource", why));
    }
    if at(object, "spec.volumeMode") != at(old, "spec.volumeMode") {
        causes.push(FieldError::invalid("volumeMode", text(object, "spec.volumeMode"), IMMUTABLE));
    }
    let was = at(old, "spec.nodeAffinity");
    if was.is_some() && at(object, "spec.nodeAffinity") != was {
        let now = at(object, "spec.nodeAffinity").unwrap_or(&Value::Null);
        let why = "field is immutable, except for updating from beta label to GA";
        causes.push(FieldError::invalid_json("nodeAffinity", &topology::shown_affinity(now), why));
    }
}

fn claim_of(volume: &Value) -> Value {
    let (namespace, name) =
        (text_at(volume, "/spec/claimRef/namespace"), text_at(volume, "/spec/claimRef/name"));
    if name.is_empty() { "".into() } else { format!("{namespace}/{name}").into() }
}
