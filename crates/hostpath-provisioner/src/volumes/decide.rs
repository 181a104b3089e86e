//! What is to be done about a volume, from what is known about it, and the order in which one is
//! taken back. Pure: no clock, no I/O.

use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reconciler::Finalizers as _;

use crate::location::Location;
use crate::names::{FINALIZER, PROVISIONED_BY};
use crate::outcome::{Problem, Reason};
use crate::us::Us;

/// The next step for a volume.
#[derive(Clone, Debug, PartialEq)]
pub enum VolumeStep {
    /// Nothing to do.
    Idle,
    /// Protect it: it will want its directory taken back one day. Its directory is no longer set
    /// apart then.
    AddFinalizer(Location),
    /// The directory shall outlive the volume: set it apart, then let the volume go.
    SetApart(Location),
    /// It seems to be wanted no more. [`TakingBack`] asks the server, and takes it back if that
    /// agrees.
    TakeBack(Location),
    /// It is being deleted, and its directory is not to be removed with it: take the finalizer off.
    LetGo,
    /// It is ours, something is to be done, and it must not be.
    Refuse(Problem),
}

/// Decides the next step for a volume. `claim_known`: whether a claim with the UID of its reference
/// is known to exist.
#[must_use]
pub fn decide(us: &Us, volume: &PersistentVolume, claim_known: bool) -> VolumeStep {
    let Some(spec) = volume.spec.as_ref() else { return VolumeStep::Idle };
    let provisioned_by =
        volume.metadata.annotations.as_ref().and_then(|all| all.get(PROVISIONED_BY));
    if provisioned_by != Some(&us.provisioner)
        || spec.storage_class_name.as_ref() != Some(&us.storage_class)
    {
        return VolumeStep::Idle;
    }
    let protected = volume.has_finalizer(FINALIZER);
    let deleting = volume.metadata.deletion_timestamp.is_some();
    let refused = |problem: Problem| {
        if deleting && protected { VolumeStep::LetGo } else { VolumeStep::Refuse(problem) }
    };
    let with_location =
        |step: fn(Location) -> VolumeStep| locate(us, volume).map_or_else(refused, step);
    if spec.persistent_volume_reclaim_policy.as_deref() != Some("Delete") {
        // Whose claim it is does not matter to what stays.
        return match place(us, volume) {
            _ if !protected => VolumeStep::Idle,
            Ok(location) => VolumeStep::SetApart(location),
            Err(problem) => refused(problem),
        };
    }
    if deleting && !protected {
        // Somebody else's finalizer holds what we are done with.
        return VolumeStep::Idle;
    }
    let claimed = spec
        .claim_ref
        .as_ref()
        .is_some_and(|claim| claim.uid.as_deref().is_some_and(|uid| !uid.is_empty()));
    match phase_of(volume) {
        // Whoever lets go of a claim frees the volume for another one.
        "Released" if claimed => with_location(VolumeStep::TakeBack),
        "Pending" | "Available" | "" if claimed && !claim_known => {
            with_location(VolumeStep::TakeBack)
        }
        // One that is used by another claim than it was made for is refused when it is to be taken
        // back, not before.
        _ if !protected => locate(us, volume).map_or(VolumeStep::Idle, VolumeStep::AddFinalizer),
        // Freed for another claim, and deleted before there was one.
        _ if deleting && !claimed => VolumeStep::LetGo,
        _ => VolumeStep::Idle,
    }
}

/// The directory that is this volume's, if the volume tells a consistent story: its path, its name
/// and its claim must agree, or a volume made by hand could have another's directory removed.
fn locate(us: &Us, volume: &PersistentVolume) -> Result<Location, Problem> {
    let location = place(us, volume)?;
    let spec = volume.spec.as_ref();
    let claim_uid =
        spec.and_then(|spec| spec.claim_ref.as_ref()).and_then(|claim| claim.uid.as_deref());
    if claim_uid.is_some_and(|uid| uid != location.claim_uid()) {
        return Err(left_alone(
            "it was made for another claim than it refers to: delete the volume, and remove the directory by hand",
        ));
    }
    Ok(location)
}

/// The same, whatever claim the volume refers to.
fn place(us: &Us, volume: &PersistentVolume) -> Result<Location, Problem> {
    let spec = volume.spec.as_ref();
    let path = spec.and_then(|spec| spec.host_path.as_ref()).map(|source| source.path.as_str());
    let path = path.ok_or_else(|| left_alone("it has no hostPath"))?;
    let location =
        Location::of_host_path(&us.root, path).map_err(|error| left_alone(&error.to_string()))?;
    if volume.metadata.name.as_deref() != Some(location.name()) {
        return Err(left_alone(&format!("the path {path:?} does not end in the volume's name")));
    }
    Ok(location)
}

fn left_alone(why: &str) -> Problem {
    Problem::lasting(
        Reason::DirectoryForeign,
        &format!("the directory of this PersistentVolume is left alone, since {why}"),
    )
}

/// A claim, by its names and its UID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimName {
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// The claim's UID: a claim that was made again under the name is another one.
    pub uid: String,
}

/// The next step of taking a volume back.
#[derive(Clone, Debug, PartialEq)]
pub enum TakingBackStep {
    /// Read the volume from the server.
    ReadVolume,
    /// Read from the server whether this claim exists, for which the directory was made.
    ReadClaim(ClaimName, Location),
    /// Look whether the directory may be removed.
    Inspect(Location),
    /// Put the finalizer on, on condition that the volume has not changed.
    Protect,
    /// Ask the server to delete the volume, on condition that it has not changed. The finalizer
    /// holds it.
    DeclareDeletion,
    /// Remove the directory. From here on there is no way back.
    Remove(Location),
    /// Take the finalizer off, on condition that the volume has not changed.
    Free,
    /// It is taken back.
    Done,
    /// The volume is not to be taken back after all; this is to be done.
    Instead(VolumeStep),
    /// Its claim exists, and was not in the cache yet: look again.
    LookAgain,
    /// It cannot be taken back as things are.
    Fail(Problem),
}

/// How far a volume has been taken back: the justification first, then the intention, then what
/// cannot be undone.
///
/// Whatever is known comes from the server or the disk in this attempt. A conflict makes all of it
/// unknown, but for a directory that has been removed. A crash does the same: the server has the
/// deletion, and the disk the trash.
#[derive(Clone, Debug, Default)]
pub struct TakingBack {
    volume: Option<PersistentVolume>,
    claim_is_gone: Option<bool>,
    inspected: bool,
    declared: bool,
    removed: bool,
}

impl TakingBack {
    /// The next step.
    #[must_use]
    pub fn next(&self, us: &Us) -> TakingBackStep {
        let Some(volume) = &self.volume else { return TakingBackStep::ReadVolume };
        if self.removed
            && volume.metadata.deletion_timestamp.is_some()
            && !volume.has_finalizer(FINALIZER)
        {
            return TakingBackStep::Done;
        }
        let location = match decide(us, volume, false) {
            VolumeStep::TakeBack(location) => location,
            _ if self.removed => return directory_lost(),
            other => return TakingBackStep::Instead(other),
        };
        let Some(claim) = claim_of(volume) else {
            return TakingBackStep::Fail(Problem::lasting(
                Reason::ClaimExists,
                "nothing is removed: the claimRef of the volume lacks namespace, name or uid",
            ));
        };
        match self.claim_is_gone {
            None => return TakingBackStep::ReadClaim(claim, location),
            Some(true) => {}
            Some(false) if self.removed => return directory_lost(),
            Some(false) if phase_of(volume) == "Released" => {
                let ClaimName { namespace, name, uid } = claim;
                return TakingBackStep::Fail(Problem::passing(
                    Reason::ClaimExists,
                    &format!(
                        "nothing is removed: the phase is Released, and the claim {namespace}/{name} (UID {uid}) exists; \
                         look who set the phase"
                    ),
                ));
            }
            Some(false) => return TakingBackStep::LookAgain,
        }
        if !self.inspected {
            return TakingBackStep::Inspect(location);
        }
        if self.removed {
            return TakingBackStep::Free;
        }
        if !volume.has_finalizer(FINALIZER) {
            return TakingBackStep::Protect;
        }
        if self.declared {
            TakingBackStep::Remove(location)
        } else {
            TakingBackStep::DeclareDeletion
        }
    }

    /// The volume as the server holds it now.
    #[must_use]
    pub fn volume(&self) -> Option<&PersistentVolume> {
        self.volume.as_ref()
    }

    /// Whether the directory has been removed.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        self.removed
    }

    /// The server's answer to [`TakingBackStep::ReadVolume`].
    pub fn volume_read(&mut self, volume: PersistentVolume) {
        self.volume = Some(volume);
    }

    /// The server's answer to [`TakingBackStep::ReadClaim`]: the UID of the claim of this name, if
    /// there is one.
    pub fn claim_read(&mut self, found_uid: Option<&str>) {
        let wanted = self.volume.as_ref().and_then(claim_of);
        self.claim_is_gone = Some(wanted.is_some_and(|wanted| found_uid != Some(&wanted.uid)));
    }

    /// [`TakingBackStep::Inspect`] found nothing that says no.
    pub fn inspected(&mut self) {
        self.inspected = true;
    }

    /// The finalizer is on: the volume as the server has written it.
    pub fn protected(&mut self, metadata: ObjectMeta) {
        if let Some(volume) = &mut self.volume {
            volume.metadata = metadata;
        }
    }

    /// The server has taken the deletion: the volume as it has written it.
    pub fn declared(&mut self, volume: PersistentVolume) {
        self.volume = Some(volume);
        self.declared = true;
    }

    /// The directory is gone.
    pub fn removed(&mut self) {
        self.removed = true;
    }

    /// A conditional write was refused: the volume is another one than was known.
    pub fn conflicted(&mut self) {
        *self = Self { removed: self.removed, ..Self::default() };
    }
}

fn directory_lost() -> TakingBackStep {
    TakingBackStep::Fail(Problem::lasting(
        Reason::DirectoryLost,
        "the directory was removed for a claim that was gone, and the volume is wanted again since: its data is gone",
    ))
}

fn claim_of(volume: &PersistentVolume) -> Option<ClaimName> {
    let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
    let (namespace, name, uid) =
        (claim.namespace.clone()?, claim.name.clone()?, claim.uid.clone()?);
    Some(ClaimName { namespace, name, uid })
}

fn phase_of(volume: &PersistentVolume) -> &str {
    volume.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}
