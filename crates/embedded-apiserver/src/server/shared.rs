//! The state that lives as long as a handle or a client of the server.

use std::sync::Arc;

#[cfg(feature = "actors")]
use kube::Client;

#[cfg(feature = "actors")]
use crate::controllers::actors::{Actors, Wanted};
use crate::server::core::Core;

/// A server and its controllers.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Before `core`, so that the controllers stop first.
    #[cfg(feature = "actors")]
    actors: Actors,
    pub(crate) core: Arc<Core>,
}

impl Shared {
    pub(crate) fn new(core: Arc<Core>, #[cfg(feature = "actors")] wanted: Wanted) -> Self {
        Self {
            #[cfg(feature = "actors")]
            actors: Actors::new(wanted),
            core,
        }
    }

    /// Starts the controllers. Call it in a tokio runtime, before an external request. `client`
    /// makes the client of a controller.
    #[cfg(feature = "actors")]
    pub(crate) fn start_actors(&self, client: impl Fn(&Arc<Core>, &str) -> Client) {
        self.actors.start(self.core.api(), |user| client(&self.core, user));
    }
}
