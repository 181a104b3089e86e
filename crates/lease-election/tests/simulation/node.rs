//! Node: a process with an elector, a clock of its own, a line to its store, and work. While it
//! stands still, only its clock goes on.

#![cfg_attr(
    any(not(feature = "kube"), wq_plant),
    allow(dead_code, reason = "a controller would need them")
)]

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::{FutureExt as _, StreamExt as _, stream};
use jiff::Timestamp;
use lease_election::{
    Announcement, Candidacy, Clock, Config, ConfigBuilder, Ending, HolderEvidence, LeaderElector,
    Leadership, LeaseEvents, LeaseStore, Loss, Moment, Record, Sleep, StoreError, StoredLease,
    Version,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::backend::{Backend, Kind};
use crate::calamity::Echo;
#[cfg(all(feature = "kube", not(wq_plant)))]
use crate::coordinated::Clocks;
use crate::coordinated::stands_on;
use crate::judge::{Dice, Working, World};
use crate::ledger::About;

/// When a process goes on, in milliseconds after the start. A stopped process, a suspended machine
/// and a blocked runtime are the same here: only the clock goes on.
#[derive(Clone, Debug)]
pub(crate) struct Still {
    origin: Instant,
    until: Arc<AtomicU64>,
    /// When its timers fire again, which is no sooner. The timers of a suspended machine lag by the
    /// time that they do not count.
    unaware: Arc<AtomicU64>,
}

/// The milliseconds by which a wall clock is ahead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wall(Arc<AtomicI64>);

impl Wall {
    pub(crate) fn set(&self, mode: Mode, dice: &mut Dice) {
        let ahead = match mode {
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Mode::Coordinated(clocks) => clocks.of_elector(dice),
            _ => dice.roll(1_000_000_000) as i64 - 500_000_000,
        };
        self.put(ahead);
    }

    pub(crate) fn put(&self, ahead: i64) {
        self.0.store(ahead, Ordering::SeqCst);
    }
}

/// Facts that the electors of a run may rely on besides the lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Not even equal rates of all clocks: node 0's runs at half or double speed, which A2
    /// excludes.
    Rates,
    /// None; the electors have ranks.
    Ranks,
    /// True evidence of ended holders (A8).
    Evidence,
    /// An API server's controller, and the wall clocks that it needs.
    #[cfg(all(feature = "kube", not(wq_plant)))]
    Coordinated(Clocks),
}

/// In memory, one seed in `RATES.0`, from seed `RATES.1` on.
const RATES: (u64, u64) = (13, 7);

/// Lengths of leases in seconds, where not all are of five.
const LEASES: [u64; 4] = [1, 3, 2, 4];

impl Mode {
    pub(crate) fn of(kind: Kind, seed: u64) -> Self {
        let turn = match kind {
            Kind::Memory if seed % RATES.0 == RATES.1 => return Self::Rates,
            Kind::Memory => seed,
            // Every third seed is coordinated; the others take turns.
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Kind::Server if seed % 3 == 1 => return Self::Coordinated(Clocks::of(seed)),
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Kind::Server => seed / 3,
        };
        if turn.is_multiple_of(2) { Self::Ranks } else { Self::Evidence }
    }

    /// The identity of life `life` of node `n`. Lives have different names where the mode needs
    /// that.
    pub(crate) fn identity(self, n: u64, life: u64) -> String {
        let apart = match self {
            Self::Evidence => true,
            // An elector that returns under its old name has a LeaseCandidate already. A new name
            // leaves the old LeaseCandidate behind.
            #[cfg(all(feature = "kube", not(wq_plant)))]
            Self::Coordinated(clocks) => n % 2 == 1 || clocks == Clocks::Ahead,
            _ => false,
        };
        if apart { format!("n{n}.{life}") } else { format!("n{n}") }
    }

    /// Whether the server's controller elects, or may elect.
    pub(crate) fn is_coordinated(self) -> bool {
        !matches!(self, Self::Rates | Self::Ranks | Self::Evidence)
    }
}

/// The true register of ended processes.
struct Register(Arc<Mutex<World>>);

#[async_trait]
impl HolderEvidence for Register {
    async fn is_gone(&self, holder: &str, _: &Record) -> bool {
        let mut world = self.0.lock().unwrap();
        let gone = world.ended.contains(holder);
        if gone {
            world.saw("holder known to be gone");
        }
        gone
    }
}

impl Still {
    pub(crate) fn new(origin: Instant) -> Self {
        Self { origin, until: Arc::default(), unaware: Arc::default() }
    }

    /// Stands still for at least this long from now. Returns when its timers fire again.
    pub(crate) fn stand(&self, millis: u64) -> Instant {
        self.suspend(millis, 0)
    }

    /// Stands still as a suspended machine. Its clock is right when it wakes, and its timers need
    /// `unaware` longer.
    pub(crate) fn suspend(&self, millis: u64, unaware: u64) -> Instant {
        let back = self.origin.elapsed().as_millis() as u64 + millis;
        self.until.fetch_max(back, Ordering::SeqCst);
        // The timers of an earlier suspend may lag even longer.
        let aware = back + unaware;
        let aware = self.unaware.fetch_max(aware, Ordering::SeqCst).max(aware);
        self.origin + Duration::from_millis(aware)
    }

    pub(crate) fn left(&self) -> Duration {
        self.left_of(&self.until)
    }

    /// The time until its timers fire.
    fn timers(&self) -> Duration {
        self.left_of(&self.unaware)
    }

    fn left_of(&self, until: &AtomicU64) -> Duration {
        Duration::from_millis(until.load(Ordering::SeqCst)).saturating_sub(self.origin.elapsed())
    }

    pub(crate) async fn goes_on(&self) {
        while !self.left().is_zero() {
            tokio::time::sleep(self.left().max(Duration::from_micros(1))).await;
        }
    }
}

/// The fixed day on which runs begin, in seconds.
pub(crate) const DAY: i64 = 1_767_225_600;

/// A clock that drifts by some millionths. Its wall clock is off by hours, and is set sometimes. It
/// goes on while its process stands still, but its timers do not fire. Timers that are due at once
/// fire in any order: each wakes its waiter once before.
#[derive(Clone, Debug)]
pub(crate) struct Drifting {
    pub(crate) ppm: i64,
    pub(crate) still: Still,
    pub(crate) wall: Wall,
    /// The number of the next timer.
    pub(crate) timers: Arc<AtomicU64>,
}

impl Drifting {
    /// The time until the deadline by a right clock; zero only once it is reached.
    fn until(&self, deadline: Moment) -> Duration {
        let nanos = deadline.since(self.now()).as_nanos() * 1_000_000;
        let right = nanos.div_ceil((1_000_000 + self.ppm) as u128);
        Duration::from_nanos(u64::try_from(right).unwrap_or(u64::MAX))
    }
}

impl Clock for Drifting {
    fn now(&self) -> Moment {
        let nanos = self.still.origin.elapsed().as_nanos() as i128;
        Moment::from_origin(Duration::from_nanos(
            (nanos + nanos * i128::from(self.ppm) / 1_000_000) as u64,
        ))
    }
    fn wall(&self) -> Timestamp {
        let passed = i64::try_from(self.still.origin.elapsed().as_micros()).unwrap();
        let ahead = self.wall.0.load(Ordering::SeqCst) * 1000;
        Timestamp::from_microsecond(DAY * 1_000_000 + ahead + passed).unwrap()
    }
    fn sleep_until(&self, deadline: Moment) -> Sleep {
        let clock = self.clone();
        let early = Dice(self.timers.fetch_add(1, Ordering::SeqCst)).roll(64) as u32;
        Box::pin(async move {
            // Sleeps that end at one instant wake in the order in which they began.
            tokio::time::sleep(clock.until(deadline) / 64 * early).await;
            loop {
                let left = clock.until(deadline).max(clock.still.timers());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.max(Duration::from_micros(1))).await;
            }
        })
    }
}

/// The store as one process reaches it. While the process stands still it sends nothing, and
/// receives no answer and no event.
struct Line {
    store: Arc<dyn LeaseStore>,
    watches: AtomicU64,
    still: Still,
    link: String,
    stage: Stage,
}

impl Line {
    /// Judges when an answer or event arrives, since earlier ones may have had effects.
    fn look(&self) {
        self.stage.world.lock().unwrap().check(self.stage.seed);
    }

    /// Counts one more request.
    fn asks(&self) {
        let mut world = self.stage.world.lock().unwrap();
        let verdict = world.ledger.asks(&self.link, About::Lease);
        world.rules(self.stage.seed, verdict);
    }

    /// Notes that a write has its time. Its process may stand still before it sends the write.
    fn stamped(&self, record: &Record) {
        self.stage.world.lock().unwrap().ledger.stamped(record);
    }

    fn note(&self, what: &str, record: &Record) {
        let mut world = self.stage.world.lock().unwrap();
        world.check(self.stage.seed);
        let mark = record.write_id.as_deref().unwrap_or_default();
        world.trace.note(self.stage.start, format_args!("{} sends {what} {mark}", self.link));
        if record.is_free() {
            world.gives_back(self.stage.seed, &self.link);
        }
    }
}

#[async_trait]
impl LeaseStore for Line {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.still.goes_on().await;
        self.look();
        self.asks();
        let answer = self.store.get().await;
        self.still.goes_on().await;
        self.look();
        answer
    }
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.stamped(record);
        self.still.goes_on().await;
        self.note("create", record);
        self.asks();
        let answer = self.store.create(record).await;
        self.still.goes_on().await;
        self.look();
        answer
    }
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        self.stamped(record);
        self.still.goes_on().await;
        self.note("update", record);
        self.asks();
        let answer = self.store.update(version, record).await;
        self.still.goes_on().await;
        self.look();
        answer
    }
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.still.goes_on().await;
        self.asks();
        let events = self.store.watch(from).await?;
        self.look();
        let (still, stage) = (self.still.clone(), self.stage.clone());
        let world = Arc::clone(&self.stage.world);
        let number = self.watches.fetch_add(1, Ordering::SeqCst);
        let mut echo =
            Echo::new(self.link.bytes().fold(self.stage.seed ^ number << 32, |seed, byte| {
                seed.wrapping_mul(31).wrapping_add(u64::from(byte))
            }));
        let events =
            events.flat_map(move |event| stream::iter(echo.of(event, &mut world.lock().unwrap())));
        Ok(Box::pin(events.then(move |event| {
            let (still, stage) = (still.clone(), stage.clone());
            async move {
                still.goes_on().await;
                stage.world.lock().unwrap().check(stage.seed);
                event
            }
        })))
    }
    fn announce(&self, announcement: &Announcement) {
        let mut world = self.stage.world.lock().unwrap();
        let verdict = world.ledger.announced(&self.link, announcement.what, &announcement.fence);
        world.rules(self.stage.seed, verdict);
        self.store.announce(announcement);
    }
}

/// Whether this node has the wrong clock in `Mode::Rates`.
fn keeps_no_time(n: u64) -> bool {
    n == 0
}

/// A process that campaigns again and again until it is stopped.
pub(crate) struct Node {
    pub(crate) elector: LeaderElector,
    pub(crate) number: u64,
    pub(crate) link: String,
    pub(crate) still: Still,
    pub(crate) wall: Wall,
    pub(crate) run: JoinHandle<()>,
}

/// The parts that all nodes of a run share.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) kind: Kind,
    pub(crate) seed: u64,
    pub(crate) start: Instant,
    pub(crate) backend: Arc<Backend>,
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) mode: Mode,
    pub(crate) nodes: u64,
    /// Signals a write that a controller may want to see.
    pub(crate) written: Arc<watch::Sender<()>>,
    /// The minor version that each node emulates.
    pub(crate) emulated: Arc<Mutex<Vec<u64>>>,
}

impl Stage {
    pub(crate) fn poke(&self) {
        self.written.send_replace(());
    }

    pub(crate) fn config(&self, n: u64, life: u64) -> Config {
        self.builder(n, life).build().unwrap()
    }

    /// The lease of node `n` in seconds: five, in a quarter of the seeds another length, in another
    /// quarter one per node. On a server, where more renewals take long to play, each is an eighth.
    pub(crate) fn lease(&self, n: u64) -> u64 {
        let turn = |of: u64| LEASES[(of % LEASES.len() as u64) as usize];
        match self.seed / 2 % 8 {
            // A controller's bounds leave no room for other lengths.
            _ if self.mode.is_coordinated() => 5,
            2 => turn(self.seed / 16),
            3 => turn(self.seed / 16 + n),
            6 if self.kind == Kind::Memory => turn(self.seed / 16),
            7 if self.kind == Kind::Memory => turn(self.seed / 16 + n),
            _ => 5,
        }
    }

    /// Whether the nodes' leases differ in length.
    pub(crate) fn leases_differ(&self) -> bool {
        (0..self.nodes).any(|n| self.lease(n) != self.lease(0))
    }

    /// `fast()`, scaled to the node's lease.
    pub(crate) fn builder(&self, n: u64, life: u64) -> ConfigBuilder {
        let part = |millionths: u64| Duration::from_micros(self.lease(n) * millionths);
        let config = Config::builder("default", "lease")
            .lease_duration(part(1_000_000))
            .retry_period(part(200_000))
            .request_timeout(part(180_000))
            .stop_margin(part(200_000))
            .takeover_jitter(part(40_000))
            .hand_over_wait(part(200_000))
            .identity(self.mode.identity(n, life))
            .drain_timeout(Duration::from_secs(3));
        match self.mode {
            Mode::Ranks => config.rank((n % 8) as u8),
            _ => config,
        }
    }

    /// Starts life number `life` of node `n`.
    pub(crate) fn start(&self, n: u64, life: u64, dice: &mut Dice) -> Node {
        let link = format!("n{n}.{life}");
        let still = Still::new(self.start);
        let wall = Wall::default();
        wall.set(self.mode, dice);
        // Within the drift that the configuration allows.
        let within = dice.roll(1001) as i64 - 500;
        let ppm = match self.mode {
            Mode::Rates if keeps_no_time(n) => {
                [-500_000, 1_000_000][(self.seed / RATES.0 % 2) as usize]
            }
            _ => within,
        };
        let seed = self.seed.wrapping_mul(31) + n + 1000 * life;
        let timers = Arc::new(AtomicU64::new(seed << 32));
        let clock = Drifting { ppm, still: still.clone(), wall: wall.clone(), timers };
        let what = match ppm {
            0 => None,
            1_000_000 => Some("clock runs twice as fast"),
            -500_000 => Some("clock runs half as fast"),
            1.. => Some("clock runs fast"),
            _ => Some("clock runs slow"),
        };
        if let Some(what) = what {
            self.world.lock().unwrap().saw(what);
        }
        let mut elector = self.elector(n, life, &link, clock, seed);
        if self.mode == Mode::Evidence {
            elector = elector.with_evidence(Register(Arc::clone(&self.world)));
        }
        let (stage, running, node) = (self.clone(), elector.clone(), link.clone());
        let dice = Dice(self.seed ^ (n + 77 * (life + 1)));
        let run = tokio::spawn(async move { stage.campaign(running, node, dice).await });
        Node { elector, number: n, link, still, wall, run }
    }

    fn elector(&self, n: u64, life: u64, link: &str, clock: Drifting, seed: u64) -> LeaderElector {
        #[cfg(all(feature = "kube", not(wq_plant)))]
        if let Some(elector) = crate::coordinated::elector(self, n, life, link, &clock, seed) {
            return elector;
        }
        let config = self.config(n, life);
        let store = self.backend.connect(n, link, &config, &self.world);
        let still = clock.still.clone();
        let watches = AtomicU64::default();
        let line = Line { store, watches, still, link: link.to_owned(), stage: self.clone() };
        LeaderElector::with_clock(line, config, clock, seed)
    }

    async fn campaign(self, elector: LeaderElector, node: String, mut dice: Dice) {
        let goes_on = stands_on(self.mode, &mut dice);
        while !elector.is_stopped() {
            if goes_on {
                // The elector stands on from term to term.
                let (stage, name, mut dice) = (self.clone(), node.clone(), dice.clone());
                let running = elector.clone();
                let run = elector.run_forever(move |leadership| {
                    let plan = Plan::draw(&stage, &mut dice);
                    plan.work(stage.clone(), name.clone(), running.clone(), leadership)
                });
                let _ = AssertUnwindSafe(run).catch_unwind().await;
            } else {
                let (stage, name, running) = (self.clone(), node.clone(), elector.clone());
                let plan = Plan::draw(&stage, &mut dice);
                let run =
                    elector.run(move |leadership| plan.work(stage, name, running, leadership));
                let _ = AssertUnwindSafe(run).catch_unwind().await;
            }
            tokio::time::sleep(Duration::from_millis(dice.roll(2000))).await;
        }
    }
}

/// The course of a term without faults.
struct Plan {
    length: u64,
    wind_up: u64,
    polite: bool,
    panics: bool,
    /// Whether the work gives the term up, and the successor that it names.
    parting: Option<Option<String>>,
    /// Whether the work waits for the end of the term and ignores stops.
    deaf: bool,
}

impl Plan {
    fn draw(stage: &Stage, dice: &mut Dice) -> Self {
        let (length, wind_up) = (dice.roll(25_000), dice.roll(4000));
        let (polite, panics) = (dice.roll(4) != 0, dice.roll(12) == 0);
        let parting = match dice.roll(4) {
            0 => Some(None),
            // The successor may not exist.
            1 => Some(Some(stage.mode.identity(dice.roll(stage.nodes + 1), 0))),
            _ => None,
        };
        // A controller relies on leaders that make way.
        let deaf = dice.roll(4) == 0 && !stage.mode.is_coordinated();
        Self { length, wind_up, polite, panics, parting, deaf }
    }

    async fn work(
        self,
        stage: Stage,
        name: String,
        elector: LeaderElector,
        leadership: Leadership,
    ) {
        let Self { length, wind_up, polite, panics, parting, deaf } = self;
        let candidacy = elector.status().candidacy;
        let term =
            Working::begin(&stage.world, stage.seed, stage.start, name.clone(), leadership.clone());
        // A coordinated elector makes its own store, which announces nothing. So the work reports
        // the term.
        let term = if candidacy.is_some() { term.told(&name, elector.stats().terms) } else { term };
        if let Some(how) = told(stage.mode, candidacy.as_ref()) {
            stage.world.lock().unwrap().saw(how);
        }
        let until = tokio::time::sleep(Duration::from_millis(length));
        let listener = listen(&stage.world, leadership.clone());
        let ending = async {
            if deaf { Ending::Lost(listener.await.unwrap()) } else { leadership.ending().await }
        };
        tokio::select! {
            biased;
            ending = ending => {
                let asked = ending == Ending::StopRequested && stage.mode.is_coordinated();
                if asked && !elector.is_stopped() && !elector.maintenance().is_on() {
                    stage.world.lock().unwrap().saw("made way");
                }
                if polite || matches!(ending, Ending::StopRequested) {
                    tokio::time::sleep(Duration::from_millis(wind_up)).await;
                } else {
                    std::future::pending::<()>().await;
                }
            }
            () = until => {
                if let Some(successor) = parting
                    && let Some(what) = parts(&leadership, successor)
                {
                    stage.world.lock().unwrap().saw(what);
                    let _ = leadership.ending().await;
                    // The work relies on the lease until it has ended.
                    tokio::time::sleep(Duration::from_millis(wind_up)).await;
                    return;
                }
                let mut world = stage.world.lock().unwrap();
                world.saw(if panics { "work panicked" } else { "work ended" });
                if Duration::from_millis(length) > 2 * world.ledger.longest {
                    world.saw("work longer than two leases");
                }
                drop(world);
                drop(term);
                if panics {
                    std::panic::resume_unwind(Box::new("the work"));
                }
            }
        }
    }
}

/// Waits for the end of a term in a task of its own, which survives dropped work.
fn listen(world: &Arc<Mutex<World>>, leadership: Leadership) -> JoinHandle<Loss> {
    let world = Arc::clone(world);
    world.lock().unwrap().untold += 1;
    tokio::spawn(async move {
        let loss = leadership.lost().await;
        let mut world = world.lock().unwrap();
        world.untold -= 1;
        world.saw("end of a term told");
        loss
    })
}

/// How an elector came to lead in a coordinated election.
fn told(mode: Mode, candidacy: Option<&Candidacy>) -> Option<&'static str> {
    mode.is_coordinated().then_some(match candidacy {
        None => "led beside coordinated ones",
        Some(Candidacy::ApiAbsent) => "led where the API is absent",
        Some(Candidacy::NobodyElects) => "led where nobody elects",
        Some(_) => "led as elected",
    })
}

/// Gives the term up, perhaps to a successor. `None` if the elector keeps it.
fn parts(leadership: &Leadership, successor: Option<String>) -> Option<&'static str> {
    match successor {
        Some(successor) => leadership.hand_over_to(successor).ok().map(|()| "handed over"),
        None => leadership.step_down().ok().map(|()| "stepped down"),
    }
}
