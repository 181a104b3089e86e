//! Checks paths with an empty namespace, or with a part that is no key of the store.

use api_front::Body;

use crate::api::metadata;
use crate::api::query::Query;
use crate::api::status::{FieldError, FieldErrors, Status};
use crate::rest::decode;
use crate::rest::preconditions::check_said_name;
use crate::rest::route::Target;
use bytes::Bytes;
use http::{Method, Request, Response};

/// The target of a path with an empty namespace: a list covers all namespaces.
pub(crate) fn without_namespace(target: Target, method: &Method) -> Target {
    let is_list = method == Method::GET && target.name.is_none();
    Target { namespace: (!is_list).then(String::new), ..target }
}

/// Reports the missing part of a path. Upstream checks it only when it needs it.
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

/// The response for objects named `.` and `..`, which upstream's store refuses as keys. The request
/// itself is validated before.
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
