//! The client of one endpoint: HTTP/1.1 or HTTP/2 over TLS, with a pool of connections.

#[cfg(all(test, feature = "tls"))]
mod tests;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, InvalidMessage};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::webhook::certificate;
use crate::webhook::dial::Dial;
use crate::webhook::endpoint::Endpoint;
use crate::webhook::error::{CallError, PostError};
use crate::webhook::response;
use crate::webhook::roots::roots;

/// How long an idle connection stays open: that of Go's transport.
const IDLE: Duration = Duration::from_secs(90);

/// The client of one endpoint.
#[derive(Debug)]
pub(super) struct Client(legacy::Client<HttpsConnector<Dial>, Full<Bytes>>);

impl Client {
    /// # Errors
    ///
    /// [`CallError::CaBundle`] if the bundle has no certificate.
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, CallError> {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| CallError::CaBundle(error.to_string()))?
            .with_root_certificates(roots(endpoint.ca_bundle()).map_err(CallError::CaBundle)?)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_only();
        let connector = match endpoint.is_local() {
            true => connector.enable_http1().enable_http2().wrap_connector(Dial),
            // Requests over HTTP/2 would all go to one of several servers behind the name.
            false => connector.enable_http1().wrap_connector(Dial),
        };
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new()).timer(TokioTimer::new());
        Ok(Self(builder.build(connector)))
    }

    /// Posts a review; [`Webhooks::post`](crate::webhook::Webhooks::post) has the rules.
    pub(super) async fn post(
        &self,
        url: String,
        review: &Value,
        time: Duration,
    ) -> Result<Value, CallError> {
        let deadline = Instant::now() + time;
        let request = Request::post(&url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, */*")
            .header(header::USER_AGENT, "kube-apiserver-admission")
            .body(Full::from(review.to_string()));
        let request = match request {
            Ok(request) => request,
            Err(error) => return Err(CallError::Unparsable(error.to_string())),
        };
        let answer = match timeout_at(deadline, self.0.request(request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(CallError::Post { url, why: reason(&error) }),
            Err(_) => return Err(CallError::Post { url, why: PostError::Deadline }),
        };
        let (head, body) = answer.into_parts();
        let body = match timeout_at(deadline, body.collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return Err(CallError::Body("unexpected EOF".to_owned())),
            Err(_) => return Err(CallError::Body(PostError::Deadline.to_string())),
        };
        response::read(head.status, &head.headers, &body, review)
    }
}

/// Why a request got no answer: by the first cause that is known.
fn reason(error: &legacy::Error) -> PostError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    let mut last = error.to_string();
    while let Some(error) = cause {
        if let Some(known) = known(error) {
            return known;
        }
        last = error.to_string();
        cause = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    PostError::Other(last)
}

fn known(error: &(dyn Error + 'static)) -> Option<PostError> {
    if let Some(error) = error.downcast_ref::<PostError>() {
        return Some(error.clone());
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(match error {
            rustls::Error::InvalidCertificate(why) => {
                PostError::Certificate(certificate::text(why))
            }
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => PostError::Plain,
            other => PostError::Tls(other.to_string()),
        });
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        return error.is_incomplete_message().then_some(PostError::Eof);
    }
    let error = error.downcast_ref::<io::Error>()?;
    (error.kind() == io::ErrorKind::UnexpectedEof && error.get_ref().is_none())
        .then_some(PostError::Eof)
}
