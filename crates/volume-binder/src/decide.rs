//! The pure decisions: what to write next for a claim or a volume. One write at a time, so that a
//! stop between any two leaves nothing that the next look does not finish.
//!
//! The rules are those of syncUnboundClaim, syncBoundClaim and syncVolume in kubernetes/kubernetes
//! pkg/controller/volume/persistentvolume/pv_controller.go, and of
//! pkg/controller/volume/pvcprotection and pvprotection.

use crate::view::{ClaimKey, Key, View, claim_class, key_of, volume_class, volume_name};
use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_value::quantity;
use kube::core::{Selector, SelectorExt};
use serde_json::{Value, json};

const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";
const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
const PROVISIONER_BETA: &str = "volume.beta.kubernetes.io/storage-provisioner";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The provisioner of classes whose volumes are made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// One write: a merge patch that fails if the object has changed since.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    /// The object.
    pub(crate) target: Key,
    /// Whether to patch its status subresource.
    pub(crate) status: bool,
    /// With the resource version that it was decided on.
    pub(crate) patch: Value,
    /// What to ask the server first, because a watch may lag behind another.
    pub(crate) unless: Option<Unless>,
}

/// A reason not to write that the view cannot exclude.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unless {
    /// The claim with this uid exists.
    ClaimExists(ClaimKey, String),
    /// A scheduled pod uses the claim.
    ClaimInUse(ClaimKey),
}

/// What to write next for this claim or volume; `None`: it is as it should be, or something else
/// must happen first.
pub(crate) fn next_write(view: &View, key: &Key) -> Option<Write> {
    match key {
        Key::Claim(key) => view.claim(key).and_then(|claim| for_claim(view, key, claim)),
        Key::Volume(name) => view.volume(name).and_then(|volume| for_volume(view, volume)),
    }
}

fn for_claim(view: &View, key: &ClaimKey, claim: &PersistentVolumeClaim) -> Option<Write> {
    let patch = Patch::claim(claim);
    let protected = has_finalizer(&claim.metadata, CLAIM_PROTECTION);
    if claim.metadata.deletion_timestamp.is_some() {
        return (protected && !view.in_use(key)).then(|| {
            let write = patch.without_finalizer(&claim.metadata, CLAIM_PROTECTION);
            Write { unless: Some(Unless::ClaimInUse(key.clone())), ..write }
        });
    }
    if !protected {
        return Some(patch.with_finalizer(&claim.metadata, CLAIM_PROTECTION));
    }
    let volume = volume_name(claim).map(|name| view.volume(name));
    if annotation(&claim.metadata, BIND_COMPLETED).is_some() {
        return match volume.flatten() {
            Some(volume) if claim_may_have(claim, volume) => bind(claim, volume),
            _ => phase_of(claim, "Lost"),
        };
    }
    match volume {
        // The user asked for this volume by name.
        Some(Some(volume))
            if claim_may_have(claim, volume)
                && (is_claimed(volume) || satisfies(claim, volume)) =>
        {
            bind(claim, volume)
        }
        Some(_) => phase_of(claim, "Pending"),
        None => match find_volume(view, key, claim) {
            Some(volume) => bind(claim, volume),
            None => provision(view, claim).or_else(|| phase_of(claim, "Pending")),
        },
    }
}

/// The four writes of a binding, in the order in which Kubernetes makes them.
fn bind(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Option<Write> {
    let spec = volume.spec.as_ref()?;
    let name = volume.metadata.name.as_deref()?;
    let uid = claim.metadata.uid.as_deref()?;
    if spec.claim_ref.as_ref().and_then(|held| held.uid.as_deref()) != Some(uid) {
        let (namespace, claim_name) = key_of(&claim.metadata);
        let mut change = json!({ "spec": { "claimRef": {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": namespace,
            "name": claim_name,
            "uid": uid,
            "resourceVersion": claim.metadata.resource_version,
        } } });
        if spec.claim_ref.is_none() {
            change["metadata"] = json!({ "annotations": { BOUND_BY_CONTROLLER: "yes" } });
        }
        return Some(Patch::volume(volume).with(false, change));
    }
    if volume_phase(volume) != "Bound" {
        return Some(Patch::volume(volume).with(true, json!({ "status": { "phase": "Bound" } })));
    }
    if volume_name(claim) != Some(name) || annotation(&claim.metadata, BIND_COMPLETED).is_none() {
        let mut annotations = json!({ BIND_COMPLETED: "yes" });
        if volume_name(claim).is_none() {
            annotations[BOUND_BY_CONTROLLER] = "yes".into();
        }
        let change =
            json!({ "spec": { "volumeName": name }, "metadata": { "annotations": annotations } });
        return Some(Patch::claim(claim).with(false, change));
    }
    let status = claim.status.as_ref();
    let modes = status.and_then(|status| status.access_modes.as_ref());
    if claim_phase(claim) != "Bound" {
        let change = json!({ "status": {
            "phase": "Bound",
            "accessModes": spec.access_modes,
            "capacity": spec.capacity,
        } });
        return Some(Patch::claim(claim).with(true, change));
    }
    (modes != spec.access_modes.as_ref()).then(|| {
        Patch::claim(claim).with(true, json!({ "status": { "accessModes": spec.access_modes } }))
    })
}

/// Whether the volume is free or this claim's, by its claimRef.
fn claim_may_have(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    reference.is_none_or(|reference| refers_to(reference, claim))
}

fn refers_to(reference: &ObjectReference, claim: &PersistentVolumeClaim) -> bool {
    let (namespace, name) = key_of(&claim.metadata);
    reference.namespace.as_deref() == Some(&namespace)
        && reference.name.as_deref() == Some(&name)
        && match reference.uid.as_deref() {
            None | Some("") => true,
            uid => uid == claim.metadata.uid.as_deref(),
        }
}

fn is_claimed(volume: &PersistentVolume) -> bool {
    volume.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_some())
}

/// Whether a free volume is what a claim that names it asks for (`checkVolumeSatisfyClaim`).
fn satisfies(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    volume.metadata.deletion_timestamp.is_none()
        && size_of(volume) >= size_asked(claim)
        && claim_class(claim) == volume_class(volume)
        && same_mode(claim, volume)
        && has_modes(claim, volume)
}

/// A volume made for this claim, or else the smallest free one that is good enough.
fn find_volume<'a>(
    view: &'a View,
    key: &ClaimKey,
    claim: &PersistentVolumeClaim,
) -> Option<&'a PersistentVolume> {
    let large_enough = |volume: &PersistentVolume| size_of(volume) >= size_asked(claim);
    let made_for_it = view.volumes_for(key).find(|volume| {
        volume.metadata.deletion_timestamp.is_none()
            && claim_may_have(claim, volume)
            && same_mode(claim, volume)
            && large_enough(volume)
    });
    if made_for_it.is_some() || waits_for_consumer(view, claim) {
        return made_for_it;
    }
    let good_enough = |volume: &&PersistentVolume| {
        volume.metadata.deletion_timestamp.is_none()
            && volume_phase(volume) == "Available"
            && same_mode(claim, volume)
            && has_modes(claim, volume)
            && selected(claim, volume)
            && large_enough(volume)
    };
    let by_size = |volume: &&PersistentVolume| (size_of(volume), volume.metadata.name.clone());
    view.free_volumes(claim_class(claim)).filter(good_enough).min_by_key(by_size)
}

/// Names the provisioner that shall make a volume.
fn provision(view: &View, claim: &PersistentVolumeClaim) -> Option<Write> {
    let class = view.class(claim_class(claim))?;
    let provisioner = class.provisioner.as_str();
    if provisioner == NO_PROVISIONER || provisioner.is_empty() || waits_for_consumer(view, claim) {
        return None;
    }
    let said = |name| annotation(&claim.metadata, name) == Some(provisioner);
    if said(PROVISIONER) && said(PROVISIONER_BETA) {
        return None;
    }
    let annotations = json!({ PROVISIONER: provisioner, PROVISIONER_BETA: provisioner });
    Some(Patch::claim(claim).with(false, json!({ "metadata": { "annotations": annotations } })))
}

/// Whether the class wants the pod scheduled first, and it is not yet.
fn waits_for_consumer(view: &View, claim: &PersistentVolumeClaim) -> bool {
    let waits =
        |class: &StorageClass| class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
    view.class(claim_class(claim)).is_some_and(waits)
        && annotation(&claim.metadata, SELECTED_NODE).is_none()
}

fn phase_of(claim: &PersistentVolumeClaim, phase: &str) -> Option<Write> {
    (claim_phase(claim) != phase)
        .then(|| Patch::claim(claim).with(true, json!({ "status": { "phase": phase } })))
}

fn for_volume(view: &View, volume: &PersistentVolume) -> Option<Write> {
    let patch = Patch::volume(volume);
    if let Some(write) = follow_claim(view, volume) {
        return Some(write);
    }
    let protected = has_finalizer(&volume.metadata, VOLUME_PROTECTION);
    if volume.metadata.deletion_timestamp.is_some() {
        let free = volume_phase(volume) != "Bound";
        return (protected && free)
            .then(|| patch.without_finalizer(&volume.metadata, VOLUME_PROTECTION));
    }
    (!protected).then(|| patch.with_finalizer(&volume.metadata, VOLUME_PROTECTION))
}

/// The phase that the volume's claim gives it.
fn follow_claim(view: &View, volume: &PersistentVolume) -> Option<Write> {
    let set = |phase: &str| {
        (volume_phase(volume) != phase)
            .then(|| Patch::volume(volume).with(true, json!({ "status": { "phase": phase } })))
    };
    let spec = volume.spec.as_ref()?;
    let Some((reference, uid)) = spec.claim_ref.as_ref().and_then(|reference| {
        let uid = reference.uid.as_deref().filter(|uid| !uid.is_empty())?;
        Some((reference, uid))
    }) else {
        return set("Available");
    };
    let key = (
        reference.namespace.clone().unwrap_or_default(),
        reference.name.clone().unwrap_or_default(),
    );
    let claim = view.claim(&key).filter(|claim| claim.metadata.uid.as_deref() == Some(uid));
    let Some(claim) = claim else {
        if matches!(volume_phase(volume), "Released" | "Failed") {
            return None;
        }
        let write = set("Released")?;
        return Some(Write { unless: Some(Unless::ClaimExists(key, uid.to_owned())), ..write });
    };
    match volume_name(claim) {
        // The claim's own turn binds them, once both fit.
        None => None,
        Some(name) if Some(name) == volume.metadata.name.as_deref() => set("Bound"),
        // The claim took another volume: give this one back to its provisioner or to the free ones.
        Some(_)
            if annotation(&volume.metadata, PROVISIONED_BY).is_some()
                && spec.persistent_volume_reclaim_policy.as_deref() == Some("Delete") =>
        {
            if volume_phase(volume) == "Failed" {
                None
            } else {
                set("Released")
            }
        }
        Some(_) if annotation(&volume.metadata, BOUND_BY_CONTROLLER).is_some() => {
            let change = json!({
                "spec": { "claimRef": null },
                "metadata": { "annotations": { BOUND_BY_CONTROLLER: null } },
            });
            Some(Patch::volume(volume).with(false, change))
        }
        Some(_) => None,
    }
}

/// A patch under way: its target and the version it is decided on.
struct Patch {
    target: Key,
    version: Option<String>,
}

impl Patch {
    fn claim(claim: &PersistentVolumeClaim) -> Self {
        let target = Key::Claim(key_of(&claim.metadata));
        Self { target, version: claim.metadata.resource_version.clone() }
    }

    fn volume(volume: &PersistentVolume) -> Self {
        let target = Key::Volume(volume.metadata.name.clone().unwrap_or_default());
        Self { target, version: volume.metadata.resource_version.clone() }
    }

    fn with(self, status: bool, mut change: Value) -> Write {
        change["metadata"]["resourceVersion"] = self.version.into();
        Write { target: self.target, status, patch: change, unless: None }
    }

    fn with_finalizer(self, metadata: &ObjectMeta, finalizer: &str) -> Write {
        let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(finalizer.to_owned());
        self.with(false, json!({ "metadata": { "finalizers": finalizers } }))
    }

    fn without_finalizer(self, metadata: &ObjectMeta, finalizer: &str) -> Write {
        let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|held| held != finalizer);
        self.with(false, json!({ "metadata": { "finalizers": finalizers } }))
    }
}

fn annotation<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

fn has_finalizer(metadata: &ObjectMeta, finalizer: &str) -> bool {
    metadata.finalizers.iter().flatten().any(|held| held == finalizer)
}

fn claim_phase(claim: &PersistentVolumeClaim) -> &str {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn volume_phase(volume: &PersistentVolume) -> &str {
    volume.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn size_asked(claim: &PersistentVolumeClaim) -> u128 {
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let asked = resources.and_then(|resources| resources.requests.as_ref()?.get("storage"));
    asked.and_then(|asked| quantity::bytes(&asked.0)).unwrap_or(0)
}

fn size_of(volume: &PersistentVolume) -> u128 {
    let capacity = volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref()?.get("storage"));
    capacity.and_then(|capacity| quantity::bytes(&capacity.0)).unwrap_or(0)
}

fn same_mode(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    let asked = claim.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref());
    let has = volume.spec.as_ref().and_then(|spec| spec.volume_mode.as_deref());
    asked.unwrap_or("Filesystem") == has.unwrap_or("Filesystem")
}

fn has_modes(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    let asked = claim.spec.as_ref().and_then(|spec| spec.access_modes.as_ref());
    let has = volume.spec.as_ref().and_then(|spec| spec.access_modes.as_ref());
    asked.into_iter().flatten().all(|mode| has.is_some_and(|has| has.contains(mode)))
}

/// Whether the claim's label selector, if any, admits the volume; one that cannot be read admits
/// none.
fn selected(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    let Some(selector) = claim.spec.as_ref().and_then(|spec| spec.selector.clone()) else {
        return true;
    };
    let none = Default::default();
    let labels = volume.metadata.labels.as_ref().unwrap_or(&none);
    Selector::try_from(selector).is_ok_and(|selector| selector.matches(labels))
}

#[cfg(test)]
mod tests;
