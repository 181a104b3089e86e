//! Claims that wait, and why; failures of the server and the disk.

use std::fs;
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use hostpath_provisioner::{
    PROVISIONER, STORAGE_PROVISIONER, WAITING_MESSAGE, WAITING_REASON, volume_name,
};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams};
use serde_json::json;

use crate::world::{CLASS, NAMESPACE, World, pass, until};

async fn until_waiting(world: &World, claim: &str, reason: &str) -> String {
    until(&format!("{claim} waits for {reason}"), async || {
        world.claim_annotations(claim).await.get(WAITING_REASON).is_some_and(|told| told == reason)
    })
    .await;
    world.claim_annotations(claim).await[WAITING_MESSAGE].clone()
}

async fn events(world: &World) -> Vec<String> {
    let mut reasons = Vec::new();
    for namespace in [NAMESPACE, "default"] {
        let api: Api<Event> = Api::namespaced(world.server.client(), namespace);
        reasons.extend(
            api.list(&Default::default())
                .await
                .unwrap()
                .items
                .into_iter()
                .filter_map(|event| event.reason),
        );
    }
    reasons
}

#[tokio::test(start_paused = true)]
async fn a_file_in_the_way_is_told_on_the_claim_and_the_note_goes_when_it_is_bound() {
    let world = World::new().await;
    let replica = world.start("one", &[]);
    // The name is known only with the UID: hold the volumes back until the file is there.
    world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(
        Match::any().user("one").verb(Verb::Create).resource("persistentvolumes"),
        Fault::InternalError,
    )));
    let uid = world.claim("data").await;
    until_waiting(&world, "data", "ApiFailed").await;
    fs::remove_dir_all(world.directory(&uid)).unwrap();
    fs::write(world.directory(&uid), "in the way").unwrap();
    world.server.faults().clear();
    let message = until_waiting(&world, "data", "DirectoryInTheWay").await;
    assert!(message.contains(&volume_name(&uid)) && message.contains("move it away"), "{message}");
    assert!(replica.metric("controller_persistentvolumeclaim_provision_failed_total{") >= 2.0);
    assert!(events(&world).await.contains(&"ProvisioningFailed".to_owned()));
    fs::remove_file(world.directory(&uid)).unwrap();
    world.until_bound("data").await;
    until("the note is gone", async || {
        !world.claim_annotations("data").await.contains_key(WAITING_REASON)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failing_claim_is_tried_by_back_off_and_not_by_its_own_note() {
    let world = World::new().await;
    world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(
        Match::any().user("one").verb(Verb::Create).resource("persistentvolumes"),
        Fault::InternalError,
    )));
    let _replica = world.start("one", &["--retry-base", "1s", "--retry-max", "8s"]);
    world.claim("data").await;
    until_waiting(&world, "data", "ApiFailed").await;
    pass(Duration::from_secs(31)).await;
    let attempts = world
        .server
        .requests()
        .by("one")
        .verb(Verb::Create)
        .resource("persistentvolumes")
        .entries();
    let pauses: Vec<u64> =
        attempts.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis() as u64).collect();
    for (index, least) in [1000, 2000, 4000, 8000].into_iter().enumerate() {
        // A little of each pause is the disk's and the server's, on whose clocks nothing depends.
        assert!(
            pauses.get(index).is_some_and(|pause| (least..least + 500).contains(pause)),
            "{pauses:?}"
        );
    }
    world.server.requests().by("one").resource("persistentvolumeclaims").writes().assert_exactly(1);
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_given_up_at_the_threshold_and_tried_again_when_it_changes() {
    let world = World::new().await;
    world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(
        Match::any().user("one").verb(Verb::Create).resource("persistentvolumes"),
        Fault::InternalError,
    )));
    let _replica = world.start("one", &["--provision-threshold", "3"]);
    world.claim("data").await;
    let tried = || {
        world.server.requests().by("one").verb(Verb::Create).resource("persistentvolumes").count()
    };
    until("three attempts were made", async || tried() == 3).await;
    pass(Duration::from_secs(3600)).await;
    assert_eq!(tried(), 3);
    let message = &world.claim_annotations("data").await[WAITING_MESSAGE];
    assert!(message.contains("given up after 3 attempts"), "{message}");
    world.server.faults().clear();
    world.annotate_claim("data", "please", json!("again")).await;
    world.until_bound("data").await;
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_runs_out_of_time_is_told_with_its_flag() {
    let world = World::new().await;
    world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(
        Match::any().user("one").verb(Verb::Create).resource("persistentvolumes"),
        Fault::NeverAnswer,
    )));
    let _replica = world.start("one", &["--api-timeout", "1h", "--provision-timeout", "5s"]);
    world.claim("data").await;
    let message = until_waiting(&world, "data", "TimedOut").await;
    assert_eq!(message, "it took longer than --provision-timeout");
    world.server.faults().clear();
    world.until_bound("data").await;
}

/// Upstream keeps the count of a claim that was given up and then deleted for ever; a new claim
/// must not inherit, nor the memory grow.
#[tokio::test(start_paused = true)]
async fn a_claim_that_was_given_up_and_deleted_leaves_nothing_behind() {
    let world = World::new().await;
    world.server.faults().set_plan(FaultPlan::none().rule(Rule::new(
        Match::any().user("one").verb(Verb::Create).resource("persistentvolumes"),
        Fault::InternalError,
    )));
    let _replica = world.start("one", &["--provision-threshold", "2"]);
    let uid = world.claim("data").await;
    until("it was given up", async || {
        world.server.requests().by("one").verb(Verb::Create).resource("persistentvolumes").count()
            == 2
    })
    .await;
    until("its directory is there", async || world.directory(&uid).is_dir()).await;
    world.delete_claim("data").await;
    until("its directory is gone", async || world.in_root().is_empty()).await;
    world.server.faults().clear();
    world.claim("data").await;
    world.until_bound("data").await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_waits_without_retries_until_the_class_is_mended() {
    let world = World::with_class(json!({"parameters": {"mode": "9"}})).await;
    let _replica = world.start("one", &[]);
    world.claim("data").await;
    let message = until_waiting(&world, "data", "ClassUnusable").await;
    assert!(message.contains("mode") && message.contains("\"9\""), "{message}");
    pass(Duration::from_secs(3600)).await;
    world.server.requests().by("one").resource("persistentvolumeclaims").writes().assert_exactly(1);
    assert!(world.in_root().is_empty());
    world.classes().delete(CLASS, &DeleteParams::default()).await.unwrap();
    until_waiting(&world, "data", "ClassNotFound").await;
    world.make_class(json!({})).await;
    world.until_bound("data").await;
}

#[tokio::test(start_paused = true)]
async fn a_note_that_could_not_be_written_or_taken_off_is_tried_again() {
    let world = World::with_class(json!({"parameters": {"mode": "9"}})).await;
    let notes = Match::any().user("one").verb(Verb::Patch).resource("persistentvolumeclaims");
    let failing =
        || FaultPlan::none().rule(Rule::new(notes.clone(), Fault::InternalError).calls(..=4));
    world.server.faults().set_plan(failing());
    let _replica = world.start("one", &[]);
    world.claim("data").await;
    until_waiting(&world, "data", "ClassUnusable").await;
    world.classes().delete(CLASS, &DeleteParams::default()).await.unwrap();
    until_waiting(&world, "data", "ClassNotFound").await;
    world.server.faults().set_plan(failing());
    world.make_class(json!({})).await;
    world.until_bound("data").await;
    until("the note is gone", async || {
        !world.claim_annotations("data").await.contains_key(WAITING_REASON)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_of_the_name_that_is_not_ours_is_left_alone() {
    let world = World::without_class();
    let _replica = world.start("one", &[]);
    let uid = world.claim("data").await;
    let volume = json!({
        "metadata": {"name": volume_name(&uid)},
        "spec": {"capacity": {"storage": "1Mi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/elsewhere"}},
    });
    world
        .volumes()
        .create(&Default::default(), &serde_json::from_value(volume).unwrap())
        .await
        .unwrap();
    world.make_class(json!({})).await;
    let message = until_waiting(&world, "data", "VolumeNameTaken").await;
    assert!(message.contains(&volume_name(&uid)), "{message}");
    pass(Duration::from_secs(600)).await;
    assert_eq!(
        world.volume(&uid).await.unwrap().spec.unwrap().host_path.unwrap().path,
        "/elsewhere"
    );
    assert!(world.in_root().is_empty());
    // What the message advises helps at once, and without another change of the claim.
    world.volumes().delete(&volume_name(&uid), &DeleteParams::default()).await.unwrap();
    world.until_bound("data").await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_cannot_be_taken_back_says_so_and_is_tried_again() {
    let world = World::new().await;
    let replica = world.start("one", &[]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    let aside = world.root().join("aside");
    fs::rename(world.directory(&uid), &aside).unwrap();
    fs::write(world.directory(&uid), "in the way").unwrap();
    world.delete_claim("data").await;
    until("the failure is told", async || {
        events(&world).await.contains(&"VolumeFailedDelete".to_owned())
    })
    .await;
    assert!(replica.metric("controller_persistentvolume_delete_failed_total{") >= 1.0);
    assert!(world.volume(&uid).await.is_some());
    fs::remove_file(world.directory(&uid)).unwrap();
    fs::rename(&aside, world.directory(&uid)).unwrap();
    world.until_gone(&uid).await;
    assert!(world.in_root().is_empty());
}

/// Every tenth request fails in one of the ways that servers and networks fail; all claims are
/// bound and go, once each.
#[tokio::test(start_paused = true)]
async fn a_faulty_server_delays_but_loses_and_duplicates_nothing() {
    for seed in 1..=3 {
        let world = World::new().await;
        let ours = || Match::any().user("one").except_resource("leases");
        let faults = [
            Fault::InternalError,
            Fault::Unavailable,
            Fault::TooManyRequests { retry_after_s: 1 },
            Fault::Conflict,
            Fault::DropBefore,
            Fault::DropAfter,
            Fault::ApplyNeverAnswer,
            Fault::ApplyLate { after_ms: 15_000 },
        ];
        world
            .server
            .faults()
            .set_plan(FaultPlan::seeded(seed).rule(Rule::one_of(ours(), faults).percent(10)));
        let replica = world.start("one", &["--retry-qps", "100", "--sweep-interval", "60s"]);
        let mut uids = Vec::new();
        for index in 0..20 {
            uids.push(world.claim(&format!("data-{index}")).await);
        }
        for index in 0..20 {
            world.until_bound(&format!("data-{index}")).await;
        }
        assert_eq!(world.in_root().len(), 20);
        for index in 0..20 {
            world.delete_claim(&format!("data-{index}")).await;
        }
        for uid in &uids {
            world.until_gone(uid).await;
        }
        until("the root is empty", async || {
            world.in_root().is_empty() && world.half_done().is_empty()
        })
        .await;
        replica.stop().await;
    }
}

/// Whose claim is gone before anybody bound them is nobody else's; this server has no binder that
/// would call it released.
#[tokio::test(start_paused = true)]
async fn an_unbound_volume_goes_with_its_claim_without_a_binder() {
    let world = World::without_binder();
    world.make_class(json!({})).await;
    let _replica = world.start("one", &[]);
    let uid = world.claim("data").await;
    world.annotate_claim("data", STORAGE_PROVISIONER, json!(PROVISIONER)).await;
    until("the volume is there", async || world.volume(&uid).await.is_some()).await;
    pass(Duration::from_secs(60)).await;
    assert!(world.volume(&uid).await.is_some());
    world.delete_claim("data").await;
    world.until_gone(&uid).await;
    assert!(world.in_root().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_event_that_could_not_be_written_is_written_at_the_second_attempt_once() {
    let world = World::new().await;
    let writes = || Match::any().user("one").verb(Verb::Create).resource("events");
    // The first attempt is applied and its answer lost, so the second finds it there; the third, of
    // the next Event, is not applied.
    let plan = FaultPlan::none()
        .rule(Rule::new(writes(), Fault::DropAfter).calls(1..=1))
        .rule(Rule::new(writes(), Fault::InternalError).calls(3..=3));
    world.server.faults().set_plan(plan);
    let replica = world.start("one", &[]);
    world.claim("data").await;
    world.until_bound("data").await;
    until("both are told", async || events(&world).await.len() >= 2).await;
    pass(Duration::from_secs(10)).await;
    let mut told = events(&world).await;
    told.sort();
    assert_eq!(told, ["Provisioning", "ProvisioningSucceeded"]);
    assert_eq!(replica.metric("hostpath_provisioner_events_dropped_total"), 0.0);
    world.server.requests().by("one").verb(Verb::Create).resource("events").assert_exactly(4);
}

#[tokio::test(start_paused = true)]
async fn a_claim_with_the_longest_name_has_its_events() {
    let world = World::new().await;
    let _replica = world.start("one", &[]);
    let name = "x".repeat(253);
    world.claim(&name).await;
    world.until_bound(&name).await;
    until("they are told", async || {
        events(&world).await.iter().filter(|reason| reason.starts_with("Provisioning")).count() == 2
    })
    .await;
}
