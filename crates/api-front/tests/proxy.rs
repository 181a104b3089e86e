//! The proxy in front of tower services: what passes, what does not, and where a fault falls.

use api_front::{Body, Disconnected, Fault, FaultPlan, FaultProxy, Match, Rule, Verb};
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tower::{Service, ServiceExt, service_fn};

const LIMIT: Duration = Duration::from_secs(20);

/// A proxy whose only user is alice.
fn alone(client: Client) -> FaultProxy {
    FaultProxy::builder().user("alice", "token-a", client).build()
}

fn rule(verb: Verb, fault: Fault) -> FaultPlan {
    FaultPlan::seeded(1).rule(Rule::new(Match::any().user("alice").verb(verb), fault).calls(1..=1))
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
async fn an_answer_of_the_other_server_breaks_off_or_falls_silent_in_its_first_piece() {
    for pieces in [1, 3] {
        let upstream = service_fn(move |_: Request<kube::client::Body>| async move {
            let piece =
                || Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(b"12345678")));
            let all: Vec<_> = std::iter::repeat_with(piece).take(pieces).collect();
            // And more may come: a log that is followed has no end.
            Ok::<_, Infallible>(Response::new(StreamBody::new(
                stream::iter(all).chain(stream::pending()),
            )))
        });
        for (fault, drops) in [(Fault::DropMidAnswer, true), (Fault::StallMidAnswer, false)] {
            let proxy = FaultProxy::builder()
                .user("alice", "token-a", Client::new(upstream, "default"))
                .faults(rule(Verb::List, fault.clone()))
                .build();
            let asked = request(Method::GET, "/api/v1/configmaps", &[], "");
            let response = proxy.service().as_user("alice").oneshot(asked).await.unwrap();
            let mut body = response.into_body().into_stream();
            assert_eq!(body.next().await.unwrap().unwrap(), "1234", "{fault:?}");
            let end = timeout(LIMIT, body.next()).await;
            assert_eq!(matches!(end, Ok(Some(Err(_)))), drops, "{fault:?}");
            assert_eq!(end.is_err(), !drops, "{fault:?}");
            assert_eq!(proxy.requests().all().entries()[0].fault, Some(fault.as_str()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn events_are_told_apart_however_the_bytes_of_a_watch_come() {
    let all = "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n";
    for size in [1, 5, 12, all.len()] {
        let upstream = service_fn(move |_: Request<kube::client::Body>| async move {
            let pieces = all.as_bytes().chunks(size).map(|piece| {
                Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(piece)))
            });
            let mut response =
                Response::new(StreamBody::new(stream::iter(pieces.collect::<Vec<_>>())));
            response
                .headers_mut()
                .insert("content-type", http::HeaderValue::from_static("application/json"));
            Ok::<_, Infallible>(response)
        });
        let cut = Fault::CutWatch { min_events: 2, max_events: 2, after_ms: None, mid_line: false };
        let proxy = FaultProxy::builder()
            .user("alice", "token-a", Client::new(upstream, "default"))
            .faults(rule(Verb::Watch, cut))
            .build();
        let watch = || request(Method::GET, "/api/v1/configmaps?watch=1", &[], "");
        let (_, _, body) = ask(&proxy.service().as_user("alice"), watch()).await;
        assert_eq!(body, all[..16], "by {size}");
        let (_, _, body) = ask(&proxy.service().as_user("alice"), watch()).await;
        assert_eq!(body, all, "by {size}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_dropped_connection() {
    let half = service_fn(|_: Request<kube::client::Body>| async {
        let chunks = stream::iter([
            Ok(http_body::Frame::data(Bytes::from_static(b"{\"kind\":"))),
            Err("gone"),
        ]);
        Ok::<_, Infallible>(Response::new(StreamBody::new(chunks)))
    });
    for path in ["/api/v1/configmaps", "/api/v1/configmaps?watch=1"] {
        let proxy = alone(Client::new(half, "default"));
        let response =
            proxy.service().as_user("alice").oneshot(request(Method::GET, path, &[], "")).await;
        let mut body = response.unwrap().into_body().into_stream();
        assert_eq!(body.next().await.unwrap().unwrap(), "{\"kind\":", "{path}");
        assert!(body.next().await.unwrap().is_err(), "{path}");
        assert!(body.next().await.is_none(), "{path}");
    }
}

#[tokio::test]
async fn half_an_event_is_on_the_wire_before_the_connection_goes() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let half = service_fn(|_: Request<kube::client::Body>| async {
        let chunks = stream::iter([
            Ok(http_body::Frame::data(Bytes::from_static(b"{\"kind\":"))),
            Err("gone"),
        ]);
        Ok::<_, Infallible>(Response::new(StreamBody::new(chunks)))
    });
    let listener = alone(Client::new(half, "default")).listen("127.0.0.1:0").await.unwrap();
    let address = listener.url().trim_start_matches("http://").to_owned();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let asked = "GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-a\r\n\r\n";
    socket.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _reset = timeout(LIMIT, socket.read_to_end(&mut answer)).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains("{\"kind\":"), "{answer}");
    assert!(!answer.ends_with("0\r\n\r\n"), "no regular end: {answer}");
}

/// An upstream that notes what comes and answers with `headers`.
fn noting(
    headers: &'static [(&'static str, &'static str)],
) -> (Client, Arc<Mutex<Vec<HeaderMap>>>) {
    let noted = Arc::<Mutex<Vec<HeaderMap>>>::default();
    let notes = Arc::clone(&noted);
    let service = service_fn(move |request: Request<kube::client::Body>| {
        notes.lock().push(request.headers().clone());
        let mut response = Response::builder().status(429);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        async move { Ok::<_, Infallible>(response.body(Full::from("{}")).unwrap()) }
    });
    (Client::new(service, "default"), noted)
}

#[tokio::test]
async fn what_is_for_the_proxy_stays_there_and_the_rest_is_passed_on_both_ways() {
    let (client, noted) = noting(&[
        ("warning", "299 - \"old\""),
        ("retry-after", "3"),
        ("audit-id", "x"),
        ("connection", "close, X-Private"),
        ("x-private", "y"),
        ("keep-alive", "timeout=5"),
    ]);
    let service = alone(client).service();
    let headers: &[_] = &[
        ("authorization", "Bearer token-a"),
        ("host", "proxy"),
        ("connection", "keep-alive, x-hop"),
        ("x-hop", "1"),
        ("te", "trailers"),
        ("transfer-encoding", "chunked"),
        ("accept", "application/json"),
        ("accept-encoding", "gzip"),
        ("user-agent", "me"),
        ("impersonate-user", "carol"),
    ];
    let (status, answer, body) =
        ask(&service, request(Method::POST, "/api/v1/configmaps", headers, "{}")).await;
    assert_eq!((status, &*body), (StatusCode::TOO_MANY_REQUESTS, &b"{}"[..]));
    for (name, value) in [("warning", "299 - \"old\""), ("retry-after", "3"), ("audit-id", "x")] {
        assert_eq!(answer[name], value);
    }
    for name in ["connection", "x-private", "keep-alive"] {
        assert!(!answer.contains_key(name), "{name}");
    }
    ask(&service, request(Method::GET, "/api/v1/configmaps?watch=1", headers, "")).await;
    let noted = std::mem::take(&mut *noted.lock());
    for name in ["authorization", "host", "connection", "x-hop", "te", "transfer-encoding"] {
        assert!(noted.iter().all(|headers| !headers.contains_key(name)), "{name}");
    }
    for name in ["accept", "user-agent", "impersonate-user"] {
        assert!(noted.iter().all(|headers| headers.contains_key(name)), "{name}");
    }
    assert!(noted[0].contains_key("accept-encoding"));
    assert!(
        !noted[1].contains_key("accept-encoding"),
        "events of a packed watch could not be told apart"
    );
}

#[tokio::test]
async fn connections_that_leave_http_and_bodies_without_bound_are_refused() {
    let (client, noted) = noting(&[]);
    let service = alone(client).service().as_user("alice");
    let upgrade: &[_] = &[("connection", "upgrade"), ("upgrade", "websocket")];
    let exec = "/api/v1/namespaces/default/pods/p/exec";
    let (status, _, body) = ask(&service, request(Method::GET, exec, upgrade, "")).await;
    assert_eq!(status, StatusCode::NOT_IMPLEMENTED);
    assert!(String::from_utf8_lossy(&body).contains("exec"));
    let (status, ..) = ask(&service, request(Method::CONNECT, "example.com:443", &[], "")).await;
    assert_eq!(status, StatusCode::NOT_IMPLEMENTED);
    let large = "x".repeat(3 * 1024 * 1024 + 1);
    let (status, ..) =
        ask(&service, request(Method::POST, "/api/v1/configmaps", &[], &large)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(noted.lock().is_empty());
}

#[tokio::test]
async fn a_large_answer_passes_in_pieces() {
    let many = service_fn(|_: Request<kube::client::Body>| async {
        let chunks = (0..2000)
            .map(|_| Ok::<_, Infallible>(http_body::Frame::data(Bytes::from(vec![b' '; 16_384]))));
        Ok::<_, Infallible>(Response::new(StreamBody::new(stream::iter(chunks))))
    });
    let proxy = alone(Client::new(many, "default"));
    let list = request(Method::GET, "/api/v1/configmaps", &[], "");
    let response = proxy.service().as_user("alice").oneshot(list).await.unwrap();
    assert!(Body::is_stream(response.body()));
    let chunks: Vec<_> = response.into_body().into_stream().collect().await;
    assert_eq!(chunks.len(), 2000);
    assert_eq!(proxy.faults().live_watches(&Match::any()), 0, "a list is no watch");
}
