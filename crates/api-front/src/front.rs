//! A front: the users, the log and the faults that stand before one API server.

use crate::clock::Clock;
use crate::fault::{FaultPlan, Faults, assert_checked};
use crate::kubeconfig::kubeconfig;
use crate::request_log::{DEFAULT_CAPACITY, RequestLog};
use crate::tokens::Tokens;
use crate::user::User;
use std::sync::Arc;

/// The users, the request log and the faults before one API server. A cheap handle: clones are one
/// front.
///
/// [`service`](Self::service) puts it before a [`Backend`](crate::Backend). `FaultProxy` puts one
/// before any other API server.
///
/// ```
/// use api_front::{Backend, Body, Fault, FaultPlan, Front, Match, Rule, Verb};
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Empty;
/// use tower::ServiceExt;
///
/// /// Answers each request with an empty object.
/// #[derive(Clone)]
/// struct Server;
///
/// impl Backend for Server {
///     async fn answer(&self, _: Request<Bytes>) -> Response<Body> {
///         Response::new(Body::full("{}"))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let conflict = Rule::new(Match::any().verb(Verb::Update), Fault::Conflict).calls(2..=2);
/// let front = Front::builder().faults(FaultPlan::none().rule(conflict)).build();
/// let server = front.service(Server).as_user("alice");
/// for status in [200, 409, 200] {
///     let update = Request::put("/api/v1/namespaces/a/pods/p").body(Empty::<Bytes>::new())?;
///     assert_eq!(server.clone().oneshot(update).await?.status(), status);
/// }
/// front.requests().writes_to("pods").by("alice").assert_exactly(3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Front(Arc<Parts>);

/// What the clones of a front share.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) log: RequestLog,
    pub(crate) tokens: Tokens,
    pub(crate) faults: Faults,
    pub(crate) introspection: bool,
    /// Whether a listener may be reached from other machines.
    pub(crate) allow_non_loopback: bool,
}

impl Front {
    /// Sets up a front.
    pub fn builder() -> FrontBuilder {
        FrontBuilder::default()
    }

    /// Every request that came, with counts.
    #[must_use]
    pub fn requests(&self) -> RequestLog {
        self.0.log.clone()
    }

    /// The faults in force, to look at and to change.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.0.faults.clone()
    }

    /// The user of a bearer token.
    #[must_use]
    pub fn user_of(&self, token: &str) -> Option<&User> {
        self.0.tokens.user_of(token)
    }

    /// A kubeconfig (YAML) with which kube, client-go and kubectl reach the front at `url` as
    /// `user`, with the token of that user if it has one. It holds the token: write it where only
    /// its reader can read it.
    #[must_use]
    pub fn kubeconfig(&self, url: &str, user: &str) -> String {
        self.kubeconfig_with(url, user, None)
    }

    /// `authority`: the certificate to trust, as PEM.
    pub(crate) fn kubeconfig_with(&self, url: &str, user: &str, authority: Option<&str>) -> String {
        kubeconfig(url, user, self.0.tokens.token_of(user), authority)
    }

    /// A front for a replica of the server: the same users, switches and clock, a log of its own,
    /// and no faults yet.
    #[must_use]
    pub fn for_replica(&self) -> Self {
        let parts = &*self.0;
        FrontBuilder {
            tokens: parts.tokens.clone(),
            introspection: parts.introspection,
            allow_non_loopback: parts.allow_non_loopback,
            clock: Some(parts.log.clock()),
            ..FrontBuilder::default()
        }
        .build()
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.0
    }
}

/// Sets up a [`Front`]; from [`Front::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct FrontBuilder {
    tokens: Tokens,
    faults: FaultPlan,
    request_log_capacity: usize,
    introspection: bool,
    allow_non_loopback: bool,
    clock: Option<Clock>,
}

impl Default for FrontBuilder {
    fn default() -> Self {
        Self {
            tokens: Tokens::default(),
            faults: FaultPlan::none(),
            request_log_capacity: DEFAULT_CAPACITY,
            introspection: false,
            allow_non_loopback: false,
            clock: None,
        }
    }
}

impl FrontBuilder {
    /// A bearer token and its user (a `&str` will do). A token that is given twice has its last
    /// user. Without any token, requests over a socket are made by `system:anonymous`. With one,
    /// requests that carry no token or a wrong one are answered 401.
    pub fn token(mut self, user: impl Into<User>, token: impl Into<String>) -> Self {
        self.tokens.insert(user.into(), token.into());
        self
    }

    /// Whether a request without credentials is made by `system:anonymous` although there are
    /// tokens (default `false`): for a server that authorizes requests itself.
    pub fn admit_anonymous(mut self, admit: bool) -> Self {
        self.tokens.admit_anonymous = admit;
        self
    }

    /// The faults in force from the start (default: none). [`Front::faults`] changes them later.
    ///
    /// # Panics
    ///
    /// A rule names a resource that no API server has, and would never fire: see
    /// [`FaultPlan::check`].
    #[track_caller]
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        assert_checked(&plan);
        self.faults = plan;
        self
    }

    /// How many entries the request log keeps (default 65536, at least 1). Its counters never drop.
    pub fn request_log_capacity(mut self, entries: usize) -> Self {
        self.request_log_capacity = entries;
        self
    }

    /// Whether other processes may read the request log and change the faults under `/embedded/`
    /// (default `false`): `GET /embedded/healthz`, `GET /embedded/requests`, `GET` and `PUT
    /// /embedded/faults`. These requests are neither logged nor faulted.
    pub fn introspection(mut self, introspection: bool) -> Self {
        self.introspection = introspection;
        self
    }

    /// Whether a listener may have an address that other machines can reach (default `false`).
    /// Without TLS the users' tokens can be read on the way.
    pub fn allow_non_loopback(mut self, allow: bool) -> Self {
        self.allow_non_loopback = allow;
        self
    }

    /// The clock of the request log (default: [`Clock::starting_now`]).
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Builds the front.
    #[must_use]
    pub fn build(self) -> Front {
        let clock = self.clock.unwrap_or_else(Clock::starting_now);
        Front(Arc::new(Parts {
            log: RequestLog::new(self.request_log_capacity, clock),
            tokens: self.tokens,
            faults: Faults::new(self.faults),
            introspection: self.introspection,
            allow_non_loopback: self.allow_non_loopback,
        }))
    }
}
