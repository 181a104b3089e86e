//! What the binder knows: claims, volumes, classes and pods as the watches told, with the indexes
//! its decisions need. In order, so that the same events lead to the same writes.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Namespace and name.
pub(crate) type ClaimKey = (String, String);

/// What is to be looked at again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Claim(ClaimKey),
    Volume(String),
}

/// One group of keys for each index value.
#[derive(Debug)]
struct Index<V, K>(BTreeMap<V, BTreeSet<K>>);

impl<V, K> Default for Index<V, K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V: Ord, K: Ord> Index<V, K> {
    fn insert(&mut self, value: V, key: K) {
        self.0.entry(value).or_default().insert(key);
    }

    fn remove(&mut self, value: V, key: &K) {
        if let Entry::Occupied(mut held) = self.0.entry(value) {
            held.get_mut().remove(key);
            if held.get().is_empty() {
                held.remove();
            }
        }
    }

    fn of<'a, Q>(&'a self, value: &Q) -> impl Iterator<Item = &'a K>
    where
        V: std::borrow::Borrow<Q> + 'a,
        Q: Ord + ?Sized,
    {
        self.0.get(value).into_iter().flatten()
    }
}

/// The state of the world. Methods that change it return what must be looked at again.
#[derive(Debug, Default)]
pub(crate) struct View {
    claims: BTreeMap<ClaimKey, PersistentVolumeClaim>,
    volumes: BTreeMap<String, PersistentVolume>,
    classes: BTreeMap<String, StorageClass>,
    pods: BTreeMap<ClaimKey, Vec<ClaimKey>>,
    /// Claims by `spec.volumeName`.
    claims_of_volume: Index<String, ClaimKey>,
    /// Claims without `spec.volumeName`, by class.
    waiting: Index<String, ClaimKey>,
    /// Volumes by namespace and name of their claimRef.
    volumes_of_claim: Index<ClaimKey, String>,
    /// Volumes without a claimRef, by class.
    free: Index<String, String>,
    /// Scheduled pods by the claims that they use.
    pods_of_claim: Index<ClaimKey, ClaimKey>,
}

impl View {
    pub(crate) fn claim(&self, key: &ClaimKey) -> Option<&PersistentVolumeClaim> {
        self.claims.get(key)
    }

    pub(crate) fn claim_keys(&self) -> Vec<ClaimKey> {
        self.claims.keys().cloned().collect()
    }

    pub(crate) fn volume(&self, name: &str) -> Option<&PersistentVolume> {
        self.volumes.get(name)
    }

    pub(crate) fn volume_names(&self) -> Vec<String> {
        self.volumes.keys().cloned().collect()
    }

    pub(crate) fn class(&self, name: &str) -> Option<&StorageClass> {
        self.classes.get(name)
    }

    pub(crate) fn class_names(&self) -> Vec<String> {
        self.classes.keys().cloned().collect()
    }

    pub(crate) fn pod_keys(&self) -> Vec<ClaimKey> {
        self.pods.keys().cloned().collect()
    }

    /// Volumes whose claimRef has this namespace and name, whatever its uid.
    pub(crate) fn volumes_for(&self, key: &ClaimKey) -> impl Iterator<Item = &PersistentVolume> {
        self.volumes_of_claim.of(key).filter_map(|name| self.volumes.get(name))
    }

    /// Volumes of a class that no claim has.
    pub(crate) fn free_volumes(&self, class: &str) -> impl Iterator<Item = &PersistentVolume> {
        self.free.of(class).filter_map(|name| self.volumes.get(name))
    }

    /// Whether a scheduled pod uses the claim.
    pub(crate) fn in_use(&self, key: &ClaimKey) -> bool {
        self.pods_of_claim.of(key).next().is_some()
    }

    /// A newer version of a claim; an older or equal one changes nothing.
    pub(crate) fn put_claim(&mut self, claim: PersistentVolumeClaim) -> Vec<Key> {
        let key = key_of(&claim.metadata);
        if self.claims.get(&key).is_some_and(|held| !is_newer(&claim.metadata, &held.metadata)) {
            return Vec::new();
        }
        let mut touched = self.remove_claim(&key);
        match volume_name(&claim) {
            Some(volume) => {
                self.claims_of_volume.insert(volume.to_owned(), key.clone());
                touched.push(Key::Volume(volume.to_owned()));
            }
            None => self.waiting.insert(claim_class(&claim).to_owned(), key.clone()),
        }
        self.claims.insert(key.clone(), claim);
        touched.extend(self.volumes_of_claim.of(&key).cloned().map(Key::Volume));
        touched.push(Key::Claim(key));
        touched
    }

    /// A claim that is gone.
    pub(crate) fn remove_claim(&mut self, key: &ClaimKey) -> Vec<Key> {
        let Some(claim) = self.claims.remove(key) else { return Vec::new() };
        let mut touched: Vec<_> = self.volumes_of_claim.of(key).cloned().map(Key::Volume).collect();
        match volume_name(&claim) {
            Some(volume) => {
                self.claims_of_volume.remove(volume.to_owned(), key);
                touched.push(Key::Volume(volume.to_owned()));
            }
            None => self.waiting.remove(claim_class(&claim).to_owned(), key),
        }
        touched
    }

    /// A newer version of a volume; an older or equal one changes nothing.
    pub(crate) fn put_volume(&mut self, volume: PersistentVolume) -> Vec<Key> {
        let name = volume.metadata.name.clone().unwrap_or_default();
        if self.volumes.get(&name).is_some_and(|held| !is_newer(&volume.metadata, &held.metadata)) {
            return Vec::new();
        }
        let mut touched = self.remove_volume(&name);
        touched.extend(self.claims_of_volume.of(&name).cloned().map(Key::Claim));
        match claim_ref(&volume) {
            Some(claim) => {
                touched.push(Key::Claim(claim.clone()));
                self.volumes_of_claim.insert(claim, name.clone());
            }
            None => {
                let class = volume_class(&volume);
                touched.extend(self.waiting.of(class).cloned().map(Key::Claim));
                self.free.insert(class.to_owned(), name.clone());
            }
        }
        self.volumes.insert(name.clone(), volume);
        touched.push(Key::Volume(name));
        touched
    }

    /// A volume that is gone.
    pub(crate) fn remove_volume(&mut self, name: &str) -> Vec<Key> {
        let Some(volume) = self.volumes.remove(name) else { return Vec::new() };
        let mut touched: Vec<_> = self.claims_of_volume.of(name).cloned().map(Key::Claim).collect();
        match claim_ref(&volume) {
            Some(claim) => {
                self.volumes_of_claim.remove(claim.clone(), &name.to_owned());
                touched.push(Key::Claim(claim));
            }
            None => self.free.remove(volume_class(&volume).to_owned(), &name.to_owned()),
        }
        touched
    }

    pub(crate) fn put_class(&mut self, class: StorageClass) -> Vec<Key> {
        let name = class.metadata.name.clone().unwrap_or_default();
        let touched = self.waiting.of(&name).cloned().map(Key::Claim).collect();
        self.classes.insert(name, class);
        touched
    }

    pub(crate) fn remove_class(&mut self, name: &str) -> Vec<Key> {
        self.classes.remove(name);
        Vec::new()
    }

    pub(crate) fn put_pod(&mut self, pod: &Pod) -> Vec<Key> {
        let key = key_of(&pod.metadata);
        let touched = self.remove_pod(&key);
        let claims: Vec<_> = claims_of_pod(pod).collect();
        for claim in &claims {
            self.pods_of_claim.insert(claim.clone(), key.clone());
        }
        self.pods.insert(key, claims);
        touched
    }

    /// A pod that is gone, or has changed: its claims that are being deleted may be free now.
    pub(crate) fn remove_pod(&mut self, key: &ClaimKey) -> Vec<Key> {
        let claims = self.pods.remove(key).unwrap_or_default();
        for claim in &claims {
            self.pods_of_claim.remove(claim.clone(), key);
        }
        claims.into_iter().map(Key::Claim).collect()
    }
}

/// The claims that a pod uses; none before it is scheduled, because no kubelet starts it on a claim
/// that is being deleted.
pub(crate) fn claims_of_pod(pod: &Pod) -> impl Iterator<Item = ClaimKey> {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let spec = pod
        .spec
        .as_ref()
        .filter(|spec| spec.node_name.as_ref().is_some_and(|node| !node.is_empty()));
    let volumes = spec.and_then(|spec| spec.volumes.as_ref()).into_iter().flatten();
    let pod_name = pod.metadata.name.clone().unwrap_or_default();
    volumes.filter_map(move |volume| {
        let claim = match (&volume.persistent_volume_claim, &volume.ephemeral) {
            (Some(source), _) => source.claim_name.clone(),
            (None, Some(_)) => format!("{pod_name}-{}", volume.name),
            (None, None) => return None,
        };
        Some((namespace.clone(), claim))
    })
}

pub(crate) fn key_of(metadata: &ObjectMeta) -> ClaimKey {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

pub(crate) fn volume_name(claim: &PersistentVolumeClaim) -> Option<&str> {
    let name = claim.spec.as_ref()?.volume_name.as_deref()?;
    (!name.is_empty()).then_some(name)
}

/// The claim's class; the deprecated annotation wins, as in Kubernetes.
pub(crate) fn claim_class(claim: &PersistentVolumeClaim) -> &str {
    let spec = claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
    beta_class(&claim.metadata).or(spec).unwrap_or_default()
}

/// The volume's class; the deprecated annotation wins, as in Kubernetes.
pub(crate) fn volume_class(volume: &PersistentVolume) -> &str {
    let spec = volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_deref());
    beta_class(&volume.metadata).or(spec).unwrap_or_default()
}

fn beta_class(metadata: &ObjectMeta) -> Option<&str> {
    metadata
        .annotations
        .as_ref()?
        .get("volume.beta.kubernetes.io/storage-class")
        .map(String::as_str)
}

fn claim_ref(volume: &PersistentVolume) -> Option<ClaimKey> {
    let reference = volume.spec.as_ref()?.claim_ref.as_ref()?;
    Some((
        reference.namespace.clone().unwrap_or_default(),
        reference.name.clone().unwrap_or_default(),
    ))
}

/// Whether `new` comes after `held`. Versions of this server are numbers; anything else is taken as
/// it comes.
fn is_newer(new: &ObjectMeta, held: &ObjectMeta) -> bool {
    let number = |metadata: &ObjectMeta| metadata.resource_version.as_deref()?.parse::<u64>().ok();
    match (number(new), number(held)) {
        (Some(new), Some(held)) => new > held,
        _ => new.resource_version != held.resource_version,
    }
}
