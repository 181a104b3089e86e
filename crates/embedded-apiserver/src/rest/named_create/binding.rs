//! Binding: assigns a Pod to a node.

use k8s_merge::managed_fields::ManagedFields;
use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::api::status::{FieldError, Status};
use crate::rest::call::Call;
use crate::rest::get::check_path_name;
use crate::rest::guaranteed_update::guaranteed_update;
use crate::rest::named_create::condition::{pod_condition, set_condition};
use crate::rest::named_create::posted::Posted;
use crate::rest::preconditions::unmet;
use crate::rest::versions::{Version, put, shown};
use crate::store::stored::{Key, Stored};
use crate::strategy::builtin::members::{at, text};
use crate::strategy::resource::ServedResource;

/// Binds the Pod that the path names, or the Binding itself where the path is `bindings`.
pub(super) async fn bind(call: Call<'_>, posted: Posted<'_>) -> Result<(), Status> {
    let Call { api, target, .. } = call;
    let Posted { object: binding, dry_run, .. } = &posted;
    let said = metadata::text(binding, "name");
    let name = target.name.as_deref().unwrap_or(said);
    if name != said {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    check(binding)?;
    posted.validate().await?;
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    check_path_name(name)?;
    let pods = api.registry.read().find("", "v1", "pods");
    let pods = pods.ok_or_else(Status::no_such_resource)?;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let key = Key::new(namespace, name);
    let now = api.clock.now();
    guaranteed_update!(api, |transaction| {
        let current = transaction.get(&pods.storage, &key);
        let current = current.ok_or_else(|| Status::not_found(&pods, name))?;
        check_preconditions(&pods, binding, &current, *dry_run)?;
        let mut pod = shown(&pods, &current);
        if let Some(why) = why_unbindable(&pod, name) {
            let of = Kind::namespaced("", "v1", "Pod", "pods/binding");
            return Err(Status::conflict(&of, name, &why));
        }
        assign(&mut pod, binding);
        set_condition(&mut pod, pod_condition("PodScheduled", now));
        // As upstream, a binding owns no fields.
        let managed = &ManagedFields::parse(current.managed());
        let unsaid = current.leaves_unsaid();
        let version = Version { key: key.clone(), object: pod, managed, unsaid, over: None };
        put(api, transaction, &pods, version, current.revision, *dry_run).await
    })
    .map(drop)
}

/// `ValidatePodBinding` of pkg/apis/core/validation. Upstream answers these with 500.
fn check(binding: &Object) -> Result<(), Status> {
    let mut causes = Vec::new();
    let kind = text(binding, "target.kind");
    if !matches!(kind, "" | "Node") {
        causes.push(FieldError::unsupported("target.kind", kind, &["Node", "<empty>"]));
    }
    if text(binding, "target.name").is_empty() {
        causes.push(FieldError::required("target.name", ""));
    }
    match causes.is_empty() {
        true => Ok(()),
        false => Err(Status::unknown(FieldError::message_of(&causes))),
    }
}

fn check_preconditions(
    pods: &ServedResource,
    binding: &Object,
    current: &Stored,
    dry_run: bool,
) -> Result<(), Status> {
    let revision = current.revision.to_string();
    let pairs =
        [("UID", "uid", current.uid()), ("ResourceVersion", "resourceVersion", revision.as_str())];
    for (what, member, is) in pairs {
        let wanted = metadata::text(binding, member);
        if !wanted.is_empty() && wanted != is {
            let why = format!("{what} in precondition: {wanted}, {what} in object meta: {is}");
            let key = &current.key;
            return Err(unmet(pods, Some(key.namespace()), key.name(), &why, dry_run));
        }
    }
    Ok(())
}

fn why_unbindable(pod: &Object, name: &str) -> Option<String> {
    if metadata::is_being_deleted(pod) {
        return Some(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = text(pod, "spec.nodeName");
    if !node.is_empty() {
        return Some(format!("pod {name} is already assigned to node {node:?}"));
    }
    let gates = at(pod, "spec.schedulingGates").and_then(Value::as_array);
    let is_gated = gates.is_some_and(|gates| !gates.is_empty());
    is_gated.then(|| format!("pod {name} has non-empty .spec.schedulingGates"))
}

#[doc(alias = "setPodNodeAndMetadata")]
fn assign(pod: &mut Object, binding: &Object) {
    if let Some(Value::Object(spec)) = pod.get_mut("spec") {
        spec.insert("nodeName".to_owned(), text(binding, "target.name").into());
    }
    if let Some(Value::Object(status)) = pod.get_mut("status") {
        status.remove("nominatedNodeName");
    }
    for member in ["annotations", "labels"] {
        let Some(Value::Object(more)) = metadata::get(binding, member) else { continue };
        let all = metadata::of(pod).entry(member).or_insert_with(|| json!({}));
        if let Value::Object(all) = all {
            all.extend(more.clone());
        }
    }
}
