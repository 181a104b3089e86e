//! Plain text responses, and warnings.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use api_front::Body;

/// The most warnings of a response. HTTP clients refuse more than 100 header fields (hyper's
/// default), after the write was applied.
const MAX_WARNINGS: usize = 64;
/// The longest warnings together, in characters, as in kube-apiserver (`truncateAtTotalRunes` in
/// pkg/endpoints/filters/warning.go).
const MAX_TOTAL: usize = 4096;
/// The longest warning in characters, if all are longer together (`truncateItemRunes`).
const MAX_WARNING: usize = 256;

/// Adds `Warning` headers. A warning that comes twice is one.
#[doc(alias = "WithWarningRecorder")]
pub(crate) fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    let mut known: Vec<&str> = Vec::new();
    for warning in warnings.iter().filter(|warning| !warning.is_empty()) {
        if known.len() < MAX_WARNINGS && !known.contains(&warning.as_str()) {
            known.push(warning);
        }
    }
    let total: usize = known.iter().map(|warning| warning.chars().count()).sum();
    let longest = if total > MAX_TOTAL { MAX_WARNING } else { MAX_TOTAL };
    let mut written = 0;
    for warning in known {
        if written >= MAX_TOTAL {
            break;
        }
        let warning: String = warning.chars().take(longest).collect();
        written += warning.chars().count();
        warn(&mut response, &warning);
    }
    response
}

/// Adds a `Warning` header, but for a text with control characters.
#[doc(alias = "NewWarningHeader")]
pub(crate) fn warn(response: &mut Response<Body>, warning: &str) {
    if warning.chars().any(char::is_control) {
        return;
    }
    let quoted = warning.replace('\\', r"\\").replace('"', "\\\"");
    if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
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
