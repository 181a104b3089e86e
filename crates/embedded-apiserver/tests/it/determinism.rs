//! The same seed, start time and requests give the same bytes.

use std::time::{Duration, SystemTime};

use embedded_apiserver::EmbeddedApiServer;
use http::Method;
use serde_json::json;

use crate::wire::{self, MERGE};

async fn run(seed: u64) -> String {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let server = EmbeddedApiServer::builder().seed(seed).start_time(start).build();
    let path = "/api/v1/namespaces/default/configmaps";
    for _ in 0..10 {
        wire::post(&server, path, &json!({ "metadata": { "generateName": "m-" } })).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    wire::post(&server, path, &json!({ "metadata": { "name": "held", "finalizers": ["x.io/f"] } }))
        .await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    wire::delete(&server, &format!("{path}/held"), &json!({})).await;
    wire::patch(
        &server,
        &format!("{path}/held"),
        MERGE,
        &json!({ "metadata": { "labels": { "a": "b" } } }),
    )
    .await;
    let watch =
        format!("{path}?watch=1&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=100");
    let list = wire::get(&server, path).await.text;
    list + &wire::send(&server, Method::GET, &watch, &[], "").await.text
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_under_paused_time_gives_the_same_bytes() {
    let one = run(1).await;
    assert!(one.contains("2027-01-15T08:00:00Z") && one.contains("2027-01-15T08:01:47Z"), "{one}");
    assert_eq!(one, run(1).await);
    assert_ne!(one, run(2).await);
}
