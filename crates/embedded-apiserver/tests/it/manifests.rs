//! Manifests of a folder: defaults, and errors that name file and field. Also restores an object.

use std::fs;

use embedded_apiserver::{EmbeddedApiServer, ManifestError};
use http::StatusCode;
use serde_json::json;

use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[tokio::test]
async fn manifests_get_what_they_lack() {
    let folder = folder(&[
        (
            "b.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: mine}\ndata: {k: v}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n",
        ),
        ("z.yml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n"),
        (
            "l.json",
            r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"of-list"}}]}"#,
        ),
        ("notes.txt", "not read"),
        (".hidden.yaml", "a: ["),
    ]);
    let server = EmbeddedApiServer::new();
    assert_eq!(server.load(folder.path()).unwrap(), 4);
    let map = wire::get(&server, "/api/v1/namespaces/mine/configmaps/a").await.json();
    assert!(map["metadata"]["uid"].as_str().is_some_and(|uid| uid.len() == 36), "{map}");
    assert!(map["metadata"]["creationTimestamp"].is_string());
    assert_eq!(map["metadata"]["managedFields"][0]["manager"], "embedded-apiserver");
    assert_eq!(map["data"], json!({ "k": "v" }));
    let secret = wire::get(&server, "/api/v1/namespaces/default/secrets/s").await.json();
    assert_eq!(secret["type"], "Opaque", "defaults are set");
    assert_eq!(wire::get(&server, &format!("{MAPS}/of-list")).await.code, StatusCode::OK);
    let namespace = wire::get(&server, "/api/v1/namespaces/mine").await.json();
    assert_eq!(namespace["status"]["phase"], "Active");
}

#[tokio::test]
async fn what_has_the_same_name_is_replaced() {
    let server = EmbeddedApiServer::new();
    let object = json!({ "metadata": { "name": "a" }, "data": { "old": "1" } });
    let before = wire::post(&server, MAPS, &object).await.json();
    let mut watch = wire::Lines::open(&server, "/api/v1/configmaps?watch=true").await;
    assert_eq!(watch.next().await.unwrap()["type"], "ADDED");
    let folder = folder(&[
        ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {new: '2'}\n"),
        ("n.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n"),
    ]);
    for _ in 0..2 {
        assert_eq!(server.load(folder.path()).unwrap(), 2);
        let map = wire::get(&server, &format!("{MAPS}/a")).await.json();
        assert_eq!(map["data"], json!({ "new": "2" }));
        assert_eq!(map["metadata"]["uid"], before["metadata"]["uid"]);
    }
    assert_eq!(watch.next().await.unwrap()["type"], "MODIFIED");
    assert!(watch.is_silent(), "the second time nothing changes");
}

#[tokio::test]
async fn what_is_wrong_is_said_with_file_and_field() {
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
            "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n".to_owned(),
            "no kind \"Widget\" is served",
        ),
        ("metadata: {name: a}\n".to_owned(), "no kind"),
    ] {
        let folder = folder(&[("wrong.yaml", &text)]);
        let server = EmbeddedApiServer::new();
        let refused = server.load(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("wrong.yaml") && refused.contains(words), "{words}: {refused}");
    }
    let server = EmbeddedApiServer::new();
    assert!(matches!(server.load("/nowhere/at/all"), Err(ManifestError::Io { .. })));
}

#[tokio::test]
async fn definitions_are_served_before_their_objects() {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            } } }],
        },
    });
    let folder = folder(&[
        ("z.json", &definition.to_string()),
        ("a.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"),
    ]);
    let server = EmbeddedApiServer::new();
    assert_eq!(server.load(folder.path()).unwrap(), 2);
    let path = "/apis/example.com/v1/namespaces/default/widgets/w";
    assert_eq!(wire::get(&server, path).await.code, StatusCode::OK);
    assert_eq!(server.load(folder.path()).unwrap(), 2);
}

#[tokio::test]
async fn an_object_is_put_back_as_it_was_and_revisions_go_on() {
    let server = EmbeddedApiServer::new();
    let object = json!({ "metadata": { "name": "a" }, "data": { "k": "1" } });
    let backup = wire::post(&server, MAPS, &object).await.json();
    let path = format!("{MAPS}/a");
    wire::patch(&server, &path, wire::MERGE, &json!({ "data": { "k": "2" } })).await;
    let mut maps = wire::Lines::open(&server, "/api/v1/configmaps?watch=true").await;
    let mut secrets = wire::Lines::open(&server, "/api/v1/secrets?watch=true").await;
    assert_eq!(maps.next().await.unwrap()["type"], "ADDED");
    let revision = server.revision();
    server.restore(&backup).unwrap();
    assert_eq!(server.revision(), revision + 1);
    assert_eq!(wire::get(&server, &path).await.json(), backup);
    let line = maps.next().await.unwrap();
    assert_eq!((&line["type"], &line["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(secrets.is_silent(), "of another kind");
    // A deleted object too.
    wire::delete(&server, &path, &json!({})).await;
    server.restore(&backup).unwrap();
    assert_eq!(wire::get(&server, &path).await.json(), backup);
    let refused = server.restore(&object).unwrap_err().to_string();
    assert!(refused.contains("no kind"), "{refused}");
}

/// The stored form is that of the other version, or of the other group.
#[tokio::test]
async fn an_object_is_restored_through_the_version_in_which_it_was_read() {
    let server = EmbeddedApiServer::new();
    let of = |path: &str, rest: &str| format!("/apis/{path}/namespaces/default/{rest}");
    let scalers = "horizontalpodautoscalers";
    let (old, new) = (
        of("autoscaling/v1", &format!("{scalers}/a")),
        of("autoscaling/v2", &format!("{scalers}/a")),
    );
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" });
    let spec = json!({ "scaleTargetRef": target, "maxReplicas": 3 });
    let scaler = json!({ "metadata": { "name": "a" }, "spec": spec });
    wire::post(&server, &of("autoscaling/v1", scalers), &scaler).await;
    let event = json!({
        "metadata": { "name": "e" }, "regarding": { "kind": "Pod", "name": "p", "namespace": "default" },
        "reason": "R", "type": "Normal", "note": "n", "eventTime": "2026-01-02T03:04:05.000000Z",
        "reportingController": "example.com/c", "reportingInstance": "i", "action": "a",
    });
    let made = wire::post(&server, &of("events.k8s.io/v1", "events"), &event).await;
    assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
    for (path, other) in [
        (old, new),
        (of("events.k8s.io/v1", "events/e"), "/api/v1/namespaces/default/events/e".to_owned()),
    ] {
        let backup = wire::get(&server, &path).await.json();
        let through_other = wire::get(&server, &other).await.json();
        server.restore(&backup).unwrap();
        assert_eq!(wire::get(&server, &path).await.json(), backup);
        assert_eq!(wire::get(&server, &other).await.json(), through_other);
    }
}

#[cfg(feature = "webhooks")]
#[tokio::test]
async fn webhooks_of_a_folder_are_sent_to_the_server_of_the_test() {
    let folder = folder(&[(
        "webhook.yaml",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n\
         metadata: {name: w}\nwebhooks:\n- name: a.example.com\n  sideEffects: None\n  \
         admissionReviewVersions: [v1]\n  clientConfig: {service: {name: s, namespace: n, path: /validate}}\n",
    )]);
    let server = EmbeddedApiServer::new();
    let loaded = server.load_webhooks(folder.path(), "https://127.0.0.1:9443", "pem").unwrap();
    assert_eq!(loaded, 1);
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w";
    let stored = wire::get(&server, path).await.json();
    let client = json!({ "url": "https://127.0.0.1:9443/validate", "caBundle": "cGVt" });
    assert_eq!(stored["webhooks"][0]["clientConfig"], client);
}
