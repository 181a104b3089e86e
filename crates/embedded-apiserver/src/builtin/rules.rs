//! What each built-in kind fills in, and what it refuses. Pure: objects in, objects and causes out.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Map, Value, json};

use crate::builtin::{
    Builtin, access, deployments, endpoints, event, jobs, leases, nodes, pod_checks, pods,
    services, storage, warnings,
};
use crate::clock;
use crate::definition;
use crate::metadata::{self, Object};
use crate::resource::ServedResource;
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;

/// Fills in what a new or changed object leaves out.
pub(crate) fn default(builtin: Builtin, object: &mut Object) {
    match builtin {
        Builtin::Claim => storage::default_claim(object),
        Builtin::Volume => {
            let defaults = [
                ("volumeMode", json!("Filesystem")),
                ("persistentVolumeReclaimPolicy", json!("Retain")),
            ];
            fill(object, "spec", &defaults);
            fill(object, "status", &[("phase", json!("Pending"))]);
            let source = object.get_mut("spec").and_then(|spec| spec.get_mut("hostPath"));
            if let Some(Value::Object(source)) = source {
                source.entry("type").or_insert_with(|| "".into());
            }
        }
        Builtin::StorageClass => {
            object.entry("reclaimPolicy").or_insert_with(|| "Delete".into());
            object.entry("volumeBindingMode").or_insert_with(|| "Immediate".into());
        }
        Builtin::Definition => definition::default(object),
        Builtin::Pod => pods::default_pod(object),
        Builtin::Deployment | Builtin::ReplicaSet => deployments::default(builtin, object),
        Builtin::Job => jobs::default(object),
        Builtin::Service => services::default(object),
        Builtin::Endpoints => endpoints::default_endpoints(object),
        Builtin::EndpointSlice => endpoints::default_slice(object),
        Builtin::Node => nodes::default(object),
        Builtin::RoleBinding | Builtin::ClusterRoleBinding => access::default_binding(object),
        Builtin::Secret => {
            object.entry("type").or_insert_with(|| "Opaque".into());
            if let Some(Value::Object(plain)) = object.remove("stringData") {
                let data = object.entry("data").or_insert_with(|| json!({}));
                for (key, text) in plain {
                    let bytes = text.as_str().unwrap_or_default().as_bytes().to_vec();
                    data[key] = serde_json::to_value(ByteString(bytes)).unwrap_or_default();
                }
            }
        }
        Builtin::Namespace => {
            let name = metadata::text(object, "name").to_owned();
            let labels = metadata::of(object).entry("labels").or_insert_with(|| json!({}));
            labels["kubernetes.io/metadata.name"] = name.into();
        }
        Builtin::ClusterRole
        | Builtin::ConfigMap
        | Builtin::Event
        | Builtin::EventV1
        | Builtin::Lease
        | Builtin::LeaseCandidate
        | Builtin::Role
        | Builtin::Scale
        | Builtin::ServiceAccount => {}
    }
}

/// What the admission plugins that every server has on add to a new object.
///
/// # Errors
///
/// Why they refuse it.
pub(crate) fn admit(builtin: Builtin, object: &mut Object) -> Result<(), String> {
    match builtin {
        Builtin::Pod => pods::admit(object),
        Builtin::Node => {
            nodes::admit(object);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What a change of the object itself leaves as it was, and what follows from it.
pub(crate) fn prepare_update(builtin: Builtin, object: &mut Object, old: &Object) {
    match builtin {
        Builtin::Service => services::prepare_update(object, old),
        Builtin::Pod => pods::prepare_update(object, old),
        _ => {}
    }
}

/// What only creation sets: the first status.
pub(crate) fn prepare_create(
    builtin: Builtin,
    object: &mut Object,
    now: Timestamp,
    protect_volumes: bool,
) {
    let pending = json!({ "phase": "Pending" });
    match builtin {
        Builtin::Claim => {
            object.insert("status".to_owned(), pending);
            if protect_volumes {
                add_finalizer(object, "kubernetes.io/pvc-protection");
            }
        }
        Builtin::Volume => {
            let status =
                json!({ "phase": "Pending", "lastPhaseTransitionTime": clock::seconds(now) });
            object.insert("status".to_owned(), status);
            if protect_volumes {
                add_finalizer(object, "kubernetes.io/pv-protection");
            }
        }
        Builtin::Definition => definition::prepare_create(object),
        Builtin::Pod => {
            let status = pods::first_status(object);
            object.insert("status".to_owned(), status);
        }
        Builtin::Deployment => drop(object.insert("status".to_owned(), json!({}))),
        Builtin::ReplicaSet => drop(object.insert("status".to_owned(), json!({ "replicas": 0 }))),
        Builtin::Job => {
            jobs::prepare_create(object);
            object.insert("status".to_owned(), json!({}));
        }
        Builtin::Namespace => {
            object.insert("status".to_owned(), json!({ "phase": "Active" }));
            object.insert("spec".to_owned(), json!({ "finalizers": ["kubernetes"] }));
        }
        Builtin::Service => {
            services::prepare_create(object);
            reset_status(builtin, object);
        }
        _ => {}
    }
}

/// Whether something of a new object is filled in only when it is read: the labels of a Job, which
/// are its template's and are stored with the next write, even with one that changes nothing.
pub(crate) fn leaves_unsaid(builtin: Builtin, object: &Object) -> bool {
    let no_labels =
        metadata::get(object, "labels").and_then(Value::as_object).is_none_or(Map::is_empty);
    builtin == Builtin::Job && no_labels
}

/// The status of a new Service.
pub(crate) fn reset_status(builtin: Builtin, object: &mut Object) {
    if builtin == Builtin::Service {
        object.insert("status".to_owned(), json!({ "loadBalancer": {} }));
    }
}

/// What a write to the status leaves as it was; and a volume's status remembers when its phase
/// changed.
pub(crate) fn prepare_status(builtin: Builtin, object: &mut Object, old: &Object, now: Timestamp) {
    if builtin == Builtin::Deployment {
        metadata::copy(old, object, "labels");
    }
    if builtin == Builtin::Pod {
        metadata::copy(old, object, "ownerReferences");
        metadata::copy(old, object, "deletionTimestamp");
        pods::prepare_status(object, old);
    }
    if builtin != Builtin::Volume {
        return;
    }
    let member =
        |object: &Object, name: &str| object.get("status").and_then(|s| s.get(name)).cloned();
    let same_time =
        member(object, "lastPhaseTransitionTime") == member(old, "lastPhaseTransitionTime");
    let missing = member(object, "lastPhaseTransitionTime").is_none();
    let moves = member(object, "phase") != member(old, "phase");
    let time = if moves && (same_time || missing) {
        Some(clock::seconds(now).into())
    } else {
        member(old, "lastPhaseTransitionTime").filter(|_| missing)
    };
    fill(object, "status", &[]);
    if let (Some(time), Some(Value::Object(status))) = (time, object.get_mut("status")) {
        status.insert("lastPhaseTransitionTime".to_owned(), time);
    }
}

fn add_finalizer(object: &mut Object, finalizer: &str) {
    let finalizers = metadata::of(object).entry("finalizers").or_insert_with(|| json!([]));
    if let Value::Array(finalizers) = finalizers
        && !finalizers.iter().any(|f| f == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}

pub(super) fn fill(object: &mut Object, member: &str, defaults: &[(&str, Value)]) {
    let target = object.entry(member).or_insert_with(|| json!({}));
    if let Value::Object(target) = target {
        for (name, value) in defaults {
            target.entry(*name).or_insert_with(|| value.clone());
        }
    }
}

/// What an empty object has when it comes from the type that Go keeps: a number there is a pointer
/// in the version.
pub(crate) fn converted(builtin: Builtin, object: &mut Object) {
    if matches!(builtin, Builtin::Deployment | Builtin::ReplicaSet) {
        fill(object, "spec", &[("replicas", json!(0))]);
    }
}

/// What is wrong with the name, by the kind's own rule.
pub(crate) fn wrong_name(kind: &ServedResource, name: &str) -> Option<&'static str> {
    match kind.builtin {
        Some(
            Builtin::Role
            | Builtin::ClusterRole
            | Builtin::RoleBinding
            | Builtin::ClusterRoleBinding,
        ) => access::wrong_name(name),
        // Of the older group.
        Some(Builtin::Event) => access::wrong_name(name),
        Some(Builtin::LeaseCandidate) => names::wrong_data_key(name),
        Some(Builtin::Namespace | Builtin::Service) => names::wrong_label(name),
        _ => names::wrong_subdomain(name),
    }
}

/// All that is wrong with what names are made up from.
pub(crate) fn wrongs_of_base(kind: &ServedResource, base: &str) -> Vec<&'static str> {
    match kind.builtin {
        // What may be a part of a path may begin with dots.
        Some(Builtin::Event) => names::wrongs_of_path_prefix(base).collect(),
        // These may not, though more follows.
        Some(
            Builtin::Role
            | Builtin::ClusterRole
            | Builtin::RoleBinding
            | Builtin::ClusterRoleBinding,
        ) => {
            let dots = access::wrong_name(base).filter(|_| matches!(base, "." | ".."));
            dots.into_iter().chain(names::wrongs_of_path_prefix(base)).collect()
        }
        _ => wrong_name(kind, &names::without_dash(base)).into_iter().collect(),
    }
}

/// What is wrong with what names are made up from, where it is said in an update: all kinds hold it
/// to what paths are made of (`BeforeUpdate` of k8s.io/apiserver/pkg/registry/rest), and some to
/// their own rule.
pub(crate) fn wrongs_of_new_base(
    kind: &ServedResource,
    base: &str,
    subresource: Option<&str>,
) -> Vec<&'static str> {
    let mut wrongs: Vec<_> = names::wrongs_of_path_prefix(base).collect();
    if subresource.is_none() && kind.builtin.is_some_and(Builtin::checks_base_of_updates) {
        wrongs.extend(wrongs_of_base(kind, base));
    }
    wrongs
}

/// What is wrong with an object, of a change or new.
pub(crate) fn check(
    builtin: Builtin,
    object: &Object,
    old: Option<&Object>,
    causes: &mut FieldErrors,
) {
    match builtin {
        Builtin::Claim => storage::check_claim(object, causes),
        Builtin::Volume => storage::check_volume(object, causes),
        Builtin::StorageClass => storage::check_class(object, causes),
        Builtin::Lease => leases::check_lease(object, causes),
        Builtin::LeaseCandidate => leases::check_candidate(object, causes),
        Builtin::Deployment | Builtin::ReplicaSet => deployments::check(builtin, object, causes),
        Builtin::Job => jobs::check(object, causes),
        Builtin::Endpoints => endpoints::check_endpoints(object, causes),
        Builtin::EndpointSlice => endpoints::check_slice(object, causes),
        Builtin::Node => nodes::check(object, causes),
        Builtin::Role | Builtin::ClusterRole => access::check_role(builtin, object, causes),
        Builtin::RoleBinding | Builtin::ClusterRoleBinding => {
            access::check_binding(builtin, object, causes)
        }
        Builtin::ConfigMap => check_data(object, "[]", causes),
        Builtin::Secret => {
            check_data(object, "data", causes);
            check_secret_type(object, causes);
        }
        Builtin::Event | Builtin::EventV1 => event::check(builtin, object, old, causes),
        Builtin::Pod => {
            let spec = object.get("spec").unwrap_or(&Value::Null);
            pod_checks::check_spec(spec, "spec", causes);
            if old.is_none() {
                pod_checks::check_tokens(spec, causes);
            }
        }
        Builtin::Service => services::check(object, causes),
        Builtin::Namespace => {
            // The real server checks the label that it makes of the name, too.
            let name = metadata::text(object, "name");
            if name.len() > 63 {
                causes.push(FieldError::invalid(
                    "metadata.labels",
                    name,
                    "must be no more than 63 bytes",
                ));
            }
        }
        // A definition is checked with what it was before.
        Builtin::Definition | Builtin::Scale | Builtin::ServiceAccount => {}
    }
}

/// What may not change.
pub(crate) fn check_update(
    builtin: Builtin,
    object: &Object,
    old: &Object,
    causes: &mut FieldErrors,
) {
    let changed = |member: &str| object.get(member) != old.get(member);
    match builtin {
        Builtin::Claim => storage::check_claim_update(object, old, causes),
        Builtin::Volume => storage::check_volume_update(object, old, causes),
        Builtin::StorageClass => storage::check_class_update(object, old, causes),
        Builtin::Pod => pods::check_pod_update(object, old, causes),
        Builtin::Deployment | Builtin::ReplicaSet => deployments::check_update(object, old, causes),
        Builtin::Job => jobs::check_update(object, old, causes),
        Builtin::Service => services::check_update(object, old, causes),
        Builtin::EndpointSlice => endpoints::check_slice_update(object, old, causes),
        Builtin::Node => nodes::check_update(object, old, causes),
        Builtin::LeaseCandidate => leases::check_candidate_update(object, old, causes),
        Builtin::RoleBinding | Builtin::ClusterRoleBinding => {
            access::check_binding_update(object, old, causes)
        }
        // Seen through core/v1 an Event may change: old recorders count it up.
        Builtin::EventV1 => event::check_update(object, old, causes),
        Builtin::ConfigMap | Builtin::Secret => {
            if old.get("immutable") == Some(&Value::Bool(true)) {
                for member in
                    ["immutable", "data", "binaryData"].into_iter().filter(|member| changed(member))
                {
                    let why = "field is immutable when `immutable` is set";
                    causes.push(FieldError::forbidden(member, why));
                }
            }
            if builtin == Builtin::Secret && changed("type") {
                causes.push(FieldError::invalid(
                    "type",
                    text(object, "type"),
                    "field is immutable",
                ));
            }
        }
        _ => {}
    }
}

/// What is wrong with a change of the status alone: the rest is as it was checked before.
pub(crate) fn check_status(
    builtin: Builtin,
    object: &Object,
    old: &Object,
    causes: &mut FieldErrors,
) {
    match builtin {
        Builtin::Deployment | Builtin::ReplicaSet => {
            deployments::check_status(builtin, object, old, causes);
        }
        Builtin::Job => jobs::check_status(object, old, causes),
        Builtin::Pod => pods::check_status(object, old, causes),
        Builtin::Service => services::check_status(object, causes),
        Builtin::Claim => storage::check_claim_status(object, causes),
        _ => {}
    }
}

/// Whether there is anything that an answer about the kind warns of.
pub(crate) fn warns(builtin: Builtin) -> bool {
    use Builtin::{Deployment, EndpointSlice, Job, Pod, ReplicaSet, Service, ServiceAccount};
    matches!(
        builtin,
        Deployment | EndpointSlice | Job | Pod | ReplicaSet | Service | ServiceAccount
    )
}

/// What an answer to a write warns of.
pub(crate) fn warnings(builtin: Builtin, object: &Object, old: Option<&Object>) -> Vec<String> {
    warnings::of(builtin, object, old)
}

/// The value at a path of member names.
pub(crate) fn at<'a>(object: &'a Object, path: &str) -> Option<&'a Value> {
    let (first, rest) =
        path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = object.get(first)?;
    let value = rest
        .map_or(Some(value), |rest| rest.split('.').try_fold(value, |value, part| value.get(part)));
    value.filter(|value| !value.is_null())
}

pub(super) fn text<'a>(object: &'a Object, path: &str) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn one_of(object: &Object, path: &str, supported: &[&str], causes: &mut FieldErrors) {
    if let Some(value) = at(object, path).and_then(Value::as_str)
        && !supported.contains(&value)
    {
        causes.push(FieldError::unsupported(path, value, supported));
    }
}

/// What a Secret must hold by its type (`ValidateSecret` of pkg/apis/core/validation).
fn check_secret_type(object: &Object, causes: &mut FieldErrors) {
    let data = object.get("data").and_then(Value::as_object);
    let has = |key: &str| data.is_some_and(|data| data.contains_key(key));
    let missing: &[&str] = match text(object, "type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            &["username", "password"]
        }
        "kubernetes.io/service-account-token" => {
            const OWNER: &str = "kubernetes.io/service-account.name";
            let owner =
                metadata::get(object, "annotations").and_then(|all| all.get(OWNER)?.as_str());
            if owner.unwrap_or_default().is_empty() {
                causes.push(FieldError::required(format!("metadata.annotations[{OWNER}]"), ""));
            }
            &[]
        }
        _ => &[],
    };
    for key in missing.iter().filter(|key| !has(key)) {
        causes.push(FieldError::required(format!("data[{key}]"), ""));
    }
}

/// Keys of ConfigMaps and Secrets, and how much their values hold in all; keys do not count.
fn check_data(object: &Object, all: &str, causes: &mut FieldErrors) {
    const MAX: usize = 1024 * 1024;
    let members =
        |member: &str| object.get(member).and_then(Value::as_object).into_iter().flatten();
    let binary = object.get("binaryData").and_then(Value::as_object);
    let mut size = 0_usize;
    for member in ["data", "binaryData"] {
        for (key, value) in members(member) {
            if let Some(why) = names::wrong_data_key(key) {
                causes.push(FieldError::invalid(format!("{member}[{key}]"), key, why));
            }
            if member == "data" && binary.is_some_and(|members| members.contains_key(key)) {
                let why = "duplicate of key present in binaryData";
                causes.push(FieldError::invalid(format!("data[{key}]"), key, why));
            }
            let text = value.as_str().unwrap_or_default();
            // What is written in base64 counts as what it stands for.
            let encoded = member == "binaryData" || all == "data";
            let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
            let length =
                if encoded { (text.len() / 4 * 3).saturating_sub(padding) } else { text.len() };
            size = size.saturating_add(length);
        }
    }
    if size > MAX {
        causes.push(FieldError::too_long(all, MAX));
    }
}
