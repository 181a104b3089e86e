//! Permissions that are missing: told, survived, and noticed when they are granted.

use std::time::Duration;

use hostpath_provisioner::{PERMISSIONS, Permission};
use tokio::time::Instant;

use crate::world::{Replica, World, pass, stays, until};

/// The place of a permission in the list.
fn place(verb: &str, resource: &str) -> usize {
    let found =
        |permission: &Permission| (permission.verb, permission.resource) == (verb, resource);
    PERMISSIONS.iter().position(found).expect("a permission of the list")
}

fn gauge(replica: &Replica, place: usize) -> f64 {
    let Permission { verb, group, resource, .. } = PERMISSIONS[place];
    replica.metric(&format!(
        "hostpath_provisioner_permission_missing{{verb=\"{verb}\",group=\"{group}\",resource=\"{resource}\"}}"
    ))
}

/// Each of them alone, at a start that finds it missing.
#[tokio::test(start_paused = true)]
async fn every_permission_that_is_missing_is_told_and_everything_goes_on_when_it_is_granted() {
    for (index, permission) in PERMISSIONS.iter().enumerate() {
        let world = World::new().await;
        world.doorman.knows_reviews();
        world.doorman.deny(index);
        // Three attempts, and the claim is given up: that must not outlast the grant either.
        let replica = world.start("one", &["--provision-threshold", "3"]);
        until(&format!("{permission} is told"), async || {
            replica.permissions.missing() == [permission]
        })
        .await;
        let told = replica.permissions.readiness().unwrap_err();
        assert!(told.contains(permission.verb) && told.contains(permission.resource), "{told}");
        assert!(told.contains("deploy/") && told.contains(permission.used_to), "{told}");
        assert_eq!(told.contains("--lease-namespace"), permission.resource == "leases", "{told}");
        assert_eq!(gauge(&replica, index), 1.0);
        let uid = world.claim("data").await;
        // For one of each kind of waiting long enough for its back-off to be at its longest: a
        // watch's, a key's, the election's.
        let patient = [
            place("list", "persistentvolumeclaims"),
            place("create", "persistentvolumes"),
            place("get", "leases"),
        ];
        pass(Duration::from_secs(if patient.contains(&index) { 400 } else { 5 })).await;
        assert_eq!(replica.permissions.missing(), [permission], "still missing");

        world.doorman.grant(index);
        let granted = Instant::now();
        until("nothing is missing", async || replica.permissions.missing().is_empty()).await;
        world.until_bound("data").await;
        assert!(
            granted.elapsed() < Duration::from_secs(10),
            "{permission}: {:?}",
            granted.elapsed()
        );
        assert_eq!(gauge(&replica, index), 0.0);
        world.delete_claim("data").await;
        world.until_gone(&uid).await;
        until("the directory is gone", async || world.in_root().is_empty()).await;
        replica.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_waits_for_a_permission_is_taken_back_when_it_is_granted() {
    for verb in ["get", "patch", "delete"] {
        let world = World::new().await;
        world.doorman.knows_reviews();
        let replica = world.start("one", &["--delete-threshold", "3"]);
        let uid = world.claim("data").await;
        world.until_bound("data").await;
        let needed = place(verb, "persistentvolumes");
        world.doorman.deny(needed);
        world.delete_claim("data").await;
        until(&format!("{verb} is told"), async || {
            replica.permissions.missing() == [&PERMISSIONS[needed]]
        })
        .await;
        pass(Duration::from_secs(400)).await;
        assert!(world.volume(&uid).await.is_some(), "{verb} was not needed");
        world.doorman.grant(needed);
        let granted = Instant::now();
        world.until_gone(&uid).await;
        assert!(granted.elapsed() < Duration::from_secs(10), "{verb}: {:?}", granted.elapsed());
        assert!(world.in_root().is_empty());
        replica.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_away_later_is_noticed_by_the_first_refusal() {
    let world = World::new().await;
    world.doorman.knows_reviews();
    let replica = world.start("one", &[]);
    world.claim("first").await;
    world.until_bound("first").await;
    let create = place("create", "persistentvolumes");
    world.doorman.deny(create);
    world.claim("second").await;
    let taken = Instant::now();
    until("it is told", async || replica.permissions.missing() == [&PERMISSIONS[create]]).await;
    assert!(taken.elapsed() < Duration::from_secs(5), "{:?}", taken.elapsed());
    world.doorman.grant(create);
    world.until_bound("second").await;
}

/// It is refused nothing, since it does nothing.
#[tokio::test(start_paused = true)]
async fn a_standby_tells_what_it_would_miss() {
    let world = World::new().await;
    world.doorman.knows_reviews();
    let _leader = world.start("one", &[]);
    world.claim("data").await;
    world.until_bound("data").await;
    let patch = place("patch", "persistentvolumes");
    world.doorman.deny(patch);
    let standby = world.start("two", &[]);
    until("it is told", async || standby.permissions.missing() == [&PERMISSIONS[patch]]).await;
}

/// Played by a stage of `--full`: the stage `test` leaves `long` out.
mod long {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_knows_no_reviews_is_asked_once_in_a_while_and_what_it_refuses_is_missing()
     {
        let world = World::new().await;
        let create = place("create", "persistentvolumes");
        world.doorman.deny(create);
        let replica = world.start("one", &[]);
        world.claim("data").await;
        until("it is told", async || replica.permissions.missing() == [&PERMISSIONS[create]]).await;
        pass(Duration::from_secs(3600)).await;
        assert!(
            world.doorman.questions() <= 40,
            "{} questions in an hour",
            world.doorman.questions()
        );
        world.doorman.grant(create);
        let granted = Instant::now();
        world.until_bound("data").await;
        assert!(granted.elapsed() < Duration::from_secs(60), "{:?}", granted.elapsed());
        until("nothing is missing", async || replica.permissions.missing().is_empty()).await;
    }

    /// A refusal can have another reason: a quota, a namespace that is being deleted.
    #[tokio::test(start_paused = true)]
    async fn what_is_refused_although_it_is_granted_is_not_called_missing_and_does_not_spin() {
        use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};

        let world = World::new().await;
        world.doorman.knows_reviews();
        world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(
            Match::any().user("one").verb(Verb::Create).resource("persistentvolumes"),
            Fault::Forbidden,
        )));
        let replica = world.start("one", &[]);
        world.claim("data").await;
        stays("nothing is missing", Duration::from_secs(3600), || async {
            replica.permissions.missing().is_empty()
        })
        .await;
        let tried = world
            .server
            .requests()
            .by("one")
            .verb(Verb::Create)
            .resource("persistentvolumes")
            .count();
        assert!((1..=15).contains(&tried), "{tried} attempts");
        // All of them every 30 s, and after each attempt.
        let questions = world.doorman.questions();
        assert!(
            questions as u64 <= PERMISSIONS.len() as u64 * (120 + tried + 1),
            "{questions} questions in an hour"
        );
    }

    /// From the start, and after it had answered.
    #[tokio::test(start_paused = true)]
    async fn while_the_server_has_no_answers_its_treatment_of_requests_counts_and_it_is_asked_rarely()
     {
        let create = place("create", "persistentvolumes");
        for out_of_order_first in [true, false] {
            let world = World::new().await;
            world.doorman.knows_reviews();
            world.doorman.out_of_order(out_of_order_first);
            world.doorman.deny(create);
            let replica = world.start("one", &[]);
            world.claim("data").await;
            until("it is told", async || replica.permissions.missing() == [&PERMISSIONS[create]])
                .await;
            assert_eq!(gauge(&replica, create), 1.0);
            world.doorman.out_of_order(true);
            let before = world.doorman.questions();
            pass(Duration::from_secs(1200)).await;
            let asked = world.doorman.questions() - before;
            // One a minute, less what the client tries again by itself.
            assert!((1..=150).contains(&asked), "{asked} questions in 20 minutes");
            world.doorman.grant(create);
            let granted = Instant::now();
            world.until_bound("data").await;
            until("nothing is missing", async || replica.permissions.missing().is_empty()).await;
            assert!(granted.elapsed() < Duration::from_secs(60), "{:?}", granted.elapsed());
            assert_eq!(gauge(&replica, create), 0.0);
            replica.stop().await;
        }
    }
}
