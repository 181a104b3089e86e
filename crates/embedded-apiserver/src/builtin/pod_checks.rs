//! What the spec of a Pod, or of a controller's template, is refused for. Pure: `ValidatePodSpec`,
//! as far as wrong specs come from mistakes that are often made.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builtin::values::{
    items, label, labels, not_negative, port_number, port_or_name, protocol, said, subdomain,
    wrong_port_name,
};
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;
use k8s_value::quantity::Quantity;

/// `ValidatePodTemplateSpec`.
pub(super) fn check_template(template: Option<&Value>, path: &str, causes: &mut FieldErrors) {
    let metadata = template.and_then(|template| template.get("metadata"));
    labels(metadata.and_then(|m| m.get("labels")), &format!("{path}.labels"), causes);
    let annotations = metadata.and_then(|m| m.get("annotations")).and_then(Value::as_object);
    for (key, _) in annotations.into_iter().flatten() {
        for why in names::wrongs_of_qualified_name(&key.to_lowercase()) {
            causes.push(FieldError::invalid(format!("{path}.annotations"), key, why));
        }
    }
    let spec = template.and_then(|template| template.get("spec")).unwrap_or(&Value::Null);
    check_spec(spec, &format!("{path}.spec"), causes);
    if spec.get("ephemeralContainers").is_some() {
        let why = "ephemeral containers not allowed in pod template";
        causes.push(FieldError::forbidden(format!("{path}.spec.ephemeralContainers"), why));
    }
}

/// `ValidatePodSpec`.
pub(super) fn check_spec(spec: &Value, path: &str, causes: &mut FieldErrors) {
    let field = |member: &str| format!("{path}.{member}");
    let volumes = check_volumes(spec, &field("volumes"), causes);
    let containers = spec.get("containers").and_then(Value::as_array).map_or(0, Vec::len);
    if containers == 0 {
        causes.push(FieldError::required(field("containers"), ""));
    }
    let mut taken = Vec::new();
    for list in ["containers", "initContainers"] {
        for (path, container) in items(spec.get(list), &field(list)) {
            check_container(container, &volumes, &path, causes);
            let name = said(container, "name");
            if taken.contains(&name) {
                causes.push(FieldError::duplicate(format!("{path}.name"), &name.into()));
            } else {
                taken.push(name);
            }
            check_probes(container, list == "initContainers", &path, causes);
        }
        if list == "containers" {
            check_host_ports(spec, &field(list), causes);
        }
    }
    check_host_network(spec, path, causes);
    let mut one_of = |member: &str, supported: &[&str]| match said(spec, member) {
        "" => causes.push(FieldError::required(field(member), "")),
        said if !supported.contains(&said) => {
            causes.push(FieldError::unsupported(field(member), said, supported))
        }
        _ => {}
    };
    one_of("restartPolicy", &["Always", "OnFailure", "Never"]);
    one_of("dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    labels(spec.get("nodeSelector"), &field("nodeSelector"), causes);
    for member in ["serviceAccountName", "nodeName"] {
        let name = said(spec, member);
        if !name.is_empty() {
            subdomain(name, &field(member), causes);
        }
    }
    if let Some(seconds) = spec.get("activeDeadlineSeconds")
        && !seconds.as_i64().is_some_and(|seconds| (1..=i64::from(i32::MAX)).contains(&seconds))
    {
        let why = "must be between 1 and 2147483647, inclusive";
        causes.push(FieldError::invalid_json(field("activeDeadlineSeconds"), seconds, why));
    }
    for member in ["hostname", "subdomain"] {
        if !said(spec, member).is_empty() {
            label(said(spec, member), &field(member), causes);
        }
    }
    for (path, toleration) in items(spec.get("tolerations"), &field("tolerations")) {
        check_toleration(toleration, &path, causes);
    }
    if !said(spec, "priorityClassName").is_empty() {
        subdomain(said(spec, "priorityClassName"), &field("priorityClassName"), causes);
    }
}

/// A token of an account needs the account, which nobody fills in here.
pub(super) fn check_tokens(spec: &Value, causes: &mut FieldErrors) {
    if !said(spec, "serviceAccountName").is_empty() {
        return;
    }
    for (path, volume) in items(spec.get("volumes"), "spec.volumes") {
        let sources = volume.pointer("/projected/sources");
        for (path, _) in items(sources, &format!("{path}.projected.sources"))
            .filter(|(_, source)| source.get("serviceAccountToken").is_some())
        {
            let why = "must not be specified when serviceAccountName is not set";
            causes.push(FieldError::forbidden(format!("{path}.serviceAccountToken"), why));
        }
    }
}

/// The volumes by name, those that are well made.
fn check_volumes<'a>(
    spec: &'a Value,
    path: &str,
    causes: &mut FieldErrors,
) -> BTreeMap<&'a str, &'a Value> {
    let mut known = BTreeMap::new();
    for (path, volume) in items(spec.get("volumes"), path) {
        let mut own = FieldErrors::default();
        check_source(volume, &path, &mut own);
        let (field, name) = (format!("{path}.name"), said(volume, "name"));
        if name.is_empty() {
            own.push(FieldError::required(field.as_str(), ""));
        } else {
            label(name, &field, &mut own);
        }
        if known.contains_key(name) {
            own.push(FieldError::duplicate(field, &name.into()));
        }
        if own.is_empty() {
            known.insert(name, volume);
        } else {
            causes.append(own);
        }
    }
    known
}

/// `validateVolumeSource`: one source, with what it cannot do without.
fn check_source(volume: &Value, path: &str, causes: &mut FieldErrors) {
    const NEEDED: [(&str, &str); 8] = [
        ("hostPath", "path"),
        ("secret", "secretName"),
        ("configMap", "name"),
        ("persistentVolumeClaim", "claimName"),
        ("nfs", "server"),
        ("nfs", "path"),
        ("csi", "driver"),
        ("gitRepo", "repository"),
    ];
    let members = volume.as_object().into_iter().flatten();
    let mut sources: Vec<&str> =
        members.map(|(name, _)| name.as_str()).filter(|name| *name != "name").collect();
    sources.sort_by_key(|name| {
        ["emptyDir", "hostPath"].iter().position(|first| first == name).unwrap_or(2)
    });
    for source in sources.iter().skip(1) {
        causes.push(FieldError::forbidden(
            format!("{path}.{source}"),
            "may not specify more than 1 volume type",
        ));
    }
    let Some(source) = sources.first() else {
        return causes.push(FieldError::required(path, "must specify a volume type"));
    };
    let inner = volume.get(*source).unwrap_or(&Value::Null);
    for (_, member) in NEEDED.iter().filter(|(of, _)| of == source) {
        if said(inner, member).is_empty() {
            causes.push(FieldError::required(format!("{path}.{source}.{member}"), ""));
        }
    }
    if let Some(mode) = inner.get("defaultMode")
        && !mode.as_i64().is_some_and(|mode| (0..=0o777).contains(&mode))
    {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        causes.push(FieldError::invalid_json(format!("{path}.{source}.defaultMode"), mode, why));
    }
    if *source == "hostPath" && said(inner, "path").split('/').any(|part| part == "..") {
        causes.push(FieldError::invalid(
            format!("{path}.hostPath.path"),
            said(inner, "path"),
            "must not contain '..'",
        ));
    }
    if *source == "emptyDir"
        && let Some(limit) = inner.get("sizeLimit")
        && limit
            .as_str()
            .and_then(|limit| Quantity::parse(limit).ok())
            .is_some_and(Quantity::is_negative)
    {
        causes.push(FieldError::forbidden(
            format!("{path}.emptyDir.sizeLimit"),
            "SizeLimit field must be a valid resource quantity",
        ));
    }
}

/// `validateContainerCommon`.
fn check_container(
    container: &Value,
    volumes: &BTreeMap<&str, &Value>,
    path: &str,
    causes: &mut FieldErrors,
) {
    let field = |member: &str| format!("{path}.{member}");
    match said(container, "name") {
        "" => causes.push(FieldError::required(field("name"), "")),
        name => label(name, &field("name"), causes),
    }
    if said(container, "image").is_empty() {
        causes.push(FieldError::required(field("image"), ""));
    }
    let policies = ["File", "FallbackToLogsOnError"];
    let policy = said(container, "terminationMessagePolicy");
    if !policies.contains(&policy) {
        causes.push(FieldError::unsupported(field("terminationMessagePolicy"), policy, &policies));
    }
    check_ports(container, &field("ports"), causes);
    check_environment(container, path, causes);
    check_mounts(container, volumes, &field("volumeMounts"), causes);
    let policies = ["Always", "IfNotPresent", "Never"];
    let policy = said(container, "imagePullPolicy");
    if !policies.contains(&policy) {
        causes.push(FieldError::unsupported(field("imagePullPolicy"), policy, &policies));
    }
    check_resources(container.get("resources"), &field("resources"), causes);
}

fn check_ports(container: &Value, path: &str, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, port) in items(container.get("ports"), path) {
        let (field, name) = (format!("{path}.name"), said(port, "name"));
        if !name.is_empty() {
            let wrong = wrong_port_name(name);
            if wrong.is_empty() && seen.contains(&name) {
                causes.push(FieldError::duplicate(field.as_str(), &name.into()));
            }
            wrong
                .into_iter()
                .for_each(|why| causes.push(FieldError::invalid(field.as_str(), name, why)));
            seen.push(name);
        }
        match port.get("containerPort").and_then(Value::as_i64).unwrap_or(0) {
            0 => causes.push(FieldError::required(format!("{path}.containerPort"), "")),
            number => port_number(&number.into(), &format!("{path}.containerPort"), causes),
        }
        if let Some(number) = port.get("hostPort").filter(|number| **number != 0) {
            port_number(number, &format!("{path}.hostPort"), causes);
        }
        protocol(port.get("protocol").unwrap_or(&Value::Null), &path, causes);
    }
}

fn check_environment(container: &Value, path: &str, causes: &mut FieldErrors) {
    for (path, variable) in items(container.get("env"), &format!("{path}.env")) {
        let name = said(variable, "name");
        if name.is_empty() {
            causes.push(FieldError::required(format!("{path}.name"), ""));
        } else if name.contains(|c: char| c == '=' || !(' '..='~').contains(&c)) {
            let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
            causes.push(FieldError::invalid(format!("{path}.name"), name, why));
        }
        let Some(from) = variable.get("valueFrom") else { continue };
        let field = format!("{path}.valueFrom");
        let sources = from.as_object().map_or(0, serde_json::Map::len);
        if !said(variable, "value").is_empty() && sources > 0 {
            causes.push(FieldError::invalid(
                field.as_str(),
                "",
                "may not be specified when `value` is not empty",
            ));
        }
        match sources {
            0 => {
                let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef`, or \
                           `fileKeyRef`";
                causes.push(FieldError::invalid(field.as_str(), "", why));
            }
            1 => {}
            _ => causes.push(FieldError::invalid(
                field.as_str(),
                "",
                "may not have more than one field specified at a time",
            )),
        }
        for of in ["configMapKeyRef", "secretKeyRef"] {
            if let Some(reference) = from.get(of) {
                if said(reference, "name").is_empty() {
                    causes.push(FieldError::required(format!("{field}.{of}.name"), ""));
                }
                if said(reference, "key").is_empty() {
                    causes.push(FieldError::required(format!("{field}.{of}.key"), ""));
                }
            }
        }
    }
    for (path, source) in items(container.get("envFrom"), &format!("{path}.envFrom")) {
        for of in ["configMapRef", "secretRef"] {
            if source.get(of).is_some_and(|reference| said(reference, "name").is_empty()) {
                causes.push(FieldError::required(format!("{path}.{of}.name"), ""));
            }
        }
    }
}

fn check_mounts(
    container: &Value,
    volumes: &BTreeMap<&str, &Value>,
    path: &str,
    causes: &mut FieldErrors,
) {
    let mut seen = Vec::new();
    for (path, mount) in items(container.get("volumeMounts"), path) {
        let (name, to) = (said(mount, "name"), said(mount, "mountPath"));
        if name.is_empty() {
            causes.push(FieldError::required(format!("{path}.name"), ""));
        }
        if !volumes.contains_key(name) {
            causes.push(FieldError::not_found(format!("{path}.name"), name));
        }
        if to.is_empty() {
            causes.push(FieldError::required(format!("{path}.mountPath"), ""));
        }
        if seen.contains(&to) {
            causes.push(FieldError::invalid(format!("{path}.mountPath"), to, "must be unique"));
        }
        seen.push(to);
    }
}

/// `validateResourceRequirements`.
fn check_resources(resources: Option<&Value>, path: &str, causes: &mut FieldErrors) {
    let Some(resources) = resources else { return };
    let of =
        |sort: &str| resources.get(sort).and_then(Value::as_object).cloned().unwrap_or_default();
    let (limits, requests) = (of("limits"), of("requests"));
    let parse = |value: &Value| value.as_str().and_then(|text| Quantity::parse(text).ok());
    for (sort, amounts) in [("limits", &limits), ("requests", &requests)] {
        for (name, amount) in amounts {
            let field = format!("{path}.{sort}[{name}]");
            check_resource_name(name, &format!("{path}.{sort}"), causes);
            let Some(quantity) = parse(amount) else { continue };
            let text = amount.as_str().unwrap_or_default();
            if quantity.is_negative() {
                causes.push(FieldError::invalid(
                    field.as_str(),
                    text,
                    "must be greater than or equal to 0",
                ));
            }
            let whole = matches!(name.as_str(), "pods" | "services") || is_extended(name);
            if whole && !quantity.is_whole() {
                causes.push(FieldError::invalid(field.as_str(), text, "must be an integer"));
            }
            let Some(limit) = limits.get(name).filter(|_| sort == "requests") else {
                if sort == "requests" && (is_extended(name) || name.starts_with("hugepages-")) {
                    causes.push(FieldError::required(
                        format!("{path}.limits"),
                        "Limit must be set for non overcommitable resources",
                    ));
                }
                continue;
            };
            let above = parse(limit).is_some_and(|limit| quantity.nanos() > limit.nanos());
            let differs = parse(limit).is_some_and(|limit| quantity.nanos() != limit.nanos());
            let limit = limit.as_str().unwrap_or_default();
            let field = format!("{path}.requests");
            if is_extended(name) && differs {
                let why = format!("must be equal to {name} limit of {limit}");
                causes.push(FieldError::invalid(field, text, &why));
            } else if above {
                let why = format!("must be less than or equal to {name} limit of {limit}");
                causes.push(FieldError::invalid(field, text, &why));
            }
        }
    }
}

/// Of somebody else's domain: whole numbers, and never more than is there.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

fn check_resource_name(name: &str, path: &str, causes: &mut FieldErrors) {
    const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
    if let Some(why) = names::wrong_qualified_name(name) {
        causes.push(FieldError::invalid(path, name, why));
    } else if !name.contains('/') && !STANDARD.contains(&name) && !name.starts_with("hugepages-") {
        causes.push(FieldError::invalid(path, name, "must be a standard resource for containers"));
    }
}

fn check_probes(container: &Value, initial: bool, path: &str, causes: &mut FieldErrors) {
    let sidecar = said(container, "restartPolicy") == "Always";
    if let Some(lifecycle) = container.get("lifecycle").and_then(Value::as_object) {
        for (hook, handler) in lifecycle.iter().filter(|(_, handler)| handler.is_object()) {
            check_handler(handler, &format!("{path}.lifecycle.{hook}"), causes);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get(name) else { continue };
        let field = format!("{path}.{name}");
        if initial && !sidecar {
            causes.push(FieldError::forbidden(
                field,
                "may not be set for init containers without restartPolicy=Always",
            ));
            continue;
        }
        check_handler(probe, &field, causes);
        let seconds = [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ];
        not_negative(probe, &field, &seconds, causes);
        if name != "readinessProbe"
            && let Some(threshold) =
                probe.get("successThreshold").filter(|threshold| **threshold != 1)
        {
            causes.push(FieldError::invalid_json(
                format!("{field}.successThreshold"),
                threshold,
                "must be 1",
            ));
        }
    }
}

/// `validateHandler`: one of exec, httpGet, tcpSocket, grpc, sleep.
fn check_handler(handler: &Value, path: &str, causes: &mut FieldErrors) {
    let sorts = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let mut said_before = false;
    for sort in sorts {
        let Some(action) = handler.get(sort) else { continue };
        let field = format!("{path}.{sort}");
        if std::mem::replace(&mut said_before, true) {
            causes.push(FieldError::forbidden(field, "may not specify more than 1 handler type"));
            continue;
        }
        match sort {
            "exec" if action.get("command").and_then(Value::as_array).is_none_or(Vec::is_empty) => {
                causes.push(FieldError::required(format!("{field}.command"), ""));
            }
            "httpGet" | "tcpSocket" => {
                if sort == "httpGet" && said(action, "path").is_empty() {
                    causes.push(FieldError::required(format!("{field}.path"), ""));
                }
                port_or_name(
                    action.get("port").unwrap_or(&Value::Null),
                    &format!("{field}.port"),
                    causes,
                );
                let schemes = ["HTTP", "HTTPS"];
                if sort == "httpGet" && !schemes.contains(&said(action, "scheme")) {
                    causes.push(FieldError::unsupported(
                        format!("{field}.scheme"),
                        said(action, "scheme"),
                        &schemes,
                    ));
                }
            }
            "grpc" => port_number(
                action.get("port").unwrap_or(&Value::Null),
                &format!("{field}.port"),
                causes,
            ),
            _ => {}
        }
    }
    if !said_before {
        causes.push(FieldError::required(path, "must specify a handler type"));
    }
}

/// Two containers cannot listen on one port of a node.
fn check_host_ports(spec: &Value, path: &str, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, container) in items(spec.get("containers"), path) {
        for (path, port) in items(container.get("ports"), &format!("{path}.ports")) {
            let number = port.get("hostPort").and_then(Value::as_i64).unwrap_or(0);
            if number == 0 {
                continue;
            }
            let key = format!("{}/{}/{number}", said(port, "protocol"), said(port, "hostIP"));
            if seen.contains(&key) {
                causes
                    .push(FieldError::duplicate(format!("{path}.hostPort"), &key.as_str().into()));
            }
            seen.push(key);
        }
    }
}

fn check_host_network(spec: &Value, path: &str, causes: &mut FieldErrors) {
    if spec.get("hostNetwork") != Some(&Value::Bool(true)) {
        return;
    }
    for list in ["containers", "initContainers"] {
        for (path, container) in items(spec.get(list), &format!("{path}.{list}")) {
            for (path, port) in items(container.get("ports"), &format!("{path}.ports")) {
                if port.get("hostPort") != port.get("containerPort") {
                    let number = port.get("hostPort").cloned().unwrap_or_else(|| 0.into());
                    let why = "must match `containerPort` when `hostNetwork` is true";
                    causes.push(FieldError::invalid_json(format!("{path}.hostPort"), &number, why));
                }
            }
        }
    }
}

fn check_toleration(toleration: &Value, path: &str, causes: &mut FieldErrors) {
    let (key, operator, effect) =
        (said(toleration, "key"), said(toleration, "operator"), said(toleration, "effect"));
    for why in names::wrongs_of_qualified_name(key).filter(|_| !key.is_empty()) {
        causes.push(FieldError::invalid(format!("{path}.key"), key, why));
    }
    if key.is_empty() && operator != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        causes.push(FieldError::invalid(format!("{path}.operator"), operator, why));
    }
    if toleration.get("tolerationSeconds").is_some() && effect != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        causes.push(FieldError::invalid(format!("{path}.effect"), effect, why));
    }
    match operator {
        "Equal" | "" => {
            let value = said(toleration, "value");
            if let Some(why) = names::wrong_label_value(value) {
                causes.push(FieldError::invalid(format!("{path}.operator"), value, why));
            }
        }
        "Exists" => {
            if !said(toleration, "value").is_empty() {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.push(FieldError::invalid(
                    format!("{path}.operator"),
                    said(toleration, "value"),
                    why,
                ));
            }
        }
        other => causes.push(FieldError::unsupported(
            format!("{path}.operator"),
            other,
            &["Equal", "Exists"],
        )),
    }
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if !effect.is_empty() && !effects.contains(&effect) {
        causes.push(FieldError::unsupported(format!("{path}.effect"), effect, &effects));
    }
}
