//! Every state a claim can be in, and what follows from it.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use serde_json::{Value, json};

use super::decide::{ClaimStep, Idle, Note, changed, decide, note_of, note_patch};
use crate::names::{
    FINALIZER, PROVISIONED_BY, PROVISIONER, SELECTED_NODE, STORAGE_PROVISIONER,
    STORAGE_PROVISIONER_BETA,
};
use crate::outcome::Reason;
use crate::us::Us;

fn us() -> Us {
    Us {
        provisioner: PROVISIONER.into(),
        storage_class: "hostpath".into(),
        root: "/srv".into(),
        node_label: None,
    }
}

fn claim(edit: impl FnOnce(&mut Value)) -> PersistentVolumeClaim {
    let mut value = json!({
        "metadata": {
            "name": "data", "namespace": "shop", "uid": "u-1", "resourceVersion": "5",
            "annotations": {STORAGE_PROVISIONER: PROVISIONER},
        },
        "spec": {
            "storageClassName": "hostpath", "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    });
    edit(&mut value);
    serde_json::from_value(value).unwrap()
}

fn class(edit: impl FnOnce(&mut Value)) -> StorageClass {
    let mut value = json!({"metadata": {"name": "hostpath"}, "provisioner": PROVISIONER});
    edit(&mut value);
    serde_json::from_value(value).unwrap()
}

fn step(edit: impl FnOnce(&mut Value)) -> ClaimStep {
    decide(&us(), Some(&claim(edit)), Some(&class(|_| {})), None)
}

fn waits_for(step: &ClaimStep) -> Option<Reason> {
    match step {
        ClaimStep::Wait(problem) => {
            assert!(problem.is_lasting);
            Some(problem.reason)
        }
        _ => None,
    }
}

fn planned_volume() -> PersistentVolume {
    let ClaimStep::Provision(plan) = step(|_| {}) else { panic!("not provisioned") };
    plan.volume
}

#[test]
fn a_pending_claim_that_asks_us_is_provisioned_with_everything_it_asked_for() {
    let ClaimStep::Provision(plan) = step(|_| {}) else { panic!("not provisioned") };
    assert_eq!(
        (plan.mode, plan.claim_namespace.as_str(), plan.claim_name.as_str()),
        (0o777, "shop", "data")
    );
    assert_eq!(
        serde_json::to_value(&plan.volume).unwrap(),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "pvc-u-1", "annotations": {PROVISIONED_BY: PROVISIONER}, "finalizers": [FINALIZER]},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": "hostpath",
                "claimRef": {
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data", "uid": "u-1",
                    "resourceVersion": "5",
                },
                "hostPath": {"path": "/srv/pvc-u-1", "type": "Directory"},
                "persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Filesystem",
            },
        })
    );
}

#[test]
fn a_volume_says_on_which_nodes_its_directory_is_if_that_is_known() {
    let us = Us { node_label: Some(("example.com/root".into(), "true".into())), ..us() };
    let ClaimStep::Provision(plan) = decide(&us, Some(&claim(|_| {})), Some(&class(|_| {})), None)
    else {
        panic!("not provisioned")
    };
    assert_eq!(
        serde_json::to_value(plan.volume.spec.unwrap().node_affinity).unwrap(),
        json!({"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "example.com/root", "operator": "In", "values": ["true"]}]},
        ]}}),
    );
}

#[test]
fn the_class_decides_policy_mode_and_subdir() {
    let class = class(|c| {
        c["reclaimPolicy"] = json!("Retain");
        c["parameters"] = json!({"mode": "0750", "subdir": "${namespace}"});
    });
    let ClaimStep::Provision(plan) = decide(&us(), Some(&claim(|_| {})), Some(&class), None) else {
        panic!()
    };
    let spec = plan.volume.spec.unwrap();
    assert_eq!(spec.persistent_volume_reclaim_policy.as_deref(), Some("Retain"));
    assert_eq!(spec.host_path.unwrap().path, "/srv/shop/pvc-u-1");
    assert_eq!(plan.mode, 0o750);
}

#[test]
fn only_claims_that_ask_us_by_class_and_annotation_are_ours() {
    let idle = |edit: fn(&mut Value)| step(edit);
    assert_eq!(
        idle(|c| c["spec"]["storageClassName"] = json!("other")),
        ClaimStep::Idle(Idle::NotOurs)
    );
    assert_eq!(
        idle(|c| c["spec"]["storageClassName"] = json!(null)),
        ClaimStep::Idle(Idle::NotOurs)
    );
    assert_eq!(
        idle(|c| c["metadata"]["annotations"] = json!(null)),
        ClaimStep::Idle(Idle::NotAsked)
    );
    assert_eq!(
        idle(|c| c["metadata"]["annotations"] = json!({STORAGE_PROVISIONER: "other"})),
        ClaimStep::Idle(Idle::NotOurs)
    );
    assert_eq!(
        idle(|c| c["spec"]["volumeName"] = json!("pvc-u-1")),
        ClaimStep::Idle(Idle::Settled)
    );
    assert!(matches!(
        idle(|c| c["metadata"]["annotations"] = json!({STORAGE_PROVISIONER_BETA: PROVISIONER})),
        ClaimStep::Provision(_)
    ));
    let foreign = class(|c| c["provisioner"] = json!("other"));
    assert_eq!(
        decide(&us(), Some(&claim(|_| {})), Some(&foreign), None),
        ClaimStep::Idle(Idle::NotOurs)
    );
}

#[test]
fn a_class_that_waits_for_a_consumer_is_waited_with() {
    let class = class(|c| c["volumeBindingMode"] = json!("WaitForFirstConsumer"));
    let decided = |claim: &PersistentVolumeClaim| decide(&us(), Some(claim), Some(&class), None);
    assert_eq!(decided(&claim(|_| {})), ClaimStep::Idle(Idle::NotAsked));
    let selected = claim(|c| c["metadata"]["annotations"][SELECTED_NODE] = json!("node-1"));
    assert!(matches!(decided(&selected), ClaimStep::Provision(_)));
}

#[test]
fn a_claim_that_is_gone_or_going_has_its_unfinished_work_taken_back() {
    assert_eq!(decide(&us(), None, Some(&class(|_| {})), None), ClaimStep::TakeBack);
    assert_eq!(
        step(|c| c["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")),
        ClaimStep::TakeBack
    );
    let bound = step(|c| {
        c["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        c["spec"]["volumeName"] = json!("pvc-u-1");
    });
    assert_eq!(bound, ClaimStep::Idle(Idle::Settled));
}

#[test]
fn what_cannot_be_done_waits_for_a_change_and_says_why() {
    assert_eq!(
        waits_for(&decide(&us(), Some(&claim(|_| {})), None, None)),
        Some(Reason::ClassNotFound)
    );
    for edit in [
        (|c| c["spec"]["volumeMode"] = json!("Block")) as fn(&mut Value),
        |c| c["spec"]["selector"] = json!({"matchLabels": {"a": "b"}}),
        |c| c["spec"]["dataSource"] = json!({"kind": "PersistentVolumeClaim", "name": "x"}),
        |c| c["spec"]["dataSourceRef"] = json!({"kind": "PersistentVolumeClaim", "name": "x"}),
        |c| c["spec"]["resources"] = json!(null),
        |c| c["metadata"]["uid"] = json!("../x"),
        |c| c["metadata"]["namespace"] = json!(null),
    ] {
        assert_eq!(waits_for(&step(edit)), Some(Reason::ClaimUnusable));
    }
    for edit in [
        (|c| c["parameters"] = json!({"mode": "9"})) as fn(&mut Value),
        |c| c["parameters"] = json!({"subdir": "../.."}),
        |c| c["reclaimPolicy"] = json!("Recycle"),
        |c| c["mountOptions"] = json!(["ro"]),
    ] {
        let decided = decide(&us(), Some(&claim(|_| {})), Some(&class(edit)), None);
        assert_eq!(waits_for(&decided), Some(Reason::ClassUnusable));
    }
}

#[test]
fn a_volume_that_is_already_there_is_the_claims_or_blocks_it() {
    let decided = |volume: &PersistentVolume| {
        decide(&us(), Some(&claim(|_| {})), Some(&class(|_| {})), Some(volume))
    };
    assert_eq!(decided(&planned_volume()), ClaimStep::Idle(Idle::Settled));
    let mut others = planned_volume();
    others.metadata.annotations = None;
    assert_eq!(waits_for(&decided(&others)), Some(Reason::VolumeNameTaken));
    let mut others = planned_volume();
    others.spec.as_mut().unwrap().claim_ref = None;
    assert_eq!(waits_for(&decided(&others)), Some(Reason::VolumeNameTaken));
    let mut others = planned_volume();
    others.spec.as_mut().unwrap().host_path.as_mut().unwrap().path = "/etc/pvc-u-1".into();
    assert_eq!(waits_for(&decided(&others)), Some(Reason::VolumeNameTaken));
}

#[test]
fn a_note_is_written_only_when_it_says_something_new() {
    let bare = claim(|_| {});
    let note = Note { reason: "NoSpace".into(), message: "full".into() };
    assert_eq!(note_patch(&bare, None), None);
    let patch = note_patch(&bare, Some(&note)).unwrap();
    assert_eq!(patch["metadata"]["uid"], "u-1");
    let noted = claim(|c| {
        let notes = patch["metadata"]["annotations"].as_object().unwrap().clone();
        c["metadata"]["annotations"].as_object_mut().unwrap().extend(notes);
    });
    assert_eq!(note_of(&noted), Some(note.clone()));
    assert_eq!(note_patch(&noted, Some(&note)), None);
    let off = note_patch(&noted, None).unwrap();
    assert!(off["metadata"]["annotations"].as_object().unwrap().values().all(Value::is_null));
}

#[test]
fn our_own_note_is_no_change_of_the_claim_and_all_else_is() {
    let before = claim(|_| {});
    let noted = claim(|c| {
        c["metadata"]["annotations"][crate::names::WAITING_REASON] = json!("NoSpace");
        c["metadata"]["resourceVersion"] = json!("6");
        c["metadata"]["managedFields"] = json!([{}]);
    });
    assert!(!changed(&before, &noted));
    for edit in [
        (|c| c["metadata"]["labels"] = json!({"a": "b"})) as fn(&mut Value),
        |c| c["metadata"]["annotations"]["x"] = json!("y"),
        |c| c["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        |c| c["spec"]["volumeName"] = json!("v"),
        |c| c["status"]["phase"] = json!("Bound"),
        |c| c["metadata"]["uid"] = json!("u-2"),
    ] {
        assert!(changed(&before, &claim(edit)));
    }
}

fn bound(edit: impl FnOnce(&mut Value)) -> ClaimStep {
    let claim = claim(|v| {
        v["spec"]["volumeName"] = json!("pvc-u-1");
        v["status"] = json!({"phase": "Bound", "capacity": {"storage": "1Gi"}});
        edit(v);
    });
    decide(
        &us(),
        Some(&claim),
        Some(&class(|v| v["allowVolumeExpansion"] = json!(true))),
        Some(&planned_volume()),
    )
}

#[test]
fn what_a_claim_asks_for_and_nobody_would_answer_is_refused_on_it() {
    let refused = |step: ClaimStep, words: &[&str]| {
        assert_eq!(waits_for(&step), Some(Reason::ClaimUnusable), "{step:?}");
        let ClaimStep::Wait(problem) = step else { panic!() };
        assert!(words.iter().all(|word| problem.message.contains(word)), "{}", problem.message);
        assert!(!problem.message.ends_with("..."), "{}", problem.message);
    };
    let attributes = |v: &mut Value| v["spec"]["volumeAttributesClassName"] = json!("gold");
    refused(step(attributes), &["volumeAttributesClassName", "gold"]);
    refused(bound(attributes), &["volumeAttributesClassName", "gold"]);
    for (requested, capacity) in
        [("2Gi", "1Gi"), ("1025Mi", "1Gi"), ("2G", "1536M"), ("1.5e9", "1Gi")]
    {
        refused(
            bound(|v| {
                v["spec"]["resources"]["requests"]["storage"] = json!(requested);
                v["status"]["capacity"]["storage"] = json!(capacity);
            }),
            &[requested, capacity, "expanded"],
        );
    }
    let settled = |step: ClaimStep| assert_eq!(step, ClaimStep::Idle(Idle::Settled));
    settled(bound(|_| {}));
    settled(bound(|v| v["spec"]["volumeAttributesClassName"] = json!("")));
    for same in ["1024Mi", "1073741824", "1000M", "strange", "1Xi"] {
        settled(bound(|v| v["spec"]["resources"]["requests"]["storage"] = json!(same)));
    }
    // Of another's volume another may expand.
    settled(bound(|v| {
        v["spec"]["volumeName"] = json!("theirs");
        v["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
    }));
}
