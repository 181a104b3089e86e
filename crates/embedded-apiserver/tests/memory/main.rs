//! The memory of the server, counted by the allocator: the bytes that it holds (objects, history,
//! unread watches), and the allocations of requests.

#[path = "../it/sizes.rs"]
mod sizes;
mod work;

use std::alloc::System;

use bytes::Bytes;
use embedded_apiserver::{Body, Builder, EmbeddedApiServer};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tower::ServiceExt;

use crate::sizes::size;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for the whole process, so tests run one at a time.
static TURN: Mutex<()> = Mutex::new(());

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(work)
}

/// The bytes that were allocated and kept since.
fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

/// A small log, so that objects dominate.
fn server() -> Builder {
    EmbeddedApiServer::builder().request_log_capacity(16)
}

async fn open(server: &EmbeddedApiServer, method: Method, path: &str, body: Value) -> Body {
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let request =
        Request::builder().method(method).uri(path).header("content-type", "application/json");
    let response =
        server.service().oneshot(request.body(Full::new(body)).expect("a request")).await;
    let response = response.expect("no fault was planned");
    assert!(response.status().is_success(), "{path}: {}", response.status());
    response.into_body()
}

/// The size of the answer.
async fn send(server: &EmbeddedApiServer, method: Method, path: &str, body: Value) -> usize {
    open(server, method, path, body).await.collect().await.expect("a body").to_bytes().len()
}

fn map(name: &str, bytes: usize) -> Value {
    json!({
        "metadata": { "name": name, "labels": { "app": "web" } },
        "data": { "key": "x".repeat(bytes) },
    })
}

#[test]
fn objects_take_at_most_twice_their_json_history_included() {
    let _turn = turn();
    block_on(async {
        for (data, most) in [(400, 1.6), (20, 2.0)] {
            let server = server().build();
            send(&server, Method::POST, MAPS, map("first", data)).await;
            let region = Region::new(ALLOCATOR);
            let mut json = 0;
            for number in 0..size(1_250, 5_000) {
                json +=
                    send(&server, Method::POST, MAPS, map(&format!("map-{number:06}"), data)).await;
            }
            let share = held(&region) as f64 / json as f64;
            assert!(
                share <= most,
                "{share:.2} bytes for a byte of JSON, with {data} bytes of data"
            );
        }
    });
}

#[test]
fn history_is_bounded_by_bytes() {
    let _turn = turn();
    block_on(async {
        let server = server().history_bytes(1024 * 1024).build();
        send(&server, Method::POST, MAPS, map("big", 100_000)).await;
        let path = format!("{MAPS}/big");
        let mut early = 0;
        let region = Region::new(ALLOCATOR);
        for number in 0..200 {
            let mut next = map("big", 100_000);
            next["data"]["number"] = number.to_string().into();
            send(&server, Method::PUT, &path, next).await;
            if number == 20 {
                early = held(&region);
            }
        }
        let late = held(&region);
        assert!((500_000..2_000_000).contains(&early), "ten of them are kept: {early}");
        assert!(late <= early + 100_000, "{early} became {late}");
    });
}

#[test]
fn a_watch_that_nobody_reads_holds_no_events() {
    let _turn = turn();
    block_on(async {
        let grown = async |watches: usize| {
            let server = server().history(16).build();
            send(&server, Method::POST, MAPS, map("big", 100_000)).await;
            let mut open_watches = Vec::new();
            for _ in 0..watches {
                let path = format!("{MAPS}?watch=1&resourceVersion=1");
                open_watches.push(open(&server, Method::GET, &path, Value::Null).await);
            }
            let region = Region::new(ALLOCATOR);
            for number in 0..100 {
                let mut next = map("big", 100_000);
                next["data"]["number"] = number.to_string().into();
                send(&server, Method::PUT, &format!("{MAPS}/big"), next).await;
            }
            held(&region)
        };
        let (alone, beside) = (grown(0).await, grown(100).await);
        assert!(
            beside <= alone + 100_000,
            "{alone} bytes without watches, {beside} beside a hundred"
        );
    });
}

#[test]
fn everything_is_given_back_when_objects_are_deleted_and_history_is_forgotten() {
    let _turn = turn();
    block_on(async {
        let server = server().build();
        send(&server, Method::POST, MAPS, map("first", 10)).await;
        let region = Region::new(ALLOCATOR);
        let count = size(1_000, 2_000);
        for number in 0..count {
            send(&server, Method::POST, MAPS, map(&format!("map-{number:06}"), 1_000)).await;
        }
        let full = held(&region);
        send(&server, Method::DELETE, MAPS, Value::Null).await;
        server.compact();
        let empty = held(&region);
        assert!(full > count * 1_000 && empty < full / 10, "{full} bytes became {empty}");
    });
}
