//! The shared state of a replica.

use std::sync::Arc;

use api_front::{Body, Signal};
use bytes::Bytes;
use http::{Request, Response};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::api::status::Status;
use crate::replica::lag::Lag;
use crate::replica::pump;
use crate::replica::reads::{self, Source};
use crate::rest::wait_for;
use crate::server::core::Core;
use crate::server::shared::Shared;

/// The state that a replica's handles, clients and connections share.
#[derive(Debug)]
pub(crate) struct ReplicaState {
    /// The cache and its front.
    cache: Arc<Core>,
    server: Arc<Shared>,
    lag: Signal<Lag>,
    pump: Mutex<Option<JoinHandle<()>>>,
}

impl ReplicaState {
    pub(crate) fn new(cache: Arc<Core>, server: Arc<Shared>) -> Self {
        let (lag, pump) = (Signal::new(Lag::default()), Mutex::default());
        Self { cache, server, lag, pump }
    }

    pub(crate) fn set_lag(&self, lag: Lag) {
        self.lag.set(lag);
    }

    /// The server of the replica.
    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.server
    }

    /// Starts to follow, unless it does already. Starts again after its runtime has ended. Does
    /// nothing outside of a tokio runtime.
    pub(crate) fn start(&self) {
        let mut pump = self.pump.lock();
        if pump.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let (from, to) = (Arc::clone(self.server.core.api()), Arc::clone(self.cache.api()));
        *pump = Some(runtime.spawn(pump::run(from, to, self.lag.follow())));
    }

    /// The server, which authorizes requests.
    pub(crate) fn server(&self) -> &Core {
        &self.server.core
    }

    pub(crate) fn cache(&self) -> &Core {
        &self.cache
    }

    pub(crate) async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        match reads::source(request.method(), request.uri()) {
            Source::Newest => self.server.core.handler.serve(request).await,
            Source::Cache => self.cache.handler.serve(request).await,
            Source::CaughtUp => {
                let newest = self.server.core.api().store.revision();
                match wait_for(self.cache.api(), newest).await {
                    Ok(()) => self.cache.handler.serve(request).await,
                    Err(late) => Status::into_response(late),
                }
            }
        }
    }
}

impl Drop for ReplicaState {
    fn drop(&mut self) {
        if let Some(task) = self.pump.get_mut().take() {
            task.abort();
        }
    }
}
