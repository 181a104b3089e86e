//! Every step: the same life of an elector again and again, and each time one thing is asked of it,
//! at another of the moments around its requests. No two work at once, whoever is asked to go
//! strands nothing, and whoever stays leads.

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
/// Each way, so that what is asked between meets a request that is not there yet, one that is
/// answered, and none.
const WAY: Duration = Duration::from_millis(2);
/// What it takes to answer a call, and one more: that of a wake-up.
const CALL: u64 = 5;
/// How long the work takes to wind up.
const WIND_UP: Duration = Duration::from_millis(30);
/// Nothing that is sent by `a` arrives from here on for eight seconds.
const CUT: u64 = 7000;
const HEALED: u64 = 15_000;
const END: u64 = 16_000;

/// What is asked of `a`.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Deed {
    Nothing,
    Stop,
    /// The future of its campaigns is dropped.
    Drop,
    /// Its process ends: the same, and nothing that it has not sent yet is heard.
    Crash,
    /// The one who leads gives the term up, or hands it over to the other.
    StepDown,
    HandOver,
    /// For a second.
    Maintenance,
}

/// What else befalls its writes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Weather {
    Fair,
    /// Each third is applied and not answered.
    AnswersLost,
    /// Each third is refused, by a server that has applied it or by one that has not.
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

/// Who works, and what is to be true of that.
#[derive(Default)]
struct Judge {
    working: Vec<&'static str>,
    fences: Vec<FenceToken>,
    terms: Vec<(&'static str, Leadership)>,
    /// What was not true. A panic of the work would be the elector's.
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
    /// One, or the two of a migration.
    stores: Vec<MemoryLeaseStore>,
    began: Instant,
    judge: Arc<Mutex<Judge>>,
    /// When `a` sent something, in milliseconds.
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

    /// Until so many milliseconds after the beginning.
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

/// `a` leads first and `b` stands by; `a` gives the term up and `b` leads, and the other way round;
/// then `a` is cut off, and `b` takes over. `deed` is done at `moment`. Returns when `a` had sent
/// something, and whether it was done.
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

/// What happens in any case.
async fn usual(life: &Life) -> (LeaderElector, JoinHandle<()>) {
    life.at(50).await;
    let b = life.start("b");
    for moment in [2200, 4500] {
        life.at(moment).await;
        if let Some((_, term)) = life.leader() {
            // It may have been asked for already.
            let _ = term.step_down();
        }
    }
    life.at(END).await;
    b
}

/// Whether it was done: who does not lead has nothing to give up.
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
            // It may be on its way out already.
            let asked =
                if deed == Deed::StepDown { term.step_down() } else { term.hand_over_to("b") };
            if asked.is_err() {
                return false;
            }
        }
    }
    // While it is cut off, or is about to be, nothing can be given back.
    let reaches = deed != Deed::Crash && !(CUT - 1000..HEALED).contains(&now);
    // Who made way right before campaigns again after a retry period.
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

/// All moments at which `a` waits for an answer, just had one, or is about to ask.
async fn moments(stores: usize, weather: Weather) -> BTreeSet<u64> {
    let (calls, _) = one_life(stores, weather, Deed::Nothing, 1).await;
    assert!(calls.len() > 30, "{weather:?}: {calls:?}");
    calls
        .iter()
        .flat_map(|call| call.saturating_sub(1)..=call + CALL)
        .filter(|moment| *moment < END)
        .collect()
}

/// One of these many moments is played. `ELECTION_LIVES=all`, as the stage `planted-election` sets
/// it, plays all of them.
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
