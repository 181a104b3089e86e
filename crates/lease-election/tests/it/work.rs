//! Work: how the work of a term is told, joined and dropped, and the lease afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use lease_election::{
    Clock, Config, ConfigBuilder, Ending, Fault, LeaderElector, Leadership, LeaseEvents,
    LeaseStore, Loss, MemoryLeaseStore, Moment, Outcome, Record, Sleep, StoreError, StoredLease,
    TokioClock, Verb, VerifyError, Version,
};
use tokio::time::Instant;

use crate::cluster::{Cluster, Replica, fast, sleep_ms};

const MS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn work_that_ends_by_itself_gives_the_lease_back() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let outcome = elector.run(async |leadership| leadership.is_valid()).await;
    assert_eq!(outcome, Outcome::Finished(true));
    assert_eq!(cluster.holder(), "");
    let record = cluster.store.lease().unwrap().record;
    assert_eq!((record.lease_duration_seconds, record.leader_transitions), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_elector_never_leads() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    elector.stop_handle().stop();
    assert_eq!(elector.run(async |_| ()).await, Outcome::NeverLed);
    assert!(cluster.store.lease().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_while_the_work_winds_up() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), 20_000 * MS);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(1500).await;
    a.elector.stop_handle().stop();
    sleep_ms(19_000).await;
    assert!(a.last().leadership.is_valid(), "four leases later");
    assert!(a.last().leadership.is_stopping());
    assert!(b.terms.lock().unwrap().is_empty());
    let began = b.leads().await;
    assert!(began >= a.last().ended.unwrap());
    assert!(began - a.last().ended.unwrap() < 5 * MS);
}

#[tokio::test(start_paused = true)]
async fn work_that_outlives_the_drain_time_out_is_dropped_and_the_lease_runs_out() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a").drain_timeout(2000 * MS)), 60_000 * MS);
    a.leads().await;
    let b = Replica::start(cluster.elector(fast("b")), Duration::ZERO);
    sleep_ms(1500).await;
    a.elector.stop_handle().stop();
    let asked = Instant::now();
    let leadership = a.last().leadership;
    assert_eq!(a.run.await.unwrap(), Outcome::Aborted);
    assert_eq!(asked.elapsed().as_millis() / 10, 200);
    assert_eq!(leadership.loss(), Some(Loss::Overran));
    assert_eq!(cluster.holder(), "a", "not given back");
    assert_eq!(a.elector.stats().releases, 0);
    assert_eq!(a.elector.stats().losses.overran, 1);
    let took = b.leads().await - asked;
    assert!(took > 6000 * MS, "took {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_work_gives_the_lease_back_and_goes_on() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let running = elector.clone();
    let run = tokio::spawn(async move {
        let _: Outcome<()> = running.run(|_| async { panic!("oh") }).await;
    });
    assert!(run.await.unwrap_err().is_panic());
    assert_eq!(cluster.holder(), "");
    // The elector can be used again.
    assert_eq!(elector.run(async |_| 7).await, Outcome::Finished(7));
}

#[tokio::test(start_paused = true)]
async fn dropping_run_stops_in_the_background_in_the_usual_order() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let told = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&told);
    let run = elector.run(move |leadership| async move {
        if leadership.ending().await == Ending::StopRequested {
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
    assert!(tokio::time::timeout(1000 * MS, run).await.is_err());
    assert_eq!(cluster.holder(), "a");
    sleep_ms(10).await;
    assert_eq!(told.load(Ordering::SeqCst), 1);
    assert_eq!(cluster.holder(), "");
    assert!(!elector.is_stopped(), "it may be run again");
    assert_eq!(elector.run(async |_| 7).await, Outcome::Finished(7));
}

#[tokio::test(start_paused = true)]
async fn run_forever_campaigns_again_and_never_has_two_terms() {
    let cluster = Cluster::new();
    let a = cluster.elector(fast("a"));
    let alive = Arc::new(AtomicU32::new(0));
    let terms = Arc::new(AtomicU32::new(0));
    let (count, live) = (Arc::clone(&terms), Arc::clone(&alive));
    let running = a.clone();
    let run = tokio::spawn(async move {
        running
            .run_forever(move |leadership| {
                let (count, live) = (Arc::clone(&count), Arc::clone(&live));
                async move {
                    assert_eq!(live.fetch_add(1, Ordering::SeqCst), 0);
                    count.fetch_add(1, Ordering::SeqCst);
                    leadership.ending().await;
                    live.fetch_sub(1, Ordering::SeqCst);
                }
            })
            .await;
    });
    for _ in 0..3 {
        sleep_ms(3000).await;
        cluster.cut("a");
        sleep_ms(8000).await;
        assert_eq!(alive.load(Ordering::SeqCst), 0);
        cluster.heal("a");
        sleep_ms(3000).await;
    }
    assert_eq!(terms.load(Ordering::SeqCst), 4);
    assert_eq!(a.stats().losses.expired, 3);
    a.stop_handle().stop();
    run.await.unwrap();
    assert_eq!(cluster.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn guarded_work_is_dropped_when_the_term_ends_but_not_when_a_stop_is_asked_for() {
    let cluster = Cluster::new();
    let a = Replica::start(cluster.elector(fast("a")), 3000 * MS);
    a.leads().await;
    let leadership = a.last().leadership;
    let short = leadership.clone();
    let long = tokio::spawn(async move { leadership.guard(std::future::pending::<()>()).await });
    a.elector.stop_handle().stop();
    assert_eq!(short.guard(async { tokio::time::sleep(500 * MS).await }).await, Ok(()));
    a.run.await.unwrap();
    assert_eq!(long.await.unwrap().unwrap_err().0, Loss::Finished);
    assert!(short.guard(async {}).await.is_err(), "over before it began");
    assert_eq!(short.remaining(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn verify_remote_asks_the_server_and_ends_a_lost_term() {
    let cluster = Cluster::new();
    // Its own watch is silent, so only the question can tell.
    cluster.set("a", &[Verb::Watch], crate::cluster::forbidden());
    let a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
    a.leads().await;
    let leadership = a.last().leadership;
    leadership.verify_remote().await.unwrap();
    sleep_ms(1500).await;
    leadership.verify_remote().await.unwrap();

    cluster.set("a", &[Verb::Get], Fault::Lost);
    let asked = Instant::now();
    assert!(matches!(leadership.verify_remote().await, Err(VerifyError::Unanswered(_))));
    assert_eq!(asked.elapsed().as_millis() / 10, 90);
    assert!(leadership.is_valid());

    cluster.heal("a");
    let mut record = cluster.store.lease().unwrap().record;
    record.holder = "b".into();
    cluster.store.overwrite(record);
    let lost = leadership.verify_remote().await.unwrap_err();
    assert!(
        matches!(lost, VerifyError::Lost(ref lost) if lost.0 == Loss::TakenOver { by: "b".into() }),
        "{lost}"
    );
    assert!(!leadership.is_valid());
    assert!(matches!(a.run.await.unwrap(), Outcome::Lost(Ending::Lost(Loss::TakenOver { .. }))));
}

/// A store with a bug: once armed, its next update panics.
#[derive(Clone, Default)]
struct Faulty {
    store: MemoryLeaseStore,
    armed: Arc<AtomicBool>,
}

#[async_trait]
impl LeaseStore for Faulty {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.store.get().await
    }
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.store.create(record).await
    }
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        assert!(!self.armed.swap(false, Ordering::SeqCst), "a bug of the store");
        self.store.update(version, record).await
    }
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.store.watch(from).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_leaves_no_work_behind_that_a_second_run_would_meet() {
    let faulty = Faulty::default();
    let elector =
        LeaderElector::with_clock(faulty.clone(), fast("a").build().unwrap(), TokioClock::new(), 1);
    let terms: Arc<Mutex<Vec<Leadership>>> = Arc::default();
    let working = Arc::new(());
    let lead = || {
        let (elector, terms, working) = (elector.clone(), Arc::clone(&terms), Arc::clone(&working));
        tokio::spawn(async move {
            elector
                .run(move |leadership| async move {
                    terms.lock().unwrap_or_else(PoisonError::into_inner).push(leadership);
                    std::future::pending::<()>().await;
                    drop(working);
                })
                .await
        })
    };
    let first = lead();
    sleep_ms(100).await;
    faulty.armed.store(true, Ordering::SeqCst);
    assert!(first.await.unwrap_err().is_panic());
    assert_eq!(Arc::strong_count(&working), 1, "its work is gone");
    let second = lead();
    sleep_ms(1100).await;
    {
        let terms = terms.lock().unwrap();
        assert_eq!(terms.iter().map(Leadership::is_valid).collect::<Vec<_>>(), [false, true]);
        assert_eq!(terms[0].loss(), Some(Loss::Broken));
        assert!(terms[0].fence() < terms[1].fence());
    }
    assert_eq!(elector.stats().losses.broken, 1);
    elector.stop_handle().stop();
    second.abort();
}

/// A clock with a bug: once broken, it panics at each call.
#[derive(Clone, Debug)]
struct BrokenClock {
    clock: TokioClock,
    broken: Arc<AtomicBool>,
}

impl Clock for BrokenClock {
    fn now(&self) -> Moment {
        assert!(!self.broken.load(Ordering::SeqCst), "a bug of the clock");
        self.clock.now()
    }
    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }
    fn sleep_until(&self, deadline: Moment) -> Sleep {
        let (clock, slept) = (self.clone(), self.clock.sleep_until(deadline));
        Box::pin(async move {
            slept.await;
            clock.now();
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_panics_again_and_again_leaves_no_work_behind() {
    // The clock breaks while the lease is renewed, or as the term is lost and the work has its
    // margin.
    for lose_first in [false, true] {
        let cluster = Cluster::new();
        let clock = BrokenClock { clock: TokioClock::new(), broken: Arc::default() };
        let broken = Arc::clone(&clock.broken);
        let client = cluster.store.client("a");
        let elector = LeaderElector::with_clock(client, fast("a").build().unwrap(), clock, 1);
        let working = Arc::new(());
        let lead = || {
            let (elector, working, broken) =
                (elector.clone(), Arc::clone(&working), Arc::clone(&broken));
            tokio::spawn(async move {
                elector
                    .run(move |leadership| async move {
                        if lose_first {
                            leadership.lost().await;
                            broken.store(true, Ordering::SeqCst);
                        }
                        std::future::pending::<()>().await;
                        drop(working);
                    })
                    .await
            })
        };
        let first = lead();
        sleep_ms(100).await;
        assert_eq!(Arc::strong_count(&working), 2);
        if lose_first {
            cluster.store.delete();
        } else {
            broken.store(true, Ordering::SeqCst);
        }
        assert!(first.await.unwrap_err().is_panic());
        assert_eq!(Arc::strong_count(&working), 1, "its work is gone");
        broken.store(false, Ordering::SeqCst);
        assert!(!elector.is_leader());
        elector.liveness().check().unwrap();
        let second = lead();
        sleep_ms(7000).await;
        assert!(elector.is_leader(), "it can be used again");
        second.abort();
    }
}

/// The work is in a step that only ends by itself, so that no runtime can drop it.
#[test]
fn work_that_outlives_its_runtime_ends_before_the_next_begins() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let (begun, begins) = std::sync::mpsc::channel();
    let (finish, finished) = std::sync::mpsc::channel::<()>();
    let working = Arc::new(AtomicBool::new(false));
    let first = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let (running, at_work) = (elector.clone(), Arc::clone(&working));
    first.spawn(async move {
        running
            .run(move |leadership| async move {
                at_work.store(true, Ordering::SeqCst);
                begun.send(leadership).unwrap();
                let _ = finished.recv();
                at_work.store(false, Ordering::SeqCst);
            })
            .await
    });
    let leadership = begins.recv().unwrap();
    first.shutdown_background();
    while leadership.loss() != Some(Loss::Broken) {
        std::thread::yield_now();
    }
    let second =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    second.unwrap().block_on(async {
        let (still, seen) = (Arc::clone(&working), Arc::clone(&working));
        let run = elector.run(move |_| async move { seen.load(Ordering::SeqCst) });
        let mut run = std::pin::pin!(run);
        let early = tokio::time::timeout(60_000 * MS, &mut run).await;
        assert!(early.is_err(), "it led while the first work went on");
        assert!(still.load(Ordering::SeqCst));
        // A run that is given up meanwhile blocks no other.
        let abandoned = tokio::time::timeout(1000 * MS, elector.run(|_| async {})).await;
        assert!(abandoned.is_err());
        drop(finish);
        assert_eq!(run.await, Outcome::Finished(false));
    });
    let stats = elector.stats();
    assert_eq!(
        (stats.terms, stats.losses.broken),
        (2, 1),
        "the term that was broken off is counted"
    );
}

#[test]
fn a_run_that_waits_for_work_that_outlived_its_runtime_can_be_stopped() {
    let cluster = Cluster::new();
    let elector = cluster.elector(fast("a"));
    let (begun, begins) = std::sync::mpsc::channel();
    let (finish, finished) = std::sync::mpsc::channel::<()>();
    let first = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let running = elector.clone();
    first.spawn(async move {
        running
            .run(move |leadership| async move {
                begun.send(leadership).unwrap();
                let _ = finished.recv();
            })
            .await
    });
    let leadership = begins.recv().unwrap();
    first.shutdown_background();
    while leadership.loss() != Some(Loss::Broken) {
        std::thread::yield_now();
    }
    let second =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    second.unwrap().block_on(async {
        let stop = elector.stop_handle();
        let run = elector.run(|_| async {});
        let stopped = async {
            tokio::time::sleep(1000 * MS).await;
            stop.stop();
        };
        let both = tokio::time::timeout(60_000 * MS, futures::future::join(run, stopped)).await;
        assert_eq!(both.expect("it is stopped").0, Outcome::NeverLed);
    });
    drop(finish);
}

#[tokio::test(start_paused = true)]
async fn a_release_waits_out_what_the_server_asks_for_only_if_there_is_time() {
    let busy = |seconds| {
        Fault::Refused(StoreError::TooManyRequests {
            retry_after: Some(Duration::from_secs(seconds)),
        })
    };
    // The server asks before the stop (at the last renewal) or at the release itself. Two requests
    // may take 1.8 s.
    for (seconds, before, released) in [(1, false, true), (30, false, false), (3, true, false)] {
        let cluster = Cluster::new();
        let mut a = Replica::start(cluster.elector(fast("a")), Duration::ZERO);
        a.leads().await;
        cluster.set("a", &[Verb::Update], busy(seconds));
        sleep_ms(if before { 1001 } else { 500 }).await;
        let asked = Instant::now();
        a.elector.stop_handle().stop();
        sleep_ms(20).await;
        cluster.heal("a");
        (&mut a.run).await.unwrap();
        let took = asked.elapsed();
        assert_eq!(a.elector.stats().releases, u64::from(released), "{seconds} s, {before}");
        assert_eq!(a.elector.stats().failed_releases, u64::from(!released));
        assert_eq!(cluster.holder().is_empty(), released);
        let most = Duration::from_millis(if released { 1010 } else { 21 });
        assert!(took <= most, "{seconds} s: took {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn terms_that_are_taken_away_at_once_again_and_again_do_not_spin() {
    let cluster = Cluster::new();
    // A reconciler that keeps holderIdentity empty.
    let written = Arc::new(tokio::sync::Notify::new());
    let seen = Arc::clone(&written);
    let store = cluster.store.on_write(move |_, _| seen.notify_one());
    let reconciler = tokio::spawn(async move {
        loop {
            written.notified().await;
            sleep_ms(20).await;
            if let Some(lease) =
                cluster.store.lease().filter(|lease| !lease.record.holder.is_empty())
            {
                cluster.store.overwrite(Record { holder: String::new(), ..lease.record });
            }
        }
    });
    let config = fast("a").build().unwrap();
    let elector = LeaderElector::with_clock(store, config, TokioClock::new(), 1);
    let starts: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let (log, running) = (Arc::clone(&starts), elector.clone());
    let run = tokio::spawn(async move {
        running
            .run_forever(move |leadership| {
                log.lock().unwrap().push(Instant::now());
                async move { drop(leadership.ending().await) }
            })
            .await;
    });
    sleep_ms(60_000).await;
    let count = starts.lock().unwrap().len();
    // At 0, 1, 3, 7, 12, 17 s and so on: the pause doubles up to the lease of 5 s.
    assert!((11..=15).contains(&count), "{count} terms in a minute");
    // Left alone, it leads on, and a lasting term resets the count.
    reconciler.abort();
    sleep_ms(10_000).await;
    assert!(elector.is_leader());
    let asked = Instant::now();
    elector.stop_handle().stop();
    run.await.unwrap();
    assert!(asked.elapsed() < 5 * MS);
}

/// Its work was wound up, so no request of it can land, and the lease is its own.
#[tokio::test(start_paused = true)]
async fn one_that_gives_nothing_back_leads_again_at_once_after_work_that_returned() {
    let cluster = Cluster::new();
    let a = cluster.elector(fast("a").release_on_stop(false));
    assert_eq!(a.run(async |_| ()).await, Outcome::Finished(()));
    assert_eq!(cluster.holder(), "a");
    let ended = Instant::now();
    assert_eq!(a.run(async |leadership| leadership.is_valid()).await, Outcome::Finished(true));
    assert!(ended.elapsed() <= MS, "took {:?}", ended.elapsed());
}

/// Requests of the dropped work may land within a stop margin: until then neither this elector
/// leads again, nor another.
#[tokio::test(start_paused = true)]
async fn a_term_after_one_whose_work_was_dropped_begins_a_stop_margin_after_that_and_can_be_given_back()
 {
    let long_margin = |identity| {
        let config = Config::builder("ns", "lease").identity(identity);
        config.request_timeout(2500 * MS).stop_margin(7000 * MS).drain_timeout(2000 * MS)
    };
    for config in [
        &|identity| fast(identity).drain_timeout(2000 * MS),
        &long_margin as &dyn Fn(&'static str) -> _,
    ] {
        leads_again_after_work_that_was_dropped(config).await;
    }
}

async fn leads_again_after_work_that_was_dropped(config: &dyn Fn(&'static str) -> ConfigBuilder) {
    let cluster = Cluster::new();
    let a = cluster.elector(config("a"));
    let margin = a.config().stop_margin();
    let begins: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let began = Arc::clone(&begins);
    let terms: Arc<Mutex<Vec<Leadership>>> = Arc::default();
    let (running, log) = (a.clone(), Arc::clone(&terms));
    let run = tokio::spawn(async move {
        let work = move |leadership: Leadership| {
            let first = log.lock().unwrap().is_empty();
            log.lock().unwrap().push(leadership);
            began.lock().unwrap().push(Instant::now());
            async move {
                if first {
                    std::future::pending::<()>().await;
                }
            }
        };
        running.run_forever(work).await;
    });
    sleep_ms(1500).await;
    let b = Replica::start(cluster.elector(config("b")), Duration::ZERO);
    sleep_ms(500).await;
    let first = terms.lock().unwrap()[0].clone();
    first.step_down().unwrap();
    assert_eq!(first.lost().await, Loss::Overran);
    let dropped = Instant::now();
    let took = b.leads().await - dropped;
    assert_eq!(begins.lock().unwrap().len(), 2, "it led again, and its work returned at once");
    assert!(begins.lock().unwrap()[1] - dropped >= margin, "{margin:?}");
    assert!(took >= margin, "took {took:?}");
    assert!(took < margin + 100 * MS, "took {took:?}");
    assert_eq!((a.stats().releases, a.stats().failed_releases), (1, 0), "{margin:?}");
    a.stop_handle().stop();
    run.await.unwrap();
}
