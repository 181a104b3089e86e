//! Services: what they leave out, what they refuse, and what of them may change. Addresses and
//! ports of their own are handed out in `services/allocation.rs`. Pure.

pub(crate) mod allocation;

use serde_json::{Value, json};

use crate::builtin::rules::{at, fill, text};
use crate::builtin::values::{
    address, endpoint_address, items, label, labels, port_number, port_or_name, protocol, said,
    subdomain,
};
use crate::metadata::{self, Object};
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;

fn of_type(object: &Object, types: &[&str]) -> bool {
    types.contains(&text(object, "spec.type"))
}

fn needs_cluster_ip(object: &Object) -> bool {
    of_type(object, &["ClusterIP", "NodePort", "LoadBalancer"])
}

fn needs_node_port(object: &Object) -> bool {
    of_type(object, &["NodePort"])
        || (of_type(object, &["LoadBalancer"])
            && at(object, "spec.allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)))
}

fn is_headless(object: &Object) -> bool {
    text(object, "spec.clusterIP") == "None"
        || at(object, "spec.clusterIPs").is_some_and(|ips| ips[0] == "None")
}

fn is_external(object: &Object) -> bool {
    of_type(object, &["NodePort", "LoadBalancer"])
        || (of_type(object, &["ClusterIP"])
            && at(object, "spec.externalIPs")
                .and_then(Value::as_array)
                .is_some_and(|ips| !ips.is_empty()))
}

/// `SetDefaults_Service`.
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

/// An old client says its address, and knows of no list.
pub(super) fn prepare_create(object: &mut Object) {
    let address = text(object, "spec.clusterIP").to_owned();
    if let Some(Value::Object(spec)) = object.get_mut("spec")
        && !address.is_empty()
    {
        spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    }
}

/// What an update does not say of what was allocated stays (`patchAllocatedValues`,
/// `normalizeClusterIPs`); what the new type has no use for goes (`dropTypeDependentFields`).
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
                // Said in part: refused later on.
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
        // Both families are what selects nothing may have: what selects something begins anew.
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

/// A port of the same name keeps its port on the nodes.
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

/// `validateService`.
pub(super) fn check(object: &Object, causes: &mut FieldErrors) {
    const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let ports = spec.get("ports").and_then(Value::as_array).map_or(0, Vec::len);
    let of = said(spec, "type");
    if ports == 0 && !is_headless(object) && of != "ExternalName" {
        causes.push(FieldError::required("spec.ports", ""));
    }
    let says = |member: &str| {
        spec.get(member).is_some_and(|value| !value.is_null() && *value != json!([]))
    };
    match of {
        "LoadBalancer" | "NodePort" if is_headless(object) => {
            let why = format!("may not be set to 'None' for {of} services");
            causes.push(FieldError::invalid("spec.clusterIPs[0]", "None", &why));
        }
        "ExternalName" => {
            for member in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if says(member) {
                    let why = "may not be set for ExternalName services";
                    causes.push(FieldError::forbidden(format!("spec.{member}"), why));
                }
            }
            let name = said(spec, "externalName");
            match name.strip_suffix('.').unwrap_or(name) {
                "" => causes.push(FieldError::required("spec.externalName", "")),
                name => subdomain(name, "spec.externalName", causes),
            }
        }
        _ => {}
    }
    check_ports(spec, ports, causes);
    labels(spec.get("selector"), "spec.selector", causes);
    check_affinity(spec, causes);
    if of != "ExternalName" {
        check_addresses(spec, causes);
    }
    for (path, ip) in items(spec.get("externalIPs"), "spec.externalIPs") {
        let text = ip.as_str().unwrap_or_default();
        if let Some(ip) = address(text, &path, causes) {
            endpoint_address(ip, text, &path, causes);
        }
    }
    if !TYPES.contains(&of) {
        causes.push(FieldError::unsupported("spec.type", of, &TYPES));
    }
    check_duplicate_ports(spec, causes);
    check_policies(object, spec, causes);
}

fn check_ports(spec: &Value, count: usize, causes: &mut FieldErrors) {
    let mut names_seen = Vec::new();
    for (path, port) in items(spec.get("ports"), "spec.ports") {
        let field = format!("{path}.name");
        match said(port, "name") {
            "" if count > 1 => causes.push(FieldError::required(field, "")),
            "" => {}
            name => {
                label(name, &field, causes);
                if names_seen.contains(&name) {
                    causes.push(FieldError::duplicate(field, &name.into()));
                }
                names_seen.push(name);
            }
        }
        port_number(port.get("port").unwrap_or(&Value::Null), &format!("{path}.port"), causes);
        protocol(port.get("protocol").unwrap_or(&Value::Null), &path, causes);
        port_or_name(
            port.get("targetPort").unwrap_or(&Value::Null),
            &format!("{path}.targetPort"),
            causes,
        );
        let of = said(port, "appProtocol");
        for why in names::wrongs_of_qualified_name(of).filter(|_| !of.is_empty()) {
            causes.push(FieldError::invalid(format!("{path}.appProtocol"), of, why));
        }
    }
}

fn check_duplicate_ports(spec: &Value, causes: &mut FieldErrors) {
    if said(spec, "type") == "ClusterIP" {
        for (path, port) in items(spec.get("ports"), "spec.ports") {
            if port.get("nodePort").and_then(Value::as_i64).unwrap_or(0) != 0 {
                let why = "may not be used when `type` is 'ClusterIP'";
                causes.push(FieldError::forbidden(format!("{path}.nodePort"), why));
            }
        }
    }
    for member in ["nodePort", "port"] {
        let mut seen = Vec::new();
        for (path, port) in items(spec.get("ports"), "spec.ports") {
            let number = port.get(member).and_then(Value::as_i64).unwrap_or(0);
            let pair = (said(port, "protocol"), number);
            if seen.contains(&pair) && (member == "port" || number != 0) {
                causes.push(if member == "nodePort" {
                    FieldError::duplicate(format!("{path}.nodePort"), &number.into())
                } else {
                    // As Go writes its own type.
                    let shown = format!(
                        "{{\"Name\":\"\",\"Protocol\":{:?},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\
                         \"NodePort\":0}}",
                        pair.0
                    );
                    FieldError::duplicate_shown(path, &shown)
                });
            }
            seen.push(pair);
        }
    }
}

fn check_affinity(spec: &Value, causes: &mut FieldErrors) {
    let config = spec.get("sessionAffinityConfig");
    match said(spec, "sessionAffinity") {
        "" => causes.push(FieldError::required("spec.sessionAffinity", "")),
        "None" if config.is_some() => {
            let why = "must not be set when session affinity is None";
            causes.push(FieldError::forbidden("spec.sessionAffinityConfig", why));
        }
        "None" => {}
        "ClientIP" => {
            let timeout = config.and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
            if let Some(timeout) =
                timeout.filter(|t| !t.as_i64().is_some_and(|t| (1..=86400).contains(&t)))
            {
                let field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
                causes.push(FieldError::invalid_json(
                    field,
                    timeout,
                    "must be greater than 0 and less than 86400",
                ));
            }
        }
        other => causes.push(FieldError::unsupported(
            "spec.sessionAffinity",
            other,
            &["ClientIP", "None"],
        )),
    }
}

/// `ValidateServiceClusterIPsRelatedFields`, of one family.
fn check_addresses(spec: &Value, causes: &mut FieldErrors) {
    let field = "spec.clusterIPs";
    let addresses = spec.get("clusterIPs").and_then(Value::as_array).cloned().unwrap_or_default();
    let first = said(spec, "clusterIP");
    match addresses.first() {
        None if !first.is_empty() => causes.push(FieldError::required(field, "")),
        Some(_) if first.is_empty() => {
            let why = "must be empty when `clusterIP` is not specified";
            causes.push(FieldError::invalid_json(field, &addresses.clone().into(), why));
        }
        Some(listed) if listed != first => {
            causes.push(FieldError::invalid_json(
                field,
                &addresses.clone().into(),
                "first value must match `clusterIP`",
            ));
        }
        _ => {}
    }
    for (path, family) in items(spec.get("ipFamilies"), "spec.ipFamilies") {
        if family != "IPv4" && family != "IPv6" {
            causes.push(FieldError::unsupported(
                path,
                family.as_str().unwrap_or_default(),
                &["IPv4", "IPv6"],
            ));
        }
    }
    let policy = said(spec, "ipFamilyPolicy");
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    if spec.get("ipFamilyPolicy").is_some() && !policies.contains(&policy) {
        causes.push(FieldError::unsupported("spec.ipFamilyPolicy", policy, &policies));
    }
    if addresses.len() > 1 && addresses.first().is_some_and(|first| first == "None") {
        let why = "'None' must be the first and only value";
        causes.push(FieldError::invalid_json(field, &addresses.clone().into(), why));
    }
    for (path, ip) in items(spec.get("clusterIPs"), field) {
        if ip != "None" {
            address(ip.as_str().unwrap_or_default(), &path, causes);
        }
    }
    if addresses.len() > 2 {
        causes.push(FieldError::invalid_json(
            field,
            &addresses.into(),
            "may only hold up to 2 values",
        ));
    }
}

fn check_policies(object: &Object, spec: &Value, causes: &mut FieldErrors) {
    let balancer = said(spec, "type") == "LoadBalancer";
    let only = "may only be used when `type` is 'LoadBalancer'";
    let says = |member: &str| {
        spec.get(member).is_some_and(|value| !value.is_null() && *value != json!([]))
    };
    if says("loadBalancerSourceRanges") && !balancer {
        causes.push(FieldError::forbidden("spec.LoadBalancerSourceRanges", only));
    }
    if says("allocateLoadBalancerNodePorts") && !balancer {
        causes.push(FieldError::forbidden("spec.allocateLoadBalancerNodePorts", only));
    }
    if says("loadBalancerClass") && !balancer {
        causes.push(FieldError::forbidden(
            "spec.loadBalancerClass",
            "may only be used when `type` is 'LoadBalancer'",
        ));
    }
    let policies = ["Cluster", "Local"];
    match (said(spec, "externalTrafficPolicy"), is_external(object)) {
        ("", false) => {}
        ("", true) => causes.push(FieldError::required("spec.externalTrafficPolicy", "")),
        (policy, false) => {
            let why = "may only be set for externally-accessible services";
            causes.push(FieldError::invalid("spec.externalTrafficPolicy", policy, why));
        }
        (policy, true) if !policies.contains(&policy) => {
            causes.push(FieldError::unsupported("spec.externalTrafficPolicy", policy, &policies));
        }
        _ => {}
    }
    let internal = said(spec, "internalTrafficPolicy");
    if needs_cluster_ip(object) && says("internalTrafficPolicy") && !policies.contains(&internal) {
        causes.push(FieldError::unsupported("spec.internalTrafficPolicy", internal, &policies));
    }
    let distribution = said(spec, "trafficDistribution");
    let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    if says("trafficDistribution") && !known.contains(&distribution) {
        causes.push(FieldError::unsupported("spec.trafficDistribution", distribution, &known));
    }
}

/// `ValidateServiceUpdate`: an address stays once it is set.
pub(super) fn check_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    // Of a type that is none nothing was allocated, and that is said elsewhere.
    if !needs_cluster_ip(object) || !needs_cluster_ip(old) {
        return;
    }
    if is_headless(object) && is_headless(old) {
        return;
    }
    let addresses = |object: &Object| {
        at(object, "spec.clusterIPs").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (new, was) = (addresses(object), addresses(old));
    let field = "spec.clusterIPs[0]";
    if new.is_empty() && !was.is_empty() {
        causes.push(FieldError::invalid_json(
            field,
            &Value::Null,
            "primary clusterIP can not be unset",
        ));
    } else if !was.is_empty() && new.first() != was.first() {
        causes.push(FieldError::invalid_json(field, &new.into(), "may not change once set"));
    }
}

/// `ValidateLoadBalancerStatus`.
pub(super) fn check_status(object: &Object, causes: &mut FieldErrors) {
    let path = "status.loadBalancer.ingress";
    let all = at(object, path);
    if !of_type(object, &["LoadBalancer"]) {
        if all.is_some() {
            causes.push(FieldError::forbidden(
                path,
                "may only be used when `spec.type` is 'LoadBalancer'",
            ));
        }
        return;
    }
    for (path, ingress) in items(all, path) {
        let (ip, mode, host) =
            (said(ingress, "ip"), said(ingress, "ipMode"), said(ingress, "hostname"));
        if !ip.is_empty() {
            address(ip, &format!("{path}.ip"), causes);
        }
        match (ip, mode) {
            ("", "") => {}
            ("", _) => {
                let why = "may not be specified when `ip` is not set";
                causes.push(FieldError::forbidden(format!("{path}.ipMode"), why));
            }
            (_, "") => {
                let why = "must be specified when `ip` is set";
                causes.push(FieldError::required(format!("{path}.ipMode"), why));
            }
            (_, "VIP" | "Proxy") => {}
            (_, mode) => {
                causes.push(FieldError::unsupported(
                    format!("{path}.ipMode"),
                    mode,
                    &["Proxy", "VIP"],
                ));
            }
        }
        if !host.is_empty() {
            subdomain(host, &format!("{path}.hostname"), causes);
        }
    }
}

/// `GetWarningsForService`.
pub(super) fn warnings(object: &Object, warnings: &mut Vec<String>) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let annotations = metadata::get(object, "annotations").unwrap_or(&Value::Null);
    let hints = "service.kubernetes.io/topology-aware-hints";
    if annotations.get(hints).is_some() {
        let mode = "service.kubernetes.io/topology-mode";
        warnings.push(format!("annotation {hints} is deprecated, please use {mode} instead"));
    }
    let says = |member: &str| {
        spec.get(member)
            .is_some_and(|value| *value != "" && *value != json!([]) && !value.is_null())
    };
    if is_headless(object) {
        for member in ["loadBalancerIP", "externalIPs"] {
            if says(member) {
                warnings.push(format!("spec.{member} is ignored for headless services"));
            }
        }
        if said(spec, "sessionAffinity") != "None" {
            warnings.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    } else if says("externalIPs") && said(spec, "type") != "ExternalName" {
        warnings.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .to_owned(),
        );
    }
    if said(spec, "type") == "ExternalName" {
        if says("externalIPs") {
            warnings
                .push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
        }
    } else if says("externalName") {
        warnings
            .push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if said(spec, "trafficDistribution") == "PreferClose" {
        warnings.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .to_owned(),
        );
    }
}
