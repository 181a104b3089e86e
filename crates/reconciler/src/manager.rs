//! `Manager`: runs the caches, controllers and leader tasks of one program, in order. `builder` has
//! its settings, `lead` its terms of leadership, `view` what the admin server sees of it.

#[cfg(feature = "cli")]
pub(crate) mod flags;
pub(crate) mod leader_task;
pub(crate) mod signal;
mod builder;
mod lead;
#[cfg(feature = "election")]
mod leftover;
mod settings;
pub(crate) mod view;

use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use kube::Api;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use builder::ManagerBuilder;
use view::{View, WatchView};

use crate::cache::{CacheId, Complete, Watches};
use crate::controller::Managed;
use crate::hostile::{let_go, loggable};
use crate::manager::leader_task::{LeaderTask, NamedTask};
use crate::requests::Requests;
use crate::{
    BoxError, Cache, CacheConfig, Controller, Kind, ManagerError, Reconciler, Report, SyncTimeout,
};
use settings::Settings;

/// Runs the controllers of a program.
///
/// At the start the caches are filled first. Then the election runs, if there is one, and then the
/// workers start. A controller whose caches cannot be filled, because a definition or a permission
/// is missing, waits for it alone: the log, `/readyz` and a metric name what it waits for. Leader
/// tasks wait for all caches. At a stop no new run starts, active runs are cancelled, and runs that
/// outlast the grace are dropped. Then the lease is released, and the caches stop.
///
/// A lost lease stops the workers after a short grace. The manager waits without a limit for all
/// work of the old term, and then campaigns again: the process does not exit. It campaigns at once
/// after a lost lease, and one retry period after a `step_down`. After a term that was lost
/// within a retry period the pause doubles, from a retry period to the lease. A stop ends the
/// pause. During the wait and the pause a coordinated candidate does not stand, so that others
/// lead.
///
/// See the [crate's page](crate) for a whole program.
#[must_use = "a manager does nothing until it runs"]
pub struct Manager {
    settings: Settings,
    watches: Vec<Box<dyn Watched>>,
    controllers: Vec<Arc<dyn Managed>>,
    tasks: Vec<(Arc<str>, Arc<NamedTask>)>,
    /// Those of every replica.
    replica_tasks: Vec<Arc<NamedTask>>,
    requests: Requests,
    #[cfg(feature = "election")]
    leftover: leftover::Leftover,
}

/// A cache of any kind, with its watch.
pub(crate) trait Watched: Send + Sync {
    fn start(&mut self, tasks: &mut JoinSet<()>);
    fn synced(&self, longest: Duration) -> BoxFuture<'_, Result<(), SyncTimeout>>;
    /// Completes when the first list is complete or has failed.
    fn settled(&self) -> BoxFuture<'_, ()>;
    fn complete(&self) -> Arc<dyn Complete>;
    fn view(&self) -> Arc<dyn WatchView>;
    /// Why the cache cannot be watched as configured.
    fn unfit(&self) -> Option<&str>;
}

struct OneWatch<K> {
    cache: Cache<K>,
    watch: Option<Watches<K>>,
}

impl<K: Kind> Watched for OneWatch<K> {
    fn start(&mut self, tasks: &mut JoinSet<()>) {
        if let Some(watch) = self.watch.take() {
            tasks.spawn(watch.run());
        }
    }

    fn synced(&self, longest: Duration) -> BoxFuture<'_, Result<(), SyncTimeout>> {
        self.cache.await_synced_within(longest).boxed()
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        self.cache.await_settled().boxed()
    }

    fn complete(&self) -> Arc<dyn Complete> {
        Arc::new(self.cache.clone())
    }

    fn view(&self) -> Arc<dyn WatchView> {
        Arc::new(self.cache.clone())
    }

    fn unfit(&self) -> Option<&str> {
        self.cache.unfit()
    }
}

impl Manager {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            watches: Vec::new(),
            controllers: Vec::new(),
            tasks: Vec::new(),
            replica_tasks: Vec::new(),
            requests: Requests::default(),
            #[cfg(feature = "election")]
            leftover: leftover::Leftover::default(),
        }
    }

    /// Adds a cache of all objects that `api` covers, in all namespaces or in one. For several see
    /// [`CacheConfig::namespaces`]. Its clones share one watch: give them to every controller and
    /// reconciler that reads this kind.
    #[doc(alias = "GetInformer")]
    pub fn cache<K: Kind>(&mut self, api: Api<K>) -> Cache<K> {
        self.cache_with(api, CacheConfig::new())
    }

    /// As [`cache`](Self::cache), with indexes, selectors, a transform or a
    /// [name](CacheConfig::named). A second cache of one kind needs its own name.
    pub fn cache_with<K: Kind>(&mut self, api: Api<K>, config: CacheConfig<K>) -> Cache<K> {
        let cache = Cache::new(api, config);
        let watch = Some(Watches::new(&cache));
        self.watches.push(Box::new(OneWatch { cache: cache.clone(), watch }));
        cache
    }

    /// Adds a controller. Its sources must come from this manager's caches.
    #[doc(alias = "Add")]
    pub fn add<R: Reconciler>(&mut self, controller: Controller<R>) {
        self.controllers.push(Arc::new(controller));
    }

    /// Adds a task that runs beside the controllers in each term. It starts with the workers, and
    /// is cancelled and joined with them. A task that fails or panics runs again after a growing
    /// pause. A task that returns `Ok` does not run again before the next term.
    #[doc(alias = "Runnable")]
    pub fn leader_task<F, Fut>(&mut self, name: impl Into<Arc<str>>, task: F)
    where
        F: Fn(LeaderTask) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let name = name.into();
        self.tasks.push((Arc::clone(&name), Arc::new(NamedTask::new(name, task))));
    }

    /// Adds a task that runs on every replica, whether it leads or not. It starts when each cache
    /// is complete or its list has failed. A task that fails or panics runs again after a growing
    /// pause, and ends with `Ok`.
    ///
    /// At the stop it is cancelled through its token when the workers have ended, and dropped after
    /// one more [grace](ManagerBuilder::grace).
    #[doc(alias = "NeedLeaderElection")]
    pub fn task<F, Fut>(&mut self, name: impl Into<Arc<str>>, task: F)
    where
        F: Fn(CancellationToken) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let task = move |context: LeaderTask| task(context.cancellation().clone());
        self.replica_tasks.push(Arc::new(NamedTask::new(name.into(), task)));
    }

    /// Returns a client of this server. `/metrics` counts its requests, and an error of its
    /// connection names the server's address. A request that kube's client repeats counts once.
    ///
    /// # Errors
    ///
    /// If the certificates or credentials cannot be used.
    pub fn client(&self, server: kube::Config) -> kube::Result<kube::Client> {
        self.requests.client(server)
    }

    /// Runs until `shutdown` completes, then stops in order.
    ///
    /// # Errors
    ///
    /// Returns a [`ManagerError`] before the workers start if:
    ///
    /// - a name is invalid or used twice,
    /// - a cache has namespaces that cannot be watched ([`CacheConfig::namespaces`]),
    /// - a controller has a limit out of range, no source, or a source of another manager's cache,
    /// - the admin server cannot start,
    /// - a cache is not complete in the time of [`ManagerBuilder::require_synced_within`].
    ///
    /// After that, only `shutdown` or a stop of the elector ends the run.
    ///
    /// # Panics
    ///
    /// If `shutdown` panics. Panics in reconcilers, sources, mappings and tasks are caught.
    ///
    /// # Cancel safety
    ///
    /// A dropped future aborts the workers and the caches. With an election the term winds up in
    /// the background, and then the lease is released.
    #[doc(alias = "Start")]
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) -> Result<Report, ManagerError> {
        let stop = CancellationToken::new();
        let ended = {
            let running = pin!(self.run_until(stop.clone()));
            let stopping = async {
                shutdown.await;
                stop.cancel();
                std::future::pending().await
            };
            tokio::select! {
                biased;
                ended = running => ended,
                never = stopping => never,
            }
        };
        self.let_go();
        ended
    }

    /// Drops the user's values. A panic in a destructor must not lose the report.
    fn let_go(self) {
        let Self { settings, watches, controllers, tasks, replica_tasks, .. } = self;
        controllers.into_iter().for_each(let_go);
        tasks.into_iter().for_each(let_go);
        replica_tasks.into_iter().for_each(let_go);
        watches.into_iter().for_each(let_go);
        let_go(settings);
    }

    async fn run_until(&mut self, stop: CancellationToken) -> Result<Report, ManagerError> {
        let began = Instant::now();
        self.check_names()?;
        self.check_sources()?;
        let view = self.view();
        #[cfg(feature = "admin")]
        let _admin = match self.settings.admin.take() {
            Some(admin) => Some(admin.start(&view).map_err(ManagerError::Admin)?),
            None => None,
        };
        // Aborted when this future ends or is dropped: after the workers, because runs read the
        // caches until they end.
        let mut watching = JoinSet::new();
        for watch in &mut self.watches {
            watch.start(&mut watching);
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            settled = self.settled() => settled?,
        }
        tracing::debug!(?view, "the caches are complete, or their lists have failed");
        let mut report = if stop.is_cancelled() {
            Report::default()
        } else {
            self.lead_beside_tasks(&stop).await
        };
        watching.shutdown().await;
        report.controllers =
            view.controllers.iter().map(|controller| controller.report()).collect();
        tracing::info!(terms = report.terms, ran = ?began.elapsed(), stop_took = ?report.stop_took, "stopped");
        Ok(report)
    }

    /// Waits until each cache is complete or its list has failed. With a limit, until all are
    /// complete.
    async fn settled(&self) -> Result<(), ManagerError> {
        let Some(longest) = self.settings.synced_within else {
            join_all(self.watches.iter().map(|watch| watch.settled())).await;
            return Ok(());
        };
        let synced = join_all(self.watches.iter().map(|watch| watch.synced(longest))).await;
        let late: Vec<SyncTimeout> = synced.into_iter().filter_map(Result::err).collect();
        if late.is_empty() { Ok(()) } else { Err(ManagerError::CacheSync(late)) }
    }

    fn check_names(&self) -> Result<(), ManagerError> {
        let mut known = HashSet::new();
        let controllers = self.controllers.iter().map(|controller| controller.name());
        let tasks = self.tasks.iter().map(|(name, _)| &**name);
        let replica_tasks = self.replica_tasks.iter().map(|task| task.name());
        for name in controllers.chain(tasks).chain(replica_tasks) {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if name.is_empty() || name.len() > 63 || !name.chars().all(fits) {
                return Err(ManagerError::BadName { name: loggable(name) });
            }
            if !known.insert(name) {
                return Err(ManagerError::DuplicateName { name: name.into() });
            }
        }
        let mut known = HashSet::new();
        for watch in &self.watches {
            let view = watch.view();
            if let Some(why) = watch.unfit() {
                let (cache, why) = (view.name().into(), why.into());
                return Err(ManagerError::BadNamespaces { cache, why });
            }
            if !known.insert(view.name().to_owned()) {
                return Err(ManagerError::DuplicateCache { name: view.name().into() });
            }
        }
        Ok(())
    }

    /// Refuses a controller that can never get a key.
    fn check_sources(&self) -> Result<(), ManagerError> {
        let own: HashSet<CacheId> =
            self.watches.iter().map(|watch| watch.complete().id()).collect();
        for controller in &self.controllers {
            controller.check_limits()?;
            let name = || controller.name().into();
            if !controller.has_sources() {
                return Err(ManagerError::NoSource { controller: name() });
            }
            let foreign =
                controller.caches().into_iter().find(|(_, cache)| !own.contains(&cache.id()));
            if let Some((source, _)) = foreign {
                return Err(ManagerError::ForeignCache { controller: name(), source });
            }
        }
        Ok(())
    }

    fn view(&self) -> View {
        View {
            controllers: self.controllers.iter().map(Arc::clone).collect(),
            watches: self.watches.iter().map(|watch| watch.view()).collect(),
            requests: self.requests.clone(),
            #[cfg(feature = "election")]
            elector: self.settings.elector.clone(),
            #[cfg(feature = "election")]
            leftover: self.leftover.clone(),
        }
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let controllers: Vec<&str> =
            self.controllers.iter().map(|controller| controller.name()).collect();
        f.debug_struct("Manager")
            .field("settings", &self.settings)
            .field("caches", &self.watches.len())
            .field("controllers", &controllers)
            .finish_non_exhaustive()
    }
}

/// Waits for tracked work of ended runs, at most this long. Returns how many tasks still run.
async fn settle(tracker: &TaskTracker, longest: Option<Duration>) -> usize {
    tracker.close();
    match longest {
        None => tracker.wait().await,
        Some(longest) => {
            let _ = tokio::time::timeout(longest, tracker.wait()).await;
        }
    }
    tracker.len()
}
