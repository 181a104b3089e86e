//! The requests of clients: counted by server, method and code, as client-go does. An error of a
//! connection gets the server's address, which kube's error does not have.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Response, StatusCode};
use kube::client::{Body, ClientBuilder};
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
            answer.map_err(|error| match error.is::<kube::Error>() {
                // kube takes its own errors out of the box.
                true => error,
                false => Box::new(Unanswered { host, error }),
            })
        }
        .boxed()
    }
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
