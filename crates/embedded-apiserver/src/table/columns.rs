//! The columns of each kind: a table as in pkg/printers/internalversion/printers.go of Kubernetes,
//! in the same words.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::resource::ServedResource;
use crate::table::{age, pods, workloads as w};

/// A column: its head, and how its cells are found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    name: &'static str,
    /// Shown by `-o wide` only.
    wide: bool,
    /// Its numbers are said to be text, and its text is said to be of no format.
    of_text: bool,
    cell: Cell,
}

#[derive(Debug, Clone, Copy)]
enum Cell {
    /// The member at this path, or else this text.
    Member(&'static str, &'static str),
    /// How many members these have together.
    Count(&'static [&'static str]),
    /// How long ago the first of these times was.
    Since(&'static [&'static str]),
    /// The time itself: kubectl makes an age of it.
    Created,
    Made(fn(&Value) -> Value),
    /// As that, at this time.
    Timed(fn(&Value, Timestamp) -> Value),
    /// The number at this path; none is zero.
    Number(&'static str),
}

const fn column(name: &'static str, cell: Cell) -> Column {
    Column { name, wide: false, of_text: false, cell }
}

const fn wide(name: &'static str, cell: Cell) -> Column {
    Column { name, wide: true, of_text: false, cell }
}

const NAME: Column = column("Name", Cell::Member("/metadata/name", ""));
const AGE: Column = column("Age", Cell::Since(&["/metadata/creationTimestamp"]));
const NONE: &str = "<none>";
const UNSET: &str = "<unset>";

pub(super) fn of(kind: &ServedResource) -> &'static [Column] {
    use Cell::{Count, Created, Made, Member, Number, Since, Timed};
    if !kind.is_built_in() {
        return const { &[NAME, column("Age", Created)] };
    }
    match kind.kind() {
        "Scale" => {
            const {
                &[
                    NAME.of_text(),
                    column("Desired", Number("/spec/replicas")),
                    column("Available", Number("/status/replicas")),
                    AGE,
                ]
            }
        }
        "ConfigMap" => const { &[NAME, column("Data", Count(&["/data", "/binaryData"])), AGE] },
        "Secret" => {
            const { &[NAME, column("Type", Member("/type", "")), column("Data", Count(&["/data"])), AGE] }
        }
        "ServiceAccount" => const { &[NAME, AGE] },
        "Lease" => const { &[NAME, column("Holder", Member("/spec/holderIdentity", "")), AGE] },
        "Namespace" => const { &[NAME, column("Status", Member("/status/phase", "")), AGE] },
        "Endpoints" => const { &[NAME, column("Endpoints", Made(endpoints)), AGE] },
        "StorageClass" => {
            const {
                &[
                    column("Name", Made(class_name)),
                    column("Provisioner", Member("/provisioner", "")),
                    column("ReclaimPolicy", Member("/reclaimPolicy", "Delete")),
                    column("VolumeBindingMode", Member("/volumeBindingMode", "Immediate")),
                    column(
                        "AllowVolumeExpansion",
                        Made(|class| json!(class["allowVolumeExpansion"] == true)),
                    ),
                    AGE,
                ]
            }
        }
        "PersistentVolumeClaim" => {
            const {
                &[
                    NAME,
                    column("Status", Made(phase)),
                    column("Volume", Member("/spec/volumeName", "")),
                    column(
                        "Capacity",
                        Made(|claim| {
                            if_bound(claim, claim["status"]["capacity"]["storage"].clone())
                        }),
                    ),
                    column(
                        "Access Modes",
                        Made(|claim| if_bound(claim, modes(&claim["status"]["accessModes"]))),
                    ),
                    column("StorageClass", Member("/spec/storageClassName", "")),
                    column(
                        "VolumeAttributesClass",
                        Member("/spec/volumeAttributesClassName", UNSET),
                    ),
                    AGE,
                    wide("VolumeMode", Member("/spec/volumeMode", UNSET)),
                ]
            }
        }
        "PersistentVolume" => {
            const {
                &[
                    NAME,
                    column("Capacity", Member("/spec/capacity/storage", "")),
                    column("Access Modes", Made(|volume| modes(&volume["spec"]["accessModes"]))),
                    column("Reclaim Policy", Member("/spec/persistentVolumeReclaimPolicy", "")),
                    column("Status", Made(phase)),
                    column("Claim", Made(claim_of)),
                    column("StorageClass", Member("/spec/storageClassName", "")),
                    column(
                        "VolumeAttributesClass",
                        Member("/spec/volumeAttributesClassName", UNSET),
                    ),
                    column("Reason", Member("/status/reason", "")),
                    AGE,
                    wide("VolumeMode", Member("/spec/volumeMode", UNSET)),
                ]
            }
        }
        "Service" => {
            const {
                &[
                    NAME,
                    column("Type", Member("/spec/type", "ClusterIP")),
                    column("Cluster-IP", Member("/spec/clusterIP", NONE)),
                    column("External-IP", Made(external_ip)),
                    column("Port(s)", Made(ports)),
                    AGE,
                    wide("Selector", Made(selector)),
                ]
            }
        }
        "Pod" => {
            const {
                &[
                    NAME,
                    column("Ready", Made(pods::ready)),
                    column("Status", Made(pods::status)),
                    column("Restarts", Timed(pods::restarts)),
                    AGE,
                    wide("IP", Member("/status/podIP", NONE)),
                    wide("Node", Member("/spec/nodeName", NONE)),
                    wide("Nominated Node", Member("/status/nominatedNodeName", NONE)),
                    wide("Readiness Gates", Made(gates)),
                ]
            }
        }
        "Deployment" => {
            const {
                &[
                    NAME,
                    column("Ready", Made(w::ready)),
                    column("Up-to-date", Number("/status/updatedReplicas")).of_text(),
                    column("Available", Number("/status/availableReplicas")).of_text(),
                    AGE,
                    wide("Containers", Made(w::containers)),
                    wide("Images", Made(w::images)),
                    wide("Selector", Made(w::selector)),
                ]
            }
        }
        "ReplicaSet" => {
            const {
                &[
                    NAME,
                    column("Desired", Number("/spec/replicas")),
                    column("Current", Number("/status/replicas")),
                    column("Ready", Number("/status/readyReplicas")),
                    AGE,
                    wide("Containers", Made(w::containers)),
                    wide("Images", Made(w::images)),
                    wide("Selector", Made(w::selector)),
                ]
            }
        }
        "Job" => {
            const {
                &[
                    NAME,
                    column("Status", Made(w::job_status)),
                    column("Completions", Made(w::completions)),
                    column("Duration", Timed(w::duration)),
                    AGE,
                    wide("Containers", Made(w::containers)),
                    wide("Images", Made(w::images)),
                    wide("Selector", Made(w::selector)),
                ]
            }
        }
        "Node" => {
            const {
                &[
                    NAME,
                    column("Status", Made(w::node_status)),
                    column("Roles", Made(w::node_roles)),
                    AGE,
                    column("Version", Member("/status/nodeInfo/kubeletVersion", "")),
                    wide("Internal-IP", Made(w::internal_ip)),
                    wide("External-IP", Made(w::external_ip)),
                    wide("OS-Image", Member("/status/nodeInfo/osImage", "<unknown>")),
                    wide("Kernel-Version", Made(w::kernel)),
                    wide(
                        "Container-Runtime",
                        Member("/status/nodeInfo/containerRuntimeVersion", "<unknown>"),
                    ),
                ]
            }
        }
        "EndpointSlice" => {
            const {
                &[
                    NAME,
                    column("AddressType", Member("/addressType", "")),
                    column("Ports", Made(w::slice_ports)),
                    column("Endpoints", Made(w::slice_endpoints)),
                    AGE,
                ]
            }
        }
        "LeaseCandidate" => {
            const {
                &[
                    NAME,
                    column("LeaseName", Member("/spec/leaseName", "")),
                    column("BinaryVersion", Member("/spec/binaryVersion", "")),
                    column("EmulationVersion", Member("/spec/emulationVersion", "")),
                    AGE,
                ]
            }
        }
        "Role" | "ClusterRole" => const { &[NAME, column("Created At", Created)] },
        "RoleBinding" | "ClusterRoleBinding" => {
            const {
                &[
                    NAME,
                    column("Role", Made(w::role)),
                    AGE,
                    wide("Users", Made(w::users)),
                    wide("Groups", Made(w::groups)),
                    wide("ServiceAccounts", Made(w::accounts)),
                ]
            }
        }
        "Event" => {
            const {
                &[
                    column(
                        "Last Seen",
                        Since(&[
                            "/series/lastObservedTime",
                            "/lastTimestamp",
                            "/deprecatedLastTimestamp",
                            "/eventTime",
                        ]),
                    ),
                    column("Type", Member("/type", "")),
                    column("Reason", Member("/reason", "")),
                    column("Object", Made(event_object)),
                    wide(
                        "Subobject",
                        Made(|event| {
                            either(event, "/involvedObject/fieldPath", "/regarding/fieldPath")
                        }),
                    ),
                    wide("Source", Made(event_source)),
                    column("Message", Made(|event| either(event, "/message", "/note"))),
                    wide(
                        "First Seen",
                        Since(&["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"]),
                    ),
                    wide("Count", Made(event_count)),
                    wide("Name", Member("/metadata/name", "")),
                ]
            }
        }
        _ => const { &[NAME, column("Created At", Created)] },
    }
}

impl Column {
    const fn of_text(self) -> Self {
        Self { of_text: true, ..self }
    }

    pub(super) fn definition(&self) -> Value {
        let (kind, format) = match self.cell {
            Cell::Created => ("date", ""),
            Cell::Number(_) if !self.of_text => ("integer", ""),
            Cell::Member("/metadata/name", _) if !self.of_text => ("string", "name"),
            _ if self.name == "Name" && !self.of_text => ("string", "name"),
            _ => ("string", ""),
        };
        json!({ "name": self.name, "type": kind, "format": format, "description": "", "priority": i32::from(self.wide) })
    }

    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match self.cell {
            Cell::Member(path, otherwise) => match object.pointer(path) {
                Some(Value::String(text)) if !text.is_empty() => text.as_str().into(),
                Some(Value::Number(number)) => number.to_string().into(),
                _ => otherwise.into(),
            },
            Cell::Count(paths) => {
                let sizes = paths.iter().filter_map(|path| object.pointer(path)?.as_object());
                sizes.map(serde_json::Map::len).sum::<usize>().into()
            }
            Cell::Since(paths) => since(object, paths, now).into(),
            // A bookmark has none, which is Go's zero.
            Cell::Created => match &object["metadata"]["creationTimestamp"] {
                Value::Null => "0001-01-01T00:00:00Z".into(),
                created => created.clone(),
            },
            Cell::Made(make) => make(object),
            Cell::Timed(make) => make(object, now),
            Cell::Number(path) => object.pointer(path).and_then(Value::as_i64).unwrap_or(0).into(),
        }
    }
}

fn since(object: &Value, paths: &[&str], now: Timestamp) -> String {
    let time =
        paths.iter().find_map(|path| object.pointer(path)?.as_str()?.parse::<Timestamp>().ok());
    match time {
        Some(time) => age::human(now.as_second().saturating_sub(time.as_second())),
        None => "<unknown>".to_owned(),
    }
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn either(object: &Value, one: &str, other: &str) -> Value {
    let found = text(object, one);
    if found.is_empty() { text(object, other).trim().into() } else { found.trim().into() }
}

fn items<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> {
    object.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

fn or_none(text: String) -> Value {
    if text.is_empty() { NONE.into() } else { text.into() }
}

fn joined(parts: impl Iterator<Item = String>) -> Value {
    or_none(parts.collect::<Vec<_>>().join(","))
}

fn phase(object: &Value) -> Value {
    if object["metadata"]["deletionTimestamp"].is_string() {
        "Terminating".into()
    } else {
        text(object, "/status/phase").into()
    }
}

fn if_bound(claim: &Value, value: Value) -> Value {
    let bound = !text(claim, "/spec/volumeName").is_empty();
    // An amount that nobody has said is none.
    if bound { if value.is_null() { "0".into() } else { value } } else { "".into() }
}

fn modes(modes: &Value) -> Value {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| modes.as_array().into_iter().flatten().any(|said| said == mode);
    let short: Vec<&str> =
        SHORT.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    short.join(",").into()
}

fn claim_of(volume: &Value) -> Value {
    let (namespace, name) =
        (text(volume, "/spec/claimRef/namespace"), text(volume, "/spec/claimRef/name"));
    if name.is_empty() { "".into() } else { format!("{namespace}/{name}").into() }
}

fn class_name(class: &Value) -> Value {
    let name = text(class, "/metadata/name");
    if class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true" {
        format!("{name} (default)").into()
    } else {
        name.into()
    }
}

fn endpoints(endpoints: &Value) -> Value {
    const SHOWN: usize = 3;
    let mut all = Vec::new();
    for subset in items(endpoints, "/subsets") {
        for address in items(subset, "/addresses") {
            let ip = text(address, "/ip");
            let before = all.len();
            all.extend(items(subset, "/ports").map(|port| format!("{ip}:{}", port["port"])));
            if all.len() == before {
                all.push(ip.to_owned());
            }
        }
    }
    let more = all.len().saturating_sub(SHOWN);
    let shown = all.into_iter().take(SHOWN).collect::<Vec<_>>().join(",");
    if more > 0 { format!("{shown} + {more} more...").into() } else { or_none(shown) }
}

fn external_ip(service: &Value) -> Value {
    let ips = items(service, "/spec/externalIPs").filter_map(Value::as_str).map(str::to_owned);
    match text(service, "/spec/type") {
        "ExternalName" => text(service, "/spec/externalName").into(),
        "LoadBalancer" => {
            let of_balancer = items(service, "/status/loadBalancer/ingress").map(|ingress| {
                let ip = text(ingress, "/ip");
                if ip.is_empty() { text(ingress, "/hostname").to_owned() } else { ip.to_owned() }
            });
            let all = of_balancer.chain(ips).collect::<Vec<_>>().join(",");
            if all.is_empty() { "<pending>".into() } else { all.into() }
        }
        _ => joined(ips),
    }
}

fn ports(service: &Value) -> Value {
    joined(items(service, "/spec/ports").map(|port| {
        let protocol = port["protocol"].as_str().unwrap_or("TCP");
        match port["nodePort"].as_i64() {
            Some(node) if node > 0 => format!("{}:{node}/{protocol}", port["port"]),
            _ => format!("{}/{protocol}", port["port"]),
        }
    }))
}

fn selector(service: &Value) -> Value {
    let labels = service["spec"]["selector"].as_object().into_iter().flatten();
    joined(labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())))
}

fn gates(pod: &Value) -> Value {
    let gates: Vec<&str> =
        items(pod, "/spec/readinessGates").map(|gate| text(gate, "/conditionType")).collect();
    if gates.is_empty() {
        return NONE.into();
    }
    let met = |gate: &&&str| {
        items(pod, "/status/conditions").any(|is| is["type"] == ***gate && is["status"] == "True")
    };
    format!("{}/{}", gates.iter().filter(met).count(), gates.len()).into()
}

fn event_object(event: &Value) -> Value {
    let kind = either(event, "/involvedObject/kind", "/regarding/kind");
    let name = either(event, "/involvedObject/name", "/regarding/name");
    let (kind, name) =
        (kind.as_str().unwrap_or_default().to_lowercase(), name.as_str().unwrap_or_default());
    if name.is_empty() { kind.into() } else { format!("{kind}/{name}").into() }
}

fn event_source(event: &Value) -> Value {
    let mut component = either(event, "/source/component", "/deprecatedSource/component");
    if component == "" {
        component = either(event, "/reportingComponent", "/reportingController");
    }
    let mut host = either(event, "/source/host", "/deprecatedSource/host");
    if host == "" {
        host = either(event, "/reportingInstance", "/reportingInstance");
    }
    match (component.as_str().unwrap_or_default(), host.as_str().unwrap_or_default()) {
        (component, "") => component.into(),
        (component, host) => format!("{component}, {host}").into(),
    }
}

fn event_count(event: &Value) -> Value {
    let counts = ["/series/count", "/count", "/deprecatedCount"]
        .iter()
        .filter_map(|path| event.pointer(path)?.as_i64());
    counts.filter(|count| *count > 0).max().unwrap_or(1).into()
}
