//! Objects as reviews have them, and back.

use serde_json::{Map, Value};

use crate::api::metadata::{self, Object};
use crate::api::query::FieldValidation;
use crate::api::status::Status;
use crate::rest::decode;
use crate::strategy::resource::ServedResource;

/// An object with the JSON text of its managedFields.
pub(in crate::rest) type Managed<'a> = (&'a Object, &'a str);

/// An object as a review has it.
pub(in crate::rest) fn shown(kind: &ServedResource, (object, managed): Managed<'_>) -> Value {
    let mut shown = Map::new();
    shown.insert("apiVersion".to_owned(), kind.api_version().into());
    shown.insert("kind".to_owned(), kind.kind().into());
    shown.extend(object.clone());
    if let Ok(managed) = serde_json::from_str::<Value>(managed) {
        metadata::set(&mut shown, "managedFields", managed);
    }
    Value::Object(shown)
}

/// Decodes a changed object with the checks of a request body.
pub(in crate::rest) fn decoded(kind: &ServedResource, object: Value) -> Result<Object, Status> {
    let origin = decode::Origin::Document;
    decode::patched(kind, object, &[], FieldValidation::Ignore, origin)
        .map(|decoded| decoded.object)
}
