//! Snapshots of what is hard to write down or to take back: odd names, versions, objects older than
//! their schema, ends of objects, numbers that lead nowhere.

use std::fs;
use std::path::Path;

use embedded_apiserver::{EmbeddedApiServer, Kind};
use http::StatusCode;
use serde_json::{Value, json};

use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn create(server: &EmbeddedApiServer, path: &str, object: &Value) -> Value {
    let made = wire::post(server, path, object).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
    made.json()
}

/// Saves a server and loads a new one; both folders and all of these paths must then be the same.
async fn comes_back(server: &EmbeddedApiServer, paths: &[&str]) -> EmbeddedApiServer {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let count = server.save(&first).unwrap();
    let other = EmbeddedApiServer::new();
    assert_eq!(other.load(&first).unwrap(), count);
    assert_eq!(other.revision(), server.revision());
    for path in paths {
        let (before, after) = (wire::get(server, path).await, wire::get(&other, path).await);
        assert_eq!((before.code, before.text), (after.code, after.text), "{path}");
    }
    other.save(&second).unwrap();
    assert_eq!(text_of(&first), text_of(&second));
    other
}

/// All that is in a folder.
fn text_of(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            all.extend(
                text_of(&path).into_iter().map(|(below, text)| (format!("{name}/{below}"), text)),
            );
        } else {
            all.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    all.sort();
    all
}

fn version(name: &str, storage: bool, served: bool, member: &str) -> Value {
    json!({ "name": name, "served": served, "storage": storage, "schema": { "openAPIV3Schema": {
        "type": "object", "properties": { "spec": { "type": "object", "properties": { member: { "type": "string" } } } },
    } } })
}

fn definition(versions: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": versions,
        },
    })
}

fn widget(spec: Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": spec })
}

#[tokio::test]
async fn names_that_files_cannot_have_come_back() {
    const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let server = EmbeddedApiServer::new();
    let (long, odd) = ("a".repeat(253), "system:".repeat(60));
    let other = format!("{odd}b");
    create(&server, MAPS, &json!({ "metadata": { "name": long } })).await;
    for name in [".hidden", "...", "a:b", "%2Ehidden".replace('%', "_").as_str(), &odd, &other] {
        create(&server, ROLES, &json!({ "metadata": { "name": name }, "rules": [] })).await;
    }
    let paths = [format!("{MAPS}/{long}"), format!("{ROLES}/.hidden"), ROLES.to_owned()];
    comes_back(&server, &paths.each_ref().map(String::as_str)).await;
}

#[tokio::test]
async fn objects_of_several_versions_come_back_as_they_are_stored() {
    let (old, new) = (version("v1", false, true, "old"), version("v2", true, true, "new"));
    let gone = version("v3", true, false, "new");
    for versions in [
        // The first one that is served is not the one that is stored, and knows other members.
        json!([old, new]),
        // The one that is stored is served no longer.
        json!([version("v1", false, true, "new"), gone]),
    ] {
        let server = EmbeddedApiServer::new();
        create(&server, DEFINITIONS, &definition(versions.clone())).await;
        let said = if versions[1]["served"] == true { "v2" } else { "v1" };
        let mut object = widget(json!({ "new": "x" }));
        object["apiVersion"] = format!("example.com/{said}").into();
        let path = WIDGETS.replace("v1", said);
        create(&server, &path, &object).await;
        let paths = [format!("{path}/w"), format!("{WIDGETS}/w")];
        let other = comes_back(&server, &paths.each_ref().map(String::as_str)).await;
        assert_eq!(wire::get(&other, &paths[0]).await.json()["spec"], json!({ "new": "x" }));
    }
}

#[tokio::test]
async fn objects_of_a_kind_that_is_served_in_no_version_come_back() {
    let server = EmbeddedApiServer::new();
    create(&server, DEFINITIONS, &definition(json!([version("v1", true, true, "m")]))).await;
    create(&server, WIDGETS, &widget(json!({ "m": "x" }))).await;
    let served = |is: bool| json!({ "spec": { "versions": [version("v1", true, is, "m")] } });
    let path = format!("{DEFINITIONS}/widgets.example.com");
    assert_eq!(wire::patch(&server, &path, wire::MERGE, &served(false)).await.code, StatusCode::OK);
    assert_eq!(wire::get(&server, &format!("{WIDGETS}/w")).await.code, StatusCode::NOT_FOUND);
    let other = comes_back(&server, &[]).await;
    assert_eq!(wire::patch(&other, &path, wire::MERGE, &served(true)).await.code, StatusCode::OK);
    assert_eq!(
        wire::get(&other, &format!("{WIDGETS}/w")).await.json()["spec"],
        json!({ "m": "x" })
    );
}

#[tokio::test]
async fn an_object_older_than_its_schema_comes_back_unless_it_was_edited() {
    let server = EmbeddedApiServer::new();
    create(&server, DEFINITIONS, &definition(json!([version("v1", true, true, "m")]))).await;
    create(&server, WIDGETS, &widget(json!({ "m": "x" }))).await;
    let mut strict = version("v1", true, true, "m");
    strict["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    let patch = json!({ "spec": { "versions": [strict] } });
    let path = format!("{DEFINITIONS}/widgets.example.com");
    assert_eq!(wire::patch(&server, &path, wire::MERGE, &patch).await.code, StatusCode::OK);
    comes_back(&server, &[&format!("{WIDGETS}/w")]).await;

    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    server.save(&state).unwrap();
    let file = state.join("widgets.example.com/default/w.yaml");
    let edited = fs::read_to_string(&file).unwrap().replace("m: x", "m: edited");
    fs::write(&file, edited).unwrap();
    let refused = EmbeddedApiServer::new().load(&state).unwrap_err().to_string();
    assert!(refused.contains("w.yaml") && refused.contains("spec"), "{refused}");
}

#[tokio::test]
async fn what_is_empty_stays_empty_and_what_is_no_map_stays() {
    let server = EmbeddedApiServer::new();
    // A namespace that has nothing in it and is held by somebody else.
    create(
        &server,
        "/api/v1/namespaces",
        &json!({ "metadata": { "name": "n", "finalizers": ["a.io/f"] } }),
    )
    .await;
    wire::delete(&server, "/api/v1/namespaces/n", &json!({})).await;
    let mut namespace = wire::get(&server, "/api/v1/namespaces/n").await.json();
    namespace["spec"] = json!({});
    let ended = wire::put(&server, "/api/v1/namespaces/n/finalize", &namespace).await;
    assert_eq!((ended.code, &ended.json()["spec"]), (StatusCode::OK, &json!({})));
    // A status of any form.
    let mut loose = version("v1", true, true, "m");
    loose["subresources"] = json!({ "status": {} });
    loose["schema"]["openAPIV3Schema"]["properties"]["status"] =
        json!({ "x-kubernetes-preserve-unknown-fields": true });
    create(&server, DEFINITIONS, &definition(json!([loose]))).await;
    for (name, status) in [("a", json!("ready")), ("b", json!({})), ("c", json!([1]))] {
        let mut object = widget(json!({}));
        object["metadata"]["name"] = name.into();
        create(&server, WIDGETS, &object).await;
        let path = format!("{WIDGETS}/{name}/status");
        let set = wire::patch(&server, &path, wire::MERGE, &json!({ "status": status })).await;
        assert_eq!((set.code, &set.json()["status"]), (StatusCode::OK, &status), "{}", set.text);
    }
    comes_back(&server, &["/api/v1/namespaces/n", WIDGETS]).await;
}

#[tokio::test]
async fn a_number_at_the_end_of_all_numbers_is_refused() {
    let last = u64::MAX.to_string();
    for (file, text, words) in [
        (
            "snapshot.yaml",
            format!("apiVersion: embedded-apiserver/v1\nkind: Snapshot\nrevision: {last}\n"),
            "revision: 18446744073709551615 is more than",
        ),
        (
            "a.yaml",
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, resourceVersion: \"{last}\"}}\n"
            ),
            "metadata.resourceVersion: 18446744073709551615 is more than",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(file), text).unwrap();
        let server = EmbeddedApiServer::new();
        let refused = server.load(folder.path()).unwrap_err().to_string();
        assert!(refused.contains(file) && refused.contains(words), "{refused}");
        let one = create(&server, MAPS, &json!({ "metadata": { "name": "x" } })).await;
        let two = create(&server, MAPS, &json!({ "metadata": { "name": "y" } })).await;
        assert_ne!(one["metadata"]["resourceVersion"], two["metadata"]["resourceVersion"]);
    }
}

#[tokio::test]
async fn managed_fields_of_a_manifest_are_looked_at() {
    let entry = |fields: Value| json!([{ "manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields }]);
    let load = |managed: Value| {
        let folder = tempfile::tempdir().unwrap();
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "managedFields": managed } });
        fs::write(folder.path().join("a.json"), object.to_string()).unwrap();
        let server = EmbeddedApiServer::new();
        server.load(folder.path()).map(|_| server)
    };
    for (wrong, words) in [
        (json!("x"), "managedFields"),
        (
            json!([{ "operation": "Guess" }]),
            "metadata.managedFields: operation must be `Apply` or `Update`",
        ),
        (entry(json!({ "nonsense": {} })), "metadata.managedFields"),
        (
            json!([{ "manager": "m".repeat(129), "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {} }]),
            "metadata.managedFields[0].manager",
        ),
    ] {
        let refused = load(wrong.clone()).expect_err("refused").to_string();
        assert!(refused.contains("a.json") && refused.contains(words), "{wrong}: {refused}");
    }
    let server = load(entry(json!({ "f:data": { "f:k": {} } }))).unwrap();
    let map = wire::get(&server, &format!("{MAPS}/a")).await.json();
    assert_eq!(map["metadata"]["managedFields"][0]["manager"], "m");
}

#[tokio::test]
async fn a_folder_that_cannot_be_replaced_is_left_alone() {
    let server = EmbeddedApiServer::new();
    for folder in [".", "/", "src/.."] {
        let refused = server.save(folder).unwrap_err().to_string();
        assert!(refused.contains("cannot be replaced as a whole"), "{folder}: {refused}");
    }
    // Another way to say a name is one.
    let above = tempfile::tempdir().unwrap();
    fs::create_dir(above.path().join("beside")).unwrap();
    let state = above.path().join("beside/../state");
    for _ in 0..2 {
        server.save(&state).unwrap();
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 2);
    }
    EmbeddedApiServer::new().load(above.path().join("state")).unwrap();
}

#[tokio::test]
async fn a_kind_registered_in_rust_comes_back_with_an_empty_status() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let new = || {
        let server = EmbeddedApiServer::new();
        server
            .register_kind(Kind::namespaced("example.com", "v1", "Widget", "widgets").status(true))
            .unwrap();
        server
    };
    let server = new();
    create(&server, WIDGETS, &widget(json!({}))).await;
    wire::patch(&server, &format!("{WIDGETS}/w/status"), wire::MERGE, &json!({ "status": {} }))
        .await;
    server.save(&state).unwrap();
    let other = new();
    other.load(&state).unwrap();
    let path = format!("{WIDGETS}/w");
    assert_eq!(wire::get(&server, &path).await.text, wire::get(&other, &path).await.text);
}

const SERVICES: &str = "/api/v1/namespaces/default/services";

fn service(name: &str, spec: Value) -> Value {
    let mut service =
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name } });
    service["spec"] = spec;
    service
}

/// A folder of one manifest.
fn manifest(object: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("object.yaml"), object.to_string()).unwrap();
    folder
}

#[tokio::test]
async fn a_service_of_a_folder_takes_nothing_from_those_that_stay() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let spec = json!({
        "type": "NodePort", "clusterIP": "10.0.0.7", "ports": [{ "port": 80, "nodePort": 30_080 }],
    });
    let made = wire::post(&server, SERVICES, &service("there", spec.clone())).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
    let saved = tempfile::tempdir().unwrap();
    let saved = saved.path().join("saved");
    server.save(&saved).unwrap();

    let revision = server.revision();
    let port = json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 30_080 }] });
    let address = json!({ "clusterIP": "10.0.0.7", "ports": [{ "port": 80 }] });
    for (spec, field) in [(port, "spec.ports[0].nodePort"), (address, "spec.clusterIP")] {
        let folder = manifest(&service("new", spec));
        let refused = server.load(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("Service new") && refused.contains(field), "{refused}");
    }
    assert_eq!(server.revision(), revision);
    // What is handed out is none of what the others have, and the one of the name is replaced.
    let folder = manifest(&service("there", spec.clone()));
    assert_eq!(server.load(folder.path()).unwrap(), 1);
    let folder =
        manifest(&service("new", json!({ "type": "NodePort", "ports": [{ "port": 80 }] })));
    assert_eq!(server.load(folder.path()).unwrap(), 1);

    // Nor from each other, although one of them is as it was saved.
    let second = json!({ "type": "NodePort", "clusterIP": "10.0.0.9", "ports": [{ "port": 80, "nodePort": 30_090 }] });
    wire::post(&server, SERVICES, &service("a-first", second)).await;
    let above = tempfile::tempdir().unwrap();
    let two = above.path().join("saved");
    server.save(&two).unwrap();
    let (name, text) =
        text_of(&two).into_iter().find(|(name, _)| name.contains("a-first")).unwrap();
    fs::write(two.join(name), text.replace("30090", "30080")).unwrap();
    let fresh = EmbeddedApiServer::builder().seed(3).build();
    let refused = fresh.load(&two).unwrap_err().to_string();
    assert!(refused.contains("30080"), "{refused}");

    // As it was saved it was right, where it was saved.
    let other = EmbeddedApiServer::builder().seed(2).build();
    let there = wire::post(&other, SERVICES, &service("elsewhere", spec)).await;
    assert_eq!(there.code, StatusCode::CREATED, "{}", there.text);
    let refused = other.load(&saved).unwrap_err().to_string();
    assert!(
        refused.contains("Service default/there: spec.clusterIP: 10.0.0.7 is another"),
        "{refused}"
    );
    assert_eq!(wire::get(&other, &format!("{SERVICES}/there")).await.code, StatusCode::NOT_FOUND);
}

#[test]
fn a_load_and_the_writes_of_others_share_no_revision() {
    let folder = tempfile::tempdir().unwrap();
    let objects: Vec<_> = (0..300)
        .map(|number| {
            let metadata = json!({ "name": format!("loaded-{number}") });
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }).to_string()
        })
        .collect();
    fs::write(folder.path().join("objects.yaml"), objects.join("\n---\n")).unwrap();
    let server = EmbeddedApiServer::builder().seed(1).build();
    let loading = std::sync::atomic::AtomicBool::new(true);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let maps = "/api/v1/namespaces/default/configmaps";
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..10).for_each(|_| assert_eq!(server.load(folder.path()).unwrap(), 300));
            loading.store(false, std::sync::atomic::Ordering::Release);
        });
        runtime.block_on(async {
            while loading.load(std::sync::atomic::Ordering::Acquire) {
                let object = json!({ "metadata": { "generateName": "written-" } });
                let made = wire::post(&server, maps, &object).await;
                assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
            }
        });
    });
    let list = runtime.block_on(wire::get(&server, maps)).json();
    let mut seen = std::collections::HashMap::new();
    for item in list["items"].as_array().unwrap() {
        let name = item["metadata"]["name"].as_str().unwrap();
        let before = seen.insert(item["metadata"]["resourceVersion"].clone(), name);
        assert_eq!(before, None, "one revision for two changes, {name} being the other");
    }
}
