//! Requests that are not supported, and directories that are kept without a claim: a user can see
//! both.

use std::fs;
use std::time::Duration;

use hostpath_provisioner::{MARKER_FILE, WAITING_MESSAGE, WAITING_REASON, volume_name};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{NAMESPACE, World, pass, until};

async fn told(world: &World, namespace: &str, reason: &str) -> Vec<String> {
    let api: Api<Event> = Api::namespaced(world.server.client(), namespace);
    let events = api.list(&Default::default()).await.unwrap().items.into_iter();
    events
        .filter(|event| event.reason.as_deref() == Some(reason))
        .filter_map(|event| event.note)
        .collect()
}

async fn until_refused(world: &World, claim: &str, word: &str) {
    until(&format!("{claim} is refused for {word}"), async || {
        let annotations = world.claim_annotations(claim).await;
        annotations.get(WAITING_REASON).is_some_and(|reason| reason == "ClaimUnusable")
            && annotations[WAITING_MESSAGE].contains(word)
            && told(world, NAMESPACE, "ProvisioningFailed")
                .await
                .iter()
                .any(|note| note.contains(word))
    })
    .await;
}

/// P5.
#[tokio::test(start_paused = true)]
async fn attributes_and_expansion_are_refused_on_the_claim() {
    let world = World::with_class(json!({"allowVolumeExpansion": true})).await;
    let _replica = world.start("one", &[]);
    world.claim_with("gold", json!({"volumeAttributesClassName": "gold"})).await;
    until_refused(&world, "gold", "volumeAttributesClassName").await;
    assert!(world.in_root().is_empty());

    world.claim("data").await;
    world.until_bound("data").await;
    let request = async |storage: &str| {
        let patch =
            Patch::Merge(json!({"spec": {"resources": {"requests": {"storage": storage}}}}));
        world.claims().patch("data", &PatchParams::default(), &patch).await
    };
    request("2Gi").await.unwrap();
    until_refused(&world, "data", "expanded").await;
    assert!(request("1Gi").await.is_err(), "the API has no way back");
}

/// P8: a volume that was retained, is used by another claim, and has the policy Delete then.
#[tokio::test(start_paused = true)]
async fn a_retained_volume_that_was_reused_is_counted_and_told() {
    let world = World::with_class(json!({"reclaimPolicy": "Retain"})).await;
    let replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = world.claim("first").await;
    world.until_bound("first").await;
    world.delete_claim("first").await;
    let patch = async |patch: Value| {
        let params = PatchParams::default();
        world.volumes().patch(&volume_name(&uid), &params, &Patch::Merge(patch)).await.unwrap();
    };
    until("it is released", async || {
        let status = world.volume(&uid).await.unwrap().status;
        status.and_then(|status| status.phase).as_deref() == Some("Released")
    })
    .await;
    patch(json!({"spec": {"claimRef": null}})).await;
    world.claim_with("second", json!({"volumeName": volume_name(&uid)})).await;
    world.until_bound("second").await;
    patch(json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}})).await;
    let refused = "hostpath_provisioner_directories_kept{reason=\"volume_refused\"}";
    let failed = "controller_persistentvolume_delete_failed_total";
    pass(Duration::from_secs(60)).await;
    // In use it is no failure.
    assert_eq!(told(&world, "default", "VolumeFailedDelete").await, [""; 0]);
    assert_eq!((replica.metric(refused), replica.metric(failed)), (0.0, 0.0));
    world.delete_claim("second").await;
    until("it is counted", async || replica.metric(refused) == 1.0 && replica.metric(failed) > 0.0)
        .await;
    until("it is told what to do", async || {
        let notes = told(&world, "default", "VolumeFailedDelete").await;
        notes.iter().any(|note| note.contains("another claim") && note.contains("by hand"))
    })
    .await;
    pass(Duration::from_secs(60)).await;
    assert!(world.directory(&uid).is_dir() && world.volume(&uid).await.is_some());
    assert_eq!(replica.metric(refused), 1.0);
}

/// P8: a directory that was made under another Lease, and others that are kept.
#[tokio::test(start_paused = true)]
async fn directories_that_are_kept_are_counted_by_reason() {
    let world = World::new().await;
    let replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = world.claim("data").await;
    world.until_bound("data").await;
    let mut marker = world.marker(&uid);
    let count = |reason: &str| {
        replica.metric(&format!("hostpath_provisioner_directories_kept{{reason=\"{reason}\"}}"))
    };
    for reason in ["other_lease", "not_ours", "retained", "holds_data", "volume_refused"] {
        assert_eq!(count(reason), 0.0, "{reason}");
    }
    for uid in ["u-1", "u-2"] {
        marker.claim_uid = uid.to_owned();
        marker.fence.uid = "another".to_owned();
        fs::create_dir(world.directory(uid)).unwrap();
        fs::write(world.directory(uid).join(MARKER_FILE), marker.to_bytes()).unwrap();
    }
    fs::create_dir(world.directory("u-3")).unwrap();
    until("they are counted", async || count("other_lease") == 2.0 && count("not_ours") == 1.0)
        .await;
    // What the handbook advises.
    fs::remove_dir_all(world.directory("u-1")).unwrap();
    until("one less is counted", async || count("other_lease") == 1.0).await;
}
