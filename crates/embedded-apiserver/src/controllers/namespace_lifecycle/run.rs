//! The loop: watches namespaces, deletes their content, writes conditions and finalizes.

use super::conditions::{Left, conditions};
use crate::controllers::actors::backoff::backoff;
use crate::controllers::actors::kinds::{Kinds, Resource};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, FuturesUnordered, StreamExt};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The delay before a failed request is retried.
const RETRY: Duration = Duration::from_millis(100);
/// The finalizer for the content.
const CONTENT: &str = "kubernetes";

/// Runs until it is dropped. Level-triggered: it may stop and start again at any point.
pub(crate) async fn run(client: Client, kinds: Kinds) {
    let mut lifecycle = Lifecycle {
        namespaces: Api::all(client.clone()),
        client,
        kinds,
        queue: VecDeque::new(),
        waiting: BTreeSet::new(),
    };
    // Each resolves to the name of a namespace to process again.
    let mut alarms: FuturesUnordered<Alarm> = FuturesUnordered::new();
    let mut events = lifecycle.changes();
    loop {
        while let Some(Some(name)) = events.next().now_or_never() {
            lifecycle.queue(name);
        }
        if let Some(name) = lifecycle.queue.pop_front() {
            if let Some(until) = lifecycle.sync(&name).await
                && lifecycle.waiting.insert(name.clone())
            {
                alarms.push(until.map(move |()| name).boxed());
            }
            // Requests in this process may never wait, so yield to the watch.
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            biased;
            name = events.next() => match name {
                Some(name) => lifecycle.queue(name),
                None => return,
            },
            Some(name) = alarms.next() => {
                lifecycle.waiting.remove(&name);
                lifecycle.queue(name);
            }
            () = lifecycle.kinds.changed() => {
                lifecycle.kinds.tables(true);
                // The kind of the remaining objects may be gone.
                for name in lifecycle.waiting.clone() {
                    lifecycle.queue(name);
                }
            }
        }
    }
}

type Alarm = BoxFuture<'static, String>;
type Until = BoxFuture<'static, ()>;

struct Lifecycle {
    client: Client,
    namespaces: Api<Namespace>,
    kinds: Kinds,
    queue: VecDeque<String>,
    /// Namespaces with a pending alarm.
    waiting: BTreeSet<String>,
}

impl Lifecycle {
    /// The names of terminating namespaces, when they change.
    fn changes(&self) -> BoxStream<'static, String> {
        let changes =
            watcher(self.namespaces.clone(), watcher::Config::default()).backoff(backoff());
        let names = changes.filter_map(|event| {
            let name = match event {
                Ok(watcher::Event::Apply(namespace) | watcher::Event::InitApply(namespace)) => {
                    namespace.metadata.deletion_timestamp.is_some().then(|| namespace.name_any())
                }
                Ok(_) => None,
                Err(error) => {
                    tracing::debug!(%error, "the watch of the namespace lifecycle failed");
                    None
                }
            };
            std::future::ready(name)
        });
        names.boxed()
    }

    fn queue(&mut self, name: String) {
        if !self.queue.contains(&name) {
            self.queue.push_back(name);
        }
    }

    /// Processes a namespace. Returns the event to wait for.
    async fn sync(&mut self, name: &str) -> Option<Until> {
        self.empty(name).await.unwrap_or_else(|error| {
            tracing::debug!(namespace = name, %error, "a request of the namespace lifecycle failed");
            Some(sleep(RETRY).boxed())
        })
    }

    /// Deletes the content of a namespace, then its finalizer if it is empty. Otherwise returns the
    /// event to wait for.
    async fn empty(&mut self, name: &str) -> kube::Result<Option<Until>> {
        let Some(namespace) = self.namespaces.get_opt(name).await? else { return Ok(None) };
        let finalizers =
            namespace.spec.as_ref().and_then(|spec| spec.finalizers.clone()).unwrap_or_default();
        if namespace.metadata.deletion_timestamp.is_none()
            || !finalizers.iter().any(|f| f == CONTENT)
        {
            return Ok(None);
        }
        let mut left = Left::default();
        let mut watches = Vec::new();
        let (pods, others): (Vec<_>, Vec<_>) =
            self.kinds.tables(true).into_values().filter(|resource| resource.namespaced).partition(
                |resource| resource.api.group.is_empty() && resource.api.plural == "pods",
            );
        for resource in pods {
            self.clear(name, &resource, &mut left, &mut watches).await;
        }
        // Running pods may need the other objects. Upstream does not report that it waits for them.
        let said = if left.is_nothing() {
            for resource in others {
                self.clear(name, &resource, &mut left, &mut watches).await;
            }
            left.clone()
        } else {
            Left { failures: left.failures.clone(), ..Left::default() }
        };
        self.say(&namespace, &said).await?;
        if left.is_nothing() {
            self.finalize(name).await?;
            return Ok(None);
        }
        if !left.failures.is_empty() {
            return Ok(Some(sleep(RETRY).boxed()));
        }
        Ok(Some(futures::future::select_all(watches).map(drop).boxed()))
    }

    /// Deletes the objects of a kind, and counts the remaining ones.
    async fn clear(
        &self,
        namespace: &str,
        resource: &Arc<Resource>,
        left: &mut Left,
        watches: &mut Vec<Until>,
    ) {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, &resource.api);
        // Most kinds have no objects. A list is cheaper than a delete, and no write in the request
        // log.
        let held = match api.list_metadata(&ListParams::default()).await {
            Ok(list) if list.items.is_empty() => return,
            Ok(_) => match api
                .delete_collection(&DeleteParams::background(), &ListParams::default())
                .await
            {
                Ok(_) => api.list_metadata(&ListParams::default()).await,
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        let held = match held {
            Ok(held) => held,
            // The kind is no longer served.
            Err(kube::Error::Api(status)) if status.code == 404 => return,
            Err(error) => return left.failures.push(error.to_string()),
        };
        if held.items.is_empty() {
            return;
        }
        left.objects.insert(resource.dotted(), held.items.len());
        for finalizer in
            held.items.iter().flat_map(|object| object.metadata.finalizers.iter().flatten())
        {
            let count = left.finalizers.entry(finalizer.clone()).or_insert(0);
            *count = count.saturating_add(1);
        }
        let since = held.metadata.resource_version.unwrap_or_default();
        watches.push(gone(api, since).boxed());
    }

    async fn say(&self, namespace: &Namespace, left: &Left) -> kube::Result<()> {
        let before = namespace
            .status
            .as_ref()
            .and_then(|status| status.conditions.clone())
            .unwrap_or_default();
        let after = conditions(&before, left, &self.kinds.now());
        if after == before {
            return Ok(());
        }
        let patch = Patch::Merge(json!({ "status": { "conditions": after } }));
        self.namespaces
            .patch_status(&namespace.name_any(), &PatchParams::default(), &patch)
            .await
            .map(drop)
    }

    async fn finalize(&self, name: &str) -> kube::Result<()> {
        let Some(mut namespace) = self.namespaces.get_opt(name).await? else { return Ok(()) };
        if let Some(finalizers) = namespace.spec.as_mut().and_then(|spec| spec.finalizers.as_mut())
        {
            finalizers.retain(|finalizer| finalizer != CONTENT);
        }
        match self
            .namespaces
            .replace_subresource("finalize", name, &PostParams::default(), &namespace)
            .await
        {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Resolves when an object of a collection is gone or has changed.
async fn gone(api: Api<DynamicObject>, since: String) {
    let Ok(events) = api.watch_metadata(&WatchParams::default(), &since).await else {
        return sleep(RETRY).await;
    };
    let mut events = events.boxed();
    while let Some(event) = events.next().await {
        match event {
            // A change of finalizers changes the conditions.
            Ok(WatchEvent::Deleted(_) | WatchEvent::Modified(_)) => return,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    sleep(RETRY).await;
}
