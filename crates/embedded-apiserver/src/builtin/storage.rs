//! Claims, volumes and classes: what they refuse, and what of them may change. Pure.

use serde_json::Value;

use crate::builtin::rules::{at, fill, one_of, text};
use crate::builtin::topology;
use crate::metadata::Object;
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;
use k8s_value::quantity;

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const IMMUTABLE: &str = "field is immutable";
/// Members of a volume's spec that are not its source.
const NOT_SOURCES: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

/// `SetDefaults_PersistentVolumeClaim`, and what the strategy of claims copies: the two names of
/// where the data come from.
pub(super) fn default_claim(object: &mut Object) {
    fill(object, "spec", &[("volumeMode", "Filesystem".into())]);
    fill(object, "status", &[("phase", "Pending".into())]);
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let foreign = spec.get("dataSourceRef").is_some_and(|source| source.get("namespace").is_some());
    for (from, to) in [("dataSource", "dataSourceRef"), ("dataSourceRef", "dataSource")] {
        if let (Some(source), None, false) = (spec.get(from).cloned(), spec.get(to), foreign) {
            spec.insert(to.to_owned(), source);
        }
    }
}

/// `ValidatePersistentVolumeClaim`.
pub(super) fn check_claim(object: &Object, causes: &mut FieldErrors) {
    check_access_modes(object, "at least 1 access mode is required", causes);
    check_size(at(object, "spec.resources.requests.storage"), "spec.resources[storage]", causes);
    check_class_and_mode(object, causes);
}

/// `ValidatePersistentVolume`.
pub(super) fn check_volume(object: &Object, causes: &mut FieldErrors) {
    check_access_modes(object, "", causes);
    let capacity = at(object, "spec.capacity").and_then(Value::as_object);
    if capacity.is_none_or(serde_json::Map::is_empty) {
        causes.push(FieldError::required("spec.capacity", ""));
    }
    if !capacity.is_some_and(|capacity| capacity.len() == 1 && capacity.contains_key("storage")) {
        let value = capacity.map_or(Value::Null, |capacity| capacity.clone().into());
        causes.push(FieldError::unsupported_shown(
            "spec.capacity",
            &value.to_string(),
            &["storage"],
        ));
    }
    if capacity.is_some_and(|capacity| capacity.contains_key("storage")) {
        check_size(at(object, "spec.capacity.storage"), "spec.capacity[storage]", causes);
    }
    if let Some(affinity) = at(object, "spec.nodeAffinity") {
        topology::check_node_affinity(affinity, causes);
    }
    check_source(object, causes);
    let policy = "spec.persistentVolumeReclaimPolicy";
    one_of(object, policy, &["Delete", "Recycle", "Retain"], causes);
    if text(object, policy) == "Recycle" && text(object, "spec.hostPath.path") == "/" {
        causes.push(FieldError::forbidden(
            policy,
            "may not be 'recycle' for a hostPath mount of '/'",
        ));
    }
    check_class_and_mode(object, causes);
}

/// `ValidateStorageClass`.
pub(super) fn check_class(object: &Object, causes: &mut FieldErrors) {
    let provisioner = text(object, "provisioner");
    if provisioner.is_empty() {
        causes.push(FieldError::required("provisioner", ""));
    } else {
        for why in names::wrongs_of_qualified_name(&provisioner.to_lowercase()) {
            causes.push(FieldError::invalid("provisioner", provisioner, why));
        }
    }
    one_of(object, "reclaimPolicy", &["Delete", "Retain"], causes);
    one_of(object, "volumeBindingMode", &["Immediate", "WaitForFirstConsumer"], causes);
    let topologies = object.get("allowedTopologies").and_then(Value::as_array);
    topology::check_topologies(topologies.map_or(&[], Vec::as_slice), causes);
}

fn check_access_modes(object: &Object, why_required: &str, causes: &mut FieldErrors) {
    let modes = at(object, "spec.accessModes").and_then(Value::as_array);
    if modes.is_none_or(Vec::is_empty) {
        causes.push(FieldError::required("spec.accessModes", why_required));
    }
    let modes: Vec<_> = modes.into_iter().flatten().filter_map(Value::as_str).collect();
    for mode in modes.iter().filter(|mode| !MODES.contains(mode)) {
        causes.push(FieldError::unsupported("spec.accessModes", mode, &MODES));
    }
    if modes.len() > 1 && modes.contains(&"ReadWriteOncePod") {
        let why = "may not use ReadWriteOncePod with other access modes";
        causes.push(FieldError::forbidden("spec.accessModes", why));
    }
}

fn check_size(size: Option<&Value>, field: &str, causes: &mut FieldErrors) {
    let Some(size) = size.and_then(Value::as_str) else {
        return causes.push(FieldError::required(field, ""));
    };
    if quantity::bytes(size).is_none_or(|bytes| bytes == 0) {
        causes.push(FieldError::invalid(field, size, "must be greater than zero"));
    }
}

fn check_class_and_mode(object: &Object, causes: &mut FieldErrors) {
    let class = text(object, "spec.storageClassName");
    if !class.is_empty()
        && let Some(why) = names::wrong_subdomain(class)
    {
        causes.push(FieldError::invalid("spec.storageClassName", class, why));
    }
    one_of(object, "spec.volumeMode", &["Block", "Filesystem"], causes);
}

fn sources(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
    let members = object.get("spec").and_then(Value::as_object).into_iter().flatten();
    members.filter(|(name, value)| !NOT_SOURCES.contains(&name.as_str()) && !value.is_null())
}

fn check_source(object: &Object, causes: &mut FieldErrors) {
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let mut names: Vec<_> = sources(object).map(|(name, _)| name.as_str()).collect();
    // The real server looks at hostPath before most others.
    names.sort_by_key(|name| *name != "hostPath");
    if names.is_empty() {
        causes.push(FieldError::required("spec", "must specify a volume type"));
    }
    for name in names.iter().skip(1) {
        causes.push(FieldError::forbidden(
            format!("spec.{name}"),
            "may not specify more than 1 volume type",
        ));
    }
    for source in ["hostPath", "local"] {
        if !names.contains(&source) {
            continue;
        }
        let field = format!("spec.{source}.path");
        let path = text(object, &field);
        if path.is_empty() {
            causes.push(FieldError::required(field, ""));
        } else if path.split('/').any(|part| part == "..") {
            causes.push(FieldError::invalid(field, path, "must not contain '..'"));
        }
    }
    one_of(object, "spec.hostPath.type", &TYPES, causes);
    if names.contains(&"local") && at(object, "spec.nodeAffinity").is_none() {
        causes
            .push(FieldError::required("spec.nodeAffinity", "Local volume requires node affinity"));
    }
}

/// `ValidatePersistentVolumeClaimUpdate`: the volume may be set once, and what a bound claim asks
/// for may change.
pub(super) fn check_claim_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    let spec = |object: &Object| {
        object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let (mut new, was) = (spec(object), spec(old));
    let mut allow = |member: &str| match was.get(member) {
        Some(value) => drop(new.insert(member.to_owned(), value.clone())),
        None => drop(new.remove(member)),
    };
    if text(old, "spec.volumeName").is_empty() {
        allow("volumeName");
    }
    if at(old, "spec.storageClassName").is_none() && at(object, "spec.storageClassName").is_some() {
        allow("storageClassName");
    }
    if text(old, "status.phase") == "Bound" {
        allow("volumeAttributesClassName");
        let requests = at(old, "spec.resources.requests").cloned();
        if let (Some(requests), Some(Value::Object(resources))) =
            (requests, new.get_mut("resources"))
        {
            resources.insert("requests".to_owned(), requests);
        }
    }
    if new != was {
        let why = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
                   bound claims";
        causes.push(FieldError::forbidden("spec", why));
    }
    let has = quantity::bytes(text(old, "status.capacity.storage")).unwrap_or(0);
    if size(object) < size(old) && size(object) <= has {
        let why = "field can not be less than status.capacity";
        causes.push(FieldError::forbidden("spec.resources.requests.storage", why));
    }
    if at(object, "spec.volumeMode") != at(old, "spec.volumeMode") {
        causes.push(FieldError::invalid("volumeMode", text(object, "spec.volumeMode"), IMMUTABLE));
    }
}

/// `ValidatePersistentVolumeClaimStatusUpdate`.
pub(super) fn check_claim_status(object: &Object, causes: &mut FieldErrors) {
    for (resource, amount) in
        at(object, "status.capacity").and_then(Value::as_object).into_iter().flatten()
    {
        let amount = amount.as_str().and_then(|amount| quantity::Quantity::parse(amount).ok());
        if let Some(amount) = amount.filter(|amount| amount.is_negative()) {
            let (field, why) =
                (format!("status.capacity[{resource}]"), "must be a valid resource quantity");
            causes.push(FieldError::invalid_shown(field, &format!("-{}", amount.whole()), why));
        }
    }
}

/// Whether a claim asks for more than it did.
pub(crate) fn grows(old: &Object, new: &Object) -> bool {
    size(new) > size(old)
}

fn size(claim: &Object) -> u128 {
    quantity::bytes(text(claim, "spec.resources.requests.storage")).unwrap_or(0)
}

/// `ValidatePersistentVolumeUpdate`: source and mode stay; the node affinity may be set once.
pub(super) fn check_volume_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    if !sources(object).eq(sources(old)) {
        let why = "spec.persistentvolumesource is immutable after creation";
        causes.push(FieldError::forbidden("spec.persistentvolumesource", why));
    }
    if at(object, "spec.volumeMode") != at(old, "spec.volumeMode") {
        causes.push(FieldError::invalid("volumeMode", text(object, "spec.volumeMode"), IMMUTABLE));
    }
    let was = at(old, "spec.nodeAffinity");
    if was.is_some() && at(object, "spec.nodeAffinity") != was {
        let now = at(object, "spec.nodeAffinity").unwrap_or(&Value::Null);
        let why = "field is immutable, except for updating from beta label to GA";
        causes.push(FieldError::invalid_json("nodeAffinity", &topology::shown_affinity(now), why));
    }
}

/// `ValidateStorageClassUpdate`.
pub(super) fn check_class_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    for member in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        if object.get(member) != old.get(member) {
            let value = object.get(member).unwrap_or(&Value::Null);
            causes.push(FieldError::invalid_json(member, value, IMMUTABLE));
        }
    }
}
