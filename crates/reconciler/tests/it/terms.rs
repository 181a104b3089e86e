//! Election: only the leader works, a lost lease stops its work, and the next term follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lease_election::{Config, FenceToken, LeaderElector, MemoryLeaseStore, TokioClock};
use reconciler::{
    Action, Controller, Failure, Manager, ManagerError, ObjectKey, Release, Request, reconcile_fn,
};
use tokio::time::{Instant, sleep};

use crate::bench::{Bench, Log, Running, bench, never, settle, start, until};

const MS: Duration = Duration::from_millis(1);

fn elector(store: &MemoryLeaseStore, identity: &str, seed: u64) -> LeaderElector {
    let config = Config::builder("default", "test").identity(identity).fast().build().unwrap();
    LeaderElector::with_clock(store.client(identity), config, TokioClock::default(), seed)
}

type Runs = Log<(&'static str, String, FenceToken)>;

/// A replica whose runs take this long and record the replica, the key and the fence.
fn replica(
    bench: &Bench,
    store: &MemoryLeaseStore,
    name: &'static str,
    seed: u64,
    runs: &Runs,
    takes: Duration,
) -> Running {
    let mut manager =
        Manager::builder().grace(3000 * MS).election(elector(store, name, seed)).build().unwrap();
    let maps = manager.cache(bench.api());
    let seen = runs.clone();
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |request: Request<ObjectKey>| {
                let seen = seen.clone();
                async move {
                    assert!(request.leadership().unwrap().is_valid());
                    seen.push((name, request.key().name().to_owned(), request.fence().unwrap()));
                    sleep(takes).await;
                    Ok(Action::await_change())
                }
            }),
        )
        .source(maps.objects()),
    );
    start(manager)
}

fn by(runs: &Runs, name: &str) -> usize {
    runs.all().iter().filter(|(who, _, _)| *who == name).count()
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_works_and_a_stop_hands_over_at_once() {
    let (bench, store, runs) = (bench(), MemoryLeaseStore::new(), Log::new());
    bench.create("a").await;
    let first = replica(&bench, &store, "one", 1, &runs, Duration::ZERO);
    until("the first run", || by(&runs, "one") == 1).await;
    let second = replica(&bench, &store, "two", 2, &runs, Duration::ZERO);
    sleep(Duration::from_secs(30)).await;
    bench.create("b").await;
    until("the leader's run", || by(&runs, "one") == 2).await;
    assert_eq!(by(&runs, "two"), 0);
    let at = Instant::now();
    let report = first.stop().await;
    assert_eq!((report.terms, report.release), (1, Some(Release::GivenBack)));
    until("the runs of the next leader", || by(&runs, "two") == 2).await;
    assert!(at.elapsed() < 500 * MS, "{:?}", at.elapsed());
    let fences: Vec<FenceToken> = runs.all().into_iter().map(|(_, _, fence)| fence).collect();
    assert_eq!(fences[0], fences[1]);
    assert!(fences[1] < fences[2], "the next leader's fence is greater");
    let report = second.stop().await;
    assert_eq!((report.terms, report.lost_terms), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_given_back_only_after_the_last_run() {
    let (bench, runs) = (bench(), Log::new());
    bench.create("a").await;
    let order: Log<&'static str> = Log::new();
    let written = order.clone();
    let store = MemoryLeaseStore::new().on_write(move |_, lease| {
        if lease.is_some_and(|lease| lease.record.holder.is_empty()) {
            written.push("released");
        }
    });
    let mut manager =
        Manager::builder().grace(3000 * MS).election(elector(&store, "one", 1)).build().unwrap();
    let maps = manager.cache(bench.api());
    let (seen, ended) = (runs.clone(), order.clone());
    manager.add(
        Controller::keyed(
            "maps",
            reconcile_fn(move |request: Request<ObjectKey>| {
                let (seen, ended) = (seen.clone(), ended.clone());
                async move {
                    seen.push(());
                    let left_behind = ended.clone();
                    request.tracker().spawn(async move {
                        sleep(2500 * MS).await;
                        left_behind.push("tracked work ended");
                    });
                    sleep(2000 * MS).await;
                    ended.push("run ended");
                    Ok(Action::await_change())
                }
            }),
        )
        .source(maps.objects()),
    );
    let running = start(manager);
    until("the run", || runs.len() == 1).await;
    let report = running.stop().await;
    assert_eq!(order.all(), ["run ended", "tracked work ended", "released"]);
    assert!(report.is_clean());
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_stops_the_runs_and_the_manager_campaigns_again() {
    let (bench, store) = (bench(), MemoryLeaseStore::new());
    bench.create("a").await;
    let log = Log::new();
    let mut manager =
        Manager::builder().grace(3000 * MS).election(elector(&store, "one", 1)).build().unwrap();
    let maps = manager.cache(bench.api());
    let seen = log.clone();
    let active = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&active);
    let controller = Controller::keyed(
        "maps",
        reconcile_fn(move |request: Request<ObjectKey>| {
            struct Ended(Log<String>, Arc<AtomicUsize>);
            impl Drop for Ended {
                fn drop(&mut self) {
                    self.1.fetch_sub(1, Ordering::SeqCst);
                    self.0.push("dropped".into());
                }
            }
            let (seen, count) = (seen.clone(), Arc::clone(&count));
            async move {
                seen.push(format!(
                    "{} at {}",
                    request.key().name(),
                    request.fence().unwrap().transitions
                ));
                assert_eq!(
                    count.fetch_add(1, Ordering::SeqCst),
                    0,
                    "two terms' runs of one key at a time"
                );
                let _ended = Ended(seen.clone(), count);
                request.cancelled().await;
                seen.push("told".into());
                never::<()>().await;
                Ok(Action::await_change())
            }
        }),
    );
    let handle = controller.handle();
    manager.add(controller.source(maps.objects()));
    let running = start(manager);
    until("the run", || log.len() == 1).await;
    // Another process takes the lease by force, and leaves it after a while.
    let mut thief = store.lease().unwrap().record;
    thief.holder = "thief".into();
    store.overwrite(thief);
    let at = Instant::now();
    until("the run is dropped", || log.len() == 3).await;
    assert!(at.elapsed() < 1000 * MS, "{:?}", at.elapsed());
    assert_eq!(log.all()[1..], ["told", "dropped"]);
    handle.add(ObjectKey::cluster("named while standing by"));
    sleep(Duration::from_secs(3)).await;
    assert_eq!(active.load(Ordering::SeqCst), 0, "a standby does not work");
    until("the next term's runs", || log.len() >= 5).await;
    let mut next = log.all()[3..].to_vec();
    next.sort();
    assert!(
        next[0].starts_with("a at ") && next[1].starts_with("named while standing by at "),
        "{next:?}"
    );
    assert!(!running.ended.is_finished(), "no exit");
    let report = running.stop().await;
    assert_eq!((report.terms, report.lost_terms), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn keys_that_a_lost_term_left_undone_run_in_the_next_as_if_new() {
    let store = MemoryLeaseStore::new();
    let log = Log::new();
    let mut manager =
        Manager::builder().grace(3000 * MS).election(elector(&store, "one", 1)).build().unwrap();
    let seen = log.clone();
    let controller = Controller::keyed(
        "test",
        reconcile_fn(move |request: Request<&'static str>| {
            let seen = seen.clone();
            async move {
                let transitions = request.fence().unwrap().transitions;
                let reasons: Vec<String> =
                    request.reasons().map(|reason| reason.to_string()).collect();
                seen.push((*request.key(), transitions, request.attempt(), reasons.join(", ")));
                match *request.key() {
                    "backs off" => Err(Failure::retry_after("later", Duration::from_secs(3600))),
                    "runs" if transitions == 0 => never().await,
                    _ => Ok(Action::await_change()),
                }
            }
        }),
    )
    .workers(1);
    let handle = controller.handle();
    manager.add(controller);
    let running = start(manager);
    ["backs off", "runs", "is queued"].into_iter().for_each(|key| handle.add(key));
    until("two runs", || log.len() == 2).await;
    let mut thief = store.lease().unwrap().record;
    thief.holder = "thief".into();
    store.overwrite(thief);
    until("the runs of the next term", || log.len() == 5).await;
    running.stop().await;
    let mut next = log.all()[2..].to_vec();
    next.sort();
    let keys: Vec<&str> = next.iter().map(|(key, _, _, _)| *key).collect();
    assert_eq!(keys, ["backs off", "is queued", "runs"]);
    for (key, transitions, attempt, reasons) in next {
        assert!(
            transitions > 0 && attempt == 0 && reasons == "carried over",
            "{key}: {attempt}, {reasons}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_partitioned_leader_has_stopped_before_another_works() {
    let (bench, store, runs) = (bench(), MemoryLeaseStore::new(), Log::new());
    bench.create("a").await;
    // Runs that never end by themselves: they count as active until they are dropped.
    let cut = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_cut = Arc::clone(&cut);
    let behind_a_cut = store.with_faults(move |_, _| {
        if is_cut.load(Ordering::SeqCst) {
            lease_election::Fault::Lost
        } else {
            lease_election::Fault::None
        }
    });
    let first = replica(&bench, &behind_a_cut, "one", 1, &runs, Duration::from_secs(3600));
    until("the leader's run", || by(&runs, "one") == 1).await;
    let second = replica(&bench, &store, "two", 2, &runs, Duration::from_secs(3600));
    settle().await;
    cut.store(true, Ordering::SeqCst);
    until("the next leader's run", || by(&runs, "two") == 1).await;
    cut.store(false, Ordering::SeqCst);
    let report = first.stop().await;
    assert_eq!((report.terms, report.lost_terms), (1, 1));
    assert_eq!(report.controllers[0].abandoned, ["default/a"]);
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_is_stopped_never_led() {
    let (bench, store, runs) = (bench(), MemoryLeaseStore::new(), Log::new());
    let first = replica(&bench, &store, "one", 1, &runs, Duration::ZERO);
    settle().await;
    let second = replica(&bench, &store, "two", 2, &runs, Duration::ZERO);
    settle().await;
    let report = second.stop().await;
    assert_eq!((report.terms, report.release), (0, Some(Release::NotLeading)));
    first.stop().await;
}

#[test]
fn a_grace_that_does_not_fit_the_election_is_refused() {
    let error = Manager::builder()
        .grace(Duration::from_secs(30))
        .election(elector(&MemoryLeaseStore::new(), "one", 1))
        .build()
        .unwrap_err();
    assert!(matches!(error, ManagerError::GraceTooLong { .. }));
    assert_eq!(
        error.to_string(),
        "the drain grace of 30s must be shorter than the election's drain time-out of 30s: lower the first or \
         raise the second"
    );
}
