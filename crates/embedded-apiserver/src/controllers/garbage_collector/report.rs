//! The Event about an owner reference into another namespace (`reportInvalidNamespaceOwnerRef` of
//! pkg/controller/garbagecollector/graph_builder.go), as client-go's recorder writes it. Pure.

use super::graph::Misplaced;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// The source component, as in kube-controller-manager.
const COMPONENT: &str = "garbage-collector-controller";

/// Makes the Event. `nonce` makes its name unique among Events of the same time.
pub(super) fn event(misplaced: &Misplaced, now: Timestamp, nonce: u32) -> Event {
    let Misplaced { dependent, node, owner } = misplaced;
    let namespace = node.namespace.as_deref().unwrap_or_default();
    let (api_version, kind, name, uid) = (&owner.api_version, &owner.kind, &owner.name, &owner.uid);
    let message = format!(
        "ownerRef [{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}] does not exist in namespace \
         {namespace:?}"
    );
    let time = Some(Time(now));
    Event {
        metadata: ObjectMeta {
            name: Some(format!(
                "{}.{:x}",
                node.name,
                now.as_nanosecond().saturating_add(nonce.into())
            )),
            namespace: Some(node.namespace.clone().unwrap_or_else(|| "default".to_owned())),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some(node.resource.api.api_version.clone()),
            kind: Some(node.resource.api.kind.clone()),
            namespace: node.namespace.clone(),
            name: Some(node.name.clone()),
            uid: Some(dependent.to_string()),
            ..ObjectReference::default()
        },
        reason: Some("OwnerRefInvalidNamespace".to_owned()),
        message: Some(message),
        source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
        first_timestamp: time.clone(),
        last_timestamp: time,
        count: Some(1),
        type_: Some("Warning".to_owned()),
        reporting_component: Some(COMPONENT.to_owned()),
        ..Event::default()
    }
}
