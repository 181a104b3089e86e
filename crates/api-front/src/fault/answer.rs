//! The answers of faults: the bodies and headers of kube-apiserver, marked by one header of ours.

use super::kind::Fault;
use crate::body::Body;
use crate::request_info::{RequestInfo, Verb};
use crate::status::{failure, json_response, text_response};
use http::{HeaderName, HeaderValue, Response, header};
use serde_json::{Value, json};

/// Marks the answers that are injected; its value is the fault's word.
const FAULT_HEADER: HeaderName = HeaderName::from_static("x-embedded-fault");

/// The answer of a fault that answers instead of the API; `None` for faults that do something else.
///
/// Bodies follow `k8s.io/apimachinery/pkg/api/errors` (`NewConflict`, `NewForbidden`,
/// `NewTooManyRequests`, `NewInternalError`, `NewServerTimeout`, `NewServiceUnavailable`,
/// `NewTimeoutError`, `NewResourceExpired`), and the filters of `k8s.io/apiserver/pkg/server/
/// filters` (`tooManyRequests`, `waitGroupWriteRetryAfterToResponse`).
pub(crate) fn response(fault: &Fault, user: &str, request: &RequestInfo) -> Option<Response<Body>> {
    let qualified = qualified(request);
    let name = request.name.as_deref().unwrap_or_default();
    let (code, reason, message, details, retry_after) = match fault {
        Fault::Conflict => {
            let message = format!(
                "Operation cannot be fulfilled on {qualified} \"{name}\": the object has been modified; \
                 please apply your changes to the latest version and try again"
            );
            (409, "Conflict", message, about(request), None)
        }
        Fault::Forbidden => {
            let scope = match &request.namespace {
                Some(namespace) => format!(" in the namespace \"{namespace}\""),
                None => " at the cluster scope".to_owned(),
            };
            let message = format!(
                "{qualified} {}is forbidden: User \"{user}\" cannot {} resource \"{}\" in API group \"{}\"{scope}",
                if name.is_empty() { String::new() } else { format!("\"{name}\" ") },
                request.verb,
                request.resource,
                request.group,
            );
            (403, "Forbidden", message, about(request), None)
        }
        Fault::TooManyRequests { retry_after_s } => {
            let message = "Too many requests, please try again later.".to_owned();
            (
                429,
                "TooManyRequests",
                message,
                json!({ "retryAfterSeconds": retry_after_s }),
                Some(*retry_after_s),
            )
        }
        Fault::Overloaded { retry_after_s } => {
            let mut response = text_response(429, "Too many requests, please try again later.\n");
            mark(&mut response, fault);
            response.headers_mut().insert(header::RETRY_AFTER, (*retry_after_s).into());
            return Some(response);
        }
        Fault::ServerTimeout { retry_after_s } => {
            let message = format!(
                "The {} operation against {qualified} could not be completed at this time, please try again.",
                request.verb
            );
            let mut details = about(request);
            details["retryAfterSeconds"] = (*retry_after_s).into();
            (500, "ServerTimeout", message, details, Some(*retry_after_s))
        }
        Fault::ShuttingDown => (
            503,
            "ServiceUnavailable",
            "apiserver is shutting down".to_owned(),
            Value::Null,
            Some(1),
        ),
        Fault::InternalError | Fault::ApplyInternalError => {
            let why = "etcdserver: request timed out";
            let details = json!({ "causes": [{ "message": why }] });
            (500, "InternalError", format!("Internal error occurred: {why}"), details, None)
        }
        Fault::Unavailable => {
            let message = "the server is currently unable to handle the request".to_owned();
            (503, "ServiceUnavailable", message, Value::Null, None)
        }
        Fault::GatewayTimeout | Fault::ApplyGatewayTimeout => {
            let message =
                "Timeout: request did not complete within the allotted timeout".to_owned();
            (504, "Timeout", message, json!({}), None)
        }
        Fault::Expired if request.verb == Verb::Watch => return Some(expired_event(fault)),
        Fault::Expired => (
            410,
            "Expired",
            "The resourceVersion for the provided list is too old.".to_owned(),
            Value::Null,
            None,
        ),
        _ => return None,
    };
    let mut response = json_response(code, failure(code, reason, &message, details).to_string());
    mark(&mut response, fault);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    Some(response)
}

/// A watch whose history is gone opens with 200, says so in one ERROR event, and ends.
fn expired_event(fault: &Fault) -> Response<Body> {
    let object = failure(
        410,
        "Expired",
        "The resourceVersion for the provided watch is too old.",
        Value::Null,
    );
    let line = format!("{}\n", json!({ "type": "ERROR", "object": object }));
    let mut response = json_response(200, line);
    mark(&mut response, fault);
    response
}

pub(super) fn mark(response: &mut Response<Body>, fault: &Fault) {
    response.headers_mut().insert(FAULT_HEADER, HeaderValue::from_static(fault.as_str()));
}

/// `leases.coordination.k8s.io`, without the subresource.
fn qualified(request: &RequestInfo) -> String {
    if request.group.is_empty() {
        request.resource.clone()
    } else {
        format!("{}.{}", request.resource, request.group)
    }
}

fn about(request: &RequestInfo) -> Value {
    let mut details = json!({ "kind": request.resource });
    if let Some(name) = &request.name {
        details["name"] = name.as_str().into();
    }
    if !request.group.is_empty() {
        details["group"] = request.group.as_str().into();
    }
    details
}
