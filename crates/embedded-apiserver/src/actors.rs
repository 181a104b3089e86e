//! The server's own actors: started by the first request from outside, stopped with the last handle.

use crate::binder;
use crate::server::Core;
use crate::service::ApiService;
use kube::Client;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Which actors are wanted, and those that run.
#[derive(Debug)]
pub(crate) struct Actors {
    volume_binder: bool,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl Actors {
    pub(crate) fn new(volume_binder: bool) -> Self {
        Self { volume_binder, running: Mutex::default() }
    }

    /// Starts what is wanted and does not run: at the first request, and again if the runtime it ran on is gone.
    /// Without a tokio context nothing is started; kube's clients need one anyway.
    pub(crate) fn start(&self, core: &Arc<Core>) {
        if !self.volume_binder {
            return;
        }
        let mut running = self.running.lock();
        if running.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let service = ApiService::for_actor(Arc::clone(core), binder::USER);
        *running = Some(runtime.spawn(async move { binder::run(Client::new(service, "default")).await }));
    }
}

impl Drop for Actors {
    fn drop(&mut self) {
        if let Some(task) = self.running.get_mut().take() {
            task.abort();
        }
    }
}
