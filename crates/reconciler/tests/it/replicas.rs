//! Two managers of one program: tasks of every replica, and an election under paused time.

use std::time::Duration;

use reconciler::{Action, BoxError, Controller, Manager, Request, reconcile_fn};
use tokio::time::sleep;

use crate::bench::{Log, bench, never, settle, start, until};

fn manager() -> Manager {
    Manager::builder().grace(Duration::from_secs(5)).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_of_every_replica_starts_after_the_caches_and_ends_after_the_workers() {
    let bench = bench();
    bench.server.faults().partition("controller");
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let log = Log::new();
    let (of_task, of_run) = (log.clone(), log.clone());
    manager.task("serve", move |stopping| {
        let (log, maps) = (of_task.clone(), maps.clone());
        async move {
            log.push(if maps.status().failures == 0 { "too early" } else { "task begins" });
            stopping.cancelled().await;
            log.push("task is told");
            sleep(Duration::from_secs(1)).await;
            log.push("task ends");
            Ok::<(), BoxError>(())
        }
    });
    let controller = Controller::keyed(
        "test",
        reconcile_fn(move |request: Request<u32>| {
            let log = of_run.clone();
            async move {
                request.cancelled().await;
                sleep(Duration::from_secs(1)).await;
                log.push("run ends");
                Ok(Action::await_change())
            }
        }),
    );
    controller.handle().add(1);
    manager.add(controller);
    let running = start(manager);
    until("the task", || log.len() == 1).await;
    settle().await;
    let report = running.stop().await;
    assert_eq!(log.all(), ["task begins", "run ends", "task is told", "task ends"]);
    assert!(report.is_clean());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_runs_again_and_one_that_does_not_heed_the_stop_is_dropped() {
    let log = Log::new();
    let seen = log.clone();
    let mut manager = manager();
    manager.task("serve", move |_| {
        seen.push(());
        let runs = seen.len();
        async move {
            match runs {
                1 => Err("planted".into()),
                2 => panic!("planted"),
                _ => never::<Result<(), BoxError>>().await,
            }
        }
    });
    let running = start(manager);
    until("the third try", || log.len() == 3).await;
    assert_eq!(log.gaps(), [1000, 2000]);
    let at = tokio::time::Instant::now();
    running.stop().await;
    assert_eq!(at.elapsed().as_secs(), 5, "the grace");
}

#[cfg(feature = "election")]
mod elected {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use lease_election::{Config, Fault, LeaderElector, MemoryLeaseStore};
    use reconciler::LeaderTask;

    use super::*;

    fn elector(store: &MemoryLeaseStore, name: &str) -> LeaderElector {
        let config = Config::builder("default", "test").identity(name).build().unwrap();
        LeaderElector::new(store.client(name), config)
    }

    /// No clock is given: the elector must not count on the machine's, which nearly stands still.
    #[tokio::test(start_paused = true)]
    async fn a_standby_takes_over_under_paused_time() {
        let cut = Arc::new(AtomicBool::new(false));
        let is_cut = Arc::clone(&cut);
        let store = MemoryLeaseStore::new().with_faults(move |client, _| match client {
            "one" if is_cut.load(Ordering::SeqCst) => Fault::Lost,
            _ => Fault::None,
        });
        let log = Log::new();
        let replica = |name: &'static str| {
            let elector = elector(&store, name);
            let mut manager = Manager::builder().election(elector).build().unwrap();
            let log = log.clone();
            manager.leader_task("lead", move |task: LeaderTask| {
                log.push(name);
                async move {
                    task.cancellation().cancelled().await;
                    Ok::<(), BoxError>(())
                }
            });
            start(manager)
        };
        let first = replica("one");
        until("one leads", || log.len() == 1).await;
        let second = replica("two");
        settle().await;
        cut.store(true, Ordering::SeqCst);
        let at = tokio::time::Instant::now();
        until("two leads", || log.len() == 2).await;
        assert_eq!(log.all(), ["one", "two"]);
        assert!(at.elapsed() < Duration::from_secs(20), "{:?}", at.elapsed());
        second.stop().await;
        first.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_standby_runs_the_tasks_of_every_replica_and_no_task_of_the_leader() {
        let store = MemoryLeaseStore::new();
        let log = Log::new();
        let replica = |name: &'static str| {
            let elector = elector(&store, name);
            let mut manager = Manager::builder().election(elector).build().unwrap();
            let (each, leads) = (log.clone(), log.clone());
            manager.task("each", move |_| {
                each.push((name, "each"));
                never::<Result<(), BoxError>>()
            });
            manager.leader_task("leader", move |_| {
                leads.push((name, "leader"));
                never::<Result<(), BoxError>>()
            });
            start(manager)
        };
        let first = replica("one");
        until("one leads", || log.len() == 2).await;
        let second = replica("two");
        sleep(Duration::from_secs(60)).await;
        let mut all = log.all();
        all.sort_unstable();
        assert_eq!(all, [("one", "each"), ("one", "leader"), ("two", "each")]);
        second.stop().await;
        first.stop().await;
    }
}
