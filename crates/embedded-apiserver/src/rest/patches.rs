//! Patches: read by their media type, applied by the rules of [`k8s_merge`].

use bytes::Bytes;
use k8s_merge::patch::{JsonPatch, PatchError, merge_patch, strategic_merge};
use k8s_merge::{Object, Schema};
use k8s_value::go_value::json_type;
use serde_json::Value;

use crate::api::json_syntax::is_too_deep;
use crate::api::media::PatchType;
use crate::api::query::FieldValidation;
use crate::api::status::Status;
use crate::strategy::resource::ServedResource;

const TYPES: [&str; 2] = ["apiVersion", "kind"];

/// A parsed patch.
#[derive(Debug, Clone)]
pub(crate) enum Patch {
    Json(JsonPatch),
    Merge(Bytes),
    Strategic(Object, Schema<'static>),
}

/// The response to a patch that cannot be parsed or applied.
fn refusal(error: PatchError) -> Status {
    match error {
        PatchError::Malformed(why) => Status::bad_request(why),
        PatchError::TooManyOperations(limit) => Status::too_large(limit),
        PatchError::Unprocessable(_) => Status::unprocessable(),
        PatchError::Panic => Status::panicked(),
        PatchError::Unmergeable(why) => Status::unknown(why),
        PatchError::TooDeep => Status::too_deep(),
        PatchError::OutOfBounds(why) => Status::out_of_bounds(&why),
        PatchError::NotAnObject => Status::internal("an object is no JSON object"),
    }
}

impl Patch {
    /// Parses the patch of an object. A merge patch without field validation may be a list; its
    /// result is never an object.
    pub(crate) fn parse(
        patch: PatchType,
        body: &Bytes,
        kind: &ServedResource,
        validation: FieldValidation,
    ) -> Result<Self, Status> {
        const PREFIX: &str = "error decoding patch: ";
        let bad = |prefix: &str, why: String| Status::bad_request(format!("{prefix}{why}"));
        let no_object = |value: &Value| format!("expected an object, got {}", json_type(value));
        match patch {
            PatchType::Json => match validation {
                FieldValidation::Ignore => JsonPatch::parse_unchecked(body.clone()),
                FieldValidation::Warn | FieldValidation::Strict => JsonPatch::parse(body.clone()),
            }
            .map(Self::Json)
            .map_err(|error| match error {
                PatchError::Malformed(why) if validation != FieldValidation::Ignore => {
                    bad(PREFIX, why)
                }
                error => refusal(error),
            }),
            PatchType::Merge => match (serde_json::from_slice(body), validation) {
                (Ok(Value::Object(_)), _) | (Ok(Value::Array(_)), FieldValidation::Ignore) => {
                    Ok(Self::Merge(body.clone()))
                }
                (Ok(Value::Null), _) | (_, FieldValidation::Ignore) => {
                    Err(Status::bad_request("a merge patch must be an object"))
                }
                (Ok(other), _) => Err(bad(PREFIX, no_object(&other))),
                (Err(error), _) => Err(bad(PREFIX, error.to_string())),
            },
            PatchType::Strategic => {
                let Some(schema) = kind.recorded_schema() else {
                    return Err(Status::not_implemented(
                        "strategic merge patches of a kind without a schema",
                    ));
                };
                match serde_json::from_slice(body).map_err(|error| bad("", error.to_string()))? {
                    Value::Object(patch) => Ok(Self::Strategic(patch, schema)),
                    // A null patch changes nothing.
                    Value::Null => Ok(Self::Strategic(Object::new(), schema)),
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

    /// Applies the patch to an object in its external form.
    pub(crate) fn apply(&self, object: Bytes) -> Result<Value, Status> {
        let text = match self {
            Self::Strategic(patch, schema) => return strategic(&object, patch, *schema),
            Self::Json(patch) => patch.apply(object),
            Self::Merge(patch) => merge_patch(object, patch.clone()),
        };
        let text = text.map_err(refusal)?;
        match serde_json::from_str(&text) {
            Ok(document) => Ok(document),
            Err(_) if is_too_deep(text.as_bytes()) => Err(Status::too_deep()),
            Err(error) => Err(Status::invalid_patch(&error.to_string())),
        }
    }
}

fn strategic(object: &[u8], patch: &Object, schema: Schema<'_>) -> Result<Value, Status> {
    let Ok(Value::Object(mut document)) = serde_json::from_slice(object) else {
        return Err(refusal(PatchError::NotAnObject));
    };
    let types = TYPES.map(|member| (member, document.get(member).cloned()));
    strategic_merge(&mut document, patch.clone(), schema).map_err(refusal)?;
    // As upstream, a patch cannot change apiVersion or kind, and may name them.
    for (member, value) in types {
        if document.get(member).is_none_or(Value::is_string)
            && let Some(value) = value
        {
            document.insert(member.to_owned(), value);
        }
    }
    Ok(document.into())
}
