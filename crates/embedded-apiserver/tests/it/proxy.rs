//! The proxy in front of the embedded server: it forwards everything unchanged, and injects faults.

use crate::objects::{code, config_map};
use bytes::Bytes;
use embedded_apiserver::{
    Body, Disconnected, EmbeddedApiServer, Fault, FaultPlan, FaultProxy, Match, Outcome, Rule, Verb,
};
use futures::stream::{BoxStream, StreamExt};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::json;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, timeout};
use tower::{Service, ServiceExt};

const LIMIT: Duration = Duration::from_secs(20);

/// A proxy for alice and bob in front of `server`, which knows both.
fn before(server: &EmbeddedApiServer, faults: FaultPlan) -> FaultProxy {
    FaultProxy::builder()
        .user("alice", "token-a", server.client_as("alice"))
        .user("bob", "token-b", server.client_as("bob"))
        .faults(faults)
        .introspection(true)
        .build()
}

/// A proxy for alice alone, in front of any server.
fn alone(client: Client) -> FaultProxy {
    FaultProxy::builder().user("alice", "token-a", client).build()
}

fn rule(verb: Verb, fault: Fault) -> FaultPlan {
    FaultPlan::seeded(1).rule(Rule::new(Match::any().user("alice").verb(verb), fault).calls(1..=1))
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

fn alice(proxy: &FaultProxy) -> Api<ConfigMap> {
    maps(proxy.client_as("alice"))
}

async fn create(maps: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    maps.create(&PostParams::default(), &config_map(name, "1")).await
}

type Events = BoxStream<'static, kube::Result<WatchEvent<ConfigMap>>>;

async fn watch(maps: &Api<ConfigMap>) -> Events {
    maps.watch(&WatchParams::default().disable_bookmarks(), "0").await.unwrap().boxed()
}

async fn name(events: &mut Events) -> String {
    match events.next().await.expect("no end").expect("an event") {
        WatchEvent::Added(map) => map.name_any(),
        other => panic!("{other:?}"),
    }
}

type Answer = (StatusCode, HeaderMap, Bytes);

async fn ask<S>(service: &S, request: Request<Full<Bytes>>) -> Answer
where
    S: Service<Request<Full<Bytes>>, Response = Response<Body>, Error = Disconnected> + Clone,
{
    let response = service.clone().oneshot(request).await.expect("not dropped");
    let (parts, body) = response.into_parts();
    (parts.status, parts.headers, body.collect().await.expect("whole").to_bytes())
}

fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body.to_owned())).unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_answer_comes_back_byte_for_byte() {
    let map = "/api/v1/namespaces/default/configmaps";
    let json: &[_] = &[("content-type", "application/json")];
    let merge: &[_] = &[("content-type", "application/merge-patch+json")];
    let metadata: &[_] =
        &[("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")];
    let script = [
        (Method::GET, "/version".to_owned(), json, ""),
        (Method::GET, "/api/v1".to_owned(), json, ""),
        (Method::POST, map.to_owned(), json, r#"{"metadata":{"name":"a"},"data":{"k":"1"}}"#),
        (Method::POST, map.to_owned(), json, r#"{"metadata":{"name":"a"}}"#),
        (Method::POST, map.to_owned(), json, r#"{"metadata":{"generateName":"g-"}}"#),
        (Method::POST, map.to_owned(), json, "no JSON"),
        (Method::GET, format!("{map}/a"), json, ""),
        (Method::GET, format!("{map}/missing"), json, ""),
        (Method::PUT, format!("{map}/a"), json, r#"{"metadata":{"name":"a"},"data":{"k":"2"}}"#),
        (
            Method::PUT,
            format!("{map}/a"),
            json,
            r#"{"metadata":{"name":"a","resourceVersion":"1"}}"#,
        ),
        (Method::PATCH, format!("{map}/a?fieldManager=me%20too"), merge, r#"{"data":{"k":"3"}}"#),
        (Method::PATCH, format!("{map}/a"), &[("content-type", "text/plain")], "{}"),
        (Method::GET, format!("{map}?limit=1"), json, ""),
        (Method::GET, format!("{map}?labelSelector=a%3Db"), metadata, ""),
        (Method::GET, format!("{map}?watch=1&timeoutSeconds=1"), json, ""),
        (Method::GET, format!("{map}?watch=1&resourceVersion=x"), json, ""),
        (Method::GET, "/apis/nowhere.io/v1/things".to_owned(), json, ""),
        (Method::GET, "/%2e%2e/%2fapi?x=%00".to_owned(), json, ""),
        (Method::HEAD, format!("{map}/a"), json, ""),
        (Method::OPTIONS, map.to_owned(), json, ""),
        (Method::DELETE, format!("{map}/a"), json, r#"{"preconditions":{"uid":"wrong"}}"#),
        (Method::DELETE, format!("{map}/a"), json, ""),
        (Method::DELETE, map.to_owned(), json, ""),
        (Method::GET, map.to_owned(), json, ""),
    ];
    let twin = || EmbeddedApiServer::builder().seed(9).start_time(SystemTime::UNIX_EPOCH).build();
    let (direct, behind) = (twin(), twin());
    let proxy = before(&behind, FaultPlan::none());
    let (direct, through) = (direct.service(), proxy.service().as_user("alice"));
    for (method, path, headers, body) in script {
        let expected = ask(&direct, request(method.clone(), &path, headers, body)).await;
        let seen = ask(&through, request(method.clone(), &path, headers, body)).await;
        assert_eq!(seen, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn kube_reaches_the_other_server_over_both_sockets_and_each_user_by_its_own_client() {
    let behind =
        EmbeddedApiServer::builder().token("ann", "secret-a").token("ben", "secret-b").build();
    let upstream = behind.listen("127.0.0.1:0").await.unwrap();
    let proxy = FaultProxy::builder()
        .user("alice", "token-a", client(&behind.kubeconfig(&upstream.url(), "ann")).await)
        .user("bob", "token-b", client(&behind.kubeconfig(&upstream.url(), "ben")).await)
        .build();
    let listener = proxy.listen("127.0.0.1:0").await.unwrap();
    let alice = maps(client(&proxy.kubeconfig(&listener.url(), "alice")).await);
    let bob = maps(client(&proxy.kubeconfig(&listener.url(), "bob")).await);

    let mut events = watch(&alice).await;
    create(&alice, "a").await.unwrap();
    assert_eq!(timeout(LIMIT, name(&mut events)).await.expect("an event passes as it comes"), "a");
    bob.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "data": { "key": "2" } })))
        .await
        .unwrap();
    bob.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(code(bob.get("a").await.unwrap_err()), (404, "NotFound".to_owned()));

    for (log, alice, bob) in [(proxy.requests(), "alice", "bob"), (behind.requests(), "ann", "ben")]
    {
        log.by(alice).verb(Verb::Watch).assert_exactly(1);
        log.by(alice).writes().assert_exactly(1);
        log.by(bob).verb(Verb::Patch).assert_exactly(1);
        log.by(bob).verb(Verb::Delete).assert_exactly(1);
        log.by(bob).verb(Verb::Get).assert_exactly(1);
        assert_eq!(log.all().count(), 5);
    }
    let nobody = maps(client(&proxy.kubeconfig(&listener.url(), "nobody")).await);
    assert_eq!(code(nobody.get("a").await.unwrap_err()), (401, "Unauthorized".to_owned()));
    behind.requests().by("system:anonymous").assert_none();
    drop(events);
    listener.shutdown().await;
}

/// kube's client, configured by the text of a kubeconfig. No retries.
async fn client(kubeconfig: &str) -> Client {
    let parsed = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let mut config =
        Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_be_applied_is_applied_by_the_other_server_and_the_rest_never_reaches_it() {
    for (fault, applied) in [
        (Fault::Conflict, false),
        (Fault::Unavailable, false),
        (Fault::DropBefore, false),
        (Fault::NeverAnswer, false),
        (Fault::DropAfter, true),
        (Fault::ApplyNeverAnswer, true),
        (Fault::DropMidAnswer, true),
        (Fault::StallMidAnswer, true),
    ] {
        let behind = EmbeddedApiServer::new();
        let proxy = before(&behind, rule(Verb::Create, fault.clone()));
        let answer = timeout(LIMIT, create(&alice(&proxy), "m")).await;
        assert!(!matches!(answer, Ok(Ok(_))), "{fault:?}");
        assert_eq!(
            behind.requests().writes_to("configmaps").count(),
            u64::from(applied),
            "{fault:?}"
        );
        assert_eq!(proxy.requests().all().entries()[0].fault, Some(fault.as_str()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_write_is_applied_after_its_client_has_given_up() {
    let behind = EmbeddedApiServer::new();
    let proxy = before(&behind, rule(Verb::Create, Fault::ApplyLate { after_ms: 1500 }));
    timeout(Duration::from_millis(100), create(&alice(&proxy), "m")).await.expect_err("no answer");
    behind.requests().writes_to("configmaps").assert_none();
    assert_eq!(proxy.requests().all().entries()[0].outcome, Outcome::Abandoned);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    behind.requests().writes_to("configmaps").reached(1).await;
    assert!(maps(behind.client()).get_opt("m").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_cut_between_two_events_in_the_middle_of_one_or_falls_silent() {
    let cut = |mid_line| Fault::CutWatch { min_events: 2, max_events: 2, after_ms: None, mid_line };
    let stall = Fault::StallWatch { min_events: 2, max_events: 2 };
    for (fault, ends) in [(cut(false), true), (cut(true), true), (stall, false)] {
        let behind = EmbeddedApiServer::new();
        for name in ["a", "b", "c"] {
            create(&maps(behind.client()), name).await.unwrap();
        }
        let proxy = before(&behind, rule(Verb::Watch, fault.clone()));
        let path = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0";
        let request = request(Method::GET, path, &[], "");
        let response = proxy.service().as_user("alice").oneshot(request).await.unwrap();
        let mut body = response.into_body().into_stream();
        let mut text = Vec::new();
        let end = timeout(LIMIT, async {
            while let Some(chunk) = body.next().await {
                text.extend_from_slice(&chunk?);
            }
            Ok::<_, Disconnected>(())
        });
        let end = end.await;
        assert_eq!(end.is_ok(), ends, "{fault:?}");
        let mid_line = fault == cut(true);
        assert_eq!(matches!(end, Ok(Err(_))), mid_line, "{fault:?}");
        assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 2, "{fault:?}");
        assert_eq!(text.ends_with(b"\n"), !mid_line, "{fault:?}");
        // A new watch sees everything: the other server has lost nothing.
        let mut events = watch(&alice(&proxy)).await;
        for expected in ["a", "b", "c"] {
            assert_eq!(name(&mut events).await, expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn live_watches_can_be_cut_and_a_user_who_is_cut_off_misses_nothing() {
    let behind = EmbeddedApiServer::new();
    let proxy = before(&behind, FaultPlan::none());
    let (mut alices, mut bobs) =
        (watch(&alice(&proxy)).await, watch(&maps(proxy.client_as("bob"))).await);
    proxy.faults().partition("alice");
    create(&maps(proxy.client_as("bob")), "m").await.unwrap();
    assert_eq!(name(&mut bobs).await, "m");
    timeout(LIMIT, alices.next()).await.expect_err("held back");
    timeout(LIMIT, alice(&proxy).get("m")).await.expect_err("held back");
    proxy.faults().heal("alice");
    assert_eq!(name(&mut alices).await, "m");
    assert_eq!(alice(&proxy).get("m").await.unwrap().name_any(), "m");

    assert_eq!(proxy.faults().live_watches(&Match::any()), 2);
    assert_eq!(proxy.faults().cut_watches(&Match::any().user("alice")), 1);
    assert!(alices.next().await.is_none());
    create(&maps(behind.client()), "n").await.unwrap();
    assert_eq!(name(&mut bobs).await, "n");
}

#[tokio::test(start_paused = true)]
async fn latency_delays_and_the_log_can_be_read_by_other_processes() {
    let wait = Fault::Latency { min_ms: 700, max_ms: 700 };
    let proxy = before(&EmbeddedApiServer::new(), rule(Verb::List, wait));
    let start = Instant::now();
    alice(&proxy).list(&ListParams::default()).await.unwrap();
    assert_eq!(start.elapsed().as_millis(), 700);
    let bearer: &[_] = &[("authorization", "Bearer token-b")];
    let path = "/embedded/requests?user=alice&verb=list";
    let (status, _, body) = ask(&proxy.service(), request(Method::GET, path, bearer, "")).await;
    assert_eq!(status, StatusCode::OK);
    let answer: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["counts"][0]["requests"], 1, "{answer}");
}

#[tokio::test]
async fn an_api_server_that_is_gone_is_said_to_be_gone_and_seen_when_it_is_back() {
    let behind = EmbeddedApiServer::new();
    let upstream = behind.listen("127.0.0.1:0").await.unwrap();
    let address = upstream.local_addr().to_string();
    let proxy = alone(client(&behind.kubeconfig(&upstream.url(), "ann")).await);
    let maps = alice(&proxy);
    create(&maps, "a").await.unwrap();
    let mut events = watch(&maps).await;
    assert_eq!(name(&mut events).await, "a");
    upstream.shutdown().await;
    let end = timeout(LIMIT, events.next()).await.expect("the watch ends");
    assert!(end.is_none() || end.is_some_and(|event| event.is_err()));
    let kube::Error::Api(status) =
        timeout(LIMIT, maps.get("a")).await.expect("an answer").unwrap_err()
    else {
        panic!("a Status")
    };
    assert_eq!((status.code, status.reason.as_str()), (503, "ServiceUnavailable"));
    assert!(
        status.message.contains("cannot be reached") && status.message.contains("refused"),
        "{status:?}"
    );
    let upstream = behind.listen(&address).await.unwrap();
    maps.get("a").await.expect("it is back");
    upstream.shutdown().await;
}

#[tokio::test]
async fn an_answer_that_is_lost_is_502() {
    let drop = Rule::new(Match::any().verb(Verb::Create), Fault::DropAfter).calls(1..=1);
    let upstream = EmbeddedApiServer::builder().faults(FaultPlan::none().rule(drop)).build();
    let listener = upstream.listen("127.0.0.1:0").await.unwrap();
    let proxy = FaultProxy::builder()
        .user("alice", "token-a", client(&upstream.kubeconfig(&listener.url(), "alice")).await)
        .build();
    let kube::Error::Api(status) = create(&alice(&proxy), "a").await.unwrap_err() else {
        panic!("a Status")
    };
    assert_eq!(status.code, 502);
    assert!(status.message.contains("may have been applied"), "{status:?}");
    assert!(alice(&proxy).get_opt("a").await.unwrap().is_some());
}
