//! Plain text responses, and warnings.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use api_front::Body;

/// The most warnings of a response. HTTP clients refuse more than 100 header fields (hyper's
/// default), after the write was applied.
const MAX_WARNINGS: usize = 64;
/// The longest warning in characters, as in kube-apiserver (`truncateItemRunes` in
/// pkg/endpoints/filters/warning.go).
const MAX_WARNING: usize = 256;

pub(crate) fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    for warning in warnings.iter().take(MAX_WARNINGS) {
        warn(&mut response, warning);
    }
    response
}

/// Adds a `Warning` header.
pub(crate) fn warn(response: &mut Response<Body>, warning: &str) {
    let warning: String = warning.chars().take(MAX_WARNING).collect();
    // A member's name may contain characters that a header cannot.
    if let Ok(value) = HeaderValue::from_str(&format!("299 - {warning:?}")) {
        response.headers_mut().append(header::WARNING, value);
    }
}

pub(crate) fn text(code: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    *response.status_mut() = code;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
