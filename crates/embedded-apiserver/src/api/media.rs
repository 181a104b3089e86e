//! Media types: in which form an answer is wanted, and what a body is.

use api_front::Body;
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;

use crate::api::json_syntax;
use crate::api::kind::Kind;
use crate::api::media::accept::{Clause, JSON, YAML, clauses};
use crate::api::status::Status;
use crate::api::yaml;

mod accept;

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// In which form an object is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// The whole object.
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
}

/// Picks the form of the answer. JSON and YAML only: a client that would rather have protobuf or
/// CBOR and names one of these as its second choice gets that.
pub(crate) fn accepted(headers: &HeaderMap) -> Result<Form, Status> {
    match accept::header(headers) {
        "" => Ok(Form::Full),
        header => clauses(header).iter().find_map(form).ok_or_else(not_acceptable),
    }
}

/// Whether a path of Kubernetes' own kinds has any of the types that the client accepts: asked
/// before anything else is, and in other words than by what answers for custom kinds.
pub(crate) fn check_path(headers: &HeaderMap, watchable: bool) -> Result<(), Status> {
    const AVAILABLE: &str =
        "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let header = accept::header(headers);
    let known = |media: &str| matches!(media, "*/*" | JSON | YAML | PROTOBUF);
    if header.is_empty() || accept::plain_types(header).any(known) {
        return Ok(());
    }
    let streams =
        ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    Err(Status::no_representation(&format!("{AVAILABLE}{}", if watchable { streams } else { "" })))
}

pub(crate) fn not_acceptable() -> Status {
    Status::not_acceptable(
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )
}

/// A watch is a stream, and YAML has none on the real server. That of a websocket is not served
/// here.
pub(crate) fn check_stream(headers: &HeaderMap) -> Result<(), Status> {
    if asks_for_websocket(headers) {
        return Err(Status::not_implemented("a watch over websocket"));
    }
    if !prefers_yaml(headers) {
        return Ok(());
    }
    Err(Status::not_acceptable(
        "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
    ))
}

/// As `IsWebSocketRequest` of k8s.io/apimachinery/pkg/util/httpstream/wsstream.
fn asks_for_websocket(headers: &HeaderMap) -> bool {
    let says = |name: header::HeaderName, word: &str| {
        let mut values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.any(|value| value.to_ascii_lowercase().contains(word))
    };
    says(header::UPGRADE, "websocket") && says(header::CONNECTION, "upgrade")
}

/// Whether the client would rather have a table than anything else that it names.
pub(crate) fn prefers_table(headers: &HeaderMap) -> bool {
    let clauses = clauses(accept::header(headers));
    let known = clauses.iter().find(|clause| form(clause).is_some());
    known.is_some_and(|clause| clause.becomes.is_some_and(|[kind, ..]| kind == "Table"))
}

/// Whether the client would rather have the metadata of a list than anything else that it names.
pub(crate) fn prefers_metadata_lists(headers: &HeaderMap) -> bool {
    let clauses = clauses(accept::header(headers));
    let known = clauses.iter().find(|clause| form(clause).is_some());
    known.is_some_and(|clause| {
        clause.becomes.is_some_and(|[kind, ..]| kind == "PartialObjectMetadataList")
    })
}

/// Whether the client would rather have YAML than JSON.
pub(crate) fn prefers_yaml(headers: &HeaderMap) -> bool {
    let clauses = clauses(accept::header(headers));
    let known = clauses.iter().find(|clause| form(clause).is_some());
    known.is_some_and(|clause| clause.media() == Some(YAML))
}

/// Whether the client takes a list of this kind, group and version, wherever it names it: who knows
/// the aggregated form of discovery gets it even as a second choice.
pub(crate) fn accepts_as(headers: &HeaderMap, wanted: [&str; 3]) -> bool {
    let clauses = clauses(accept::header(headers));
    clauses.iter().any(|clause| clause.becomes == Some(wanted) && clause.media() == Some(JSON))
}

fn form(clause: &Clause<'_>) -> Option<Form> {
    clause.media()?;
    match clause.becomes {
        None => Some(Form::Full),
        Some(["PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1"]) => {
            Some(Form::Metadata)
        }
        // Made of the whole answer.
        Some(["Table", "meta.k8s.io", "v1"]) => Some(Form::Full),
        Some(_) => None,
    }
}

/// A body of YAML becomes one of JSON. Patches have types of their own.
pub(crate) fn into_json(
    mut request: Request<Bytes>,
    kind: &Kind,
) -> Result<Request<Bytes>, Status> {
    if request.method() == Method::PATCH || essence(request.headers()) != YAML {
        if json_syntax::is_too_deep(request.body()) {
            return Err(Status::too_deep());
        }
        // As Go's reader of JSON: bytes that are no UTF-8 become a sign that says so.
        if std::str::from_utf8(request.body()).is_err() {
            *request.body_mut() = String::from_utf8_lossy(request.body()).into_owned().into();
        }
        return Ok(request);
    }
    let json = yaml::to_json(request.body()).map_err(|why| {
        if yaml::is_too_deep(&why) {
            return Status::too_deep();
        }
        let kind = kind.kind();
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): yaml: {why}"
        ))
    })?;
    *request.body_mut() = json.into();
    request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    Ok(request)
}

/// An answer whose bytes are all known and are JSON, in YAML.
pub(crate) async fn into_yaml(response: Response<Body>) -> Response<Body> {
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|media| media == JSON);
    if !is_json || response.body().is_stream() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // A body that is no stream has its bytes, and cannot fail.
    let json = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let value = serde_json::from_slice(&json).ok();
    match value.and_then(|value| yaml::from_json(&value).ok()) {
        Some(text) => {
            parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(YAML));
            Response::from_parts(parts, Body::full(text))
        }
        None => Response::from_parts(parts, Body::full(json)),
    }
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
        _ => Err(Status::unsupported_media_type(
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// The type of a patch is compared as it stands, up to the first `;`: unlike that of an object,
/// case matters, and so does a space.
pub(crate) fn patch_type(headers: &HeaderMap, builtin: bool) -> Result<PatchType, Status> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match value.split(';').next().unwrap_or_default() {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        // Custom kinds have no strategic merge patch on the real server either.
        "application/strategic-merge-patch+json" if builtin => Ok(PatchType::Strategic),
        "application/apply-patch+yaml" => Ok(PatchType::Apply),
        // Known, and switched off where CBOR is.
        "application/apply-patch+cbor" => Err(Status::media_type_is_off()),
        _ if builtin => Err(Status::no_consumer()),
        _ => Err(Status::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
    }
}
