//! Coordinated: election on an API server, with the test's own controller, which looks shortly
//! after each change.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use kube::Api;
use kube::api::DeleteParams;
use lease_election::{
    Candidacy, Clock, Config, ConfigBuilder, Coordination, Ending, KubeLeaseStore, LeaderElector,
    Loss, Moment, Outcome, Sleep, TokioClock, WithoutApi, observe_with_clock,
};
use tokio::time::Instant;

use crate::cluster::{Replica, sleep_ms};
use crate::controller::{Controller, STRATEGY};
use crate::events::{events, messages};

pub(crate) fn candidates(server: &EmbeddedApiServer) -> Api<LeaseCandidate> {
    Api::namespaced(server.client(), "default")
}

pub(crate) fn leases(server: &EmbeddedApiServer) -> Api<Lease> {
    Api::namespaced(server.client(), "default")
}

pub(crate) async fn lease(server: &EmbeddedApiServer) -> Option<LeaseSpec> {
    leases(server).get_opt("lease").await.unwrap().and_then(|lease| lease.spec)
}

/// An elector that emulates this version, with leases of 5 s.
pub(crate) fn elector(
    server: &EmbeddedApiServer,
    clock: TokioClock,
    identity: &str,
    emulation: &str,
    policy: WithoutApi,
) -> LeaderElector {
    let config = Config::builder("default", "lease").fast();
    elector_of(server, clock, config, identity, emulation, policy)
}

pub(crate) fn elector_of(
    server: &EmbeddedApiServer,
    clock: TokioClock,
    config: ConfigBuilder,
    identity: &str,
    emulation: &str,
    policy: WithoutApi,
) -> LeaderElector {
    let config = config.identity(identity);
    let coordination = Coordination::new("1.9.0").emulating(emulation).without_api(policy);
    let seed = identity.bytes().fold(7, |seed, byte| seed * 31 + u64::from(byte));
    let client = server.client_as(identity);
    LeaderElector::coordinated_with_clock(client, config, &coordination, clock, seed).unwrap()
}

/// A clock whose wall clock is ahead of the electors' by these seconds.
#[derive(Clone, Debug)]
struct Ahead(TokioClock, Arc<AtomicI64>);

impl Clock for Ahead {
    fn now(&self) -> Moment {
        self.0.now()
    }
    fn wall(&self) -> Timestamp {
        self.0.wall() + SignedDuration::from_secs(self.1.load(Ordering::SeqCst))
    }
    fn sleep_until(&self, deadline: Moment) -> Sleep {
        self.0.sleep_until(deadline)
    }
}

pub(crate) struct World {
    pub(crate) server: EmbeddedApiServer,
    pub(crate) clock: TokioClock,
    /// The seconds by which the controller's wall clock is ahead.
    pub(crate) ahead: Arc<AtomicI64>,
    _controller: Option<tokio::task::JoinHandle<()>>,
}

impl World {
    pub(crate) fn new(ahead: i64) -> Self {
        let mut world = Self::without_controller();
        world.ahead.store(ahead, Ordering::SeqCst);
        world._controller = Some(world.controller());
        world
    }

    pub(crate) fn without_controller() -> Self {
        let server = EmbeddedApiServer::builder().seed(1).build();
        Self { server, clock: TokioClock::new(), ahead: Arc::default(), _controller: None }
    }

    /// It looks every 20 ms.
    fn controller(&self) -> tokio::task::JoinHandle<()> {
        let clock = Ahead(self.clock, Arc::clone(&self.ahead));
        let controller = Controller::new(self.server.client(), clock);
        tokio::spawn(async move {
            loop {
                sleep_ms(20).await;
                // A conflict leads to another look.
                let _ = controller.step().await;
            }
        })
    }

    pub(crate) fn elector(&self, identity: &str, emulation: &str) -> LeaderElector {
        elector(&self.server, self.clock, identity, emulation, WithoutApi::Elect)
    }

    pub(crate) fn replica(&self, identity: &str, emulation: &str) -> Replica {
        Replica::start(self.elector(identity, emulation), Duration::ZERO)
    }

    pub(crate) async fn stands(&self, identity: &str) -> bool {
        candidates(&self.server).get_opt(identity).await.unwrap().is_some()
    }
}

pub(crate) fn is_valid(replica: &Replica) -> bool {
    replica.terms.lock().unwrap().last().is_some_and(|led| led.leadership.is_valid())
}

#[tokio::test(start_paused = true)]
async fn the_older_emulation_version_leads_and_a_lesser_leader_makes_way_for_it_at_once() {
    let world = World::new(0);
    let mut newer = world.replica("newer", "1.5.0");
    newer.leads().await;
    assert_eq!(newer.elector.status().candidacy, Some(Candidacy::Standing));
    let led = lease(&world.server).await.unwrap();
    assert_eq!((led.strategy.as_deref(), led.lease_duration_seconds), (Some(STRATEGY), Some(5)));
    sleep_ms(20_000).await;
    assert_eq!(newer.terms.lock().unwrap().len(), 1, "one term, renewed");

    let began = Instant::now();
    let older = world.replica("older", "1.4.0");
    let leads = older.leads().await;
    assert_eq!((&mut newer.run).await.unwrap(), Outcome::Finished(Ending::StopRequested));
    let ended = newer.last().ended.unwrap();
    assert!(ended <= leads, "the work had ended");
    assert!(leads - began < Duration::from_millis(500), "{:?}", leads - began);
    assert!(older.fence() > newer.fence());
    sleep_ms(10_000).await;
    assert!(is_valid(&older));
}

#[tokio::test(start_paused = true)]
async fn who_runs_for_ever_stands_on_after_it_made_way_and_leads_again_when_the_better_one_goes() {
    let world = World::new(0);
    let newer = world.elector("newer", "1.5.0");
    let (running, terms) = (newer.clone(), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&terms);
    let run = tokio::spawn(async move {
        let work = move |leadership: lease_election::Leadership| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                leadership.ending().await;
            }
        };
        running.run_forever(work).await;
    });
    sleep_ms(3000).await;
    assert!(newer.is_leader());
    let older = world.replica("older", "1.4.0");
    older.leads().await;
    sleep_ms(5000).await;
    assert!(!newer.is_leader() && world.stands("newer").await);
    assert_eq!(newer.stats().losses, lease_election::Losses::default(), "it lost nothing");

    let stopped = Instant::now();
    older.elector.stop_handle().stop();
    older.run.await.unwrap();
    assert!(!world.stands("older").await);
    let last = |resource: &str| {
        let log = world.server.requests().writes_to(resource).by("older");
        log.entries().last().expect("it wrote").seq
    };
    assert!(last("leasecandidates") < last("leases"), "taken back before the lease is given back");
    while !newer.is_leader() {
        sleep_ms(1).await;
    }
    assert!(stopped.elapsed() < Duration::from_millis(500), "{:?}", stopped.elapsed());
    assert_eq!(terms.load(Ordering::SeqCst), 2);
    newer.stop_handle().stop();
    run.await.unwrap();
    assert!(!world.stands("newer").await);
    assert_eq!(newer.status().candidacy, Some(Candidacy::Withdrawn));
    assert_eq!(lease(&world.server).await.unwrap().holder_identity.as_deref(), Some(""));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_crashed_is_replaced_and_a_candidate_that_is_deleted_stands_again() {
    let world = World::new(0);
    let best = world.replica("best", "1.4.0");
    best.leads().await;
    let other = world.replica("other", "1.5.0");
    sleep_ms(10_000).await;
    candidates(&world.server).delete("other", &DeleteParams::default()).await.unwrap();
    sleep_ms(100).await;
    assert!(world.stands("other").await, "made again at once");

    world.server.faults().partition("best");
    let crashed = Instant::now();
    let next = other.leads().await;
    assert!(
        best.last()
            .told
            .is_some_and(|(at, ending)| at < next && ending == Ending::Lost(Loss::Expired))
    );
    assert!(
        next - crashed < Duration::from_secs(16),
        "a lease and a round of questions: {:?}",
        next - crashed
    );
    // The best candidate returns after its partition, and is preferred.
    world.server.faults().heal("best");
    sleep_ms(1000).await;
    assert!(is_valid(&other) || other.run.is_finished());
}

/// By the server's wall clock the leader's renewals are long past. The controller asks it to make
/// way all the same, and does not rob it.
#[tokio::test(start_paused = true)]
async fn a_leader_whose_wall_clock_is_behind_keeps_its_term_until_it_has_made_way() {
    let world = World::new(60);
    let newer = world.replica("newer", "1.5.0");
    newer.leads().await;
    // A grant and a lease are for 5 s, less than the clocks differ.
    sleep_ms(70_000).await;
    assert_eq!(newer.terms.lock().unwrap().len(), 1);
    let older = world.replica("older", "1.4.0");
    older.leads().await;
    assert_eq!(newer.last().told.map(|(_, ending)| ending), Some(Ending::StopRequested));
    assert_eq!(newer.run.await.unwrap(), Outcome::Finished(Ending::StopRequested));
}

#[tokio::test(start_paused = true)]
async fn where_nobody_elects_a_candidate_elects_alone_after_half_a_minute_or_waits_as_it_is_told() {
    let world = World::without_controller();
    let waits = elector(&world.server, world.clock, "waits", "1.4.0", WithoutApi::Wait);
    let waits = Replica::start(waits, Duration::ZERO);
    let one = world.replica("one", "1.4.0");
    sleep_ms(29_000).await;
    assert!(!is_valid(&one) && lease(&world.server).await.is_none());
    sleep_ms(2000).await;
    assert!(is_valid(&one));
    assert_eq!(one.elector.status().candidacy, Some(Candidacy::NobodyElects));
    sleep_ms(100_000).await;
    assert!(!is_valid(&waits));
    assert_eq!(waits.elector.status().candidacy, Some(Candidacy::Standing));

    // A controller appears, and prefers another candidate.
    let _controller = world.controller();
    let older = world.replica("older", "1.3.0");
    older.leads().await;
    assert!(!is_valid(&one));
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_the_first_term_takes_the_candidate_back_and_strands_no_grant() {
    let world = World::new(0);
    let best = world.replica("best", "1.4.0");
    best.leads().await;
    let other = world.replica("other", "1.5.0");
    sleep_ms(3000).await;
    other.elector.stop_handle().stop();
    assert_eq!(other.run.await.unwrap(), Outcome::NeverLed);
    assert!(!world.stands("other").await);
    sleep_ms(3000).await;
    assert!(is_valid(&best));
}

/// The earlier run still winds up when the next one stands, and withdraws only its own candidate.
#[tokio::test(start_paused = true)]
async fn who_abandons_a_run_and_begins_another_stands_and_leads_again() {
    for wind_up in [0, 2000] {
        let world = World::new(0);
        let elector = world.elector("one", "1.4.0");
        let begun = Arc::new(AtomicU32::new(0));
        for run in 1..4 {
            let begins = Arc::clone(&begun);
            let work = move |leadership: lease_election::Leadership| {
                begins.fetch_add(1, Ordering::SeqCst);
                async move {
                    leadership.ending().await;
                    sleep_ms(wind_up).await;
                }
            };
            let leads = async {
                while begun.load(Ordering::SeqCst) < run {
                    sleep_ms(5).await;
                }
            };
            tokio::select! {
                biased;
                outcome = elector.run(work) => panic!("run {run} ended: {outcome:?}"),
                led = tokio::time::timeout(Duration::from_secs(30), leads) => assert!(led.is_ok(), "run {run}"),
            }
        }
    }
}

/// Requests of dropped work may land for a stop margin. No other candidate leads sooner.
#[tokio::test(start_paused = true)]
async fn a_leader_that_makes_way_too_slowly_gives_nothing_back_while_its_writes_may_land() {
    let world = World::new(0);
    let config = Config::builder("default", "lease").fast().drain_timeout(Duration::from_secs(2));
    let newer = elector_of(&world.server, world.clock, config, "newer", "1.5.0", WithoutApi::Elect);
    let (running, (told, mut term)) = (newer.clone(), tokio::sync::watch::channel(None));
    tokio::spawn(async move {
        let work = move |leadership: lease_election::Leadership| {
            told.send_replace(Some(leadership));
            std::future::pending()
        };
        running.run_forever(work).await;
    });
    let term = term.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    // Right after a renewal, its lease would expire in 5 s.
    sleep_ms(1500).await;
    let older = world.replica("older", "1.4.0");
    assert_eq!(term.lost().await, Loss::Overran);
    let dropped = Instant::now();
    let took = older.leads().await - dropped;
    assert!(took >= Duration::from_secs(1), "{took:?}");
    assert!(took < Duration::from_millis(1500), "given back then: {took:?}");
    sleep_ms(5000).await;
    assert!(is_valid(&older) && world.stands("newer").await);
}

/// The candidate warms up.
#[tokio::test(start_paused = true)]
async fn a_cold_candidate_is_granted_nothing() {
    let world = World::new(0);
    let cold = world.elector("a", "1.7.0");
    let warm_up = cold.warm_up(Duration::from_secs(60));
    let a = Replica::start(cold, Duration::ZERO);
    let b = world.replica("b", "1.8.0");
    b.leads().await;
    sleep_ms(5000).await;
    assert!(is_valid(&b) && a.terms.lock().unwrap().is_empty());
    assert_ne!(a.elector.status().candidacy, Some(Candidacy::Standing));
    // It emulates the older version, so the controller prefers it from here on.
    drop(warm_up);
    a.leads().await;
    assert_eq!(a.elector.status().candidacy, Some(Candidacy::Standing));
    // A warm-up ends no candidacy of a leader.
    let _cold = a.elector.warm_up(Duration::from_secs(60));
    sleep_ms(10_000).await;
    assert!(is_valid(&a));
    assert_eq!(a.elector.status().candidacy, Some(Candidacy::Standing));
    a.run.abort();
    b.run.abort();
}

/// The elector's own client writes an Event at the beginning and at the end of each term.
#[tokio::test(start_paused = true)]
async fn a_coordinated_term_is_told_by_events() {
    let world = World::new(0);
    let config = Config::builder("default", "lease").fast().identity("a");
    let coordination = Coordination::new("1.9.0").with_events("controller");
    let client = world.server.client_as("a");
    let a = LeaderElector::coordinated_with_clock(client, config, &coordination, world.clock, 7)
        .unwrap();
    let mut a = Replica::start(a, Duration::ZERO);
    a.leads().await;
    assert_eq!(a.elector.status().candidacy, Some(Candidacy::Standing));
    a.elector.stop_handle().stop();
    (&mut a.run).await.unwrap();
    sleep_ms(1).await;
    let told = events(&world.server).await;
    assert_eq!(messages(&told), ["a became leader", "a stopped leading"]);
    assert!(
        told.iter()
            .all(|event| event.source.as_ref().unwrap().component.as_deref() == Some("controller"))
    );
}

/// A stage of `--full` runs these tests; the stage `test` skips `long`.
mod long {
    use super::*;

    /// The controller's wall clock jumps ahead: leases of 15 s look expired 3 s after their last
    /// renewal.
    #[tokio::test(start_paused = true)]
    async fn a_controller_whose_wall_clock_is_ahead_makes_no_two_leaders() {
        for moment in [300, 1000, 1700] {
            let world = World::new(0);
            let replica = |identity, emulation| {
                let config = Config::builder("default", "lease");
                let elector = elector_of(
                    &world.server,
                    world.clock,
                    config,
                    identity,
                    emulation,
                    WithoutApi::Elect,
                );
                Replica::start(elector, Duration::ZERO)
            };
            let best = replica("best", "1.4.0");
            best.leads().await;
            let other = replica("other", "1.5.0");
            sleep_ms(10_000 + moment).await;
            assert!(is_valid(&best), "a healthy leader is not robbed");
            world.server.faults().partition("best");
            world.ahead.store(12, Ordering::SeqCst);
            let cut = Instant::now();
            let granted = loop {
                sleep_ms(10).await;
                if lease(&world.server).await.unwrap().holder_identity.as_deref() == Some("other") {
                    break Instant::now();
                }
            };
            assert!(is_valid(&best), "the grant was early: {:?}", granted - cut);
            let next = other.leads().await;
            let (told, ending) = best.last().told.expect("its term is over");
            assert_eq!(ending, Ending::Lost(Loss::Expired));
            assert!(
                told + Duration::from_millis(1900) <= next,
                "the stop margin is kept: {told:?} {next:?}"
            );
        }
    }

    /// A controller whose clock is behind believes that an ended candidate has just answered. It
    /// grants it each free lease, and asks all others to make way. They elect alone half a minute
    /// after each grant (5 s), until the LeaseCandidate is deleted.
    #[tokio::test(start_paused = true)]
    async fn one_that_is_gone_and_that_a_clock_far_behind_keeps_electing_costs_a_bound_each_time_until_its_candidate_is_deleted()
     {
        let world = World::new(-3600);
        let gone = world.replica("gone", "1.4.0");
        gone.leads().await;
        let lives = world.elector("lives", "1.5.0");
        let began: Arc<std::sync::Mutex<Vec<(Instant, lease_election::Leadership)>>> =
            Arc::default();
        let (running, noted) = (lives.clone(), Arc::clone(&began));
        let run = tokio::spawn(async move {
            let work = move |leadership: lease_election::Leadership| {
                noted.lock().unwrap().push((Instant::now(), leadership.clone()));
                async move {
                    leadership.ending().await;
                }
            };
            running.run_forever(work).await;
        });
        sleep_ms(10_000).await;
        world.server.faults().partition("gone");
        let mut unled_since = Instant::now();
        let most = Duration::from_secs(5 + 30 + 2);
        for term in 0..2 {
            while began.lock().unwrap().len() <= term {
                sleep_ms(50).await;
                assert!(
                    unled_since.elapsed() < most,
                    "nobody leads for {:?}",
                    unled_since.elapsed()
                );
            }
            let (began_at, leadership) = began.lock().unwrap()[term].clone();
            let took = began_at - unled_since;
            assert!(took > Duration::from_secs(30), "it is elected, and gone: {took:?}");
            leadership.lost().await;
            unled_since = Instant::now();
        }
        candidates(&world.server).delete("gone", &DeleteParams::default()).await.unwrap();
        sleep_ms(u64::try_from(most.as_millis()).unwrap()).await;
        assert!(lives.is_leader());
        let terms = began.lock().unwrap().len();
        sleep_ms(10_000).await;
        assert!(
            lives.is_leader() && began.lock().unwrap().len() == terms,
            "it is asked to make way no more"
        );
        lives.stop_handle().stop();
        run.await.unwrap();
    }

    /// A leader keeps to the time of its grant. If the server's clock is set back meanwhile, the
    /// leader's times are ahead by as much. That harms no leader, and no candidate that elects
    /// alone.
    ///
    /// If the leader crashes in that term, the controller notices it later by as much. That is less
    /// than half an hour, because a clock further ahead takes all candidates for dead. The other
    /// candidates elect alone half a minute after the lease has expired.
    #[tokio::test(start_paused = true)]
    async fn a_leader_elected_by_a_clock_that_was_ahead_and_is_set_right_is_replaced_when_it_crashes()
     {
        let world = World::new(1200);
        let best = world.replica("best", "1.4.0");
        best.leads().await;
        let other = world.replica("other", "1.5.0");
        sleep_ms(10_000).await;
        world.ahead.store(0, Ordering::SeqCst);
        sleep_ms(60_000).await;
        assert!(is_valid(&best) && best.terms.lock().unwrap().len() == 1, "it leads on");
        let mut seen = Box::pin(observe_with_clock(
            KubeLeaseStore::new(world.server.client(), other.elector.config()),
            other.elector.config(),
            world.clock,
        ));
        assert_eq!(seen.next().await, Some(Some("best".into())));

        world.server.faults().partition("best");
        let crashed = Instant::now();
        assert_eq!(seen.next().await, Some(None), "an observer goes by its own clock");
        assert!(crashed.elapsed() <= Duration::from_millis(5100), "{:?}", crashed.elapsed());
        let took = other.leads().await - crashed;
        assert!(best.last().told.is_some_and(|(_, ending)| ending == Ending::Lost(Loss::Expired)));
        assert!(took < Duration::from_secs(37), "{took:?}");
        assert!(
            took > Duration::from_secs(30),
            "the controller goes by what stands there: {took:?}"
        );
    }
}
