//! The data of ConfigMaps and Secrets: keys, size, immutability.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::Value;

use crate::api::metadata::Object;

/// Checks the keys, and the size of all values together; `all` names the field that is too long.
pub(super) fn validate_data(object: &Object, all: &str, causes: &mut FieldErrors) {
    const MAX: usize = 1024 * 1024;
    let members =
        |member: &str| object.get(member).and_then(Value::as_object).into_iter().flatten();
    let binary = object.get("binaryData").and_then(Value::as_object);
    let mut size = 0_usize;
    for member in ["data", "binaryData"] {
        for (key, value) in members(member) {
            if let Some(why) = names::wrong_data_key(key) {
                causes.push(FieldError::invalid(format!("{member}[{key}]"), key, why));
            }
            if member == "data" && binary.is_some_and(|members| members.contains_key(key)) {
                let why = "duplicate of key present in binaryData";
                causes.push(FieldError::invalid(format!("data[{key}]"), key, why));
            }
            let text = value.as_str().unwrap_or_default();
            // Base64 counts as the bytes that it stands for.
            let encoded = member == "binaryData" || all == "data";
            let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
            let length =
                if encoded { (text.len() / 4 * 3).saturating_sub(padding) } else { text.len() };
            size = size.saturating_add(length);
        }
    }
    if size > MAX {
        causes.push(FieldError::too_long(all, MAX));
    }
}

/// Refuses changes of the data of an immutable object.
pub(super) fn validate_immutable(object: &Object, old: &Object, causes: &mut FieldErrors) {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return;
    }
    for member in ["immutable", "data", "binaryData"] {
        if object.get(member) != old.get(member) {
            let why = "field is immutable when `immutable` is set";
            causes.push(FieldError::forbidden(member, why));
        }
    }
}
