//! Every state a volume can be in, and what follows from it.

use k8s_openapi::api::core::v1::PersistentVolume;
use proptest::prelude::*;
use reconciler::Finalizers as _;
use serde_json::{Value, json};

use super::decide::{ClaimName, TakingBack, TakingBackStep, VolumeStep, decide};
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
        VolumeStep::LetGo => "let go",
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
    assert_eq!(
        step(|v| v["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")),
        "idle"
    );
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
        assert_eq!(word(&decide(&us(), &volume, false)), "take back", "{phase}");
        assert_eq!(word(&decide(&us(), &volume, true)), "idle", "{phase}");
    }
    assert_eq!(
        word(&decide(&us(), &with(|_| {}), false)),
        "idle",
        "a bound one is the binder's to release"
    );
    let freed = with(|v| {
        v["status"]["phase"] = json!("Available");
        v["spec"]["claimRef"] = json!(null);
    });
    assert_eq!(word(&decide(&us(), &freed, false)), "idle", "an operator freed it for reuse");
    let wrong = with(|v| {
        v["status"]["phase"] = json!("Released");
        v["spec"]["claimRef"] = json!(null);
    });
    assert_eq!(word(&decide(&us(), &wrong, false)), "idle", "whatever its phase");
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
    // In use by another claim nothing is wrong yet.
    let reused = |v: &mut Value| {
        v["status"]["phase"] = json!("Bound");
        v["spec"]["claimRef"]["uid"] = json!("u-2");
        v["metadata"]["finalizers"] = json!([]);
    };
    assert_eq!(step(reused), "idle");
}

fn released() -> PersistentVolume {
    with(|v| v["status"]["phase"] = json!("Released"))
}

fn deleting() -> PersistentVolume {
    with(|v| {
        v["status"]["phase"] = json!("Released");
        v["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        v["metadata"]["resourceVersion"] = json!("8");
    })
}

fn at_step(taking: &TakingBack) -> &'static str {
    match taking.next(&us()) {
        TakingBackStep::ReadVolume => "read the volume",
        TakingBackStep::ReadClaim(claim, location) => {
            assert_eq!(location.claim_uid(), claim.uid);
            let wanted =
                ClaimName { namespace: "shop".into(), name: "data".into(), uid: "u-1".into() };
            assert_eq!(claim, wanted);
            "read the claim"
        }
        TakingBackStep::Inspect(_) => "inspect",
        TakingBackStep::Protect => "protect",
        TakingBackStep::DeclareDeletion => "declare",
        TakingBackStep::Remove(_) => "remove",
        TakingBackStep::Free => "free",
        TakingBackStep::Done => "done",
        TakingBackStep::Instead(_) => "instead",
        TakingBackStep::LookAgain => "look again",
        TakingBackStep::Fail(problem) => problem.reason.as_str(),
    }
}

#[test]
fn a_volume_is_taken_back_in_one_order() {
    let mut taking = TakingBack::default();
    assert_eq!(at_step(&taking), "read the volume");
    taking.volume_read(with(|v| {
        v["status"]["phase"] = json!("Released");
        v["metadata"]["finalizers"] = json!(null);
    }));
    assert_eq!(at_step(&taking), "read the claim");
    taking.claim_read(Some("u-2"));
    assert_eq!(at_step(&taking), "inspect");
    taking.inspected();
    assert_eq!(at_step(&taking), "protect");
    taking.protected(released().metadata);
    assert_eq!(at_step(&taking), "declare");
    taking.declared(deleting());
    assert_eq!(at_step(&taking), "remove");
    taking.removed();
    assert_eq!(at_step(&taking), "free");
    taking.conflicted();
    taking.volume_read(with(|v| {
        v["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        v["metadata"]["finalizers"] = json!(["other"]);
    }));
    assert_eq!(at_step(&taking), "done", "somebody else took the finalizer off");
}

#[test]
fn a_claim_that_exists_stops_it_whatever_the_phase_says() {
    for (phase, expected) in
        [("Released", "ClaimExists"), ("Available", "look again"), ("Bound", "instead")]
    {
        let mut taking = TakingBack::default();
        taking.volume_read(with(|v| v["status"]["phase"] = json!(phase)));
        taking.claim_read(Some("u-1"));
        assert_eq!(at_step(&taking), expected);
    }
    let mut unnamed = TakingBack::default();
    unnamed.volume_read(with(|v| {
        v["status"]["phase"] = json!("Released");
        v["spec"]["claimRef"] = json!({"uid": "u-1"});
    }));
    assert_eq!(at_step(&unnamed), "ClaimExists", "nobody can be asked for a claim without a name");
}

#[test]
fn a_conflict_makes_all_unknown_but_what_is_removed() {
    let mut taking = TakingBack::default();
    taking.volume_read(released());
    taking.claim_read(None);
    taking.inspected();
    taking.conflicted();
    assert_eq!(at_step(&taking), "read the volume");
    taking.volume_read(with(|_| {}));
    assert_eq!(at_step(&taking), "instead", "it is bound, so nothing is lost");

    for changed in [
        with(|_| {}),
        with(|v| {
            v["status"]["phase"] = json!("Released");
            v["spec"]["persistentVolumeReclaimPolicy"] = json!("Retain");
        }),
    ] {
        let mut taking = TakingBack::default();
        taking.volume_read(released());
        taking.claim_read(None);
        taking.inspected();
        taking.declared(deleting());
        taking.removed();
        taking.conflicted();
        taking.volume_read(changed);
        assert_eq!(at_step(&taking), "DirectoryLost", "that is never called done");
    }
    let mut taking = TakingBack::default();
    taking.volume_read(deleting());
    taking.removed();
    taking.claim_read(Some("u-1"));
    assert_eq!(at_step(&taking), "DirectoryLost");
}

/// What stands on the server, and what others do to it between any two steps.
struct Server {
    volume: PersistentVolume,
    claim: bool,
}

/// What others do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Other {
    Nothing,
    SaysReleased,
    SaysBound,
    Retains,
    DeletesClaim,
    StripsFinalizers,
    /// The replica dies, and the next one begins anew.
    Crash,
}

impl Server {
    fn change(&mut self, edit: impl FnOnce(&mut PersistentVolume)) {
        edit(&mut self.volume);
        let version: u64 =
            self.volume.metadata.resource_version.as_deref().unwrap().parse().unwrap();
        self.volume.metadata.resource_version = Some((version + 1).to_string());
    }

    fn act(&mut self, other: Other) {
        let phase = |phase: &str| {
            let phase = phase.to_owned();
            move |v: &mut PersistentVolume| v.status.get_or_insert_default().phase = Some(phase)
        };
        match other {
            Other::SaysReleased => self.change(phase("Released")),
            Other::SaysBound => self.change(phase("Bound")),
            Other::Retains => self.change(|v| {
                v.spec.get_or_insert_default().persistent_volume_reclaim_policy =
                    Some("Retain".into());
            }),
            Other::DeletesClaim => self.claim = false,
            Other::StripsFinalizers => self.change(|v| v.metadata.finalizers = None),
            Other::Nothing | Other::Crash => {}
        }
    }

    fn has(&self, known: &TakingBack) -> bool {
        let known = known.volume().map(|volume| &volume.metadata.resource_version);
        known == Some(&self.volume.metadata.resource_version)
    }
}

/// One whole life with these others at these steps. Returns whether the directory was removed.
fn live(others: &[Other; 12], claim: bool) -> bool {
    let mut server = Server { volume: released(), claim };
    let (mut taking, mut declared_on, mut removed) = (TakingBack::default(), None, false);
    for other in others {
        server.act(*other);
        if *other == Other::Crash {
            taking = TakingBack::default();
        }
        match taking.next(&us()) {
            TakingBackStep::ReadVolume => taking.volume_read(server.volume.clone()),
            TakingBackStep::ReadClaim(..) => taking.claim_read(server.claim.then_some("u-1")),
            TakingBackStep::Inspect(_) => taking.inspected(),
            TakingBackStep::Protect | TakingBackStep::DeclareDeletion | TakingBackStep::Free
                if !server.has(&taking) =>
            {
                taking.conflicted();
            }
            TakingBackStep::Protect => {
                server.change(|v| v.metadata.finalizers = Some(vec![FINALIZER.into()]));
                taking.protected(server.volume.metadata.clone());
            }
            TakingBackStep::DeclareDeletion => {
                let wanted = server
                    .volume
                    .spec
                    .as_ref()
                    .unwrap()
                    .persistent_volume_reclaim_policy
                    .as_deref();
                let phase = server.volume.status.as_ref().unwrap().phase.as_deref();
                declared_on =
                    Some((wanted == Some("Delete"), phase == Some("Released"), server.claim));
                server.change(|v| {
                    v.metadata.deletion_timestamp = deleting().metadata.deletion_timestamp
                });
                taking.declared(server.volume.clone());
            }
            TakingBackStep::Remove(_) => {
                // At the moment of the declaration the server agreed on all of it.
                assert_eq!(declared_on, Some((true, true, false)), "{others:?}");
                assert!(!server.claim, "{others:?}");
                taking.removed();
                removed = true;
            }
            _ => return removed,
        }
    }
    removed
}

#[test]
fn nothing_is_removed_for_nothing() {
    assert!(live(&[Other::Nothing; 12], false));
    assert!(!live(&[Other::Nothing; 12], true));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Whatever others do and wherever a replica dies, nothing is removed that the server did not
    /// justify when it took the deletion.
    #[test]
    fn nothing_is_removed_that_the_server_has_not_justified(
        claim: bool,
        others in prop::array::uniform12(prop::sample::select(vec![
            Other::Nothing, Other::Nothing, Other::Nothing, Other::SaysReleased, Other::SaysBound, Other::Retains,
            Other::DeletesClaim, Other::StripsFinalizers, Other::Crash,
        ])),
    ) {
        live(&others, claim);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The data-loss rules, over all states: nothing is taken back unless the policy says Delete
    /// and the volume is released or abandoned, and only below the root.
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
                prop_assert!(policy == Some("Delete") && claimed && by == PROVISIONER);
                let abandoned = matches!(phase, "" | "Pending" | "Available") && !claim_known;
                prop_assert!(phase == "Released" || abandoned);
                prop_assert_eq!(location.name(), "pvc-u-1");
            }
            VolumeStep::SetApart(_) => prop_assert!(policy != Some("Delete") && volume.has_finalizer(FINALIZER)),
            VolumeStep::AddFinalizer(_) => prop_assert!(policy == Some("Delete") && !volume.has_finalizer(FINALIZER) && !deleting),
            VolumeStep::Idle | VolumeStep::LetGo | VolumeStep::Refuse(_) => {}
        }
    }
}
