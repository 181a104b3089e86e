//! Webhooks that cannot be called, or answer what they must not.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::conversions::hook::Hook;
use crate::conformance::webhook_server::{Certificate, Reply};
use crate::conformance::{Case, Outcome, Target, case};

pub(super) fn cases() -> Vec<Case> {
    [calls(), answers(), objects()].into_iter().flatten().collect()
}

/// A get fails with this error of the client, behind `failed: Post "URL": `.
async fn call_fails(t: &Target, hook: &Hook, why: &str) -> Outcome {
    hook.make(t, "v1", "a", "red").await?;
    let url = format!("{}/convert?timeout=30s", hook.server.url());
    hook.get_fails(t, "a", &format!("failed: Post \"{url}\": {why}")).await
}

const UNVERIFIED: &str = "tls: failed to verify certificate: x509:";

fn calls() -> Vec<Case> {
    vec![
        case(
            "a_webhook_that_is_gone_is_refused_a_connection",
            "A webhook whose port is closed fails a get with `connection refused`.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let port = hook.server.url().rsplit(':').next().unwrap_or_default().to_owned();
                let url = format!("{}/convert?timeout=30s", hook.server.url());
                let why = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
                hook.server.stop().await;
                hook.get_fails(t, "a", &format!("failed: Post \"{url}\": {why}")).await
            },
        ),
        case(
            "an_unknown_authority_is_not_trusted",
            "A webhook whose certificate is not from caBundle fails a get.",
            async |t| {
                let hook = Hook::with(t, Certificate::Good).await?;
                let mut definition = hook.definition();
                let other = Hook::with(t, Certificate::Expired).await?;
                let config = &mut definition["spec"]["conversion"]["webhook"]["clientConfig"];
                config["caBundle"] = other.server.ca_bundle().into();
                hook.define(t, definition).await?;
                let why = format!("{UNVERIFIED} certificate signed by unknown authority");
                hook.make(t, "v1", "a", "red").await?;
                let answer = t.get(&hook.things("v2", "/a")).await?;
                let message = hook.failure(&answer)?;
                // Go adds what it tried if the authorities have one name.
                holds(&format!("{message} has {why}"), message.contains(&why))
            },
        ),
        case(
            "a_certificate_of_another_name_is_not_trusted",
            "A webhook whose certificate is for other addresses fails a get.",
            async |t| {
                let hook = Hook::with(t, Certificate::OtherName).await?;
                hook.define(t, hook.definition()).await?;
                let why = "certificate is valid for 127.0.0.9, not 127.0.0.1";
                call_fails(t, &hook, &format!("{UNVERIFIED} {why}")).await
            },
        ),
        case(
            "an_expired_certificate_is_not_trusted",
            "A webhook whose certificate has expired fails a get.",
            async |t| {
                let hook = Hook::with(t, Certificate::Expired).await?;
                hook.define(t, hook.definition()).await?;
                hook.make(t, "v1", "a", "red").await?;
                let message = hook.failure(&t.get(&hook.things("v2", "/a")).await?)?;
                let why = format!(
                    "{UNVERIFIED} certificate has expired or is not yet valid: current time "
                );
                holds(&format!("{message} has {why}"), message.contains(&why))?;
                holds("it says when", message.ends_with(" is after 2001-01-01T00:00:00Z"))
            },
        ),
    ]
}

fn answers() -> Vec<Case> {
    vec![
        case(
            "an_error_is_told_by_its_code",
            "A webhook that answers with an error code fails a get with the text of that code.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                for (code, why) in [
                    (
                        500,
                        "an error on the server (\"oh no\") has prevented the request from succeeding",
                    ),
                    (400, "the server rejected our request for an unknown reason"),
                    (403, "oh no"),
                    (404, "the server could not find the requested resource"),
                    (
                        418,
                        "the server responded with the status code 418 but did not return more information",
                    ),
                    (503, "the server is currently unable to handle the request"),
                ] {
                    hook.fix(Reply::Response(code, "text/plain", "oh no\n".to_owned()));
                    hook.get_fails(t, "a", &format!("failed: {why}")).await?;
                }
                hook.fix(Reply::Response(500, "application/json", "{}".to_owned()));
                let why = "an error on the server (\"unknown\") has prevented the request from succeeding";
                hook.get_fails(t, "a", &format!("failed: {why}")).await
            },
        ),
        case(
            "a_status_is_told_by_its_message",
            "A webhook that answers with an error code and a Status fails a get with the message of that.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "mine" });
                let status = status.to_string();
                hook.fix(Reply::Response(422, "application/json", status.clone()));
                hook.get_fails(t, "a", "failed: mine").await?;
                hook.fix(Reply::Response(200, "application/json", status));
                let why =
                    "failed: converting (v1.Status) to (v1.ConversionReview): unknown conversion";
                hook.get_fails(t, "a", why).await
            },
        ),
        case(
            "an_answer_is_a_review_of_the_same_version",
            "A webhook that answers no ConversionReview of the version it got fails a get.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let no_body =
                    "0-length response with status code: 200 and content type: application/json";
                hook.fix(Reply::Response(200, "application/json", String::new()));
                hook.get_fails(t, "a", &format!("failed: {no_body}")).await?;
                let wanted = "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got";
                hook.fix(Reply::Response(200, "application/json", "{}".to_owned()));
                hook.get_fails(t, "a", &format!("failed: {wanted} /, Kind=")).await?;
                hook.edit(|answer| answer["kind"] = Value::Null);
                let why = format!("failed: {wanted} apiextensions.k8s.io/v1, Kind=");
                hook.get_fails(t, "a", &why).await?;
                let unknown = "is registered for version";
                let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
                hook.edit(|answer| answer["kind"] = "Other".into());
                let why = format!(
                    "failed: no kind \"Other\" {unknown} \"apiextensions.k8s.io/v1\" {scheme}"
                );
                hook.get_fails(t, "a", &why).await?;
                hook.edit(|answer| answer["apiVersion"] = "apiextensions.k8s.io/v1beta1".into());
                let why = "failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion";
                hook.get_fails(t, "a", why).await?;
                hook.fix(Reply::Response(200, "text/html", "<html>".to_owned()));
                let message = hook.failure(&t.get(&hook.things("v2", "/a")).await?)?;
                let why = "failed: couldn't get version/kind; json parse error: ";
                holds(&format!("{message} has {why}"), message.contains(why))
            },
        ),
        case(
            "an_answer_has_a_response_to_the_request",
            "A review without a response, with another uid or without success fails a get.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.edit(|answer| answer["response"] = Value::Null);
                hook.get_fails(t, "a", "failed: no response provided").await?;
                hook.edit(|answer| answer["response"]["result"] = json!({ "status": "Failure" }));
                let why = "failed: response.result.status was 'Failure', not 'Success'";
                hook.get_fails(t, "a", why).await?;
                hook.edit(|answer| answer["response"]["result"] = json!({ "message": "mine" }));
                hook.get_fails(t, "a", "failed: mine").await?;
                hook.edit(|answer| answer["response"]["result"] = Value::Null);
                let why = "failed: response.result.status was '', not 'Success'";
                hook.get_fails(t, "a", why).await?;
                hook.edit(|answer| answer["response"]["uid"] = "other".into());
                let message = hook.failure(&t.get(&hook.things("v2", "/a")).await?)?;
                let (begin, end) = ("failed: expected response.uid=\"", "\", got \"other\"");
                holds(&message, message.contains(begin) && message.ends_with(end))
            },
        ),
        case(
            "an_answer_has_as_many_objects",
            "A review with more or fewer objects than were sent fails a get.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.edit(|answer| answer["response"]["convertedObjects"] = json!([]));
                hook.get_fails(t, "a", "returned 0 objects, expected 1").await?;
                hook.edit(|answer| {
                    let object = answer["response"]["convertedObjects"][0].clone();
                    answer["response"]["convertedObjects"] = json!([object, object]);
                });
                hook.get_fails(t, "a", "returned 2 objects, expected 1").await
            },
        ),
    ]
}

fn objects() -> Vec<Case> {
    vec![
        case(
            "a_converted_object_has_the_desired_version_and_its_kind",
            "A converted object of another version or another kind fails a get.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let (v1, v2) = (hook.version("v1"), hook.version("v2"));
                let invalid = "returned invalid object at index 0:";
                let other = v1.clone();
                hook.edit_object(move |object| object["apiVersion"] = other.clone().into());
                let why = format!("{invalid} invalid groupVersion (expected {v2}, received {v1})");
                hook.get_fails(t, "a", &why).await?;
                hook.edit_object(|object| object["apiVersion"] = Value::Null);
                let why = format!("{invalid} invalid groupVersion (expected {v2}, received )");
                hook.get_fails(t, "a", &why).await?;
                hook.edit_object(|object| object["kind"] = "Other".into());
                let why = format!("{invalid} invalid kind (expected Thing, received Other)");
                hook.get_fails(t, "a", &why).await?;
                hook.edit_object(|object| *object = Value::Null);
                let message = hook.failure(&t.get(&hook.things("v2", "/a")).await?)?;
                same("of null", message.as_str(), "unexpected end of JSON input")?;
                hook.edit_object(|object| *object = "text".into());
                let message = hook.failure(&t.get(&hook.things("v2", "/a")).await?)?;
                let why =
                    "json: cannot unmarshal string into Go value of type map[string]interface {}";
                same("of a text", message.as_str(), why)
            },
        ),
        case(
            "a_converted_object_is_the_same_object",
            "A converted object with another name, namespace or uid fails a get.",
            async |t| {
                let hook = Hook::served(t).await?;
                let made = hook.make(t, "v1", "a", "red").await?;
                let namespace = text(&made, "/metadata/namespace").to_owned();
                let uid = text(&made, "/metadata/uid").to_owned();
                let must = "returned invalid object: must have the same";
                hook.edit_object(|object| object["metadata"]["name"] = "z".into());
                hook.get_fails(t, "a", &format!("{must} name: a != z")).await?;
                hook.edit_object(|object| object["metadata"]["namespace"] = "z".into());
                hook.get_fails(t, "a", &format!("{must} namespace: {namespace} != z")).await?;
                hook.edit_object(|object| object["metadata"]["uid"] = "z".into());
                hook.get_fails(t, "a", &format!("{must} UID: {uid} != z")).await?;
                hook.edit_object(|object| object["metadata"] = Value::Null);
                hook.get_fails(t, "a", &format!("{must} name: a != ")).await
            },
        ),
        case(
            "converted_labels_are_valid",
            "A converted object with invalid labels or annotations fails a get.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let invalid = "returned invalid metadata:";
                let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start \
                            and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', \
                            regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
                hook.edit_object(|object| object["metadata"]["labels"] = json!({ "a b": "c" }));
                let why = format!("{invalid} metadata.labels: Invalid value: \"a b\": {name}");
                hook.get_fails(t, "a", &why).await?;
                hook.edit_object(|object| {
                    object["metadata"]["annotations"] = json!({ "a b": "c" })
                });
                let why = format!("{invalid} metadata.annotation: Invalid value: \"a b\": {name}");
                hook.get_fails(t, "a", &why).await?;
                hook.edit_object(|object| object["metadata"]["labels"] = json!({ "a": 1 }));
                let why = "metadata.labels[a] must be a string, but is int64 in converted object";
                hook.get_fails(t, "a", &format!("{invalid} {why}")).await?;
                hook.edit_object(|object| object["metadata"]["labels"] = json!(["a"]));
                let why = "invalid metadata.labels of type []interface {} in converted object";
                hook.get_fails(t, "a", &format!("{invalid} {why}")).await
            },
        ),
    ]
}
