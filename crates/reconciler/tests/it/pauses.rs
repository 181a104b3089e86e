//! Election: the pauses between two terms of one manager, and the release in its report.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{
    Config, ConfigBuilder, Fault, LeaderElector, Leadership, MemoryLeaseStore, TokioClock, Verb,
};
use reconciler::{BoxError, LeaderTask, Manager, Release};
use tokio::time::{Instant, sleep};

use crate::bench::{Running, settle, start, until};

const MS: Duration = Duration::from_millis(1);

fn fast(identity: &str) -> ConfigBuilder {
    Config::builder("default", "test").identity(identity).fast()
}

/// A manager with one task, which records each term.
struct Replica {
    running: Running,
    began: Arc<AtomicUsize>,
    last: Arc<Mutex<Option<Leadership>>>,
}

impl Replica {
    fn start(store: &MemoryLeaseStore, config: ConfigBuilder, seed: u64) -> Self {
        let config = config.build().unwrap();
        let client = store.client(config.identity());
        let elector = LeaderElector::with_clock(client, config, TokioClock::default(), seed);
        let mut manager = Manager::builder().grace(3000 * MS).election(elector).build().unwrap();
        let (began, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)));
        let (count, told) = (Arc::clone(&began), Arc::clone(&last));
        manager.leader_task("tells", move |task: LeaderTask| {
            count.fetch_add(1, Ordering::SeqCst);
            *told.lock().unwrap() = task.leadership().cloned();
            async move {
                task.cancellation().cancelled().await;
                Ok::<(), BoxError>(())
            }
        });
        Self { running: start(manager), began, last }
    }

    fn terms(&self) -> usize {
        self.began.load(Ordering::SeqCst)
    }

    async fn leads(&self) -> Leadership {
        until("it leads", || self.last.lock().unwrap().as_ref().is_some_and(Leadership::is_valid))
            .await;
        self.last.lock().unwrap().clone().unwrap()
    }
}

fn holder(store: &MemoryLeaseStore) -> String {
    store.lease().map(|lease| lease.record.holder).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn who_empties_the_lease_again_and_again_starts_no_workers_at_request_speed() {
    let store = MemoryLeaseStore::new();
    let replica = Replica::start(&store, fast("one"), 1);
    replica.leads().await;
    let emptied = store.clone();
    let empties = tokio::spawn(async move {
        loop {
            if let Some(mut lease) = emptied.lease().filter(|lease| !lease.record.holder.is_empty())
            {
                lease.record.holder = String::new();
                emptied.overwrite(lease.record);
            }
            sleep(MS).await;
        }
    });
    sleep(Duration::from_secs(60)).await;
    // 1, 2 and 4 s, and then a lease of 5 s each time.
    assert!((12..=15).contains(&replica.terms()), "{} terms in a minute", replica.terms());
    empties.abort();
    replica.leads().await;
    let report = replica.running.stop().await;
    assert_eq!((report.lost_terms + 1, report.release), (report.terms, Some(Release::GivenBack)));
}

#[tokio::test(start_paused = true)]
async fn who_steps_down_leaves_the_lease_to_a_standby_that_hears_of_it_late() {
    let store = MemoryLeaseStore::new().with_faults(|client, verb| {
        if client == "two" && verb == Verb::Event {
            Fault::Slow { before: 300 * MS, after: Duration::ZERO }
        } else {
            Fault::None
        }
    });
    let one = Replica::start(&store, fast("one"), 1);
    let leadership = one.leads().await;
    let two = Replica::start(&store, fast("two"), 2);
    sleep(Duration::from_secs(3)).await;
    leadership.step_down().unwrap();
    let asked = Instant::now();
    two.leads().await;
    assert!(asked.elapsed() <= 310 * MS, "{:?}", asked.elapsed());
    sleep(Duration::from_secs(20)).await;
    assert_eq!((holder(&store).as_str(), one.terms(), two.terms()), ("two", 1, 1));
    let report = one.running.stop().await;
    assert_eq!(
        (report.terms, report.lost_terms, report.release),
        (1, 0, Some(Release::NotLeading))
    );
    two.running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_steps_down_alone_leads_again_an_interval_later() {
    let store = MemoryLeaseStore::new();
    let one = Replica::start(&store, fast("one"), 1);
    let leadership = one.leads().await;
    sleep(Duration::from_secs(3)).await;
    leadership.step_down().unwrap();
    let asked = Instant::now();
    until("the lease is given back", || holder(&store).is_empty()).await;
    until("it leads again", || one.terms() == 2).await;
    assert!((1000 * MS..=1010 * MS).contains(&asked.elapsed()), "{:?}", asked.elapsed());
    let report = one.running.stop().await;
    assert_eq!((report.terms, report.lost_terms), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_between_two_terms_ends_at_once() {
    let store = MemoryLeaseStore::new();
    let one = Replica::start(&store, fast("one"), 1);
    one.leads().await.step_down().unwrap();
    until("the lease is given back", || holder(&store).is_empty()).await;
    settle().await;
    let asked = Instant::now();
    let report = one.running.stop().await;
    assert!(asked.elapsed() <= MS, "{:?}", asked.elapsed());
    assert_eq!((report.terms, report.release), (1, Some(Release::NotLeading)));
    assert_eq!(holder(&store), "");
}

#[tokio::test(start_paused = true)]
async fn a_release_that_fails_is_reported_and_so_is_a_lease_that_is_kept() {
    let cut = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&cut);
    let store = MemoryLeaseStore::new().with_faults(move |_, _| {
        if is_cut.load(Ordering::SeqCst) { Fault::Lost } else { Fault::None }
    });
    let one = Replica::start(&store, fast("one"), 1);
    one.leads().await;
    cut.store(true, Ordering::SeqCst);
    let report = one.running.stop().await;
    assert_eq!((report.terms, report.lost_terms, report.release), (1, 0, Some(Release::Failed)));
    assert_eq!(holder(&store), "one");
    let store = MemoryLeaseStore::new();
    let keeper = Replica::start(&store, fast("keeper").release_on_stop(false), 1);
    keeper.leads().await;
    let report = keeper.running.stop().await;
    assert_eq!((report.terms, report.lost_terms, report.release), (1, 0, Some(Release::Kept)));
    assert_eq!(holder(&store), "keeper");
}
