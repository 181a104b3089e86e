//! `cargo xtask record-openapi`: writes down anew, from the real server and its Go types, what the embedded server knows
//! of the built-in kinds' structure. Run it after a new version of Kubernetes, or when a kind is added.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use control_plane::{Assets, Component, ControlPlane};
use serde_json::{Map, Value};

use crate::workspace::Workspace;

/// The built-in kinds of embedded-apiserver, by group and version.
const KINDS: [(&str, &[&str]); 4] = [
    (
        "v1",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "Namespace",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("coordination.k8s.io/v1", &["Lease"]),
    ("events.k8s.io/v1", &["Event"]),
    ("storage.k8s.io/v1", &["StorageClass"]),
];

/// What is for people to read.
const LEFT_OUT: [&str; 3] = ["description", "example", "examples"];
const REFERENCE: &str = "#/components/schemas/";

pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::load()?;
    let root = workspace.root();
    let data = root.join("crates/embedded-apiserver/data");
    let messages = protobuf(&root.join("crates/verify/go"))?;
    write(&data.join("protobuf.txt.z"), messages.as_bytes())?;
    let schemas = serde_json::to_vec(&schemas()?)?;
    write(&data.join("schemas.json.z"), &schemas)
}

fn write(file: &Path, content: &[u8]) -> Result<()> {
    let compressed = miniz_oxide::deflate::compress_to_vec_zlib(content, 10);
    println!("{}: {} bytes, {} compressed", file.display(), content.len(), compressed.len());
    std::fs::write(file, compressed).with_context(|| format!("writing {}", file.display()))
}

fn protobuf(program: &Path) -> Result<String> {
    let kinds =
        KINDS.iter().flat_map(|(version, kinds)| kinds.iter().map(move |kind| format!("{version}/{kind}")));
    let output = control_plane::go()
        .args(["run", "./record-protobuf"])
        .args(kinds)
        .arg("v1/DeleteOptions")
        .current_dir(program)
        .output()
        .context("starting `go`; install Go 1.26")?;
    ensure!(output.status.success(), "go run ./record-protobuf: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The kinds' schemas and all that they refer to, by name.
fn schemas() -> Result<Map<String, Value>> {
    let assets = Assets::prepare(&Component::ALL, |_| ControlFlow::Continue(()))?;
    let plane = ControlPlane::builder().start(&assets)?;
    let mut all = BTreeMap::new();
    let mut wanted = Vec::new();
    for (version, kinds) in KINDS {
        let path = if version.contains('/') { format!("apis/{version}") } else { format!("api/{version}") };
        let output = plane.kubectl()?.args(["get", "--raw", &format!("/openapi/v3/{path}")]).output()?;
        ensure!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        let mut document: Value = serde_json::from_slice(&output.stdout)?;
        let Value::Object(schemas) = document["components"]["schemas"].take() else { continue };
        for (name, schema) in schemas {
            if is_one_of(&schema, version, kinds) {
                wanted.push(name.clone());
            }
            all.insert(name, schema);
        }
    }
    plane.stop()?;
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
fn is_one_of(schema: &Value, version: &str, kinds: &[&str]) -> bool {
    let names = schema["x-kubernetes-group-version-kind"].as_array();
    let Some([only]) = names.map(Vec::as_slice) else { return false };
    let said = |member: &str| only[member].as_str().unwrap_or_default().to_owned();
    let of = if said("group").is_empty() {
        said("version")
    } else {
        format!("{}/{}", said("group"), said("version"))
    };
    of == version && kinds.contains(&said("kind").as_str())
}

/// Leaves out what is for people, and notes what is referred to. The members of `properties` have names of their own.
fn strip(schema: &mut Value, are_properties: bool, wanted: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, _| are_properties || !LEFT_OUT.contains(&name.as_str()));
            for (name, value) in members {
                if let Some(to) =
                    value.as_str().filter(|_| name == "$ref").and_then(|to| to.strip_prefix(REFERENCE))
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
