//! What lives as long as somebody outside holds the server or a client of it.

use std::sync::Arc;

#[cfg(feature = "actors")]
use kube::Client;

#[cfg(feature = "actors")]
use crate::controllers::actors::{Actors, Wanted};
use crate::server::core::Core;

/// A server and its controllers.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Before `core`: they stop first.
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

    /// Called before a request from outside is served, inside a tokio context. `client` makes the
    /// client of a controller by its name.
    #[cfg(feature = "actors")]
    pub(crate) fn start_actors(&self, client: impl Fn(&Arc<Core>, &str) -> Client) {
        self.actors.start(self.core.api(), |user| client(&self.core, user));
    }
}
