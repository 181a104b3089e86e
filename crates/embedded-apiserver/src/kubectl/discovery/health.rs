//! `/livez`, `/readyz`, `/healthz`, whole and by check.

use api_front::Body;
use http::{Response, StatusCode};

use crate::api::response::text;

pub(super) const NOT_FOUND: &str = "404 page not found\n";

/// The checks of each endpoint. Upstream has about thirty more for its own parts.
const ENDPOINTS: &[(&str, &[&str])] = &[
    ("healthz", &["ping", "log", "etcd"]),
    ("livez", &["ping", "log", "etcd"]),
    ("readyz", &["ping", "log", "etcd", "informer-sync", "shutdown"]),
];

pub(super) fn paths() -> impl Iterator<Item = String> {
    ENDPOINTS.iter().flat_map(|(endpoint, checks)| {
        let checks = checks.iter().map(move |check| format!("/{endpoint}/{check}"));
        std::iter::once(format!("/{endpoint}")).chain(checks)
    })
}

/// A running server is healthy: it has no backend.
pub(super) fn answer(endpoint: &str, check: &str) -> Response<Body> {
    let known = ENDPOINTS.iter().find(|(known, _)| *known == endpoint);
    let is_check = check.is_empty() || known.is_some_and(|(_, checks)| checks.contains(&check));
    if is_check { text(StatusCode::OK, "ok") } else { text(StatusCode::NOT_FOUND, NOT_FOUND) }
}
