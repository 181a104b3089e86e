//! The cluster roles and bindings that the real API server makes at its start.

use serde_json::Value;

use crate::access::GROUP;
use crate::rest::ApiState;
use crate::rest::create_object;

/// `cluster-roles.yaml` and `cluster-role-bindings.yaml` of k8s.io/kubernetes v1.36.3
/// (plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata), one object a line. The roles of
/// controllers are not here: none of these controllers is.
const OBJECTS: &str = include_str!("../../data/rbac.json");

/// Creates them.
pub(crate) fn create_default_roles(api: &ApiState) {
    // What is written down here can be read: the tests see it.
    let objects: Vec<Value> = serde_json::from_str(OBJECTS).unwrap_or_default();
    for object in objects {
        let plural = match object.get("kind").and_then(Value::as_str) {
            Some("ClusterRole") => "clusterroles",
            _ => "clusterrolebindings",
        };
        let Some(kind) = api.registry.read().find(GROUP, "v1", plural) else { continue };
        let mut object = object;
        if let Some(members) = object.as_object_mut() {
            members.remove("kind");
        }
        if let Err(refused) = create_object(api, &kind, None, object) {
            tracing::debug!(?refused, "a role was not created at start");
        }
    }
}
