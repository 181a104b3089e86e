//! What is to be done about a volume, from what is known about it. Pure: no clock, no I/O.

use k8s_openapi::api::core::v1::PersistentVolume;
use serde_json::{Value, json};

use crate::location::Location;
use crate::names::{FINALIZER, PROVISIONED_BY};
use crate::outcome::{Problem, Reason};
use crate::us::Us;

/// The next step for a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeStep {
    /// Nothing to do.
    Idle,
    /// Protect it: it will want its directory taken back one day. Its directory is no longer set apart then.
    AddFinalizer(Location),
    /// The directory shall outlive the volume: set it apart, then let the volume go.
    SetApart(Location),
    /// Take the directory back, then the finalizer, then the volume.
    TakeBack(Location),
    /// Its claim seems to be gone before they were bound. If the server agrees, take it back.
    TakeBackIfAbandoned(Location),
    /// It is ours, something is to be done, and it must not be.
    Refuse(Problem),
}

/// Decides the next step for a volume. `claim_known`: whether a claim with the UID of its reference is known to exist.
#[must_use]
pub fn decide(us: &Us, volume: &PersistentVolume, claim_known: bool) -> VolumeStep {
    let Some(spec) = volume.spec.as_ref() else { return VolumeStep::Idle };
    let provisioned_by = volume.metadata.annotations.as_ref().and_then(|all| all.get(PROVISIONED_BY));
    if provisioned_by != Some(&us.provisioner) || spec.storage_class_name.as_ref() != Some(&us.storage_class)
    {
        return VolumeStep::Idle;
    }
    let protected = has_finalizer(volume);
    let deleting = volume.metadata.deletion_timestamp.is_some();
    let with_location = |step: fn(Location) -> VolumeStep| match locate(us, volume) {
        Ok(location) => step(location),
        Err(problem) => VolumeStep::Refuse(problem),
    };
    if spec.persistent_volume_reclaim_policy.as_deref() != Some("Delete") {
        return if protected { with_location(VolumeStep::SetApart) } else { VolumeStep::Idle };
    }
    if deleting && !protected {
        // Somebody else's finalizer holds what we are done with.
        return VolumeStep::Idle;
    }
    let claimed =
        spec.claim_ref.as_ref().is_some_and(|claim| claim.uid.as_deref().is_some_and(|uid| !uid.is_empty()));
    match volume.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending") {
        "Released" => with_location(VolumeStep::TakeBack),
        "Pending" | "Available" | "" if claimed && !claim_known => {
            with_location(VolumeStep::TakeBackIfAbandoned)
        }
        _ if !protected => with_location(VolumeStep::AddFinalizer),
        _ => VolumeStep::Idle,
    }
}

/// The directory that is this volume's, if the volume tells a consistent story: its path, its name and its claim must agree,
/// or a volume made by hand could have another's directory removed.
fn locate(us: &Us, volume: &PersistentVolume) -> Result<Location, Problem> {
    let refuse = |why: String| {
        Problem::lasting(
            Reason::DirectoryForeign,
            &format!("the directory of this PersistentVolume is left alone, since {why}"),
        )
    };
    let spec = volume.spec.as_ref();
    let path = spec.and_then(|spec| spec.host_path.as_ref()).map(|source| source.path.as_str());
    let path = path.ok_or_else(|| refuse("it has no hostPath".to_owned()))?;
    let location = Location::of_host_path(&us.root, path).map_err(|error| refuse(error.to_string()))?;
    if volume.metadata.name.as_deref() != Some(location.name()) {
        return Err(refuse(format!("the path {path:?} does not end in the volume's name")));
    }
    let claim_uid = spec.and_then(|spec| spec.claim_ref.as_ref()).and_then(|claim| claim.uid.as_deref());
    if claim_uid.is_some_and(|uid| uid != location.claim_uid()) {
        return Err(refuse("it was made for another claim than it refers to".to_owned()));
    }
    Ok(location)
}

/// Whether our finalizer is on the volume.
#[must_use]
pub fn has_finalizer(volume: &PersistentVolume) -> bool {
    volume.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

/// The merge patch that puts our finalizer on or takes it off; `None` when it is so already.
///
/// It carries UID and resource version, so that it can neither hit another volume of the name nor undo another's change to the list.
#[must_use]
pub fn finalizer_patch(volume: &PersistentVolume, wanted: bool) -> Option<Value> {
    if has_finalizer(volume) == wanted {
        return None;
    }
    let others = volume.metadata.finalizers.iter().flatten().filter(|finalizer| *finalizer != FINALIZER);
    let mut finalizers: Vec<&str> = others.map(String::as_str).collect();
    if wanted {
        finalizers.push(FINALIZER);
    }
    Some(json!({
        "metadata": {
            "uid": volume.metadata.uid,
            "resourceVersion": volume.metadata.resource_version,
            "finalizers": if finalizers.is_empty() { Value::Null } else { json!(finalizers) },
        },
    }))
}
