//! The default cluster roles and bindings.

use serde_json::Value;

use crate::access::GROUP;
use crate::rest::ApiState;
use crate::rest::create_object;

/// `cluster-roles.yaml` and `cluster-role-bindings.yaml` of k8s.io/kubernetes v1.36.3
/// (plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata), one object a line. Without the roles
/// of controllers.
const OBJECTS: &str = include_str!("../../data/rbac.json");

/// Creates the default roles and bindings.
pub(crate) fn create_default_roles(api: &ApiState) {
    // A test covers that the data are valid.
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
