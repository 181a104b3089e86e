//! Validation of Services and their updates.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, items, said};
use crate::strategy::builtin::service::exposure::{
    is_external, is_headless, needs_cluster_ip, of_type,
};
use crate::strategy::builtin::values::{
    address, endpoint_address, label, labels, port_number, port_or_name, protocol, subdomain,
};

#[doc(alias = "ValidateService")]
pub(super) fn validate(object: &Object, causes: &mut FieldErrors) {
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
    validate_ports(spec, ports, causes);
    labels(spec.get("selector"), "spec.selector", causes);
    validate_affinity(spec, causes);
    if of != "ExternalName" {
        validate_addresses(spec, causes);
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
    validate_duplicate_ports(spec, causes);
    validate_policies(object, spec, causes);
}

fn validate_ports(spec: &Value, count: usize, causes: &mut FieldErrors) {
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

fn validate_duplicate_ports(spec: &Value, causes: &mut FieldErrors) {
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
                    // In the format of Go's type.
                    let shown = format!(
                        "{{\"Name\":\"\",\"Protocol\":{:?},\"AppProtocol\":null,\
                         \"Port\":{number},\"TargetPort\":0,\
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

fn validate_affinity(spec: &Value, causes: &mut FieldErrors) {
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

/// Checks the addresses, all of one family.
#[doc(alias = "ValidateServiceClusterIPsRelatedFields")]
fn validate_addresses(spec: &Value, causes: &mut FieldErrors) {
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

fn validate_policies(object: &Object, spec: &Value, causes: &mut FieldErrors) {
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

/// A cluster IP is immutable.
#[doc(alias = "ValidateServiceUpdate")]
pub(super) fn validate_change(object: &Object, old: &Object, causes: &mut FieldErrors) {
    // An unknown type has no address, and is already an error.
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

#[doc(alias = "ValidateLoadBalancerStatus")]
pub(super) fn validate_status(object: &Object, causes: &mut FieldErrors) {
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
