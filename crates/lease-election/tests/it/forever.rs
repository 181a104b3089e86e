//! Forever: the closure of `run_forever` is part of the work, which is joined.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::cluster::{Cluster, fast, sleep_ms};

#[tokio::test(start_paused = true)]
async fn the_closure_runs_in_the_task_that_is_joined() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let (running, stop) = (elector.clone(), elector.stop_handle());
    let tasks: Arc<Mutex<Vec<_>>> = Arc::default();
    let seen = Arc::clone(&tasks);
    let mut terms = 0;
    let run = tokio::spawn(async move {
        let own = tokio::task::id();
        running
            .run_forever(move |_| {
                terms += 1;
                if terms == 3 {
                    stop.stop();
                }
                let (making, seen) = (tokio::task::id(), Arc::clone(&seen));
                assert_ne!(making, own, "the caller's task is joined by nobody");
                async move { seen.lock().unwrap().push((making, tokio::task::id())) }
            })
            .await;
    });
    run.await.unwrap();
    let tasks = tasks.lock().unwrap();
    assert_eq!(tasks.len(), 3, "the closure came home after each term, with what it had counted");
    for (making, working) in tasks.iter() {
        assert_eq!(making, working);
    }
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_is_work_that_panics() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let running = elector.clone();
    let run = tokio::spawn(async move {
        let panics = |_| -> std::future::Ready<()> { std::panic::resume_unwind(Box::new("oh")) };
        running.run_forever(panics).await;
    });
    assert_eq!(*run.await.unwrap_err().into_panic().downcast::<&str>().unwrap(), "oh");
    assert_eq!(
        cluster.holder(),
        "",
        "it was joined, and the lease given back, before the panic went on"
    );
    assert_eq!(elector.stats().releases, 1);
    assert!(!elector.is_leader());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_not_polled_works_on() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let (running, stop) = (elector.clone(), elector.stop_handle());
    let steps = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&steps);
    let mut run = Box::pin(async move {
        running
            .run_forever(move |leadership| {
                let counted = Arc::clone(&counted);
                async move {
                    while leadership.is_valid() && counted.fetch_add(1, Ordering::SeqCst) < 100 {
                        sleep_ms(10).await;
                    }
                    leadership.ending().await;
                }
            })
            .await;
    });
    assert!(futures::future::poll_immediate(&mut run).await.is_none());
    sleep_ms(5000).await;
    assert_eq!(steps.load(Ordering::SeqCst), 101);
    stop.stop();
    tokio::time::timeout(Duration::from_secs(1), run).await.unwrap();
}
