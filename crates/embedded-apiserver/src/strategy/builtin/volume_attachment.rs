//! VolumeAttachments.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, text};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::{IMMUTABLE, subdomain};
use crate::strategy::builtin::volume_values::validate_driver;
use crate::strategy::columns::Cell::{Is, Member};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Strategy, Write};
use k8s_value::go_json::go_json;

pub(super) static VOLUME_ATTACHMENT: Row = Row {
    group: "storage.k8s.io",
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    status: true,
    strategy: &VolumeAttachment,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Attacher", Member("/spec/attacher", "")).of_name(),
    column("PV", Member("/spec/source/persistentVolumeName", "")),
    column("Node", Member("/spec/nodeName", "")),
    column("Attached", Is("/status/attached")),
    AGE,
];
const LONGEST_MESSAGE: usize = 1024;
const MOST_METADATA: usize = 256 * 1024;

#[derive(Debug)]
struct VolumeAttachment;

impl Strategy for VolumeAttachment {
    fn prepare_create(&self, object: &mut Object, _: Creation) {
        object.insert("status".to_owned(), json!({ "attached": false }));
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        validate_driver(text(object, "spec.attacher"), "spec.attacher", causes);
        validate_source(object, causes);
        subdomain(text(object, "spec.nodeName"), "spec.nodeName", causes);
        if write.subresource.is_some() {
            validate_status(object, causes);
        }
        let path = "spec.source.persistentVolumeName";
        if let Some(volume) = at(object, path).and_then(Value::as_str) {
            subdomain(volume, path, causes);
        }
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        if object.get("spec") != old.get("spec") {
            causes.push(FieldError::invalid_shown("spec", &shown(object), IMMUTABLE));
        }
    }

    fn updates_unconditionally(&self) -> bool {
        false
    }

    fn changes_metadata_by_status(&self) -> bool {
        false
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Formats a spec as Go's type does. An inline volume is shown as it is.
fn shown(object: &Object) -> String {
    format!(
        "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{},\"InlineVolumeSpec\":{}}},\
         \"NodeName\":{}}}",
        go_json(&text(object, "spec.attacher")),
        go_json(&at(object, "spec.source.persistentVolumeName")),
        go_json(&at(object, "spec.source.inlineVolumeSpec")),
        go_json(&text(object, "spec.nodeName")),
    )
}

#[doc(alias = "validateVolumeAttachmentSource")]
fn validate_source(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.source";
    let why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let inline = at(object, "spec.source.inlineVolumeSpec");
    match (inline, at(object, "spec.source.persistentVolumeName")) {
        (None, None) => causes.push(FieldError::required(path, why)),
        (Some(_), Some(_)) => causes.push(FieldError::forbidden(path, why)),
        (None, Some(name)) if *name == "" => {
            let why = "must specify non empty persistentVolumeName";
            causes.push(FieldError::required(format!("{path}.persistentVolumeName"), why));
        }
        _ => {}
    }
}

#[doc(alias = "validateVolumeAttachmentStatus")]
fn validate_status(object: &Object, causes: &mut FieldErrors) {
    let path = "status.attachmentMetadata";
    let metadata = at(object, path).and_then(Value::as_object).into_iter().flatten();
    let sizes = metadata.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    if sizes.sum::<usize>() > MOST_METADATA {
        causes.push(FieldError::too_long(path, MOST_METADATA));
    }
    for path in ["status.attachError", "status.detachError"] {
        if text(object, &format!("{path}.message")).len() > LONGEST_MESSAGE {
            causes.push(FieldError::too_long(format!("{path}.message"), MOST_METADATA));
        }
        let field = format!("{path}.errorCode");
        if let Some(code) = at(object, &field).filter(|code| code.as_i64().is_some_and(|it| it < 0))
        {
            let why = "must be between 0 and 2147483647, inclusive";
            causes.push(FieldError::invalid_json(field, code, why));
        }
    }
}
