//! Calls of webhooks that fail.

use embedded_apiserver::{Fault, FaultPlan, Match, Rule};
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::Target;
use crate::conformance::webhook_server::{Reply, Seen};
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

/// Creates an object whose webhook answers so: the call fails for this reason, and is ignored if
/// the policy says so.
async fn fails(
    t: &Target,
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    why: &str,
) -> Outcome {
    let hooks = hooks(t, answer).await?;
    let of = |name: &str| json!({ "objectSelector": { "matchLabels": { "a": name } } });
    let mut ignored = of("ignored");
    ignored["failurePolicy"] = "Ignore".into();
    let two = vec![hooks.webhook("fail", of("fail")), hooks.webhook("ignored", ignored)];
    hooks.register(VALIDATING, "a", two).await?;
    let labelled = |name: &str| {
        let mut object = map(name, "v");
        object["metadata"]["labels"] = json!({ "a": name });
        object
    };
    let answer = t.post(&t.maps(""), &labelled("fail")).await?;
    let url = format!("{}/fail?timeout=10s", hooks.server.url());
    failed(&answer, "fail", &why.replace("URL", &url))?;
    t.post(&t.maps(""), &labelled("ignored")).await?.is(201).map(drop)
}

fn review(seen: &Seen, response: Value) -> Reply {
    Reply::review(&json!({
        "apiVersion": seen.review["apiVersion"], "kind": "AdmissionReview", "response": response,
    }))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = answers();
    cases.extend([
        case(
            "a_closed_port_fails_the_call",
            "A webhook that nobody serves answers 500 with the text of the dialer.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let mut client_config = hooks.server.client_config("/a");
                // Port 9 of loopback is closed.
                client_config["url"] = "https://127.0.0.1:9/a".into();
                hooks.one(MUTATING, "a", json!({ "clientConfig": client_config })).await?;
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                failed(
                    &answer,
                    "a",
                    "failed to call webhook: Post \"https://127.0.0.1:9/a?timeout=10s\": dial tcp 127.0.0.1:9: \
                     connect: connection refused",
                )
            },
        ),
        case(
            "a_failure_is_ignored_by_policy",
            "With failurePolicy Ignore a call that fails counts as allowed, and the next webhook is called.",
            async |t| {
                let hooks = hooks(t, sign).await?;
                let mut client_config = hooks.server.client_config("/a");
                client_config["url"] = "https://127.0.0.1:9/a".into();
                let ignored = json!({ "clientConfig": client_config, "failurePolicy": "Ignore" });
                let two = vec![hooks.webhook("a", ignored), hooks.webhook("b", json!({}))];
                hooks.register(MUTATING, "a", two).await?;
                has(&t.map("x", "v").await?, json!({ "data": { "k": "v b" } }))
            },
        ),
        case(
            "a_late_answer_fails_the_call",
            "A webhook that does not answer within timeoutSeconds fails the call.",
            async |t| {
                let hooks = hooks(t, |_| Reply::Never).await?;
                hooks.one(VALIDATING, "late", json!({ "timeoutSeconds": 1 })).await?;
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                let url = format!("{}/late?timeout=1s", hooks.server.url());
                let why = format!("failed to call webhook: Post \"{url}\": context deadline exceeded");
                failed(&answer, "late", &why)
            },
        ),
        case(
            "a_closed_connection_fails_the_call",
            "A webhook that closes the connection without an answer fails the call.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                hooks.one(VALIDATING, "a", json!({})).await?;
                let all = Rule::new(Match::default(), Fault::DropBefore);
                hooks.server.faults().set_plan(FaultPlan::none().rule(all));
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                let url = format!("{}/a?timeout=10s", hooks.server.url());
                failed(&answer, "a", &format!("failed to call webhook: Post \"{url}\": "))
            },
        ),
        case(
            "a_service_that_is_not_there_fails_the_call",
            "A webhook behind a Service that does not exist fails the call.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let service = json!({ "namespace": t.namespace, "name": "none", "path": "/a" });
                let client_config = json!({ "service": service, "caBundle": hooks.server.ca_bundle() });
                hooks.one(VALIDATING, "a", json!({ "clientConfig": client_config })).await?;
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                failed(&answer, "a", "")
            },
        ),
    ]);
    cases
}

fn answers() -> Vec<Case> {
    vec![
        case(
            "an_http_error_fails_the_call",
            "A webhook that answers with an HTTP error fails the call.",
            async |t| {
                let why = "failed to call webhook: an error on the server (\"it is broken\") has prevented the request \
                           from succeeding";
                fails(t, |_| Reply::Response(500, "text/plain", "it is broken".to_owned()), why)
                    .await
            },
        ),
        case(
            "a_missing_path_fails_the_call",
            "A webhook whose path answers 404 fails the call.",
            async |t| {
                let why =
                    "failed to call webhook: the server could not find the requested resource";
                fails(
                    t,
                    |_| Reply::Response(404, "text/plain", "404 page not found".to_owned()),
                    why,
                )
                .await
            },
        ),
        case(
            "an_answer_that_is_no_json_fails_the_call",
            "An answer that is no JSON fails the call.",
            async |t| {
                let why = "failed to call webhook: couldn't get version/kind; json parse error: ";
                fails(t, |_| Reply::Response(200, "application/json", "yes".to_owned()), why).await
            },
        ),
        case(
            "an_empty_answer_fails_the_call",
            "An answer without a body fails the call.",
            async |t| {
                let why = "failed to call webhook: 0-length response with status code: 200 and content type: ";
                fails(t, |_| Reply::Response(200, "application/json", "".to_owned()), why).await
            },
        ),
        case(
            "an_answer_to_another_review_fails_the_call",
            "An answer with another uid fails the call.",
            async |t| {
                let answer = |seen: &Seen| review(seen, json!({ "uid": "other", "allowed": true }));
                fails(t, answer, "received invalid webhook response: expected response.uid=\"")
                    .await
            },
        ),
        case(
            "an_answer_without_a_response_fails_the_call",
            "A review without a response fails the call.",
            async |t| {
                let answer = |seen: &Seen| review(seen, Value::Null);
                fails(t, answer, "received invalid webhook response: webhook response was absent")
                    .await
            },
        ),
        case(
            "an_answer_without_a_kind_fails_the_call",
            "A review without apiVersion and kind fails the call.",
            async |t| {
                let answer = |seen: &Seen| {
                    let uid = &seen.review["request"]["uid"];
                    Reply::review(&json!({ "response": { "uid": uid, "allowed": true } }))
                };
                let why = "received invalid webhook response: expected webhook response of admission.k8s.io/v1, \
                           Kind=AdmissionReview, got /, Kind=";
                fails(t, answer, why).await
            },
        ),
        case(
            "an_answer_of_another_version_fails_the_call",
            "A review of another version than the one that was sent fails the call.",
            async |t| {
                let answer = |seen: &Seen| {
                    let uid = &seen.review["request"]["uid"];
                    Reply::review(&json!({
                        "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview",
                        "response": { "uid": uid, "allowed": true },
                    }))
                };
                fails(t, answer, "").await
            },
        ),
        case(
            "an_answer_of_another_kind_fails_the_call",
            "An object of another kind fails the call.",
            async |t| {
                let answer =
                    |_: &Seen| Reply::review(&json!({ "apiVersion": "v1", "kind": "Pod" }));
                fails(t, answer, "").await
            },
        ),
        case(
            "a_status_in_the_answer_is_the_reason",
            "A Status in the answer of a webhook is why the call fails.",
            async |t| {
                let status = json!({
                    "apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "not now",
                    "reason": "ServiceUnavailable", "code": 503,
                });
                let answer =
                    move |_: &Seen| Reply::Response(503, "application/json", status.to_string());
                fails(t, answer, "failed to call webhook: not now").await
            },
        ),
    ]
}
