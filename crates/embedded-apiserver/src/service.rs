//! The server as a tower service: reads the body, then hands the request to the API.

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
    core: Arc<Core>,
    /// Keeps the server's actors running; an actor's own service does not.
    shared: Option<Arc<Shared>>,
    client: Option<ClientName>,
}

impl ApiService {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { core: Arc::clone(&shared.core), shared: Some(shared), client: None }
    }

    /// A service for an actor of the server itself: it does not keep the server alive.
    #[cfg(feature = "actors")]
    pub(crate) fn for_actor(core: Arc<Core>, name: &str) -> Self {
        Self { core, shared: None, client: Some(ClientName::new(name)) }
    }

    /// The same service, whose requests are made in the name of `user`.
    #[must_use]
    pub fn as_user(mut self, user: &str) -> Self {
        self.client = Some(ClientName::new(user));
        self
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
        let this = self.clone();
        Box::pin(async move {
            if let Some(shared) = &this.shared {
                shared.start_actors();
            }
            let (mut parts, body) = request.into_parts();
            if let Some(client) = this.client {
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
            let core = Arc::clone(&this.core);
            let api = move |request: Request<Bytes>| async move {
                match refused {
                    Some(status) => status.into_response(),
                    None => rest::serve(&core, request).await,
                }
            };
            this.core.pipeline.serve(Request::from_parts(parts, body), api).await
        })
    }
}
