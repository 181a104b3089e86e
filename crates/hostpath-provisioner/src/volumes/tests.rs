//! Every state a volume can be in, and what follows from it.

use k8s_openapi::api::core::v1::PersistentVolume;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::decide::{VolumeStep, decide, finalizer_patch, has_finalizer};
use crate::names::{FINALIZER, PROVISIONED_BY, PROVISIONER};
use crate::us::Us;

fn us() -> Us {
    Us {
        provisioner: PROVISIONER.into(),
        storage_class: "hostpath".into(),
        root: "/srv".into(),
        node_label: None,
    }
}

fn volume_json() -> Value {
    json!({
        "metadata": {
            "name": "pvc-u-1", "uid": "v-1", "resourceVersion": "7",
            "annotations": {PROVISIONED_BY: PROVISIONER}, "finalizers": ["kubernetes.io/pv-protection", FINALIZER],
        },
        "spec": {
            "storageClassName": "hostpath", "persistentVolumeReclaimPolicy": "Delete",
            "hostPath": {"path": "/srv/pvc-u-1"},
            "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"},
        },
        "status": {"phase": "Bound"},
    })
}

fn with(edit: impl FnOnce(&mut Value)) -> PersistentVolume {
    let mut value = volume_json();
    edit(&mut value);
    serde_json::from_value(value).unwrap()
}

fn word(step: &VolumeStep) -> &'static str {
    match step {
        VolumeStep::Idle => "idle",
        VolumeStep::AddFinalizer(_) => "protect",
        VolumeStep::SetApart(_) => "set apart",
        VolumeStep::TakeBack(_) => "take back",
        VolumeStep::TakeBackIfAbandoned(_) => "take back if abandoned",
        VolumeStep::Refuse(_) => "refuse",
    }
}

fn step(edit: impl FnOnce(&mut Value)) -> &'static str {
    word(&decide(&us(), &with(edit), true))
}

#[test]
fn a_bound_volume_is_left_alone_and_protected() {
    assert_eq!(step(|_| {}), "idle");
    assert_eq!(step(|v| v["metadata"]["finalizers"] = json!(null)), "protect");
    assert_eq!(step(|v| v["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")), "idle");
}

#[test]
fn a_released_volume_is_taken_back_only_with_policy_delete() {
    let released = |policy: &'static str| {
        move |v: &mut Value| {
            v["status"]["phase"] = json!("Released");
            v["spec"]["persistentVolumeReclaimPolicy"] = json!(policy);
        }
    };
    assert_eq!(step(released("Delete")), "take back");
    assert_eq!(step(released("Retain")), "set apart");
    assert_eq!(step(released("Recycle")), "set apart");
    for phase in ["Failed", "Bound", "Strange"] {
        assert_eq!(step(|v| v["status"]["phase"] = json!(phase)), "idle", "{phase}");
    }
}

#[test]
fn a_crash_after_the_finalizer_went_does_not_bring_it_back() {
    let unprotected = |v: &mut Value| {
        v["status"]["phase"] = json!("Released");
        v["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]);
    };
    assert_eq!(step(unprotected), "take back");
    assert_eq!(
        step(|v| {
            unprotected(v);
            v["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }),
        "idle"
    );
}

#[test]
fn retain_takes_the_finalizer_off_once_even_while_it_is_deleted() {
    let retained = |v: &mut Value| v["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
    assert_eq!(step(retained), "set apart");
    assert_eq!(
        step(|v| {
            retained(v);
            v["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }),
        "set apart"
    );
    assert_eq!(
        step(|v| {
            retained(v);
            v["metadata"]["finalizers"] = json!([]);
        }),
        "idle"
    );
}

#[test]
fn a_volume_whose_claim_vanished_before_binding_is_looked_into() {
    for phase in [json!("Pending"), json!("Available"), json!(null), json!("")] {
        let volume = with(|v| v["status"]["phase"] = phase.clone());
        assert_eq!(word(&decide(&us(), &volume, false)), "take back if abandoned", "{phase}");
        assert_eq!(word(&decide(&us(), &volume, true)), "idle", "{phase}");
    }
    assert_eq!(word(&decide(&us(), &with(|_| {}), false)), "idle", "a bound one is the binder's to release");
    let freed = with(|v| {
        v["status"]["phase"] = json!("Available");
        v["spec"]["claimRef"] = json!(null);
    });
    assert_eq!(word(&decide(&us(), &freed, false)), "idle", "an operator freed it for reuse");
}

#[test]
fn volumes_of_others_are_not_touched() {
    let released = |v: &mut Value| v["status"]["phase"] = json!("Released");
    for (path, value) in [
        ("/metadata/annotations", json!({PROVISIONED_BY: "other"})),
        ("/spec/storageClassName", json!("other")),
    ] {
        assert_eq!(
            step(|v| {
                released(v);
                *v.pointer_mut(path).unwrap() = value;
            }),
            "idle"
        );
    }
    assert_eq!(word(&decide(&us(), &PersistentVolume::default(), false)), "idle");
}

#[test]
fn a_volume_that_points_at_a_directory_that_is_not_its_own_is_refused() {
    for path in ["/etc", "/srv", "/srv/../etc/pvc-u-1", "/srv/pvc-u-2", "/other/pvc-u-1"] {
        let edited = |v: &mut Value| {
            v["status"]["phase"] = json!("Released");
            v["spec"]["hostPath"]["path"] = json!(path);
        };
        assert_eq!(step(edited), "refuse", "{path}");
    }
    let other_claim = |v: &mut Value| {
        v["status"]["phase"] = json!("Released");
        v["spec"]["claimRef"]["uid"] = json!("u-2");
    };
    assert_eq!(step(other_claim), "refuse");
}

#[test]
fn the_finalizer_patch_touches_our_entry_alone_and_is_conditional() {
    let volume = with(|_| {});
    assert_eq!(finalizer_patch(&volume, true), None);
    assert_eq!(
        finalizer_patch(&volume, false),
        Some(json!({"metadata": {
            "uid": "v-1", "resourceVersion": "7", "finalizers": ["kubernetes.io/pv-protection"],
        }}))
    );
    let bare = with(|v| v["metadata"]["finalizers"] = json!(null));
    assert_eq!(finalizer_patch(&bare, true).unwrap()["metadata"]["finalizers"], json!([FINALIZER]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The data-loss rules, over all states: nothing is taken back unless the policy says Delete and the volume is
    /// released or abandoned, and only below the root.
    #[test]
    fn nothing_is_taken_back_that_may_still_be_wanted(
        phase in prop::sample::select(vec!["", "Pending", "Available", "Bound", "Released", "Failed"]),
        policy in prop::option::of(prop::sample::select(vec!["Delete", "Retain", "Recycle"])),
        path in prop::sample::select(vec!["/srv/pvc-u-1", "/srv/a/pvc-u-1", "/srv/pvc-u-2", "/etc/pvc-u-1", ""]),
        by in prop::sample::select(vec![PROVISIONER, "other"]),
        finalizers in prop::sample::subsequence(vec![FINALIZER, "kubernetes.io/pv-protection"], 0..=2),
        deleting: bool, claim_known: bool, claimed: bool,
    ) {
        let volume = with(|v| {
            v["status"]["phase"] = json!(phase);
            v["spec"]["persistentVolumeReclaimPolicy"] = json!(policy);
            v["spec"]["hostPath"]["path"] = json!(path);
            v["metadata"]["annotations"][PROVISIONED_BY] = json!(by);
            v["metadata"]["finalizers"] = json!(finalizers);
            if deleting { v["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"); }
            if !claimed { v["spec"]["claimRef"] = json!(null); }
        });
        match decide(&us(), &volume, claim_known) {
            VolumeStep::TakeBack(location) => {
                prop_assert!(policy == Some("Delete") && phase == "Released" && by == PROVISIONER);
                prop_assert_eq!(location.name(), "pvc-u-1");
            }
            VolumeStep::TakeBackIfAbandoned(_) => {
                prop_assert!(policy == Some("Delete") && claimed && !claim_known && by == PROVISIONER);
                prop_assert!(matches!(phase, "" | "Pending" | "Available"));
            }
            VolumeStep::SetApart(_) => prop_assert!(policy != Some("Delete") && has_finalizer(&volume)),
            VolumeStep::AddFinalizer(_) => prop_assert!(policy == Some("Delete") && !has_finalizer(&volume) && !deleting),
            VolumeStep::Idle | VolumeStep::Refuse(_) => {}
        }
    }
}
