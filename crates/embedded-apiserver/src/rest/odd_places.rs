//! Paths with something odd where a namespace belongs: nothing at all, or a part that no key of the
//! store may have.

use api_front::Body;

use crate::api::metadata;
use crate::api::query::Query;
use crate::api::status::{FieldError, FieldErrors, Status};
use crate::rest::decode;
use crate::rest::preconditions::check_said_name;
use crate::rest::route::Target;
use bytes::Bytes;
use http::{Method, Request, Response};

/// What a path with an empty namespace names, of a built-in kind: a list of it stands for all
/// namespaces.
pub(crate) fn without_namespace(target: Target, method: &Method) -> Target {
    let is_list = method == Method::GET && target.name.is_none();
    Target { namespace: (!is_list).then(String::new), ..target }
}

/// What is missing in a path of a built-in kind, said when the request has come so far that it is
/// needed.
pub(crate) fn check(
    target: &Target,
    query: &Query,
    request: &Request<Bytes>,
) -> Result<(), Status> {
    if !target.kind.is_built_in() {
        return Ok(());
    }
    if target.name.as_deref() == Some("") {
        return Err(Status::bad_request("name must be provided"));
    }
    if target.namespace.as_deref() != Some("") {
        return Ok(());
    }
    let required = Status::bad_request("Namespace parameter required.");
    let options = if request.method() == Method::PUT { "UpdateOptions" } else { "CreateOptions" };
    let decoded = || decode::body(&target.kind, request, query.field_validation(options)?);
    match (request.method(), &target.name) {
        (&Method::POST, None) => {
            let object = decoded()?.object;
            let name = metadata::text(&object, "name");
            let mut causes = FieldErrors::default();
            if name.is_empty() && metadata::text(&object, "generateName").is_empty() {
                causes.push(FieldError::required(
                    "metadata.name",
                    "name or generateName is required",
                ));
            }
            causes.push(FieldError::required("metadata.namespace", ""));
            Err(Status::invalid(&target.kind, name, &causes))
        }
        (&Method::PUT, Some(name)) if target.subresource.as_deref() != Some("scale") => {
            check_said_name(&decoded()?.object, name)?;
            Err(required)
        }
        _ => Err(required),
    }
}

/// What is answered about objects in `.` and `..`, where none can be: the store of the real server
/// takes no such key. It is asked after what is wrong with the request itself, and new objects are
/// refused before.
pub(crate) fn in_store(
    target: &Target,
    method: &Method,
    answer: Result<Response<Body>, Status>,
) -> Result<Response<Body>, Status> {
    let Some(namespace @ ("." | "..")) = target.namespace.as_deref() else { return answer };
    match answer {
        Err(status) if matches!(status.code(), 400 | 405 | 415 | 422) => Err(status),
        answer if *method == Method::POST => answer,
        _ => Err(Status::unknown(format!("no object can be in a namespace {namespace:?}"))),
    }
}
