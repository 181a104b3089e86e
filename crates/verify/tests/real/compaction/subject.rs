//! What is under test: a manager with a cache of config maps and a controller, behind a link; and
//! everything that it asked, saw and ran.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use control_plane::ControlPlane;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::client::{Body, ClientBuilder};
use kube::{Client, Resource as _};
use reconciler::{
    Action, Cache, CacheConfig, Change, Controller, Manager, ObjectKey, Report, Request,
    reconcile_fn,
};
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tower::buffer::BufferLayer;
use tower::filter::AsyncFilterLayer;
use verify::real::config_of;

use crate::link::Link;

/// A version of an object: its uid and resourceVersion.
pub(crate) type Seen = (String, u64);

fn seen(map: &ConfigMap) -> Seen {
    let version = map.meta().resource_version.as_deref().and_then(|version| version.parse().ok());
    (map.meta().uid.clone().unwrap_or_default(), version.unwrap_or_default())
}

/// Everything that the subject did, as it can be seen from outside.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) lists: u64,
    pub(crate) watches: u64,
    /// What the cache told: before and after, by name.
    pub(crate) changes: Vec<(String, Option<Seen>, Option<Seen>)>,
    /// What each run found in the cache.
    pub(crate) runs: Vec<(String, Option<Seen>)>,
}

impl Log {
    /// What the last run of each key found.
    pub(crate) fn last_runs(&self) -> BTreeMap<String, Option<Seen>> {
        self.runs.iter().cloned().collect()
    }
}

/// Holds up the page of a list that has this number.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    pages: Arc<Mutex<(u64, Option<u64>)>>,
    pub(crate) reached: Arc<Notify>,
    pub(crate) open: Arc<Notify>,
}

impl Gate {
    /// The gate is before the page with this number, counted from 1.
    pub(crate) fn before_page(page: u64) -> Self {
        let gate = Self::default();
        gate.pages.lock().unwrap().1 = Some(page);
        gate
    }

    async fn pass(&self) {
        let held = {
            let mut pages = self.pages.lock().unwrap();
            pages.0 += 1;
            pages.1 == Some(pages.0)
        };
        if held {
            self.reached.notify_one();
            self.open.notified().await;
        }
    }
}

pub(crate) struct Subject {
    pub(crate) admin: Client,
    pub(crate) api: Api<ConfigMap>,
    pub(crate) link: Link,
    pub(crate) cache: Cache<ConfigMap>,
    pub(crate) log: Arc<Mutex<Log>>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Report>,
}

/// Makes a namespace for one subject.
pub(crate) async fn namespace(plane: &ControlPlane, name: &str) -> Api<ConfigMap> {
    let admin = verify::real::client(plane, "admin").await;
    let space: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    Api::all(admin.clone()).create(&PostParams::default(), &space).await.unwrap();
    Api::namespaced(admin, name)
}

impl Subject {
    /// `space` is to be there already.
    pub(crate) async fn start(
        plane: &ControlPlane,
        space: &str,
        pages: CacheConfig<ConfigMap>,
        gate: Gate,
    ) -> Self {
        let admin = verify::real::client(plane, "admin").await;
        let api = Api::namespaced(admin.clone(), space);
        let cluster = config_of(&plane.kubeconfig("admin").unwrap()).await;
        let link = Link::to(&cluster).await;
        let log: Arc<Mutex<Log>> = Arc::default();
        let counted = Arc::clone(&log);
        let layer = AsyncFilterLayer::new(move |request: http::Request<Body>| {
            let (gate, counted) = (gate.clone(), Arc::clone(&counted));
            async move {
                let watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
                if watch {
                    counted.lock().unwrap().watches += 1;
                } else {
                    counted.lock().unwrap().lists += 1;
                    gate.pass().await;
                }
                Ok::<_, tower::BoxError>(request)
            }
        });
        // The filter needs a service that it can clone.
        let client = ClientBuilder::try_from(link.through(cluster)).unwrap();
        let client = client.with_layer(&BufferLayer::new(16)).with_layer(&layer).build();
        let mut manager = Manager::builder().build().unwrap();
        let cache = manager.cache_with(Api::<ConfigMap>::namespaced(client, space), pages);
        let (told, ran, maps) = (Arc::clone(&log), Arc::clone(&log), cache.clone());
        manager.add(
            Controller::keyed(
                "maps",
                reconcile_fn(move |request: Request<ObjectKey>| {
                    let (ran, maps) = (Arc::clone(&ran), maps.clone());
                    async move {
                        let found = maps.get(request.key());
                        let name = request.key().name().to_owned();
                        ran.lock().unwrap().runs.push((name, found.as_deref().map(seen)));
                        Ok(Action::await_change())
                    }
                }),
            )
            .source(cache.trigger(move |change: &Change<ConfigMap>| {
                let key = change.key();
                if let Some(key) = &key {
                    let (old, new) =
                        (change.old.as_deref().map(seen), change.new.as_deref().map(seen));
                    told.lock().unwrap().changes.push((key.name().to_owned(), old, new));
                }
                key
            })),
        );
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            let shutdown = async {
                let _ = stopped.await;
            };
            manager.run(shutdown).await.unwrap()
        });
        Self { admin, api, link, cache, log, stop, running }
    }

    /// What the server has.
    pub(crate) async fn truth(&self) -> BTreeMap<String, Seen> {
        let list = self.api.list(&ListParams::default()).await.unwrap();
        list.items.iter().map(|map| (map.metadata.name.clone().unwrap(), seen(map))).collect()
    }

    fn held(&self) -> BTreeMap<String, Seen> {
        let held = self.cache.list();
        held.iter().map(|map| (map.metadata.name.clone().unwrap(), seen(map))).collect()
    }

    /// Waits until the cache holds what the server has, and the last run of every key found it so.
    pub(crate) async fn settles(&self, what: &str) {
        let mut behind = String::new();
        for _ in 0..600 {
            let truth = self.truth().await;
            let (held, last) = (self.held(), self.log.lock().unwrap().last_runs());
            let current = last.iter().all(|(name, found)| found.as_ref() == truth.get(name));
            if held == truth && current && truth.keys().all(|name| last.contains_key(name)) {
                return;
            }
            behind =
                format!("{} held, {} there, {:?}", held.len(), truth.len(), self.cache.status());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never settled: {what}: {behind}");
    }

    /// Nothing went back in time: per name, versions only rise, and each change begins where the
    /// one before ended.
    pub(crate) fn assert_forwards(&self) {
        let mut known: BTreeMap<String, Seen> = BTreeMap::new();
        let mut newest: BTreeMap<String, u64> = BTreeMap::new();
        for (name, old, new) in &self.log.lock().unwrap().changes {
            assert_eq!(old.as_ref(), known.get(name), "{name}: a change from what was not held");
            match new {
                Some(new) => {
                    let before = newest.insert(name.clone(), new.1);
                    assert!(
                        before.is_none_or(|before| before < new.1),
                        "{name} went from {before:?} back to {new:?}"
                    );
                    known.insert(name.clone(), new.clone());
                }
                None => {
                    known.remove(name);
                }
            }
        }
    }

    pub(crate) fn requests(&self) -> (u64, u64) {
        let log = self.log.lock().unwrap();
        (log.lists, log.watches)
    }

    pub(crate) async fn create(&self, name: &str) {
        create_all(&self.api, [name.to_owned()]).await;
    }

    pub(crate) async fn touch(&self, name: &str, value: &str) {
        let patch = Patch::Merge(json!({"data": {"value": value}}));
        self.api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn stop(self) -> Report {
        let _ = self.stop.send(());
        self.running.await.unwrap()
    }
}

/// Creates config maps of these names, many at a time.
pub(crate) async fn create_all(api: &Api<ConfigMap>, names: impl IntoIterator<Item = String>) {
    futures::stream::iter(names)
        .for_each_concurrent(64, async |name| {
            let map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            api.create(&PostParams::default(), &map).await.unwrap();
        })
        .await;
}
