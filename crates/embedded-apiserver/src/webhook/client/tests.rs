//! The client against a server on loopback.

use std::time::Duration;

use api_front::{Backend, Body, Front, Listener, Tls};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::webhook::{CallError, Endpoint, Webhooks};

/// Returns the request: its path, its version of HTTP, its body. `/slow` never answers.
#[derive(Clone)]
struct Echo;

impl Backend for Echo {
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        if request.uri().path() == "/slow" {
            std::future::pending::<()>().await;
        }
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let version = format!("{:?}", request.version());
        let path = request.uri().path_and_query().map(ToString::to_string);
        let seen = json!({ "body": body, "version": version, "path": path });
        Response::new(Body::full(seen.to_string()))
    }
}

async fn listener() -> (Listener, Tls) {
    let tls = Tls::self_signed().unwrap();
    let service = Front::builder().build().service(Echo);
    (service.listen_tls("127.0.0.1:0", &tls).await.unwrap(), tls)
}

fn port(listener: &Listener) -> u16 {
    listener.url().rsplit(':').next().and_then(|port| port.parse().ok()).unwrap()
}

fn endpoint(url: &str, authority: &str) -> Endpoint {
    let ca = STANDARD.encode(authority);
    Endpoint::read(&json!({ "url": url, "caBundle": ca })).unwrap()
}

async fn call(endpoint: &Endpoint, time: Duration) -> Result<Value, CallError> {
    Webhooks::default().post(endpoint, "timeout=10s", &json!({ "a": 1 }), time).await
}

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_review_is_posted_and_answered() {
    let (listener, tls) = listener().await;
    let port = port(&listener);
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("https://{host}:{port}/a/");
        let answer = call(&endpoint(&url, tls.authority()), LONG).await.unwrap();
        let seen = json!({ "body": { "a": 1 }, "version": "HTTP/2.0", "path": "/a?timeout=10s" });
        assert_eq!(answer, seen);
    }
}

#[tokio::test]
async fn failures_have_the_texts_of_go() {
    let (listener, tls) = listener().await;
    let port = port(&listener);
    let other = Tls::self_signed().unwrap();
    let at = format!("https://127.0.0.1:{port}/");
    let unknown =
        "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let short = Duration::from_millis(50);
    let cases = [
        (at.clone(), other.authority(), LONG, unknown),
        (at.clone(), "", LONG, unknown),
        (format!("{at}slow"), tls.authority(), short, "context deadline exceeded"),
    ];
    for (url, authority, time, why) in cases {
        let error = call(&endpoint(&url, authority), time).await.unwrap_err();
        assert_eq!(error.to_string(), format!("Post \"{url}?timeout=10s\": {why}"));
    }
    listener.shutdown().await;
    let error = call(&endpoint(&at, tls.authority()), LONG).await.unwrap_err();
    let why = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(error.to_string(), format!("Post \"{at}?timeout=10s\": {why}"));
    let error = Endpoint::read(&json!({ "url": at, "caBundle": STANDARD.encode("none") }));
    let error = call(&error.unwrap(), LONG).await.unwrap_err();
    let why = "unable to load root certificates: unable to parse bytes as PEM block";
    assert_eq!(error.to_string(), why);
}

#[tokio::test]
async fn a_server_without_tls_is_named() {
    let front = Front::builder().build();
    let listener = front.service(Echo).listen("127.0.0.1:0").await.unwrap();
    let url = format!("https://127.0.0.1:{}/", port(&listener));
    let error = call(&endpoint(&url, ""), LONG).await.unwrap_err();
    let why = "http: server gave HTTP response to HTTPS client";
    assert_eq!(error.to_string(), format!("Post \"{url}?timeout=10s\": {why}"));
}
