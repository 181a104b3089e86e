//! The state of a server: the front, and the API behind it.

use std::sync::Arc;

use api_front::Front;
use parking_lot::RwLock;
use serde_json::json;

use crate::api::clock::Clock;
use crate::handler::Handler;
use crate::rest::{ApiState, Options, create_object};
use crate::strategy::registry::Registry;

/// The state of a server, shared by its handles, clients, connections and actors.
#[derive(Debug)]
pub(crate) struct Core {
    /// Users, request log and faults.
    pub(crate) front: Front,
    pub(crate) handler: Handler,
}

impl Core {
    pub(crate) fn new(options: Options, front: Front, clock: Clock, rng: fastrand::Rng) -> Self {
        let registry = Arc::new(RwLock::new(Registry::with_builtin_kinds()));
        let api = ApiState::new(options, registry, clock, front.clone(), rng);
        Self { front, handler: Handler::new(api) }
    }

    pub(crate) const fn api(&self) -> &Arc<ApiState> {
        &self.handler.api
    }

    /// A core with the same kinds and users, and its own store, log and faults.
    pub(crate) fn beside(&self) -> Self {
        let api = self.api();
        let front = self.front.for_replica();
        let (options, registry) = (api.options.clone(), Arc::clone(&api.registry));
        // Writes go to the other store, so this one needs no random numbers.
        let rng = fastrand::Rng::with_seed(0);
        let api = ApiState::new(options, registry, api.clock.clone(), front.clone(), rng);
        Self { front, handler: Handler::new(api) }
    }

    /// Creates the namespaces of every cluster and the configured ones. Skips an invalid name: the
    /// first request to it reports the error.
    pub(crate) fn create_namespaces(&self, more: Vec<String>) {
        let api = self.api();
        let Some(kind) = api.registry.read().find("", "v1", "namespaces") else { return };
        let always =
            ["default", "kube-node-lease", "kube-public", "kube-system"].map(str::to_owned);
        for name in always.into_iter().chain(more) {
            let object = json!({ "metadata": { "name": name } });
            if let Err(refused) = create_object(api, &kind, None, object) {
                tracing::debug!(namespace = %name, ?refused, "a namespace was not created at start");
            }
        }
    }
}
