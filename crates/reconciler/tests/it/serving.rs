//! The admin server, on a real loopback port.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use reconciler::{Action, AdminServer, Controller, Failure, Manager, Request, reconcile_fn};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::bench::{Log, bench, start};

pub(crate) fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Status line and body.
pub(crate) async fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[tokio::test]
async fn metrics_have_the_names_of_client_go_and_controller_runtime() {
    let bench = bench();
    bench.create("a").await;
    let admin = AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let mut manager = Manager::builder().admin(admin).build().unwrap();
    let maps = manager.cache(bench.api());
    let log = Log::new();
    let seen = log.clone();
    let (told, mut hear) = tokio::sync::mpsc::unbounded_channel();
    let controller = Controller::keyed(
        "maps",
        reconcile_fn(move |_: Request<reconciler::ObjectKey>| {
            seen.push(());
            told.send(()).unwrap();
            let first = seen.len() == 1;
            async move {
                if first { Err(Failure::terminal("planted")) } else { Ok(Action::await_change()) }
            }
        }),
    );
    let handle = controller.handle();
    manager.add(controller.source(maps.objects()));
    let running = start(manager);
    hear.recv().await.unwrap();
    // The second run begins after the first has been counted: one key.
    handle.add(crate::bench::key("a"));
    hear.recv().await.unwrap();
    let (status, text) = get(address, "/metrics").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    for line in [
        "workqueue_depth{name=\"maps\",controller=\"maps\"} 0",
        "workqueue_adds_total{name=\"maps\",controller=\"maps\"} 2",
        "workqueue_retries_total{name=\"maps\",controller=\"maps\"} 0",
        "workqueue_queue_duration_seconds_count{name=\"maps\",controller=\"maps\"} 2",
        "workqueue_unfinished_work_seconds{name=\"maps\",controller=\"maps\"}",
        "workqueue_longest_running_processor_seconds{name=\"maps\",controller=\"maps\"}",
        "controller_runtime_reconcile_total{controller=\"maps\",result=\"error\"} 1",
        "controller_runtime_reconcile_total{controller=\"maps\",result=\"requeue_after\"} 0",
        "controller_runtime_reconcile_errors_total{controller=\"maps\"} 1",
        "controller_runtime_terminal_reconcile_errors_total{controller=\"maps\"} 1",
        "controller_runtime_reconcile_panics_total{controller=\"maps\"} 0",
        "controller_runtime_max_concurrent_reconciles{controller=\"maps\"} 4",
        "controller_runtime_reconcile_time_seconds_bucket{le=\"0.005\",controller=\"maps\"}",
        "reconciler_cache_objects{watch=\"v1/configmaps\"} 1",
        "reconciler_watch_lists_total{watch=\"v1/configmaps\"} 1",
    ] {
        assert!(text.lines().any(|shown| shown.starts_with(line)), "no line {line:?} in:\n{text}");
    }
    assert_eq!(get(address, "/livez").await, ("HTTP/1.1 200 OK".into(), "ok\n".into()));
    assert_eq!(
        get(address, "/readyz").await,
        ("HTTP/1.1 200 OK".into(), "[+]v1/configmaps complete\n".into())
    );
    assert_eq!(get(address, "/other").await.0, "HTTP/1.1 404 Not Found");
    running.stop().await;
    assert!(TcpStream::connect(address).await.is_err(), "the port is free again");
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let first = AdminServer::bind(loopback()).unwrap();
    let error = AdminServer::bind(first.local_addr()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the admin address {} is in use: choose another port, or 0 for a free one",
            first.local_addr()
        )
    );
}

#[tokio::test]
async fn a_check_of_the_users_decides_readiness_too_and_one_that_panics_fails() {
    let bench = bench();
    let states = Arc::new(Mutex::new(vec![Ok(()), Ok(())]));
    let (first, second) = (Arc::clone(&states), Arc::clone(&states));
    let admin = AdminServer::bind(loopback())
        .unwrap()
        .readiness("disk", move || first.lock().unwrap()[0].map_err(|why: &str| why.to_owned()))
        .readiness("luck", move || {
            let state = second.lock().unwrap()[1];
            state.map_err(|why: &str| panic!("{why}"))
        });
    let address = admin.local_addr();
    let mut manager = Manager::builder().admin(admin).build().unwrap();
    let maps = manager.cache(bench.api());
    let running = start(manager);
    maps.await_synced().await;
    let ready = "[+]v1/configmaps complete\n[+]disk ok\n[+]luck ok\n";
    assert_eq!(get(address, "/readyz").await, ("HTTP/1.1 200 OK".into(), ready.into()));
    *states.lock().unwrap() = vec![Err("is full\nof it"), Err("no")];
    let not_ready = "[+]v1/configmaps complete\n[-]disk is full of it\n[-]luck panicked\n";
    assert_eq!(
        get(address, "/readyz").await,
        ("HTTP/1.1 503 Service Unavailable".into(), not_ready.into())
    );
    running.stop().await;
}

#[tokio::test]
async fn a_manager_whose_caches_are_not_complete_is_not_ready() {
    let bench = bench();
    bench.server.faults().partition("controller");
    let admin = AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let mut manager = Manager::builder().admin(admin).build().unwrap();
    let _maps = manager.cache(bench.api());
    let running = start(manager);
    let (status, text) = get(address, "/readyz").await;
    assert_eq!(
        (status.as_str(), text.as_str()),
        ("HTTP/1.1 503 Service Unavailable", "[-]v1/configmaps not complete\n")
    );
    running.stop().await;
}

/// The manager cannot drop tracked work. It waits, and does not lead until the work ends.
#[cfg(feature = "election")]
#[tokio::test(start_paused = true)]
async fn a_process_whose_tracked_work_outlives_its_term_for_long_is_not_live() {
    use std::time::Duration;

    use lease_election::{Config, LeaderElector, MemoryLeaseStore, TokioClock};
    use reconciler::{BoxError, LeaderTask};
    use tokio::time::sleep;

    let store = MemoryLeaseStore::new();
    let config = Config::builder("default", "test").identity("one").fast().build().unwrap();
    let elector = LeaderElector::with_clock(store.client("one"), config, TokioClock::default(), 1);
    let admin = AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let mut manager = Manager::builder().admin(admin).election(elector.clone()).build().unwrap();
    let done = Arc::new(tokio::sync::Notify::new());
    let is_done = Arc::clone(&done);
    manager.leader_task("tracks", move |task: LeaderTask| {
        let is_done = Arc::clone(&is_done);
        task.tracker().spawn(async move { is_done.notified().await });
        async move {
            task.cancellation().cancelled().await;
            Ok::<(), BoxError>(())
        }
    });
    let running = start(manager);
    crate::bench::until("it leads", || elector.is_leader()).await;
    let mut record = store.lease().unwrap().record;
    record.holder = "other".into();
    store.overwrite(record);
    sleep(Duration::from_secs(60)).await;
    let (status, text) = get(address, "/livez").await;
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert!(text.starts_with("[-]election work of a term that is over goes on for"), "{text}");
    done.notify_one();
    crate::bench::until("it leads again", || elector.is_leader()).await;
    assert_eq!(get(address, "/livez").await.0, "HTTP/1.1 200 OK");
    done.notify_one();
    running.stop().await;
}
