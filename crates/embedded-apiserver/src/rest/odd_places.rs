//! Paths with something odd where a namespace belongs: nothing at all, or a part that no key of the store may have.

use bytes::Bytes;
use http::{Method, Request, Response};
use serde_json::Value;

use crate::body::Body;
use crate::builtin::Builtin;
use crate::kind::Kind;
use crate::names;
use crate::route::Target;
use crate::status::{Cause, Causes, Status};

/// What a path with an empty namespace says of a built-in kind, if it does not stand for all namespaces.
pub(super) fn without_namespace(target: &Target, request: &Request<Bytes>) -> Result<(), Status> {
    match (request.method(), &target.name) {
        (&Method::GET, None) => Ok(()),
        (&Method::POST, None) => {
            let sent: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            let name = sent.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let mut causes = Causes::default();
            causes.push(Cause::required("metadata.namespace", ""));
            Err(Status::invalid(&target.kind, name, &causes))
        }
        (&Method::POST, Some(_)) => Err(Status::method_not_allowed()),
        _ => Err(Status::bad_request("Namespace parameter required.")),
    }
}

/// What is answered about objects in `.` and `..`, where none can be: the store of the real server takes no such key. It
/// is asked after what is wrong with the request itself, and new objects are refused before.
pub(super) fn in_store(
    target: &Target,
    method: &Method,
    answer: Result<Response<Body>, Status>,
) -> Result<Response<Body>, Status> {
    let Some(namespace @ ("." | "..")) = target.namespace.as_deref() else { return answer };
    match answer {
        Err(status) if matches!(status.code(), 400 | 405 | 415 | 422) => Err(status),
        answer if *method == Method::POST => answer,
        _ => {
            let name = target.name.as_deref().map(|name| format!("/{name}")).unwrap_or_default();
            Err(Status::unknown(format!("invalid key: \"/{}/{namespace}{name}\"", table(&target.kind))))
        }
    }
}

/// Nothing new may be in a namespace that no path can name.
pub(super) fn may_hold_objects(namespace: &str) -> Result<(), Status> {
    match names::wrong_path_segment(namespace) {
        Some(why) => Err(Status::internal(&format!("invalid resource name {namespace:?}: [{why}]"))),
        None => Ok(()),
    }
}

/// Where objects of a kind are in etcd, below `/registry`.
fn table(kind: &Kind) -> String {
    match kind.builtin {
        Some(Builtin::Service) => "services/specs".to_owned(),
        Some(Builtin::Endpoints) => "services/endpoints".to_owned(),
        Some(_) => kind.plural().to_owned(),
        None => format!("{}/{}", kind.group(), kind.plural()),
    }
}
