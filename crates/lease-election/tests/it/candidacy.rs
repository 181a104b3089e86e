//! Candidacy: a candidate of a coordinated election that the server refuses something, or whose
//! name is taken.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use kube::api::DeleteParams;
use lease_election::{
    Candidacy, Config, ConfigBuilder, Coordination, Ending, HandOverError, LeaderElector,
    Leadership, Maintenance, Outcome, StoreError, WithoutApi,
};
use tokio::time::Instant;

use crate::cluster::{Replica, sleep_ms};
use crate::coordinated::{World, candidates, elector_of, is_valid, lease, leases};

fn candidacy(replica: &Replica) -> Candidacy {
    replica.elector.status().candidacy.unwrap()
}

fn is_forbidden(candidacy: &Candidacy) -> bool {
    matches!(
        candidacy,
        Candidacy::Unwatched(StoreError::Rejected { code: 403, .. })
            | Candidacy::Refused(StoreError::Rejected { code: 403, .. })
    )
}

fn forbid(world: &World, what: Match) {
    world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(what, Fault::Forbidden)));
}

/// A forbidden API is not an absent one.
#[tokio::test(start_paused = true)]
async fn one_that_may_not_even_ask_for_the_api_says_so_and_does_not_elect_alone() {
    let world = World::new(0);
    forbid(&world, Match::any().user("one").except_resource("leases"));
    let one = world.replica("one", "1.5.0");
    sleep_ms(100_000).await;
    let candidacy_of = candidacy(&one);
    assert!(
        matches!(&candidacy_of, Candidacy::Refused(_)) && is_forbidden(&candidacy_of),
        "{candidacy_of:?}"
    );
    assert!(one.terms.lock().unwrap().is_empty());
    let asked = world.server.requests().all().by("one").except_resource("leases").count();
    assert!(asked < 40, "{asked} requests in 100 s");
    world.server.faults().clear();
    one.leads().await;
    assert_eq!(candidacy(&one), Candidacy::Standing);
}

#[tokio::test(start_paused = true)]
async fn of_two_elections_with_one_identity_the_second_says_what_is_wrong_and_leaves_the_first_alone()
 {
    let world = World::new(0);
    let first = world.replica("pod", "1.5.0");
    first.leads().await;
    let config = Config::builder("default", "other").fast();
    let second = elector_of(&world.server, world.clock, config, "pod", "1.5.0", WithoutApi::Elect);
    let second = Replica::start(second, Duration::ZERO);
    sleep_ms(5000).await;
    let taken = Candidacy::NameTaken { lease: "lease".into() };
    assert_eq!((candidacy(&first), candidacy(&second)), (Candidacy::Standing, taken));
    let written = || world.server.requests().writes_to("leasecandidates").by("pod").count();
    let before = written();
    sleep_ms(60_000).await;
    assert_eq!(written(), before, "they do not fight");
    assert!(is_valid(&first) && first.terms.lock().unwrap().len() == 1);

    first.elector.stop_handle().stop();
    assert_eq!(first.run.await.unwrap(), Outcome::Finished(Ending::StopRequested));
    sleep_ms(2000).await;
    assert_eq!(candidacy(&second), Candidacy::Standing, "when the name is free");
    second.elector.stop_handle().stop();
    second.run.await.unwrap();
}

/// Starts an elector that is granted the lease and cannot claim it.
async fn granted(world: &World, config: ConfigBuilder) -> Replica {
    forbid(world, Match::any().user("one").resource("leases").writes());
    let one = elector_of(&world.server, world.clock, config, "one", "1.5.0", WithoutApi::Elect);
    let one = Replica::start(one, Duration::ZERO);
    while holder(world).await.is_empty() {
        sleep_ms(10).await;
    }
    sleep_ms(100).await;
    one
}

async fn holder(world: &World) -> String {
    lease(&world.server).await.and_then(|lease| lease.holder_identity).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_meets_maintenance_is_given_back_and_not_left_to_run_out() {
    let world = World::new(0);
    let one = granted(&world, Config::builder("default", "lease").fast()).await;
    one.elector.maintenance().begin();
    world.server.faults().clear();
    sleep_ms(1500).await;
    assert_eq!(holder(&world).await, "");
    assert!(!world.stands("one").await && one.terms.lock().unwrap().is_empty());
    one.elector.maintenance().end();
    one.leads().await;
}

/// Maintenance begins while the claim is answered, and ends while the candidate is withdrawn for
/// it. The next look at the switch finds nothing.
#[tokio::test(start_paused = true)]
async fn one_that_declines_for_a_maintenance_that_has_ended_since_stands_again() {
    let world = World::new(0);
    let switch: Arc<OnceLock<Maintenance>> = Arc::default();
    let (inner, ours) = (world.server.client_as("one"), Arc::clone(&switch));
    let claims = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&claims);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (inner, ours, counted) = (inner.clone(), Arc::clone(&ours), Arc::clone(&counted));
        async move {
            let path = request.uri().path();
            let claims = request.method() == http::Method::PUT && path.contains("/leases/");
            let withdraws =
                request.method() == http::Method::DELETE && path.contains("/leasecandidates/");
            if withdraws {
                ours.get().unwrap().end();
            }
            let answer = inner.send(request).await;
            if claims && counted.fetch_add(1, Ordering::SeqCst) == 0 {
                ours.get().unwrap().begin();
            }
            answer
        }
    });
    let config = Config::builder("default", "lease").fast().identity("one");
    let client = kube::Client::new(service, "default");
    let version = Coordination::new("1.9.0");
    let one =
        LeaderElector::coordinated_with_clock(client, config, &version, world.clock, 1).unwrap();
    switch.set(one.maintenance()).unwrap();
    let one = Replica::start(one, Duration::ZERO);
    one.leads().await;
    assert!(world.stands("one").await && !one.elector.status().maintenance);
    let claims = claims.load(Ordering::SeqCst);
    assert_eq!(
        (one.elector.stats().releases, claims),
        (1, 3),
        "a claim, its release, and another claim"
    );
    // A stop ends the candidacy.
    one.elector.stop_handle().stop();
    assert_eq!(one.run.await.unwrap(), Outcome::Finished(Ending::StopRequested));
    assert!(!world.stands("one").await);
}

#[tokio::test(start_paused = true)]
async fn one_that_gives_nothing_back_leaves_a_grant_and_its_lease_to_run_out() {
    let world = World::new(0);
    let keeps = || Config::builder("default", "lease").fast().release_on_stop(false);
    let one = granted(&world, keeps()).await;
    world.server.faults().clear();
    one.elector.stop_handle().stop();
    assert_eq!(one.run.await.unwrap(), Outcome::NeverLed);
    sleep_ms(1000).await;
    assert_eq!(holder(&world).await, "one");

    // Nor does it release when the controller prefers another.
    let newer =
        elector_of(&world.server, world.clock, keeps(), "newer", "1.5.0", WithoutApi::Elect);
    let newer = Replica::start(newer, Duration::ZERO);
    newer.leads().await;
    let older = world.replica("older", "1.4.0");
    let leads = older.leads().await;
    let ended = newer.last().ended.expect("it was asked to end");
    assert!(leads - ended >= Duration::from_secs(4), "{:?}", leads - ended);
    assert_eq!(newer.elector.stats().releases, 0);
}

#[tokio::test(start_paused = true)]
async fn to_hand_over_to_one_by_name_is_refused_where_the_server_elects_and_not_where_nobody_does()
{
    let world = World::new(0);
    let one = world.replica("one", "1.4.0");
    one.leads().await;
    let leadership = one.last().leadership;
    assert_eq!(leadership.hand_over_to("other"), Err(HandOverError::ServerElects));
    assert!(!leadership.is_stopping());
    leadership.step_down().unwrap();
    assert!(leadership.is_stopping());

    let world = World::without_controller();
    let (one, other) = (world.replica("one", "1.4.0"), world.replica("other", "1.4.0"));
    sleep_ms(35_000).await;
    let (leader, next, name) =
        if is_valid(&one) { (&one, &other, "other") } else { (&other, &one, "one") };
    leader.last().leadership.hand_over_to(name).unwrap();
    next.leads().await;
}

/// Only an elector that has read the Lease knows which holder a grant follows.
#[tokio::test(start_paused = true)]
async fn a_later_run_stands_only_when_it_has_read_the_lease_again() {
    let world = World::new(0);
    let elector = world.elector("one", "1.4.0");
    for may_read in [false, false, true] {
        if !may_read {
            forbid(&world, Match::any().user("one").verb(Verb::Get).resource("leases"));
        }
        let running = elector.clone();
        let run = tokio::spawn(async move {
            running.run(|leadership| async move { leadership.ending().await }).await
        });
        sleep_ms(if may_read { 100 } else { 3000 }).await;
        assert_eq!(world.stands("one").await, may_read);
        world.server.faults().clear();
        while !elector.is_leader() {
            sleep_ms(10).await;
        }
        run.abort();
        sleep_ms(500).await;
        assert!(!world.stands("one").await);
    }
}

/// The API exists, but its feature gate is off. Earlier replicas have found that out.
#[tokio::test(start_paused = true)]
async fn where_nobody_elects_a_roll_out_does_not_wait_half_a_minute_for_each_replica() {
    let world = World::without_controller();
    let first = world.replica("first", "1.4.0");
    let began = Instant::now();
    assert!(first.leads().await - began >= Duration::from_secs(30), "nobody knows anything");
    let second = world.replica("second", "1.4.0");
    sleep_ms(12_000).await;
    let stopped = Instant::now();
    first.elector.stop_handle().stop();
    assert!(second.leads().await - stopped < Duration::from_millis(500));
    // The third replica has no time to find out.
    let third = world.replica("third", "1.4.0");
    sleep_ms(3000).await;
    let stopped = Instant::now();
    second.elector.stop_handle().stop();
    let took = third.leads().await - stopped;
    assert!(took < Duration::from_secs(8), "{took:?}");
}

/// API Priority and Fairness answers in plain text, with the time only in the header.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_be_left_alone_is_left_alone() {
    for what in ["leasecandidates", "leases"] {
        let world = World::new(0);
        let overloaded = Match::any().user("one").except_resource("leases");
        let busy = Fault::Overloaded { retry_after_s: 20 };
        world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(overloaded, busy)));
        let one = world.replica("one", "1.4.0");
        if what == "leases" {
            // A stopped elector obeys too.
            sleep_ms(1000).await;
            one.elector.stop_handle().stop();
        }
        sleep_ms(19_000).await;
        let asked = world.server.requests().all().by("one").except_resource("leases").count();
        assert_eq!(asked, 1);
        if what == "leases" {
            assert_eq!(one.run.await.unwrap(), Outcome::NeverLed);
            continue;
        }
        world.server.faults().clear();
        one.leads().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_whose_withdrawal_meets_conflicts_again_and_again_pauses_between_them_and_gives_up_in_time()
 {
    let world = World::new(0);
    let one = world.replica("one", "1.4.0");
    one.leads().await;
    let deletions = Match::any().user("one").verb(Verb::Delete).resource("leasecandidates");
    world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(deletions, Fault::Conflict)));
    let before = world.server.requests().all().by("one").except_resource("leases").count();
    let stopped = Instant::now();
    one.elector.stop_handle().stop();
    assert_eq!(one.run.await.unwrap(), Outcome::Finished(Ending::StopRequested));
    assert!(stopped.elapsed() <= Duration::from_millis(1900), "{:?}", stopped.elapsed());
    let asked = world.server.requests().all().by("one").except_resource("leases").count() - before;
    assert!((4..=14).contains(&asked), "{asked} requests");
    assert_eq!(one.elector.status().candidacy, Some(Candidacy::LeftBehind(StoreError::Conflict)));
}

/// After a lost connection, the finding that no controller elects still counts, even during the
/// gap.
#[tokio::test(start_paused = true)]
async fn where_nobody_elects_a_blip_makes_nobody_wait_for_a_controller_anew() {
    for still_cut in [false, true] {
        let world = World::without_controller();
        let first = world.replica("first", "1.4.0");
        first.leads().await;
        let second = world.replica("second", "1.4.0");
        sleep_ms(12_000).await;
        assert_eq!(candidacy(&second), Candidacy::NobodyElects);
        // Cuts it off from its LeaseCandidate only.
        let faults = world.server.faults();
        forbid(&world, Match::any().user("second").resource("leasecandidates"));
        candidates(&world.server).delete("second", &DeleteParams::default()).await.unwrap();
        sleep_ms(3000).await;
        assert!(is_forbidden(&candidacy(&second)), "{:?}", candidacy(&second));
        if !still_cut {
            faults.clear();
            sleep_ms(31_000).await;
            assert_eq!(candidacy(&second), Candidacy::NobodyElects);
            forbid(&world, Match::any().user("second").resource("leasecandidates"));
            candidates(&world.server).delete("second", &DeleteParams::default()).await.unwrap();
            sleep_ms(1000).await;
            faults.clear();
            sleep_ms(4000).await;
            assert_eq!(candidacy(&second), Candidacy::NobodyElects);
        }
        let stopped = Instant::now();
        first.elector.stop_handle().stop();
        let took = second.leads().await - stopped;
        assert!(took < Duration::from_millis(500), "still cut {still_cut}: {took:?}");
        // It may still hand over to a named candidate.
        second.last().leadership.hand_over_to("third").unwrap();
    }
}

/// When it stands again, the controller goes by its LeaseCandidate. The pauses after terms that end
/// at once come on top.
#[tokio::test(start_paused = true)]
async fn one_that_runs_for_ever_stands_again_a_stop_margin_after_it_lost_its_term_and_not_while_it_pauses()
 {
    let world = World::new(0);
    let one = world.elector("one", "1.4.0");
    let running = one.clone();
    tokio::spawn(async move {
        running.run_forever(|leadership| async move { drop(leadership.ending().await) }).await;
    });
    let leads = async || {
        while !one.is_leader() {
            sleep_ms(10).await;
        }
    };
    leads().await;
    sleep_ms(3000).await;
    leases(&world.server).delete("lease", &DeleteParams::default()).await.unwrap();
    let lost = Instant::now();
    sleep_ms(100).await;
    assert!(!world.stands("one").await);
    leads().await;
    let (took, margin) = (lost.elapsed(), one.config().stop_margin());
    assert!(took >= margin && took < margin + Duration::from_millis(300), "{took:?}");
    assert_eq!(one.stats().terms, 2);

    // Each term ends at once, three times in a row: the pauses are a second, two, and four.
    for _ in 0..3 {
        leads().await;
        leases(&world.server).delete("lease", &DeleteParams::default()).await.unwrap();
        sleep_ms(100).await;
        assert_eq!((one.is_leader(), world.stands("one").await), (false, false));
    }
    leads().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_of_a_loop_of_ones_own_that_is_dropped_takes_the_candidate_back() {
    let world = World::new(0);
    let one = world.elector("one", "1.4.0");
    let mut campaigns = one.campaigns();
    let run = campaigns.run(|leadership| async move { leadership.ending().await });
    assert!(tokio::time::timeout(Duration::from_secs(8), run).await.is_err());
    sleep_ms(100).await;
    assert!(!world.stands("one").await && holder(&world).await.is_empty());
    campaigns.end().await;
}

/// A stage of `--full` runs these tests; the stage `test` skips `long`.
mod long {
    use super::*;

    /// A Pod's grace period must exceed this and the drain time-out.
    #[tokio::test(start_paused = true)]
    async fn a_stop_takes_three_request_time_outs_at_most_whatever_is_not_answered() {
        let silent =
            |what: &Match| FaultPlan::none().rule(Rule::new(what.clone(), Fault::NeverAnswer));
        let failing = |what: &Match| {
            let late = Fault::Latency { min_ms: 700, max_ms: 700 };
            FaultPlan::none()
                .rule(Rule::new(what.clone(), late))
                .rule(Rule::new(what.clone(), Fault::InternalError))
        };
        let ours = Match::any().user("one");
        let about_it = ours.clone().except_resource("leases");
        for plan in [silent(&ours), silent(&about_it), failing(&ours), failing(&about_it)] {
            for under_way in [0, 400, 890] {
                let world = World::new(0);
                let one = world.replica("one", "1.4.0");
                one.leads().await;
                sleep_ms(1000).await;
                world.server.faults().set_plan(plan.clone());
                // The elector then reads its LeaseCandidate.
                world.server.faults().drop_watches(&ours);
                sleep_ms(under_way).await;
                let stopped = Instant::now();
                one.elector.stop_handle().stop();
                one.run.await.unwrap();
                let (took, bound) = (stopped.elapsed(), one.elector.config().request_timeout() * 3);
                assert!(took <= bound, "{plan:?} {under_way}: {took:?} of {bound:?}");
            }
        }
    }

    /// A grant would keep the lease from the others until this elector may lead again: while its
    /// work winds up, and while its requests may land.
    #[tokio::test(start_paused = true)]
    async fn one_whose_term_is_lost_does_not_stand_until_it_may_lead_again_and_another_leads_meanwhile()
     {
        for (wind_up, is_deleted) in [(0, false), (10_000, false), (0, true), (10_000, true)] {
            let world = World::new(0);
            // It may lead again two stop margins after the loss, at the latest.
            let margin = Duration::from_secs(3);
            let config =
                Config::builder("default", "lease").client_go_compatible().stop_margin(margin);
            let best = elector_of(
                &world.server,
                world.clock,
                config.clone(),
                "best",
                "1.4.0",
                WithoutApi::Elect,
            );
            let other =
                elector_of(&world.server, world.clock, config, "other", "1.4.0", WithoutApi::Elect);
            let best = Replica::start(best, Duration::from_millis(wind_up));
            best.leads().await;
            let other = Replica::start(other, Duration::ZERO);
            sleep_ms(3000).await;
            let (stood, running) = (best.elector.clone(), best.elector.clone());
            let again = tokio::spawn(async move {
                running.run(|leadership| async move { drop(leadership.ending().await) }).await
            });
            if is_deleted {
                leases(&world.server).delete("lease", &DeleteParams::default()).await.unwrap();
            } else {
                forbid(&world, Match::any().user("best").resource("leases").writes());
            }
            let lost = loop {
                if let Some((at, _)) = best.last().told {
                    break at;
                }
                sleep_ms(10).await;
            };
            world.server.faults().clear();
            sleep_ms(50).await;
            assert!(!world.stands("best").await);
            let took = other.leads().await - lost;
            // The rest of the lease by whole seconds of the clock, and a moment to elect. After a
            // deletion the others wait for a whole lease.
            let most = if is_deleted {
                Duration::from_secs(19)
            } else {
                margin + Duration::from_millis(1500)
            };
            assert!(took < most, "{wind_up} {is_deleted}: {took:?}");
            sleep_ms(7000).await;
            assert!(world.stands("best").await && !stood.is_leader() && is_valid(&other));
            stood.stop_handle().stop();
            again.await.unwrap();
        }
    }

    /// The controller asks, and waits 5 s for the answer. The outage ends the connections, or
    /// silences them, and then their watches deliver no more events.
    #[tokio::test(start_paused = true)]
    async fn after_an_outage_of_a_minute_a_candidate_answers_within_seconds_and_leads() {
        let world = World::new(0);
        let one = world.elector("one", "1.4.0");
        let running = one.clone();
        tokio::spawn(async move {
            running.run_forever(|leadership| async move { drop(leadership.ending().await) }).await;
        });
        sleep_ms(5000).await;
        assert!(one.is_leader());
        let (faults, ours) = (world.server.faults(), Match::any().user("one"));
        for (outage, is_silent) in [(61_000, false), (77_000, false), (61_000, true)] {
            let watches = if is_silent {
                faults
                    .set_plan(FaultPlan::none().rule(Rule::new(ours.clone(), Fault::NeverAnswer)));
                faults.stall_watches(&ours)
            } else {
                faults.partition("one");
                faults.drop_watches(&ours)
            };
            assert!(watches > 0);
            sleep_ms(outage).await;
            assert!(!one.is_leader());
            faults.heal("one");
            faults.clear();
            let healed = Instant::now();
            while !one.is_leader() {
                assert!(
                    healed.elapsed() < Duration::from_millis(4000),
                    "{is_silent}: {:?}",
                    healed.elapsed()
                );
                sleep_ms(10).await;
            }
        }
    }

    /// No run would claim a grant then.
    #[tokio::test(start_paused = true)]
    async fn between_two_campaigns_of_a_loop_of_ones_own_it_does_not_stand_and_another_leads() {
        for is_lost in [false, true] {
            let world = World::new(0);
            let best = world.elector("best", "1.3.0");
            let mut campaigns = best.campaigns();
            let other = world.replica("other", "1.5.0");
            let server = world.server.clone();
            let work = async move |leadership: Leadership| {
                sleep_ms(3000).await;
                if is_lost {
                    leases(&server).delete("lease", &DeleteParams::default()).await.unwrap();
                    leadership.lost().await;
                }
            };
            let outcome = campaigns.run(work.clone()).await;
            let ended = Instant::now();
            assert_eq!(outcome, if is_lost { Outcome::Lost(()) } else { Outcome::Finished(()) });
            // The code between two runs may take long.
            let took = other.leads().await - ended;
            let longest = if is_lost { 12_000 } else { 1000 };
            assert!(took < Duration::from_millis(longest), "lost {is_lost}: {took:?}");
            sleep_ms(60_000).await;
            assert!(is_valid(&other) && other.terms.lock().unwrap().len() == 1);
            assert!(!world.stands("best").await);

            campaigns.run(work).await;
            assert!(!is_valid(&other), "preferred again as soon as it stands");
            campaigns.end().await;
            assert!(!world.stands("best").await);
            assert_eq!(best.status().candidacy, Some(Candidacy::Withdrawn));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_may_not_watch_its_candidate_polls_it_answers_in_time_and_asks_for_no_more_than_that()
     {
        let world = World::new(0);
        forbid(&world, Match::any().verb(Verb::Watch).resource("leasecandidates"));
        let newer = world.replica("newer", "1.5.0");
        newer.leads().await;
        sleep_ms(100).await;
        let candidacy_of = candidacy(&newer);
        assert!(
            matches!(&candidacy_of, Candidacy::Unwatched(_)) && is_forbidden(&candidacy_of),
            "{candidacy_of:?}"
        );

        let asked = || world.server.requests().reads_of("leasecandidates").by("newer").count();
        let before = asked();
        sleep_ms(60_000).await;
        let asked = asked() - before;
        assert!(
            (60..=70).contains(&asked),
            "one read a second, and the watch ever more seldom: {asked}"
        );
        assert_eq!(newer.terms.lock().unwrap().len(), 1);

        // It answers the server's question and so counts: the controller prefers the other, and
        // does not grant the lease away.
        let began = Instant::now();
        let older = world.replica("older", "1.4.0");
        let leads = older.leads().await;
        assert!(leads - began < Duration::from_secs(3), "{:?}", leads - began);
        assert_eq!(newer.last().told.map(|(_, ending)| ending), Some(Ending::StopRequested));

        world.server.faults().clear();
        sleep_ms(31_000).await;
        assert_eq!(candidacy(&older), Candidacy::Standing, "watched as soon as it may be");
    }
}
