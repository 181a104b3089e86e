//! Several replicas: one works, the next one goes on, and a leader that lost its lease touches
//! nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::world::{World, pass, until};

async fn until_leads(world: &World, identity: &str) {
    let leases: Api<Lease> = Api::namespaced(world.server.client(), "default");
    until(&format!("{identity} leads"), async || {
        let lease = leases.get_opt("hostpath-provisioner").await.unwrap();
        lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity).as_deref()
            == Some(identity)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_stopped_leader_hands_over_and_fence_tokens_rise() {
    let world = World::new().await;
    let first = world.start("one", &[]);
    until_leads(&world, "one").await;
    let second = world.start("two", &[]);
    let before = world.claim("before").await;
    world.until_bound("before").await;
    let report = first.stop().await;
    assert!(report.is_clean(), "{report:?}");
    let after = world.claim("after").await;
    world.until_bound("after").await;
    let (before, after) = (world.marker(&before), world.marker(&after));
    assert_eq!((before.identity.as_str(), after.identity.as_str()), ("one", "two"));
    assert_eq!(before.fence.uid, after.fence.uid);
    let rv = |fence: &hostpath_provisioner::Fence| fence.resource_version.parse::<u64>().unwrap();
    assert!(rv(&before.fence) < rv(&after.fence));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_loses_its_lease_campaigns_again_and_does_not_exit() {
    let world = World::new().await;
    let replica = world.start("one", &[]);
    until_leads(&world, "one").await;
    let leases: Api<Lease> = Api::namespaced(world.server.client(), "default");
    let now = leases.get("hostpath-provisioner").await.unwrap().spec.unwrap().renew_time;
    let stolen =
        json!({"spec": {"holderIdentity": "thief", "renewTime": now, "leaseDurationSeconds": 5}});
    leases
        .patch("hostpath-provisioner", &PatchParams::default(), &Patch::Merge(stolen))
        .await
        .unwrap();
    let uid = world.claim("data").await;
    // The thief never renews: after its lease has run out, ours leads again.
    world.until_bound("data").await;
    let marker = world.marker(&uid);
    assert_eq!(marker.identity, "one");
    assert!(marker.fence.transitions >= 1, "{marker:?}");
    let report = replica.stop().await;
    assert!(report.lost_terms >= 1 && report.terms >= 2, "{report:?}");
}

/// The first leader's renewals do not arrive, its other requests do: nothing of it may have an
/// effect after its term.
#[tokio::test(start_paused = true)]
async fn a_leader_cut_off_from_its_lease_stops_working_before_the_next_begins() {
    let world = World::new().await;
    let first = world.start("one", &[]);
    until_leads(&world, "one").await;
    let second = world.start("two", &[]);
    world.server.faults().set_plan(
        FaultPlan::none()
            .rule(Rule::new(Match::any().user("one").resource("leases"), Fault::NeverAnswer)),
    );
    let mut uids = Vec::new();
    for index in 0..60 {
        uids.push(world.claim(&format!("data-{index}")).await);
        pass(Duration::from_millis(200)).await;
    }
    for index in 0..60 {
        world.until_bound(&format!("data-{index}")).await;
    }
    let makers: Vec<String> = uids.iter().map(|uid| world.marker(uid).identity).collect();
    assert_eq!(makers.iter().collect::<BTreeSet<_>>().len(), 2, "both worked, one after the other");
    let (log, created) = (world.server.requests(), |user: &str| {
        world.server.requests().by(user).verb(Verb::Create).resource("persistentvolumes").entries()
    });
    let last_of_first = created("one").into_iter().map(|entry| entry.at).max().unwrap();
    let first_of_second = created("two").into_iter().map(|entry| entry.at).min().unwrap();
    assert!(last_of_first < first_of_second);
    log.by("two").verb(Verb::Create).resource("persistentvolumes").assert_at_least(1);
    second.stop().await;
    first.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_work_is_pending_loses_and_duplicates_nothing() {
    let world = World::new().await;
    let names: Vec<String> = (0..30).map(|index| format!("data-{index}")).collect();
    let mut uids = Vec::new();
    for name in &names {
        uids.push(world.claim(name).await);
    }
    for round in 0..6 {
        let replica = world.start(&format!("replica-{round}"), &[]);
        until_leads(&world, &format!("replica-{round}")).await;
        pass(Duration::from_millis(3)).await;
        let report = replica.stop().await;
        assert_eq!(report.unfinished_tasks, 0, "{report:?}");
    }
    let _last = world.start("last", &[]);
    for name in &names {
        world.until_bound(name).await;
    }
    assert_eq!(world.in_root().len(), 30);
    // The sweep of the new term may still be at it.
    until("nothing is half done", async || world.half_done().is_empty()).await;
    for uid in uids {
        assert_eq!(world.marker(&uid).claim_uid, uid);
    }
}
