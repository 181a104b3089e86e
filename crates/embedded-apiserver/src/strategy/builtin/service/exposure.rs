//! Which addresses and ports a Service has, by its type.

use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, text};

pub(super) fn of_type(object: &Object, types: &[&str]) -> bool {
    types.contains(&text(object, "spec.type"))
}

pub(super) fn needs_cluster_ip(object: &Object) -> bool {
    of_type(object, &["ClusterIP", "NodePort", "LoadBalancer"])
}

pub(super) fn needs_node_port(object: &Object) -> bool {
    of_type(object, &["NodePort"])
        || (of_type(object, &["LoadBalancer"])
            && at(object, "spec.allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)))
}

pub(super) fn is_headless(object: &Object) -> bool {
    text(object, "spec.clusterIP") == "None"
        || at(object, "spec.clusterIPs").is_some_and(|ips| ips[0] == "None")
}

pub(super) fn is_external(object: &Object) -> bool {
    of_type(object, &["NodePort", "LoadBalancer"])
        || (of_type(object, &["ClusterIP"])
            && at(object, "spec.externalIPs")
                .and_then(Value::as_array)
                .is_some_and(|ips| !ips.is_empty()))
}
