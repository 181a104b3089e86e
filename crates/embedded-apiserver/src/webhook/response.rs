//! What the answer of a webhook says: a review, or an error. Pure.
//!
//! The rules are those of k8s.io/client-go/rest and `NewGenericServerResponse`.

use http::{HeaderMap, StatusCode, header};
use k8s_value::go_value::{json_type, quoted};
use serde_json::Value;

use crate::webhook::error::CallError;

/// The most bytes of a text that an error shows (`maxUnstructuredResponseTextBytes`).
const SHOWN: usize = 2048;

/// The review of an answer.
pub(super) fn read(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    sent: &Value,
) -> Result<Value, CallError> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let code = status.as_u16();
    let object = serde_json::from_slice(body).map_err(|error| error.to_string());
    if !(200..=206).contains(&code) {
        let message = object.ok().as_ref().and_then(failure);
        let message = message.unwrap_or_else(|| generic(code, &shown(content_type, body)));
        return Err(CallError::Answer { code, message });
    }
    if body.is_empty() {
        let content_type = content_type.unwrap_or("application/json").to_owned();
        return Err(CallError::Empty { code, content_type });
    }
    let object: Value = object.map_err(unreadable)?;
    if !object.is_object() {
        return Err(unreadable(format!("expected an object, got {}", json_type(&object))));
    }
    check_kind(&object, sent).map_err(CallError::Unreadable)?;
    Ok(object)
}

/// The message of a Status that is a failure.
fn failure(object: &Value) -> Option<String> {
    let is_failure = text(object, "kind") == "Status" && text(object, "status") == "Failure";
    is_failure.then(|| text(object, "message").to_owned())
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Refuses an answer of another kind than the review that was sent. A missing kind will do here.
fn check_kind(answer: &Value, sent: &Value) -> Result<(), String> {
    let or = |name: &str| match text(answer, name) {
        "" => text(sent, name).to_owned(),
        said => said.to_owned(),
    };
    let (version, kind) = (or("apiVersion"), or("kind"));
    let (wanted, of) = (text(sent, "apiVersion"), text(sent, "kind"));
    if version == wanted && kind == of {
        return Ok(());
    }
    let last = |version: &str| version.rsplit('/').next().unwrap_or_default().to_owned();
    let group = |version: &str| version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let is_known = match kind.as_str() {
        "Status" => version == "v1",
        kind => {
            let versions = ["v1", "v1beta1"];
            kind == of && group(&version) == group(wanted) && versions.contains(&&*last(&version))
        }
    };
    Err(if is_known {
        let (version, wanted) = (last(&version), last(wanted));
        format!("converting ({version}.{kind}) to ({wanted}.{of}): unknown conversion")
    } else {
        let kind = quoted(&kind);
        let version = quoted(&version);
        let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
        format!("no kind {kind} is registered for version {version} {scheme}")
    })
}

fn unreadable(why: String) -> CallError {
    CallError::Unreadable(format!("couldn't get version/kind; json parse error: {why}"))
}

/// What an error may show of the body.
fn shown(content_type: Option<&str>, body: &[u8]) -> String {
    let is_text = content_type.is_none_or(|it| it.trim_start().starts_with("text/"));
    match is_text {
        true => String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).trim().to_owned(),
        false => "unknown".to_owned(),
    }
}

fn generic(code: u16, shown: &str) -> String {
    let text = match code {
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        406 if shown.is_empty() || shown == "unknown" => {
            "the server was unable to respond with a content type that the client supports"
        }
        403 | 406 | 415 => shown,
        409 => "the server reported a conflict",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be \
             processing the request"
        }
        500.. => {
            let shown = quoted(shown);
            return format!(
                "an error on the server ({shown}) has prevented the request from succeeding"
            );
        }
        _ => {
            return format!(
                "the server responded with the status code {code} but did not return more \
                 information"
            );
        }
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(code: u16, content_type: &'static str, body: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static(content_type));
        let sent = json!({ "apiVersion": "example.com/v1", "kind": "Review" });
        let status = StatusCode::from_u16(code).unwrap();
        read(status, &headers, body.as_bytes(), &sent).unwrap_err().to_string()
    }

    #[test]
    fn an_error_has_the_text_of_its_code() {
        let text = r#"an error on the server ("oh") has prevented the request from succeeding"#;
        assert_eq!(error(500, "text/plain", "oh\n"), text);
        let text =
            r#"an error on the server ("unknown") has prevented the request from succeeding"#;
        assert_eq!(error(500, "application/json", "{}"), text);
        assert_eq!(
            error(418, "text/plain", ""),
            "the server responded with the status code 418 but did not return more information"
        );
    }

    #[test]
    fn a_status_is_an_error_with_its_message() {
        let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"}"#;
        assert_eq!(error(404, "application/json", status), "no");
        let why = "converting (v1.Status) to (v1.Review): unknown conversion";
        assert_eq!(error(200, "application/json", status), why);
    }

    #[test]
    fn a_review_of_another_kind_is_refused() {
        let answer = |version: &str, kind: &str| {
            let answer = json!({ "apiVersion": version, "kind": kind });
            error(200, "application/json", &answer.to_string())
        };
        let why = "converting (v1beta1.Review) to (v1.Review): unknown conversion";
        assert_eq!(answer("example.com/v1beta1", "Review"), why);
        let why = "no kind \"Other\" is registered for version \"example.com/v1\" in scheme \
                   \"pkg/runtime/scheme.go:111\"";
        assert_eq!(answer("example.com/v1", "Other"), why);
    }

    #[test]
    fn an_answer_without_a_body_is_an_error() {
        assert_eq!(
            error(200, "application/json", ""),
            "0-length response with status code: 200 and content type: application/json"
        );
    }
}
