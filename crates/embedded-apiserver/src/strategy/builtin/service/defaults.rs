//! Defaults of a Service, and the members that an update keeps.

use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, fill, text};
use crate::strategy::builtin::service::exposure::{
    is_external, needs_cluster_ip, needs_node_port, of_type,
};

#[doc(alias = "SetDefaults_Service")]
pub(super) fn default(object: &mut Object) {
    fill(object, "spec", &[("type", json!("ClusterIP")), ("sessionAffinity", json!("None"))]);
    let external = is_external(object);
    let plain = needs_cluster_ip(object);
    let balancer = of_type(object, &["LoadBalancer"]);
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("None") => drop(spec.remove("sessionAffinityConfig")),
        Some("ClientIP") => {
            let timeout = spec
                .get("sessionAffinityConfig")
                .and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
            if timeout.is_none() {
                let config = json!({ "clientIP": { "timeoutSeconds": 10800 } });
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        let number = port.get("port").cloned().unwrap_or_else(|| 0.into());
        let target = port.entry("targetPort").or_insert_with(|| 0.into());
        if *target == 0 || *target == "" {
            *target = number;
        }
    }
    for (applies, member, value) in [
        (external, "externalTrafficPolicy", json!("Cluster")),
        (plain, "internalTrafficPolicy", json!("Cluster")),
        (balancer, "allocateLoadBalancerNodePorts", json!(true)),
    ] {
        if applies {
            spec.entry(member).or_insert(value);
        }
    }
}

/// An old client sets clusterIP and not clusterIPs.
pub(super) fn prepare_create(object: &mut Object) {
    let address = text(object, "spec.clusterIP").to_owned();
    if let Some(Value::Object(spec)) = object.get_mut("spec")
        && !address.is_empty()
    {
        spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    }
}

/// Keeps allocated values that the update omits, unless the new type does not use them.
#[doc(alias("patchAllocatedValues", "normalizeClusterIPs", "dropTypeDependentFields"))]
pub(super) fn prepare_update(object: &mut Object, old: &Object) {
    let same = |object: &Object, path: &str| at(object, path) == at(old, path);
    let (was, is) = (needs_cluster_ip(old), needs_cluster_ip(object));
    let ports = needs_node_port(old) && needs_node_port(object);
    let loses_ports = needs_node_port(old) && !needs_node_port(object);
    let loses_policy =
        is_external(old) && !is_external(object) && same(object, "spec.externalTrafficPolicy");
    let balancer = |object: &Object| of_type(object, &["LoadBalancer"]);
    let loses_balancer = balancer(old) && !balancer(object);
    let same_addresses = same(object, "spec.clusterIPs");
    let Some(Value::Object(before)) = old.get("spec").cloned() else { return };
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let keep = |spec: &mut Object, member: &str| {
        if let Some(value) = before.get(member) {
            spec.insert(member.to_owned(), value.clone());
        }
    };
    let says = |spec: &Object, member: &str| {
        spec.get(member).is_some_and(|value| *value != "" && *value != json!([]))
    };
    if was && is {
        if !says(spec, "clusterIP") {
            if says(spec, "clusterIPs") && !same_addresses {
                // A partial value is refused later.
            } else {
                keep(spec, "clusterIP");
            }
        } else if spec.get("clusterIP") != before.get("clusterIP") && same_addresses {
            let address = spec.get("clusterIP").cloned().unwrap_or_default();
            spec.insert("clusterIPs".to_owned(), json!([address]));
        }
        if !says(spec, "clusterIPs") && spec.get("clusterIP") == before.get("clusterIP") {
            keep(spec, "clusterIPs");
        }
        // A headless Service without selector may have both families. With a selector it starts
        // again.
        let selects =
            spec.get("selector").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
        let both =
            before.get("ipFamilies").and_then(Value::as_array).is_some_and(|all| all.len() > 1);
        let anew = both && selects;
        for member in ["ipFamilies", "ipFamilyPolicy"] {
            if !says(spec, member) && (member != "ipFamilies" || !anew) {
                keep(spec, member);
            }
        }
    } else if was {
        for member in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec.get(member) == before.get(member) {
                spec.remove(member);
            }
        }
        if spec.get("internalTrafficPolicy") == before.get("internalTrafficPolicy") {
            spec.remove("internalTrafficPolicy");
        }
    }
    if ports {
        keep_node_ports(spec, &before);
    } else if loses_ports {
        let had = before.get("ports").and_then(Value::as_array).cloned().unwrap_or_default();
        let now = spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
        for (port, had) in now.zip(had) {
            if let Some(port) = port.as_object_mut()
                && port.get("nodePort") == had.get("nodePort")
            {
                port.remove("nodePort");
            }
        }
    }
    if loses_policy {
        spec.remove("externalTrafficPolicy");
    }
    if loses_balancer
        && spec.get("allocateLoadBalancerNodePorts") == before.get("allocateLoadBalancerNodePorts")
    {
        spec.remove("allocateLoadBalancerNodePorts");
    }
    if loses_balancer {
        object.insert("status".to_owned(), json!({ "loadBalancer": {} }));
    }
}

/// Keeps the node port of a port with the same name.
fn keep_node_ports(spec: &mut Object, before: &Object) {
    let had: Vec<Value> =
        before.get("ports").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Array(ports)) = spec.get_mut("ports") else { return };
    let used: Vec<Value> = ports.iter().filter_map(|port| port.get("nodePort").cloned()).collect();
    for port in ports.iter_mut().filter_map(Value::as_object_mut) {
        if port.get("nodePort").is_some_and(|number| *number != 0) {
            continue;
        }
        let same_name = |had: &&Value| {
            had.get("name").unwrap_or(&Value::Null) == port.get("name").unwrap_or(&Value::Null)
        };
        if let Some(number) = had.iter().find(same_name).and_then(|had| had.get("nodePort"))
            && !used.contains(number)
        {
            port.insert("nodePort".to_owned(), number.clone());
        }
    }
}
