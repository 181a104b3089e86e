//! A front before any API server: the embedded server's tokens, request log and faults, and another
//! server's answers.

mod forward;
mod frames;

use crate::clock::{self, Clock};
use crate::fault::{FaultPlan, Faults};
use crate::identity::User;
use crate::listen::{ListenError, Listener};
use crate::pipeline::{Pipeline, Settings};
use crate::request_log::RequestLog;
use crate::service::ApiService;
use kube::Client;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A proxy in front of an API server, which counts the requests of its users and makes them fail on
/// request.
///
/// It listens as the embedded server does: plain HTTP on a loopback address, one bearer token a
/// user. What passes the log and the faults goes on by the [`kube::Client`] of that user, so the
/// other server's address, its certificates and the user's rights there are that client's affair.
/// Its answers come back as they are; watches come event by event, so that a fault cuts them
/// between two or in the middle of one. A fault that speaks of an applied request has it applied by
/// the other server.
///
/// Requests that leave HTTP (`exec`, `attach`, `port-forward`) are answered 501, and an API server
/// that cannot be reached 503, each with a `Status` that says so. A cheap handle: clones share one
/// proxy.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, FaultProxy, Match, Rule};
///
/// // Any client will do: `Client::try_default()` for the cluster of your kubeconfig.
/// let behind = EmbeddedApiServer::new().client_as("alice");
/// let proxy = FaultProxy::builder()
///     .user("alice", "a-secret", behind)
///     .faults(FaultPlan::seeded(7).rule(Rule::new(Match::any().writes(), Fault::Conflict).percent(5)))
///     .build();
/// let listener = proxy.listen("127.0.0.1:0").await?;
/// let kubeconfig = proxy.kubeconfig(&listener.url(), "alice");
/// // Start what is to be tested with this kubeconfig ... and then:
/// assert_eq!(proxy.requests().by("alice").counts().requests, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "toxiproxy")]
pub struct FaultProxy(Arc<Upstream>);

/// What stands in front, and who goes where behind.
pub(crate) struct Upstream {
    pub(crate) pipeline: Pipeline,
    clients: HashMap<String, Client>,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut users: Vec<_> = self.clients.keys().collect();
        users.sort();
        f.debug_struct("Upstream").field("users", &users).field("pipeline", &self.pipeline).finish()
    }
}

impl FaultProxy {
    /// Sets up a proxy.
    pub fn builder() -> FaultProxyBuilder {
        FaultProxyBuilder::default()
    }

    /// The proxy as a tower service of HTTP requests, for use without a socket. Without
    /// [`as_user`](ApiService::as_user), a request needs a user's token.
    #[must_use]
    pub fn service(&self) -> ApiService {
        ApiService::before(Arc::clone(&self.0))
    }

    /// A client in this process whose requests pass the proxy in the name of `user`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[must_use]
    pub fn client_as(&self, user: &str) -> Client {
        Client::new(self.service().as_user(user), "default")
    }

    /// Listens on a loopback address (`127.0.0.1:0` lets the system choose the port) until the
    /// [`Listener`] is shut down or dropped.
    ///
    /// # Errors
    ///
    /// [`ListenError`] if the address is unusable, not a loopback address, or in use.
    ///
    /// # Cancel safety
    ///
    /// Nothing listens if the future is dropped.
    pub async fn listen(&self, address: &str) -> Result<Listener, ListenError> {
        Listener::open(self.service(), address).await
    }

    /// Every request that came, with counts.
    #[must_use]
    pub fn requests(&self) -> RequestLog {
        self.0.pipeline.log.clone()
    }

    /// The faults in force, to look at and to change.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.0.pipeline.faults.clone()
    }

    /// A kubeconfig (YAML) with which kube, client-go and kubectl reach the proxy at `url` as
    /// `user`. It holds the user's token for the proxy: write it where only its reader can read
    /// it.
    #[must_use]
    pub fn kubeconfig(&self, url: &str, user: &str) -> String {
        crate::kubeconfig::kubeconfig(url, user, self.0.pipeline.tokens.token_of(user), None)
    }
}

/// Sets up a [`FaultProxy`]; from [`FaultProxy::builder`].
#[derive(Clone, Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct FaultProxyBuilder {
    front: Settings,
    clients: HashMap<String, Client>,
}

impl fmt::Debug for FaultProxyBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultProxyBuilder").field("front", &self.front).finish_non_exhaustive()
    }
}

impl FaultProxyBuilder {
    /// A user: the name in the request log and for fault plans, the token that stands for it here,
    /// and the client by which its requests go on. Users may share a client. A user that is
    /// named again keeps its tokens and gets the new client.
    ///
    /// Build the client from a `kube::Config` with `default_retry = false`; otherwise it tries
    /// again by itself after some answers (429, 503, 504), which the proxy's users then never
    /// see.
    pub fn user(mut self, user: &str, token: impl Into<String>, client: Client) -> Self {
        self.front.tokens.insert(User::new(user), token.into());
        self.clients.insert(user.to_owned(), client);
        self
    }

    /// The faults in force from the start (default: none). [`FaultProxy::faults`] changes them
    /// later.
    ///
    /// # Panics
    ///
    /// A rule names a resource that no API server has, and would never fire: see
    /// [`FaultPlan::check`].
    #[track_caller]
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        self.front.set_faults(plan);
        self
    }

    /// How many entries the request log keeps (default 65536, at least 1). Its counters never drop.
    pub const fn request_log_capacity(mut self, entries: usize) -> Self {
        self.front.request_log = entries;
        self
    }

    /// Whether other processes may read the request log and change the faults under `/embedded/`,
    /// as with [`Builder::introspection`](crate::Builder::introspection) (default `false`).
    pub const fn introspection(mut self, introspection: bool) -> Self {
        self.front.introspection = introspection;
        self
    }

    /// Whether a listener may be given an address that other machines can reach (default `false`).
    /// There is no transport security in front: the users' tokens can be read on the way.
    pub const fn allow_non_loopback(mut self, allow: bool) -> Self {
        self.front.allow_non_loopback = allow;
        self
    }

    /// Builds the proxy. Without a user it answers 401 to everybody.
    #[must_use]
    pub fn build(self) -> FaultProxy {
        let pipeline = self.front.build(Clock::starting_at(clock::wall_now()));
        FaultProxy(Arc::new(Upstream { pipeline, clients: self.clients }))
    }
}
