//! The request log, as a test reads it.

use crate::objects::config_map;
use embedded_apiserver::{EmbeddedApiServer, Verb};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams, WatchParams};
use std::time::Duration;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn requests_are_counted_by_client_verb_and_kind() {
    let server = EmbeddedApiServer::new();
    for (user, writes) in [("a", 3), ("b", 2)] {
        let maps: Api<ConfigMap> = Api::default_namespaced(server.client_as(user));
        for number in 0..writes {
            maps.create(&PostParams::default(), &config_map(&format!("{user}{number}"), "1"))
                .await
                .unwrap();
        }
        maps.list(&ListParams::default()).await.unwrap();
        drop(maps.watch(&WatchParams::default(), "0").await.unwrap());
    }
    let requests = server.requests();
    requests.writes_to("configmaps").assert_exactly(5);
    requests.writes_to("configmaps").by("b").assert_at_most(2);
    requests.by("a").verb(Verb::List).assert_exactly(1);
    requests.reads_of("configmaps").verb(Verb::Watch).assert_exactly(2);
    requests.writes_to("leases").assert_none();
    let entry = requests.by("a").writes().entries().remove(0);
    assert_eq!(entry.to_string(), "#0 a create configmaps default/ 201");
}

#[tokio::test(start_paused = true)]
async fn the_first_write_after_a_moment_leaves_leases_out_or_not() {
    let server = EmbeddedApiServer::new();
    let client = server.client_as("replica-2");
    let leases: Api<Lease> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &config_map("before", "1")).await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let killed = Instant::now().into_std();
    tokio::time::advance(Duration::from_millis(300)).await;
    let lease: Lease =
        serde_json::from_value(serde_json::json!({ "metadata": { "name": "x" } })).unwrap();
    leases.create(&PostParams::default(), &lease).await.unwrap();
    tokio::time::advance(Duration::from_millis(200)).await;
    maps.create(&PostParams::default(), &config_map("after", "1")).await.unwrap();

    let writes = server.requests().by("replica-2").writes();
    let first = writes.first_since(killed).unwrap().unwrap();
    assert_eq!(
        (first.request.resource.as_str(), first.at - killed),
        ("leases", Duration::from_millis(300))
    );
    let first = writes.except_resource("leases").first_since(killed).unwrap().unwrap();
    assert_eq!(
        (first.request.resource.as_str(), first.at - killed),
        ("configmaps", Duration::from_millis(500))
    );
}
