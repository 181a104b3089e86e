//! `metav1.Status` as JSON: the answers of the front itself.

use crate::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

/// A failure. An empty `reason` and `details` of null are left out.
pub(crate) fn failure(code: u16, reason: &str, message: &str, details: Value) -> Value {
    let mut status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": code,
    });
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    if !details.is_null() {
        status["details"] = details;
    }
    status
}

/// The answer that says it.
pub(crate) fn failure_response(code: u16, reason: &str, message: &str) -> Response<Body> {
    json_response(code, failure(code, reason, message, Value::Null).to_string())
}

pub(crate) fn json_response(code: u16, json: impl Into<Bytes>) -> Response<Body> {
    let mut response = response(code, json, "application/json");
    let no_cache = HeaderValue::from_static("no-cache, private");
    response.headers_mut().insert(header::CACHE_CONTROL, no_cache);
    response
}

pub(crate) fn text_response(code: u16, text: &'static str) -> Response<Body> {
    response(code, text, "text/plain; charset=utf-8")
}

fn response(code: u16, body: impl Into<Bytes>, content_type: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}
