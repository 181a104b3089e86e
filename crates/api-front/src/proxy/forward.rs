//! The server behind a proxy: forwards requests and answers, without the headers of one connection.

use super::frames::{Frames, Framing};
use crate::backend::Backend;
use crate::body::{Body, Disconnected};
use crate::request_info::{RequestInfo, Verb};
use crate::status::failure_response;
use crate::user::User;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::{
    HeaderMap, HeaderName, Method, Request, Response, StatusCode, Uri, header, request, response,
};
use http_body::Body as _;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body as KubeBody;
use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Headers about one connection only (RFC 9110, section 7.6.1), with the two that are older than
/// that rule.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The API server behind a [`FaultProxy`](crate::FaultProxy): a client for each user.
#[derive(Clone)]
pub struct Upstream(Arc<HashMap<String, Client>>);

impl Upstream {
    pub(super) fn new(clients: HashMap<String, Client>) -> Self {
        Self(Arc::new(clients))
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut users: Vec<_> = self.0.keys().collect();
        users.sort();
        f.debug_struct("Upstream").field("users", &users).finish_non_exhaustive()
    }
}

impl Backend for Upstream {
    /// Sends a request on by the client of its user, and returns the other server's answer.
    ///
    /// # Cancel safety
    ///
    /// A dropped future closes the connection behind: the request may or may not have been applied.
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        if parts.method == Method::CONNECT || parts.headers.contains_key(header::UPGRADE) {
            let why = "the proxy passes no connections through: exec, attach and port-forward do not work here";
            return failure_response(501, "NotImplemented", why);
        }
        let user = parts.extensions.get::<User>().map(User::name).unwrap_or_default();
        let Some(client) = self.0.get(user) else {
            let why = format!("the proxy has no way to the API server for the user {user:?}");
            return failure_response(401, "Unauthorized", &why);
        };
        let watch = RequestInfo::of(&parts.method, &parts.uri).verb == Verb::Watch;
        let Some(request) = outward(parts, body, watch) else {
            return failure_response(400, "BadRequest", "the request names no path");
        };
        match client.send(request).await {
            Ok(response) => inward(response, watch),
            Err(error) => unreachable(&error),
        }
    }
}

/// The request as it goes on: path, query, and all headers except the proxy's own.
fn outward(parts: request::Parts, body: Bytes, watch: bool) -> Option<Request<KubeBody>> {
    let path = parts.uri.path_and_query().filter(|path| path.as_str().starts_with('/'))?;
    let mut request = Request::new(KubeBody::from(body));
    *request.method_mut() = parts.method;
    *request.uri_mut() = Uri::from(path.clone());
    let mut headers = end_to_end(parts.headers);
    // Content-Length: set anew, by the body as it was read.
    for name in [header::HOST, header::AUTHORIZATION, header::CONTENT_LENGTH, header::EXPECT] {
        headers.remove(name);
    }
    if watch {
        // Events could not be told apart.
        headers.remove(header::ACCEPT_ENCODING);
    }
    *request.headers_mut() = headers;
    Some(request)
}

/// The answer as it goes back.
fn inward(response: Response<KubeBody>, watch: bool) -> Response<Body> {
    let (response::Parts { status, headers, .. }, body) = response.into_parts();
    let mut headers = end_to_end(headers);
    let body = if body.is_end_stream() {
        Body::empty()
    } else if watch && status == StatusCode::OK {
        headers.remove(header::CONTENT_LENGTH);
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Body::stream(events(pieces(body), Framing::of(content_type)))
    } else {
        let length = body.size_hint().exact();
        Body::transfer(pieces(body), length)
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Without the headers about one connection: the known ones, and the names in `Connection`.
fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let connection: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    for name in connection {
        headers.remove(name);
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
    headers
}

/// The body's bytes as they come; an error behind is a dropped connection in front.
fn pieces(body: KubeBody) -> BoxStream<'static, Result<Bytes, Disconnected>> {
    let pieces = body.into_data_stream().map(|piece| {
        piece.map_err(|error| {
            tracing::debug!(%error, "the connection to the API server ended early");
            Disconnected::new()
        })
    });
    pieces.boxed()
}

/// A watch under way.
struct Watch {
    pieces: BoxStream<'static, Result<Bytes, Disconnected>>,
    frames: Frames,
    /// The chunks after the last piece.
    end: VecDeque<Result<Bytes, Disconnected>>,
    ended: bool,
}

/// The same bytes, one item an event. An event that the other server leaves unfinished is passed on
/// unfinished.
fn events(
    pieces: BoxStream<'static, Result<Bytes, Disconnected>>,
    framing: Framing,
) -> impl futures::Stream<Item = Result<Bytes, Disconnected>> + Send + 'static {
    let watch = Watch { pieces, frames: Frames::new(framing), end: VecDeque::new(), ended: false };
    stream::unfold(watch, |mut watch| async move { Some((watch.next().await?, watch)) })
}

impl Watch {
    /// Cancel safe: `frames` and `end` keep the bytes that have been read.
    async fn next(&mut self) -> Option<Result<Bytes, Disconnected>> {
        while !self.ended {
            match self.frames.next() {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => match self.pieces.next().await {
                    Some(Ok(piece)) => self.frames.feed(&piece),
                    last => {
                        self.ended = true;
                        self.end.extend(self.frames.rest().map(Ok));
                        self.end.extend(last);
                    }
                },
                Err(_too_long) => {
                    tracing::debug!("the API server sends an event without an end");
                    self.ended = true;
                    self.end.extend(self.frames.rest().map(Ok));
                    self.end.push_back(Err(Disconnected::new()));
                }
            }
        }
        if matches!(self.end.front(), Some(Err(_))) {
            // Not at once: the half event must be on its way before the connection goes.
            tokio::task::yield_now().await;
        }
        self.end.pop_front()
    }
}

/// No answer came: 503 if no connection did, 502 if it was lost after that.
fn unreachable(error: &kube::Error) -> Response<Body> {
    let mut reasons = vec![error.to_string()];
    let mut connecting = false;
    let mut cause = error.source();
    while let Some(error) = cause {
        let legacy = error.downcast_ref::<hyper_util::client::legacy::Error>();
        connecting |= legacy.is_some_and(hyper_util::client::legacy::Error::is_connect);
        let reason = error.to_string();
        if !reasons.iter().any(|known| known.contains(&reason)) {
            reasons.push(reason);
        }
        cause = error.source();
    }
    let why = reasons.join(": ");
    tracing::debug!(error = %why, "the API server did not answer");
    if connecting {
        let message = format!("the API server behind the proxy cannot be reached: {why}");
        failure_response(503, "ServiceUnavailable", &message)
    } else {
        let message = format!(
            "the API server behind the proxy gave no answer, the request may have been applied: {why}"
        );
        failure_response(502, "InternalError", &message)
    }
}
