//! Server-side apply by `kube::Api`, and the limits of field ownership.

use std::collections::BTreeSet;

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const APPLY: &str = "application/apply-patch+yaml";

fn map(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data })
}

#[tokio::test(start_paused = true)]
async fn kube_applies_conflicts_and_forces() {
    let server = EmbeddedApiServer::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let apply = async |manager: &str, value: &str, force: bool| {
        let params = PatchParams { force, ..PatchParams::apply(manager) };
        maps.patch("a", &params, &Patch::Apply(map(json!({ "k": value })))).await
    };
    apply("one", "v", false).await.unwrap();
    let refused = apply("two", "w", false).await.unwrap_err();
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert_eq!((status.code, &*status.reason), (409, "Conflict"));
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"one\": .data.k");
    let forced = apply("two", "w", true).await.unwrap();
    let owners = forced.metadata.managed_fields.unwrap();
    assert_eq!(
        owners.iter().map(|entry| entry.manager.as_deref()).collect::<Vec<_>>(),
        [Some("two")]
    );
}

#[tokio::test(start_paused = true)]
async fn the_time_of_an_entry_is_that_of_its_last_change() {
    let server = EmbeddedApiServer::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let params = PatchParams::apply("one");
    let times = |map: &ConfigMap| {
        let entries = map.metadata.managed_fields.iter().flatten();
        entries.map(|entry| entry.time.as_ref().map(|time| time.0)).collect::<Vec<_>>()
    };
    let made = maps.patch("a", &params, &Patch::Apply(map(json!({ "k": "v" })))).await.unwrap();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    let same = maps.patch("a", &params, &Patch::Apply(map(json!({ "k": "v" })))).await.unwrap();
    assert_eq!(
        (times(&same), &same.metadata.resource_version),
        (times(&made), &made.metadata.resource_version)
    );
    let other = maps.patch("a", &params, &Patch::Apply(map(json!({ "k": "w" })))).await.unwrap();
    let minute = jiff::SignedDuration::from_secs(60);
    assert_eq!(times(&other)[0].unwrap().duration_since(times(&made)[0].unwrap()), minute);
}

#[tokio::test(start_paused = true)]
async fn a_strategic_patch_owns_the_item_it_changes() {
    let server = EmbeddedApiServer::new();
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "a", "image": "i" }, { "name": "b", "image": "i" }] },
    });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let params = PatchParams { field_manager: Some("me".to_owned()), ..PatchParams::default() };
    let patch = json!({ "spec": { "containers": [{ "name": "b", "image": "j" }] } });
    let pod = pods.patch("p", &params, &Patch::Strategic(patch)).await.unwrap();
    let entries = pod.metadata.managed_fields.unwrap();
    let mine = entries.iter().find(|entry| entry.manager.as_deref() == Some("me")).unwrap();
    let owned =
        json!({ "f:spec": { "f:containers": { "k:{\"name\":\"b\"}": { "f:image": {} } } } });
    assert_eq!(serde_json::to_value(mine.fields_v1.as_ref().unwrap()).unwrap(), owned);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_labels_have_two_owners() {
    let server = EmbeddedApiServer::new();
    let labels = |value: &str| -> Value {
        (0..10_000)
            .map(|at| (format!("label-{at}"), Value::from(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let object = |value: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "labels": labels(value) } });
    let path =
        |manager: &str, force: bool| format!("{MAPS}/a?fieldManager={manager}&force={force}");
    assert_eq!(wire::patch(&server, &path("one", false), APPLY, &object("x")).await.code, 201);
    let refused = wire::patch(&server, &path("two", false), APPLY, &object("y")).await;
    assert_eq!(refused.code, 409);
    assert_eq!(wire::patch(&server, &path("two", true), APPLY, &object("y")).await.code, 200);
    let left =
        wire::patch(&server, &path("two", false), APPLY, &map(json!({ "k": "v" }))).await.json();
    assert_eq!(left["metadata"]["labels"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn hostile_owners_are_no_owners() {
    let server = EmbeddedApiServer::new();
    wire::post(&server, MAPS, &map(json!({ "k": "v" }))).await;
    let deep = (0..110).fold(json!({}), |below, _| json!({ "f:a": below }));
    for fields in [deep, json!({ "f:a": 1 }), json!({ "k:{": {} }), json!([]), json!("x")] {
        let entry = json!({
            "manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
        });
        let mut object = map(json!({ "k": "v" }));
        object["metadata"]["managedFields"] = json!([entry]);
        let answer = wire::put(&server, &format!("{MAPS}/a"), &object).await;
        assert!(answer.code == 200 || answer.code == 400, "{} {}", answer.code, answer.json());
        let found = wire::get(&server, &format!("{MAPS}/a")).await.json();
        assert!(found["metadata"]["managedFields"].is_array(), "{found}");
    }
}

#[tokio::test(start_paused = true)]
async fn owners_that_make_an_object_too_large_are_left_out() {
    let server = EmbeddedApiServer::builder().build();
    let data: serde_json::Map<String, Value> =
        (0..20_000).map(|at| (format!("{at:040}"), Value::from("v"))).collect();
    let answer = wire::post(&server, MAPS, &map(data.into())).await;
    let made = answer.json();
    assert_eq!(answer.code, 201, "{}", made["message"]);
    assert!(made["metadata"]["managedFields"].is_null());
}

/// An apply is computed without the lock. Concurrent applies of others must stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn applies_that_race_for_an_object_lose_nothing_of_each_other() {
    const MANAGERS: usize = 4;
    let server = EmbeddedApiServer::new();
    let race = |manager: usize| {
        let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
        tokio::spawn(async move {
            let mut versions = Vec::new();
            for round in 0..100 {
                let mut data = serde_json::Map::new();
                data.insert(format!("key-{manager}"), format!("{round}").into());
                let params = PatchParams::apply(&format!("manager-{manager}"));
                let applied =
                    maps.patch("a", &params, &Patch::Apply(map(data.into()))).await.unwrap();
                versions.push(applied.metadata.resource_version.unwrap());
            }
            versions
        })
    };
    let mut versions = BTreeSet::new();
    for racing in (0..MANAGERS).map(race).collect::<Vec<_>>() {
        versions.extend(racing.await.unwrap());
    }
    assert_eq!(versions.len(), MANAGERS * 100, "each apply was a write of its own");
    let left = Api::<ConfigMap>::default_namespaced(server.client()).get("a").await.unwrap();
    let data = left.data.unwrap();
    assert_eq!(data.len(), MANAGERS);
    assert!(data.values().all(|value| value == "99"), "{data:?}");
    assert_eq!(left.metadata.managed_fields.unwrap().len(), MANAGERS);
}
