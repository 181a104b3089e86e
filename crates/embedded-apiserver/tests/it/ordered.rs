//! A fault applies at once: no later event passes it.

use std::sync::Arc;

use embedded_apiserver::{EmbeddedApiServer, Faults, Match};
use futures::{FutureExt, StreamExt};
use http::Request;
use http_body_util::Full;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Duration, sleep};
use tower::ServiceExt;

use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The whole lines that a watch of the user `w` has read, then `end` or `broken`.
type Seen = Arc<Mutex<Vec<String>>>;

/// A server with a watch that a task reads.
async fn watched() -> (EmbeddedApiServer, Seen) {
    let (server, seen) = (EmbeddedApiServer::new(), Seen::default());
    let path = format!("{MAPS}?watch=1&resourceVersion=0");
    let request =
        Request::builder().uri(path).body(Full::<bytes::Bytes>::default()).expect("a request");
    let response =
        server.service().as_user("w").oneshot(request).await.expect("no fault was planned");
    let (mut lines, into) = (response.into_body().into_stream(), Arc::clone(&seen));
    tokio::spawn(async move {
        while let Some(line) = lines.next().await {
            let Ok(line) = line else { return into.lock().push("broken".to_owned()) };
            let line: Value = serde_json::from_slice(&line).expect("a whole line");
            into.lock()
                .push(line["object"]["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        }
        into.lock().push("end".to_owned());
    });
    settle().await;
    (server, seen)
}

async fn settle() {
    sleep(Duration::from_millis(10)).await;
}

/// Writes without yielding to other tasks.
fn write(server: &EmbeddedApiServer, name: &str) {
    let map = json!({ "metadata": { "name": name } });
    let written = wire::post(server, MAPS, &map).now_or_never().expect("in process nothing waits");
    assert_eq!(written.code, 201, "{}", written.text);
}

#[tokio::test(start_paused = true)]
async fn no_event_is_delivered_that_is_written_after_an_order() {
    type Tell = fn(&Faults);
    let orders: [(Tell, &[&str]); 4] = [
        (|faults| faults.partition("w"), &[]),
        (|faults| assert_eq!(faults.stall_watches(&Match::any()), 1), &[]),
        (|faults| assert_eq!(faults.cut_watches(&Match::any()), 1), &["end"]),
        (|faults| assert_eq!(faults.drop_watches(&Match::any()), 1), &["broken"]),
    ];
    for (number, (tell, expected)) in orders.into_iter().enumerate() {
        let (server, seen) = watched().await;
        // The watch waits. Both wake it, and it must read the fault first.
        tell(&server.faults());
        write(&server, "after");
        settle().await;
        assert_eq!(*seen.lock(), expected, "order {number}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_event_that_was_written_before_an_order_is_delivered_after_it() {
    let (server, seen) = watched().await;
    // The event is pending: the watch is awake, and has not read it.
    write(&server, "before");
    server.faults().partition("w");
    settle().await;
    assert_eq!(*seen.lock(), Vec::<String>::new());
    write(&server, "during");
    settle().await;
    server.faults().heal("w");
    settle().await;
    assert_eq!(*seen.lock(), ["before", "during"], "nothing is lost, and in order");
}

#[tokio::test(start_paused = true)]
async fn what_a_partition_holds_back_goes_with_the_watch_that_is_cut_meanwhile() {
    let (server, seen) = watched().await;
    write(&server, "a");
    server.faults().partition("w");
    settle().await;
    server.faults().cut_watches(&Match::any());
    settle().await;
    assert_eq!(*seen.lock(), ["end"]);
}
