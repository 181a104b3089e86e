//! Patches: how each type changes a document. Pure.

use json_patch::PatchOperation;
use serde_json::Value;

use crate::kind::Kind;
use crate::media::PatchType;
use crate::metadata::Object;
use crate::openapi::schema::Schema;
use crate::status::Status;

mod strategic;
#[cfg(test)]
mod tests;

/// A patch that has been read.
#[derive(Debug, Clone)]
pub(crate) enum Patch {
    Json(Vec<PatchOperation>),
    Merge(Value),
    Strategic(Object, Schema),
}

/// The most operations of one JSON patch, as kube-apiserver's.
const MAX_OPERATIONS: usize = 10_000;
/// How many bytes the `copy` operations of one JSON patch may add: a body's size, as kube-apiserver's
/// (`AccumulatedCopySizeLimit`).
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// How deep serde_json reads: what is stored must be readable.
const MAX_DEPTH: usize = 127;

impl Patch {
    /// Reads the patch of an object of a kind.
    pub(crate) fn parse(patch: PatchType, body: &[u8], kind: &Kind) -> Result<Self, Status> {
        let wrong = |error: serde_json::Error| Status::bad_request(format!("error decoding patch: {error}"));
        match patch {
            PatchType::Json => {
                let operations: Vec<PatchOperation> = serde_json::from_slice(body).map_err(wrong)?;
                if operations.len() > MAX_OPERATIONS {
                    return Err(Status::too_large(MAX_OPERATIONS));
                }
                Ok(Self::Json(operations))
            }
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
            PatchType::Apply => Err(Status::not_implemented(
                "server-side apply; send application/merge-patch+json or application/json-patch+json",
            )),
        }
    }

    pub(crate) fn apply(&self, document: &mut Value) -> Result<(), Status> {
        match self {
            Self::Merge(patch) => {
                json_patch::merge(document, patch);
                Ok(())
            }
            Self::Strategic(patch, schema) => match document {
                Value::Object(document) => strategic::merge(document, patch.clone(), *schema),
                _ => Err(Status::internal("an object is no JSON object")),
            },
            Self::Json(operations) => {
                let mut copied = 0;
                operations.iter().try_for_each(|operation| {
                    if tests_absence(operation, document) {
                        return Ok(());
                    }
                    check_growth(operation, document, &mut copied)?;
                    json_patch::patch(document, std::slice::from_ref(operation))
                        .map_err(|error| Status::unprocessable(&error.to_string()))
                })
            }
        }
    }
}

/// Refuses an operation that would nest the document deeper than it can be read again, or copy more in all than fits
/// into a request: a few operations that copy what others copied would take all memory and the stack.
fn check_growth(operation: &PatchOperation, document: &Value, copied: &mut usize) -> Result<(), Status> {
    let (path, value, copies) = match operation {
        PatchOperation::Add(add) => (&add.path, Some(&add.value), false),
        PatchOperation::Replace(replace) => (&replace.path, Some(&replace.value), false),
        PatchOperation::Move(moved) => (&moved.path, moved.from.resolve(document).ok(), false),
        PatchOperation::Copy(copy) => (&copy.path, copy.from.resolve(document).ok(), true),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return Ok(()),
    };
    // A source that is not there is reported by the operation itself.
    let Some(value) = value else { return Ok(()) };
    let size = MAX_DEPTH.checked_sub(path.count()).and_then(|room| size_within(value, room));
    let Some(size) = size else {
        let why = format!("the patch would nest the object more than {MAX_DEPTH} levels deep");
        return Err(Status::unprocessable(&why));
    };
    if copies {
        *copied = copied.saturating_add(size);
        if *copied > MAX_COPIED {
            let why = format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the \
                 limit {MAX_COPIED}"
            );
            return Err(Status::unprocessable(&why));
        }
    }
    Ok(())
}

/// About how many bytes of JSON a value is; nothing if it is nested deeper than `room` levels.
fn size_within(value: &Value, room: usize) -> Option<usize> {
    let size = match value {
        Value::Object(members) => {
            let room = room.checked_sub(1)?;
            members.iter().try_fold(2_usize, |sum, (name, member)| {
                Some(
                    sum.saturating_add(name.len())
                        .saturating_add(4)
                        .saturating_add(size_within(member, room)?),
                )
            })?
        }
        Value::Array(items) => {
            let room = room.checked_sub(1)?;
            items.iter().try_fold(2_usize, |sum, item| {
                Some(sum.saturating_add(1).saturating_add(size_within(item, room)?))
            })?
        }
        Value::String(text) => text.len().saturating_add(2),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    };
    Some(size)
}

/// `test` for null on a member that is not there, in an object that is: the real server's way to say "absent"
/// (RFC 6902 itself would fail it). kube's finalizer helper relies on it.
fn tests_absence(operation: &PatchOperation, document: &Value) -> bool {
    let PatchOperation::Test(test) = operation else { return false };
    let Some((parent, member)) = test.path.split_back() else { return false };
    test.value.is_null()
        && parent
            .resolve(document)
            .ok()
            .and_then(Value::as_object)
            .is_some_and(|parent| !parent.contains_key(member.decoded().as_ref()))
}
