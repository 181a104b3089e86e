//! Patches: how each type changes a document. Pure.

use serde_json::Value;

use crate::kind::Kind;
use crate::media::PatchType;
use crate::metadata::Object;
use crate::openapi::schema::Schema;
use crate::status::Status;

mod json;
mod strategic;
#[cfg(test)]
mod tests;

const TYPES: [&str; 2] = ["apiVersion", "kind"];

/// A patch that has been read.
#[derive(Debug, Clone)]
pub(crate) enum Patch {
    Json(Vec<json::Step>),
    Merge(Value),
    Strategic(Object, Schema),
}

impl Patch {
    /// Reads the patch of an object of a kind.
    pub(crate) fn parse(patch: PatchType, body: &[u8], kind: &Kind) -> Result<Self, Status> {
        let wrong = |error: serde_json::Error| Status::bad_request(format!("error decoding patch: {error}"));
        match patch {
            PatchType::Json => Ok(Self::Json(json::parse(body)?)),
            PatchType::Merge => match serde_json::from_slice(body).map_err(wrong)? {
                patch @ Value::Object(_) => Ok(Self::Merge(patch)),
                _ => Err(Status::bad_request("error decoding patch: a merge patch is a JSON object")),
            },
            PatchType::Strategic => {
                let Some(schema) = Schema::of(kind) else {
                    return Err(Status::not_implemented(
                        "strategic merge patches of a kind without a schema",
                    ));
                };
                match serde_json::from_slice(body).map_err(wrong)? {
                    Value::Object(patch) => Ok(Self::Strategic(patch, schema)),
                    _ => Err(Status::bad_request(
                        "error decoding patch: a strategic merge patch is a JSON object",
                    )),
                }
            }
            PatchType::Apply => Err(Status::internal("an apply is no patch of one object by another")),
        }
    }

    pub(crate) fn apply(&self, document: &mut Value) -> Result<(), Status> {
        match self {
            Self::Merge(patch) => {
                json_patch::merge(document, patch);
                Ok(())
            }
            Self::Strategic(patch, schema) => match document {
                Value::Object(document) => {
                    let types = TYPES.map(|member| (member, document.get(member).cloned()));
                    strategic::merge(document, patch.clone(), *schema)?;
                    // As on the real server, what an object is cannot be patched, and trying does no harm.
                    for (member, value) in types {
                        if document.get(member).is_none_or(Value::is_string)
                            && let Some(value) = value
                        {
                            document.insert(member.to_owned(), value);
                        }
                    }
                    Ok(())
                }
                _ => Err(Status::internal("an object is no JSON object")),
            },
            Self::Json(steps) => json::apply(steps, document),
        }
    }
}
