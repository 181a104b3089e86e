//! What is still needed is not removed, and what holds a volume says so: claims that a cache does
//! not know, directories that another volume leads to, volumes that were reused.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use hostpath_provisioner::{STATE_FOLDER, TERM_FILE, TRASH_FOLDER, WAITING_REASON, volume_name};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::phases::{forget, notes};
use crate::world::{CLASS, NAMESPACE, Replica, World, pass, stays, until};

fn precious(world: &World, uid: &str) -> PathBuf {
    world.directory(uid).join("precious")
}

fn kept(replica: &Replica, reason: &str) -> f64 {
    replica.metric(&format!("hostpath_provisioner_directories_kept{{reason=\"{reason}\"}}"))
}

async fn change(world: &World, uid: &str, patch: Value) {
    let patch = Patch::Merge(patch);
    world.volumes().patch(&volume_name(uid), &PatchParams::default(), &patch).await.unwrap();
}

async fn bound_with_data(world: &World, claim: &str) -> String {
    let uid = world.claim(claim).await;
    world.until_bound(claim).await;
    fs::write(precious(world, &uid), "x").unwrap();
    uid
}

/// A volume made by hand on the directory of another one, bound to the claim `other`.
async fn second_volume(world: &World, uid: &str) {
    let path = world.directory(uid).display().to_string();
    let volume = json!({"metadata": {"name": "by-hand"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
        "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": path, "type": "Directory"},
    }});
    let volume: PersistentVolume = serde_json::from_value(volume).unwrap();
    world.volumes().create(&PostParams::default(), &volume).await.unwrap();
    world.claim_with("other", json!({"volumeName": "by-hand"})).await;
    world.until_bound("other").await;
}

/// Retained, freed, given the policy Delete again, and bound to the claim `second`.
async fn reused(world: &World) -> String {
    let uid = world.claim("first").await;
    world.until_bound("first").await;
    change(world, &uid, json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}})).await;
    pass(Duration::from_secs(5)).await;
    world.delete_claim("first").await;
    pass(Duration::from_secs(5)).await;
    change(
        world,
        &uid,
        json!({"spec": {"claimRef": null, "persistentVolumeReclaimPolicy": "Delete"}}),
    )
    .await;
    pass(Duration::from_secs(5)).await;
    world.claim_with("second", json!({"volumeName": volume_name(&uid)})).await;
    world.until_bound("second").await;
    fs::write(precious(world, &uid), "x").unwrap();
    uid
}

/// P1: the marker names the claim where neither the reference nor the cache does; without it all
/// claims are listed.
#[tokio::test(start_paused = true)]
async fn a_claim_that_only_the_server_knows_keeps_its_data() {
    for has_marker in [true, false] {
        let world = World::new().await;
        let first = world.start("one", &[]);
        world.claim("warm").await;
        world.until_bound("warm").await;
        let _second = world.start("two", &[]);
        pass(Duration::from_secs(30)).await;
        let of_two = || Match::any().user("two").resource("persistentvolumeclaims");
        world.server.faults().set_plan(
            FaultPlan::none()
                .rule(Rule::new(of_two().verb(Verb::Watch), Fault::InternalError))
                .rule(Rule::new(of_two().verb(Verb::List), Fault::InternalError)),
        );
        world.server.faults().cut_watches(&of_two());
        pass(Duration::from_secs(5)).await;
        let uid = bound_with_data(&world, "data").await;
        if !has_marker {
            fs::remove_file(world.directory(&uid).join(hostpath_provisioner::MARKER_FILE)).unwrap();
        }
        first.stop().await;
        change(&world, &uid, json!({"spec": {"claimRef": {"name": "dato"}}})).await;
        stays("the data is there", Duration::from_secs(300), || async {
            precious(&world, &uid).exists()
        })
        .await;
        assert!(world.volume(&uid).await.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_directory_that_another_volume_leads_to_is_not_removed() {
    let world = World::new().await;
    let _replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = bound_with_data(&world, "data").await;
    second_volume(&world, &uid).await;
    world.delete_claim("data").await;
    until("it is told", async || {
        notes(&world, "VolumeFailedDelete").await.iter().any(|note| note.contains("by-hand"))
    })
    .await;
    assert!(precious(&world, &uid).exists());
    // Also without its own volume, and empty, it is no orphan.
    change(&world, &uid, json!({"metadata": {"finalizers": null}})).await;
    change(&world, &uid, json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}})).await;
    world.volumes().delete(&volume_name(&uid), &DeleteParams::default()).await.unwrap();
    world.until_gone(&uid).await;
    fs::remove_file(precious(&world, &uid)).unwrap();
    let retained = world.root().join(STATE_FOLDER).join("retained").join(volume_name(&uid));
    let _ = fs::remove_file(retained);
    stays("the directory is there", Duration::from_secs(120), || async {
        world.directory(&uid).is_dir()
    })
    .await;
}

/// P4, within a term.
#[tokio::test(start_paused = true)]
async fn a_server_that_goes_back_within_a_term_is_noticed_before_the_next_removal() {
    let world = World::new().await;
    let replica = world.start("one", &[]);
    let (uid, waits) =
        (bound_with_data(&world, "data").await, bound_with_data(&world, "waits").await);
    let path = world.root().join(STATE_FOLDER).join(TERM_FILE);
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["seen"] = json!(900_000);
    fs::write(path, record.to_string()).unwrap();
    world.delete_claim("data").await;
    until("it is paused", async || replica.metric("hostpath_provisioner_removals_paused") == 1.0)
        .await;
    world.delete_claim("waits").await;
    pass(Duration::from_secs(60)).await;
    assert!(precious(&world, &uid).exists() && precious(&world, &waits).exists());
    // Confirmed long before the next sweep of an ordinary pace.
    fs::remove_file(world.root().join(STATE_FOLDER).join("restored.json")).unwrap();
    pass(Duration::from_secs(20)).await;
    assert_eq!(replica.metric("hostpath_provisioner_removals_paused"), 0.0);
    world.until_gone(&uid).await;
    world.until_gone(&waits).await;
}

#[tokio::test(start_paused = true)]
async fn a_reused_volume_in_use_may_be_made_retain() {
    let world = World::new().await;
    let replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = reused(&world).await;
    change(&world, &uid, json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}})).await;
    pass(Duration::from_secs(120)).await;
    assert_eq!(notes(&world, "VolumeFailedDelete").await, [""; 0]);
    assert_eq!(kept(&replica, "volume_refused"), 0.0);
    assert!(precious(&world, &uid).exists());
}

/// What the handbook advises.
#[tokio::test(start_paused = true)]
async fn a_refused_volume_goes_when_it_is_deleted_and_leaves_its_directory() {
    let world = World::new().await;
    let _replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = reused(&world).await;
    world.delete_claim("second").await;
    until("it is refused", async || !notes(&world, "VolumeFailedDelete").await.is_empty()).await;
    let _ = world.volumes().delete(&volume_name(&uid), &DeleteParams::default()).await;
    world.until_gone(&uid).await;
    assert!(precious(&world, &uid).exists());
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_was_freed_goes_when_it_is_deleted_and_leaves_its_directory() {
    let world = World::new().await;
    let replica = world.start("one", &["--sweep-interval", "10s"]);
    let uid = bound_with_data(&world, "data").await;
    change(&world, &uid, json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}})).await;
    pass(Duration::from_secs(5)).await;
    world.delete_claim("data").await;
    pass(Duration::from_secs(5)).await;
    change(
        &world,
        &uid,
        json!({"spec": {"claimRef": null, "persistentVolumeReclaimPolicy": "Delete"}}),
    )
    .await;
    pass(Duration::from_secs(5)).await;
    let _ = world.volumes().delete(&volume_name(&uid), &DeleteParams::default()).await;
    world.until_gone(&uid).await;
    assert!(precious(&world, &uid).exists());
    until("it is counted", async || kept(&replica, "holds_data") == 1.0).await;
}

/// P5.
#[tokio::test(start_paused = true)]
async fn a_claim_of_a_reused_volume_that_asks_for_more_is_refused() {
    let world = World::with_class(json!({"allowVolumeExpansion": true})).await;
    let _replica = world.start("one", &[]);
    reused(&world).await;
    let patch = Patch::Merge(json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}));
    world.claims().patch("second", &PatchParams::default(), &patch).await.unwrap();
    until("it is refused", async || {
        world.claim_annotations("second").await.contains_key(WAITING_REASON)
    })
    .await;
}

/// The sweep clears its rest in the trash, and fails afterwards.
#[tokio::test(start_paused = true)]
async fn a_volume_whose_rest_was_cleared_goes_though_the_sweep_fails() {
    let world = World::new().await;
    let _replica = world.start("one", &["--sweep-interval", "10s", "--delete-threshold", "2"]);
    let uid = bound_with_data(&world, "data").await;
    let (aside, state) = (world.root().join("aside"), world.root().join(STATE_FOLDER));
    fs::rename(world.directory(&uid), &aside).unwrap();
    fs::write(world.directory(&uid), "in the way").unwrap();
    world.delete_claim("data").await;
    pass(Duration::from_secs(60)).await;
    fs::remove_file(world.directory(&uid)).unwrap();
    fs::rename(state.join("retained"), state.join("retained-aside")).unwrap();
    fs::write(state.join("retained"), "").unwrap();
    fs::rename(&aside, state.join(TRASH_FOLDER).join(format!("gone-{uid}"))).unwrap();
    until("it is cleared", async || world.half_done().is_empty()).await;
    fs::remove_file(state.join("retained")).unwrap();
    fs::rename(state.join("retained-aside"), state.join("retained")).unwrap();
    world.until_gone(&uid).await;
}

#[tokio::test(start_paused = true)]
async fn a_former_leader_counts_nothing() {
    let world = World::new().await;
    let one = world.start("one", &["--sweep-interval", "10s"]);
    fs::create_dir(world.directory("u-3")).unwrap();
    until("it is counted", async || kept(&one, "not_ours") == 1.0).await;
    let two = world.start("two", &["--sweep-interval", "10s"]);
    pass(Duration::from_secs(5)).await;
    let rule = Rule::new(Match::any().user("one").resource("leases"), Fault::Unavailable);
    world.server.faults().set_plan(FaultPlan::none().rule(rule));
    until("another one leads", async || kept(&two, "not_ours") == 1.0).await;
    until("it counts nothing", async || kept(&one, "not_ours") == 0.0).await;
}

/// What the handbook says of a directory that is kept.
#[tokio::test(start_paused = true)]
async fn a_kept_directory_is_bound_to_a_claim_again() {
    let world = World::new().await;
    let first = world.start("one", &["--sweep-interval", "10s"]);
    let uid = bound_with_data(&world, "data").await;
    pass(Duration::from_secs(1)).await;
    first.kill().await;
    forget(&world, &uid).await;
    let second = world.start("two", &["--sweep-interval", "10s"]);
    until("it is counted", async || kept(&second, "holds_data") == 1.0).await;
    let volume = json!({"metadata": {"name": "again"}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
        "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": NAMESPACE, "name": "data"},
        "hostPath": {"path": world.directory(&uid).display().to_string(), "type": "Directory"},
    }});
    let volume: PersistentVolume = serde_json::from_value(volume).unwrap();
    world.volumes().create(&PostParams::default(), &volume).await.unwrap();
    world.claim_with("data", json!({"volumeName": "again"})).await;
    world.until_bound("data").await;
    until("it is not counted", async || kept(&second, "holds_data") == 0.0).await;
    stays("the data is there", Duration::from_secs(300), || async {
        precious(&world, &uid).exists()
    })
    .await;
}
