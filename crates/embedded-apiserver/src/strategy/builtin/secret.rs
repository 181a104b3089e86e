//! Secrets.

use k8s_openapi::ByteString;
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::builtin::config_data::{validate_data, validate_immutable};
use crate::strategy::builtin::members::text;
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::columns::Cell::{Count, Member};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Strategy, Write};

pub(super) static SECRET: Row = Row {
    kind: "Secret",
    plural: "secrets",
    selectable: &["type"],
    strategy: &Secret,
    ..NAMESPACED
};

const COLUMNS: &[Column] =
    &[NAME, column("Type", Member("/type", "")), column("Data", Count(&["/data"])), AGE];

#[derive(Debug)]
struct Secret;

impl Strategy for Secret {
    fn default(&self, object: &mut Object) {
        object.entry("type").or_insert_with(|| "Opaque".into());
        if let Some(Value::Object(plain)) = object.remove("stringData") {
            let data = object.entry("data").or_insert_with(|| json!({}));
            for (key, text) in plain {
                let bytes = text.as_str().unwrap_or_default().as_bytes().to_vec();
                data[key] = serde_json::to_value(ByteString(bytes)).unwrap_or_default();
            }
        }
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_data(object, "data", causes);
        validate_type(object, causes);
    }

    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        validate_immutable(object, old, causes);
        if object.get("type") != old.get("type") {
            let now = text(object, "type");
            causes.push(FieldError::invalid("type", now, "field is immutable"));
        }
    }

    fn bytes_member(&self) -> Option<&'static str> {
        Some("data")
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// Checks the keys that the type requires.
#[doc(alias = "ValidateSecret")]
fn validate_type(object: &Object, causes: &mut FieldErrors) {
    let data = object.get("data").and_then(Value::as_object);
    let has = |key: &str| data.is_some_and(|data| data.contains_key(key));
    let missing: &[&str] = match text(object, "type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            &["username", "password"]
        }
        "kubernetes.io/service-account-token" => {
            const OWNER: &str = "kubernetes.io/service-account.name";
            let owner =
                metadata::get(object, "annotations").and_then(|all| all.get(OWNER)?.as_str());
            if owner.unwrap_or_default().is_empty() {
                causes.push(FieldError::required(format!("metadata.annotations[{OWNER}]"), ""));
            }
            &[]
        }
        _ => &[],
    };
    for key in missing.iter().filter(|key| !has(key)) {
        causes.push(FieldError::required(format!("data[{key}]"), ""));
    }
}
