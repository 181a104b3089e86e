//! The work of requests, in allocations, which are the same in each run.

use embedded_apiserver::{Body, EmbeddedApiServer};
use futures::StreamExt as _;
use http::Method;
use serde_json::{Value, json};
use stats_alloc::Region;

use crate::sizes::size;
use crate::{ALLOCATOR, MAPS, block_on, map, open, send, server, turn};

async fn create(server: &EmbeddedApiServer, count: usize) {
    for number in 0..count {
        send(server, Method::POST, MAPS, map(&format!("map-{number:06}"), 400)).await;
    }
}

/// A server with `count` objects, and an open watch of them.
async fn watched(count: usize) -> (EmbeddedApiServer, Body) {
    let server = server().build();
    create(&server, count).await;
    let watch = open(&server, Method::GET, &format!("{MAPS}?watch=1"), Value::Null).await;
    (server, watch)
}

/// The JSON of an answer.
#[cfg(feature = "actors")]
async fn json_of(body: Body) -> Value {
    let bytes = http_body_util::BodyExt::collect(body).await.expect("a body").to_bytes();
    serde_json::from_slice(&bytes).expect("JSON")
}

/// The number of allocations of some work.
async fn allocations(work: impl Future<Output = ()>) -> usize {
    let region = Region::new(ALLOCATOR);
    work.await;
    region.change().allocations
}

/// Ten times the objects cost about ten times the work. Quadratic work would cost a hundred times.
fn assert_linear(what: &str, few: usize, many: usize) {
    assert!(many <= few * 12, "{what}: {few} allocations for a tenth, {many} for all");
}

#[test]
fn a_create_takes_so_many_allocations_however_many_objects_there_are() {
    let _turn = turn();
    block_on(async {
        let server = server().build();
        create(&server, 1).await;
        let count = size(200, 1_000);
        let mut at = Vec::new();
        for round in 0..3 {
            let bodies: Vec<Value> =
                (0..count).map(|number| map(&format!("{round}-{number}"), 400)).collect();
            let texts = async { bodies.iter().for_each(|body| drop(body.to_string())) };
            let texts = allocations(texts).await;
            let creates = async {
                for body in bodies {
                    send(&server, Method::POST, MAPS, body).await;
                }
            };
            at.push((allocations(creates).await - texts) / count);
        }
        // Includes those of the request: head, body, path.
        assert!(at.iter().all(|each| *each <= 125), "allocations of a create: {at:?}");
    });
}

#[test]
fn deletes_one_by_one_beside_a_watch_are_linear() {
    let _turn = turn();
    block_on(async {
        let mut costs = Vec::new();
        for count in [size(100, 1_000), size(1_000, 10_000)] {
            let (server, watch) = watched(count).await;
            let mut lines = watch.into_stream();
            for _ in 0..count {
                lines.next().await.expect("a line").expect("no fault");
            }
            costs.push(
                allocations(async {
                    for number in 0..count {
                        let path = format!("{MAPS}/map-{number:06}");
                        send(&server, Method::DELETE, &path, Value::Null).await;
                        lines.next().await.expect("a line").expect("no fault");
                    }
                })
                .await,
            );
        }
        assert_linear("deletes", costs[0], costs[1]);
    });
}

#[test]
fn the_delete_of_a_collection_is_linear() {
    let _turn = turn();
    block_on(async {
        let mut costs = Vec::new();
        for count in [size(100, 1_000), size(1_000, 10_000)] {
            let (server, _watch) = watched(count).await;
            let delete = async {
                send(&server, Method::DELETE, MAPS, Value::Null).await;
            };
            costs.push(allocations(delete).await);
        }
        assert_linear("deletecollection", costs[0], costs[1]);
    });
}

#[cfg(feature = "actors")]
#[test]
fn the_collection_of_dependents_is_linear() {
    let _turn = turn();
    block_on(async {
        let mut costs = Vec::new();
        for count in [size(40, 200), size(400, 2_000)] {
            let server = server().garbage_collector(true).build();
            let owner = json_of(open(&server, Method::POST, MAPS, map("owner", 1)).await).await;
            for number in 0..count {
                let mut dependent = map(&format!("map-{number:06}"), 1);
                dependent["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": "owner",
                    "uid": owner["metadata"]["uid"],
                    "blockOwnerDeletion": true,
                }]);
                send(&server, Method::POST, MAPS, dependent).await;
            }
            // The collector knows all writes when it is idle.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            let policy = json!({ "propagationPolicy": "Foreground" });
            costs.push(
                allocations(async {
                    send(&server, Method::DELETE, &format!("{MAPS}/owner"), policy).await;
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                })
                .await,
            );
            let left = json_of(open(&server, Method::GET, MAPS, Value::Null).await).await;
            assert_eq!(left["items"], json!([]), "the owner and {count} dependents are gone");
        }
        assert_linear("collection", costs[0], costs[1]);
    });
}
