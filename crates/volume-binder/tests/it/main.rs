//! The persistent volume binder, seen through the API alone. Nothing here sleeps: watches say when
//! it is done.

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule, User};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// Only ends a test that has failed.
const LIMIT: Duration = Duration::from_secs(60);

struct World {
    client: Client,
    claims: Api<PersistentVolumeClaim>,
    volumes: Api<PersistentVolume>,
}

fn world() -> World {
    world_on(&EmbeddedApiServer::builder().protect_volumes(true).build())
}

/// With a binder.
fn world_on(server: &EmbeddedApiServer) -> World {
    let binder = User::new(volume_binder::USER).group("system:masters");
    tokio::spawn(volume_binder::run(server.client_as(binder)));
    let client = server.client();
    World {
        claims: Api::default_namespaced(client.clone()),
        volumes: Api::all(client.clone()),
        client,
    }
}

impl World {
    async fn class(&self, name: &str, mode: &str) {
        let class = json!({
            "metadata": { "name": name },
            "provisioner": "example.com/made-up",
            "volumeBindingMode": mode,
        });
        let classes: Api<StorageClass> = Api::all(self.client.clone());
        classes
            .create(&PostParams::default(), &serde_json::from_value(class).unwrap())
            .await
            .unwrap();
    }

    async fn claim(&self, name: &str, class: &str, size: &str) -> PersistentVolumeClaim {
        let claim = json!({
            "metadata": { "name": name },
            "spec": {
                "storageClassName": class,
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": size } },
            },
        });
        self.claims
            .create(&PostParams::default(), &serde_json::from_value(claim).unwrap())
            .await
            .unwrap()
    }

    async fn volume(
        &self,
        name: &str,
        class: &str,
        size: &str,
        of: Option<&PersistentVolumeClaim>,
    ) {
        let reference = of.map(|claim| {
            json!({
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": claim.namespace(),
                "name": claim.name_any(),
                "uid": claim.uid(),
            })
        });
        let volume = json!({
            "metadata": { "name": name },
            "spec": {
                "storageClassName": class,
                "accessModes": ["ReadWriteOnce"],
                "capacity": { "storage": size },
                "hostPath": { "path": "/nowhere" },
                "claimRef": reference,
            },
        });
        self.volumes
            .create(&PostParams::default(), &serde_json::from_value(volume).unwrap())
            .await
            .unwrap();
    }

    async fn claim_until(
        &self,
        name: &str,
        is: impl Fn(&PersistentVolumeClaim) -> bool,
    ) -> PersistentVolumeClaim {
        until(&self.claims, name, is).await
    }

    async fn volume_until(
        &self,
        name: &str,
        is: impl Fn(&PersistentVolume) -> bool,
    ) -> PersistentVolume {
        until(&self.volumes, name, is).await
    }
}

/// The first version of an object that meets a condition.
async fn until<K>(api: &Api<K>, name: &str, is: impl Fn(&K) -> bool) -> K
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut last = None;
    let found = async {
        let mut versions = watcher(api.clone(), config).applied_objects().boxed();
        while let Some(version) = versions.try_next().await.unwrap() {
            if is(&version) {
                return version;
            }
            last = Some(version);
        }
        unreachable!("a watcher does not end")
    };
    match timeout(LIMIT, found).await {
        Ok(version) => version,
        Err(_) => panic!("{name} stayed {last:#?}"),
    }
}

/// Waits until so many objects meet a condition.
async fn all<K>(api: &Api<K>, count: usize, is: impl Fn(&K) -> bool)
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let mut met = std::collections::HashSet::new();
    let found = async {
        let mut versions =
            watcher(api.clone(), watcher::Config::default()).applied_objects().boxed();
        while met.len() < count {
            let version = versions.try_next().await.unwrap().expect("a watcher does not end");
            if is(&version) {
                met.insert(version.meta().name.clone());
            }
        }
    };
    assert!(timeout(LIMIT, found).await.is_ok(), "only {} of {count}", met.len());
}

/// Waits until the object is gone.
async fn gone<K>(api: &Api<K>, name: &str)
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let ended =
        kube::runtime::wait::await_condition(api.clone(), name, |held: Option<&K>| held.is_none());
    timeout(LIMIT, ended).await.expect("still there").expect("the watch works");
}

fn claim_phase(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.status.as_ref()?.phase.as_deref()
}

fn volume_phase(volume: &PersistentVolume) -> Option<&str> {
    volume.status.as_ref()?.phase.as_deref()
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim_phase(claim) == Some("Bound")
}

fn provisioner(claim: &PersistentVolumeClaim) -> Option<&String> {
    claim.annotations().get("volume.kubernetes.io/storage-provisioner")
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_annotated_bound_to_its_volume_and_given_up_again() {
    let world = world();
    world.class("fast", "Immediate").await;
    let claim = world.claim("data", "fast", "1Gi").await;
    assert_eq!(claim.finalizers(), ["kubernetes.io/pvc-protection"], "protected at creation");

    let claim = world.claim_until("data", |claim| provisioner(claim).is_some()).await;
    assert_eq!(provisioner(&claim).unwrap(), "example.com/made-up");
    assert_eq!(
        claim.annotations()["volume.beta.kubernetes.io/storage-provisioner"],
        "example.com/made-up"
    );
    assert_eq!(claim_phase(&claim), Some("Pending"));

    world.volume("pvc-1", "fast", "2Gi", Some(&claim)).await;
    let claim = world.claim_until("data", is_bound).await;
    let status = claim.status.clone().unwrap();
    assert_eq!(claim.spec.as_ref().unwrap().volume_name.as_deref(), Some("pvc-1"));
    assert_eq!(claim.annotations()["pv.kubernetes.io/bind-completed"], "yes");
    assert_eq!(claim.annotations()["pv.kubernetes.io/bound-by-controller"], "yes");
    assert_eq!(status.capacity.unwrap()["storage"].0, "2Gi");
    assert_eq!(status.access_modes.unwrap(), ["ReadWriteOnce"]);
    let volume = world.volumes.get("pvc-1").await.unwrap();
    assert_eq!(volume_phase(&volume), Some("Bound"));
    assert_eq!(volume.finalizers(), ["kubernetes.io/pv-protection"]);
    assert!(
        !volume.annotations().contains_key("pv.kubernetes.io/bound-by-controller"),
        "the claimRef was ours"
    );

    world.volumes.delete("pvc-1", &DeleteParams::default()).await.unwrap();
    let held = world.volumes.get("pvc-1").await.unwrap();
    assert!(held.metadata.deletion_timestamp.is_some(), "a bound volume is protected");

    world.claims.delete("data", &DeleteParams::default()).await.unwrap();
    gone(&world.claims, "data").await;
    gone(&world.volumes, "pvc-1").await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_released_when_its_claim_is_gone() {
    let world = world();
    world.class("fast", "Immediate").await;
    let claim = world.claim("data", "fast", "1Gi").await;
    world.volume("pvc-1", "fast", "1Gi", Some(&claim)).await;
    world.claim_until("data", is_bound).await;
    world.claims.delete("data", &DeleteParams::default()).await.unwrap();
    let released =
        world.volume_until("pvc-1", |volume| volume_phase(volume) == Some("Released")).await;
    assert_eq!(released.spec.unwrap().claim_ref.unwrap().uid, claim.uid());

    // A new claim of the same name is another claim: the volume stays released.
    let second = world.claim("data", "fast", "1Gi").await;
    world
        .claim_until("data", |claim| claim.uid() == second.uid() && provisioner(claim).is_some())
        .await;
    assert_eq!(volume_phase(&world.volumes.get("pvc-1").await.unwrap()), Some("Released"));
    world.volumes.delete("pvc-1", &DeleteParams::default()).await.unwrap();
    gone(&world.volumes, "pvc-1").await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_waits_for_its_consumer_is_annotated_when_a_node_is_selected() {
    let world = world();
    world.class("late", "WaitForFirstConsumer").await;
    world.claim("data", "late", "1Gi").await;
    world.class("fast", "Immediate").await;
    world.claim("other", "fast", "1Gi").await;
    world.claim_until("other", |claim| provisioner(claim).is_some()).await;
    let claim = world.claims.get("data").await.unwrap();
    assert_eq!(provisioner(&claim), None, "the later claim has been looked at, this one waits");
    let selected =
        json!({ "metadata": { "annotations": { "volume.kubernetes.io/selected-node": "n1" } } });
    world.claims.patch("data", &PatchParams::default(), &Patch::Merge(selected)).await.unwrap();
    world.claim_until("data", |claim| provisioner(claim).is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn a_class_that_comes_later_reaches_the_claims_that_wait_for_it() {
    let world = world();
    world.claim("data", "fast", "1Gi").await;
    world.claim_until("data", |claim| claim_phase(claim) == Some("Pending")).await;
    world.class("fast", "Immediate").await;
    world.claim_until("data", |claim| provisioner(claim).is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn a_free_volume_goes_to_a_claim_that_it_fits() {
    let world = world();
    world.volume("large", "manual", "10Gi", None).await;
    world.volume("small", "manual", "1Gi", None).await;
    world.volume("medium", "manual", "5Gi", None).await;
    for name in ["large", "small", "medium"] {
        world.volume_until(name, |volume| volume_phase(volume) == Some("Available")).await;
    }
    world.claim("data", "manual", "2Gi").await;
    let claim = world.claim_until("data", is_bound).await;
    assert_eq!(
        claim.spec.unwrap().volume_name.as_deref(),
        Some("medium"),
        "the smallest that is large enough"
    );
    let medium = world.volumes.get("medium").await.unwrap();
    assert_eq!(medium.annotations()["pv.kubernetes.io/bound-by-controller"], "yes");
    assert_eq!(volume_phase(&world.volumes.get("small").await.unwrap()), Some("Available"));
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_a_scheduled_pod_uses_is_kept_until_the_pod_is_gone() {
    let world = world();
    let pods: Api<Pod> = Api::default_namespaced(world.client.clone());
    let pod = |name: &str, node: Option<&str>| -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": {
                "nodeName": node,
                "containers": [{ "name": "c", "image": "i" }],
                "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": name } }],
            },
        }))
        .unwrap()
    };
    for (name, node) in [("used", Some("n1")), ("unscheduled", None)] {
        world.claim(name, "manual", "1Gi").await;
        pods.create(&PostParams::default(), &pod(name, node)).await.unwrap();
        world.claims.delete(name, &DeleteParams::default()).await.unwrap();
    }
    gone(&world.claims, "unscheduled").await;
    let used = world.claims.get("used").await.unwrap();
    assert!(used.metadata.deletion_timestamp.is_some());
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    pods.delete("used", &now).await.unwrap();
    gone(&world.claims, "used").await;
}

#[tokio::test(start_paused = true)]
async fn a_bound_claim_whose_volume_vanishes_is_lost() {
    let world = world();
    let claim = world.claim("data", "manual", "1Gi").await;
    world.volume("v", "manual", "1Gi", Some(&claim)).await;
    world.claim_until("data", is_bound).await;
    let bare = json!({ "metadata": { "finalizers": null } });
    world.volumes.delete("v", &DeleteParams::default()).await.unwrap();
    world.volumes.patch("v", &PatchParams::default(), &Patch::Merge(bare)).await.unwrap();
    world.claim_until("data", |claim| claim_phase(claim) == Some("Lost")).await;
}

#[tokio::test]
async fn many_claims_are_bound_with_few_requests_each() {
    let count = 50;
    let server = EmbeddedApiServer::builder().protect_volumes(true).build();
    let world = world_on(&server);
    world.class("fast", "Immediate").await;
    for number in 0..count {
        let name = format!("c{number}");
        let claim = world.claim(&name, "fast", "1Gi").await;
        world.volume(&format!("pvc-{number}"), "fast", "1Gi", Some(&claim)).await;
    }
    all(&world.claims, count, is_bound).await;
    // Annotation, volume phase, claim spec, claim status; now and then one more where two watches
    // cross.
    server.requests().by(volume_binder::USER).writes().assert_at_most(count as u64 * 5);
    for number in 0..count {
        world.claims.delete(&format!("c{number}"), &DeleteParams::default()).await.unwrap();
    }
    all(&world.volumes, count, |volume| volume_phase(volume) == Some("Released")).await;
    server.requests().by(volume_binder::USER).reads().assert_at_most(count as u64 * 3);
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_no_volume_that_it_names_but_that_is_not_what_it_asks_for() {
    let world = world();
    let claim = |name: &str, volume: &str, class: &str, size: &str, mode: &str| {
        let claim = json!({
            "metadata": { "name": name },
            "spec": {
                "storageClassName": class,
                "volumeName": volume,
                "accessModes": [mode],
                "resources": { "requests": { "storage": size } },
            },
        });
        serde_json::from_value::<PersistentVolumeClaim>(claim).unwrap()
    };
    world.volume("v", "", "1Gi", None).await;
    for wrong in [
        claim("larger", "v", "", "2Gi", "ReadWriteOnce"),
        claim("of-another-class", "v", "other", "1Gi", "ReadWriteOnce"),
        claim("shared", "v", "", "1Gi", "ReadWriteMany"),
    ] {
        world.claims.create(&PostParams::default(), &wrong).await.unwrap();
    }
    // The right one comes last, and gets it: the others had their turn.
    let right = claim("right", "v", "", "1Gi", "ReadWriteOnce");
    let volume = world.volume_until("v", |v| volume_phase(v) == Some("Available")).await;
    assert_eq!(volume.spec.unwrap().claim_ref, None);
    world.claims.create(&PostParams::default(), &right).await.unwrap();
    let volume = world.volume_until("v", |v| volume_phase(v) == Some("Bound")).await;
    assert_eq!(volume.spec.unwrap().claim_ref.unwrap().name.as_deref(), Some("right"));
    for waiting in ["larger", "of-another-class", "shared"] {
        let claim = world.claims.get(waiting).await.unwrap();
        assert_eq!(claim.status.unwrap().phase.as_deref(), Some("Pending"), "{waiting}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_that_no_event_explains_is_tried_again() {
    let binder = Match::any().user(volume_binder::USER).writes();
    let plan = FaultPlan::none().rule(Rule::new(binder, Fault::Conflict).calls(1..=6));
    let world = world_on(&EmbeddedApiServer::builder().faults(plan).build());
    world.claim("c", "", "1Gi").await;
    world.volume("v", "", "1Gi", None).await;
    world.volume_until("v", |v| volume_phase(v) == Some("Bound")).await;
}
