//! Create, get, update, delete, conflicts, and writes without a change.

use embedded_apiserver::EmbeddedApiServer;
use http::StatusCode;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::wire::{self, MERGE};

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "key": value } }))
        .expect("a ConfigMap")
}

pub(crate) fn code(error: kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.reason.clone()),
        other => panic!("not an answer of the API: {other:?}"),
    }
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

#[tokio::test]
async fn an_object_is_created_read_changed_and_removed() {
    let server = EmbeddedApiServer::new();
    let maps = maps(&server.client());
    let created = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert_eq!(created.namespace().as_deref(), Some("default"));
    assert!(created.uid().is_some() && created.creation_timestamp().is_some());
    assert_eq!(created.metadata.generation, None, "a ConfigMap has no generation");
    let mut read = maps.get("a").await.unwrap();
    assert_eq!(read, created);
    read.data.as_mut().unwrap().insert("more".into(), "2".into());
    let replaced = maps.replace("a", &PostParams::default(), &read).await.unwrap();
    assert_ne!(replaced.resource_version(), created.resource_version());
    assert_eq!(replaced.uid(), created.uid());
    assert_eq!(maps.list(&Default::default()).await.unwrap().items.len(), 1);
    let gone = maps.delete("a", &DeleteParams::default()).await.unwrap().right().expect("a Status");
    assert_eq!(gone.details.unwrap().uid, created.uid().unwrap());
    assert_eq!(code(maps.get("a").await.unwrap_err()), (404, "NotFound".into()));
    assert_eq!(maps.get_opt("a").await.unwrap(), None);
    let missing = maps.delete("a", &DeleteParams::default()).await.unwrap_err();
    assert_eq!(code(missing), (404, "NotFound".into()));
}

#[tokio::test]
async fn creating_what_exists_conflicts() {
    let maps = maps(&EmbeddedApiServer::new().client());
    maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let again = maps.create(&PostParams::default(), &config_map("a", "2")).await.unwrap_err();
    assert_eq!(code(again), (409, "AlreadyExists".into()));
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["key"], "1");
}

#[tokio::test]
async fn a_write_from_a_stale_version_conflicts_and_one_without_a_version_does_not() {
    let maps = maps(&EmbeddedApiServer::new().client());
    let first = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let mut mine = first.clone();
    mine.data.as_mut().unwrap().insert("key".into(), "2".into());
    maps.replace("a", &PostParams::default(), &mine).await.unwrap();
    mine.data.as_mut().unwrap().insert("key".into(), "3".into());
    let stale = maps.replace("a", &PostParams::default(), &mine).await.unwrap_err();
    assert_eq!(code(stale), (409, "Conflict".into()));
    let stale = json!({ "metadata": { "resourceVersion": first.resource_version() }, "data": { "key": "4" } });
    let stale = maps.patch("a", &PatchParams::default(), &Patch::Merge(&stale)).await.unwrap_err();
    assert_eq!(code(stale), (409, "Conflict".into()));
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["key"], "2");
    mine.metadata.resource_version = None;
    maps.replace("a", &PostParams::default(), &mine).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["key"], "3");
}

#[tokio::test]
async fn an_equal_write_changes_nothing() {
    let server = EmbeddedApiServer::new();
    let maps = maps(&server.client());
    let held =
        json!({ "metadata": { "name": "a", "finalizers": ["x.io/f"], "labels": { "a": "b" } } });
    let held: ConfigMap = serde_json::from_value(held).unwrap();
    let created = maps.create(&PostParams::default(), &held).await.unwrap();
    let path = "/api/v1/namespaces/default/configmaps/a";
    let revision = server.revision();
    assert_eq!(maps.replace("a", &PostParams::default(), &created).await.unwrap(), created);
    let same = json!({ "metadata": { "labels": { "a": "b", "absent": null } } });
    assert_eq!(
        maps.patch("a", &PatchParams::default(), &Patch::Merge(&same)).await.unwrap(),
        created
    );
    let same = json!([{ "op": "replace", "path": "/metadata/labels/a", "value": "b" }]);
    assert_eq!(wire::patch(&server, path, wire::JSON_PATCH, &same).await.code, StatusCode::OK);
    let tracked = json!({ "metadata": { "managedFields": [{ "manager": "somebody" }] } });
    assert_eq!(wire::patch(&server, path, MERGE, &tracked).await.code, StatusCode::OK);
    assert_eq!(server.revision(), revision);
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let deleting = maps.get("a").await.unwrap();
    assert_eq!(server.revision(), revision + 1);
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    maps.replace("a", &PostParams::default(), &deleting).await.unwrap();
    assert_eq!(
        server.revision(),
        revision + 1,
        "a held object is not marked twice, nor written while deleting"
    );
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let server = EmbeddedApiServer::new();
    let maps = maps(&server.client());
    let held = json!({ "metadata": { "name": "a", "finalizers": ["x.io/f", "x.io/g"] } });
    maps.create(&PostParams::default(), &serde_json::from_value(held).unwrap()).await.unwrap();
    let answer = maps.delete("a", &DeleteParams::default()).await.unwrap();
    let marked = answer.left().expect("a held object comes back as an object");
    assert!(marked.metadata.deletion_timestamp.is_some());
    let path = "/api/v1/namespaces/default/configmaps/a";
    let more = json!({ "metadata": { "finalizers": ["x.io/f", "x.io/g", "x.io/new"] } });
    let refused = wire::patch(&server, path, MERGE, &more).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
    let undead = json!({ "metadata": { "deletionTimestamp": null } });
    let undead = wire::patch(&server, path, MERGE, &undead).await.json();
    assert!(undead["metadata"]["deletionTimestamp"].is_string(), "nothing takes the mark away");
    let one = json!({ "metadata": { "finalizers": ["x.io/g"] } });
    assert_eq!(wire::patch(&server, path, MERGE, &one).await.code, StatusCode::OK);
    assert!(maps.get_opt("a").await.unwrap().is_some());
    let none = json!({ "metadata": { "finalizers": null } });
    let last = wire::patch(&server, path, MERGE, &none).await;
    assert_eq!(last.code, StatusCode::OK);
    assert_eq!(last.json()["metadata"].get("finalizers"), None, "the answer is what was asked for");
    assert_eq!(maps.get_opt("a").await.unwrap(), None);
}

#[tokio::test]
async fn preconditions_of_a_delete_are_checked() {
    let maps = maps(&EmbeddedApiServer::new().client());
    let old = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let new = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let by = |uid: Option<String>, resource_version: Option<String>| {
        DeleteParams::default().preconditions(Preconditions { uid, resource_version })
    };
    let wrong = maps.delete("a", &by(old.uid(), None)).await.unwrap_err();
    assert_eq!(code(wrong), (409, "Conflict".into()));
    let wrong = maps.delete("a", &by(new.uid(), old.resource_version())).await.unwrap_err();
    assert_eq!(code(wrong), (409, "Conflict".into()));
    maps.delete("a", &by(new.uid(), new.resource_version())).await.unwrap();
}

#[tokio::test]
async fn a_name_is_generated_and_bad_names_are_refused() {
    let server = EmbeddedApiServer::new();
    let client = server.client();
    let maps = maps(&client);
    let nameless = |base: &str| -> ConfigMap {
        serde_json::from_value(json!({ "metadata": { "generateName": base } })).unwrap()
    };
    let one = maps.create(&PostParams::default(), &nameless("job-")).await.unwrap().name_any();
    let two = maps.create(&PostParams::default(), &nameless("job-")).await.unwrap().name_any();
    assert!(one.starts_with("job-") && one.len() == 9 && one != two, "{one} {two}");
    let long = maps.create(&PostParams::default(), &nameless(&"x".repeat(80))).await.unwrap();
    assert_eq!(long.name_any().len(), 63);
    for bad in ["", "Upper", "-dash", "dash-", "a..b", "under_score", &"x".repeat(254)] {
        let refused = maps.create(&PostParams::default(), &config_map(bad, "1")).await.unwrap_err();
        assert_eq!(code(refused), (422, "Invalid".into()), "{bad:?}");
    }
    let dotted: Namespace =
        serde_json::from_value(json!({ "metadata": { "name": "a.b" } })).unwrap();
    let refused = Api::all(client).create(&PostParams::default(), &dotted).await.unwrap_err();
    assert_eq!(code(refused), (422, "Invalid".into()), "a namespace is a label");
}

#[tokio::test]
async fn metadata_is_validated() {
    let server = EmbeddedApiServer::new();
    let path = "/api/v1/namespaces/default/configmaps";
    for metadata in [
        json!({ "labels": { "a b": "c" } }),
        json!({ "labels": { "a": "not ok!" } }),
        json!({ "labels": { "a": "x".repeat(64) } }),
        json!({ "annotations": { "bad key": "c" } }),
        json!({ "annotations": { "a": "x".repeat(256 * 1024) } }),
        json!({ "finalizers": ["no spaces"] }),
        json!({ "ownerReferences": [{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "" }] }),
    ] {
        let mut object = json!({ "metadata": metadata });
        object["metadata"]["name"] = "a".into();
        let answer = wire::post(&server, path, &object).await;
        assert_eq!(answer.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text);
        let status = answer.json();
        assert_eq!(status["kind"], "Status");
        assert!(
            status["details"]["causes"][0]["field"].as_str().unwrap().starts_with("metadata."),
            "{status}"
        );
    }
}

/// Fact 25.
#[tokio::test]
async fn in_a_missing_namespace_lists_are_empty_and_creates_are_refused() {
    let server = EmbeddedApiServer::builder().namespace("made").build();
    let away: Api<ConfigMap> = Api::namespaced(server.client(), "away");
    assert!(away.list(&Default::default()).await.unwrap().items.is_empty());
    let refused = wire::post(
        &server,
        "/api/v1/namespaces/away/configmaps",
        &json!({ "metadata": { "name": "a" } }),
    )
    .await;
    assert_eq!(refused.code, StatusCode::NOT_FOUND);
    assert_eq!(refused.json()["details"]["kind"], "namespaces");
    let made: Api<ConfigMap> = Api::namespaced(server.client(), "made");
    made.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let lax = EmbeddedApiServer::builder().check_namespaces(false).build();
    let away: Api<ConfigMap> = Api::namespaced(lax.client(), "away");
    away.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
}

#[tokio::test]
async fn a_namespace_is_held_until_it_is_finalized_and_takes_nothing_new() {
    let server = EmbeddedApiServer::builder().namespace("going").build();
    let path = "/api/v1/namespaces/going";
    let marked = wire::delete(&server, path, &json!({})).await.json();
    assert_eq!(marked["status"]["phase"], "Terminating");
    let refused = wire::post(
        &server,
        "/api/v1/namespaces/going/configmaps",
        &json!({ "metadata": { "name": "a" } }),
    )
    .await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN, "{}", refused.text);
    let mut finalized = marked.clone();
    finalized["spec"] = json!({});
    let answer = wire::put(&server, &format!("{path}/finalize"), &finalized).await;
    assert_eq!(answer.code, StatusCode::OK, "{}", answer.text);
    assert_eq!(wire::get(&server, path).await.code, StatusCode::NOT_FOUND);
    let refused = wire::delete(&server, "/api/v1/namespaces/default", &json!({})).await;
    assert_eq!(refused.code, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_status_is_written_by_its_own_subresource_only() {
    let server = EmbeddedApiServer::new();
    let path = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = json!({
        "metadata": { "name": "a" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
        "status": { "phase": "Bound" },
    });
    let created = wire::post(&server, path, &claim).await.json();
    assert_eq!(created["status"]["phase"], "Pending", "creation sets the first status");
    assert_eq!(created["spec"]["volumeMode"], "Filesystem");
    assert_eq!(created["metadata"].get("generation"), None);
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(server.client());
    let both = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "volumeName": "v" }, "status": { "phase": "Bound" } });
    let main = claims.patch("a", &PatchParams::default(), &Patch::Merge(&both)).await.unwrap();
    assert_eq!(main.status.unwrap().phase.as_deref(), Some("Pending"));
    assert_eq!(main.spec.unwrap().volume_name.as_deref(), Some("v"));
    let other = json!({ "spec": { "volumeName": "other" }, "status": { "phase": "Bound" } });
    let status =
        claims.patch_status("a", &PatchParams::default(), &Patch::Merge(&other)).await.unwrap();
    assert_eq!(status.status.unwrap().phase.as_deref(), Some("Bound"));
    assert_eq!(status.spec.unwrap().volume_name.as_deref(), Some("v"));
    let map_status = wire::get(&server, "/api/v1/namespaces/default/configmaps/a/status").await;
    assert_eq!(map_status.code, StatusCode::NOT_FOUND, "a ConfigMap has no status");
}

#[tokio::test]
async fn a_pod_on_a_node_is_deleted_gracefully_and_its_generation_counts() {
    let server = EmbeddedApiServer::new();
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    let pod = |name: &str, node: Value| -> Pod {
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }], "nodeName": node });
        serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    };
    pods.create(&PostParams::default(), &pod("free", Value::Null)).await.unwrap();
    assert!(pods.delete("free", &DeleteParams::default()).await.unwrap().is_left());
    assert_eq!(pods.get_opt("free").await.unwrap(), None);
    let created =
        pods.create(&PostParams::default(), &pod("running", "node".into())).await.unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    let marked = pods.delete("running", &DeleteParams::default()).await.unwrap().unwrap_left();
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(30));
    assert_eq!(marked.metadata.generation, Some(2), "deletion adds one");
    pods.delete("running", &DeleteParams::default().grace_period(0)).await.unwrap();
    assert_eq!(pods.get_opt("running").await.unwrap(), None);
}

#[tokio::test]
async fn a_dry_run_answers_and_changes_nothing() {
    let server = EmbeddedApiServer::new();
    let maps = maps(&server.client());
    let revision = server.revision();
    let dry = PostParams { dry_run: true, ..Default::default() };
    assert_eq!(maps.create(&dry, &config_map("a", "1")).await.unwrap().name_any(), "a");
    assert_eq!(maps.get_opt("a").await.unwrap(), None);
    maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let changed = json!({ "data": { "key": "2" } });
    let shown =
        maps.patch("a", &PatchParams::default().dry_run(), &Patch::Merge(&changed)).await.unwrap();
    assert_eq!(shown.data.unwrap()["key"], "2");
    maps.delete("a", &DeleteParams::default().dry_run()).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["key"], "1");
    assert_eq!(server.revision(), revision + 1);
    let odd = wire::post(
        &server,
        "/api/v1/namespaces/default/configmaps?dryRun=Some",
        &json!({ "metadata": { "name": "b" } }),
    )
    .await;
    assert_eq!(odd.code, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let server = EmbeddedApiServer::new();
    let maps = maps(&server.client());
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        let mut map = config_map(name, "1");
        map.labels_mut().insert("color".into(), color.into());
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    let red = kube::api::ListParams::default().labels("color=red");
    let deleted = maps
        .delete_collection(&DeleteParams::default(), &red)
        .await
        .unwrap()
        .left()
        .expect("a list");
    assert_eq!(deleted.items.len(), 2);
    let left = maps.list(&Default::default()).await.unwrap();
    assert_eq!(left.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test]
async fn propagation_policies_leave_their_finalizer() {
    let maps = maps(&EmbeddedApiServer::new().client());
    for (name, policy, finalizer) in [
        ("a", DeleteParams::foreground(), Some("foregroundDeletion")),
        ("b", DeleteParams::orphan(), Some("orphan")),
        ("c", DeleteParams::background(), None),
    ] {
        maps.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
        maps.delete(name, &policy).await.unwrap();
        let left = maps.get_opt(name).await.unwrap();
        assert_eq!(left.map(|map| map.finalizers()[0].clone()).as_deref(), finalizer);
    }
}

/// Two electors race for a Lease. Compare-and-swap lets one win each round.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_racing_writers_exactly_one_wins() {
    let server = EmbeddedApiServer::new();
    let lease = |holder: &str| -> Lease {
        serde_json::from_value(
            json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": holder } }),
        )
        .unwrap()
    };
    let leases = |user: &str| Api::<Lease>::default_namespaced(server.client_as(user));
    let mut version = None;
    for round in 0..100 {
        let race = |user: &'static str| {
            let (leases, mut wanted) = (leases(user), lease(&format!("{user}-{round}")));
            wanted.metadata.resource_version.clone_from(&version);
            tokio::spawn(async move {
                match wanted.metadata.resource_version {
                    None => leases.create(&PostParams::default(), &wanted).await,
                    Some(_) => leases.replace("l", &PostParams::default(), &wanted).await,
                }
            })
        };
        let (one, two) = (race("one"), race("two"));
        let results = [one.await.unwrap(), two.await.unwrap()];
        assert_eq!(
            results.iter().filter(|result| result.is_ok()).count(),
            1,
            "round {round}: {results:?}"
        );
        let winner = results.into_iter().find_map(Result::ok).unwrap();
        let seen = leases("judge").get("l").await.unwrap();
        assert_eq!(seen, winner);
        version = seen.metadata.resource_version;
    }
}
