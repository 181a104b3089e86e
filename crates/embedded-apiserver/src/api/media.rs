//! Media types of requests and responses.

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

/// The form of an object in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// The whole object.
    Full,
    /// The whole object of which a table is made: as it is stored, if its version shows less.
    Table,
    /// `PartialObjectMetadata`.
    Metadata,
}

/// Selects the form of the response. Only JSON and YAML: a client that prefers protobuf or CBOR
/// gets its second choice.
pub(crate) fn accepted(headers: &HeaderMap) -> Result<Form, Status> {
    match accept::header(headers) {
        "" => Ok(Form::Full),
        header => clauses(header).iter().find_map(form).ok_or_else(not_acceptable),
    }
}

/// Checks that a path of built-in kinds has an accepted type. Upstream does this first, in other
/// words than for custom kinds.
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

/// Refuses YAML watches, as upstream. Websockets are not supported.
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

/// Whether the client prefers a table.
pub(crate) fn prefers_table(headers: &HeaderMap) -> bool {
    let clauses = clauses(accept::header(headers));
    let known = clauses.iter().find(|clause| form(clause).is_some());
    known.is_some_and(|clause| clause.becomes.is_some_and(|[kind, ..]| kind == "Table"))
}

/// Whether the client prefers the metadata of a list.
pub(crate) fn prefers_metadata_lists(headers: &HeaderMap) -> bool {
    let clauses = clauses(accept::header(headers));
    let known = clauses.iter().find(|clause| form(clause).is_some());
    known.is_some_and(|clause| {
        clause.becomes.is_some_and(|[kind, ..]| kind == "PartialObjectMetadataList")
    })
}

/// Whether the client prefers YAML to JSON.
pub(crate) fn prefers_yaml(headers: &HeaderMap) -> bool {
    let clauses = clauses(accept::header(headers));
    let known = clauses.iter().find(|clause| form(clause).is_some());
    known.is_some_and(|clause| clause.media() == Some(YAML))
}

/// Whether the client accepts this kind, group and version. Its rank does not matter: discovery is
/// aggregated even as a second choice.
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
        Some(["Table", "meta.k8s.io", "v1"]) => Some(Form::Table),
        Some(_) => None,
    }
}

/// Converts a YAML body to JSON. Patches have types of their own.
pub(crate) fn into_json(
    mut request: Request<Bytes>,
    kind: &Kind,
) -> Result<Request<Bytes>, Status> {
    if request.method() == Method::PATCH || essence(request.headers()) != YAML {
        if json_syntax::is_too_deep(request.body()) {
            return Err(Status::too_deep());
        }
        // As in Go, bytes that are not UTF-8 become the replacement character.
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

/// Converts a complete JSON response to YAML.
pub(crate) async fn into_yaml(response: Response<Body>) -> Response<Body> {
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|media| media == JSON);
    if !is_json || response.body().is_stream() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // A complete body cannot fail.
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

/// The type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

/// The media type of a body, without parameters, in lower case.
pub(crate) fn essence(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Requires a JSON body. Without a Content-Type it is JSON.
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), Status> {
    match essence(headers).as_str() {
        "" | "application/json" => Ok(()),
        _ => Err(Status::unsupported_media_type(
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// The type of a patch, compared up to the first `;`. Unlike for an object, case and spaces matter.
pub(crate) fn patch_type(headers: &HeaderMap, builtin: bool) -> Result<PatchType, Status> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match value.split(';').next().unwrap_or_default() {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        // Upstream has no strategic merge patch for custom kinds either.
        "application/strategic-merge-patch+json" if builtin => Ok(PatchType::Strategic),
        "application/apply-patch+yaml" => Ok(PatchType::Apply),
        // Upstream knows it, and refuses it while CBOR is off.
        "application/apply-patch+cbor" => Err(Status::media_type_is_off()),
        _ if builtin => Err(Status::no_consumer()),
        _ => Err(Status::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
    }
}
