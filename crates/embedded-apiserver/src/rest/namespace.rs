//! The namespace of a request and of its object.

use std::sync::{Arc, LazyLock};

use k8s_value::names;

use crate::api::kind::Kind;
use crate::api::metadata::{self, Object};
use crate::api::status::Status;
use crate::rest::state::ApiState;
use crate::store::stored::Key;
use crate::store::transaction::Transaction;

/// The table of namespaces.
static NAMESPACES: LazyLock<Arc<str>> = LazyLock::new(|| "/namespaces".into());

/// Sets the object's namespace from the path. A different one is an error.
pub(super) fn set_namespace(object: &mut Object, namespace: Option<&str>) -> Result<(), Status> {
    let Some(namespace) = namespace else {
        metadata::of(object).remove("namespace");
        return Ok(());
    };
    let said = metadata::text(object, "namespace");
    if !said.is_empty() && said != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata::set(object, "namespace", namespace);
    Ok(())
}

/// The admission plugin NamespaceLifecycle: no creates in a missing or terminating namespace. It
/// runs before all hooks and before the RBAC escalation check.
pub(super) fn check_namespace(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    kind: &Kind,
    namespace: &str,
    object: &Object,
) -> Result<(), Status> {
    may_hold_objects(namespace)?;
    match transaction.get(&NAMESPACES, &Key::new("", namespace)) {
        Some(found) if found.is_being_deleted() => {
            // A generated name is still unknown here (`extractResourceName` of
            // k8s.io/apiserver/pkg/admission).
            let texts = ["name", "generateName"].map(|member| metadata::text(object, member));
            let name = texts.into_iter().find(|text| !text.is_empty()).unwrap_or("Unknown");
            Err(Status::namespace_terminating(kind, name, namespace))
        }
        Some(_) => Ok(()),
        None => missing(api, namespace),
    }
}

/// NamespaceLifecycle for updates: the namespace may be terminating, but must exist.
pub(super) fn check_namespace_of_update(
    api: &ApiState,
    transaction: &mut Transaction<'_>,
    namespace: &str,
) -> Result<(), Status> {
    let there = transaction.get(&NAMESPACES, &Key::new("", namespace)).is_some();
    if there { Ok(()) } else { missing(api, namespace) }
}

fn missing(api: &ApiState, namespace: &str) -> Result<(), Status> {
    let namespaces =
        api.options.check_namespaces.then(|| api.registry.read().find("", "v1", "namespaces"));
    match namespaces.flatten() {
        Some(namespaces) => Err(Status::not_found(&namespaces, namespace)),
        None => Ok(()),
    }
}

/// Refuses a namespace that no path can name.
fn may_hold_objects(namespace: &str) -> Result<(), Status> {
    match names::wrong_path_segment(namespace) {
        Some(why) => {
            Err(Status::internal(&format!("invalid resource name {namespace:?}: [{why}]")))
        }
        None => Ok(()),
    }
}
