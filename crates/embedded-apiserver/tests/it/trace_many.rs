//! One seed, one run, with many waiters on the same event: repeated in one process, and in others.

use std::process::Command;
use std::time::{Duration, SystemTime};

use embedded_apiserver::{Builder, EmbeddedApiServer};
use http::{Method, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::sizes::size;
use crate::trace::send;
use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// More than an inline list holds, and more than one lock wakes.
const MANY: usize = 100;
/// Set in a process that prints its hash.
const ASKED: &str = "EMBEDDED_APISERVER_SAY_TRACE_HASH";

/// The trace hash of a run, on its own server and clock.
fn hash_of<F: Future<Output = EmbeddedApiServer>>(run: &impl Fn(Builder) -> F) -> u64 {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        run(EmbeddedApiServer::builder().seed(1).start_time(start)).await.requests().trace_hash()
    })
}

/// Asserts that a run has the same hash each time, here and in other processes. `test`: the name of
/// the test.
#[expect(clippy::print_stdout, reason = "how a process of its own tells its hash")]
fn assert_repeats<F: Future<Output = EmbeddedApiServer>>(test: &str, run: impl Fn(Builder) -> F) {
    let first = hash_of(&run);
    if std::env::var_os(ASKED).is_some() {
        println!("{ASKED}={first}");
        return;
    }
    for again in 0..size(1, 49) {
        assert_eq!(hash_of(&run), first, "run {again} of {test}");
    }
    let said = format!("{ASKED}={first}");
    for _ in 0..size(1, 3) {
        let this = std::env::current_exe().expect("this program");
        let other =
            Command::new(this).args(["--exact", test, "--nocapture"]).env(ASKED, "1").output();
        let output = String::from_utf8(other.expect("the same program").stdout).expect("UTF-8");
        assert!(
            output.lines().any(|line| line.ends_with(&said)),
            "{said}, but another process: {output}"
        );
    }
}

/// Waits until every task is idle.
async fn settle() {
    sleep(Duration::from_millis(100)).await;
}

#[test]
fn requests_that_a_partition_held_go_on_in_one_order() {
    assert_repeats(
        "trace_many::requests_that_a_partition_held_go_on_in_one_order",
        |builder| async move {
            let server = builder.build();
            server.faults().partition("w");
            let mut clients = JoinSet::new();
            for number in 0..MANY {
                let server = server.clone();
                clients.spawn(async move {
                    let map = json!({ "metadata": { "name": format!("m{number}") } }).to_string();
                    send(&server, "w", Method::POST, MAPS, map).await;
                });
            }
            settle().await;
            server.faults().heal("w");
            clients.join_all().await;
            assert_eq!(server.requests().by("w").answered_with(201), MANY as u64);
            server
        },
    );
}

#[test]
fn watches_that_a_partition_held_go_on_in_one_order() {
    assert_repeats(
        "trace_many::watches_that_a_partition_held_go_on_in_one_order",
        |builder| async move {
            let server = builder.build();
            let mut clients = JoinSet::new();
            for _ in 0..MANY {
                let server = server.clone();
                clients.spawn(async move {
                    let path = format!("{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1");
                    send(&server, "w", Method::GET, &path, String::new()).await;
                });
            }
            settle().await;
            server.faults().partition("w");
            settle().await;
            wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await;
            settle().await;
            server.faults().heal("w");
            clients.join_all().await;
            server
        },
    );
}

#[test]
fn reads_that_wait_for_a_version_go_on_in_one_order() {
    assert_repeats(
        "trace_many::reads_that_wait_for_a_version_go_on_in_one_order",
        |builder| async move {
            let server = builder.build();
            let future = server.revision() + 1;
            let mut clients = JoinSet::new();
            for number in 0..MANY {
                let server = server.clone();
                clients.spawn(async move {
                    let path = format!(
                        "{MAPS}?resourceVersion={future}&resourceVersionMatch=NotOlderThan"
                    );
                    let path = format!("{path}&labelSelector=n%3D{number}");
                    send(&server, "w", Method::GET, &path, String::new()).await;
                });
            }
            settle().await;
            wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await;
            clients.join_all().await;
            assert_eq!(server.requests().by("w").answered_with(200), MANY as u64);
            server
        },
    );
}

#[test]
fn watches_of_a_kind_that_goes_end_in_one_order() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_repeats(
        "trace_many::watches_of_a_kind_that_goes_end_in_one_order",
        |builder| async move {
            let server = builder.build();
            let definition = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": "widgets.example.com" },
                "spec": {
                    "group": "example.com", "scope": "Namespaced", "names": { "kind": "Widget", "plural": "widgets" },
                    "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    } } }],
                },
            });
            let made = wire::post(&server, DEFINITIONS, &definition).await;
            assert_eq!(made.code, StatusCode::CREATED, "{}", made.text);
            let mut clients = JoinSet::new();
            for number in 0..MANY {
                let server = server.clone();
                clients.spawn(async move {
                let path = "/apis/example.com/v1/namespaces/default/widgets?watch=1&allowWatchBookmarks=true";
                let path = format!("{path}&resourceVersion=0&labelSelector=n%3D{number}");
                send(&server, "w", Method::GET, &path, String::new()).await;
            });
            }
            settle().await;
            wire::delete(&server, &format!("{DEFINITIONS}/widgets.example.com"), &json!({})).await;
            clients.join_all().await;
            server
        },
    );
}

/// Owners are deleted while faults cut the collector off. It learns of all deletes from one list
/// and deletes their dependents. A namespace is deleted with its content.
#[cfg(feature = "actors")]
#[test]
fn the_actors_do_the_same_each_time() {
    use embedded_apiserver::{Fault, FaultPlan, Match, Rule};

    const COLLECTOR: &str = "system:embedded:garbage-collector";
    const SOME: usize = 12;
    let secrets = "/api/v1/namespaces/default/secrets";
    assert_repeats("trace_many::the_actors_do_the_same_each_time", async |builder| {
        let cut = Fault::CutWatch { min_events: 1, max_events: 9, after_ms: None, mid_line: true };
        let collector = || Match::any().user(COLLECTOR);
        let broken = FaultPlan::seeded(7)
            .rule(Rule::new(collector(), Fault::InternalError).percent(15))
            .rule(Rule::new(collector(), cut).percent(60))
            .rule(Rule::new(collector(), Fault::Expired).percent(30));
        let server = builder
            .namespace("going")
            .garbage_collector(true)
            .namespace_lifecycle(true)
            .faults(broken)
            .build();
        for number in 0..SOME {
            let owner = json!({ "metadata": { "name": format!("s{number}") } });
            let owner = wire::post(&server, secrets, &owner).await.json();
            let owner = json!({
                "apiVersion": "v1", "kind": "Secret", "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
            });
            let map =
                json!({ "metadata": { "name": format!("m{number}"), "ownerReferences": [owner] } });
            wire::post(&server, MAPS, &map).await;
            wire::post(
                &server,
                &MAPS.replace("default", "going"),
                &json!({ "metadata": { "name": format!("m{number}") } }),
            )
            .await;
        }
        sleep(Duration::from_secs(100)).await;
        server.faults().partition(COLLECTOR);
        for number in 0..SOME {
            wire::delete(&server, &format!("{secrets}/s{number}"), &json!({})).await;
        }
        wire::delete(&server, "/api/v1/namespaces/going", &json!({})).await;
        server.faults().drop_watches(&collector());
        server.compact();
        server.faults().heal(COLLECTOR);
        sleep(Duration::from_secs(100)).await;
        assert_eq!(wire::get(&server, MAPS).await.json()["items"], json!([]));
        assert_eq!(
            wire::get(&server, "/api/v1/namespaces/going").await.code,
            StatusCode::NOT_FOUND
        );
        server
    });
}
