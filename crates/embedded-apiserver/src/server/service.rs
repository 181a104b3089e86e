//! The server and its replicas as a tower service, behind the front of api-front.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use api_front::{Backend, Body, Disconnected, Effect, FrontService, User};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use tower::Service;

use crate::access;
use crate::server::core::Core;
use crate::server::handle::EmbeddedApiServer;
use crate::server::replica::Replica;
use crate::server::replica_state::ReplicaState;
use crate::server::shared::Shared;

/// The server as a [`tower::Service`]. From [`EmbeddedApiServer::service`].
///
/// Pass it to `kube::Client::new`, or send it any [`http::Request`]. Always ready; clones share the
/// server.
///
/// # Cancel safety
///
/// A dropped call may or may not have been applied, as with a real connection. A watch ends when
/// its body is dropped.
#[derive(Clone)]
pub struct ApiService(FrontService<Behind>);

/// The server behind the front.
#[derive(Clone)]
enum Behind {
    /// `shared` keeps the controllers running. The service of a controller has none.
    Server { core: Arc<Core>, shared: Option<Arc<Shared>> },
    /// A replica.
    Replica(Arc<ReplicaState>),
}

impl Backend for Behind {
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        match self {
            Self::Server { core, .. } => core.handler.serve(request).await,
            Self::Replica(replica) => replica.answer(request).await,
        }
    }

    fn authorize(&self, request: Request<Bytes>) -> Result<Request<Bytes>, Response<Body>> {
        let core = match self {
            Self::Server { core, .. } => core,
            // Authorizes with the newest roles: a revoked right is gone on every replica.
            Self::Replica(replica) => replica.server(),
        };
        core.handler.admit(request).map_err(|status| {
            let mut response = status.into_response();
            let nosniff = HeaderValue::from_static("nosniff");
            response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
            response
        })
    }

    fn user_of_token(&self, token: &str) -> Result<Option<User>, String> {
        let core = match self {
            Self::Server { core, .. } => core,
            Self::Replica(replica) => replica.server(),
        };
        let api = core.api();
        let found = api.tokens.authenticate(token, &[access::ISSUER], api.clock.now())?;
        Ok(found.map(|found| found.user))
    }

    fn on_arrival(&self) {
        match self {
            Self::Server { shared: Some(shared), .. } => start_actors(shared),
            Self::Server { shared: None, .. } => {}
            Self::Replica(replica) => {
                start_actors(replica.shared());
                replica.start();
            }
        }
    }

    fn apply(&self, effect: Effect) -> bool {
        let core = match self {
            Self::Server { core, .. } => core,
            Self::Replica(replica) => replica.server(),
        };
        match effect {
            Effect::Compact => {
                if let Self::Replica(replica) = self {
                    replica.cache().api().store.compact();
                }
                core.api().store.compact();
            }
            Effect::MoveClock(by_ms) => core.api().clock.jump(by_ms),
            _ => return false,
        }
        true
    }
}

/// Starts the enabled controllers that do not run.
fn start_actors(shared: &Shared) {
    #[cfg(feature = "actors")]
    shared.start_actors(|core, user| {
        let service = ApiService::for_actor(Arc::clone(core), user);
        kube::Client::new(service, "default")
    });
    #[cfg(not(feature = "actors"))]
    let _ = shared;
}

impl EmbeddedApiServer {
    /// The server as a tower service of HTTP requests, with kube-apiserver's paths and queries.
    #[must_use]
    pub fn service(&self) -> ApiService {
        let shared = Some(Arc::clone(self.shared()));
        let behind = Behind::Server { core: Arc::clone(self.core()), shared };
        ApiService(self.core().front.service(behind).trust_callers())
    }
}

impl Replica {
    /// The replica as a tower service.
    #[must_use]
    pub fn service(&self) -> ApiService {
        let behind = Behind::Replica(Arc::clone(self.state()));
        ApiService(self.state().cache().front.service(behind).trust_callers())
    }
}

impl ApiService {
    /// The service of a controller, with all rights. It does not keep the server alive.
    #[cfg(feature = "actors")]
    pub(crate) fn for_actor(core: Arc<Core>, name: &str) -> Self {
        let front = core.front.clone();
        let actor = User::new(name).group(User::MASTERS);
        Self(front.service(Behind::Server { core, shared: None }).as_user(actor))
    }

    /// The same service as `user`. A `&str` is a user name.
    #[must_use]
    pub fn as_user(self, user: impl Into<User>) -> Self {
        Self(self.0.as_user(user))
    }

    #[cfg(feature = "listen")]
    pub(crate) async fn listen(
        &self,
        address: &str,
    ) -> Result<api_front::Listener, api_front::ListenError> {
        self.0.listen(address).await
    }

    #[cfg(feature = "tls")]
    pub(crate) async fn listen_tls(
        &self,
        address: &str,
        tls: &api_front::Tls,
    ) -> Result<api_front::Listener, api_front::ListenError> {
        self.0.listen_tls(address, tls).await
    }
}

impl fmt::Debug for ApiService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ApiService").field(&self.0).finish()
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

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Disconnected>> {
        Service::<Request<B>>::poll_ready(&mut self.0, context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.0.call(request)
    }
}
