//! Patches: how each type changes a document. Pure.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::json_syntax::is_too_deep;
use crate::media::PatchType;
use crate::metadata::Object;
use crate::openapi::schema::Schema;
use crate::query::FieldValidation;
use crate::resource::ServedResource;
use crate::status::Status;
use k8s_value::go_value::json_type;

mod document;
mod json;
mod merge;
pub(crate) mod strategic;
#[cfg(test)]
mod tests;

const TYPES: [&str; 2] = ["apiVersion", "kind"];

/// A patch that has been read.
#[derive(Debug, Clone)]
pub(crate) enum Patch {
    Json(Vec<json::Operation>),
    Merge(Bytes),
    Strategic(Object, Schema),
}

/// Why a value is no object.
fn no_object(value: &Value) -> String {
    format!("expected an object, got {}", json_type(value))
}

impl Patch {
    /// Reads the patch of an object of a kind. A merge patch whose members nobody is to look at may
    /// be a list, of which no object comes.
    pub(crate) fn parse(
        patch: PatchType,
        body: &Bytes,
        kind: &ServedResource,
        validation: FieldValidation,
    ) -> Result<Self, Status> {
        let bad = |prefix: &str, why: String| Status::bad_request(format!("{prefix}{why}"));
        match patch {
            PatchType::Json => Ok(Self::Json(json::parse(body, validation)?)),
            PatchType::Merge => {
                const PREFIX: &str = "error decoding patch: ";
                const INVALID: &str = "a merge patch must be an object";
                match (serde_json::from_slice(body), validation) {
                    (Ok(Value::Object(_)), _) | (Ok(Value::Array(_)), FieldValidation::Ignore) => {
                        Ok(Self::Merge(body.clone()))
                    }
                    (Ok(Value::Null), _) | (_, FieldValidation::Ignore) => {
                        Err(Status::bad_request(INVALID))
                    }
                    (Ok(other), _) => Err(bad(PREFIX, no_object(&other))),
                    (Err(error), _) => Err(bad(PREFIX, error.to_string())),
                }
            }
            PatchType::Strategic => {
                let Some(schema) = Schema::of(kind) else {
                    return Err(Status::not_implemented(
                        "strategic merge patches of a kind without a schema",
                    ));
                };
                match serde_json::from_slice(body).map_err(|error| bad("", error.to_string()))? {
                    Value::Object(patch) => Ok(Self::Strategic(patch, schema)),
                    // It changes nothing.
                    Value::Null => Ok(Self::Strategic(Map::new(), schema)),
                    other => Err(bad("", no_object(&other))),
                }
            }
            PatchType::Apply => {
                Err(Status::internal("an apply is no patch of one object by another"))
            }
        }
    }

    /// Whether it is a strategic merge patch.
    pub(crate) const fn is_strategic(&self) -> bool {
        matches!(self, Self::Strategic(..))
    }

    /// What the patch makes of an object, as a client sees it.
    pub(crate) fn apply(&self, object: Bytes) -> Result<Value, Status> {
        let text = match self {
            Self::Strategic(patch, schema) => return strategic(&object, patch, *schema),
            Self::Json(operations) => json::apply(operations, object)?,
            Self::Merge(patch) => merge::apply(object, patch.clone()),
        };
        match serde_json::from_str(&text) {
            Ok(document) => Ok(document),
            Err(_) if is_too_deep(text.as_bytes()) => Err(Status::too_deep()),
            Err(error) => Err(Status::invalid_patch(&error.to_string())),
        }
    }
}

fn strategic(object: &[u8], patch: &Object, schema: Schema) -> Result<Value, Status> {
    let Ok(Value::Object(mut document)) = serde_json::from_slice(object) else {
        return Err(Status::internal("an object is no JSON object"));
    };
    let types = TYPES.map(|member| (member, document.get(member).cloned()));
    strategic::merge(&mut document, patch.clone(), schema)?;
    // As on the real server, what an object is cannot be patched, and trying does no harm.
    for (member, value) in types {
        if document.get(member).is_none_or(Value::is_string)
            && let Some(value) = value
        {
            document.insert(member.to_owned(), value);
        }
    }
    Ok(document.into())
}
