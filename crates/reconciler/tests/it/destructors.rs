//! User values whose destructors panic: the stop keeps its order, and the report is returned.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lease_election::{Config, LeaderElector, MemoryLeaseStore, TokioClock};
use reconciler::{
    Action, BoxError, Controller, Failure, LeaderTask, Manager, ObjectKey, Reconciler, Release,
    Request,
};
use tokio::time::sleep;

use crate::bench::{start, until};

#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::resume_unwind(Box::new("a destructor"));
        }
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an error")
    }
}

impl std::error::Error for Bomb {}

fn elected(store: &MemoryLeaseStore) -> Manager {
    let config = Config::builder("default", "test").identity("one").fast().build().unwrap();
    let elector = LeaderElector::with_clock(store.client("one"), config, TokioClock::default(), 1);
    Manager::builder().grace(Duration::from_secs(1)).election(elector).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_dropped_after_the_grace_and_panics_then_costs_neither_the_release_nor_the_report()
 {
    let store = MemoryLeaseStore::new();
    let mut manager = elected(&store);
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&begun);
    manager.leader_task("stuck", move |_: LeaderTask| {
        counted.fetch_add(1, Ordering::SeqCst);
        let bomb = Bomb;
        async move {
            std::future::pending::<()>().await;
            drop(bomb);
            Ok::<(), BoxError>(())
        }
    });
    let running = start(manager);
    until("it works", || begun.load(Ordering::SeqCst) == 1).await;
    let report = running.stop().await;
    assert_eq!((report.terms, report.release), (1, Some(Release::GivenBack)));
    assert_eq!(store.lease().unwrap().record.holder, "");
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_error_panics_when_it_is_dropped_runs_again() {
    let store = MemoryLeaseStore::new();
    let mut manager = elected(&store);
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&begun);
    manager.leader_task("fails", move |_: LeaderTask| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Err::<(), BoxError>(Box::new(Bomb)) }
    });
    let running = start(manager);
    sleep(Duration::from_secs(10)).await;
    assert!(begun.load(Ordering::SeqCst) >= 3, "after 1 s, 2 s and 4 s");
    let report = running.stop().await;
    assert_eq!((report.terms, report.release), (1, Some(Release::GivenBack)));
}

struct Explosive(Bomb);

impl Reconciler for Explosive {
    type Key = ObjectKey;

    async fn reconcile(&self, _: Request<ObjectKey>) -> Result<Action, Failure> {
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_that_panics_when_the_manager_lets_go_of_it_does_not_cost_the_report() {
    let store = MemoryLeaseStore::new();
    let mut manager = elected(&store);
    let controller = Controller::keyed("explosive", Explosive(Bomb));
    let _handle = controller.handle();
    manager.add(controller);
    let running = start(manager);
    until("it leads", || store.lease().is_some()).await;
    sleep(Duration::from_secs(1)).await;
    let report = running.stop().await;
    assert_eq!((report.terms, report.release), (1, Some(Release::GivenBack)));
}
