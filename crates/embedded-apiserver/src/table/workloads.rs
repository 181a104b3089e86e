//! The cells of Deployments, ReplicaSets, Jobs, Nodes, EndpointSlices and bindings, as
//! pkg/printers/internalversion/printers.go of Kubernetes makes them.

use jiff::Timestamp;
use serde_json::Value;

use crate::table::age;

const NONE: &str = "<none>";

fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn number(object: &Value, path: &str) -> i64 {
    object.pointer(path).and_then(Value::as_i64).unwrap_or(0)
}

fn joined(object: &Value, path: &str, member: &str) -> Value {
    let all: Vec<&str> =
        list(object, path).iter().filter_map(|item| item[member].as_str()).collect();
    all.join(",").into()
}

pub(super) fn containers(object: &Value) -> Value {
    joined(object, "/spec/template/spec/containers", "name")
}

pub(super) fn images(object: &Value) -> Value {
    joined(object, "/spec/template/spec/containers", "image")
}

/// `metav1.FormatLabelSelector`.
pub(super) fn selector(object: &Value) -> Value {
    let selector = &object["spec"]["selector"];
    let mut parts: Vec<(String, String)> = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        parts.push((key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for expression in list(selector, "/matchExpressions") {
        let key = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> =
            list(expression, "/values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let part = match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        };
        parts.push((key.to_owned(), part));
    }
    parts.sort_by(|a, b| a.0.cmp(&b.0));
    match parts.is_empty() {
        true => NONE.into(),
        false => parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(",").into(),
    }
}

/// Of a Deployment: how many of how many are ready.
pub(super) fn ready(object: &Value) -> Value {
    format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas"))
        .into()
}

pub(super) fn job_status(job: &Value) -> Value {
    let has = |of: &str| {
        let found =
            list(job, "/status/conditions").iter().find(|condition| condition["type"] == of);
        found.is_some_and(|condition| condition["status"] == "True")
    };
    let ending = !job["metadata"]["deletionTimestamp"].is_null();
    let found = match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if ending => "Terminating",
        () if has("Suspended") => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    found.into()
}

pub(super) fn completions(job: &Value) -> Value {
    let succeeded = number(job, "/status/succeeded");
    let parallelism = number(job, "/spec/parallelism");
    match job["spec"]["completions"].as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}").into(),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}").into(),
        None => format!("{succeeded}/1").into(),
    }
}

pub(super) fn duration(job: &Value, now: Timestamp) -> Value {
    let time = |path: &str| job.pointer(path)?.as_str()?.parse::<Timestamp>().ok();
    let Some(start) = time("/status/startTime") else { return "".into() };
    let end = time("/status/completionTime").unwrap_or(now);
    age::human(end.as_second().saturating_sub(start.as_second())).into()
}

pub(super) fn node_status(node: &Value) -> Value {
    let ready = list(node, "/status/conditions")
        .iter()
        .rev()
        .find(|condition| condition["type"] == "Ready");
    let status = match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let closed = if node["spec"]["unschedulable"] == true { ",SchedulingDisabled" } else { "" };
    format!("{status}{closed}").into()
}

pub(super) fn node_roles(node: &Value) -> Value {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            None if key == "kubernetes.io/role" => value.as_str(),
            role => role,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() { NONE.into() } else { roles.join(",").into() }
}

fn node_address(node: &Value, of: &str) -> Value {
    let found = list(node, "/status/addresses").iter().find(|address| address["type"] == of);
    found.map_or_else(|| NONE.into(), |address| address["address"].clone())
}

pub(super) fn internal_ip(node: &Value) -> Value {
    node_address(node, "InternalIP")
}

pub(super) fn external_ip(node: &Value) -> Value {
    node_address(node, "ExternalIP")
}

pub(super) fn kernel(node: &Value) -> Value {
    let said = |member: &str| node["status"]["nodeInfo"][member].as_str().unwrap_or_default();
    let kernel = if said("kernelVersion").is_empty() { "<unknown>" } else { said("kernelVersion") };
    match said("architecture") {
        "" => kernel.into(),
        architecture => format!("{kernel} ({architecture})").into(),
    }
}

/// Three of them, and how many more there are (`listWithMoreString`).
fn some(all: &[String]) -> Value {
    const SHOWN: usize = 3;
    if all.is_empty() {
        return "<unset>".into();
    }
    let shown = all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(",");
    match all.len().saturating_sub(SHOWN) {
        0 => shown.into(),
        more => format!("{shown} + {more} more...").into(),
    }
}

pub(super) fn slice_ports(slice: &Value) -> Value {
    let ports = list(slice, "/ports").iter().map(|port| {
        match (port["port"].as_i64(), port["name"].as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        }
    });
    some(&ports.collect::<Vec<_>>())
}

pub(super) fn slice_endpoints(slice: &Value) -> Value {
    let addresses =
        list(slice, "/endpoints").iter().flat_map(|endpoint| list(endpoint, "/addresses"));
    some(&addresses.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
}

pub(super) fn role(binding: &Value) -> Value {
    let said = |member: &str| binding["roleRef"][member].as_str().unwrap_or_default();
    format!("{}/{}", said("kind"), said("name")).into()
}

fn subjects(binding: &Value, of: &str) -> Value {
    let all =
        list(binding, "/subjects").iter().filter(|subject| subject["kind"] == of).map(|subject| {
            let said = |member: &str| subject[member].as_str().unwrap_or_default();
            match of {
                "ServiceAccount" => format!("{}/{}", said("namespace"), said("name")),
                _ => said("name").to_owned(),
            }
        });
    all.collect::<Vec<_>>().join(", ").into()
}

pub(super) fn users(binding: &Value) -> Value {
    subjects(binding, "User")
}

pub(super) fn groups(binding: &Value) -> Value {
    subjects(binding, "Group")
}

pub(super) fn accounts(binding: &Value) -> Value {
    subjects(binding, "ServiceAccount")
}
