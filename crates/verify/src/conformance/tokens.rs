//! Tokens of service accounts: what is asked for, whom they name, and when they end.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use serde_json::{Value, json};

use crate::conformance::access::users::{by, get_by, grant, rule};
use crate::conformance::answer::*;
use crate::conformance::objects::{named, pod};
use crate::conformance::target::JSON;
use crate::conformance::waiting::eventually;
use crate::conformance::{Case, Target, case};

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const MYSELF: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
/// Where the claims and the user have what only Kubernetes knows.
const EXTRA: &str = "authentication.kubernetes.io";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = requests();
    cases.extend(uses());
    cases.extend(bindings());
    cases
}

fn path(t: &Target, account: &str) -> String {
    t.core("serviceaccounts", &format!("/{account}/token"))
}

/// Creates an account, and asks for a token of it.
async fn made(t: &Target, account: &str, spec: Value) -> Result<Value, String> {
    t.make(&t.core("serviceaccounts", ""), named(account)).await?;
    asked(t, account, spec).await
}

async fn asked(t: &Target, account: &str, spec: Value) -> Result<Value, String> {
    t.make(&path(t, account), json!({ "spec": spec })).await
}

fn token_of(request: &Value) -> &str {
    text(request, "/status/token")
}

fn claims(request: &Value) -> Result<Value, String> {
    let claims = token_of(request).split('.').nth(1).ok_or("a token that is no JWT")?;
    let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|error| error.to_string())?;
    serde_json::from_slice(&claims).map_err(|error| error.to_string())
}

/// What a review of the token says.
async fn reviewed(t: &Target, token: &str, audiences: &[&str]) -> Result<Value, String> {
    let review = json!({ "spec": { "token": token, "audiences": audiences } });
    Ok(t.post(REVIEWS, &review).await?.is(201)?["status"].take())
}

/// A request with this token and without any other credentials.
async fn with(
    t: &Target,
    token: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Answer, String> {
    let bearer = format!("Bearer {token}");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    t.as_stranger().send(method, path, &[JSON, ("authorization", &bearer)], body).await
}

/// Waits until a token is refused for this reason: the real server hears of deletions by watches,
/// and remembers for seconds that a token was valid.
async fn ends(t: &Target, token: &str, why: &str) -> Outcome {
    eventually(async || {
        let status = reviewed(t, token, &[]).await?;
        let expected = format!("[invalid bearer token, {why}]");
        let is_refused = status["user"] == json!({}) && status["error"] == expected;
        Ok(if is_refused { Ok(()) } else { Err(format!("expected {expected:?}, got {status}")) })
    })
    .await?;
    with(t, token, Method::GET, "/version", &Value::Null).await?.refused(401, "Unauthorized")?;
    Ok(())
}

fn requests() -> Vec<Case> {
    vec![
        case(
            "a_request_is_answered_with_a_token",
            "A TokenRequest is answered with 201, the account's name and uid, the audiences of the server, an hour, and a token.",
            async |t| {
                let request = made(t, "a", json!({})).await?;
                let account = t.get(&t.core("serviceaccounts", "/a")).await?.is(200)?;
                has(
                    &request,
                    json!({
                        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
                        "metadata": {
                            "name": "a", "namespace": t.namespace, "uid": account["metadata"]["uid"],
                            "creationTimestamp": "*", "resourceVersion": null,
                        },
                        "spec": { "audiences": ["*"], "expirationSeconds": 3600, "boundObjectRef": null },
                        "status": { "token": "*", "expirationTimestamp": "*" },
                    }),
                )
            },
        ),
        case(
            "a_token_has_claims",
            "The claims of a token name its issuer, audiences, times, user, account and an id of its own.",
            async |t| {
                let request = made(t, "a", json!({ "expirationSeconds": 600 })).await?;
                let claims = claims(&request)?;
                has(
                    &claims,
                    json!({
                        "aud": request["spec"]["audiences"], "iss": request["spec"]["audiences"][0],
                        "jti": "*", "sub": format!("system:serviceaccount:{}:a", t.namespace),
                        "kubernetes.io": {
                            "namespace": t.namespace, "pod": null, "node": null, "secret": null,
                            "serviceaccount": { "name": "a", "uid": request["metadata"]["uid"] },
                            "warnafter": null,
                        },
                    }),
                )?;
                let at = |claim: &str| claims[claim].as_i64().unwrap_or_default();
                same("its life", at("exp") - at("iat"), 600)?;
                same("its beginning", at("nbf"), at("iat"))
            },
        ),
        case(
            "the_time_is_bounded",
            "A token lives from 10 minutes to 2^32 seconds; the error names no object.",
            async |t| {
                made(t, "a", json!({ "expirationSeconds": 600 })).await?;
                asked(t, "a", json!({ "expirationSeconds": 1_i64 << 32 })).await?;
                for (seconds, why) in [
                    (599_i64, "may not specify a duration less than 10 minutes"),
                    ((1_i64 << 32) + 1, "may not specify a duration larger than 2^32 seconds"),
                ] {
                    let spec = json!({ "spec": { "expirationSeconds": seconds } });
                    let answer = t.post(&path(t, "a"), &spec).await?;
                    let status = answer.invalid(&["FieldValueInvalid spec.expirationSeconds"])?;
                    let expected = format!(
                        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: {seconds}: {why}"
                    );
                    same("the message", text(&status, "/message"), expected.as_str())?;
                }
                Ok(())
            },
        ),
        case(
            "a_request_names_the_account_or_nothing",
            "A TokenRequest of another name answers 422, of another namespace 400, of another uid 409.",
            async |t| {
                made(t, "a", json!({})).await?;
                let answer = t.post(&path(t, "a"), &named("b")).await?;
                let status = answer.invalid(&["FieldValueInvalid metadata.name"])?;
                same(
                    "the message",
                    text(&status, "/message"),
                    "TokenRequest.authentication.k8s.io \"a\" is invalid: metadata.name: Invalid value: \"b\": must match the service account name if specified",
                )?;
                let elsewhere = json!({ "metadata": { "namespace": "other" } });
                t.post(&path(t, "a"), &elsewhere).await?.says(
                    400,
                    "BadRequest",
                    "the namespace of the provided object does not match the namespace sent on the request",
                )?;
                let other = json!({ "metadata": { "uid": "x" } });
                t.post(&path(t, "a"), &other).await?.says(
                    409,
                    "Conflict",
                    "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"a\": the UID in the token request (x) does not match the UID of the service account (",
                )?;
                let name = json!({ "metadata": { "name": "a" } });
                t.make(&path(t, "a"), name).await.map(drop)
            },
        ),
        case(
            "there_is_no_token_without_an_account",
            "A TokenRequest for a missing account or in a missing namespace answers 404.",
            async |t| {
                t.post(&path(t, "a"), &json!({})).await?.says(
                    404,
                    "NotFound",
                    "serviceaccounts \"a\" not found",
                )?;
                let nowhere = "/api/v1/namespaces/not-there-at-all/serviceaccounts/a/token";
                t.post(nowhere, &json!({})).await?.says(
                    404,
                    "NotFound",
                    "namespaces \"not-there-at-all\" not found",
                )?;
                Ok(())
            },
        ),
        case(
            "tokens_are_only_created",
            "The subresource token answers 405 to all but POST.",
            async |t| {
                made(t, "a", json!({})).await?;
                for method in [Method::GET, Method::PUT, Method::PATCH, Method::DELETE] {
                    let headers = [("content-type", "application/merge-patch+json")];
                    let answer = t.send(method, &path(t, "a"), &headers, "{}").await?;
                    answer.refused(405, "MethodNotAllowed")?;
                }
                Ok(())
            },
        ),
        case(
            "a_dry_run_is_given_a_token_too",
            "A TokenRequest with dryRun is answered with a token.",
            async |t| {
                made(t, "a", json!({})).await?;
                let dry = format!("{}?dryRun=All", path(t, "a"));
                let request = t.make(&dry, json!({})).await?;
                has(&reviewed(t, token_of(&request), &[]).await?, json!({ "authenticated": true }))
            },
        ),
        case(
            "the_client_owns_what_it_asks_for",
            "The managedFields of a TokenRequest have the fields that the client sent, and the default of the time.",
            async |t| {
                t.make(&t.core("serviceaccounts", ""), named("a")).await?;
                let manager = format!("{}?fieldManager=m", path(t, "a"));
                let request = t.make(&manager, json!({ "spec": { "audiences": ["x"] } })).await?;
                has(
                    &request["metadata"]["managedFields"],
                    json!([{
                        "manager": "m", "operation": "Update", "subresource": "token",
                        "apiVersion": "authentication.k8s.io/v1",
                        "fieldsV1": { "f:spec": { "f:audiences": {}, "f:expirationSeconds": {} } },
                    }]),
                )
            },
        ),
        case(
            "unknown_members_of_a_request_are_warned_of",
            "An unknown member of a TokenRequest is warned of, or refused if validation is strict.",
            async |t| {
                made(t, "a", json!({})).await?;
                let odd = json!({ "spec": { "x": 1 } });
                let answer = t.post(&path(t, "a"), &odd).await?;
                answer.is(201)?;
                same(
                    "warnings",
                    answer.warnings(),
                    vec!["299 - \"unknown field \\\"spec.x\\\"\"".to_owned()],
                )?;
                let strict = format!("{}?fieldValidation=Strict", path(t, "a"));
                t.post(&strict, &odd).await?.says(
                    400,
                    "BadRequest",
                    "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: strict decoding error: unknown field \"spec.x\"",
                )?;
                Ok(())
            },
        ),
        case(
            "a_right_is_needed_for_a_token",
            "A TokenRequest needs the right to create serviceaccounts/token, which may name accounts.",
            async |t| {
                made(t, "a", json!({})).await?;
                by(t, "bob", Method::POST, &path(t, "a"), &json!({})).await?.says(
                    403,
                    "Forbidden",
                    "cannot create resource \"serviceaccounts/token\" in API group \"\" in the namespace",
                )?;
                let mut only = rule(&["create"], "", &["serviceaccounts/token"]);
                only["resourceNames"] = json!(["a"]);
                grant(t, "bob", json!([only])).await?;
                by(t, "bob", Method::POST, &path(t, "a"), &json!({})).await?.is(201)?;
                by(t, "bob", Method::POST, &path(t, "b"), &json!({})).await?.is(403)?;
                get_by(t, "bob", &t.core("serviceaccounts", "/a")).await?.is(403).map(drop)
            },
        ),
    ]
}

fn uses() -> Vec<Case> {
    vec![
        case(
            "a_token_is_its_accounts",
            "A request with a token is made by the account, with its uid, its groups and the token's id.",
            async |t| {
                let request = made(t, "a", json!({})).await?;
                let said =
                    with(t, token_of(&request), Method::POST, MYSELF, &json!({})).await?.is(201)?;
                let id = format!("JTI={}", text(&claims(&request)?, "/jti"));
                let user = json!({
                    "username": format!("system:serviceaccount:{}:a", t.namespace),
                    "uid": request["metadata"]["uid"],
                    "groups": [
                        "system:serviceaccounts", format!("system:serviceaccounts:{}", t.namespace),
                        "system:authenticated",
                    ],
                    "extra": { format!("{EXTRA}/credential-id"): [id] },
                });
                same("the user", &said["status"]["userInfo"], &user)?;
                let status = reviewed(t, token_of(&request), &[]).await?;
                let expected = json!({
                    "authenticated": true, "user": user, "audiences": request["spec"]["audiences"],
                });
                same("the review", &status, &expected)
            },
        ),
        case(
            "a_token_has_the_rights_of_its_account",
            "A request with a token may do what roles grant the account, and nothing else.",
            async |t| {
                let request = made(t, "a", json!({})).await?;
                let account = format!("system:serviceaccount:{}:a", t.namespace);
                grant(t, &account, json!([rule(&["list"], "", &["pods"])])).await?;
                let get = async |path: String| {
                    with(t, token_of(&request), Method::GET, &path, &Value::Null).await
                };
                get(t.core("pods", "")).await?.is(200)?;
                get(t.core("secrets", "")).await?.says(
                    403,
                    "Forbidden",
                    &format!("User \"{account}\" cannot list resource \"secrets\""),
                )?;
                Ok(())
            },
        ),
        case(
            "a_token_for_others_is_refused",
            "A token for other audiences is no credential, and is reviewed for those audiences only.",
            async |t| {
                let own = made(t, "a", json!({})).await?["spec"]["audiences"][0].take();
                let request = asked(t, "a", json!({ "audiences": ["x", "y"] })).await?;
                let token = token_of(&request);
                with(t, token, Method::GET, "/version", &Value::Null)
                    .await?
                    .refused(401, "Unauthorized")?;
                let status = reviewed(t, token, &["y", "z"]).await?;
                has(&status, json!({ "authenticated": true, "audiences": ["y"] }))?;
                let status = reviewed(t, token, &[]).await?;
                let why = format!(
                    "[invalid bearer token, token audiences [\"x\" \"y\"] is invalid for the target audiences [{own}]]"
                );
                same("the error", text(&status, "/error"), why.as_str())
            },
        ),
        case(
            "a_changed_token_is_refused",
            "A token whose signature is wrong is no credential.",
            async |t| {
                let request = made(t, "a", json!({})).await?;
                let other = asked(t, "a", json!({ "audiences": ["x"] })).await?;
                let (signed, _) = token_of(&request).rsplit_once('.').unwrap_or_default();
                let (_, signature) = token_of(&other).rsplit_once('.').unwrap_or_default();
                ends(
                    t,
                    &format!("{signed}.{signature}"),
                    "go-jose/go-jose: error in cryptographic primitive",
                )
                .await
            },
        ),
        case(
            "a_token_ends_with_its_account",
            "A token is refused when its account is deleted, and when another one has its name.",
            async |t| {
                let request = made(t, "a", json!({})).await?;
                let (token, uid) = (token_of(&request), text(&request, "/metadata/uid"));
                t.delete(&t.core("serviceaccounts", "/a")).await?.is(200)?;
                ends(t, token, "serviceaccounts \"a\" not found").await?;
                let again = made(t, "a", json!({})).await?;
                let now = text(&again, "/metadata/uid");
                let why = format!("service account UID ({now}) does not match claim ({uid})");
                ends(t, token, &why).await
            },
        ),
    ]
}

fn bindings() -> Vec<Case> {
    let to = |kind: &str, name: &str| json!({ "boundObjectRef": { "kind": kind, "apiVersion": "v1", "name": name } });
    vec![
        case(
            "a_token_of_a_pod_names_pod_and_node",
            "A token that is bound to a Pod names it and its node, in the claims and in the user.",
            async move |t| {
                t.make(&t.core("serviceaccounts", ""), named("a")).await?;
                let mut object = pod("p");
                object["spec"]["serviceAccountName"] = "a".into();
                object["spec"]["nodeName"] = "no-such-node".into();
                let made = t.make(&t.core("pods", ""), object).await?;
                let uid = text(&made, "/metadata/uid");
                let request = asked(t, "a", to("Pod", "p")).await?;
                has(
                    &claims(&request)?["kubernetes.io"],
                    json!({ "pod": { "name": "p", "uid": uid }, "node": { "name": "no-such-node", "uid": null } }),
                )?;
                let status = reviewed(t, token_of(&request), &[]).await?;
                has(
                    &status["user"]["extra"],
                    json!({
                        format!("{EXTRA}/pod-name"): ["p"], format!("{EXTRA}/pod-uid"): [uid],
                        format!("{EXTRA}/node-name"): ["no-such-node"],
                        format!("{EXTRA}/node-uid"): null,
                    }),
                )
            },
        ),
        case(
            "a_token_of_a_node_names_the_node",
            "A token that is bound to a Node names it, in the claims and in the user, and ends with it.",
            async move |t| {
                let name = t.own("n");
                let node = t.make("/api/v1/nodes", named(&name)).await?;
                let uid = text(&node, "/metadata/uid");
                let request = made(t, "a", to("Node", &name)).await?;
                has(
                    &claims(&request)?["kubernetes.io"],
                    json!({ "pod": null, "node": { "name": name, "uid": uid } }),
                )?;
                let second = asked(t, "a", to("Node", &name)).await?;
                let status = reviewed(t, token_of(&second), &[]).await?;
                has(
                    &status["user"]["extra"],
                    json!({
                        format!("{EXTRA}/node-name"): [name], format!("{EXTRA}/node-uid"): [uid],
                    }),
                )?;
                t.delete(&format!("/api/v1/nodes/{name}")).await?.is(200)?;
                ends(t, token_of(&request), "service account token has been invalidated").await
            },
        ),
        case(
            "a_token_ends_with_what_it_is_bound_to",
            "A token that is bound to a Secret or a Pod is refused when that is deleted, and when another one has its name.",
            async move |t| {
                t.make(&t.core("serviceaccounts", ""), named("a")).await?;
                let mut object = pod("x");
                object["spec"]["serviceAccountName"] = "a".into();
                for (kind, plural, object) in
                    [("Secret", "secrets", named("x")), ("Pod", "pods", object)]
                {
                    let old = t.make(&t.core(plural, ""), object.clone()).await?;
                    let request = asked(t, "a", to(kind, "x")).await?;
                    t.delete(&t.core(plural, "/x")).await?.is(200)?;
                    let token = token_of(&request);
                    ends(t, token, "service account token has been invalidated").await?;
                    let new = t.make(&t.core(plural, ""), object).await?;
                    let what = kind.to_lowercase();
                    let shown = if kind == "Pod" { "pod" } else { "secret" };
                    let (was, is) = (text(&old, "/metadata/uid"), text(&new, "/metadata/uid"));
                    let why = format!(
                        "{shown} UID ({is}) does not match service account {what} ref claim ({was})"
                    );
                    ends(t, token, &why).await?;
                }
                Ok(())
            },
        ),
        case(
            "a_token_is_bound_to_what_there_is",
            "A token is bound to an existing Pod of the account, Node or Secret; its uid must be right.",
            async move |t| {
                made(t, "a", json!({})).await?;
                t.make(&t.core("pods", ""), pod("p")).await?;
                t.make(&t.core("secrets", ""), named("s")).await?;
                let refused = async |spec: Value, code: u16, reason: &str, why: &str| {
                    let answer = t.post(&path(t, "a"), &json!({ "spec": spec })).await?;
                    let status = answer.refused(code, reason)?;
                    same("the message", text(&status, "/message"), why)
                };
                let other = "cannot bind token for serviceaccount \"a\" to pod running with different serviceaccount name.";
                refused(to("Pod", "p"), 400, "BadRequest", other).await?;
                for (kind, plural) in [("Pod", "pods"), ("Node", "nodes"), ("Secret", "secrets")] {
                    let why = format!("{plural} \"{}\" not found", t.own("none"));
                    refused(to(kind, &t.own("none")), 404, "NotFound", &why).await?;
                }
                let why = "cannot bind token to object of type /v1, Kind=ConfigMap";
                refused(to("ConfigMap", "s"), 400, "BadRequest", why).await?;
                let mut recreated = to("Secret", "s");
                recreated["boundObjectRef"]["uid"] = "x".into();
                let why = "Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated";
                refused(recreated, 409, "Conflict", why).await
            },
        ),
        case(
            "a_token_of_a_kubelet_lives_longer_than_it_says",
            "A token for this server that a Pod asks for with 3607 seconds lives a year, and says when it should have ended.",
            async move |t| {
                t.make(&t.core("serviceaccounts", ""), named("a")).await?;
                let mut object = pod("p");
                object["spec"]["serviceAccountName"] = "a".into();
                t.make(&t.core("pods", ""), object).await?;
                let mut spec = to("Pod", "p");
                spec["expirationSeconds"] = 3607.into();
                let request = asked(t, "a", spec.clone()).await?;
                let times = |claims: &Value| {
                    let at = |pointer: &str| claims.pointer(pointer).and_then(Value::as_i64);
                    let life = at("/exp").zip(at("/iat")).map(|(end, start)| end - start);
                    (life, at("/kubernetes.io/warnafter").zip(at("/iat")).map(|(a, b)| a - b))
                };
                same("times", times(&claims(&request)?), (Some(365 * 86_400), Some(3607)))?;
                spec["audiences"] = json!(["x"]);
                let request = asked(t, "a", spec).await?;
                same("times for others", times(&claims(&request)?), (Some(3607), None))
            },
        ),
    ]
}
