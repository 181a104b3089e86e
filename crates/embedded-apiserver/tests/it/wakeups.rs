//! Which watches a write wakes, by exact counts.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use embedded_apiserver::{Disconnected, EmbeddedApiServer};
use futures::Stream;
use http::Method;
use serde_json::{Value, json};

use crate::wire;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A watch that is polled by hand.
struct Watch {
    lines: Pin<Box<dyn Stream<Item = Result<Bytes, Disconnected>> + Send>>,
    count: Arc<Count>,
}

impl Watch {
    async fn open(server: &EmbeddedApiServer, path: &str) -> Self {
        let response = wire::open(server, Method::GET, path, &[], "").await;
        let mut watch = Self { lines: response.into_body().into_stream(), count: Arc::default() };
        watch.drain();
        watch
    }

    fn poll(&mut self) -> Poll<Option<Result<Bytes, Disconnected>>> {
        let waker = Waker::from(Arc::clone(&self.count));
        self.lines.as_mut().poll_next(&mut Context::from_waker(&waker))
    }

    /// Returns all ready lines. Then the watch waits.
    fn drain(&mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Poll::Ready(line) = self.poll() {
            let line = line.expect("no end").expect("no fault");
            lines.push(serde_json::from_slice(&line).expect("JSON"));
        }
        lines
    }

    /// The wake-ups since the last call.
    fn woken(&self) -> usize {
        self.count.0.swap(0, Ordering::Relaxed)
    }
}

const ALL: &str = "/api/v1/configmaps?watch=1&resourceVersion=1";

fn of(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps?watch=1&resourceVersion=1")
}

async fn create(server: &EmbeddedApiServer, namespace: &str, name: &str, label: &str) {
    let map = json!({ "metadata": { "name": name, "labels": { "l": label } } });
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    assert_eq!(wire::post(server, &path, &map).await.code, 201);
}

fn server() -> EmbeddedApiServer {
    EmbeddedApiServer::builder().check_namespaces(false).build()
}

/// In tokio, whose timers would otherwise yield for fairness at each poll.
async fn unhurried<T>(work: impl Future<Output = T>) -> T {
    tokio::task::unconstrained(work).await
}

#[tokio::test(start_paused = true)]
async fn a_write_wakes_the_watches_that_it_concerns_and_no_other() {
    unhurried(async {
        let server = server();
        let mut concerned = vec![
            Watch::open(&server, ALL).await,
            Watch::open(&server, &of("a")).await,
            Watch::open(&server, &format!("{}&fieldSelector=metadata.name%3Dx", of("a"))).await,
            Watch::open(&server, &format!("{ALL}&fieldSelector=metadata.name%3Dx")).await,
            Watch::open(&server, &format!("{ALL}&fieldSelector=metadata.namespace%3Da")).await,
        ];
        let mut others = [
            Watch::open(&server, &of("b")).await,
            Watch::open(&server, &format!("{}&fieldSelector=metadata.name%3Dy", of("a"))).await,
            Watch::open(&server, &format!("{}&fieldSelector=metadata.name%3Dx", of("b"))).await,
            Watch::open(&server, &format!("{ALL}&fieldSelector=metadata.name%3Dy")).await,
            Watch::open(&server, "/api/v1/secrets?watch=1&resourceVersion=1").await,
            Watch::open(&server, "/api/v1/namespaces?watch=1&resourceVersion=99").await,
        ];
        create(&server, "a", "x", "1").await;
        for watch in &mut concerned {
            assert_eq!(watch.woken(), 1);
            assert_eq!(watch.drain().len(), 1);
        }
        for (at, watch) in others.iter_mut().enumerate() {
            assert_eq!(watch.woken(), 0, "{at}");
            assert_eq!(watch.drain().len(), 0, "{at}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_does_not_read_is_woken_once() {
    unhurried(async {
        let server = server();
        let mut watch = Watch::open(&server, ALL).await;
        for name in ["x", "y", "z"] {
            create(&server, "a", name, "1").await;
        }
        assert_eq!((watch.woken(), watch.drain().len()), (1, 3));
        // Reads without waiting, so there is no task to wake.
        create(&server, "a", "w", "1").await;
        assert_eq!((watch.woken(), watch.drain().len()), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_label_selector_costs_one_wake_up_and_no_line() {
    unhurried(async {
        let server = server();
        let mut watch = Watch::open(&server, &format!("{}&labelSelector=l%3D2", of("a"))).await;
        create(&server, "a", "x", "1").await;
        assert_eq!((watch.woken(), watch.drain().len()), (1, 0));
        create(&server, "a", "y", "2").await;
        assert_eq!((watch.woken(), watch.drain().len()), (1, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_idle_watches_cost_no_wake_ups() {
    unhurried(async {
        let server = EmbeddedApiServer::builder()
            .check_namespaces(false)
            .bookmark_interval(Duration::from_secs(60))
            .build();
        let mut idle = Vec::new();
        for at in 0..10_000 {
            // Every tenth watch gets bookmarks.
            let bookmarks = if at % 10 == 0 { "&allowWatchBookmarks=true" } else { "" };
            idle.push(Watch::open(&server, &format!("{}{bookmarks}", of(&format!("n{at}")))).await);
        }
        let total = |idle: &[Watch]| idle.iter().map(Watch::woken).sum::<usize>();
        assert_eq!(total(&idle), 0);
        for at in 0..100 {
            create(&server, "busy", &format!("m{at}"), "1").await;
        }
        tokio::time::sleep(Duration::from_secs(59)).await;
        assert_eq!(total(&idle), 0, "nothing concerned them, and no bookmark is due");
        create(&server, "n7", "m", "1").await;
        assert_eq!(total(&idle), 1, "one namespace, one watch");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(
            total(&idle),
            1_000,
            "a bookmark for each watch that asked for some, once an interval"
        );
        let lines: usize = idle.iter_mut().map(|watch| watch.drain().len()).sum();
        assert_eq!(lines, 1_001);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(total(&idle), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_nothing_concerned_never_falls_behind() {
    unhurried(async {
        let server = EmbeddedApiServer::builder().check_namespaces(false).history(4).build();
        let mut quiet = Watch::open(&server, &of("quiet")).await;
        let mut loud = Watch::open(&server, &of("loud")).await;
        for at in 0..20 {
            create(&server, "loud", &format!("m{at}"), "1").await;
        }
        create(&server, "quiet", "m", "1").await;
        let lines = quiet.drain();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["type"], "ADDED");
        // It has read nothing, and its first event is compacted.
        let Poll::Ready(Some(Ok(line))) = loud.poll() else { panic!("a line") };
        let line: Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!((&line["type"], &line["object"]["code"]), (&json!("ERROR"), &json!(410)));
        assert!(matches!(loud.poll(), Poll::Ready(None)));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_dropped_is_woken_no_more() {
    unhurried(async {
        let server = server();
        let watch = Watch::open(&server, ALL).await;
        let count = Arc::clone(&watch.count);
        drop(watch);
        assert_eq!(Arc::strong_count(&count), 1, "its waker is gone");
        create(&server, "a", "x", "1").await;
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn watches_of_one_form_share_the_bytes_of_an_event() {
    unhurried(async {
        let server = server();
        let mut watches = Vec::new();
        for _ in 0..100 {
            watches.push(Watch::open(&server, ALL).await);
        }
        create(&server, "a", "x", "1").await;
        let mut lines = watches.iter_mut().map(|watch| match watch.poll() {
            Poll::Ready(Some(Ok(line))) => line,
            other => panic!("{other:?}"),
        });
        let first = lines.next().expect("a line");
        assert!(lines.all(|line| line.as_ptr() == first.as_ptr()), "written once");
    })
    .await;
}
