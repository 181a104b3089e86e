//! The way in, as a tower service: reads the body, then sends the request through the pipeline to
//! what stands behind it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;
use tower::Service;

use crate::body::{Body, Disconnected};
use crate::identity::User;
use crate::pipeline::Pipeline;
#[cfg(feature = "proxy")]
use crate::proxy::Upstream;
use crate::replica::Front;
use crate::server::{Core, Shared};
use crate::status::Status;

/// The largest body of a request, as kube-apiserver's.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// How long the body of a request of a socket may take: `--request-timeout` of kube-apiserver.
const BODY: Duration = Duration::from_secs(60);

/// The server as a [`tower::Service`]; from
/// [`EmbeddedApiServer::service`](crate::EmbeddedApiServer::service).
///
/// Give it to `kube::Client::new`, or send it any [`http::Request`]. Always ready; clones share the
/// server.
///
/// # Cancel safety
///
/// A call that is dropped before its answer may or may not have been applied, as with a real
/// connection. A watch ends when its body is dropped.
#[derive(Clone)]
pub struct ApiService {
    behind: Behind,
    user: Option<User>,
    /// The requests come from outside of this process: who says nothing is nobody.
    from_socket: bool,
}

/// What answers the requests that have passed the pipeline, which it owns.
#[derive(Clone)]
enum Behind {
    /// This crate's own API. `shared` keeps the server's actors running; an actor's own service has
    /// none.
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

    /// The same request, if its user may make it. Behind a proxy that is for the other server to
    /// say.
    fn admit(&self, request: Request<Bytes>) -> Result<Request<Bytes>, Status> {
        match self {
            Self::Embedded { core, .. } => core.handler.admit(request),
            // By the newest roles: what was taken from a user must be gone everywhere.
            Self::Replica(front) => front.server().handler.admit(request),
            #[cfg(feature = "proxy")]
            Self::Upstream(_) => Ok(request),
        }
    }

    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        match self {
            Self::Embedded { core, .. } => core.handler.serve(request).await,
            Self::Replica(front) => front.answer(request).await,
            #[cfg(feature = "proxy")]
            Self::Upstream(upstream) => upstream.forward(request).await,
        }
    }
}

impl ApiService {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let behind = Behind::Embedded { core: Arc::clone(&shared.core), shared: Some(shared) };
        Self { behind, user: None, from_socket: false }
    }

    pub(crate) const fn replica(front: Arc<Front>) -> Self {
        Self { behind: Behind::Replica(front), user: None, from_socket: false }
    }

    /// A service for an actor of the server itself, which may do everything: it does not keep the
    /// server alive.
    #[cfg(feature = "actors")]
    pub(crate) fn for_actor(core: Arc<Core>, name: &str) -> Self {
        let user = Some(User::new(name).group(crate::identity::MASTERS));
        Self { behind: Behind::Embedded { core, shared: None }, user, from_socket: false }
    }

    /// A service in front of another server.
    #[cfg(feature = "proxy")]
    pub(crate) const fn before(upstream: Arc<Upstream>) -> Self {
        Self { behind: Behind::Upstream(upstream), user: None, from_socket: false }
    }

    /// The same service, whose requests are made in the name of `user`. A `&str` will do.
    #[must_use]
    pub fn as_user(mut self, user: impl Into<User>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// The same service for requests of a socket.
    #[cfg(feature = "listen")]
    pub(crate) const fn for_socket(mut self) -> Self {
        self.from_socket = true;
        self
    }

    /// The user of a request that no token tells: the one it was made for, or in this process
    /// somebody who may do everything.
    fn user_of(&self, headers: &HeaderMap) -> Option<User> {
        let inside = match self.behind {
            Behind::Embedded { .. } | Behind::Replica(_) => !self.from_socket,
            #[cfg(feature = "proxy")]
            Behind::Upstream(_) => false,
        };
        let nameless =
            || (inside && !headers.contains_key(header::AUTHORIZATION)).then(User::admin);
        self.user.clone().or_else(nameless)
    }

    #[cfg(feature = "listen")]
    pub(crate) fn pipeline(&self) -> &Pipeline {
        self.behind.pipeline()
    }
}

impl fmt::Debug for ApiService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiService").field("user", &self.user).finish_non_exhaustive()
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
        let Self { behind, from_socket, .. } = self.clone();
        let user = self.user_of(request.headers());
        Box::pin(async move {
            match &behind {
                Behind::Embedded { shared: Some(shared), .. } => shared.start_actors(),
                Behind::Replica(front) => front.start(),
                _ => {}
            }
            let (mut parts, body) = request.into_parts();
            if let Some(user) = user {
                parts.extensions.insert(user);
            }
            let read = Limited::new(body, MAX_BODY).collect();
            // In this process a body is there, or its sender is waited for.
            let read = if from_socket { timeout(BODY, read).await } else { Ok(read.await) };
            let (body, refused) = match read {
                Ok(Ok(body)) => (body.to_bytes(), None),
                Err(_) => {
                    let why = "request did not complete within the allotted timeout".to_owned();
                    (Bytes::new(), Some(Status::denied(504, "Timeout".to_owned(), why)))
                }
                Ok(Err(error)) if error.is::<LengthLimitError>() => {
                    (Bytes::new(), Some(Status::too_large(MAX_BODY)))
                }
                Ok(Err(error)) => {
                    let why = format!("the body of the request could not be read: {error}");
                    (Bytes::new(), Some(Status::bad_request(why)))
                }
            };
            let answering = behind.clone();
            let api = move |request: Request<Bytes>| async move {
                // Who may not do it hears that first.
                let request = match answering.admit(request) {
                    Ok(request) => request,
                    Err(status) => {
                        let mut response = status.into_response();
                        let nosniff = HeaderValue::from_static("nosniff");
                        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
                        return response;
                    }
                };
                match refused {
                    Some(status) => status.into_response(),
                    None => answering.answer(request).await,
                }
            };
            behind.pipeline().serve(Request::from_parts(parts, body), api).await
        })
    }
}
