//! The admin server. `collector` writes the metrics, `health` answers the probes, `debug` shows the
//! state.

mod collector;
mod debug;
pub(crate) mod error;
mod health;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::manager::view::View;
use collector::ManagerCollector;
use error::AdminError;
use health::{Readiness, livez, readyz};

/// The content type of OpenMetrics text.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves the metrics and health of a manager over HTTP, and your own metrics beside them.
///
/// The constructor binds the address, so a port in use fails before anything starts. The server
/// runs while the manager runs.
///
/// | path | answers 200 |
/// | --- | --- |
/// | `/metrics` | always; names as in client-go and controller-runtime, and lease-election |
/// | `/livez`, `/healthz` | unless a controller is stalled or the election is stuck, see below |
/// | `/debug` | always; queues, active runs, back-offs, parked keys, caches, leader as JSON |
/// | `/readyz` | when all caches are complete and all [checks](Self::readiness) pass, also on standbys |
///
/// A controller is stalled in two cases. Its line names the controller, the key and the run's age.
///
/// - Keys are ready, and every worker has been in one run for longer than the
///   [`progress_deadline`](crate::Controller::progress_deadline).
/// - A run goes on for that long after its time-out.
///
/// The check does not see a mapping that hangs, a watch that fails, or fewer hung runs than workers
/// without a time-out: `workqueue_longest_running_processor_seconds` shows those runs.
///
/// The election is stuck if:
///
/// - work still runs 20 s after its lease ran out,
/// - or the manager has waited for the work of an ended term for longer than a lease and 20 s. It
///   does not campaign before that work ends.
///
/// `/debug` lists at most 100 keys of a kind, and how many it omits; times are in milliseconds.
///
/// Plain HTTP without authentication: bind it to an address that only scrapers and probes reach.
pub struct AdminServer {
    /// At least one.
    listeners: Vec<Listener>,
    registry: Registry,
    checks: Vec<Readiness>,
}

/// A bound address, and what is served there.
struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    serves: Serves,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Serves {
    All,
    Metrics,
    Probes,
}

impl Listener {
    fn bind(address: SocketAddr, serves: Serves) -> Result<Self, AdminError> {
        let socket = TcpListener::bind(address).map_err(|error| AdminError { address, error })?;
        Self::on(socket, serves).map_err(|error| AdminError { address, error })
    }

    fn on(socket: TcpListener, serves: Serves) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(Self { socket, address, serves })
    }

    fn router(&self, shared: Arc<Shared>) -> Router {
        let mut router = Router::new();
        if self.serves != Serves::Probes {
            router = router.route("/metrics", get(metrics)).route("/debug", get(state));
        }
        if self.serves != Serves::Metrics {
            router = router
                .route("/livez", get(is_live))
                .route("/healthz", get(is_live))
                .route("/readyz", get(is_ready));
        }
        router.with_state(shared)
    }

    fn serve(self, shared: Arc<Shared>) -> Result<AbortHandle, AdminError> {
        let router = self.router(shared);
        let Self { socket, address, serves } = self;
        let socket = tokio::net::TcpListener::from_std(socket)
            .map_err(|error| AdminError { address, error })?;
        tracing::info!(%address, ?serves, "the admin server listens");
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(socket, router).await {
                tracing::error!(%error, "the admin server ended");
            }
        });
        Ok(task.abort_handle())
    }
}

impl AdminServer {
    /// Binds an address. Port 0 takes a free port, see [`local_addr`](Self::local_addr).
    ///
    /// # Errors
    ///
    /// [`AdminError`], which names the address.
    pub fn bind(address: SocketAddr) -> Result<Self, AdminError> {
        Ok(Self::with(vec![Listener::bind(address, Serves::All)?]))
    }

    /// Binds an address for `/metrics` and `/debug`, and one for the probes. `None` if there is
    /// neither.
    #[cfg(feature = "cli")]
    pub(crate) fn apart(
        metrics: Option<SocketAddr>,
        probes: Option<SocketAddr>,
    ) -> Result<Option<Self>, AdminError> {
        if let Some(address) = metrics.filter(|address| address.port() != 0 && metrics == probes) {
            return Self::bind(address).map(Some);
        }
        let metrics = metrics.map(|address| Listener::bind(address, Serves::Metrics));
        let probes = probes.map(|address| Listener::bind(address, Serves::Probes));
        let listeners = metrics.into_iter().chain(probes).collect::<Result<Vec<_>, _>>()?;
        Ok((!listeners.is_empty()).then(|| Self::with(listeners)))
    }

    fn with(listeners: Vec<Listener>) -> Self {
        Self { listeners, registry: Registry::default(), checks: Vec::new() }
    }

    #[cfg(all(test, feature = "cli"))]
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|listener| listener.address).collect()
    }

    /// Serves on a listener that is already bound.
    ///
    /// # Errors
    ///
    /// If it has no address or cannot be made non-blocking.
    pub fn on(listener: TcpListener) -> io::Result<Self> {
        Ok(Self::with(vec![Listener::on(listener, Serves::All)?]))
    }

    /// Adds your own metrics to the manager's. With an election, the manager's include
    /// lease-election's `ElectionMetrics`, with the name of the Lease.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Adds a readiness check. The process is ready when all caches are complete and all checks
    /// pass. An error is shown in one line behind `name`.
    ///
    /// The check is called at each request of `/readyz`, on a thread of the server: it must not
    /// block. A check that panics fails.
    #[must_use]
    #[doc(alias = "AddReadyzCheck")]
    pub fn readiness(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push(Readiness { name: name.into(), check: Box::new(check) });
        self
    }

    /// Returns the address that the server listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.listeners[0].address
    }

    /// Serves until the returned value is dropped.
    pub(crate) fn start(mut self, view: &View) -> Result<Serving, AdminError> {
        self.registry.register_collector(Box::new(ManagerCollector::new(view.clone())));
        #[cfg(feature = "election")]
        if let Some(elector) = &view.elector {
            lease_election::prometheus::ElectionMetrics::register(&mut self.registry)
                .watch(elector);
        }
        let shared =
            Arc::new(Shared { registry: self.registry, checks: self.checks, view: view.clone() });
        let mut serving = Serving { tasks: Vec::new() };
        for listener in self.listeners {
            serving.tasks.push(listener.serve(Arc::clone(&shared))?);
        }
        Ok(serving)
    }
}

impl fmt::Debug for AdminServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = self.listeners.iter().map(|listener| listener.address);
        let addresses: Vec<SocketAddr> = addresses.collect();
        f.debug_struct("AdminServer").field("addresses", &addresses).finish_non_exhaustive()
    }
}

/// The server's tasks. Aborted when dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    tasks: Vec<AbortHandle>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

struct Shared {
    registry: Registry,
    checks: Vec<Readiness>,
    view: View,
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &shared.registry) {
        Ok(()) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn state(State(shared): State<Arc<Shared>>) -> Response {
    let text = format!("{:#}\n", debug::state(&shared.view, Instant::now()));
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn is_live(State(shared): State<Arc<Shared>>) -> Response {
    livez(&shared.view)
}

async fn is_ready(State(shared): State<Arc<Shared>>) -> Response {
    readyz(&shared.view, &shared.checks)
}
