//! The loop: watches every kind and processes one object at a time.

use super::decide::{self, Need, Policy, Verdict};
use super::graph::Misplaced;
use super::graph::{Deletion, FOREGROUND, Graph, Node, ORPHAN, Uid};
use super::report;
use crate::controllers::actors::backoff::backoff;
use crate::controllers::actors::kinds::{Kinds, Resource};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::stream::{BoxStream, SelectAll, StreamExt};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{
    DeleteParams, DynamicObject, PartialObjectMeta, Patch, PatchParams, PostParams, Preconditions,
    PropagationPolicy,
};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The delay before a failed request is retried.
const RETRY: Duration = Duration::from_millis(100);

/// Runs until it is dropped. Level-triggered: it may stop and start again at any point.
pub(crate) async fn run(client: Client, kinds: Kinds) {
    let mut collector = Collector {
        client,
        kinds,
        tables: BTreeMap::new(),
        graph: Graph::default(),
        failed: Vec::new(),
        retry_at: None,
        reported: 0,
    };
    let mut events = SelectAll::new();
    collector.watch(&mut events);
    loop {
        // Processes all received events first, so that decisions use the newest state.
        while let Some(Some((table, event))) = events.next().now_or_never() {
            collector.note(&table, event);
        }
        if let Some(misplaced) = collector.graph.next_misplaced() {
            collector.report(&misplaced).await;
            tokio::task::yield_now().await;
            continue;
        }
        let next = if collector.synced() { collector.graph.next() } else { None };
        if let Some(uid) = next {
            collector.process(&uid).await;
            // Requests in this process may never wait, so yield to the watches.
            tokio::task::yield_now().await;
            continue;
        }
        let retry_at = collector.retry_at;
        tokio::select! {
            biased;
            event = events.next() => match event {
                Some((table, event)) => collector.note(&table, event),
                None => return,
            },
            () = collector.kinds.changed() => {
                collector.watch(&mut events);
                collector.graph.unpark();
            }
            () = async { match retry_at { Some(at) => sleep_until(at).await, None => std::future::pending().await } } => {
                collector.retry_at = None;
                let again = std::mem::take(&mut collector.failed);
                again.iter().for_each(|uid| collector.graph.queue(uid));
            }
        }
    }
}

type Object = PartialObjectMeta<DynamicObject>;
type Events = SelectAll<BoxStream<'static, (Arc<str>, watcher::Event<Object>)>>;

struct Collector {
    client: Client,
    kinds: Kinds,
    tables: BTreeMap<Arc<str>, Watched>,
    graph: Graph,
    failed: Vec<Uid>,
    retry_at: Option<Instant>,
    /// The number of sent Events.
    reported: u32,
}

/// A watched kind.
struct Watched {
    resource: Arc<Resource>,
    /// The uids of the current list.
    listed: BTreeSet<Uid>,
    synced: bool,
    /// Dropping it ends the watch.
    _stop: oneshot::Sender<()>,
}

/// The result of processing an object.
enum Outcome {
    Done,
    /// The kind of an owner is not served now.
    Unresolved,
}

impl Collector {
    /// Starts and stops watches to match the served kinds.
    fn watch(&mut self, events: &mut Events) {
        let served = self.kinds.tables(false);
        let gone = |table: &Arc<str>, watched: &mut Watched| {
            served.get(table).is_none_or(|resource| *resource != watched.resource)
        };
        for (_, watched) in self.tables.extract_if(.., gone) {
            for uid in self.graph.of(&watched.resource) {
                self.graph.remove(&uid);
            }
        }
        for (table, resource) in served {
            if self.tables.contains_key(&table) {
                continue;
            }
            let (stop, stopped) = oneshot::channel();
            let api: Api<Object> = Api::all_with(self.client.clone(), &resource.api);
            let name = Arc::clone(&table);
            let changes = watcher(api, watcher::Config::default()).backoff(backoff()).filter_map(
                move |event| {
                    let event = event.inspect_err(|error| {
                        tracing::debug!(%error, "a watch of the garbage collector failed");
                    });
                    std::future::ready(event.ok().map(|event| (Arc::clone(&name), event)))
                },
            );
            events.push(changes.take_until(stopped).boxed());
            let watched = Watched { resource, listed: BTreeSet::new(), synced: false, _stop: stop };
            self.tables.insert(table, watched);
        }
    }

    fn synced(&self) -> bool {
        self.tables.values().all(|watched| watched.synced)
    }

    fn note(&mut self, table: &str, event: watcher::Event<Object>) {
        let Some(watched) = self.tables.get_mut(table) else { return };
        match event {
            watcher::Event::Init => watched.listed.clear(),
            watcher::Event::InitApply(object) => {
                if let Some((uid, node)) = Node::new(&watched.resource, object.metadata) {
                    watched.listed.insert(Arc::clone(&uid));
                    self.graph.put(uid, node);
                }
            }
            watcher::Event::InitDone => {
                watched.synced = true;
                let listed = std::mem::take(&mut watched.listed);
                for uid in
                    self.graph.of(&watched.resource).iter().filter(|uid| !listed.contains(*uid))
                {
                    self.graph.remove(uid);
                }
            }
            watcher::Event::Apply(object) => {
                if let Some((uid, node)) = Node::new(&watched.resource, object.metadata) {
                    self.graph.put(uid, node);
                }
            }
            watcher::Event::Delete(object) => {
                self.graph.remove(object.metadata.uid.as_deref().unwrap_or_default());
            }
        }
    }

    /// Sends an Event about a reference, once. As upstream, a refused Event is lost.
    async fn report(&mut self, misplaced: &Misplaced) {
        let event = report::event(misplaced, self.kinds.exactly_now(), self.reported);
        self.reported = self.reported.wrapping_add(1);
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        if let Err(error) = api.create(&PostParams::default(), &event).await {
            tracing::debug!(%error, "an Event of the garbage collector was refused");
        }
    }

    async fn process(&mut self, uid: &Uid) {
        match self.serve(uid).await {
            Ok(Outcome::Done) => {}
            Ok(Outcome::Unresolved) => self.graph.park(uid),
            Err(error) => {
                tracing::debug!(%uid, %error, "a request of the garbage collector failed");
                self.failed.push(Arc::clone(uid));
                if self.retry_at.is_none() {
                    self.retry_at = Instant::now().checked_add(RETRY);
                }
            }
        }
    }

    async fn serve(&mut self, uid: &Uid) -> kube::Result<Outcome> {
        let need = decide::need(&self.graph, uid);
        let Some(node) = self.graph.get(uid).cloned() else { return Ok(Outcome::Done) };
        match need {
            Need::Nothing => {}
            Need::Wait(blocking) => blocking.iter().for_each(|uid| self.graph.queue(uid)),
            Need::EndOfForeground => self.drop_finalizer(uid, &node, FOREGROUND).await?,
            Need::Orphans(dependents) => {
                for dependent in dependents {
                    let Some(node) = self.graph.get(&dependent).cloned() else { continue };
                    self.disown(&dependent, &node, &[uid.to_string()]).await?;
                }
                self.drop_finalizer(uid, &node, ORPHAN).await?;
            }
            Need::Examination => return self.examine(uid, &node).await,
        }
        Ok(Outcome::Done)
    }

    /// Reads an object and all its owners, then acts.
    async fn examine(&self, uid: &Uid, node: &Node) -> kube::Result<Outcome> {
        let Some(latest) = self.latest(uid, node).await? else { return Ok(Outcome::Done) };
        let mut owners = Vec::new();
        for reference in latest.owner_references.iter().flatten() {
            let Some(resource) = self.kinds.find(&reference.api_version, &reference.kind) else {
                return Ok(Outcome::Unresolved);
            };
            let namespace = node.namespace.as_deref().filter(|_| resource.namespaced);
            if resource.namespaced && namespace.is_none() {
                // A cluster-scoped object with a namespaced owner is invalid, and never a reason to
                // delete.
                return Ok(Outcome::Done);
            }
            let found = self.api(&resource, namespace).get_metadata_opt(&reference.name).await?;
            let standing = decide::standing(reference, found.as_ref().map(|found| &found.metadata));
            owners.push((reference.clone(), standing));
        }
        let dependents: Vec<Deletion> =
            self.graph.dependents(uid).map(|(_, node)| node.deletion).collect();
        match decide::verdict(&latest, &owners, &dependents) {
            Verdict::Keep => {}
            Verdict::Disown(gone) => self.disown(uid, node, &gone).await?,
            Verdict::Delete { policy, unblock } => {
                let mut version = latest.resource_version.clone();
                if unblock {
                    version = self.unblock(node, &latest).await?;
                }
                self.delete(uid, node, version, policy).await?;
            }
        }
        Ok(Outcome::Done)
    }

    fn api(&self, resource: &Resource, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource.api),
            None => Api::all_with(self.client.clone(), &resource.api),
        }
    }

    fn api_of(&self, node: &Node) -> Api<DynamicObject> {
        self.api(&node.resource, node.namespace.as_deref())
    }

    /// Reads the object. `None` if it is gone or has been replaced.
    async fn latest(&self, uid: &Uid, node: &Node) -> kube::Result<Option<ObjectMeta>> {
        let found = self.api_of(node).get_metadata_opt(&node.name).await?;
        Ok(found
            .map(|found| found.metadata)
            .filter(|metadata| metadata.uid.as_deref() == Some(&**uid)))
    }

    /// Removes owners from an object.
    async fn disown(&self, uid: &Uid, node: &Node, owners: &[String]) -> kube::Result<()> {
        let Some(latest) = self.latest(uid, node).await? else { return Ok(()) };
        let all = latest.owner_references.unwrap_or_default();
        let kept: Vec<_> = all.iter().filter(|owner| !owners.contains(&owner.uid)).collect();
        if kept.len() == all.len() {
            return Ok(());
        }
        let kept = if kept.is_empty() { json!(null) } else { json!(kept) };
        let patch = json!({ "metadata": { "resourceVersion": latest.resource_version, "ownerReferences": kept } });
        self.patch(node, patch).await.map(drop)
    }

    /// Makes an object block none of its owners. Returns its new version.
    async fn unblock(&self, node: &Node, latest: &ObjectMeta) -> kube::Result<Option<String>> {
        let mut owners = latest.owner_references.clone().unwrap_or_default();
        owners.iter_mut().for_each(|owner| owner.block_owner_deletion = Some(false));
        let patch = json!({ "metadata": { "resourceVersion": latest.resource_version, "ownerReferences": owners } });
        let patched = self.patch(node, patch).await?;
        Ok(patched.and_then(|metadata| metadata.resource_version))
    }

    async fn drop_finalizer(&self, uid: &Uid, node: &Node, name: &str) -> kube::Result<()> {
        let Some(latest) = self.latest(uid, node).await? else { return Ok(()) };
        let all = latest.finalizers.unwrap_or_default();
        let kept: Vec<_> = all.iter().filter(|finalizer| *finalizer != name).collect();
        if kept.len() == all.len() {
            return Ok(());
        }
        let patch = json!({ "metadata": { "resourceVersion": latest.resource_version, "finalizers": kept } });
        self.patch(node, patch).await.map(drop)
    }

    async fn patch(
        &self,
        node: &Node,
        patch: serde_json::Value,
    ) -> kube::Result<Option<ObjectMeta>> {
        let api = self.api_of(node);
        match api.patch_metadata(&node.name, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(object) => Ok(Some(object.metadata)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn delete(
        &self,
        uid: &Uid,
        node: &Node,
        version: Option<String>,
        policy: Policy,
    ) -> kube::Result<()> {
        let options = DeleteParams {
            propagation_policy: Some(match policy {
                Policy::Background => PropagationPolicy::Background,
                Policy::Foreground => PropagationPolicy::Foreground,
                Policy::Orphan => PropagationPolicy::Orphan,
            }),
            preconditions: Some(Preconditions {
                uid: Some(uid.to_string()),
                resource_version: version,
            }),
            ..DeleteParams::default()
        };
        match self.api_of(node).delete(&node.name, &options).await {
            Ok(_) => Ok(()),
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The object is gone. Its event will follow.
fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
