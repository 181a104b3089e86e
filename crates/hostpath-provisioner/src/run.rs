//! `run`: checks first, then the program until it is told to stop.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use kube::Client;
use lease_election::{KubeLeaseStore, LeaderElector};
use prometheus_client::registry::Registry;
use reconciler::{AdminServer, Report};

use crate::app::{Assembly, assemble};
use crate::check::{self, Patience};
use crate::cli::RunArgs;
use crate::config::Settings;
use crate::directory::Root;
use crate::events::Events;
use crate::input::InputError;
use crate::metrics::Metrics;
use crate::permissions::Permissions;

/// What is left to Events that wait when everything else has ended.
const EVENTS_GRACE: Duration = Duration::from_millis(500);
/// The longest one question about a permission may take.
const QUESTION_MAX: Duration = Duration::from_secs(5);

/// Why the program ended by itself.
#[derive(Debug)]
pub enum RunError {
    /// It was given something it cannot work with: exit status 2.
    Input(InputError),
    /// It failed later: exit status 1.
    Failed(String),
}

impl From<InputError> for RunError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Failed(why) => f.write_str(&why.replace(char::is_control, " ")),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs until `stop` completes; `started` is called once the checks have passed. `None` when the
/// stop came before that.
///
/// # Errors
/// [`RunError::Input`] when a check failed: then nothing was written and nothing is left running.
pub async fn run(
    args: &RunArgs,
    stop: impl Future<Output = ()> + Send,
    started: impl FnOnce(),
) -> Result<Option<Report>, RunError> {
    let settings = Settings::check(args)?;
    let permissions = Permissions::new(settings.election.namespace(), settings.election.name());
    let mut stop = pin!(stop);
    let ready = tokio::select! {
        biased;
        () = &mut stop => return Ok(None),
        ready = prepare(args, &settings, &permissions) => ready?,
    };
    started();
    // Once more: there was no log yet when the flags were checked.
    for warning in settings.election.warnings() {
        tracing::warn!(%warning, "the election's times");
    }
    let Ready { cluster, client, root, admin } = ready;
    if let Some(admin) = &admin {
        tracing::info!(metrics_addr = %admin.local_addr(), "serving metrics");
    }
    let mut registry = Registry::default();
    let metrics = Metrics::new(&settings.storage_class, &mut registry);
    permissions.register(&mut registry);
    let (events, writer) = Events::new(
        client.clone(),
        &settings.provisioner,
        settings.election.identity(),
        metrics.clone(),
    );
    let writer = tokio::spawn(writer);
    let failed = |error: &dyn fmt::Display| RunError::Failed(error.to_string());
    // A client of its own: renewals wait behind nobody's requests.
    let mut for_election = cluster;
    for_election.connect_timeout = Some(settings.election.request_timeout());
    let lease_client = permissions.client(for_election).map_err(|error| failed(&error))?;
    let store = KubeLeaseStore::new(lease_client, &settings.election);
    let elector = LeaderElector::new(store, settings.election.clone());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        identity = %settings.election.identity(),
        storage_class = %settings.storage_class,
        root = %root.path().display(),
        "started"
    );
    let asking = client.clone();
    let manager = assemble(Assembly {
        settings: &settings,
        client,
        elector: Some(elector),
        root,
        events,
        metrics,
        permissions: permissions.clone(),
        admin: admin.map(|admin| admin.registry(registry)),
    })
    .map_err(|error| failed(&error))?;
    let longest = settings.limits.api_timeout.min(QUESTION_MAX);
    let report = tokio::select! {
        biased;
        report = manager.run(stop) => report.map_err(|error| failed(&error)),
        never = permissions.keep(asking, longest) => match never {},
    };
    // Every place to leave Events is gone with the manager: the writer ends when it has written
    // what waits.
    let _ = tokio::time::timeout(EVENTS_GRACE, writer).await;
    report.map(Some)
}

/// What the checks yield.
struct Ready {
    cluster: kube::Config,
    client: Client,
    root: Root,
    admin: Option<AdminServer>,
}

/// Everything that can be wrong with what we were given, cheap things first. The root comes last:
/// it is the only one that is touched.
async fn prepare(
    args: &RunArgs,
    settings: &Settings,
    permissions: &Permissions,
) -> Result<Ready, InputError> {
    let cluster = check::kube_config(
        args.kubeconfig.as_deref(),
        args.context.as_deref(),
        settings.limits.api_timeout,
    )
    .await?;
    let admin = settings.metrics_addr.map(check::port).transpose()?;
    let root = open_root(&args.root)?;
    let client = permissions.client(cluster.clone()).map_err(|error| {
        InputError::new("kubeconfig", error, "check its certificates and address")
    })?;
    let url = check::shown_url(&cluster.cluster_url);
    let patience = Patience {
        whole: settings.connect_timeout,
        each: settings.limits.api_timeout.min(settings.connect_timeout / 3),
    };
    check::server(&client, &url, patience).await?;
    check::class(&client, &settings.storage_class, &settings.provisioner, patience).await?;
    let (probed, owner) = (root.clone(), settings.owner());
    tokio::task::spawn_blocking(move || check::root(&probed, &owner))
        .await
        .map_err(|error| InputError::new("--root", error, "give another folder"))??;
    Ok(Ready { cluster, client, root, admin })
}

fn open_root(path: &Path) -> Result<Root, InputError> {
    let bad = |wrong: &str| {
        Err(InputError::new(
            format!("--root {}", path.display()),
            wrong,
            "give the path of a folder",
        ))
    };
    if path.to_str().is_none() {
        return bad("the path is not UTF-8, which a volume could not say");
    }
    Root::new(path).or_else(|error| bad(&error.to_string()))
}
