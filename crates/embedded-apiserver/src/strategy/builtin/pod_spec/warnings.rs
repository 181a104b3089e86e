//! Warnings about Pods and pod templates.

use k8s_value::quantity::Quantity;
use serde_json::Value;

use crate::strategy::builtin::members::{items, said};

/// Adds the warnings of a Pod or a template; `path` is that of its metadata, with a dot.
#[doc(alias = "warningsForPodSpecAndMeta")]
pub(in crate::strategy::builtin) fn add_warnings(
    pod: &Value,
    path: &str,
    warnings: &mut Vec<String>,
) {
    let Some(spec) = pod.get("spec") else { return };
    let path = format!("{path}spec");
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        warnings.push(format!(
            "{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid \
             and will be treated as 1"
        ));
    }
    for (at, spread) in
        items(spec.get("topologySpreadConstraints"), &format!("{path}.topologySpreadConstraints"))
    {
        if spread.get("labelSelector").is_none() {
            warnings.push(format!(
                "{at}.labelSelector: a null labelSelector results in matching no pod"
            ));
        }
    }
    let mut seen = Vec::new();
    for (at, secret) in items(spec.get("imagePullSecrets"), &format!("{path}.imagePullSecrets")) {
        let name = said(secret, "name");
        if name.is_empty() {
            warnings.push(format!("{at}.name: invalid empty name \"\""));
        } else if seen.contains(&name) {
            warnings.push(format!("{at}.name: duplicate name {name:?}"));
        }
        seen.push(name);
    }
    let lists = ["initContainers", "containers"].map(|list| (list, format!("{path}.{list}")));
    let containers: Vec<(String, &Value)> =
        lists.iter().flat_map(|(list, path)| items(spec.get(*list), path)).collect();
    for (at, container) in &containers {
        of_resources(container, at, warnings);
        of_environment(container, at, warnings);
    }
    of_ports(&containers, warnings);
}

fn of_resources(container: &Value, path: &str, warnings: &mut Vec<String>) {
    for of in ["memory", "ephemeral-storage"] {
        for sort in ["limits", "requests"] {
            let amount =
                container.pointer(&format!("/resources/{sort}/{of}")).and_then(Value::as_str);
            if let Some(text) = amount
                && Quantity::parse(text).is_ok_and(|quantity| !quantity.is_whole())
            {
                warnings.push(format!(
                    "{path}.resources.{sort}[{of}]: fractional byte value {text:?} is invalid, \
                     must be an integer"
                ));
            }
        }
    }
}

fn of_environment(container: &Value, path: &str, warnings: &mut Vec<String>) {
    let mut seen = Vec::new();
    for (at, variable) in items(container.get("env"), &format!("{path}.env")) {
        let name = said(variable, "name");
        if !seen.contains(&name) {
            seen.push(name);
            continue;
        }
        let reference = format!("$({name})");
        let value = said(variable, "value");
        if variable.get("valueFrom").is_some() || value == reference || !value.contains(&reference)
        {
            warnings.push(format!(
                "{at}: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

fn of_ports(containers: &[(String, &Value)], warnings: &mut Vec<String>) {
    let ports: Vec<(String, &Value)> = containers
        .iter()
        .flat_map(|(path, container)| items(container.get("ports"), &format!("{path}.ports")))
        .collect();
    let key = |port: &Value| (port["containerPort"].as_i64(), said(port, "protocol").to_owned());
    let host = |port: &Value| port.get("hostPort").and_then(Value::as_i64).unwrap_or(0);
    for (index, (at, port)) in ports.iter().enumerate() {
        for (other_at, other) in
            ports.iter().take(index).filter(|(_, other)| key(other) == key(port))
        {
            let same_ip = said(port, "hostIP") == said(other, "hostIP");
            let one_ip = said(port, "hostIP").is_empty() != said(other, "hostIP").is_empty();
            if same_ip && host(port) == host(other) {
                warnings.push(format!("{at}: duplicate port definition with {other_at}"));
            } else if host(port) == 0 || host(other) == 0 {
                warnings.push(format!("{at}: overlapping port definition with {other_at}"));
            } else if host(port) == host(other) && one_ip {
                warnings
                    .push(format!("{at}: dangerously ambiguous port definition with {other_at}"));
            }
        }
    }
    let mut named: Vec<(&str, &str)> = Vec::new();
    for (at, port) in &ports {
        let name = said(port, "name");
        match named.iter().find(|(known, _)| *known == name) {
            _ if name.is_empty() => {}
            Some((_, first)) => warnings.push(format!(
                "{at}: duplicate port name {name:?} with {first}, services and probes \
                 that select ports by name will use \
                 {first}"
            )),
            None => named.push((name, at)),
        }
    }
}
