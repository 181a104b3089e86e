//! Snapshots: what is saved comes back as it was, manifests by hand do as well, and what is wrong
//! names file and field.

use std::fs;
use std::path::Path;

use embedded_apiserver::{EmbeddedApiServer, Kind, SnapshotError};
use http::StatusCode;
use serde_json::{Value, json};

use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn create(server: &EmbeddedApiServer, path: &str, object: &Value) -> Value {
    let made = wire::post(server, path, object).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
    made.json()
}

/// A server with something of everything: an object that is being deleted, a role-like name, a
/// status, custom kinds.
async fn full() -> EmbeddedApiServer {
    let server = EmbeddedApiServer::builder().seed(3).namespace("other").build();
    server
        .register_kind(Kind::namespaced("example.com", "v1", "Widget", "widgets").status(true))
        .unwrap();
    for (path, object) in [
        (
            MAPS,
            json!({ "metadata": { "name": "a" }, "data": { "k": "yes", "lines": "one\ntwo\n", "number": "007" } }),
        ),
        (MAPS, json!({ "metadata": { "name": "held", "finalizers": ["example.com/f"] } })),
        (
            "/api/v1/namespaces/other/secrets",
            json!({ "metadata": { "name": "s" }, "stringData": { "p": "x" } }),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/other/leases",
            json!({ "metadata": { "name": "l" }, "spec": { "renewTime": "2026-01-02T03:04:05.000006Z" } }),
        ),
        (
            "/apis/example.com/v1/namespaces/default/widgets",
            json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "n": 1 } }),
        ),
    ] {
        create(&server, path, &object).await;
    }
    wire::delete(&server, &format!("{MAPS}/held"), &json!({})).await;
    let status = json!({ "status": { "ready": true } });
    let path = "/apis/example.com/v1/namespaces/default/widgets/w/status";
    assert_eq!(wire::patch(&server, path, wire::MERGE, &status).await.code, StatusCode::OK);
    server
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                all.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[tokio::test]
async fn what_is_saved_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let server = full().await;
    let count = server.save(&first).unwrap();
    let names: Vec<_> = files(&first).into_iter().map(|(name, _)| name).collect();
    for expected in [
        "configmaps/default/a.yaml",
        "leases.coordination.k8s.io/other/l.yaml",
        "namespaces/other.yaml",
        "snapshot.yaml",
        "widgets.example.com/default/w.yaml",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
    }

    let other = EmbeddedApiServer::builder().seed(4).build();
    other
        .register_kind(Kind::namespaced("example.com", "v1", "Widget", "widgets").status(true))
        .unwrap();
    assert_eq!(other.load(&first).unwrap(), count);
    assert_eq!(other.revision(), server.revision());
    for path in [
        format!("{MAPS}/a"),
        format!("{MAPS}/held"),
        "/api/v1/namespaces/other/secrets/s".to_owned(),
        "/apis/example.com/v1/namespaces/default/widgets/w".to_owned(),
        "/api/v1/namespaces/default".to_owned(),
    ] {
        assert_eq!(
            wire::get(&other, &path).await.json(),
            wire::get(&server, &path).await.json(),
            "{path}"
        );
    }
    other.save(&second).unwrap();
    assert_eq!(files(&first), files(&second));
    let next = create(&other, MAPS, &json!({ "metadata": { "name": "next" } })).await;
    assert_eq!(next["metadata"]["resourceVersion"], (server.revision() + 1).to_string());
}

#[tokio::test]
async fn manifests_written_by_hand_get_what_they_lack() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "b.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: mine}\ndata: {k: v}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n",
    );
    write("z.yml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n");
    write(
        "l.json",
        r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"of-list"}}]}"#,
    );
    write("notes.txt", "not read");
    write(".hidden.yaml", "a: [");
    let server = EmbeddedApiServer::new();
    assert_eq!(server.load(folder.path()).unwrap(), 4);
    let map = wire::get(&server, "/api/v1/namespaces/mine/configmaps/a").await.json();
    assert!(map["metadata"]["uid"].as_str().is_some_and(|uid| uid.len() == 36), "{map}");
    assert!(map["metadata"]["creationTimestamp"].is_string());
    assert_eq!(map["data"], json!({ "k": "v" }));
    let secret = wire::get(&server, "/api/v1/namespaces/default/secrets/s").await.json();
    assert_eq!(secret["type"], "Opaque", "defaults are set");
    assert_eq!(wire::get(&server, &format!("{MAPS}/of-list")).await.code, StatusCode::OK);
    let namespace = wire::get(&server, "/api/v1/namespaces/mine").await.json();
    assert_eq!(namespace["status"]["phase"], "Active");
}

#[tokio::test]
async fn what_is_wrong_is_said_with_file_and_field_and_changes_nothing() {
    let server = EmbeddedApiServer::new();
    let revision = server.revision();
    let map =
        |rest: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{rest}");
    for (text, words) in [
        ("a: [".to_owned(), "wrong.yaml"),
        ("- a".to_owned(), "no object"),
        (map("data: {k: 1}\n"), "ConfigMap a: "),
        (map("datum: {}\n"), "datum"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_B}\n".to_owned(), "metadata.name"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: missing}\n".to_owned(),
            "missing",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, resourceVersion: x}\n".to_owned(),
            "metadata.resourceVersion",
        ),
        (
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: b}\n".to_owned(),
            "metadata.namespace",
        ),
        (
            "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n".to_owned(),
            "no kind \"Widget\" is served",
        ),
        ("metadata: {name: a}\n".to_owned(), "no kind"),
        (format!("{}---\n{}", map(""), map("")), "already exists"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("fine.yaml"),
            "apiVersion: v1\nkind: Secret\nmetadata: {name: fine}\n",
        )
        .unwrap();
        fs::write(folder.path().join("wrong.yaml"), &text).unwrap();
        let refused = server.load(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("wrong.yaml") && refused.contains(words), "{words}: {refused}");
    }
    assert!(matches!(server.load("/nowhere/at/all"), Err(SnapshotError::Io { .. })));
    assert_eq!(server.revision(), revision);
    assert_eq!(
        wire::get(&server, "/api/v1/namespaces/default/secrets/fine").await.code,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_snapshot_replaces_a_snapshot_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let server = EmbeddedApiServer::new();
    create(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await;
    server.save(&path).unwrap();
    wire::delete(&server, &format!("{MAPS}/a"), &json!({})).await;
    server.save(&path).unwrap();
    assert!(!path.join("configmaps").exists(), "what is gone is gone from the folder");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("thesis.txt"), "years of work").unwrap();
    let refused = server.save(&home).unwrap_err();
    assert!(matches!(refused, SnapshotError::NotASnapshot { .. }), "{refused}");
    assert_eq!(fs::read_to_string(home.join("thesis.txt")).unwrap(), "years of work");
}

#[tokio::test]
async fn watches_of_what_was_loaded_begin_anew() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    )
    .unwrap();
    let server = EmbeddedApiServer::new();
    let mut maps = wire::Lines::open(&server, "/api/v1/configmaps?watch=true").await;
    let mut secrets = wire::Lines::open(&server, "/api/v1/secrets?watch=true").await;
    assert!(maps.is_silent() && secrets.is_silent());
    server.load(folder.path()).unwrap();
    let line = maps.next().await.unwrap();
    assert_eq!((&line["type"], &line["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(secrets.is_silent(), "nothing of it was loaded");
}

#[tokio::test]
async fn definitions_are_served_before_their_objects() {
    let folder = tempfile::tempdir().unwrap();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    });
    fs::write(folder.path().join("z.json"), definition.to_string()).unwrap();
    fs::write(
        folder.path().join("a.yaml"),
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n",
    )
    .unwrap();
    let server = EmbeddedApiServer::new();
    assert_eq!(server.load(folder.path()).unwrap(), 2);
    let path = "/apis/example.com/v1/namespaces/default/widgets/w";
    assert_eq!(wire::get(&server, path).await.code, StatusCode::OK);
}

#[tokio::test]
async fn what_goes_without_saying_still_does_after_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let server = EmbeddedApiServer::new();
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] });
    create(
        &server,
        jobs,
        &json!({ "metadata": { "name": "a" }, "spec": { "template": { "spec": pod } } }),
    )
    .await;
    let snapshot = folder.path().join("state");
    server.save(&snapshot).unwrap();
    let other = EmbeddedApiServer::new();
    other.load(&snapshot).unwrap();
    // A write that changes nothing says it, and so makes another version, on either server; the
    // next one does not.
    let made = saved_version(&snapshot);
    for server in [&server, &other] {
        let path = format!("{jobs}/a");
        let mut versions = Vec::new();
        for _ in 0..3 {
            let job = wire::patch(server, &path, wire::MERGE, &json!({})).await.json();
            versions.push(job["metadata"]["resourceVersion"].as_str().unwrap().to_owned());
        }
        assert_ne!(versions[0], made);
        assert_eq!(versions[0], versions[1]);
        assert_eq!(versions[1], versions[2]);
    }
    server.save(&snapshot).unwrap();
    let mark = fs::read_to_string(snapshot.join("snapshot.yaml")).unwrap();
    assert!(!mark.contains("unsaid"), "{mark}");
}

/// The version of the one Job of a snapshot.
fn saved_version(snapshot: &Path) -> String {
    let (_, text) =
        files(snapshot).into_iter().find(|(name, _)| name.starts_with("jobs.batch/")).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("resourceVersion: ")).unwrap();
    line.trim_matches(['"', '\'']).to_owned()
}

/// An object of every kind that a snapshot may find harder than its manifest: what is allocated,
/// filled in from the uid, counted, owned, held to a rule that it broke before.
const HARD: &[(&str, &str)] = &[
    (
        "/apis/batch/v1/namespaces/default/jobs",
        r#"{"metadata":{"name":"job"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}"#,
    ),
    (
        "/api/v1/namespaces/default/services",
        r#"{"metadata":{"name":"service"},"spec":{"type":"NodePort","ports":[{"port":80}]}}"#,
    ),
    (
        "/api/v1/namespaces/default/services",
        r#"{"metadata":{"name":"headless"},"spec":{"clusterIP":"None","selector":{"a":"b"}}}"#,
    ),
    (
        "/api/v1/namespaces/default/pods",
        r#"{"metadata":{"name":"pod"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"0.5"}}}]}}"#,
    ),
    (
        "/apis/apps/v1/namespaces/default/deployments",
        r#"{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
    ),
    (
        "/apis/apps/v1/namespaces/default/replicasets",
        r#"{"metadata":{"name":"r"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
    ),
    (
        "/api/v1/namespaces/default/persistentvolumeclaims",
        r#"{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1024Mi"}}}}"#,
    ),
    (
        "/api/v1/persistentvolumes",
        r#"{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"hostPath":{"path":"/x"}}}"#,
    ),
    ("/apis/storage.k8s.io/v1/storageclasses", r#"{"metadata":{"name":"s"},"provisioner":"p"}"#),
    ("/api/v1/nodes", r#"{"metadata":{"name":"n"},"spec":{"podCIDR":"10.1.0.0/24"}}"#),
    ("/api/v1/namespaces/default/serviceaccounts", r#"{"metadata":{"name":"sa"}}"#),
    (
        "/api/v1/namespaces/default/endpoints",
        r#"{"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"10.0.0.9"}],"ports":[{"port":1}]}]}"#,
    ),
    (
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        r#"{"metadata":{"name":"es"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.9"]}]}"#,
    ),
    (
        "/api/v1/namespaces/default/events",
        r#"{"metadata":{"name":"ev","namespace":"default"},"involvedObject":{"namespace":"default"},"count":2}"#,
    ),
    (
        "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates",
        r#"{"metadata":{"name":"lc"},"spec":{"leaseName":"l","binaryVersion":"1.0.0","emulationVersion":"1.0.0","strategy":"OldestEmulationVersion"}}"#,
    ),
    (
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        r#"{"metadata":{"name":"system:a:b"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}"#,
    ),
    (
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
        r#"{"metadata":{"name":"rb"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"x"},"subjects":[{"kind":"User","name":"u"}]}"#,
    ),
];

#[tokio::test]
async fn every_kind_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let server = EmbeddedApiServer::builder().seed(5).build();
    for (path, object) in HARD {
        create(&server, path, &serde_json::from_str(object).unwrap()).await;
    }
    // Held, and counted.
    let (pod, job) =
        ("/api/v1/namespaces/default/pods/pod", "/apis/batch/v1/namespaces/default/jobs/job");
    for (path, patch) in [
        (pod, json!({ "metadata": { "finalizers": ["example.com/f"] } })),
        (job, json!({ "spec": { "suspend": true } })),
        ("/apis/apps/v1/namespaces/default/deployments/d", json!({ "spec": { "replicas": 3 } })),
    ] {
        assert_eq!(wire::patch(&server, path, wire::MERGE, &patch).await.code, StatusCode::OK);
    }
    wire::delete(&server, pod, &json!({})).await;
    let count = server.save(&first).unwrap();
    let other = EmbeddedApiServer::builder().seed(6).build();
    assert_eq!(other.load(&first).unwrap(), count);
    other.save(&second).unwrap();
    for (one, two) in files(&first).iter().zip(files(&second)) {
        assert_eq!(*one, two);
    }
    assert_eq!(files(&first).len(), files(&second).len());
}

/// What a create adds of its own is not added to what was saved without it.
#[cfg(feature = "actors")]
#[tokio::test]
async fn a_saved_claim_gets_no_finalizer_that_it_did_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let server = EmbeddedApiServer::builder().seed(5).build();
    for (path, object) in HARD.iter().filter(|(path, _)| path.contains("persistentvolume")) {
        create(&server, path, &serde_json::from_str(object).unwrap()).await;
    }
    server.save(&first).unwrap();
    let protecting = EmbeddedApiServer::builder().seed(6).volume_binder(true).build();
    protecting.load(&first).unwrap();
    protecting.save(&second).unwrap();
    for (one, two) in files(&first).iter().zip(files(&second)) {
        assert_eq!(*one, two);
    }
    // A manifest is created, and protected.
    let manifest = folder.path().join("manifest");
    fs::create_dir(&manifest).unwrap();
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "new" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    fs::write(manifest.join("claim.yaml"), claim.to_string()).unwrap();
    protecting.load(&manifest).unwrap();
    protecting.save(&second).unwrap();
    let text = fs::read_to_string(second.join("persistentvolumeclaims/default/new.yaml")).unwrap();
    assert!(text.contains("kubernetes.io/pvc-protection"), "{text}");
}
