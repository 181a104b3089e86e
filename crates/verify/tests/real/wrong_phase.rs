//! A controller that says the wrong phase, beside a kube-controller-manager that sets it right at
//! once: no data is lost.

use std::time::Duration;

use control_plane::ControlPlane;
use futures::future::join_all;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use verify::real;

use crate::provisioner::{
    Provisioner, claim, deploy, make, token, until, until_bound, until_taken_back,
};

const NAME: &str = "hostpath-provisioner";
const VOLUMES: usize = 40;
/// Wrong words about each volume.
const WORDS: usize = 5;
const FILE: &str = "precious";

async fn phase(volumes: &Api<PersistentVolume>, name: &str) -> String {
    let volume = volumes.get(name).await.unwrap();
    volume.status.and_then(|status| status.phase).unwrap_or_default()
}

/// Says again and again that a volume is released, as `kubectl patch pv NAME --subresource=status`
/// does.
async fn say_released(admin: &Client, volume: &str) {
    let volumes: Api<PersistentVolume> = Api::all(admin.clone());
    let wrong = Patch::Merge(json!({"status": {"phase": "Released"}}));
    for _ in 0..WORDS {
        volumes.patch_status(volume, &PatchParams::default(), &wrong).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_wrong_phases_lose_no_directory() {
    let builder = ControlPlane::builder().controller_manager(true);
    let Some(plane) = tokio::task::block_in_place(|| real::own(builder)) else { return };
    let admin = real::client(&plane, "admin").await;
    let applied = plane.kubectl().unwrap().args(["apply", "-f"]).arg(deploy()).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    let token = token(&admin, NAME, NAME).await;
    let flags =
        ["--storage-class", "hostpath", "--lease-namespace", NAME, "--sweep-interval", "5s"];
    let provisioner = Provisioner::start(&plane, &token, &flags);
    let log = || provisioner.log();
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(admin.clone(), NAME);
    let volumes: Api<PersistentVolume> = Api::all(admin.clone());
    let names: Vec<String> = (0..VOLUMES).map(|index| format!("data-{index}")).collect();
    join_all(names.iter().map(|name| make(&claims, claim(name, "hostpath")))).await;
    let bound = join_all(names.iter().map(|name| until_bound(&claims, name, log))).await;
    for volume in &bound {
        std::fs::write(provisioner.root.join(volume).join(FILE), "x").unwrap();
    }

    join_all(bound.iter().map(|volume| say_released(&admin, volume))).await;
    until("every phase is right again", &log, async || {
        let phases = join_all(bound.iter().map(|volume| phase(&volumes, volume))).await;
        phases.iter().all(|phase| phase == "Bound")
    })
    .await;
    // Every volume was looked at since: what was to be removed for a wrong word would be.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let lost =
        bound.iter().filter(|volume| !provisioner.root.join(volume).join(FILE).exists()).count();
    assert_eq!(lost, 0, "directories lost of {VOLUMES}; the log:\n{}", log());
    for volume in &bound {
        let volume = volumes.get(volume).await.unwrap();
        assert!(volume.metadata.deletion_timestamp.is_none(), "{volume:?}");
    }

    // The right word still takes each of them back.
    for name in &names {
        claims.delete(name, &DeleteParams::default()).await.unwrap();
    }
    for volume in &bound {
        until_taken_back(&admin, &provisioner.root, volume, log).await;
    }
    let (ended, ..) = provisioner.stop().await;
    assert_eq!(ended.code(), Some(0));
}
