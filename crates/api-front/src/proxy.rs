//! A front before any API server: its tokens, request log and faults, and another server's answers.

mod forward;
mod frames;

use crate::fault::{FaultPlan, Faults};
use crate::front::{Front, FrontBuilder};
use crate::listen::{ListenError, Listener};
use crate::request_log::RequestLog;
use crate::service::FrontService;
use kube::Client;
use std::collections::HashMap;
use std::fmt;

pub use forward::Upstream;

/// A proxy in front of an API server: it counts the requests of its users and makes them fail on
/// request.
///
/// It listens on plain HTTP on a loopback address, with one bearer token a user. A request that
/// passes the log and the faults goes on by the [`kube::Client`] of its user. That client has the
/// other server's address and certificates, and the user's rights there. Answers come back as they
/// are. Watches come event by event, so that a fault cuts them between two events or in the middle
/// of one. A fault that speaks of an applied request has it applied by the other server.
///
/// Requests that leave HTTP (`exec`, `attach`, `port-forward`) are answered 501, and an API server
/// that cannot be reached 503, each with a `Status` that says so. A cheap handle: clones share one
/// proxy.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use api_front::{Fault, FaultPlan, FaultProxy, Match, Rule};
/// # let server = tower::service_fn(async |_| {
/// #     Ok::<_, std::io::Error>(http::Response::new(kube::client::Body::empty()))
/// # });
/// # let client = kube::Client::new(server, "default");
///
/// // Any client will do: `Client::try_default()` for the cluster of your kubeconfig.
/// let proxy = FaultProxy::builder()
///     .user("alice", "a-secret", client)
///     .faults(FaultPlan::seeded(7).rule(Rule::new(Match::any().writes(), Fault::Conflict).percent(5)))
///     .build();
/// let listener = proxy.listen("127.0.0.1:0").await?;
/// let kubeconfig = proxy.kubeconfig(&listener.url(), "alice");
/// // Start the program under test with this kubeconfig ... and then:
/// assert_eq!(proxy.requests().by("alice").counts().requests, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "toxiproxy")]
pub struct FaultProxy {
    front: Front,
    upstream: Upstream,
}

impl FaultProxy {
    /// Sets up a proxy.
    pub fn builder() -> FaultProxyBuilder {
        FaultProxyBuilder::default()
    }

    /// The proxy as a tower service of HTTP requests, for use without a socket. Without
    /// [`as_user`](FrontService::as_user), a request needs a user's token.
    #[must_use]
    pub fn service(&self) -> FrontService<Upstream> {
        self.front.service(self.upstream.clone())
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
        self.service().listen(address).await
    }

    /// Every request that came, with counts.
    #[must_use]
    pub fn requests(&self) -> RequestLog {
        self.front.requests()
    }

    /// The faults in force, to look at and to change.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.front.faults()
    }

    /// A kubeconfig (YAML) with which kube, client-go and kubectl reach the proxy at `url` as
    /// `user`. It holds the user's token for the proxy: write it where only its reader can read
    /// it.
    #[must_use]
    pub fn kubeconfig(&self, url: &str, user: &str) -> String {
        self.front.kubeconfig(url, user)
    }
}

/// Sets up a [`FaultProxy`]; from [`FaultProxy::builder`].
#[derive(Clone, Default)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct FaultProxyBuilder {
    front: FrontBuilder,
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
        self.front = self.front.token(user, token);
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
        self.front = self.front.faults(plan);
        self
    }

    /// How many entries the request log keeps (default 65536, at least 1). Its counters never drop.
    pub fn request_log_capacity(mut self, entries: usize) -> Self {
        self.front = self.front.request_log_capacity(entries);
        self
    }

    /// Whether other processes may read the request log and change the faults under `/embedded/`,
    /// as with [`FrontBuilder::introspection`] (default `false`).
    pub fn introspection(mut self, introspection: bool) -> Self {
        self.front = self.front.introspection(introspection);
        self
    }

    /// Whether a listener may be given an address that other machines can reach (default `false`).
    /// There is no transport security in front: the users' tokens can be read on the way.
    pub fn allow_non_loopback(mut self, allow: bool) -> Self {
        self.front = self.front.allow_non_loopback(allow);
        self
    }

    /// Builds the proxy. Without a user it answers 401 to all requests.
    #[must_use]
    pub fn build(self) -> FaultProxy {
        FaultProxy { front: self.front.build(), upstream: Upstream::new(self.clients) }
    }
}
