//! Tokens, evictions and statuses: what the conformance cases cannot ask of a real server.

use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Hook, User};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, EvictParams, PostParams};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

/// Creates the account `a`, and returns a token of it for ten minutes.
async fn token(server: &EmbeddedApiServer) -> String {
    let accounts = Api::<ServiceAccount>::default_namespaced(server.client());
    let account = serde_json::from_value(json!({ "metadata": { "name": "a" } })).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let ten_minutes =
        json!({ "metadata": {}, "spec": { "audiences": [], "expirationSeconds": 600 } });
    let request: TokenRequest = serde_json::from_value(ten_minutes).unwrap();
    let answer = accounts.create_token_request("a", &PostParams::default(), &request).await;
    answer.unwrap().status.unwrap().token.unwrap()
}

/// A request with a token.
async fn with(
    service: embedded_apiserver::ApiService,
    token: &str,
    path: &str,
    body: Option<Value>,
) -> (StatusCode, Value) {
    let method = if body.is_some() { Method::POST } else { Method::GET };
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(Full::from(body))
        .unwrap();
    let response = service.oneshot(request).await.unwrap();
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_token_ends_a_minute_after_its_time() {
    let server = EmbeddedApiServer::new();
    let token = token(&server).await;
    let ask = async || with(server.service(), &token, "/version", None).await.0;
    assert_eq!(ask().await, StatusCode::OK);
    server.requests().by("system:serviceaccount:default:a").assert_exactly(1);
    server.clock().forward(Duration::from_secs(11 * 60));
    assert_eq!(ask().await, StatusCode::OK);
    server.clock().forward(Duration::from_secs(1));
    assert_eq!(ask().await, StatusCode::UNAUTHORIZED);
    let review = json!({ "spec": { "token": token } });
    let request = Request::post(REVIEWS)
        .header("content-type", "application/json")
        .body(Full::from(review.to_string()))
        .unwrap();
    let answer = server.service().oneshot(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    let why = "[invalid bearer token, service account token has expired]";
    assert_eq!(answer["status"]["error"], why);
}

#[tokio::test]
async fn a_token_is_known_to_its_server_and_its_replicas_alone() {
    let server = EmbeddedApiServer::builder().rbac(true).build();
    let token = token(&server).await;
    assert_eq!(with(server.replica().service(), &token, "/version", None).await.0, StatusCode::OK);
    let other = EmbeddedApiServer::builder().rbac(true).build();
    let refused = with(other.service(), &token, "/version", None).await.0;
    assert_eq!(refused, StatusCode::UNAUTHORIZED);
}

#[tokio::test(start_paused = true)]
async fn with_a_seed_a_token_is_always_the_same() {
    let start = std::time::SystemTime::UNIX_EPOCH;
    let of = async |seed| {
        token(&EmbeddedApiServer::builder().seed(seed).start_time(start).build()).await
    };
    assert_eq!(of(1).await, of(1).await);
    assert_ne!(of(1).await, of(2).await);
}

#[tokio::test]
async fn a_hook_sees_evictions() {
    let server = EmbeddedApiServer::new();
    let pods = Api::<Pod>::default_namespaced(server.client_as(User::new("drain")));
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    server.admission().add(
        Hook::validating("keeper", |review| {
            let seen = (review.kind.as_str(), review.subresource.as_deref(), review.name.as_str());
            assert_eq!(seen, ("Eviction", Some("eviction"), "p"));
            assert_eq!(review.object["kind"], "Eviction");
            Err("not today".into())
        })
        .resource("pods/eviction"),
    );
    let refused = pods.evict("p", &EvictParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("not today"), "{refused}");
    pods.get("p").await.unwrap();
}

#[tokio::test]
async fn a_status_is_merged_and_says_which_generation_it_is_of() {
    let server = EmbeddedApiServer::new();
    let all = Api::<Deployment>::default_namespaced(server.client());
    let object = json!({ "metadata": { "name": "d" }, "spec": {
        "selector": { "matchLabels": { "app": "a" } },
        "template": {
            "metadata": { "labels": { "app": "a" } },
            "spec": { "containers": [{ "name": "c", "image": "i" }] },
        },
    } });
    let made = serde_json::from_value(object).unwrap();
    let made = all.create(&PostParams::default(), &made).await.unwrap();
    server.set_status(&made, json!({ "replicas": 1, "unavailableReplicas": 1 })).await.unwrap();
    let change = kube::api::Patch::Merge(json!({ "spec": { "replicas": 2 } }));
    all.patch("d", &Default::default(), &change).await.unwrap();
    let status = json!({ "replicas": 2, "unavailableReplicas": null });
    let status = server.set_status(&made, status).await.unwrap().status.unwrap();
    assert_eq!((status.observed_generation, status.replicas), (Some(2), Some(2)));
    assert_eq!(status.unavailable_replicas, None);
    let older = server.set_status(&made, json!({ "observedGeneration": 1 })).await.unwrap();
    assert_eq!(older.status.unwrap().observed_generation, Some(1));
    // A kind without such a member.
    let pods = Api::<Pod>::default_namespaced(server.client());
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let pod = serde_json::from_value(pod).unwrap();
    let pod = pods.create(&PostParams::default(), &pod).await.unwrap();
    let misspelt = server.set_status(&pod, json!({ "fase": "Running" })).await.unwrap_err();
    assert!(misspelt.to_string().contains("unknown field \"status.fase\""), "{misspelt}");
    let pod = server.set_status(&pod, json!({ "phase": "Running" })).await.unwrap();
    assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Running"));
}

#[tokio::test]
async fn what_a_kubelet_answers_is_501_and_says_what_a_test_can_do() {
    let server = EmbeddedApiServer::new();
    for path in ["log", "exec?command=ls", "attach", "portforward", "proxy", "proxy/metrics"] {
        let path = format!("/api/v1/namespaces/default/pods/p/{path}");
        let (code, status) = with(server.service(), "", &path, None).await;
        assert_eq!(
            (code, &status["reason"]),
            (StatusCode::NOT_IMPLEMENTED, &json!("NotImplemented"))
        );
        let said = status["message"].as_str().unwrap_or_default();
        assert!(said.ends_with("in a tower layer around EmbeddedApiServer::service"), "{said}");
    }
}
