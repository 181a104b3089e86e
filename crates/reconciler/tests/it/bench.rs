//! The fixtures of the tests: a server, its objects, a manager in the background, and waiting.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use reconciler::{Manager, ManagerError, ObjectKey, Report};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

pub(crate) struct Bench {
    pub(crate) server: EmbeddedApiServer,
    pub(crate) client: Client,
    pub(crate) maps: Api<ConfigMap>,
}

pub(crate) fn bench() -> Bench {
    let server = EmbeddedApiServer::builder().seed(1).build();
    // Faults do not match this user, so the tests' own writes succeed.
    let writer = server.client_as("writer");
    Bench {
        client: server.client_as("controller"),
        maps: Api::namespaced(writer, "default"),
        server,
    }
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("default", name)
}

impl Bench {
    /// The controller's view of all config maps.
    pub(crate) fn api(&self) -> Api<ConfigMap> {
        Api::all(self.client.clone())
    }

    pub(crate) async fn create(&self, name: &str) {
        let map: ConfigMap =
            serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap();
        self.maps.create(&PostParams::default(), &map).await.unwrap();
    }

    /// Changes an object, so that its watchers get an event.
    pub(crate) async fn touch(&self, name: &str, value: &str) {
        let patch = serde_json::json!({"data": {"value": value}});
        self.maps.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.maps.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// A manager in the background.
pub(crate) struct Running {
    pub(crate) stop: CancellationToken,
    pub(crate) ended: JoinHandle<Result<Report, ManagerError>>,
}

pub(crate) fn start(manager: Manager) -> Running {
    let stop = CancellationToken::new();
    let shutdown = stop.clone();
    let ended = tokio::spawn(async move { manager.run(shutdown.cancelled_owned()).await });
    Running { stop, ended }
}

impl Running {
    pub(crate) async fn stop(self) -> Report {
        self.stop.cancel();
        self.ended.await.unwrap().unwrap()
    }
}

/// Waits, in virtual time, until `so` returns true.
pub(crate) async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let longest = Instant::now() + Duration::from_secs(600);
    while !so() {
        assert!(Instant::now() < longest, "never: {what}");
        sleep(Duration::from_millis(1)).await;
    }
}

/// Gives pending work time to run.
pub(crate) async fn settle() {
    sleep(Duration::from_millis(50)).await;
}

/// Entries in order, with the virtual time since the start.
#[derive(Clone)]
pub(crate) struct Log<T> {
    began: Instant,
    entries: Arc<Mutex<Vec<(Duration, T)>>>,
}

impl<T: Clone> Log<T> {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), entries: Arc::default() }
    }

    pub(crate) fn push(&self, entry: T) {
        self.entries.lock().unwrap().push((self.began.elapsed(), entry));
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.lock().unwrap().len()
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.entries.lock().unwrap().iter().map(|(_, entry)| entry.clone()).collect()
    }

    pub(crate) fn times(&self) -> Vec<Duration> {
        self.entries.lock().unwrap().iter().map(|(at, _)| *at).collect()
    }

    /// The times between entries, in whole milliseconds.
    pub(crate) fn gaps(&self) -> Vec<u128> {
        self.times().windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    }
}

/// An empty manager with the default settings.
pub(crate) fn manager() -> Manager {
    Manager::builder().build().unwrap()
}

/// Names a future's output type, for closures that end with an error or never.
pub(crate) fn never<T>() -> impl Future<Output = T> {
    std::future::pending()
}
