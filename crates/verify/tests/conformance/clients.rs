//! kube's own tools over the socket: `Api` for every verb, watcher, reflector, finalizer, recorder,
//! waits.

use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Listener};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference, Pod};
use k8s_openapi::api::events::v1::Event as RecordedEvent;
use kube::api::{
    Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent,
    WatchParams,
};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::finalizer::{Event as Turn, finalizer};
use kube::runtime::wait::{Condition, await_condition, conditions};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tokio::time::timeout;

/// Longer than anything here takes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(30);

struct Stage {
    server: EmbeddedApiServer,
    _listener: Listener,
    client: Client,
}

async fn stage() -> Stage {
    let server = EmbeddedApiServer::builder().token("kim", "t").build();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let mut config = kube::Config::new(listener.url().parse().unwrap());
    config.proxy_url = None;
    config.auth_info.token = Some("t".to_owned().into());
    Stage { server, client: Client::try_from(config).unwrap(), _listener: listener }
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "k": value } })).unwrap()
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_of_kube_uses_every_verb() {
    let stage = stage().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(stage.client.clone());
    let (post, patch) = (PostParams::default(), PatchParams::default());
    let made = maps.create(&post, &map("a", "1")).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap(), made);
    assert!(maps.get_opt("b").await.unwrap().is_none());
    assert_eq!(maps.get_metadata("a").await.unwrap().metadata.uid, made.metadata.uid);
    let mut changed = made.clone();
    changed.data = Some([("k".to_owned(), "2".to_owned())].into());
    let replaced = maps.replace("a", &post, &changed).await.unwrap();
    assert_ne!(replaced.resource_version(), made.resource_version());
    let stale = maps.replace("a", &post, &made).await.unwrap_err();
    assert!(
        matches!(stale, kube::Error::Api(status) if status.code == 409 && status.reason == "Conflict")
    );
    let value = |object: &ConfigMap| object.data.as_ref().and_then(|data| data.get("k").cloned());
    let merged =
        maps.patch("a", &patch, &Patch::Merge(json!({ "data": { "k": "3" } }))).await.unwrap();
    assert_eq!(value(&merged).as_deref(), Some("3"));
    let strategic = Patch::Strategic(json!({ "metadata": { "labels": { "l": "x" } } }));
    assert_eq!(maps.patch("a", &patch, &strategic).await.unwrap().labels()["l"], "x");
    let operations =
        serde_json::from_value(json!([{ "op": "replace", "path": "/data/k", "value": "4" }]))
            .unwrap();
    let by_json = maps.patch("a", &patch, &Patch::Json::<()>(operations)).await.unwrap();
    assert_eq!(value(&by_json).as_deref(), Some("4"));
    let metadata = json!({ "metadata": { "annotations": { "n": "1" } } });
    let partial = maps.patch_metadata("a", &patch, &Patch::Merge(metadata)).await.unwrap();
    assert_eq!(partial.annotations()["n"], "1");
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    maps.create(&dry, &map("dry", "1")).await.unwrap();
    assert!(maps.get_opt("dry").await.unwrap().is_none());

    for name in ["b", "c", "d"] {
        maps.create(&post, &map(name, "1")).await.unwrap();
    }
    let page = maps.list(&ListParams::default().limit(3)).await.unwrap();
    assert_eq!((page.items.len(), page.metadata.remaining_item_count), (3, Some(1)));
    let token = page.metadata.continue_.unwrap();
    let rest = maps.list(&ListParams::default().limit(3).continue_token(&token)).await.unwrap();
    assert_eq!(rest.items.iter().map(ConfigMap::name_any).collect::<Vec<_>>(), ["d"]);
    assert_eq!(maps.list(&ListParams::default().labels("l=x")).await.unwrap().items.len(), 1);
    let named = maps.list_metadata(&ListParams::default().fields("metadata.name=b")).await.unwrap();
    assert_eq!(named.items.len(), 1);

    let version = rest.metadata.resource_version.unwrap();
    let mut watch =
        maps.watch(&WatchParams::default().timeout(20), &version).await.unwrap().boxed();
    let wrong = DeleteParams::default().preconditions(Preconditions {
        uid: Some("00000000-0000-4000-8000-000000000000".into()),
        resource_version: None,
    });
    assert!(maps.delete("b", &wrong).await.is_err());
    assert!(maps.delete("b", &DeleteParams::default()).await.unwrap().is_right(), "a Status");
    let event = soon("the event", watch.try_next()).await.unwrap().unwrap();
    assert!(matches!(event, WatchEvent::Deleted(gone) if gone.name_any() == "b"));
    maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert!(maps.list(&ListParams::default()).await.unwrap().items.is_empty());

    let pods: Api<Pod> = Api::default_namespaced(stage.client.clone());
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] },
    }))
    .unwrap();
    let mut made = pods.create(&post, &pod).await.unwrap();
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    pods.patch_status("p", &patch, &Patch::Merge(ready)).await.unwrap();
    made = pods.get_status("p").await.map(|read| Pod { spec: made.spec, ..read }).unwrap();
    made.status.as_mut().unwrap().phase = Some("Running".into());
    pods.replace_status("p", &post, &made).await.unwrap();
    let params = ListParams::default().fields("status.phase=Running");
    assert_eq!(pods.list(&params).await.unwrap().items.len(), 1);
    assert_eq!(
        stage.server.requests().by("kim").count(),
        stage.server.requests().all().count(),
        "all over the socket"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reflector_of_kube_follows_in_every_way_of_starting() {
    let stage = stage().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(stage.client.clone());
    maps.create(&PostParams::default(), &map("before", "1")).await.unwrap();
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
        watcher::Config::default().page_size(1),
    ] {
        let (reader, writer) = reflector::store();
        let stream =
            watcher(maps.clone(), config).default_backoff().reflect(writer).applied_objects();
        let following = tokio::spawn(stream.for_each(|_| std::future::ready(())));
        soon("the store is ready", reader.wait_until_ready()).await.unwrap();
        assert_eq!(reader.len(), 1);
        maps.create(&PostParams::default(), &map("after", "1")).await.unwrap();
        let seen = async |count: usize| {
            while reader.len() != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        soon("the object comes", seen(2)).await;
        stage.server.faults().drop_watches(&embedded_apiserver::Match::any());
        maps.delete("after", &DeleteParams::default()).await.unwrap();
        soon("the object goes, across a broken watch", seen(1)).await;
        following.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finalizer_recorder_and_waits_of_kube_work() {
    let stage = stage().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(stage.client.clone());
    let made = maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let turn = async |object: ConfigMap| {
        finalizer(&maps, "example.com/held", Arc::new(object), |turn| async move {
            let cleans = matches!(turn, Turn::Cleanup(_));
            assert!(cleans || matches!(turn, Turn::Apply(_)));
            Ok::<_, std::convert::Infallible>(kube::runtime::controller::Action::await_change())
        })
        .await
        .unwrap();
    };
    turn(made).await;
    let held = maps.get("a").await.unwrap();
    assert_eq!(held.finalizers(), ["example.com/held"]);
    turn(held.clone()).await;
    let uid = held.uid().unwrap();
    assert!(
        maps.delete("a", &DeleteParams::default()).await.unwrap().is_left(),
        "held: the object comes back"
    );
    let last = maps.get("a").await.unwrap();
    let gone = await_condition(maps.clone(), "a", conditions::is_deleted(&uid));
    let (gone, ()) = soon("it is gone", async { tokio::join!(gone, turn(last)) }).await;
    gone.unwrap();

    let filled = |object: Option<&ConfigMap>| object.is_some_and(|object| object.data.is_some());
    let waiting = tokio::spawn(await_condition(
        maps.clone(),
        "b",
        filled.and(conditions::is_deleted("another").not().not()),
    ));
    maps.create(&PostParams::default(), &map("b", "1")).await.unwrap();
    soon("it is there", waiting).await.unwrap().unwrap();

    let recorder = Recorder::new(stage.client.clone(), Reporter::from("example.com/c"));
    let about = ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("ConfigMap".into()),
        name: Some("b".into()),
        namespace: Some("default".into()),
        ..ObjectReference::default()
    };
    let event = Event {
        type_: EventType::Normal,
        reason: "Seen".into(),
        note: Some("it was seen".into()),
        action: "See".into(),
        secondary: None,
    };
    for _ in 0..3 {
        recorder.publish(&event, &about).await.unwrap();
    }
    let events: Api<RecordedEvent> = Api::default_namespaced(stage.client.clone());
    let listed = events.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(listed.len(), 1);
    assert!(listed[0].series.as_ref().is_some_and(|series| series.count >= 2), "{listed:?}");
}
