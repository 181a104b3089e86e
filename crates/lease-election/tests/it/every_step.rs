//! Every step: one life of an elector, disturbed in each run at another moment around its requests.
//!
//! No two terms work at once. An elector that goes strands nothing; an elector that stays leads.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_election::{
    Fault, FenceToken, LeaderElector, Leadership, LeaseStore, MemoryLeaseStore, MultiStore,
    StoreError, TokioClock, Verb,
};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cluster::{LEASE, fast, sleep_ms};

const MS: Duration = Duration::from_millis(1);
/// The time of each way. A deed then meets a request in flight, an answer in flight, or neither.
const WAY: Duration = Duration::from_millis(2);
/// The milliseconds of an answered call, and one more for the wake-up.
const CALL: u64 = 5;
/// How long the work takes to wind up.
const WIND_UP: Duration = Duration::from_millis(30);
/// From here on, every request of `a` is lost for eight seconds.
const CUT: u64 = 7000;
const HEALED: u64 = 15_000;
const END: u64 = 16_000;

/// The disturbance of `a`.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Deed {
    Nothing,
    Stop,
    /// The future of its campaigns is dropped.
    Drop,
    /// The process ends: as `Drop`, and later requests are lost.
    Crash,
    /// The leader gives the term up, or hands it over to the other.
    StepDown,
    HandOver,
    /// Maintenance for a second.
    Maintenance,
}

/// The faults of its writes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Weather {
    Fair,
    /// Every third write is applied and not answered.
    AnswersLost,
    /// Every third write is refused, after the server applied it or without.
    AppliedButRefused,
    Refused,
}

impl Weather {
    fn of_write(self, writes: &mut u32) -> Option<Fault> {
        *writes += 1;
        match self {
            Self::Fair => None,
            _ if !writes.is_multiple_of(3) => None,
            Self::AnswersLost => Some(Fault::AnswerLost),
            Self::AppliedButRefused => Some(Fault::AppliedBut(StoreError::unknown("500"))),
            Self::Refused => Some(Fault::Refused(StoreError::unknown("500"))),
        }
    }
}

/// The work in progress, and the rules for it.
#[derive(Default)]
struct Judge {
    working: Vec<&'static str>,
    fences: Vec<FenceToken>,
    terms: Vec<(&'static str, Leadership)>,
    /// The first broken rule. The elector would catch a panic of the work.
    wrong: Option<String>,
}

/// The work of a term until it has ended, or is dropped.
struct Working(Arc<Mutex<Judge>>, &'static str);

impl Working {
    fn begin(judge: &Arc<Mutex<Judge>>, who: &'static str, leadership: &Leadership) -> Self {
        let mut now = judge.lock().unwrap();
        let fence = leadership.fence();
        let beside = now.terms.iter().find(|(_, term)| term.is_valid()).map(|(who, _)| *who);
        let wrong = if !now.working.is_empty() {
            Some(format!("begins while {:?} works", now.working))
        } else if let Some(beside) = beside {
            Some(format!("begins beside {beside}"))
        } else if now.fences.last().is_some_and(|last| *last >= fence) {
            Some(format!("begins with {fence}"))
        } else {
            None
        };
        now.wrong = now.wrong.take().or_else(|| wrong.map(|wrong| format!("{who} {wrong}")));
        now.working.push(who);
        now.fences.push(fence);
        now.terms.push((who, leadership.clone()));
        Self(Arc::clone(judge), who)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.lock().unwrap().working.retain(|who| *who != self.1);
    }
}

struct Life {
    /// One store, or the two of a migration.
    stores: Vec<MemoryLeaseStore>,
    began: Instant,
    judge: Arc<Mutex<Judge>>,
    /// When `a` sent each request, in milliseconds.
    calls: Arc<Mutex<Vec<u64>>>,
    crashed: Arc<AtomicBool>,
    clock: TokioClock,
}

impl Life {
    fn new(stores: usize, weather: Weather) -> Self {
        let began = Instant::now();
        let calls: Arc<Mutex<Vec<u64>>> = Arc::default();
        let writes = Arc::new(Mutex::new(0));
        let crashed: Arc<AtomicBool> = Arc::default();
        let store = |_| {
            let (log, writes, crashed) =
                (Arc::clone(&calls), Arc::clone(&writes), Arc::clone(&crashed));
            MemoryLeaseStore::new().with_faults(move |client, verb| {
                if client == "a" {
                    if crashed.load(Ordering::SeqCst) {
                        return Fault::Lost;
                    }
                    let now = millis(began);
                    log.lock().unwrap().push(now);
                    if (CUT..HEALED).contains(&now) {
                        return Fault::Lost;
                    }
                    if matches!(verb, Verb::Create | Verb::Update)
                        && let Some(fault) = weather.of_write(&mut writes.lock().unwrap())
                    {
                        return fault;
                    }
                }
                if verb == Verb::Event {
                    Fault::None
                } else {
                    Fault::Slow { before: WAY, after: WAY }
                }
            })
        };
        let stores = (0..stores).map(store).collect();
        Self { stores, began, judge: Arc::default(), calls, crashed, clock: TokioClock::new() }
    }

    fn start(&self, who: &'static str) -> (LeaderElector, JoinHandle<()>) {
        let config = fast(who).takeover_jitter(Duration::ZERO).build().unwrap();
        let seed = u64::from(who.as_bytes()[0]);
        let store: Arc<dyn LeaseStore> = match &*self.stores {
            [one] => Arc::new(one.client(who)),
            [old, new, ..] => Arc::new(MultiStore::new(old.client(who), new.client(who), &config)),
            [] => unreachable!("it has one or two"),
        };
        let elector = LeaderElector::with_clock(store, config, self.clock, seed);
        let (running, judge) = (elector.clone(), Arc::clone(&self.judge));
        let work = move |leadership: Leadership| {
            let judge = Arc::clone(&judge);
            async move {
                let _working = Working::begin(&judge, who, &leadership);
                drop(leadership.ending().await);
                tokio::time::sleep(WIND_UP).await;
            }
        };
        (elector, tokio::spawn(async move { running.run_forever(work).await }))
    }

    /// Waits until this many milliseconds after the beginning.
    async fn at(&self, moment: u64) {
        tokio::time::sleep_until(self.began + Duration::from_millis(moment)).await;
    }

    fn leader(&self) -> Option<(&'static str, Leadership)> {
        self.judge.lock().unwrap().terms.last().filter(|(_, term)| term.is_valid()).cloned()
    }

    fn is_led_by(&self, who: &str) -> bool {
        self.leader().is_some_and(|(leader, _)| leader == who)
    }

    async fn led_by(&self, who: &str, within: Duration, what: &str) {
        let asked = Instant::now();
        while !self.is_led_by(who) {
            assert!(asked.elapsed() <= within, "{what}: {who} does not lead after {within:?}");
            sleep_ms(1).await;
        }
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap()
}

/// `a` leads first, while `b` stands by. `a` gives the term up to `b`, and `b` to `a`; then `a` is
/// cut off, and `b` takes over. Does `deed` at `moment`. Returns the times of the requests of `a`,
/// and whether the deed was done.
async fn one_life(stores: usize, weather: Weather, deed: Deed, moment: u64) -> (Vec<u64>, bool) {
    let what = format!("{stores} stores, {weather:?}, {deed:?} at {moment} ms");
    let life = Life::new(stores, weather);
    let (a, run) = life.start("a");
    let (b, is_done) = tokio::join!(usual(&life), async {
        life.at(moment).await;
        do_it(&life, deed, &a, &run, &what).await
    });
    let goes = matches!(deed, Deed::Stop | Deed::Drop | Deed::Crash);
    assert!(
        life.leader().is_some_and(|(leader, _)| !goes || leader == "b"),
        "{what}: who leads at the end"
    );
    assert!(life.judge.lock().unwrap().terms.len() > 2 || goes, "{what}: nothing happened");
    for (elector, run) in [(a, run), b] {
        elector.stop_handle().stop();
        let ended = run.await;
        let is_dropped = ended.as_ref().is_err_and(|error| error.is_cancelled());
        assert!(ended.is_ok() || deed != Deed::Stop && goes && is_dropped, "{what}: {ended:?}");
    }
    sleep_ms(100).await;
    let is_free =
        |store: &MemoryLeaseStore| store.lease().is_none_or(|lease| lease.record.is_free());
    assert!(life.stores.iter().all(is_free), "{what}: stranded at the end");
    let judge = life.judge.lock().unwrap();
    assert_eq!((&judge.wrong, &*judge.working), (&None, &[""; 0][..]), "{what}");
    let calls = life.calls.lock().unwrap();
    (calls.clone(), is_done)
}

/// The events of every life.
async fn usual(life: &Life) -> (LeaderElector, JoinHandle<()>) {
    life.at(50).await;
    let b = life.start("b");
    for moment in [2200, 4500] {
        life.at(moment).await;
        if let Some((_, term)) = life.leader() {
            // A deed may have asked for it already.
            let _ = term.step_down();
        }
    }
    life.at(END).await;
    b
}

/// Returns whether it was done: only a leader can give a term up.
async fn do_it(
    life: &Life,
    deed: Deed,
    a: &LeaderElector,
    run: &JoinHandle<()>,
    what: &str,
) -> bool {
    let now = millis(life.began);
    match deed {
        Deed::Nothing => return true,
        Deed::Stop => a.stop_handle().stop(),
        Deed::Drop => run.abort(),
        Deed::Crash => {
            life.crashed.store(true, Ordering::SeqCst);
            run.abort();
        }
        Deed::Maintenance => a.maintenance().begin(),
        Deed::StepDown | Deed::HandOver => {
            let Some((_, term)) = life.leader().filter(|(leader, _)| *leader == "a") else {
                return false;
            };
            // The term may be ending already.
            let asked =
                if deed == Deed::StepDown { term.step_down() } else { term.hand_over_to("b") };
            if asked.is_err() {
                return false;
            }
        }
    }
    // While `a` is cut off, or is about to be, it can release nothing.
    let reaches = deed != Deed::Crash && !(CUT - 1000..HEALED).contains(&now);
    // A candidate that has just made way campaigns again after a retry period.
    let within = if reaches { 1200 * MS } else { LEASE + Duration::from_secs(2) };
    life.led_by("b", within, what).await;
    match deed {
        Deed::Maintenance => {
            sleep_ms(1000).await;
            assert!(!life.is_led_by("a"), "{what}");
            a.maintenance().end();
        }
        Deed::Stop | Deed::Drop | Deed::Crash => {
            life.at(now + 3000).await;
            assert!(run.is_finished(), "{what}: it goes on");
            let sent = life.calls.lock().unwrap().len();
            sleep_ms(10_000).await;
            assert_eq!(life.calls.lock().unwrap().len(), sent, "{what}: it sends on");
        }
        _ => {}
    }
    true
}

/// Every moment at which `a` waits for an answer, just had one, or is about to send.
async fn moments(stores: usize, weather: Weather) -> BTreeSet<u64> {
    let (calls, _) = one_life(stores, weather, Deed::Nothing, 1).await;
    assert!(calls.len() > 30, "{weather:?}: {calls:?}");
    calls
        .iter()
        .flat_map(|call| call.saturating_sub(1)..=call + CALL)
        .filter(|moment| *moment < END)
        .collect()
}

/// Plays one in this many moments. `ELECTION_LIVES=all`, as in the stage `planted-election`, plays
/// all.
fn stride() -> usize {
    if std::env::var("ELECTION_LIVES").as_deref() == Ok("all") { 1 } else { 48 }
}

async fn at_every_step(stores: usize) {
    let stride = stride();
    for weather in
        [Weather::Fair, Weather::AnswersLost, Weather::AppliedButRefused, Weather::Refused]
    {
        let moments = moments(stores, weather).await;
        for deed in
            [Deed::Stop, Deed::Drop, Deed::Crash, Deed::StepDown, Deed::HandOver, Deed::Maintenance]
        {
            let mut done = 0;
            for moment in moments.iter().step_by(stride) {
                done += usize::from(one_life(stores, weather, deed, *moment).await.1);
            }
            assert!(
                done > 40 / stride,
                "{weather:?}, {deed:?}: done {done} times of {}",
                moments.len()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_is_asked_of_an_elector_at_any_step_strands_nothing_and_lets_nobody_work_beside_it()
 {
    at_every_step(1).await;
}

#[tokio::test(start_paused = true)]
async fn nor_does_it_where_two_stores_are_one() {
    at_every_step(2).await;
}
