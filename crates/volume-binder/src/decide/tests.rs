//! The decisions one by one, and a world without a server that settles from any state.

use super::{Unless, Write, next_write};
use crate::view::{Key, View};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Claims and volumes as JSON, patched as the server patches them; the view sees every version.
#[derive(Default)]
struct World {
    view: View,
    version: u64,
    claims: std::collections::BTreeMap<String, Value>,
    volumes: std::collections::BTreeMap<String, Value>,
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().map(|object| object.remove(key));
        } else {
            merge(&mut target[key], value);
        }
    }
}

impl World {
    fn class(&mut self, name: &str, mode: &str) {
        let class =
            json!({ "metadata": { "name": name }, "provisioner": "p", "volumeBindingMode": mode });
        let class: StorageClass = serde_json::from_value(class).expect("a class");
        self.view.put_class(class);
    }

    fn claim(&mut self, name: &str, change: Value) -> Key {
        let mut claim = json!({
            "metadata": { "name": name, "namespace": "ns", "uid": format!("uid-{name}") },
            "spec": {
                "storageClassName": "fast",
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "1Gi" } },
            },
        });
        merge(&mut claim, &change);
        self.claims.insert(name.to_owned(), claim);
        self.seen(&Key::Claim(("ns".to_owned(), name.to_owned())))
    }

    fn volume(&mut self, name: &str, of: Option<&str>, change: Value) -> Key {
        let mut volume = json!({
            "metadata": { "name": name },
            "spec": {
                "storageClassName": "fast",
                "accessModes": ["ReadWriteOnce"],
                "capacity": { "storage": "1Gi" },
            },
        });
        if let Some(claim) = of {
            volume["spec"]["claimRef"] =
                json!({ "namespace": "ns", "name": claim, "uid": format!("uid-{claim}") });
        }
        merge(&mut volume, &change);
        self.volumes.insert(name.to_owned(), volume);
        self.seen(&Key::Volume(name.to_owned()))
    }

    fn object(&mut self, key: &Key) -> &mut Value {
        match key {
            Key::Claim((_, name)) => self.claims.get_mut(name),
            Key::Volume(name) => self.volumes.get_mut(name),
        }
        .expect("an object of this world")
    }

    /// A new version of an object reaches the view.
    fn seen(&mut self, key: &Key) -> Key {
        self.version += 1;
        let version = self.version.to_string();
        let object = self.object(key);
        object["metadata"]["resourceVersion"] = version.into();
        let object = object.clone();
        match key {
            Key::Claim(_) => {
                let claim: PersistentVolumeClaim = serde_json::from_value(object).expect("a claim");
                self.view.put_claim(claim);
            }
            Key::Volume(_) => {
                let volume: PersistentVolume = serde_json::from_value(object).expect("a volume");
                self.view.put_volume(volume);
            }
        }
        key.clone()
    }

    fn pod(&mut self, claim: &str, node: &str) {
        let pod = json!({
            "metadata": { "name": "pod", "namespace": "ns" },
            "spec": {
                "nodeName": node,
                "containers": [],
                "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": claim } }],
            },
        });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        self.view.put_pod(&pod);
    }

    fn next(&self, key: &Key) -> Option<Write> {
        next_write(&self.view, key)
    }

    fn write(&mut self, write: &Write) {
        let held = self.object(&write.target)["metadata"]["resourceVersion"].clone();
        assert_eq!(
            write.patch["metadata"]["resourceVersion"], held,
            "decided on the newest version"
        );
        let before = self.object(&write.target).clone();
        merge(self.object(&write.target), &write.patch);
        assert_ne!(*self.object(&write.target), before, "every write changes something: {write:?}");
        self.seen(&write.target);
    }

    /// Makes at most so many of the writes that are wanted, in the order of keys.
    fn settle(&mut self, mut writes: usize) {
        loop {
            let claims = self.claims.keys().map(|name| Key::Claim(("ns".to_owned(), name.clone())));
            let keys: Vec<Key> =
                claims.chain(self.volumes.keys().cloned().map(Key::Volume)).collect();
            let Some(write) = keys.iter().find_map(|key| self.next(key)) else { return };
            if writes == 0 {
                return;
            }
            writes -= 1;
            self.write(&write);
        }
    }
}

fn protected() -> Value {
    json!({ "metadata": { "finalizers": ["kubernetes.io/pvc-protection"] } })
}

fn deleted() -> Value {
    json!({ "metadata": {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["kubernetes.io/pvc-protection", "other"],
    } })
}

#[test]
fn a_claim_is_protected_then_annotated_then_pending_then_left_alone() {
    let mut world = World::default();
    world.class("fast", "Immediate");
    let claim = world.claim("c", json!({}));
    let write = world.next(&claim).expect("protection");
    assert_eq!(write.patch["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    world.write(&write);
    let write = world.next(&claim).expect("annotation");
    let annotations = &write.patch["metadata"]["annotations"];
    assert_eq!(annotations["volume.kubernetes.io/storage-provisioner"], "p");
    assert_eq!(annotations["volume.beta.kubernetes.io/storage-provisioner"], "p");
    world.write(&write);
    let write = world.next(&claim).expect("phase");
    assert!(write.status && write.patch["status"]["phase"] == "Pending");
    world.write(&write);
    assert_eq!(world.next(&claim), None);
}

#[test]
fn a_class_without_provisioner_and_one_that_waits_name_none() {
    let mut world = World::default();
    world.class("fast", "WaitForFirstConsumer");
    let mut waiting = protected();
    waiting["status"] = json!({ "phase": "Pending" });
    let claim = world.claim("c", waiting.clone());
    assert_eq!(world.next(&claim), None);
    merge(
        &mut waiting,
        &json!({ "metadata": { "annotations": { "volume.kubernetes.io/selected-node": "n" } } }),
    );
    let claim = world.claim("c", waiting);
    assert!(world.next(&claim).expect("annotation").patch["metadata"]["annotations"].is_object());
}

#[test]
fn the_four_writes_of_a_binding_come_in_order() {
    let mut world = World::default();
    let claim = world.claim("c", protected());
    world.volume("v", None, json!({ "status": { "phase": "Available" } }));
    let mut seen = Vec::new();
    while let Some(write) = world.next(&claim) {
        seen.push((write.target.clone(), write.status));
        world.write(&write);
    }
    let volume = Key::Volume("v".to_owned());
    assert_eq!(
        seen,
        [(volume.clone(), false), (volume, true), (claim.clone(), false), (claim, true)]
    );
    assert_eq!(world.volumes["v"]["spec"]["claimRef"]["uid"], "uid-c");
    assert_eq!(world.claims["c"]["status"]["capacity"]["storage"], "1Gi");
}

#[test]
fn a_volume_of_another_claim_or_too_small_or_of_another_class_is_not_taken() {
    for (of, change) in [
        (Some("other"), json!({})),
        (None, json!({ "spec": { "capacity": { "storage": "1023Mi" } } })),
        (None, json!({ "spec": { "storageClassName": "slow" } })),
        (None, json!({ "spec": { "accessModes": ["ReadOnlyMany"] } })),
        (None, json!({ "spec": { "volumeMode": "Block" } })),
        (None, json!({ "status": { "phase": "Released" } })),
        (None, json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })),
        (Some("c"), json!({ "spec": { "claimRef": { "uid": "older" } } })),
        (Some("c"), json!({ "spec": { "capacity": { "storage": "1" } } })),
    ] {
        let mut world = World::default();
        let mut pending = protected();
        pending["status"] = json!({ "phase": "Pending" });
        let claim = world.claim("c", pending);
        let mut volume = json!({ "status": { "phase": "Available" } });
        merge(&mut volume, &change);
        world.volume("v", of, volume);
        assert_eq!(world.next(&claim), None, "{change}");
    }
}

#[test]
fn a_label_selector_chooses_among_free_volumes() {
    let mut world = World::default();
    let mut asking = protected();
    asking["spec"] = json!({ "selector": { "matchLabels": { "tier": "gold" } } });
    let claim = world.claim("c", asking);
    world.volume("plain", None, json!({ "status": { "phase": "Available" } }));
    world.volume(
        "gold",
        None,
        json!({
            "metadata": { "labels": { "tier": "gold" } },
            "spec": { "capacity": { "storage": "9Gi" } },
            "status": { "phase": "Available" },
        }),
    );
    assert_eq!(world.next(&claim).expect("a binding").target, Key::Volume("gold".to_owned()));
}

#[test]
fn protection_is_taken_away_only_when_nobody_uses_the_claim() {
    let mut world = World::default();
    let claim = world.claim("c", deleted());
    world.pod("c", "n1");
    assert_eq!(world.next(&claim), None);
    world.pod("c", "");
    let write = world.next(&claim).expect("the pod is not scheduled");
    assert_eq!(write.patch["metadata"]["finalizers"], json!(["other"]));
    assert_eq!(write.unless, Some(Unless::ClaimInUse(("ns".to_owned(), "c".to_owned()))));
}

#[test]
fn a_volume_is_released_only_after_the_server_has_confirmed_that_its_claim_is_gone() {
    let mut world = World::default();
    let volume = world.volume("v", Some("c"), json!({ "status": { "phase": "Bound" } }));
    let write = world.next(&volume).expect("released");
    assert!(write.status && write.patch["status"]["phase"] == "Released");
    assert_eq!(
        write.unless,
        Some(Unless::ClaimExists(("ns".to_owned(), "c".to_owned()), "uid-c".to_owned()))
    );
    world.claim("c", json!({ "metadata": { "uid": "another" } }));
    assert_eq!(
        world.next(&volume).expect("the namesake is another claim").patch["status"]["phase"],
        "Released"
    );
}

#[test]
fn a_bound_volume_keeps_its_protection_while_it_is_deleted() {
    let mut world = World::default();
    let dying = json!({ "metadata": {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["kubernetes.io/pv-protection"],
    } });
    let mut bound = dying.clone();
    bound["status"] = json!({ "phase": "Bound" });
    world.claim("c", json!({ "spec": { "volumeName": "v" } }));
    let volume = world.volume("v", Some("c"), bound);
    assert_eq!(world.next(&volume), None);
    let mut released = dying;
    released["status"] = json!({ "phase": "Released" });
    let volume = world.volume("w", Some("gone"), released);
    assert_eq!(world.next(&volume).expect("free").patch["metadata"]["finalizers"], json!([]));
}

#[test]
fn the_second_volume_of_a_claim_goes_back() {
    let mut world = World::default();
    world.claim("c", json!({ "spec": { "volumeName": "v" } }));
    let made = json!({
        "metadata": { "annotations": { "pv.kubernetes.io/provisioned-by": "p" } },
        "spec": { "persistentVolumeReclaimPolicy": "Delete" },
    });
    let provisioned = world.volume("extra", Some("c"), made);
    assert_eq!(
        world.next(&provisioned).expect("to be deleted").patch["status"]["phase"],
        "Released"
    );
    let ours =
        json!({ "metadata": { "annotations": { "pv.kubernetes.io/bound-by-controller": "yes" } } });
    let taken = world.volume("taken", Some("c"), ours);
    assert_eq!(world.next(&taken).expect("to be freed").patch["spec"]["claimRef"], Value::Null);
}

proptest! {

    #[test]
    fn a_stop_between_any_two_writes_is_made_good_and_the_end_is_the_same(
        stop in 0_usize..20,
        order in Just((0..4).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let build = |order: &[usize]| {
            let mut world = World::default();
            world.class("fast", "Immediate");
            for step in order {
                match step {
                    0 => drop(world.claim("a", json!({}))),
                    1 => drop(world.claim("b", json!({ "spec": { "volumeName": "free" } }))),
                    2 => drop(world.volume("pvc-a", Some("a"), json!({}))),
                    _ => drop(world.volume("free", None, json!({}))),
                }
            }
            world
        };
        let mut world = build(&order);
        world.settle(stop);
        // A new binder knows only what the objects say.
        let mut restarted = World { version: world.version, ..World::default() };
        restarted.class("fast", "Immediate");
        restarted.claims.clone_from(&world.claims);
        restarted.volumes.clone_from(&world.volumes);
        let names: Vec<String> = restarted.claims.keys().cloned().collect();
        for name in names {
            restarted.seen(&Key::Claim(("ns".to_owned(), name)));
        }
        let names: Vec<String> = restarted.volumes.keys().cloned().collect();
        for name in names {
            restarted.seen(&Key::Volume(name));
        }
        restarted.settle(100);
        for (claim, volume) in [("a", "pvc-a"), ("b", "free")] {
            prop_assert_eq!(&restarted.claims[claim]["spec"]["volumeName"], volume);
            prop_assert_eq!(&restarted.claims[claim]["status"]["phase"], "Bound");
            prop_assert_eq!(&restarted.volumes[volume]["status"]["phase"], "Bound");
            prop_assert_eq!(&restarted.volumes[volume]["spec"]["claimRef"]["name"], claim);
        }
    }
}
