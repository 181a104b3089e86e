//! kube-runtime on this server: watcher, reflector, finalizer helper, event recorder.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Action;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::{WatchStreamExt, finalizer, watcher};
use kube::{Resource, ResourceExt};
use serde_json::json;

use crate::objects::config_map;
use crate::wire;

async fn next(
    stream: &mut (impl Stream<Item = watcher::Result<watcher::Event<ConfigMap>>> + Unpin),
) -> String {
    let event = tokio::time::timeout(Duration::from_secs(3600), stream.next()).await;
    match event.expect("an event within an hour").expect("a watcher never ends") {
        Ok(watcher::Event::Init) => "Init".to_owned(),
        Ok(watcher::Event::InitDone) => "InitDone".to_owned(),
        Ok(watcher::Event::InitApply(object)) => format!("InitApply {}", object.name_any()),
        Ok(watcher::Event::Apply(object)) => format!("Apply {}", object.name_any()),
        Ok(watcher::Event::Delete(object)) => format!("Delete {}", object.name_any()),
        Err(error) => format!("Error {error:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_watcher_lists_follows_and_resumes_with_both_strategies() {
    for (config, pages) in [
        (watcher::Config::default().page_size(2), "ListWatch"),
        (watcher::Config::default().streaming_lists(), "StreamingList"),
    ] {
        let server = EmbeddedApiServer::new();
        let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
        for name in ["a", "b", "c"] {
            maps.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
        }
        let mut stream = pin!(watcher(maps.clone(), config));
        for expected in ["Init", "InitApply a", "InitApply b", "InitApply c", "InitDone"] {
            assert_eq!(next(&mut stream).await, expected, "{pages}");
        }
        maps.create(&PostParams::default(), &config_map("d", "1")).await.unwrap();
        assert_eq!(next(&mut stream).await, "Apply d");
        maps.delete("a", &DeleteParams::default()).await.unwrap();
        assert_eq!(next(&mut stream).await, "Delete a");
        // The watch ends after 290 s. The watcher resumes it without a list.
        let (maps, ends) = (maps.clone(), tokio::time::sleep(Duration::from_secs(1000)));
        tokio::spawn(async move {
            ends.await;
            maps.create(&PostParams::default(), &config_map("e", "1")).await.unwrap();
        });
        assert_eq!(next(&mut stream).await, "Apply e", "{pages}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_watcher_lists_again_after_a_compaction_it_missed() {
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let server = EmbeddedApiServer::builder().history(2).build();
        let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
        maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
        let mut stream = pin!(watcher(maps.clone(), config));
        for expected in ["Init", "InitApply a", "InitDone"] {
            assert_eq!(next(&mut stream).await, expected);
        }
        maps.delete("a", &DeleteParams::default()).await.unwrap();
        for name in ["b", "c", "d"] {
            maps.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
        }
        let error = next(&mut stream).await;
        assert!(error.contains("410"), "{error}");
        for expected in ["Init", "InitApply b", "InitApply c", "InitApply d", "InitDone"] {
            assert_eq!(next(&mut stream).await, expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_metadata_watcher_sees_metadata() {
    let server = EmbeddedApiServer::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let partial: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(server.client());
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let stream = watcher(partial.clone(), config).applied_objects();
        let first = pin!(stream).try_next().await.unwrap().unwrap();
        assert_eq!(first.name_any(), "a");
        assert_eq!(first.types.unwrap().kind, "PartialObjectMetadata");
    }
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    let patched =
        maps.patch_metadata("a", &PatchParams::default(), &Patch::Merge(&labels)).await.unwrap();
    assert_eq!(patched.labels()["a"], "b");
    assert_eq!(maps.get_metadata("a").await.unwrap().labels()["a"], "b");
    assert_eq!(maps.list_metadata(&Default::default()).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn the_finalizer_helper_adds_cleans_up_and_removes() {
    let server = EmbeddedApiServer::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let run = async |object: ConfigMap| {
        finalizer(&maps, "example.com/test", Arc::new(object), async |event| {
            Ok::<_, std::io::Error>(match event {
                finalizer::Event::Apply(_) => Action::await_change(),
                finalizer::Event::Cleanup(_) => Action::requeue(Duration::from_secs(1)),
            })
        })
        .await
        .unwrap()
    };
    let created = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    run(created.clone()).await;
    let held = maps.get("a").await.unwrap();
    assert_eq!(held.finalizers(), ["example.com/test"]);
    let again = finalizer(&maps, "example.com/test", Arc::new(created), async |_| {
        Ok::<_, std::io::Error>(Action::await_change())
    });
    assert!(again.await.is_err(), "a stale object does not get it twice");
    run(held).await;
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    run(maps.get("a").await.unwrap()).await;
    assert_eq!(maps.get_opt("a").await.unwrap(), None);
}

#[tokio::test]
async fn the_recorder_publishes_events_and_series() {
    let server = EmbeddedApiServer::new();
    let client = server.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let object = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let reporter = Reporter { controller: "example.com/c".into(), instance: Some("i".into()) };
    let recorder = Recorder::new(client, reporter);
    let event = Event {
        type_: EventType::Normal,
        reason: "Tested".into(),
        note: Some("a note".into()),
        action: "Testing".into(),
        secondary: None,
    };
    let reference: ObjectReference = object.object_ref(&());
    recorder.publish(&event, &reference).await.unwrap();
    recorder.publish(&event, &reference).await.unwrap();
    let list = wire::get(&server, "/apis/events.k8s.io/v1/namespaces/default/events").await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list["items"][0]["series"]["count"], 2);
    assert_eq!(list["items"][0]["regarding"]["name"], "a");
    let of_cluster = ObjectReference { namespace: None, ..reference };
    recorder.publish(&event, &of_cluster).await.unwrap();
}

/// A cache of the watcher equals a list, whatever happens to the history.
#[tokio::test(start_paused = true)]
async fn a_cache_fed_by_the_watcher_converges() {
    let server = EmbeddedApiServer::builder().seed(7).history(50).build();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let stream = watcher(maps.clone(), watcher::Config::default()).default_backoff();
    let (reader, writer) = kube::runtime::reflector::store();
    let reflector = tokio::spawn(kube::runtime::reflector(writer, stream).for_each(async |_| {}));
    let mut rng = fastrand::Rng::with_seed(7);
    for step in 0..400 {
        let name = format!("m{}", rng.u8(..20));
        let value = step.to_string();
        match rng.u8(..3) {
            0 => drop(maps.create(&PostParams::default(), &config_map(&name, &value)).await),
            1 => drop(maps.delete(&name, &DeleteParams::default()).await),
            _ => {
                let patch = json!({ "data": { "key": value } });
                drop(maps.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await);
            }
        }
        if step % 90 == 0 {
            server.compact();
        }
        if step % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    tokio::time::sleep(Duration::from_secs(300)).await;
    let cached: BTreeMap<_, _> =
        reader.state().into_iter().map(|map| (map.name_any(), map.resource_version())).collect();
    let listed = maps.list(&Default::default()).await.unwrap();
    let listed: BTreeMap<_, _> =
        listed.into_iter().map(|map| (map.name_any(), map.resource_version())).collect();
    assert_eq!(cached, listed);
    reflector.abort();
}
