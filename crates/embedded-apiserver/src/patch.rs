//! Patches: how each type changes a document. Pure.

use json_patch::PatchOperation;
use serde_json::Value;

use crate::media::PatchType;
use crate::status::Status;

#[cfg(test)]
mod tests;

/// A patch that has been read.
#[derive(Debug, Clone)]
pub(crate) enum Patch {
    Json(Vec<PatchOperation>),
    Merge(Value),
}

/// The most operations of one JSON patch, as kube-apiserver's.
const MAX_OPERATIONS: usize = 10_000;

impl Patch {
    pub(crate) fn parse(patch: PatchType, body: &[u8]) -> Result<Self, Status> {
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
            PatchType::Strategic => Err(Status::not_implemented(
                "strategic merge patches; send application/merge-patch+json or application/json-patch+json",
            )),
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
            Self::Json(operations) => operations.iter().try_for_each(|operation| {
                if tests_absence(operation, document) {
                    return Ok(());
                }
                json_patch::patch(document, std::slice::from_ref(operation))
                    .map_err(|error| Status::unprocessable(&error.to_string()))
            }),
        }
    }
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
