//! Roles: the sides in Rust, each as the program of a user: our controller, kube-runtime's, and
//! kube's client with a watch and nothing else.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::runtime::{Controller as KubeController, controller, watcher};
use kube::{Api, Client};
use reconciler::{Action, Context, Controller, Failure, Manager, ObjectReconciler};
use rivals::cluster;

use crate::seen::{Mode, Seen, monotonic};
use crate::tell;

/// Whose controller it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    /// This repository's
    Ours,
    /// kube-runtime's
    Kube,
    /// A watch of kube's client
    Bare,
}

/// A controller of ConfigMaps, until the standard input ends.
#[derive(Debug, Args)]
pub(crate) struct Side {
    who: Who,
    /// A URL, or the path of a kubeconfig
    server: String,
    /// 0: as many as it has by default
    workers: u16,
    mode: Mode,
    /// How many objects there are
    expected: u64,
}

/// Runs a side on a runtime as tokio makes it by default.
pub(crate) fn run(side: &Side) -> Result<()> {
    let seen = Seen::new(side.mode, side.expected, |at| tell(&format!("run {at}")));
    let answering = Arc::clone(&seen);
    std::thread::spawn(move || {
        answering.answer();
        std::process::exit(0)
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let config = if side.server.starts_with("http:") {
            kube::Config::new(side.server.parse().context("no URL")?)
        } else {
            cluster(&side.server).await?
        };
        let client = Client::try_from(config)?;
        control(side.who, client, side.workers, seen).await
    })
}

/// Runs one of the controllers for ever.
pub(crate) async fn control(who: Who, client: Client, workers: u16, seen: Arc<Seen>) -> Result<()> {
    let maps = Api::<ConfigMap>::all(client);
    match who {
        Who::Ours => {
            let mut manager = Manager::builder().build()?;
            let cache = manager.cache(maps);
            let mut controller = Controller::new("maps", &cache, Ours(seen));
            if workers > 0 {
                controller = controller.workers(workers.into());
            }
            manager.add(controller);
            manager.run(std::future::pending()).await?;
        }
        Who::Kube => {
            let config = controller::Config::default().concurrency(workers);
            let running = KubeController::new(maps, watcher::Config::default())
                .with_config(config)
                .run(theirs, |_, _, _| controller::Action::await_change(), seen)
                .for_each(|_| std::future::ready(()));
            tokio::spawn(running).await?;
        }
        Who::Bare => {
            let listed = maps.list(&ListParams::default().limit(1)).await?;
            let version = listed.metadata.resource_version.context("a list without a version")?;
            let mut events = maps.watch(&WatchParams::default(), &version).await?.boxed();
            tell(&format!("reached {} 0 0", monotonic()));
            while let Some(event) = events.try_next().await? {
                if let WatchEvent::Modified(map) = event {
                    seen.run(&map).await;
                }
            }
        }
    }
    Ok(())
}

struct Ours(Arc<Seen>);

impl ObjectReconciler for Ours {
    type Object = ConfigMap;

    async fn reconcile(&self, map: &ConfigMap, _: &Context<ConfigMap>) -> Result<Action, Failure> {
        let again = self.0.run(map).await;
        Ok(if again { Action::requeue(Duration::ZERO) } else { Action::await_change() })
    }
}

async fn theirs(map: Arc<ConfigMap>, seen: Arc<Seen>) -> Result<controller::Action, Infallible> {
    use controller::Action;
    let again = seen.run(&map).await;
    Ok(if again { Action::requeue(Duration::ZERO) } else { Action::await_change() })
}
