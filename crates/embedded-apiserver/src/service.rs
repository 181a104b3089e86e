//! The way in, as a tower service: reads the body, then sends the request through the pipeline to what stands behind it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower::Service;

use crate::body::{Body, Disconnected};
use crate::identity::ClientName;
use crate::pipeline::Pipeline;
#[cfg(feature = "proxy")]
use crate::proxy::Upstream;
use crate::replica::Front;
use crate::rest;
use crate::server::{Core, Shared};
use crate::status::Status;

/// The largest body of a request, as kube-apiserver's.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// The server as a [`tower::Service`]; from [`EmbeddedApiServer::service`](crate::EmbeddedApiServer::service).
///
/// Give it to `kube::Client::new`, or send it any [`http::Request`]. Always ready; clones share the server.
///
/// # Cancel safety
///
/// A call that is dropped before its answer may or may not have been applied, as with a real connection. A watch ends
/// when its body is dropped.
#[derive(Clone)]
pub struct ApiService {
    behind: Behind,
    client: Option<ClientName>,
}

/// What answers the requests that have passed the pipeline, which it owns.
#[derive(Clone)]
enum Behind {
    /// This crate's own API. `shared` keeps the server's actors running; an actor's own service has none.
    Embedded { core: Arc<Core>, shared: Option<Arc<Shared>> },
    /// The same API, in part from a cache.
    Replica(Arc<Front>),
    /// Another server.
    #[cfg(feature = "proxy")]
    Upstream(Arc<Upstream>),
}

impl Behind {
    fn pipeline(&self) -> &Pipeline {
        match self {
            Self::Embedded { core, .. } => &core.pipeline,
            Self::Replica(front) => front.pipeline(),
            #[cfg(feature = "proxy")]
            Self::Upstream(upstream) => &upstream.pipeline,
        }
    }

    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        match self {
            Self::Embedded { core, .. } => rest::serve(core, request).await,
            Self::Replica(front) => front.answer(request).await,
            #[cfg(feature = "proxy")]
            Self::Upstream(upstream) => upstream.forward(request).await,
        }
    }
}

impl ApiService {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let behind = Behind::Embedded { core: Arc::clone(&shared.core), shared: Some(shared) };
        Self { behind, client: None }
    }

    pub(crate) const fn replica(front: Arc<Front>) -> Self {
        Self { behind: Behind::Replica(front), client: None }
    }

    /// A service for an actor of the server itself: it does not keep the server alive.
    #[cfg(feature = "actors")]
    pub(crate) fn for_actor(core: Arc<Core>, name: &str) -> Self {
        Self { behind: Behind::Embedded { core, shared: None }, client: Some(ClientName::new(name)) }
    }

    /// A service in front of another server.
    #[cfg(feature = "proxy")]
    pub(crate) const fn before(upstream: Arc<Upstream>) -> Self {
        Self { behind: Behind::Upstream(upstream), client: None }
    }

    /// The same service, whose requests are made in the name of `user`.
    #[must_use]
    pub fn as_user(mut self, user: &str) -> Self {
        self.client = Some(ClientName::new(user));
        self
    }

    #[cfg(feature = "listen")]
    pub(crate) fn pipeline(&self) -> &Pipeline {
        self.behind.pipeline()
    }
}

impl fmt::Debug for ApiService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiService").field("client", &self.client).finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for ApiService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Disconnected;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Disconnected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Disconnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { behind, client } = self.clone();
        Box::pin(async move {
            match &behind {
                Behind::Embedded { shared: Some(shared), .. } => shared.start_actors(),
                Behind::Replica(front) => front.start(),
                _ => {}
            }
            let (mut parts, body) = request.into_parts();
            if let Some(client) = client {
                parts.extensions.insert(client);
            }
            let (body, refused) = match Limited::new(body, MAX_BODY).collect().await {
                Ok(body) => (body.to_bytes(), None),
                Err(error) if error.is::<LengthLimitError>() => {
                    (Bytes::new(), Some(Status::too_large(MAX_BODY)))
                }
                Err(error) => {
                    let why = format!("the body of the request could not be read: {error}");
                    (Bytes::new(), Some(Status::bad_request(why)))
                }
            };
            let answering = behind.clone();
            let api = move |request: Request<Bytes>| async move {
                match refused {
                    Some(status) => status.into_response(),
                    None => answering.answer(request).await,
                }
            };
            behind.pipeline().serve(Request::from_parts(parts, body), api).await
        })
    }
}
