//! Coordinated election: who stands, the two API servers whose controllers elect, and what befalls
//! those.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use lease_election::{Config, Coordination, LeaderElector};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::controller::{Controller, Look, ROUND, by_preference};
use crate::judge::Dice;
use crate::node::{Drifting, Mode, Node, Stage, Still, Wall};
use crate::server::Servers;
use crate::{LATEST, STEPS};

/// So many API servers have a controller.
pub(crate) const SEATS: u64 = 2;

/// What is fair lasts longer here: until the last of what was sent has arrived, somebody leads, and
/// the preferred one does.
pub(crate) const LONGER: u64 = 80 * STEPS;

/// How long nobody may be elected until candidates elect alone (`decide::coordinated::SILENCE`).
const SILENCE: Duration = Duration::from_secs(30);

const MS: Duration = Duration::from_millis(1);

/// How the wall clocks of controllers and electors differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clocks {
    /// No controller's is ahead of an elector's, and none is behind by more than some seconds.
    Seconds,
    /// The same, and behind by hours: leases that have run out look as if they held.
    Hours,
    /// A controller's may be ahead by more than a lease, so that leases that hold look as if they
    /// had run out. Then whoever is granted one must have seen its last renewal, or wait: one
    /// process at a time is cut off, and only when all others have been well for two leases. For
    /// the same reason nobody comes back under the name of one who was known.
    Ahead,
}

impl Clocks {
    pub(crate) fn of(seed: u64) -> Self {
        match seed / 3 % 3 {
            0 => Self::Seconds,
            1 => Self::Hours,
            _ => Self::Ahead,
        }
    }

    /// In milliseconds.
    fn spread(self) -> u64 {
        match self {
            Self::Seconds => 3000,
            Self::Hours => 5_000_000,
            Self::Ahead => 15_000,
        }
    }

    /// By how many milliseconds an elector's wall clock is ahead.
    pub(crate) fn of_elector(self, dice: &mut Dice) -> i64 {
        let ahead = dice.roll(self.spread() + 1) as i64;
        if self == Self::Ahead { ahead - self.spread() as i64 / 2 } else { ahead }
    }

    fn of_controller(self, dice: &mut Dice) -> i64 {
        let behind = -(dice.roll(self.spread() + 1) as i64);
        if self == Self::Ahead { behind + self.spread() as i64 / 2 } else { behind }
    }

    /// By how much a controller may take a lease that has run out to hold.
    fn skew(self) -> Duration {
        MS * (if self == Self::Ahead { self.spread() } else { 2 * self.spread() }) as u32
    }
}

/// Who elects in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Finally {
    Controller,
    /// No server has the API.
    NoApi,
    /// The API is there, and no controller.
    Nobody,
}

fn finally(seed: u64) -> Finally {
    match seed / 9 % 6 {
        4 => Finally::NoApi,
        5 => Finally::Nobody,
        _ => Finally::Controller,
    }
}

/// One that takes part in the election by the Lease alone, and knows of no other, if there is one.
fn plain(stage: &Stage) -> Option<u64> {
    (stage.seed / 9 % 4 == 1).then(|| stage.nodes - 1)
}

/// One that gives nothing back, if there is one.
fn keeps(stage: &Stage) -> Option<u64> {
    (stage.seed / 9 % 5 == 2).then_some(0)
}

/// An elector that the controller knows; `None` where it is not to be one.
pub(crate) fn elector(
    stage: &Stage,
    n: u64,
    life: u64,
    link: &str,
    clock: &Drifting,
    seed: u64,
) -> Option<LeaderElector> {
    let Backend::Server(servers) = &*stage.backend else { return None };
    if !stage.mode.is_coordinated() {
        return None;
    }
    if plain(stage) == Some(n) {
        stage.world.lock().unwrap().saw("plain elector beside");
        return None;
    }
    if keeps(stage) == Some(n) {
        stage.world.lock().unwrap().saw("keeps what it held");
    }
    let config = stage.builder(n, life).release_on_stop(keeps(stage) != Some(n));
    let minor = stage.emulated.lock().unwrap()[n as usize];
    let coordination = Coordination::new("1.9.0").emulating(format!("1.{minor}.0"));
    let client = servers.wired(stage, &clock.still, n, link);
    Some(
        LeaderElector::coordinated_with_clock(client, config, &coordination, clock.clone(), seed)
            .unwrap(),
    )
}

/// What a controller did.
fn note(stage: &Stage, link: &str, look: &Look) {
    let mut world = stage.world.lock().unwrap();
    let what = match look {
        Look::Content => return,
        Look::Asks => "candidates asked",
        Look::Prefers(_) => "another preferred",
        Look::Granted(_) => "granted",
    };
    world.trace.note(stage.start, format_args!("{link} {look:?}"));
    world.saw(what);
    if matches!(look, Look::Granted(_)) && world.somebody_leads() {
        world.saw("granted while another leads");
    }
}

/// An API server whose controller may be running.
struct Seat {
    number: u64,
    link: String,
    still: Still,
    wall: Wall,
    running: Option<JoinHandle<()>>,
    /// It stays down until then.
    down_until: u64,
}

/// All that a run has beside its nodes.
pub(crate) struct Coordinated {
    stage: Stage,
    clocks: Clocks,
    seats: Vec<Seat>,
    /// Which of them have a turn.
    turn: Vec<bool>,
    next: u64,
    /// No process is cut off, and none was for so long, from this step on. Only where that counts.
    calm_from: u64,
    cut: Option<usize>,
    /// Who should lead, and since when it does not.
    passed_over: Option<(String, Instant)>,
}

impl Coordinated {
    pub(crate) fn new(stage: &Stage, dice: &mut Dice) -> Option<Self> {
        let Mode::Coordinated(clocks) = stage.mode else { return None };
        let seats = (0..SEATS).map(|n| {
            let wall = Wall::default();
            wall.put(clocks.of_controller(dice));
            let (number, link) = (stage.nodes + n, format!("c{n}"));
            Seat {
                number,
                link,
                still: Still::new(stage.start),
                wall,
                running: None,
                down_until: 0,
            }
        });
        let (seats, turn) = (seats.collect(), vec![true, false]);
        let (stage, next) = (stage.clone(), 1 + dice.roll(10 * STEPS));
        let mut all =
            Self { stage, clocks, seats, turn, next, calm_from: 0, cut: None, passed_over: None };
        all.take_turns(0);
        Some(all)
    }

    fn servers(&self) -> &Servers {
        match &*self.stage.backend {
            Backend::Server(servers) => servers,
            Backend::Memory(_) => unreachable!("a controller without a server"),
        }
    }

    fn saw(&self, what: &'static str) {
        self.stage.world.lock().unwrap().saw(what);
    }

    /// Those run whose turn it is, unless they are down, or their server has no such API.
    fn take_turns(&mut self, step: u64) {
        for i in 0..self.seats.len() {
            let seat = &self.seats[i];
            let runs = self.turn[i] && step >= seat.down_until && self.servers().gate(seat.number);
            match (&seat.running, runs) {
                (None, true) => {
                    let running = self.elects(seat);
                    self.seats[i].running = Some(running);
                }
                (Some(running), false) => {
                    running.abort();
                    self.seats[i].running = None;
                }
                _ => {}
            }
        }
    }

    /// It looks a moment after each write, and each round.
    fn elects(&self, seat: &Seat) -> JoinHandle<()> {
        let clock = Drifting {
            ppm: 0,
            still: seat.still.clone(),
            wall: seat.wall.clone(),
            timers: Arc::default(),
        };
        let client = self.servers().wired(&self.stage, &seat.still, seat.number, &seat.link);
        let controller = Controller::new(client, clock);
        let (stage, still, link) = (self.stage.clone(), seat.still.clone(), seat.link.clone());
        let mut written = stage.written.subscribe();
        tokio::spawn(async move {
            loop {
                still.goes_on().await;
                let look = tokio::time::timeout(ROUND, controller.step()).await;
                let pause = match look {
                    Ok(Ok(look)) => {
                        note(&stage, &link, &look);
                        ROUND
                    }
                    // A conflict, say.
                    _ => MS * 100,
                };
                let _ = tokio::time::timeout(pause, written.changed()).await;
                tokio::time::sleep(MS * 5).await;
            }
        })
    }

    /// Which node has which weather next, where one at a time may have any, and when to ask again.
    pub(crate) fn one_at_a_time(
        &mut self,
        step: u64,
        nodes: u64,
        dice: &mut Dice,
    ) -> Option<(usize, u64, u64)> {
        if self.clocks != Clocks::Ahead {
            return None;
        }
        if let Some(n) = self.cut.take() {
            self.calm_from = step + 15 * STEPS;
            return Some((n, 0, self.calm_from));
        }
        let n = dice.roll(nodes) as usize;
        if step < self.calm_from {
            return Some((n, 0, self.calm_from));
        }
        self.cut = Some(n);
        Some((n, 2 + dice.roll(2), step + (3 + dice.roll(20)) * STEPS))
    }

    /// Whether something may befall the nodes now.
    pub(crate) fn admits(&mut self, step: u64) -> bool {
        if self.clocks == Clocks::Ahead {
            if self.cut.is_some() || step < self.calm_from {
                return false;
            }
            self.calm_from = step + 15 * STEPS;
        }
        true
    }

    /// When something befalls them next.
    pub(crate) fn next(&self) -> u64 {
        let up = self.seats.iter().map(|seat| seat.down_until).filter(|until| *until > 0);
        up.chain([self.next]).min().unwrap_or(self.next)
    }

    /// What befalls the controllers, the API and the LeaseCandidates. Whether a node is to be
    /// replaced by one of another version.
    pub(crate) async fn trouble(&mut self, step: u64, dice: &mut Dice) -> Option<u64> {
        for seat in &mut self.seats {
            if seat.down_until <= step {
                seat.down_until = 0;
            }
        }
        self.take_turns(step);
        if step < self.next {
            return None;
        }
        self.next = step + 1 + dice.roll(10 * STEPS);
        let i = dice.roll(SEATS) as usize;
        match dice.roll(14) {
            0..=1 => {
                self.saw("controller stands still");
                self.seats[i].still.stand(500 + dice.roll(15_000));
            }
            2 => {
                self.saw("controller killed");
                if let Some(running) = self.seats[i].running.take() {
                    running.abort();
                }
                self.seats[i].down_until = step + 1 + dice.roll(20 * STEPS);
            }
            3 => {
                self.saw("no controller for long");
                for seat in &mut self.seats {
                    seat.down_until = step + (15 + dice.roll(45)) * STEPS;
                }
                self.next = step + 40 * STEPS;
            }
            4..=5 => {
                let first = dice.roll(2) == 0;
                self.turn = vec![first, !first];
                self.saw("controllers take turns");
            }
            6 => {
                self.turn = vec![true, true];
                self.saw("two controllers at once");
            }
            12 if self.clocks != Clocks::Ahead => {
                let (seat, weather) = (&self.seats[i], dice.roll(4));
                self.saw("controller in foul weather");
                let world = &self.stage.world;
                self.stage.backend.set_weather(world, seat.number, &seat.link, weather, dice);
            }
            7..=8 | 12 => {
                let ahead = self.clocks.of_controller(dice);
                self.seats[i].wall.put(ahead);
                self.saw(if ahead > 0 {
                    "controller's clock ahead"
                } else {
                    "controller's clock behind"
                });
            }
            9..=10 => self.switch(dice),
            11 => {
                let found = self.servers().candidates().await;
                if !found.is_empty() {
                    self.saw("candidate deleted");
                    let all = dice.roll(3) == 0;
                    let one = dice.roll(found.len() as u64) as usize;
                    for (n, candidate) in found.iter().enumerate() {
                        if all || n == one {
                            self.servers().delete_candidate(candidate).await;
                        }
                    }
                    self.stage.poke();
                }
            }
            _ if self.admits(step) => {
                self.saw("rolled out");
                let n = dice.roll(self.stage.nodes);
                self.stage.emulated.lock().unwrap()[n as usize] = 1 + dice.roll(9);
                self.take_turns(step);
                return Some(n);
            }
            _ => {}
        }
        self.take_turns(step);
        None
    }

    /// Switches the API on or off, at all servers or at some.
    fn switch(&self, dice: &mut Dice) {
        let all = self.stage.nodes + SEATS;
        let on = !(0..all).all(|n| self.servers().gate(n));
        let some = !on && dice.roll(2) == 0;
        for n in 0..all {
            self.servers().set_gate(n, on || some && dice.roll(2) == 0);
        }
        self.saw(match (on, some) {
            (true, _) => "API switched on",
            (_, true) => "API switched off at some servers",
            _ => "API switched off",
        });
    }

    /// The faults are over.
    pub(crate) async fn be_fair(&mut self, running: &[Node], dice: &mut Dice) {
        // Those that are gone seem to be there for as long as clocks differ, and would be elected
        // again and again.
        for candidate in self.servers().candidates().await {
            if self.clocks == Clocks::Hours && !is_alive(&candidate, running) {
                self.servers().delete_candidate(&candidate).await;
            }
        }
        let finally = finally(self.stage.seed);
        for n in 0..self.stage.nodes + SEATS {
            self.servers().set_gate(n, finally != Finally::NoApi);
            // A connection that had fallen silent ends. That silence alone is noticed too, after
            // 150 s, is a test of its own.
            self.servers().end_silence(n);
        }
        self.turn = vec![finally == Finally::Controller, false];
        for seat in &mut self.seats {
            seat.down_until = 0;
            seat.still = Still::new(self.stage.start);
            if let Some(running) = seat.running.take() {
                running.abort();
            }
            let world = &self.stage.world;
            self.stage.backend.set_weather(world, seat.number, &seat.link, 0, dice);
        }
        self.take_turns(u64::MAX);
    }

    /// The controllers look no more.
    pub(crate) fn end(&mut self) {
        for seat in &mut self.seats {
            if let Some(running) = seat.running.take() {
                running.abort();
            }
        }
    }

    /// Beyond what it takes where nobody else elects, in fair weather.
    pub(crate) fn unled_longer(&self) -> Duration {
        match finally(self.stage.seed) {
            // A lease that has run out seems to hold for the skew, the controller looks, asks, and
            // the answers are in; or candidates give it up.
            Finally::Controller => (self.clocks.skew() + ROUND * 2).min(SILENCE),
            Finally::NoApi | Finally::Nobody => SILENCE,
        }
    }

    /// And until whom the rule prefers leads: somebody does by then; one that is gone is taken to
    /// be there for the skew; the controller looks and asks; the lesser one winds up, and if it
    /// does not give back in time its lease runs out, and the controller looks and asks once more.
    fn passed_over_at_most(&self, config: &Config, unled: Duration) -> Duration {
        let election = ROUND * 2;
        let ends = config.drain_timeout() + config.lease_duration() + config.takeover_jitter();
        unled + self.clocks.skew() + election + ends + election
    }

    /// Once a second: whether whom the rule prefers is passed over.
    pub(crate) async fn check(&mut self, running: &[Node], unled: Duration, since: Instant) {
        // Where clocks differ by hours those that are gone are taken to be there for as long, and
        // may be preferred.
        let preferred =
            finally(self.stage.seed) == Finally::Controller && self.clocks != Clocks::Hours;
        if !preferred || plain(&self.stage).is_some() {
            return;
        }
        let alive = |candidate: &LeaseCandidate| is_alive(candidate, running);
        let found = self.servers().candidates().await;
        if !found.iter().all(alive) {
            self.saw("left behind");
        }
        let best =
            found.iter().filter(|candidate| alive(candidate)).min_by(|a, b| by_preference(a, b));
        let best = best.and_then(|best| best.metadata.name.clone());
        let leader = self.stage.world.lock().unwrap().leader();
        let leads = |name: &str| {
            running.iter().any(|node| {
                node.elector.config().identity() == name && leader.as_deref() == Some(&*node.link)
            })
        };
        if best.as_deref().is_some_and(leads) {
            self.saw("the preferred one leads");
        }
        let Some(best) = best.filter(|best| !leads(best)) else {
            self.passed_over = None;
            return;
        };
        let from = match &self.passed_over {
            Some((name, from)) if *name == best => *from,
            _ => Instant::now().max(since + LATEST),
        };
        let bound = self.passed_over_at_most(running[0].elector.config(), unled);
        let passed = from.elapsed();
        if passed > bound {
            let story = self.stage.world.lock().unwrap().trace.story();
            panic!(
                "seed {}: {best} is preferred and {leader:?} leads, for {passed:?}\n{story}",
                self.stage.seed
            );
        }
        self.passed_over = Some((best, from));
    }
}

fn is_alive(candidate: &LeaseCandidate, running: &[Node]) -> bool {
    let name = candidate.metadata.name.as_deref();
    running.iter().any(|node| Some(node.elector.config().identity()) == name)
}

/// Whether an elector stands on from one term to the next. It does not follow the Lease meanwhile.
pub(crate) fn stands_on(mode: Mode, dice: &mut Dice) -> bool {
    mode.is_coordinated() && dice.roll(3) != 0
}

/// Whether the Lease may stay held when all have stopped.
pub(crate) fn may_stay_held(stage: &Stage, holder: &str) -> bool {
    keeps(stage).is_some_and(|n| holder.starts_with(&format!("n{n}")))
}
