//! Lists: pages of a snapshot, old and future versions, selectors.

use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::objects::{code, config_map};
use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn fill(client: &Client, names: &[&str]) -> Api<ConfigMap> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for name in names {
        maps.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
    }
    maps
}

fn names(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn pages_show_one_snapshot_while_the_world_goes_on() {
    let server = EmbeddedApiServer::new();
    let maps = fill(&server.client(), &["a", "b", "c", "d", "e"]).await;
    let version = server.revision().to_string();
    let page = maps.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(page.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(page.metadata.remaining_item_count, Some(3));
    maps.delete("c", &Default::default()).await.unwrap();
    maps.create(&PostParams::default(), &config_map("cc", "1")).await.unwrap();
    let mut changed = maps.get("d").await.unwrap();
    changed.data = None;
    maps.replace("d", &PostParams::default(), &changed).await.unwrap();
    let token = page.metadata.continue_.unwrap();
    let page = maps.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(page.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["c", "d"]);
    assert!(page.items[1].data.is_some(), "as it was");
    assert_eq!(page.metadata.resource_version.as_deref(), Some(&*version));
    let token = page.metadata.continue_.unwrap();
    let page = maps.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(page.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["e"]);
    assert_eq!((page.metadata.continue_, page.metadata.remaining_item_count), (None, None));
}

#[tokio::test]
async fn an_expired_token_gets_410_and_a_token_to_go_on_with() {
    let server = EmbeddedApiServer::new();
    let maps = fill(&server.client(), &["a", "b", "c"]).await;
    let page = maps.list(&ListParams::default().limit(1)).await.unwrap();
    maps.create(&PostParams::default(), &config_map("d", "1")).await.unwrap();
    server.compact();
    let token = page.metadata.continue_.unwrap();
    let expired = wire::get(&server, &format!("{MAPS}?limit=1&continue={token}")).await;
    assert_eq!(
        (expired.code, expired.json()["reason"].as_str()),
        (StatusCode::GONE, Some("Expired"))
    );
    let token = expired.json()["metadata"]["continue"].as_str().unwrap().to_owned();
    let rest = wire::get(&server, &format!("{MAPS}?continue={token}")).await;
    assert_eq!(names(&rest.json()), ["b", "c", "d"]);
    let nonsense = wire::get(&server, &format!("{MAPS}?continue=nonsense")).await;
    assert_eq!(nonsense.code, StatusCode::BAD_REQUEST);
}

/// Facts 4, 13, 14, 18, 19.
#[tokio::test(start_paused = true)]
async fn versions_of_a_list_mean_what_they_mean_on_the_real_server() {
    let server = EmbeddedApiServer::new();
    let maps = fill(&server.client(), &["a", "b"]).await;
    let two = server.revision();
    maps.create(&PostParams::default(), &config_map("c", "1")).await.unwrap();
    let list = async |query: &str| wire::get(&server, &format!("{MAPS}?{query}")).await;
    assert_eq!(
        names(&list("resourceVersion=0&limit=1").await.json()),
        ["a", "b", "c"],
        "0 knows no pages"
    );
    assert_eq!(names(&list("limit=-1").await.json()).len(), 3);
    assert_eq!(
        names(&list(&format!("resourceVersion={two}")).await.json()).len(),
        3,
        "not older than"
    );
    let exact = list(&format!("resourceVersion={two}&resourceVersionMatch=Exact")).await.json();
    assert_eq!(names(&exact), ["a", "b"]);
    assert_eq!(exact["metadata"]["resourceVersion"], two.to_string());
    let legacy = list(&format!("resourceVersion={two}&limit=5")).await.json();
    assert_eq!(names(&legacy), ["a", "b"], "a page at a version is exactly that one");
    let token = list("limit=1").await.json()["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_eq!(
        names(&list(&format!("continue={token}&resourceVersion=0")).await.json()),
        ["b", "c"]
    );
    let elsewhere =
        wire::get(&server, &format!("/api/v1/namespaces/default/secrets?continue={token}")).await;
    assert_eq!(elsewhere.code, StatusCode::OK);
    for (wrong, code) in [
        ("resourceVersion=x", 400),
        ("resourceVersion=-1", 400),
        ("limit=x", 400),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422),
        ("resourceVersionMatch=Sometimes&resourceVersion=1", 422),
        (&format!("continue={token}&resourceVersion=5"), 400),
        (&format!("continue={token}&resourceVersionMatch=Exact&resourceVersion=0"), 422),
    ] {
        assert_eq!(list(wrong).await.code, code, "{wrong}");
    }
    server.compact();
    let old = list(&format!("resourceVersion={two}&resourceVersionMatch=Exact")).await;
    assert_eq!((old.code, old.json()["reason"].as_str()), (StatusCode::GONE, Some("Expired")));
    let started = tokio::time::Instant::now();
    for path in [format!("{MAPS}?resourceVersion=99"), format!("{MAPS}/a?resourceVersion=99")] {
        let future = wire::get(&server, &path).await;
        assert_eq!(future.code, StatusCode::GATEWAY_TIMEOUT, "{}", future.text);
        assert_eq!(future.headers["retry-after"], "1");
        assert_eq!(future.json()["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    }
    assert_eq!(started.elapsed(), Duration::from_secs(6), "three seconds each");
    let next = server.revision() + 1;
    let waiting = tokio::spawn({
        let server = server.clone();
        async move { wire::get(&server, &format!("{MAPS}?resourceVersion={next}")).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    maps.create(&PostParams::default(), &config_map("d", "1")).await.unwrap();
    assert_eq!(names(&waiting.await.unwrap().json()).len(), 4, "a future that comes in time");
}

#[tokio::test]
async fn selectors_select() {
    let server = EmbeddedApiServer::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    for (name, labels) in [
        ("a", json!({ "env": "prod", "n": "5" })),
        ("b", json!({ "env": "test", "n": "50" })),
        ("c", json!({})),
    ] {
        let object = json!({ "metadata": { "name": name, "labels": labels } });
        maps.create(&PostParams::default(), &serde_json::from_value(object).unwrap())
            .await
            .unwrap();
    }
    for (selector, expected) in [
        ("env=prod", "a"),
        ("env==prod", "a"),
        ("env!=prod", "b c"),
        ("env", "a b"),
        ("!env", "c"),
        ("env in (prod, test)", "a b"),
        ("env notin (prod)", "b c"),
        ("env in (prod,test),n=50", "b"),
        ("n>10", "b"),
        ("n<10", "a"),
        ("env=", ""),
        ("", "a b c"),
    ] {
        let found = maps.list(&ListParams::default().labels(selector)).await.unwrap();
        let found: Vec<_> = found.items.iter().map(ResourceExt::name_any).collect();
        assert_eq!(found.join(" "), expected, "{selector:?}");
    }
    for (selector, expected) in [
        ("metadata.name=a", "a"),
        ("metadata.name!=a", "b c"),
        ("metadata.namespace=default", "a b c"),
        ("metadata.name=a,metadata.namespace=other", ""),
    ] {
        let found = maps.list(&ListParams::default().fields(selector)).await.unwrap();
        let found: Vec<_> = found.items.iter().map(ResourceExt::name_any).collect();
        assert_eq!(found.join(" "), expected, "{selector:?}");
    }
    for wrong in ["a in prod", "a in (", "=b", "a b", "a in (b) c", ",", "a=b c"] {
        let refused = maps.list(&ListParams::default().labels(wrong)).await.unwrap_err();
        assert_eq!(code(refused), (400, "BadRequest".into()), "{wrong:?}");
    }
    for wrong in ["data.key=1", "metadata.name", "metadata.name=a\\"] {
        let refused = maps.list(&ListParams::default().fields(wrong)).await.unwrap_err();
        assert_eq!(code(refused), (400, "BadRequest".into()), "{wrong:?}");
    }
    let page = maps.list(&ListParams::default().labels("env").limit(1)).await.unwrap();
    assert_eq!(page.metadata.remaining_item_count, None, "unknown with a selector");
    let token = page.metadata.continue_.unwrap();
    let rest =
        maps.list(&ListParams::default().labels("env").continue_token(&token)).await.unwrap();
    assert_eq!(rest.items[0].name_any(), "b");
}

#[tokio::test]
async fn fields_of_pods_can_be_selected() {
    let server = EmbeddedApiServer::new();
    for (name, node) in [("a", "one"), ("b", "two")] {
        let pod = json!({
            "metadata": { "name": name },
            "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "i" }] },
        });
        wire::post(&server, "/api/v1/namespaces/default/pods", &pod).await;
    }
    let list =
        wire::get(&server, "/api/v1/pods?fieldSelector=spec.nodeName%3Dtwo,status.phase%3DPending")
            .await;
    assert_eq!(names(&list.json()), ["b"]);
}

#[tokio::test]
async fn a_list_has_the_shape_of_the_real_one() {
    let server = EmbeddedApiServer::new();
    fill(&server.client(), &["a"]).await;
    let list = wire::get(&server, "/api/v1/configmaps").await.json();
    assert_eq!(
        (list["kind"].as_str(), list["apiVersion"].as_str()),
        (Some("ConfigMapList"), Some("v1"))
    );
    assert_eq!(list["items"][0].get("kind"), None, "items of built-in kinds do not repeat it");
    let accept = [("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")];
    let list = wire::send(&server, Method::GET, "/api/v1/configmaps", &accept, "").await.json();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert_eq!(list["items"][0].get("data"), None);
    let empty = wire::get(&server, "/apis/coordination.k8s.io/v1/leases").await.json();
    assert_eq!(empty["items"], json!([]));
    assert_eq!(empty["metadata"]["resourceVersion"], server.revision().to_string());
}

#[tokio::test]
async fn a_page_counts_the_rest_as_it_was_however_many_pages_were_read() {
    let server = EmbeddedApiServer::new();
    fill(&server.client(), &["a", "b", "c", "d", "e"]).await;
    let mut page = wire::get(&server, &format!("{MAPS}?limit=2")).await.json();
    assert_eq!(page["metadata"]["remainingItemCount"], 3);
    // Later creates and deletes do not change a snapshot.
    wire::delete(&server, &format!("{MAPS}/d"), &json!({})).await;
    wire::post(&server, MAPS, &json!({ "metadata": { "name": "cc" } })).await;
    for (names, remaining) in [(["c"], Some(2)), (["d"], Some(1)), (["e"], None)] {
        let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
        // In another collection the count is invalid, and the key is relative to that: all of
        // `default/` comes after it.
        let other = wire::get(&server, &format!("/api/v1/configmaps?limit=1&continue={token}"))
            .await
            .json();
        assert_eq!(other["metadata"]["remainingItemCount"].as_u64(), Some(4));
        page = wire::get(&server, &format!("{MAPS}?limit=1&continue={token}")).await.json();
        assert_eq!(page["items"][0]["metadata"]["name"], names[0]);
        assert_eq!(page["metadata"]["remainingItemCount"].as_u64(), remaining);
    }
}
