//! Copies each ConfigMap with the label `sync=true` into the namespaces that want those of its
//! namespace: `kubectl label namespace shop sync-from=default`.
//!
//! A copy has no owner reference. An owner must be in the namespace of its dependents: the garbage
//! collector deletes a dependent whose owner it does not find there. So labels lead from a copy to
//! its source, and a run for a source deletes unwanted copies, also after the source is gone.
//!
//! ```sh
//! cargo run -p reconciler --example configmap_sync            # against the cluster of kubectl
//! cargo run -p reconciler --example configmap_sync -- --once  # in the process, until it is done
//! ```
#![expect(clippy::print_stdout, reason = "an example talks")]

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt as _};
use reconciler::{
    Action, Cache, CacheConfig, Controller, Failure, Manager, ObjectKey, Reconciler, Request,
    shutdown_signal,
};
use serde_json::{from_value, json};

/// The label of a ConfigMap: `true` at a source, `copy` at a copy.
const SYNC: &str = "sync";
/// The label of a namespace and of a copy: the namespace of the sources.
const FROM: &str = "sync-from";

/// The key of the source, for a source and for its copies.
fn source_key(map: &ConfigMap) -> Option<ObjectKey> {
    let namespace = if is(map, "copy") { map.labels().get(FROM).cloned() } else { map.namespace() };
    Some(ObjectKey::namespaced(namespace?, map.name_any()))
}

fn is(map: &ConfigMap, what: &str) -> bool {
    map.labels().get(SYNC).is_some_and(|label| label == what)
}

struct Sync {
    client: Client,
    maps: Cache<ConfigMap>,
    namespaces: Cache<Namespace>,
}

impl Reconciler for Sync {
    type Key = ObjectKey; // Of a source, which may be gone.

    async fn reconcile(&self, request: Request<ObjectKey>) -> Result<Action, Failure> {
        let key = request.key();
        let source = self.maps.get(key).filter(|map| is(map, "true"));
        let mut failed = None; // One namespace that refuses its copy does not stop the others.
        for namespace in self.namespaces.list() {
            let to = ObjectKey::namespaced(namespace.name_any(), key.name());
            let held = self.maps.get(&to).filter(|map| is(map, "copy"));
            let held = held.filter(|map| source_key(map).as_ref() == Some(key));
            let is_wanted = namespace.labels().get(FROM).map(String::as_str) == key.namespace()
                && namespace.metadata.deletion_timestamp.is_none()
                && to != *key;
            let source = source.as_deref().filter(|_| is_wanted);
            failed = self.sync(&to, source, held.as_deref()).await.err().or(failed);
        }
        failed.map_or_else(|| Ok(Action::await_change()), |error| Err(error.into()))
    }
}

impl Sync {
    /// Makes the copy as the source is. A ConfigMap of another author with its name is a 409, and
    /// so is a newer version than the held one. Both are retried.
    async fn sync(
        &self,
        to: &ObjectKey,
        source: Option<&ConfigMap>,
        held: Option<&ConfigMap>,
    ) -> Result<(), kube::Error> {
        let namespace = to.namespace().unwrap_or_default();
        let maps = Api::<ConfigMap>::namespaced(self.client.clone(), namespace);
        let Some(source) = source else {
            return match held {
                Some(_) => maps.delete(to.name(), &DeleteParams::default()).await.map(drop),
                None => Ok(()),
            };
        };
        let mut copy = ConfigMap { metadata: ObjectMeta::default(), ..source.clone() };
        copy.metadata.name = source.metadata.name.clone();
        copy.labels_mut().insert(SYNC.to_owned(), "copy".to_owned());
        copy.labels_mut().insert(FROM.to_owned(), source.namespace().unwrap_or_default());
        match held {
            Some(held) if held.data == copy.data && held.binary_data == copy.binary_data => Ok(()),
            Some(held) => {
                copy.metadata.resource_version = held.resource_version();
                maps.replace(to.name(), &PostParams::default(), &copy).await.map(drop)
            }
            None => maps.create(&PostParams::default(), &copy).await.map(drop),
        }
    }
}

/// Adds the controller, with its caches.
fn add_sync(manager: &mut Manager, client: &Client) {
    let config = CacheConfig::new().labels("sync in (true,copy)");
    let maps = manager.cache_with(Api::<ConfigMap>::all(client.clone()), config);
    let namespaces = manager.cache(Api::<Namespace>::all(client.clone()));
    let sources = maps.clone();
    let of_namespace = namespaces.watches(move |namespace| {
        let from = namespace.labels().get(FROM).map_or("", String::as_str);
        sources.list_in(from).iter().filter_map(|map| source_key(map)).collect::<Vec<_>>()
    });
    let sync = Sync { client: client.clone(), maps: maps.clone(), namespaces };
    let controller = Controller::keyed("configmap-sync", sync);
    manager.add(controller.source(maps.watches(source_key)).source(of_namespace));
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|arg| arg == "--once") {
        return once().await;
    }
    let (mut manager, client) = Manager::connect("configmap-sync").await?;
    add_sync(&mut manager, &client);
    manager.run(shutdown_signal()?).await?;
    Ok(())
}

/// Runs on an API server in the process until a copy has come, changed and gone.
async fn once() -> Result<(), Box<dyn std::error::Error>> {
    let client = embedded_apiserver::EmbeddedApiServer::new().client();
    let mut manager = Manager::builder().build()?;
    add_sync(&mut manager, &client);
    let namespaces = Api::<Namespace>::all(client.clone());
    let sources = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let copies = Api::<ConfigMap>::namespaced(client, "shop");
    let shop = json!({"metadata": {"name": "shop", "labels": {FROM: "default"}}});
    namespaces.create(&PostParams::default(), &from_value(shop)?).await?;
    let map = json!({"metadata": {"name": "a", "labels": {SYNC: "true"}}, "data": {"text": "1"}});
    sources.create(&PostParams::default(), &from_value(map)?).await?;
    let is_copied = |text: Option<&'static str>| {
        move |copy: Option<&ConfigMap>| {
            let data = copy.and_then(|copy| copy.data.as_ref());
            data.and_then(|data| data.get("text")).map(String::as_str) == text
        }
    };
    let done = async {
        let merge = PatchParams::default();
        await_condition(copies.clone(), "a", is_copied(Some("1"))).await?;
        let change = Patch::Merge(json!({"data": {"text": "2"}}));
        sources.patch("a", &merge, &change).await?;
        await_condition(copies.clone(), "a", is_copied(Some("2"))).await?;
        let unlabel = Patch::Merge(json!({"metadata": {"labels": {FROM: null}}}));
        namespaces.patch("shop", &merge, &unlabel).await?;
        await_condition(copies, "a", is_copied(None)).await?;
        Ok::<(), Box<dyn std::error::Error>>(())
    };
    let report = manager.run(async { done.await.expect("a copy comes, changes and goes") }).await?;
    println!("a copy came, changed and went in {} runs", report.controllers[0].reconciles);
    Ok(())
}
