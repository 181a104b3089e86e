//! Raw requests, for what `kube::Client` cannot send.

use embedded_apiserver::{Body, EmbeddedApiServer};
use futures::{FutureExt, StreamExt};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error} in {:?}", self.text))
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text.lines().map(|line| serde_json::from_str(line).expect("an event line")).collect()
    }
}

/// Sends a request. Reads a watch until it ends.
pub(crate) async fn send(
    server: &EmbeddedApiServer,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<bytes::Bytes>,
) -> Answer {
    let response = open(server, method, path, headers, body).await;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.expect("no fault was planned").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    Answer { code: parts.status, headers: parts.headers, text }
}

pub(crate) async fn open(
    server: &EmbeddedApiServer,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<bytes::Bytes>,
) -> http::Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into())).expect("a request");
    server.service().oneshot(request).await.expect("no fault was planned")
}

pub(crate) async fn get(server: &EmbeddedApiServer, path: &str) -> Answer {
    send(server, Method::GET, path, &[], "").await
}

pub(crate) async fn post(server: &EmbeddedApiServer, path: &str, body: &Value) -> Answer {
    send(server, Method::POST, path, &[("content-type", "application/json")], body.to_string())
        .await
}

pub(crate) async fn put(server: &EmbeddedApiServer, path: &str, body: &Value) -> Answer {
    send(server, Method::PUT, path, &[("content-type", "application/json")], body.to_string()).await
}

pub(crate) async fn delete(server: &EmbeddedApiServer, path: &str, body: &Value) -> Answer {
    send(server, Method::DELETE, path, &[("content-type", "application/json")], body.to_string())
        .await
}

pub(crate) async fn patch(
    server: &EmbeddedApiServer,
    path: &str,
    media: &str,
    body: &Value,
) -> Answer {
    send(server, Method::PATCH, path, &[("content-type", media)], body.to_string()).await
}

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";

/// A watch that is read line by line.
pub(crate) struct Lines(std::pin::Pin<Box<dyn futures::Stream<Item = Value> + Send>>);

impl Lines {
    pub(crate) async fn open(server: &EmbeddedApiServer, path: &str) -> Self {
        let response = open(server, Method::GET, path, &[], "").await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let lines = response.into_body().into_stream();
        Self(Box::pin(lines.map(|line| {
            serde_json::from_slice(&line.expect("no fault was planned"))
                .expect("one whole line per chunk")
        })))
    }

    /// The next line. `None` after the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        self.0.next().await
    }

    /// `TYPE name` of the next line.
    pub(crate) async fn event(&mut self) -> String {
        let line = self.next().await.expect("another event");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}", text(&line["type"]), text(&line["object"]["metadata"]["name"]))
    }

    /// Whether no line is ready.
    pub(crate) fn is_silent(&mut self) -> bool {
        tokio::task::unconstrained(self.0.next()).now_or_never().is_none()
    }
}
