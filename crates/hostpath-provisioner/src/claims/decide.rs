//! What is to be done about a claim, from what is known about it. Pure: no clock, no I/O.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    HostPathVolumeSource, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectReference,
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, VolumeNodeAffinity,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::location::Location;
use crate::names::{
    FINALIZER, PROVISIONED_BY, SELECTED_NODE, STORAGE_PROVISIONER, STORAGE_PROVISIONER_BETA,
    WAITING_MESSAGE, WAITING_REASON, volume_name,
};
use crate::outcome::{Problem, Reason};
use crate::parameters::Parameters;
use crate::us::Us;

/// The class annotation that is older than the field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The next step for a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimStep {
    /// Nothing to do; a note from an earlier wait is taken off if there is one.
    Idle(Idle),
    /// It waits until something changes; say so on the claim.
    Wait(Problem),
    /// Make its directory, then its volume.
    Provision(Box<Plan>),
    /// It is gone, or going: take back what may have been begun and has no volume yet.
    TakeBack,
}

/// Why there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Another class or another provisioner is asked.
    NotOurs,
    /// Nobody has asked us yet: the binder writes the annotation when it is time to.
    NotAsked,
    /// It has a volume, or one is waiting to be bound to it.
    Settled,
}

/// Everything that is made for one claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where the directory belongs.
    pub location: Location,
    /// The directory's permission bits.
    pub mode: u32,
    /// The claim's namespace.
    pub claim_namespace: String,
    /// The claim's name.
    pub claim_name: String,
    /// The volume to create.
    pub volume: PersistentVolume,
}

/// Decides the next step for the claim with this UID.
///
/// `claim` is the claim of that UID (`None`: there is none any more), `class` the StorageClass we
/// serve, `volume` the volume of the claim's name.
#[must_use]
pub fn decide(
    us: &Us,
    claim: Option<&PersistentVolumeClaim>,
    class: Option<&StorageClass>,
    volume: Option<&PersistentVolume>,
) -> ClaimStep {
    let Some(claim) = claim else { return ClaimStep::TakeBack };
    let annotation = |name: &str| {
        claim.metadata.annotations.as_ref().and_then(|all| all.get(name)).map(String::as_str)
    };
    let spec = claim.spec.as_ref();
    let named_class = annotation(CLASS_ANNOTATION)
        .or_else(|| spec.and_then(|spec| spec.storage_class_name.as_deref()));
    if named_class != Some(&us.storage_class) {
        return ClaimStep::Idle(Idle::NotOurs);
    }
    if spec.and_then(|spec| spec.volume_name.as_deref()).is_some_and(|name| !name.is_empty()) {
        return match unsupported_change(us, claim, volume) {
            Some(problem) => ClaimStep::Wait(problem),
            None => ClaimStep::Idle(Idle::Settled),
        };
    }
    match annotation(STORAGE_PROVISIONER).or_else(|| annotation(STORAGE_PROVISIONER_BETA)) {
        None => return ClaimStep::Idle(Idle::NotAsked),
        Some(name) if name != us.provisioner => return ClaimStep::Idle(Idle::NotOurs),
        Some(_) => {}
    }
    if claim.metadata.deletion_timestamp.is_some() {
        return ClaimStep::TakeBack;
    }
    let Some(class) = class else {
        return ClaimStep::Wait(Problem::lasting(
            Reason::ClassNotFound,
            &format!("the StorageClass {:?} does not exist", us.storage_class),
        ));
    };
    if class.provisioner != us.provisioner {
        return ClaimStep::Idle(Idle::NotOurs);
    }
    let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
    if waits && annotation(SELECTED_NODE).is_none_or(str::is_empty) {
        return ClaimStep::Idle(Idle::NotAsked);
    }
    match plan(us, claim, class) {
        Err(problem) => ClaimStep::Wait(problem),
        Ok(plan) => match volume {
            None => ClaimStep::Provision(Box::new(plan)),
            Some(volume) => match verify(us, &plan, volume) {
                Ok(()) => ClaimStep::Idle(Idle::Settled),
                Err(problem) => ClaimStep::Wait(problem),
            },
        },
    }
}

/// What a bound claim asks to change about its volume, where that volume is ours: nobody would ever
/// answer.
fn unsupported_change(
    us: &Us,
    claim: &PersistentVolumeClaim,
    volume: Option<&PersistentVolume>,
) -> Option<Problem> {
    let unusable = |what: String| Some(Problem::lasting(Reason::ClaimUnusable, &what));
    let volume = volume?;
    let by = volume.metadata.annotations.as_ref().and_then(|all| all.get(PROVISIONED_BY));
    let spec = claim.spec.as_ref()?;
    if by != Some(&us.provisioner) || spec.volume_name != volume.metadata.name {
        return None;
    }
    let status = claim.status.as_ref();
    let wanted = spec.volume_attributes_class_name.as_deref().filter(|name| !name.is_empty());
    let present = status.and_then(|status| status.current_volume_attributes_class_name.as_deref());
    if let Some(wanted) = wanted.filter(|wanted| Some(*wanted) != present) {
        return unusable(no_attributes(wanted));
    }
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let requested = requests.and_then(|all| all.get("storage"))?;
    let capacity =
        status.and_then(|status| status.capacity.as_ref()).and_then(|all| all.get("storage"))?;
    if amount(requested)? <= amount(capacity)? {
        return None;
    }
    unusable(format!(
        "the claim requests {} and has {}: a directory cannot be expanded, and holds what its disk holds; go on with it as it is",
        requested.0, capacity.0
    ))
}

fn no_attributes(class: &str) -> String {
    format!(
        "the claim has volumeAttributesClassName {class:?}: a directory has no attributes; make the claim without it"
    )
}

/// A quantity as a number, to be compared with another.
fn amount(quantity: &Quantity) -> Option<f64> {
    let text = quantity.0.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(split)?;
    let number: f64 = number.parse().ok()?;
    let binary = |power: i32| 1024_f64.powi(power);
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => 10_f64.powi(exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    Some(number * factor)
}

/// Whether a volume that already stands under the claim's name is the one we would make.
///
/// # Errors
/// When it is not: it will not be touched, and the claim waits.
pub fn verify(us: &Us, plan: &Plan, volume: &PersistentVolume) -> Result<(), Problem> {
    let taken = |what: &str| {
        Err(Problem::lasting(
            Reason::VolumeNameTaken,
            &format!(
                "the PersistentVolume {} exists and {what}: delete it if nobody needs it",
                plan.location.name()
            ),
        ))
    };
    let ours = volume.metadata.annotations.as_ref().and_then(|all| all.get(PROVISIONED_BY))
        == Some(&us.provisioner);
    if !ours {
        return taken("was not made by this provisioner");
    }
    let spec = volume.spec.as_ref();
    let claim_uid =
        spec.and_then(|spec| spec.claim_ref.as_ref()).and_then(|claim| claim.uid.as_deref());
    if claim_uid != Some(plan.location.claim_uid()) {
        return taken("belongs to another claim");
    }
    let path = spec.and_then(|spec| spec.host_path.as_ref()).map(|source| source.path.as_str());
    if path.map(|path| Location::of_host_path(&us.root, path)) != Some(Ok(plan.location.clone())) {
        return taken("has another path");
    }
    Ok(())
}

fn plan(us: &Us, claim: &PersistentVolumeClaim, class: &StorageClass) -> Result<Plan, Problem> {
    let unusable = |what: &str| Problem::lasting(Reason::ClaimUnusable, what);
    let class_unusable = |what: String| Problem::lasting(Reason::ClassUnusable, &what);
    let (Some(uid), Some(name), Some(namespace), Some(spec)) =
        (&claim.metadata.uid, &claim.metadata.name, &claim.metadata.namespace, &claim.spec)
    else {
        return Err(unusable("the claim has no uid, name, namespace or spec"));
    };
    if spec.volume_mode.as_deref().is_some_and(|mode| mode != "Filesystem") {
        return Err(unusable(
            "the claim asks for volumeMode Block: a directory can only be a Filesystem",
        ));
    }
    if spec.selector.is_some() {
        return Err(unusable(
            "the claim has a selector: a volume that is made for it has no labels to select by",
        ));
    }
    if let Some(class) =
        spec.volume_attributes_class_name.as_deref().filter(|name| !name.is_empty())
    {
        return Err(unusable(&no_attributes(class)));
    }
    if spec.data_source.is_some() || spec.data_source_ref.is_some() {
        return Err(unusable("the claim has a dataSource: directories begin empty"));
    }
    let storage = spec
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref())
        .and_then(|all| all.get("storage"));
    let Some(storage) = storage else { return Err(unusable("the claim requests no storage")) };
    if class.mount_options.as_ref().is_some_and(|options| !options.is_empty()) {
        return Err(class_unusable(format!(
            "the StorageClass {:?} has mountOptions: a hostPath volume is not mounted with options",
            us.storage_class
        )));
    }
    let policy = class.reclaim_policy.as_deref().unwrap_or("Delete");
    if !matches!(policy, "Delete" | "Retain") {
        return Err(class_unusable(format!(
            "the StorageClass {:?} has reclaimPolicy {policy:?}: only Delete and Retain are possible",
            us.storage_class
        )));
    }
    let parameters = Parameters::parse(class.parameters.as_ref())?;
    let location = parameters.locate(namespace, uid)?;
    let Some(path) = location.below(&us.root).to_str().map(str::to_owned) else {
        return Err(unusable("the root's path is not UTF-8"));
    };
    let volume = PersistentVolume {
        metadata: ObjectMeta {
            name: Some(volume_name(uid)),
            annotations: Some(BTreeMap::from([(
                PROVISIONED_BY.to_owned(),
                us.provisioner.clone(),
            )])),
            // Also with Retain: the finalizer goes once the directory has been set apart, so that
            // no sweep takes it for an orphan.
            finalizers: Some(vec![FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            access_modes: spec.access_modes.clone(),
            capacity: Some(BTreeMap::from([("storage".to_owned(), storage.clone())])),
            claim_ref: Some(ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("PersistentVolumeClaim".to_owned()),
                namespace: Some(namespace.clone()),
                name: Some(name.clone()),
                uid: Some(uid.clone()),
                resource_version: claim.metadata.resource_version.clone(),
                ..ObjectReference::default()
            }),
            host_path: Some(HostPathVolumeSource { path, type_: Some("Directory".to_owned()) }),
            node_affinity: us.node_label.as_ref().map(on_nodes_with),
            persistent_volume_reclaim_policy: Some(policy.to_owned()),
            storage_class_name: Some(us.storage_class.clone()),
            volume_mode: Some("Filesystem".to_owned()),
            ..PersistentVolumeSpec::default()
        }),
        status: None,
    };
    Ok(Plan {
        location,
        mode: parameters.mode,
        claim_namespace: namespace.clone(),
        claim_name: name.clone(),
        volume,
    })
}

/// Lets pods with the volume go only to nodes with this label.
fn on_nodes_with((key, value): &(String, String)) -> VolumeNodeAffinity {
    let labelled = NodeSelectorRequirement {
        key: key.clone(),
        operator: "In".to_owned(),
        values: Some(vec![value.clone()]),
    };
    let term = NodeSelectorTerm { match_expressions: Some(vec![labelled]), match_fields: None };
    VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms: vec![term] }) }
}

/// What a claim says about why it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// One word of [`Reason`].
    pub reason: String,
    /// One sentence.
    pub message: String,
}

impl From<&Problem> for Note {
    fn from(problem: &Problem) -> Self {
        Self { reason: problem.reason.as_str().to_owned(), message: problem.message.clone() }
    }
}

/// The note that a claim carries.
#[must_use]
pub fn note_of(claim: &PersistentVolumeClaim) -> Option<Note> {
    let annotations = claim.metadata.annotations.as_ref()?;
    let get = |name: &str| annotations.get(name).cloned();
    match (get(WAITING_REASON), get(WAITING_MESSAGE)) {
        (None, None) => None,
        (reason, message) => {
            Some(Note { reason: reason.unwrap_or_default(), message: message.unwrap_or_default() })
        }
    }
}

/// The merge patch that makes a claim carry this note, or none; `None` when it does already.
///
/// The UID in it makes the server refuse it for another claim of the same name.
#[must_use]
pub fn note_patch(claim: &PersistentVolumeClaim, wanted: Option<&Note>) -> Option<Value> {
    if note_of(claim).as_ref() == wanted {
        return None;
    }
    Some(json!({
        "metadata": {
            "uid": claim.metadata.uid,
            "annotations": {
                WAITING_REASON: wanted.map(|note| note.reason.as_str()),
                WAITING_MESSAGE: wanted.map(|note| note.message.as_str()),
            },
        },
    }))
}

/// Whether a claim changed in anything but our own note and the server's bookkeeping: what makes it
/// worth another look.
#[must_use]
pub fn changed(old: &PersistentVolumeClaim, new: &PersistentVolumeClaim) -> bool {
    fn told(claim: &PersistentVolumeClaim) -> impl Iterator<Item = (&String, &String)> {
        let annotations = claim.metadata.annotations.iter().flatten();
        annotations.filter(|(name, _)| *name != WAITING_REASON && *name != WAITING_MESSAGE)
    }
    let (before, after) = (&old.metadata, &new.metadata);
    before.uid != after.uid
        || before.deletion_timestamp != after.deletion_timestamp
        || before.labels != after.labels
        || before.finalizers != after.finalizers
        || old.spec != new.spec
        || old.status != new.status
        || !told(old).eq(told(new))
}
