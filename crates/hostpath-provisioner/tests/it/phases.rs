//! A controller that says the wrong phase, and a server that was restored: a word that is wrong
//! removes nothing.

use std::fs;
use std::time::Duration;

use hostpath_provisioner::{
    FINALIZER, PROVISIONER, STATE_FOLDER, STORAGE_PROVISIONER, TERM_FILE, volume_name,
};
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{NAMESPACE, World, pass, stays, until};

pub(crate) async fn say_phase(world: &World, uid: &str, phase: &str) {
    let patch = Patch::Merge(json!({"status": {"phase": phase}}));
    let done =
        world.volumes().patch_status(&volume_name(uid), &PatchParams::default(), &patch).await;
    let _: PersistentVolume = done.unwrap();
}

pub(crate) async fn notes(world: &World, reason: &str) -> Vec<String> {
    let mut notes = Vec::new();
    for namespace in [NAMESPACE, "default"] {
        let api: Api<Event> = Api::namespaced(world.server.client(), namespace);
        let events = api.list(&Default::default()).await.unwrap().items.into_iter();
        notes.extend(
            events
                .filter(|event| event.reason.as_deref() == Some(reason))
                .filter_map(|event| event.note),
        );
    }
    notes
}

/// P1 on a server without a binder: the phase stays wrong.
#[tokio::test(start_paused = true)]
async fn a_released_volume_whose_claim_exists_is_not_taken_back_and_says_so() {
    for wrong in ["Released", "Available", "Pending", "Failed"] {
        let world = World::without_binder();
        world.make_class(json!({})).await;
        let _replica = world.start("one", &["--sweep-interval", "30s"]);
        let uid = world.claim("data").await;
        world.annotate_claim("data", STORAGE_PROVISIONER, json!(PROVISIONER)).await;
        until("the volume is there", async || world.volume(&uid).await.is_some()).await;
        fs::write(world.directory(&uid).join("precious"), "x").unwrap();
        say_phase(&world, &uid, "Bound").await;
        say_phase(&world, &uid, wrong).await;
        stays(&format!("the data is there after {wrong}"), Duration::from_secs(300), || async {
            world.directory(&uid).join("precious").exists()
        })
        .await;
        let volume = world.volume(&uid).await.expect("the volume stays");
        assert!(volume.metadata.deletion_timestamp.is_none(), "{wrong}");
        if wrong == "Released" {
            let told = notes(&world, "VolumeFailedDelete").await;
            assert!(
                told.iter().any(|note| note.contains("shop/data") && note.contains(&uid)),
                "{told:?}"
            );
        }
        // When the claim is gone, the same phase is right.
        world.delete_claim("data").await;
        if wrong != "Failed" {
            world.until_gone(&uid).await;
            assert!(world.in_root().is_empty());
        }
    }
}

/// P1, with a binder that sets the phase right at once, 40 times over.
#[tokio::test(start_paused = true)]
async fn forty_wrong_phases_that_are_set_right_at_once_lose_nothing() {
    let world = World::new().await;
    let _replica = world.start("one", &[]);
    let mut uids = Vec::new();
    for index in 0..40 {
        uids.push(world.claim(&format!("data-{index}")).await);
    }
    for index in 0..40 {
        world.until_bound(&format!("data-{index}")).await;
    }
    for uid in &uids {
        say_phase(&world, uid, "Released").await;
    }
    pass(Duration::from_secs(60)).await;
    let lost = uids.iter().filter(|uid| !world.directory(uid).is_dir()).count();
    assert_eq!(lost, 0);
    for uid in &uids {
        let volume = world.volume(uid).await.unwrap();
        assert!(volume.metadata.deletion_timestamp.is_none());
        assert_eq!(volume.status.unwrap().phase.as_deref(), Some("Bound"));
    }
}

/// A volume of ours that refers to no claim is free for reuse, whatever its phase.
#[tokio::test(start_paused = true)]
async fn a_released_volume_without_a_claim_is_left_alone() {
    let world = World::without_binder();
    world.make_class(json!({})).await;
    let _replica = world.start("one", &[]);
    let uid = world.claim("data").await;
    let asked = (STORAGE_PROVISIONER, json!(PROVISIONER));
    world.annotate_claim("data", asked.0, asked.1).await;
    until("the volume is there", async || world.volume(&uid).await.is_some()).await;
    let freed = Patch::Merge(json!({"spec": {"claimRef": null}}));
    world.volumes().patch(&volume_name(&uid), &PatchParams::default(), &freed).await.unwrap();
    world.delete_claim("data").await;
    say_phase(&world, &uid, "Released").await;
    stays("the directory is there", Duration::from_secs(120), || async {
        world.directory(&uid).is_dir()
    })
    .await;
    assert!(world.volume(&uid).await.unwrap().metadata.deletion_timestamp.is_none());
}

/// Takes claim and volume from the server without the provisioner, as a restored backup that has
/// neither.
pub(crate) async fn forget(world: &World, uid: &str) {
    let freed = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    world.volumes().patch(&volume_name(uid), &PatchParams::default(), &freed).await.unwrap();
    world.volumes().delete(&volume_name(uid), &Default::default()).await.unwrap();
    world.claims().patch("data", &PatchParams::default(), &freed).await.unwrap();
    world.delete_claim("data").await;
    until("they are forgotten", async || {
        world.volume(uid).await.is_none() && world.claims().get_opt("data").await.unwrap().is_none()
    })
    .await;
}

/// P4, where no number tells it: revisions were raised, or the backup is younger than what the disk
/// saw.
#[tokio::test(start_paused = true)]
async fn a_restore_that_nobody_notices_takes_no_data() {
    let world = World::new().await;
    let first = world.start("one", &["--sweep-interval", "10s"]);
    let (uid, empty) = (world.claim("data").await, world.claim("empty").await);
    world.until_bound("data").await;
    world.until_bound("empty").await;
    fs::write(world.directory(&uid).join("precious"), "x").unwrap();
    // While the leader runs: it hears of no deletion.
    pass(Duration::from_secs(1)).await;
    first.kill().await;
    forget(&world, &uid).await;
    let second = world.start("two", &["--sweep-interval", "10s"]);
    let kept = "hostpath_provisioner_directories_kept{reason=\"holds_data\"}";
    until("it is counted", async || second.metric(kept) == 1.0).await;
    stays("the data is there", Duration::from_secs(600), || async {
        world.directory(&uid).join("precious").exists() && world.directory(&empty).is_dir()
    })
    .await;
    assert_eq!(second.metric("hostpath_provisioner_removals_paused"), 0.0, "nothing tells it");
    // What the handbook advises.
    fs::remove_file(world.directory(&uid).join("precious")).unwrap();
    until("it goes when it is empty", async || !world.directory(&uid).exists()).await;
    assert!(world.directory(&empty).is_dir());
}

/// The reference of a volume may be changed: its claim is found by the UID all the same.
#[tokio::test(start_paused = true)]
async fn a_claim_whose_name_was_changed_in_the_reference_keeps_its_data() {
    for with_binder in [false, true] {
        let world = if with_binder { World::new().await } else { World::without_binder() };
        if !with_binder {
            world.make_class(json!({})).await;
        }
        let _replica = world.start("one", &[]);
        let uid = world.claim("data").await;
        if !with_binder {
            world.annotate_claim("data", STORAGE_PROVISIONER, json!(PROVISIONER)).await;
        }
        until("there is a volume", async || world.volume(&uid).await.is_some()).await;
        fs::write(world.directory(&uid).join("precious"), "x").unwrap();
        let renamed = Patch::Merge(json!({"spec": {"claimRef": {"name": "dato"}}}));
        world.volumes().patch(&volume_name(&uid), &PatchParams::default(), &renamed).await.unwrap();
        if !with_binder {
            say_phase(&world, &uid, "Released").await;
        }
        stays("the data is there", Duration::from_secs(120), async || {
            world.directory(&uid).join("precious").exists()
        })
        .await;
        assert!(
            world
                .volume(&uid)
                .await
                .is_some_and(|volume| volume.metadata.deletion_timestamp.is_none())
        );
    }
}

/// P4: a Lease that is older than what the disk saw.
#[tokio::test(start_paused = true)]
async fn nothing_is_removed_for_a_server_that_was_restored_until_it_is_confirmed() {
    for newer in
        [json!({"transitions": 7}), json!({"resource_version": "900000"}), json!({"seen": 900_000})]
    {
        let world = World::new().await;
        let first = world.start("one", &["--sweep-interval", "30s"]);
        let uid = world.claim("data").await;
        world.until_bound("data").await;
        fs::write(world.directory(&uid).join("precious"), "x").unwrap();
        // No replica runs while the server forgets.
        pass(Duration::from_secs(1)).await;
        first.stop().await;
        forget(&world, &uid).await;
        let state = world.root().join(STATE_FOLDER);
        let mut record: Value =
            serde_json::from_slice(&fs::read(state.join(TERM_FILE)).unwrap()).unwrap();
        for (field, value) in newer.as_object().unwrap() {
            let place = if field == "seen" { &mut record } else { &mut record["fence"] };
            place[field] = value.clone();
        }
        fs::write(state.join(TERM_FILE), record.to_string()).unwrap();

        for identity in ["two", "three"] {
            let replica = world.start(identity, &["--sweep-interval", "30s"]);
            stays(&format!("the data is there: {newer}"), Duration::from_secs(120), || async {
                world.directory(&uid).join("precious").exists()
            })
            .await;
            assert_eq!(replica.metric("hostpath_provisioner_removals_paused"), 1.0, "{newer}");
            let told = notes(&world, "RemovalsPaused").await;
            assert!(told.iter().any(|note| note.contains("restored.json")), "{told:?}");
            // New claims get their volumes meanwhile; deletions wait.
            let other = world.claim(identity).await;
            world.until_bound(identity).await;
            world.delete_claim(identity).await;
            pass(Duration::from_secs(60)).await;
            let waiting = world.volume(&other).await.expect("it waits");
            assert!(world.directory(&other).is_dir());
            assert!(waiting.metadata.finalizers.unwrap().iter().any(|name| name == FINALIZER));
            assert!(waiting.metadata.deletion_timestamp.is_none());
            replica.stop().await;
        }
        let replica = world.start("four", &["--sweep-interval", "30s"]);
        pass(Duration::from_secs(60)).await;
        assert!(world.directory(&uid).is_dir());
        // The operator confirms.
        fs::remove_file(state.join("restored.json")).unwrap();
        let left = [volume_name(&uid)].into();
        until("what was waiting is taken back", async || world.in_root() == left).await;
        assert!(world.directory(&uid).join("precious").exists());
        assert_eq!(replica.metric("hostpath_provisioner_removals_paused"), 0.0);
        replica.stop().await;
        let replica = world.start("five", &["--sweep-interval", "30s"]);
        pass(Duration::from_secs(60)).await;
        assert_eq!(
            replica.metric("hostpath_provisioner_removals_paused"),
            0.0,
            "it is confirmed once"
        );
        replica.stop().await;
    }
}
