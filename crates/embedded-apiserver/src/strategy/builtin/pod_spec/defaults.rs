//! Defaults of the spec of Pods and pod templates.

use serde_json::{Map, Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::objects;

type Members = Map<String, Value>;

/// Sets the defaults of a pod spec.
#[doc(alias = "SetDefaults_Pod")]
pub(in crate::strategy::builtin) fn default_pod_spec(spec: &mut Members) {
    for container in containers(spec) {
        default_requests(container);
    }
    default_spec(spec);
    // A template keeps its value.
    let grace = spec.get_mut("terminationGracePeriodSeconds");
    if let Some(grace) = grace.filter(|grace| grace.as_i64().is_some_and(|seconds| seconds < 0)) {
        *grace = json!(1);
    }
}

/// Sets the defaults of a pod template.
pub(in crate::strategy::builtin) fn default_template(object: &mut Object) {
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        default_template_of(spec);
    }
}

/// Sets the defaults of the member `template`.
pub(in crate::strategy::builtin) fn default_template_of(owner: &mut Members) {
    let template = owner.entry("template").or_insert_with(|| json!({ "metadata": {}, "spec": {} }));
    if let Some(Value::Object(spec)) = template.get_mut("spec") {
        default_spec(spec);
    }
}

#[doc(alias = "SetDefaults_PodSpec")]
fn default_spec(spec: &mut Members) {
    for (member, value) in [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
    ] {
        spec.entry(member).or_insert(value);
    }
    // Synchronizes the deprecated name of the member.
    let account = ["serviceAccountName", "serviceAccount"]
        .iter()
        .find_map(|name| {
            spec.get(*name).filter(|name| name.as_str().is_some_and(|name| !name.is_empty()))
        })
        .cloned();
    for name in ["serviceAccountName", "serviceAccount"] {
        match &account {
            Some(account) => drop(spec.insert(name.to_owned(), account.clone())),
            None => drop(spec.remove(name)),
        }
    }
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for container in containers(spec) {
        default_container(container, host_network);
    }
    for volume in objects(spec.get_mut("volumes")) {
        default_volume(volume);
    }
}

/// All kinds of containers.
fn containers(spec: &mut Members) -> Vec<&mut Members> {
    let lists = spec.iter_mut().filter(|(name, _)| {
        matches!(name.as_str(), "containers" | "initContainers" | "ephemeralContainers")
    });
    lists.flat_map(|(_, list)| objects(Some(list))).collect()
}

/// Requests default to the limits.
fn default_requests(container: &mut Members) {
    let Some(Value::Object(resources)) = container.get_mut("resources") else { return };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    if let Value::Object(requests) = requests {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

fn default_container(container: &mut Members, host_network: bool) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    // A tag follows the last colon, unless a slash follows it. A digest is not a tag.
    let tag = image.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'));
    let latest = !image.contains('@') && tag.is_none_or(|tag| tag == "latest");
    let pull = if latest { "Always" } else { "IfNotPresent" };
    for (member, value) in [
        ("imagePullPolicy", json!(pull)),
        ("terminationMessagePath", json!("/dev/termination-log")),
        ("terminationMessagePolicy", json!("File")),
    ] {
        container.entry(member).or_insert(value);
    }
    for port in objects(container.get_mut("ports")) {
        if host_network && port.get("hostPort").is_none() {
            let number = port.get("containerPort").cloned().unwrap_or_default();
            port.insert("hostPort".to_owned(), number);
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(Value::Object(probe)) = container.get_mut(probe) {
            for (member, value) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                probe.entry(member).or_insert_with(|| value.into());
            }
            default_handler(probe);
        }
    }
    if let Some(Value::Object(lifecycle)) = container.get_mut("lifecycle") {
        lifecycle.values_mut().filter_map(Value::as_object_mut).for_each(default_handler);
    }
    for variable in objects(container.get_mut("env")) {
        default_field_reference(variable.get_mut("valueFrom").and_then(Value::as_object_mut));
    }
}

fn default_handler(handler: &mut Members) {
    if let Some(Value::Object(get)) = handler.get_mut("httpGet") {
        get.entry("path").or_insert_with(|| "/".into());
        get.entry("scheme").or_insert_with(|| "HTTP".into());
    }
    if let Some(Value::Object(grpc)) = handler.get_mut("grpc")
        && grpc.get("service").is_none_or(Value::is_null)
    {
        grpc.insert("service".to_owned(), "".into());
    }
}

fn default_field_reference(from: Option<&mut Members>) {
    if let Some(Value::Object(reference)) = from.and_then(|from| from.get_mut("fieldRef")) {
        reference.entry("apiVersion").or_insert_with(|| "v1".into());
    }
}

/// Read and write for the owner, read for others.
const MODE: i64 = 0o644;

fn default_volume(volume: &mut Members) {
    if volume.keys().all(|member| member == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(Value::Object(source)) = volume.get_mut(source) {
            source.entry("defaultMode").or_insert_with(|| MODE.into());
            for item in objects(source.get_mut("items")) {
                default_field_reference(Some(item));
            }
            for projection in objects(source.get_mut("sources")) {
                if let Some(Value::Object(token)) = projection.get_mut("serviceAccountToken") {
                    token.entry("expirationSeconds").or_insert_with(|| 3600.into());
                }
                for item in
                    objects(projection.get_mut("downwardAPI").and_then(|api| api.get_mut("items")))
                {
                    default_field_reference(Some(item));
                }
            }
        }
    }
    if let Some(Value::Object(path)) = volume.get_mut("hostPath") {
        path.entry("type").or_insert_with(|| "".into());
    }
    let claim =
        volume.get_mut("ephemeral").and_then(|source| source.get_mut("volumeClaimTemplate"));
    if let Some(Value::Object(spec)) = claim.and_then(|claim| claim.get_mut("spec")) {
        spec.entry("volumeMode").or_insert_with(|| "Filesystem".into());
    }
}
