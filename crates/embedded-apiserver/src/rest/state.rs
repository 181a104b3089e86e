//! The state that requests for objects share.

use std::sync::Arc;
use std::time::Duration;

use api_front::Front;
use parking_lot::{Mutex, RwLock};

use crate::access::{AccountTokens, Authorizer};
use crate::admission::Hooks;
use crate::admission::policies::Policies;
use crate::admission::webhooks::Registrations;
use crate::api::clock::Clock;
use crate::store::Store;
use crate::store::state::Window;
use crate::strategy::AllocationCounts;
use crate::strategy::registry::Registry;
use crate::webhook::Webhooks;

/// Switches that are fixed for the life of a server.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The history that each table keeps.
    pub(crate) history: Window,
    pub(crate) bookmark_interval: Duration,
    pub(crate) check_namespaces: bool,
    /// Adds protection finalizers to new claims and volumes (the admission plugin
    /// StorageObjectInUseProtection).
    pub(crate) protect_volumes: bool,
    /// Enables RBAC.
    pub(crate) rbac: bool,
}

/// The kinds, their objects, and the authorizer.
#[derive(Debug)]
pub(crate) struct ApiState {
    pub(crate) options: Options,
    pub(crate) clock: Clock,
    /// Shared with replicas.
    pub(crate) registry: Arc<RwLock<Registry>>,
    pub(crate) store: Arc<Store>,
    pub(crate) access: Arc<Authorizer>,
    pub(crate) tokens: AccountTokens,
    pub(crate) admission: Arc<Hooks>,
    pub(crate) policies: Policies,
    pub(crate) allocated: Mutex<AllocationCounts>,
    pub(crate) registrations: Registrations,
    /// The clients of webhooks.
    pub(crate) webhooks: Arc<Webhooks>,
    /// Authenticates tokens.
    pub(crate) front: Front,
}

impl ApiState {
    /// An empty store that serves the kinds of `registry`.
    pub(crate) fn new(
        options: Options,
        registry: Arc<RwLock<Registry>>,
        clock: Clock,
        front: Front,
        rng: fastrand::Rng,
    ) -> Self {
        let store = Arc::new(Store::new(options.history, rng));
        let access = Arc::new(Authorizer::new(options.rbac, Arc::clone(&store)));
        let tokens = AccountTokens::new(Arc::clone(&store));
        let (admission, policies, registrations, allocated, webhooks) = Default::default();
        Self {
            options,
            clock,
            registry,
            store,
            access,
            tokens,
            admission,
            policies,
            registrations,
            allocated,
            webhooks,
            front,
        }
    }
}
