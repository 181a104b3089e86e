//! The lifetime of the server's controllers: the first external request starts them, the last
//! handle stops them. [`kinds`] follows the served kinds.

pub(crate) mod backoff;
pub(crate) mod kinds;

use crate::controllers::{garbage_collector, namespace_lifecycle};
use crate::rest::ApiState;
use kinds::Kinds;
use kube::Client;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The enabled controllers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    pub(crate) garbage_collector: bool,
    pub(crate) namespace_lifecycle: bool,
}

#[derive(Debug, Clone, Copy)]
enum Actor {
    GarbageCollector,
    NamespaceLifecycle,
}

/// The enabled controllers, each with its task if it runs.
#[derive(Debug)]
pub(crate) struct Actors(Mutex<Vec<(Actor, Option<JoinHandle<()>>)>>);

impl Actors {
    pub(crate) fn new(wanted: Wanted) -> Self {
        let all = [
            (wanted.garbage_collector, Actor::GarbageCollector),
            (wanted.namespace_lifecycle, Actor::NamespaceLifecycle),
        ];
        let wanted = all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, actor)| (actor, None));
        Self(Mutex::new(wanted.collect()))
    }

    /// Starts the controllers that do not run: at the first request, and again after their runtime
    /// has ended. Does nothing outside of a tokio runtime; kube's clients need one anyway.
    pub(crate) fn start(&self, api: &Arc<ApiState>, client: impl Fn(&str) -> Client) {
        for (actor, task) in self.0.lock().iter_mut() {
            if task.as_ref().is_some_and(|task| !task.is_finished()) {
                continue;
            }
            let Ok(runtime) = Handle::try_current() else { return };
            *task = Some(actor.start(api, &client, &runtime));
        }
    }
}

impl Actor {
    fn start(
        self,
        api: &Arc<ApiState>,
        client: impl Fn(&str) -> Client,
        runtime: &Handle,
    ) -> JoinHandle<()> {
        match self {
            Self::GarbageCollector => {
                let (client, kinds) = (client(garbage_collector::USER), Kinds::of(api));
                runtime.spawn(async move { garbage_collector::run(client, kinds).await })
            }
            Self::NamespaceLifecycle => {
                let (client, kinds) = (client(namespace_lifecycle::USER), Kinds::of(api));
                runtime.spawn(async move { namespace_lifecycle::run(client, kinds).await })
            }
        }
    }
}

impl Drop for Actors {
    fn drop(&mut self) {
        for (_, task) in self.0.get_mut() {
            if let Some(task) = task.take() {
                task.abort();
            }
        }
    }
}
