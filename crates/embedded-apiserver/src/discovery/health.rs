//! `/livez`, `/readyz`, `/healthz`, whole and check by check, as probes and people ask for them.

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode};

use crate::body::Body;
use crate::query::Query;
use crate::response::text;
use crate::status::Status;

/// The checks of each endpoint that mean anything here; the real server has some thirty more, all
/// of its own parts.
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

/// A server that answers is well: nothing behind it can fail.
pub(super) fn answer(
    endpoint: &str,
    check: &str,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let checks = ENDPOINTS
        .iter()
        .find(|(known, _)| *known == endpoint)
        .map_or(&[][..], |(_, checks)| checks);
    if !check.is_empty() {
        return Ok(match checks.contains(&check) {
            true => text(StatusCode::OK, "ok"),
            false => text(StatusCode::NOT_FOUND, super::NOT_FOUND),
        });
    }
    let query = Query::parse(request.uri().query().unwrap_or_default());
    if query.get("verbose").is_none() {
        return Ok(text(StatusCode::OK, "ok"));
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let line = |check: &&str| match excluded.contains(check) {
        true => format!("[+]{check} excluded: ok\n"),
        false => format!("[+]{check} ok\n"),
    };
    let mut body: String = checks.iter().map(line).collect();
    let unknown: Vec<String> = excluded
        .iter()
        .filter(|check| !checks.contains(check))
        .map(|check| format!("{check:?}"))
        .collect();
    if !unknown.is_empty() {
        body.push_str(&format!(
            "warn: some health checks cannot be excluded: no matches for {}\n",
            unknown.join(",")
        ));
    }
    body.push_str(&format!("{endpoint} check passed\n"));
    let mut response = Response::new(Body::full(body));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}
