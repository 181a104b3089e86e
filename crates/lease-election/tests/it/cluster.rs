//! Cluster: one lease in memory, clients with links that can be cut, and electors that log their
//! terms.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lease_election::{
    Clock, Config, ConfigBuilder, Ending, Fault, FenceToken, LeaderElector, Leadership,
    LeaseEvents, LeaseStore, MemoryLeaseStore, Moment, Outcome, Record, Sleep, StoreError,
    StoredLease, TokioClock, Verb, Version,
};
use tokio::time::Instant;

pub(crate) const LEASE: Duration = Duration::from_secs(5);

pub(crate) fn fast(identity: &str) -> ConfigBuilder {
    Config::builder("ns", "lease").fast().identity(identity)
}

type Script = Arc<Mutex<HashMap<(String, Verb), Fault>>>;

/// One lease, and the faults of each client's calls.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) store: MemoryLeaseStore,
    script: Script,
    seeds: Arc<Mutex<u64>>,
    pub(crate) requests: Arc<Mutex<HashMap<(String, Verb), u64>>>,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let script = Script::default();
        let requests: Arc<Mutex<HashMap<(String, Verb), u64>>> = Arc::default();
        let (faults, counts) = (Arc::clone(&script), Arc::clone(&requests));
        let store = MemoryLeaseStore::new().with_faults(move |client, verb| {
            *counts.lock().unwrap().entry((client.to_owned(), verb)).or_default() += 1;
            faults.lock().unwrap().get(&(client.to_owned(), verb)).cloned().unwrap_or_default()
        });
        Self { store, script, seeds: Arc::new(Mutex::new(1)), requests }
    }

    /// Sets the fault of these calls of this client.
    pub(crate) fn set(&self, client: &str, verbs: &[Verb], fault: Fault) {
        let mut script = self.script.lock().unwrap();
        for verb in verbs {
            script.insert((client.to_owned(), *verb), fault.clone());
        }
    }

    pub(crate) fn cut(&self, client: &str) {
        self.set(
            client,
            &[Verb::Get, Verb::Create, Verb::Update, Verb::Watch, Verb::Event],
            Fault::Lost,
        );
    }

    pub(crate) fn heal(&self, client: &str) {
        self.script.lock().unwrap().retain(|(name, _), _| name != client);
    }

    pub(crate) fn elector(&self, config: ConfigBuilder) -> LeaderElector {
        let config = config.build().unwrap();
        let client = self.store.client(config.identity());
        let mut seeds = self.seeds.lock().unwrap();
        *seeds += 1;
        LeaderElector::with_clock(client, config, TokioClock::new(), *seeds)
    }

    pub(crate) fn requests_of(&self, client: &str, verb: Verb) -> u64 {
        self.requests.lock().unwrap().get(&(client.to_owned(), verb)).copied().unwrap_or(0)
    }

    pub(crate) fn holder(&self) -> String {
        self.store.lease().map(|lease| lease.record.holder).unwrap_or_default()
    }
}

/// A definitive refusal, for watches without permission.
pub(crate) fn forbidden() -> Fault {
    Fault::Refused(StoreError::Rejected { code: 403, message: "no".into() })
}

/// One elector in the background, whose work winds up for `wind_up` when told.
pub(crate) struct Replica {
    pub(crate) elector: LeaderElector,
    pub(crate) terms: Arc<Mutex<Vec<Led>>>,
    pub(crate) run: tokio::task::JoinHandle<Outcome<Ending>>,
}

/// A term as its work saw it.
#[derive(Clone, Debug)]
pub(crate) struct Led {
    pub(crate) leadership: Leadership,
    pub(crate) began: Instant,
    pub(crate) told: Option<(Instant, Ending)>,
    pub(crate) ended: Option<Instant>,
}

impl Replica {
    pub(crate) fn start(elector: LeaderElector, wind_up: Duration) -> Self {
        let terms: Arc<Mutex<Vec<Led>>> = Arc::default();
        let log = Arc::clone(&terms);
        let running = elector.clone();
        let run = tokio::spawn(async move {
            running
                .run(move |leadership| async move {
                    log.lock().unwrap().push(Led {
                        leadership: leadership.clone(),
                        began: Instant::now(),
                        told: None,
                        ended: None,
                    });
                    let ending = leadership.ending().await;
                    log.lock().unwrap().last_mut().unwrap().told =
                        Some((Instant::now(), ending.clone()));
                    tokio::time::sleep(wind_up).await;
                    log.lock().unwrap().last_mut().unwrap().ended = Some(Instant::now());
                    ending
                })
                .await
        });
        Self { elector, terms, run }
    }

    pub(crate) fn last(&self) -> Led {
        self.terms.lock().unwrap().last().cloned().expect("it led")
    }

    pub(crate) fn fence(&self) -> FenceToken {
        self.last().leadership.fence()
    }

    /// Waits until it leads, and returns since when.
    pub(crate) async fn leads(&self) -> Instant {
        for _ in 0..200_000 {
            if let Some(led) = self.terms.lock().unwrap().last() {
                return led.began;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("it never led");
    }
}

pub(crate) async fn sleep_ms(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// A clock that stands still until a test moves it.
#[derive(Clone, Debug)]
pub(crate) struct ManualClock(Arc<tokio::sync::watch::Sender<Moment>>);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(tokio::sync::watch::Sender::new(Moment::from_origin(LEASE))))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = now.after(by));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        *self.0.borrow()
    }
    fn wall(&self) -> Timestamp {
        let since = SignedDuration::try_from(self.now().since_origin()).unwrap();
        Timestamp::from_second(1_767_225_600).unwrap() + since
    }
    fn sleep_until(&self, deadline: Moment) -> Sleep {
        let mut time = self.0.subscribe();
        Box::pin(async move {
            let _ = time.wait_for(|now| *now >= deadline).await;
        })
    }
}

/// A store that logs the holder that each release met, and the answer. Releases may be long in
/// flight.
pub(crate) struct Releases {
    store: MemoryLeaseStore,
    travels: Duration,
    pub(crate) met: Arc<Mutex<Vec<String>>>,
}

impl Releases {
    pub(crate) fn new(store: MemoryLeaseStore, travels: Duration) -> Self {
        Self { store, travels, met: Arc::default() }
    }
}

#[async_trait]
impl LeaseStore for Releases {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.store.get().await
    }
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.store.create(record).await
    }
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        if !record.is_free() {
            return self.store.update(version, record).await;
        }
        let (store, travels, met) = (self.store.clone(), self.travels, Arc::clone(&self.met));
        let (version, record) = (version.clone(), record.clone());
        // The request arrives even if its sender gives it up.
        let sent = tokio::spawn(async move {
            tokio::time::sleep(travels).await;
            let holder = store.lease().map(|lease| lease.record.holder).unwrap_or_default();
            let answer = store.update(&version, &record).await;
            met.lock().unwrap().push(format!("{holder}: {:?}", answer.as_ref().map(|_| ())));
            answer
        });
        sent.await.unwrap()
    }
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.store.watch(from).await
    }
}
