//! `cargo xtask record-openapi`: writes down anew, from the real server and its Go types, what the
//! embedded server knows of the built-in kinds' structure. Run it after a new version of
//! Kubernetes, or when a kind is added.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use control_plane::{Assets, Component, ControlPlane};
use serde_json::{Map, Value, json};

use crate::workspace::Workspace;

/// The built-in kinds of embedded-apiserver, by group and version, which may have several rows.
const KINDS: &[(&str, &str)] = &[
    ("v1", "Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume"),
    ("v1", "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret"),
    ("v1", "Service ServiceAccount"),
    ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("apps/v1", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"),
    ("authentication.k8s.io/v1", "SelfSubjectReview TokenRequest TokenReview"),
    ("authorization.k8s.io/v1", "LocalSubjectAccessReview SelfSubjectAccessReview"),
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview SubjectAccessReview"),
    ("autoscaling/v1", "HorizontalPodAutoscaler Scale"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("batch/v1", "CronJob Job"),
    ("certificates.k8s.io/v1", "CertificateSigningRequest"),
    ("coordination.k8s.io/v1", "Lease"),
    ("coordination.k8s.io/v1beta1", "LeaseCandidate"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("events.k8s.io/v1", "Event"),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema PriorityLevelConfiguration"),
    ("networking.k8s.io/v1", "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR"),
    ("node.k8s.io/v1", "RuntimeClass"),
    ("policy/v1", "Eviction PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole ClusterRoleBinding Role RoleBinding"),
    ("resource.k8s.io/v1", "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("storage.k8s.io/v1", "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment"),
    ("storage.k8s.io/v1", "VolumeAttributesClass"),
];

/// What is for people to read.
const LEFT_OUT: [&str; 3] = ["description", "example", "examples"];
const REFERENCE: &str = "#/components/schemas/";

pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::load()?;
    let root = workspace.root();
    let data = root.join("crates/embedded-apiserver/data");
    let mut messages = protobuf(&root.join("xtask/control-plane"))?;
    let assets = Assets::prepare(&Component::ALL, |_| ControlFlow::Continue(()))?;
    let plane = ControlPlane::builder()
        // Candidates for Leases are served only on request.
        .api_server_flag("--feature-gates=CoordinatedLeaderElection=true")
        .api_server_flag("--runtime-config=coordination.k8s.io/v1beta1=true")
        .start(&assets)?;
    let schemas = schemas(&plane)?;
    let resources = resources(&plane)?;
    plane.stop()?;
    defaults(&schemas, &mut messages)?;
    write(&data.join("protobuf.txt.z"), messages.as_bytes())?;
    let file = root.join("crates/api-front/data/resources.txt");
    std::fs::write(&file, resources).with_context(|| format!("writing {}", file.display()))?;
    write(&data.join("schemas.json.z"), &serde_json::to_vec(&schemas)?)
}

fn write(file: &Path, content: &[u8]) -> Result<()> {
    let compressed = miniz_oxide::deflate::compress_to_vec_zlib(content, 10);
    println!("{}: {} bytes, {} compressed", file.display(), content.len(), compressed.len());
    std::fs::write(file, compressed).with_context(|| format!("writing {}", file.display()))
}

fn protobuf(program: &Path) -> Result<String> {
    let kinds = KINDS
        .iter()
        .flat_map(|(version, kinds)| kinds.split(' ').map(move |kind| format!("{version}/{kind}")));
    let output = control_plane::go()
        .args(["run", "./record-protobuf"])
        .args(kinds)
        .arg("v1/DeleteOptions")
        .current_dir(program)
        .output()
        .context("starting `go`; install Go 1.26")?;
    ensure!(
        output.status.success(),
        "go run ./record-protobuf: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

fn read(plane: &ControlPlane, path: &str) -> Result<Value> {
    let output = plane.kubectl()?.args(["get", "--raw", path]).output()?;
    ensure!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).with_context(|| format!("reading {path}"))
}

fn path(version: &str) -> String {
    format!("/api{}/{version}", if version.contains('/') { "s" } else { "" })
}

/// All that the real server serves, a line each: `GROUP/VERSION NAME SCOPE KIND`; the names of
/// subresources have a slash.
fn resources(plane: &ControlPlane) -> Result<String> {
    let mut versions = vec!["v1".to_owned()];
    for group in read(plane, "/apis")?["groups"].as_array().into_iter().flatten() {
        let of_group = group["versions"].as_array().into_iter().flatten();
        versions.extend(
            of_group.filter_map(|version| version["groupVersion"].as_str().map(str::to_owned)),
        );
    }
    versions.sort();
    let mut lines = String::new();
    for version in versions {
        let list = read(plane, &path(&version))?;
        for resource in list["resources"].as_array().into_iter().flatten() {
            let said = |member: &str| resource[member].as_str().unwrap_or_default();
            let scope = if resource["namespaced"] == true { "namespaced" } else { "cluster" };
            writeln!(lines, "{version} {} {scope} {}", said("name"), said("kind"))?;
        }
    }
    Ok(lines)
}

/// Adds to the types what the server fills in by their schemas. A zero there says only that Go
/// always writes the member.
fn defaults(schemas: &Map<String, Value>, messages: &mut String) -> Result<()> {
    let zeros =
        [Value::Null, Value::from(""), Value::from(0), Value::from(false), json!({}), json!([])];
    for (name, schema) in schemas {
        let Some((_, of)) = name.split_once("io.k8s.api.") else { continue };
        for (member, schema) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(default) = schema.get("default").filter(|default| !zeros.contains(default))
            {
                writeln!(messages, "default {} {member} {default}", of.replacen('.', "/", 1))?;
            }
        }
    }
    Ok(())
}

/// The kinds' schemas and all that they refer to, by name.
fn schemas(plane: &ControlPlane) -> Result<Map<String, Value>> {
    let mut all = BTreeMap::new();
    for (version, _) in KINDS {
        let mut document = read(plane, &format!("/openapi/v3{}", path(version)))?;
        let Value::Object(schemas) = document["components"]["schemas"].take() else { continue };
        all.extend(schemas);
    }
    // A Scale is described where the kinds are that have one.
    let mut wanted: Vec<String> =
        all.iter().filter(|(_, schema)| is_wanted(schema)).map(|(name, _)| name.clone()).collect();
    let mut kept = Map::new();
    while let Some(name) = wanted.pop() {
        if kept.contains_key(&name) {
            continue;
        }
        let mut schema = all.get(&name).with_context(|| format!("no schema {name}"))?.clone();
        strip(&mut schema, false, &mut wanted);
        kept.insert(name, schema);
    }
    Ok(kept)
}

/// Options of deletes are of all groups: what is of several kinds is none of these.
fn is_wanted(schema: &Value) -> bool {
    let names = schema["x-kubernetes-group-version-kind"].as_array();
    let Some([only]) = names.map(Vec::as_slice) else { return false };
    let said = |member: &str| only[member].as_str().unwrap_or_default().to_owned();
    let of = if said("group").is_empty() {
        said("version")
    } else {
        format!("{}/{}", said("group"), said("version"))
    };
    let kind = said("kind");
    KINDS.iter().any(|(version, kinds)| *version == of && kinds.split(' ').any(|it| it == kind))
}

/// Leaves out what is for people, and notes what is referred to. The members of `properties` have
/// names of their own.
fn strip(schema: &mut Value, are_properties: bool, wanted: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, _| are_properties || !LEFT_OUT.contains(&name.as_str()));
            for (name, value) in members {
                if let Some(to) = value
                    .as_str()
                    .filter(|_| name == "$ref")
                    .and_then(|to| to.strip_prefix(REFERENCE))
                {
                    wanted.push(to.to_owned());
                }
                strip(value, name == "properties" && !are_properties, wanted);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, false, wanted)),
        _ => {}
    }
}
