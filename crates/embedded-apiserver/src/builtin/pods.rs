//! Pods and pod templates: what they leave out, what admission adds, and what of a Pod may change.
//! Pure.

use serde_json::{Map, Value, json};

use crate::builtin::rules::{at, fill, text};
use crate::builtin::values::{address, immutable, items, said, subdomain};
use crate::metadata::Object;
use crate::status::{FieldError, FieldErrors};
use k8s_value::quantity::Quantity;

type Members = Map<String, Value>;

/// `SetDefaults_Pod`, and `SetDefaults_PodSpec` for its spec.
pub(super) fn default_pod(object: &mut Object) {
    fill(object, "spec", &[("enableServiceLinks", json!(true))]);
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    for container in containers(spec) {
        default_requests(container);
    }
    default_spec(spec);
    // Of a template it stays as it is.
    let grace = spec.get_mut("terminationGracePeriodSeconds");
    if let Some(grace) = grace.filter(|grace| grace.as_i64().is_some_and(|seconds| seconds < 0)) {
        *grace = json!(1);
    }
    let Some(Value::Object(status)) = object.get_mut("status") else { return };
    // One address and the list of all: the single one is authoritative where they differ.
    let single =
        status.get("podIP").cloned().filter(|ip| ip.as_str().is_some_and(|ip| !ip.is_empty()));
    let first = status.get("podIPs").and_then(|all| all.get(0)?.get("ip")).cloned();
    match (single, first) {
        (Some(single), first) if first.as_ref() != Some(&single) => {
            status.insert("podIPs".to_owned(), json!([{ "ip": single }]));
        }
        (None, Some(first)) => drop(status.insert("podIP".to_owned(), first)),
        _ => {}
    }
}

/// What the template of a controller's pods leaves out.
pub(super) fn default_template(object: &mut Object) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let template = spec.entry("template").or_insert_with(|| json!({ "metadata": {}, "spec": {} }));
    if let Some(Value::Object(spec)) = template.get_mut("spec") {
        default_spec(spec);
    }
}

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
    // Two names of one member: the old one is kept in step.
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

/// Of all sorts.
fn containers(spec: &mut Members) -> Vec<&mut Members> {
    let lists = spec.iter_mut().filter(|(name, _)| {
        matches!(name.as_str(), "containers" | "initContainers" | "ephemeralContainers")
    });
    lists.flat_map(|(_, list)| objects(Some(list))).collect()
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Members> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// What is limited and not requested is requested as limited.
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
    // A tag follows the last colon, unless that is the port of a registry; a digest is no tag.
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
        default_field_reference(variable.get_mut("valueFrom"));
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

fn default_field_reference(from: Option<&mut Value>) {
    if let Some(Value::Object(reference)) = from.and_then(|from| from.get_mut("fieldRef")) {
        reference.entry("apiVersion").or_insert_with(|| "v1".into());
    }
}

/// Read and write for the owner, read for the others.
const MODE: i64 = 0o644;

fn default_volume(volume: &mut Members) {
    if volume.keys().all(|member| member == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(Value::Object(source)) = volume.get_mut(source) {
            source.entry("defaultMode").or_insert_with(|| MODE.into());
            for item in objects(source.get_mut("items")) {
                default_field_item(item);
            }
            for projection in objects(source.get_mut("sources")) {
                if let Some(Value::Object(token)) = projection.get_mut("serviceAccountToken") {
                    token.entry("expirationSeconds").or_insert_with(|| 3600.into());
                }
                for item in
                    objects(projection.get_mut("downwardAPI").and_then(|api| api.get_mut("items")))
                {
                    default_field_item(item);
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

fn default_field_item(item: &mut Members) {
    if let Some(Value::Object(reference)) = item.get_mut("fieldRef") {
        reference.entry("apiVersion").or_insert_with(|| "v1".into());
    }
}

/// The first status of a Pod.
pub(super) fn first_status(object: &Object) -> Value {
    json!({ "phase": "Pending", "qosClass": quality(object) })
}

/// `ComputePodQOS`.
fn quality(object: &Object) -> &'static str {
    let spec = at(object, "spec");
    let lists =
        ["containers", "initContainers"].iter().filter_map(|list| spec?.get(list)?.as_array());
    let (mut some, mut all) = (false, true);
    for container in lists.flatten() {
        for of in ["cpu", "memory"] {
            let amount = |sort: &str| {
                let text = container.get("resources")?.get(sort)?.get(of)?.as_str()?;
                Quantity::parse(text).ok().map(Quantity::nanos).filter(|nanos| *nanos > 0)
            };
            let (request, limit) = (amount("requests"), amount("limits"));
            some |= request.is_some() || limit.is_some();
            all &= limit.is_some() && request == limit;
        }
    }
    match (some, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// What the plugins Priority and DefaultTolerationSeconds, which every server has on, add to a new
/// Pod.
///
/// # Errors
///
/// Why they refuse it.
pub(super) fn admit(object: &mut Object) -> Result<(), String> {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return Ok(()) };
    let class = spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default();
    let priority = match class {
        "" => 0,
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        other => return Err(format!("no PriorityClass with name {other} was found")),
    };
    if let Some(said) =
        spec.get("priority").and_then(Value::as_i64).filter(|said| *said != priority)
    {
        return Err(format!(
            "the integer value of priority ({said}) must not be provided in pod spec; priority admission controller \
             computed {priority} from the given PriorityClass name"
        ));
    }
    spec.insert("priority".to_owned(), priority.into());
    let preemption = "PreemptLowerPriority";
    if let Some(said) =
        spec.get("preemptionPolicy").and_then(Value::as_str).filter(|said| *said != preemption)
    {
        return Err(format!(
            "the string value of PreemptionPolicy ({said}) must not be provided in pod spec; priority admission \
             controller computed {preemption} from the given PriorityClass name"
        ));
    }
    spec.insert("preemptionPolicy".to_owned(), preemption.into());
    add_tolerations(spec);
    Ok(())
}

/// The same plugins at an update: what they added stays where it is not said.
pub(super) fn prepare_update(object: &mut Object, old: &Object) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    for member in ["priority", "preemptionPolicy"] {
        if let (None, Some(value)) = (spec.get(member), at(old, &format!("spec.{member}"))) {
            spec.insert(member.to_owned(), value.clone());
        }
    }
    add_tolerations(spec);
}

/// A Pod that says nothing of nodes that are gone stays on them for five minutes.
fn add_tolerations(spec: &mut Members) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Value::Array(tolerations) = tolerations else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Value| {
            let says = |member: &str| toleration[member].as_str().unwrap_or_default();
            matches!(
                says("key"),
                "" | "node.kubernetes.io/not-ready" | "node.kubernetes.io/unreachable"
            ) && (says("key").is_empty() || says("key") == key)
                && matches!(says("effect"), "" | "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            let toleration = json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
            tolerations.push(toleration);
        }
    }
}

/// Of which quality a Pod is goes without saying.
pub(super) fn prepare_status(object: &mut Object, old: &Object) {
    if let Some(quality) = at(old, "status.qosClass") {
        fill(object, "status", &[("qosClass", quality.clone())]);
    }
}

/// `ValidatePodStatusUpdate`, as far as it looks at addresses and at what never changes.
pub(super) fn check_status(object: &Object, old: &Object, causes: &mut FieldErrors) {
    immutable(at(object, "status.qosClass"), at(old, "status.qosClass"), "status.qosClass", causes);
    for list in ["podIPs", "hostIPs"] {
        let path = format!("status.{list}");
        for (path, item) in items(at(object, &path), &path) {
            address(said(item, "ip"), &path, causes);
        }
    }
    let node = text(object, "status.nominatedNodeName");
    if !node.is_empty() && node != text(old, "status.nominatedNodeName") {
        subdomain(node, "status.nominatedNodeName", causes);
    }
}

/// `ValidatePodUpdate`: images, the deadline and more tolerations may change.
pub(super) fn check_pod_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    let spec = |object: &Object| {
        object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let (mut new, was) = (spec(object), spec(old));
    let mut same_number = true;
    for member in ["containers", "initContainers"] {
        let count = |spec: &Object| spec.get(member).and_then(Value::as_array).map_or(0, Vec::len);
        if count(&new) != count(&was) {
            let why = "pod updates may not add or remove containers";
            causes.push(FieldError::forbidden(format!("spec.{member}"), why));
            same_number = false;
        }
    }
    if !same_number {
        return;
    }
    for member in ["containers", "initContainers"] {
        let images = was.get(member).and_then(Value::as_array).into_iter().flatten();
        let containers = new.get_mut(member).and_then(Value::as_array_mut).into_iter().flatten();
        for (container, old) in containers.zip(images) {
            if let (Some(container), Some(image)) = (container.as_object_mut(), old.get("image")) {
                container.insert("image".to_owned(), image.clone());
            }
        }
    }
    let tolerations = |spec: &Object| spec.get("tolerations").and_then(Value::as_array).cloned();
    let (before, now) =
        (tolerations(&was).unwrap_or_default(), tolerations(&new).unwrap_or_default());
    let only_more = before.iter().all(|toleration| now.contains(toleration));
    let negative = at(old, "spec.terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|s| s < 0);
    for (member, allowed) in [
        ("activeDeadlineSeconds", true),
        ("tolerations", only_more),
        ("terminationGracePeriodSeconds", negative),
    ] {
        match was.get(member) {
            _ if !allowed => {}
            Some(value) => drop(new.insert(member.to_owned(), value.clone())),
            None => drop(new.remove(member)),
        }
    }
    if new != was {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                   existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";
        causes.push(FieldError::forbidden("spec", why));
    }
}
