//! Media types: in which form an answer is wanted, and what a body is.

use http::{HeaderMap, header};

use crate::status::Status;
use crate::stored::Form;

/// Picks the form of the answer. JSON only: a client that would rather have protobuf or CBOR and names JSON as its
/// second choice gets that.
pub(crate) fn accepted(headers: &HeaderMap) -> Result<Form, Status> {
    let mut any = false;
    for value in headers.get_all(header::ACCEPT) {
        for clause in value.to_str().unwrap_or_default().split(',').map(str::trim).filter(|c| !c.is_empty()) {
            any = true;
            if let Some(form) = form(clause) {
                return Ok(form);
            }
        }
    }
    if any {
        return Err(Status::not_acceptable(
            "application/json, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, \
             application/json;as=Table;g=meta.k8s.io;v=v1",
        ));
    }
    Ok(Form::Full)
}

/// Whether the client would rather have a table than anything else that it names.
pub(crate) fn prefers_table(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let mut clauses = values.flat_map(|value| value.to_str().unwrap_or_default().split(',').map(str::trim));
    let known = clauses.find(|clause| form(clause).is_some());
    known.is_some_and(|clause| transformation(clause).is_some_and(|(word, ..)| word == "Table"))
}

fn form(clause: &str) -> Option<Form> {
    match transformation(clause)? {
        ("", ..) => Some(Form::Full),
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => Some(Form::Metadata),
        // Made of the whole answer.
        ("Table", "meta.k8s.io", "v1") => Some(Form::Full),
        _ => None,
    }
}

/// What JSON is to be made into, with the group and the version of that; nothing if it is not JSON. Case matters, as
/// on the real server.
fn transformation(clause: &str) -> Option<(&str, &str, &str)> {
    let mut parts = clause.split(';').map(str::trim);
    let essence = parts.next()?;
    if !matches!(essence, "*/*" | "application/json") {
        return None;
    }
    let (mut transformation, mut group, mut version) = ("", "", "");
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "as" => transformation = value.trim(),
            "g" => group = value.trim(),
            "v" => version = value.trim(),
            _ => {}
        }
    }
    Some((transformation, group, version))
}

/// What a patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

/// The type of a request's body, without parameters, in lower case.
pub(crate) fn essence(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// A body of JSON; without a Content-Type it is taken for that.
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), Status> {
    match essence(headers).as_str() {
        "" | "application/json" => Ok(()),
        _ => Err(Status::unsupported_media_type("application/json")),
    }
}

/// The type of a patch is compared as it stands, up to the first `;`: unlike that of an object, case matters, and so
/// does a space.
pub(crate) fn patch_type(headers: &HeaderMap, builtin: bool) -> Result<PatchType, Status> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match value.split(';').next().unwrap_or_default() {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        // Custom kinds have no strategic merge patch on the real server either.
        "application/strategic-merge-patch+json" if builtin => Ok(PatchType::Strategic),
        "application/apply-patch+yaml" | "application/apply-patch+cbor" => Ok(PatchType::Apply),
        _ => Err(Status::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
    }
}
