//! The life of a claim and its volume when all goes well.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use embedded_apiserver::Verb;
use hostpath_provisioner::{FINALIZER, PROVISIONED_BY, PROVISIONER, volume_name};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::world::{NAMESPACE, World, pass, stays, until};

#[tokio::test(start_paused = true)]
async fn a_claim_gets_a_directory_and_a_volume_and_gives_both_back() {
    let world = World::new().await;
    let replica = world.start("one", &[]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    let volume = world.volume(&uid).await.unwrap();
    assert_eq!(volume.metadata.annotations.as_ref().unwrap()[PROVISIONED_BY], PROVISIONER);
    assert!(
        volume.metadata.finalizers.as_ref().unwrap().iter().any(|finalizer| finalizer == FINALIZER)
    );
    let spec = volume.spec.unwrap();
    assert_eq!(spec.host_path.unwrap().path, world.directory(&uid).to_str().unwrap());
    assert_eq!(spec.persistent_volume_reclaim_policy.as_deref(), Some("Delete"));
    let marker = world.marker(&uid);
    assert_eq!(
        (marker.claim_uid.as_str(), marker.claim_namespace.as_str(), marker.claim_name.as_str()),
        (&*uid, NAMESPACE, "data")
    );
    assert_eq!((marker.volume, marker.identity.as_str()), (volume_name(&uid), "one"));
    assert!(!marker.fence.uid.is_empty() && marker.fence.resource_version.parse::<u64>().is_ok());
    assert_eq!(fs::metadata(world.directory(&uid)).unwrap().permissions().mode() & 0o7777, 0o777);
    fs::write(world.directory(&uid).join("file"), "content").unwrap();

    world.delete_claim("data").await;
    world.until_gone(&uid).await;
    assert!(world.in_root().is_empty());
    until("nothing is half done", async || world.half_done().is_empty()).await;
    assert_eq!(replica.metric("controller_persistentvolumeclaim_provision_total{"), 1.0);
    until("the deletion is counted", async || {
        replica.metric("controller_persistentvolume_delete_total{") == 1.0
    })
    .await;
    assert!(replica.stop().await.is_clean());
}

#[tokio::test(start_paused = true)]
async fn parameters_of_the_class_shape_the_directory() {
    let world = World::with_class(
        json!({"parameters": {"mode": "0750", "subdir": "tenants/${namespace}"}}),
    )
    .await;
    let _replica = world.start("one", &[]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    let directory = world.root().join("tenants").join(NAMESPACE).join(volume_name(&uid));
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o7777, 0o750);
    world.delete_claim("data").await;
    world.until_gone(&uid).await;
    until("the empty folders are gone", async || world.in_root().is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn retain_keeps_volume_and_directory_and_survives_sweeps() {
    let world = World::with_class(json!({"reclaimPolicy": "Retain"})).await;
    let replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    until("our finalizer is gone", async || {
        let volume = world.volume(&uid).await.unwrap();
        !volume.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
    })
    .await;
    world.delete_claim("data").await;
    until("it is released", async || {
        world.volume(&uid).await.unwrap().status.unwrap().phase.as_deref() == Some("Released")
    })
    .await;
    pass(Duration::from_secs(60)).await;
    assert!(world.volume(&uid).await.is_some());
    world.volumes().delete(&volume_name(&uid), &DeleteParams::default()).await.unwrap();
    world.until_gone(&uid).await;
    replica.stop().await;
    // Nor does the next leader take it for an orphan.
    let _replica = world.start("two", &["--sweep-interval", "10s"]);
    stays("the directory is there", Duration::from_secs(60), || async {
        world.directory(&uid).is_dir()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_changes_is_followed_in_both_directions() {
    let world = World::new().await;
    let _replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    let protected = async || {
        let volume = world.volume(&uid).await.unwrap();
        volume.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
    };
    let set = async |policy: &str| {
        let patch = Patch::Merge(json!({"spec": {"persistentVolumeReclaimPolicy": policy}}));
        world.volumes().patch(&volume_name(&uid), &PatchParams::default(), &patch).await.unwrap();
    };
    assert!(protected().await);
    set("Retain").await;
    until("the finalizer is off", async || !protected().await).await;
    set("Delete").await;
    until("the finalizer is on", protected).await;
    world.delete_claim("data").await;
    world.until_gone(&uid).await;
    assert!(world.in_root().is_empty());
}

#[tokio::test(start_paused = true)]
async fn events_tell_the_story_in_upstreams_words() {
    let world = World::new().await;
    let _replica = world.start("one", &[]);
    world.claim("data").await;
    world.until_bound("data").await;
    let events: Api<Event> = Api::namespaced(world.server.client(), NAMESPACE);
    until("both Events are there", async || {
        let told: Vec<_> = events
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .into_iter()
            .filter_map(|e| e.reason)
            .collect();
        ["Provisioning", "ProvisioningSucceeded"]
            .iter()
            .all(|reason| told.iter().any(|told| told == reason))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn claims_of_others_are_not_touched() {
    let world = World::new().await;
    let _replica = world.start("one", &[]);
    world.claim_with("theirs", json!({"storageClassName": "other"})).await;
    world.claim("ours").await;
    world.until_bound("ours").await;
    assert_eq!(world.phase("theirs").await, "Pending");
    assert_eq!(world.in_root().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_claims_cost_few_requests_each() {
    let world = World::new().await;
    let _replica = world.start("one", &[]);
    let names: Vec<String> = (0..50).map(|index| format!("data-{index}")).collect();
    let mut uids = Vec::new();
    for name in &names {
        uids.push(world.claim(name).await);
    }
    for name in &names {
        world.until_bound(name).await;
    }
    assert_eq!(world.in_root().len(), 50);
    let mine = world.server.requests().by("one");
    // One write makes a volume, and when all goes well no claim is annotated.
    mine.clone().resource("persistentvolumes").writes().assert_exactly(50);
    mine.clone().resource("persistentvolumeclaims").writes().assert_none();
    for name in &names {
        world.delete_claim(name).await;
    }
    for uid in &uids {
        world.until_gone(uid).await;
    }
    assert!(world.in_root().is_empty() && world.half_done().is_empty());
    // And two more take it back, finalizer off and volume deleted, after a last look; the echo of
    // our own writes may cost another. The binder takes its own finalizer off at the same time:
    // each conflict with it costs one more look and one more write.
    let writes = mine.clone().resource("persistentvolumes").writes();
    let conflicts = writes.answered_with(409);
    assert!(conflicts <= 50, "{conflicts} conflicts");
    writes.assert_exactly(150 + conflicts);
    mine.resource("persistentvolumes").verb(Verb::Get).assert_at_most(100 + conflicts);
}
