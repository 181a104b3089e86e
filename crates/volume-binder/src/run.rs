//! The loop: watches in, one write at a time out.

use crate::backoff::backoff;
use crate::decide::{Unless, Write, next_write};
use crate::view::{ClaimKey, Key, View, claims_of_pod, key_of};
use futures::stream::{BoxStream, SelectAll, StreamExt};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ListParams, Patch, PatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Pause before something is tried again whose write failed.
const RETRY: Duration = Duration::from_millis(100);

/// More writes than that in a row for one object means that they do not stick.
const MAX_WRITES: usize = 16;

/// Binds volumes until it is dropped. Level-triggered: it may be stopped at any point and started
/// again. The client must be allowed to list, watch, get and patch claims, volumes, their
/// statuses, classes and pods.
pub async fn run(client: Client) {
    let mut binder = Binder::new(client);
    let mut events = binder.watch();
    loop {
        // All that is known first, so that no decision is made on a world that has already moved
        // on.
        while let Some(Some(event)) = futures::FutureExt::now_or_never(events.next()) {
            binder.note(event);
        }
        let key = if binder.synced() { binder.queue.pop() } else { None };
        if let Some(key) = key {
            binder.settle(&key).await;
            // Writes in this process may never wait; the watches must get their turn.
            tokio::task::yield_now().await;
            continue;
        }
        let retry_at = binder.retry_at;
        tokio::select! {
            biased;
            event = events.next() => match event {
                Some(event) => binder.note(event),
                None => return,
            },
            () = async { match retry_at { Some(at) => sleep_until(at).await, None => std::future::pending().await } } => {
                binder.retry_at = None;
                let again = std::mem::take(&mut binder.failed);
                binder.queue.extend(again);
            }
        }
    }
}

struct Binder {
    client: Client,
    view: View,
    queue: Queue,
    failed: Vec<Key>,
    retry_at: Option<Instant>,
    claims: Relist<ClaimKey>,
    volumes: Relist<String>,
    classes: Relist<String>,
    pods: Relist<ClaimKey>,
}

/// What one of the four watches says.
#[expect(clippy::large_enum_variant, reason = "one at a time, moved into the view at once")]
enum Event {
    Claim(watcher::Event<PersistentVolumeClaim>),
    Volume(watcher::Event<PersistentVolume>),
    Class(watcher::Event<StorageClass>),
    Pod(watcher::Event<Pod>),
}

impl Binder {
    fn new(client: Client) -> Self {
        Self {
            client,
            view: View::default(),
            queue: Queue::default(),
            failed: Vec::new(),
            retry_at: None,
            claims: Relist::default(),
            volumes: Relist::default(),
            classes: Relist::default(),
            pods: Relist::default(),
        }
    }

    fn watch(&self) -> SelectAll<BoxStream<'static, Event>> {
        futures::stream::select_all([
            changes(Api::all(self.client.clone())).map(Event::Claim).boxed(),
            changes(Api::all(self.client.clone())).map(Event::Volume).boxed(),
            changes(Api::all(self.client.clone())).map(Event::Class).boxed(),
            changes(Api::all(self.client.clone())).map(Event::Pod).boxed(),
        ])
    }

    const fn synced(&self) -> bool {
        self.claims.synced && self.volumes.synced && self.classes.synced && self.pods.synced
    }

    fn note(&mut self, event: Event) {
        let (view, queue) = (&mut self.view, &mut self.queue);
        match event {
            Event::Claim(event) => match self.claims.change(event, key_of) {
                Change::Put(claim) => queue.extend(view.put_claim(claim)),
                Change::Remove(key) => queue.extend(view.remove_claim(&key)),
                Change::Replaced(listed) => {
                    for key in view.claim_keys().into_iter().filter(|key| !listed.contains(key)) {
                        queue.extend(view.remove_claim(&key));
                    }
                }
                Change::None => {}
            },
            Event::Volume(event) => match self.volumes.change(event, name_of) {
                Change::Put(volume) => queue.extend(view.put_volume(volume)),
                Change::Remove(name) => queue.extend(view.remove_volume(&name)),
                Change::Replaced(listed) => {
                    for name in
                        view.volume_names().into_iter().filter(|name| !listed.contains(name))
                    {
                        queue.extend(view.remove_volume(&name));
                    }
                }
                Change::None => {}
            },
            Event::Class(event) => match self.classes.change(event, name_of) {
                Change::Put(class) => queue.extend(view.put_class(class)),
                Change::Remove(name) => queue.extend(view.remove_class(&name)),
                Change::Replaced(listed) => {
                    for name in view.class_names().into_iter().filter(|name| !listed.contains(name))
                    {
                        queue.extend(view.remove_class(&name));
                    }
                }
                Change::None => {}
            },
            Event::Pod(event) => match self.pods.change(event, key_of) {
                Change::Put(pod) => queue.extend(view.put_pod(&pod)),
                Change::Remove(key) => queue.extend(view.remove_pod(&key)),
                Change::Replaced(listed) => {
                    for key in view.pod_keys().into_iter().filter(|key| !listed.contains(key)) {
                        queue.extend(view.remove_pod(&key));
                    }
                }
                Change::None => {}
            },
        }
    }

    /// Writes until the object is as it should be, or something else must happen first.
    async fn settle(&mut self, key: &Key) {
        for _ in 0..MAX_WRITES {
            let Some(write) = next_write(&self.view, key) else { return };
            match self.apply(write).await {
                Ok(Applied::Changed) => {}
                Ok(Applied::Nothing) => return,
                Err(error) if is_gone(&error) => return,
                Err(error) => {
                    tracing::debug!(?key, %error, "a write of the volume binder failed");
                    break;
                }
            }
        }
        self.failed.push(key.clone());
        if self.retry_at.is_none() {
            self.retry_at = Instant::now().checked_add(RETRY);
        }
    }

    async fn apply(&mut self, write: Write) -> kube::Result<Applied> {
        match &write.unless {
            Some(Unless::ClaimExists(key, uid)) if self.claim_exists(key, uid).await? => {
                return Ok(Applied::Nothing);
            }
            Some(Unless::ClaimInUse(key)) if self.claim_in_use(key).await? => {
                return Ok(Applied::Nothing);
            }
            _ => {}
        }
        let touched = match &write.target {
            Key::Claim((namespace, name)) => {
                let api = Api::namespaced(self.client.clone(), namespace);
                self.view.put_claim(patch(&api, name, &write).await?)
            }
            Key::Volume(name) => {
                let api = Api::all(self.client.clone());
                self.view.put_volume(patch(&api, name, &write).await?)
            }
        };
        let changed = if touched.is_empty() { Applied::Nothing } else { Applied::Changed };
        self.queue.extend(touched);
        Ok(changed)
    }

    async fn claim_exists(&self, (namespace, name): &ClaimKey, uid: &str) -> kube::Result<bool> {
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
        let held = api.get_opt(name).await?;
        Ok(held.is_some_and(|claim| claim.metadata.uid.as_deref() == Some(uid)))
    }

    async fn claim_in_use(&self, key: &ClaimKey) -> kube::Result<bool> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &key.0);
        // Namespaces without pods are the common case here; they cost one small answer.
        let first = api.list(&ListParams::default().limit(1)).await?;
        let pods = match first.metadata.continue_.as_deref() {
            None | Some("") => first.items,
            Some(_) => api.list(&ListParams::default()).await?.items,
        };
        Ok(pods.iter().any(|pod| claims_of_pod(pod).any(|claim| claim == *key)))
    }
}

enum Applied {
    Changed,
    Nothing,
}

async fn patch<K>(api: &Api<K>, name: &str, write: &Write) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug,
{
    let (params, patch) = (PatchParams::default(), Patch::Merge(&write.patch));
    if write.status {
        api.patch_status(name, &params, &patch).await
    } else {
        api.patch(name, &params, &patch).await
    }
}

/// The object is gone, and the event that says so is on its way. A conflict says less: mostly a
/// newer version is on its way, but a server under load may answer one without.
fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

fn changes<K>(api: Api<K>) -> impl futures::Stream<Item = watcher::Event<K>> + Send + 'static
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug + Send + 'static,
{
    watcher(api, watcher::Config::default()).backoff(backoff()).filter_map(|event| async move {
        event
            .inspect_err(|error| tracing::debug!(%error, "a watch of the volume binder failed"))
            .ok()
    })
}

fn name_of(metadata: &ObjectMeta) -> String {
    metadata.name.clone().unwrap_or_default()
}

/// The keys of a list under way, to know in the end what is gone.
struct Relist<K> {
    listed: BTreeSet<K>,
    synced: bool,
}

impl<K> Default for Relist<K> {
    fn default() -> Self {
        Self { listed: BTreeSet::new(), synced: false }
    }
}

enum Change<T, K> {
    Put(T),
    Remove(K),
    /// A list is complete: whatever it did not hold is gone.
    Replaced(BTreeSet<K>),
    None,
}

impl<K: Ord> Relist<K> {
    fn change<T>(
        &mut self,
        event: watcher::Event<T>,
        key: impl Fn(&ObjectMeta) -> K,
    ) -> Change<T, K>
    where
        T: kube::ResourceExt,
    {
        match event {
            watcher::Event::Apply(object) => Change::Put(object),
            watcher::Event::Delete(object) => Change::Remove(key(object.meta())),
            watcher::Event::Init => {
                self.listed.clear();
                Change::None
            }
            watcher::Event::InitApply(object) => {
                self.listed.insert(key(object.meta()));
                Change::Put(object)
            }
            watcher::Event::InitDone => {
                self.synced = true;
                Change::Replaced(std::mem::take(&mut self.listed))
            }
        }
    }
}

/// Keys to look at, each once.
#[derive(Default)]
struct Queue {
    order: VecDeque<Key>,
    queued: BTreeSet<Key>,
}

impl Queue {
    fn extend(&mut self, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            if self.queued.insert(key.clone()) {
                self.order.push_back(key);
            }
        }
    }

    fn pop(&mut self) -> Option<Key> {
        let key = self.order.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }
}
