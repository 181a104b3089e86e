//! The requests of clients: counted by server, method and code, as client-go does. An error of a
//! connection gets the server's address, and an overloaded server's answer its time to wait: kube's
//! errors have neither.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{Method, Response, StatusCode};
use kube::client::{Body, ClientBuilder};
use kube::core::Status;
use kube::core::response::StatusDetails;
use parking_lot::Mutex;
use tower::Service;

use crate::BoxError;

/// The counts of all clients of a manager. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<HashMap<Kind, u64>>>);

/// Requests that count together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    /// Host and port of the server.
    pub(crate) host: Arc<str>,
    pub(crate) method: Method,
    /// `None` without an answer.
    pub(crate) code: Option<StatusCode>,
}

impl Requests {
    /// A client whose requests count here.
    pub(crate) fn client(&self, server: kube::Config) -> kube::Result<kube::Client> {
        let authority = server.cluster_url.authority();
        let host: Arc<str> = authority.map_or("", |authority| authority.as_str()).into();
        let layer = tower::layer::layer_fn(|inner| Counted {
            inner,
            requests: self.clone(),
            host: Arc::clone(&host),
        });
        Ok(ClientBuilder::try_from(server)?.with_layer(&layer).build())
    }

    fn count(&self, kind: Kind) {
        let mut counts = self.0.lock();
        let count = counts.entry(kind).or_default();
        *count = count.saturating_add(1);
    }

    #[cfg(feature = "admin")]
    pub(crate) fn counts(&self) -> Vec<(Kind, u64)> {
        self.0.lock().iter().map(|(kind, count)| (kind.clone(), *count)).collect()
    }
}

struct Counted<S> {
    inner: S,
    requests: Requests,
    host: Arc<str>,
}

impl<S, B> Service<http::Request<Body>> for Counted<S>
where
    S: Service<http::Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<B>, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let (requests, host) = (self.requests.clone(), Arc::clone(&self.host));
        let method = request.method().clone();
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await;
            let code = answer.as_ref().ok().map(Response::status);
            requests.count(Kind { host: Arc::clone(&host), method, code });
            if let Some(status) = answer.as_ref().ok().and_then(overload) {
                return Err(kube::Error::Api(Box::new(status)).into());
            }
            answer.map_err(|error| match error.is::<kube::Error>() {
                // kube takes its own errors out of the box.
                true => error,
                false => Box::new(Unanswered { host, error }),
            })
        }
        .boxed()
    }
}

/// The status of an overloaded server, which says in a header when to ask again, and nothing in
/// JSON.
fn overload<B>(answer: &Response<B>) -> Option<Status> {
    let header = |name| answer.headers().get(name)?.to_str().ok();
    let code = answer.status();
    let is_json = header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    if is_json || !matches!(code.as_u16(), 429 | 503) {
        return None;
    }
    let retry_after_seconds = header(RETRY_AFTER)?.parse().ok()?;
    let message = format!("the server is overloaded: {code}, ask again in {retry_after_seconds} s");
    let details = StatusDetails {
        retry_after_seconds,
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
    };
    let status = Status::failure(&message, "TooManyRequests").with_code(code.as_u16());
    Some(status.with_details(details))
}

/// A request that got no answer.
#[derive(Debug)]
struct Unanswered {
    host: Arc<str>,
    error: BoxError,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer from {}", self.host)
    }
}

impl std::error::Error for Unanswered {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.error)
    }
}
