//! How a candidate of a coordinated election stands where the server refuses it something, or another has its name.

use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use lease_election::{Candidacy, Config, Ending, Outcome, StoreError, WithoutApi};
use tokio::time::Instant;

use crate::cluster::{Replica, sleep_ms};
use crate::coordinated::{World, elector_of, is_valid};

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

#[tokio::test(start_paused = true)]
async fn one_that_may_not_watch_its_candidate_polls_it_answers_in_time_and_asks_for_no_more_than_that() {
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
    assert!((60..=70).contains(&asked), "one read a second, and the watch ever more seldom: {asked}");
    assert_eq!(newer.terms.lock().unwrap().len(), 1);

    // Asked by the server, it is counted: the other is not elected over its head, but preferred.
    let began = Instant::now();
    let older = world.replica("older", "1.4.0");
    let leads = older.leads().await;
    assert!(leads - began < Duration::from_secs(3), "{:?}", leads - began);
    assert_eq!(newer.last().told.map(|(_, ending)| ending), Some(Ending::StopRequested));

    world.server.faults().clear();
    sleep_ms(31_000).await;
    assert_eq!(candidacy(&older), Candidacy::Standing, "watched as soon as it may be");
}

/// Forbidden is not absent.
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
async fn of_two_elections_with_one_identity_the_second_says_what_is_wrong_and_leaves_the_first_alone() {
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
