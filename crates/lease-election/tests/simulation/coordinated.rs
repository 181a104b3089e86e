//! Coordinated: the electors and the controllers of two API servers, with the controllers' faults.

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

/// The number of API servers with a controller.
pub(crate) const SEATS: u64 = 2;

/// The fair part lasts longer here: until all requests have arrived, a candidate leads, and the
/// preferred one leads.
pub(crate) const LONGER: u64 = 80 * STEPS;

/// The time without a grant after which candidates elect alone (`decide::coordinated::SILENCE`).
const SILENCE: Duration = Duration::from_secs(30);

const MS: Duration = Duration::from_millis(1);

/// The differences between the wall clocks of controllers and electors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clocks {
    /// No controller's clock is ahead of an elector's, or behind by more than some seconds.
    Seconds,
    /// As `Seconds`, but behind by hours: expired leases look as if they held.
    Hours,
    /// A controller's clock may be ahead by more than a lease, so that leases in force look
    /// expired. The granted candidate must then have seen the last renewal, or wait (A9). So one
    /// process at a time is cut off, and only after two calm leases. No process returns under a
    /// known name either.
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

    /// The spread in milliseconds.
    fn spread(self) -> u64 {
        match self {
            Self::Seconds => 3000,
            Self::Hours => 5_000_000,
            Self::Ahead => 15_000,
        }
    }

    /// The milliseconds by which an elector's wall clock is ahead.
    pub(crate) fn of_elector(self, dice: &mut Dice) -> i64 {
        let ahead = dice.roll(self.spread() + 1) as i64;
        if self == Self::Ahead { ahead - self.spread() as i64 / 2 } else { ahead }
    }

    fn of_controller(self, dice: &mut Dice) -> i64 {
        let behind = -(dice.roll(self.spread() + 1) as i64);
        if self == Self::Ahead { behind + self.spread() as i64 / 2 } else { behind }
    }

    /// How long a controller may take an expired lease to hold.
    fn skew(self) -> Duration {
        MS * (if self == Self::Ahead { self.spread() } else { 2 * self.spread() }) as u32
    }
}

/// The election in the fair part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Finally {
    Controller,
    /// No server has the API.
    NoApi,
    /// The API is there, but no controller.
    Nobody,
}

fn finally(seed: u64) -> Finally {
    match seed / 9 % 6 {
        4 => Finally::NoApi,
        5 => Finally::Nobody,
        _ => Finally::Controller,
    }
}

/// The node that elects by the Lease alone and knows of no controller, if there is one.
fn plain(stage: &Stage) -> Option<u64> {
    (stage.seed / 9 % 4 == 1).then(|| stage.nodes - 1)
}

/// The node that releases nothing, if there is one.
fn keeps(stage: &Stage) -> Option<u64> {
    (stage.seed / 9 % 5 == 2).then_some(0)
}

/// Makes an elector that the controller knows; `None` if the node needs another kind.
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

/// Notes a step of a controller.
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

/// An API server whose controller may run.
struct Seat {
    number: u64,
    link: String,
    still: Still,
    wall: Wall,
    running: Option<JoinHandle<()>>,
    /// The controller stays down until this step.
    down_until: u64,
}

/// The parts of a coordinated run besides its nodes.
pub(crate) struct Coordinated {
    stage: Stage,
    clocks: Clocks,
    seats: Vec<Seat>,
    /// Whether each controller has its turn.
    turn: Vec<bool>,
    next: u64,
    /// From this step on, every process has been connected for long enough. Only `Clocks::Ahead`
    /// needs it.
    calm_from: u64,
    cut: Option<usize>,
    /// The candidate that should lead, and since when it does not.
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

    /// Runs each controller that has its turn, is not down, and whose server has the API.
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

    /// Starts a controller, which looks shortly after each write, and in each round.
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
                    // For example, a conflict.
                    _ => MS * 100,
                };
                let _ = tokio::time::timeout(pause, written.changed()).await;
                tokio::time::sleep(MS * 5).await;
            }
        })
    }

    /// The next node, its weather, and the step to ask again, if only one node at a time may have
    /// bad weather.
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

    /// Whether faults may hit the nodes now.
    pub(crate) fn admits(&mut self, step: u64) -> bool {
        if self.clocks == Clocks::Ahead {
            if self.cut.is_some() || step < self.calm_from {
                return false;
            }
            self.calm_from = step + 15 * STEPS;
        }
        true
    }

    /// The step of the controllers' next fault.
    pub(crate) fn next(&self) -> u64 {
        let up = self.seats.iter().map(|seat| seat.down_until).filter(|until| *until > 0);
        up.chain([self.next]).min().unwrap_or(self.next)
    }

    /// Faults of the controllers, the API and the LeaseCandidates. Returns a node to replace by
    /// another version.
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

    /// Ends the faults.
    pub(crate) async fn be_fair(&mut self, running: &[Node], dice: &mut Dice) {
        // While clocks differ by hours, the candidates of ended nodes seem alive, and would be
        // elected again and again.
        for candidate in self.servers().candidates().await {
            if self.clocks == Clocks::Hours && !is_alive(&candidate, running) {
                self.servers().delete_candidate(&candidate).await;
            }
        }
        let finally = finally(self.stage.seed);
        for n in 0..self.stage.nodes + SEATS {
            self.servers().set_gate(n, finally != Finally::NoApi);
            // Ends a connection that fell silent. Another test shows that an elector notices the
            // silence by itself, after 150 s.
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

    /// Stops the controllers.
    pub(crate) fn end(&mut self) {
        for seat in &mut self.seats {
            if let Some(running) = seat.running.take() {
                running.abort();
            }
        }
    }

    /// The additional time without a leader in fair weather, where a controller may elect.
    pub(crate) fn unled_longer(&self) -> Duration {
        match finally(self.stage.seed) {
            // An expired lease seems to hold for the skew. Then the controller looks, asks, and has
            // the answers; or candidates give the controller up.
            Finally::Controller => (self.clocks.skew() + ROUND * 2).min(SILENCE),
            Finally::NoApi | Finally::Nobody => SILENCE,
        }
    }

    /// The longest time until the preferred candidate leads:
    /// - Some candidate leads, and an ended one seems alive for the skew.
    /// - The controller looks and asks.
    /// - The lesser leader winds up. If it does not release in time, its lease expires.
    /// - The controller looks and asks again.
    fn passed_over_at_most(&self, config: &Config, unled: Duration) -> Duration {
        let election = ROUND * 2;
        let ends = config.drain_timeout() + config.lease_duration() + config.takeover_jitter();
        unled + self.clocks.skew() + election + ends + election
    }

    /// Checks once a second that the preferred candidate leads, or has not waited for too long.
    pub(crate) async fn check(&mut self, running: &[Node], unled: Duration, since: Instant) {
        // While clocks differ by hours, ended candidates seem alive, and may be preferred.
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

/// Whether the Lease may stay held after all electors have stopped.
pub(crate) fn may_stay_held(stage: &Stage, holder: &str) -> bool {
    keeps(stage).is_some_and(|n| holder.starts_with(&format!("n{n}")))
}
