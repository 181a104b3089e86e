//! `Controller::resync`: objects run again though nothing has changed.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use reconciler::{Action, Cache, Context, Controller, Failure, ObjectReconciler, Parked, Reason};
use tokio::time::sleep;
use wq_ratelimit::ExponentialBackoff;

use crate::bench::{Log, bench, key, manager, start, until};

const MINUTE: Duration = Duration::from_secs(60);

/// Logs each run: its object, whether it was a resync, and its attempt.
struct Maps {
    log: Log<(String, bool, u32)>,
    takes: Duration,
}

impl ObjectReconciler for Maps {
    type Object = ConfigMap;

    async fn reconcile(&self, map: &ConfigMap, cx: &Context<ConfigMap>) -> Result<Action, Failure> {
        let is_resync = cx.reasons().any(|reason| reason == Reason::Resynced);
        self.log.push((map.name_any(), is_resync, cx.attempt()));
        sleep(self.takes).await;
        match map.name_any().as_str() {
            "failing" => Err(Failure::retry("planted")),
            "parked" => Err(Failure::terminal("planted")),
            _ => Ok(Action::await_change()),
        }
    }
}

type Maker = Controller<reconciler::ObjectAdapter<Maps>>;

fn controller(maps: &Cache<ConfigMap>, takes: Duration) -> (Maker, Log<(String, bool, u32)>) {
    let log = Log::new();
    (Controller::new("maps", maps, Maps { log: log.clone(), takes }), log)
}

/// The runs of one object, by time and reason.
fn runs(log: &Log<(String, bool, u32)>, name: &str) -> Vec<(Duration, bool)> {
    let runs = log.times().into_iter().zip(log.all());
    runs.filter(|(_, run)| run.0 == name).map(|(at, run)| (at, run.1)).collect()
}

#[tokio::test(start_paused = true)]
async fn every_object_that_exists_runs_once_an_interval_until_the_manager_stops() {
    let (bench, mut manager) = (bench(), manager());
    bench.create("a").await;
    bench.create("gone").await;
    let maps = manager.cache(bench.api());
    let (controller, log) = controller(&maps, Duration::ZERO);
    manager.add(controller.resync(MINUTE));
    let running = start(manager);
    until("the first runs", || log.len() == 2).await;
    let began = log.times()[1];
    sleep(3 * MINUTE / 2).await;
    bench.delete("gone").await;
    bench.create("later").await;
    sleep(9 * MINUTE).await;
    for (name, first, last) in [("a", 1, 10), ("gone", 1, 1), ("later", 2, 10)] {
        let resyncs = runs(&log, name).into_iter().filter(|(_, is_resync)| *is_resync);
        let times: Vec<f64> =
            resyncs.map(|(at, _)| (at - began).div_duration_f64(MINUTE)).collect();
        let rounds: Vec<u32> = (first..=last).collect();
        assert_eq!(times.len(), rounds.len(), "{name}: {times:?}");
        for (at, round) in times.iter().zip(rounds) {
            let off = at - f64::from(round);
            assert!((-0.1..0.101).contains(&off), "{name}: {at} in round {round}");
        }
        assert!(times.len() < 2 || times.iter().any(|at| (at - at.round()).abs() > 0.01), "jitter");
    }
    assert_eq!(runs(&log, "gone").len(), 2);
    let all = log.len();
    running.stop().await;
    sleep(5 * MINUTE).await;
    assert_eq!(log.len(), all);
}

#[tokio::test(start_paused = true)]
async fn without_it_no_object_runs_again() {
    let (bench, mut manager) = (bench(), manager());
    bench.create("a").await;
    let maps = manager.cache(bench.api());
    let (controller, log) = controller(&maps, Duration::ZERO);
    manager.add(controller);
    let running = start(manager);
    sleep(Duration::from_secs(36_000)).await;
    running.stop().await;
    assert_eq!(log.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_passes_the_objects_of_a_resync() {
    let (bench, mut manager) = (bench(), manager());
    for number in 0..50 {
        bench.create(&format!("map-{number}")).await;
    }
    let maps = manager.cache(bench.api());
    // A round takes 50 s, and all of it waits 12 s after its begin.
    let (controller, log) = controller(&maps, Duration::from_secs(1));
    manager.add(controller.workers(1).resync(MINUTE));
    let running = start(manager);
    until("most of the resync waits", || log.len() == 70).await;
    let name = log.all()[60].0.clone();
    bench.touch(&name, "1").await;
    until("the change", || runs(&log, &name).len() == 3).await;
    assert!(log.len() <= 73, "{} runs before the change", log.len() - 70);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failing_object_keeps_its_back_off_and_a_parked_one_stays_parked() {
    let (bench, mut manager) = (bench(), manager());
    bench.create("failing").await;
    bench.create("parked").await;
    bench.create("well").await;
    let maps = manager.cache(bench.api());
    let (controller, log) = controller(&maps, Duration::ZERO);
    let view = controller.observe();
    let limiter = ExponentialBackoff::new(7 * MINUTE, 70 * MINUTE).unwrap();
    manager.add(controller.limiter(limiter).resync(MINUTE));
    let running = start(manager);
    sleep(50 * MINUTE).await;
    let times = runs(&log, "failing");
    let gaps: Vec<u64> = times.windows(2).map(|it| (it[1].0 - it[0].0).as_secs()).collect();
    assert_eq!(gaps, [7 * 60, 14 * 60, 28 * 60]);
    let all = log.all();
    let attempts = all.iter().filter(|run| run.0 == "failing").map(|run| run.2);
    assert_eq!(attempts.collect::<Vec<u32>>(), [0, 1, 2, 3]);
    assert_eq!(runs(&log, "parked").len(), 1);
    assert_eq!(view.parked(), [(key("parked"), Parked::Terminal)]);
    assert!((49..=51).contains(&runs(&log, "well").len()), "{}", runs(&log, "well").len());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_predicate_of_the_objects_is_asked_and_its_panic_costs_one_object_its_resync() {
    let (bench, mut manager) = (bench(), manager());
    for name in ["a", "other", "odd"] {
        bench.create(name).await;
    }
    let maps = manager.cache::<ConfigMap>(bench.api());
    let (controller, log) = controller(
        &maps.when(|change| {
            let name = change.object().unwrap().name_any();
            assert_ne!(name, "odd", "planted");
            name == "a"
        }),
        Duration::ZERO,
    );
    manager.add(controller.resync(MINUTE));
    let running = start(manager);
    sleep(5 * MINUTE + MINUTE / 2).await;
    assert_eq!((log.len(), runs(&log, "a").len()), (6, 6));
    assert_eq!(maps.status().panics, 1, "at the start");
    assert_eq!(running.stop().await.controllers[0].panics, 5);
}

#[tokio::test(start_paused = true)]
async fn an_interval_of_less_than_a_second_is_refused_and_one_without_end_is_none() {
    let bench = bench();
    for (every, expected) in [
        (Duration::ZERO, "Controller::resync of \"maps\" is 0ns: set it to 1s or more"),
        (Duration::from_millis(999), "is 999ms: set it to 1s or more, or leave it out"),
    ] {
        let mut manager = manager();
        let maps = manager.cache(bench.api());
        manager.add(controller(&maps, Duration::ZERO).0.resync(every));
        let error = manager.run(std::future::pending()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    bench.create("a").await;
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let (controller, log) = controller(&maps, Duration::ZERO);
    manager.add(controller.resync(Duration::MAX));
    let running = start(manager);
    sleep(1000 * MINUTE).await;
    running.stop().await;
    assert_eq!(log.len(), 1);
}
