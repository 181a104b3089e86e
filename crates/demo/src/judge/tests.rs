//! Every kind of wrong, planted into evidence of a run that went well.

use super::{ClaimState, Evidence, Harm, Verdict, VolumeState, Written, judge};
use crate::disk::{Directory, Fence, Marker};
use crate::history::VolumeBirth;
use std::path::PathBuf;

const CLAIMS: usize = 10;

fn path(i: usize) -> PathBuf {
    PathBuf::from(format!("/volumes/team-a/pvc-u{i}"))
}

fn directory(i: usize, fence: usize) -> Directory {
    let fence = Fence { uid: "lease".into(), resource_version: fence.to_string(), transitions: 1 };
    let marker = Marker {
        claim_uid: format!("u{i}"),
        claim_namespace: "team-a".into(),
        claim_name: format!("claim-{i}"),
        volume: format!("pvc-u{i}"),
        identity: "replica-1".into(),
        fence,
    };
    Directory { path: path(i), marker: Ok(marker) }
}

/// Ten claims; the last two were deleted.
fn good() -> Evidence {
    let mut evidence = Evidence::default();
    for i in 0..CLAIMS {
        let (uid, name, volume, deleted) =
            (format!("u{i}"), format!("claim-{i}"), format!("pvc-u{i}"), i >= CLAIMS - 2);
        evidence.written.push(Written {
            namespace: "team-a".into(),
            name: name.clone(),
            uid: uid.clone(),
            deleted,
            was_bound: true,
            bound_to: vec![volume.clone()],
        });
        let birth = VolumeBirth {
            name: volume.clone(),
            uid: format!("v{i}"),
            claim_uid: Some(uid.clone()),
        };
        evidence.volume_births.push(birth);
        evidence.directory_births.push(directory(i, 9 + i / 4));
        if !deleted {
            let namespace = "team-a".into();
            evidence.claims.push(ClaimState {
                namespace,
                name,
                uid: uid.clone(),
                phase: "Bound".into(),
                volume: Some(volume.clone()),
            });
            evidence.volumes.push(VolumeState {
                name: volume,
                phase: "Bound".into(),
                claim_uid: Some(uid),
                path: Some(path(i)),
            });
            evidence.directories.push(directory(i, 9 + i / 4));
        }
    }
    evidence
}

fn after(spoil: impl FnOnce(&mut Evidence)) -> Verdict {
    let mut evidence = good();
    spoil(&mut evidence);
    judge(&evidence)
}

/// Exactly these counts, and every finding of one of these kinds.
#[track_caller]
fn expect(verdict: &Verdict, (lost, duplicated, orphaned): (usize, usize, usize), word: &str) {
    assert_eq!(
        (verdict.lost, verdict.duplicated, verdict.orphaned),
        (lost, duplicated, orphaned),
        "{:#?}",
        verdict.findings
    );
    assert!(!verdict.all_well());
    assert!(
        verdict.findings.iter().any(|finding| finding.to_string().contains(word)),
        "{:#?}",
        verdict.findings
    );
}

#[test]
fn a_run_that_went_well_has_no_findings() {
    let verdict = judge(&good());
    assert!(verdict.all_well(), "{:#?}", verdict.findings);
    assert_eq!((verdict.claims, verdict.bound), (CLAIMS, CLAIMS));
}

#[test]
fn a_claim_that_is_missing_unbound_or_replaced_is_lost() {
    expect(&after(|e| drop(e.claims.remove(0))), (1, 0, 0), "not on the server");
    expect(&after(|e| e.claims[0].phase = "Pending".into()), (1, 0, 0), "its phase is Pending");
    expect(&after(|e| e.claims[0].uid = "u77".into()), (1, 0, 0), "another claim of this name");
    expect(&after(|e| e.claims[0].volume = None), (1, 0, 0), "without a volume name");
    let never = after(|e| {
        e.written[0].was_bound = false;
        e.claims[0].phase = "Pending".into();
    });
    assert_eq!(never.bound, CLAIMS - 1);
}

#[test]
fn a_claim_whose_volume_is_missing_or_someone_elses_is_lost() {
    expect(
        &after(|e| drop(e.volumes.remove(0))),
        (1, 0, 0),
        "its volume pvc-u0 is not on the server",
    );
    expect(&after(|e| e.volumes[0].phase = "Released".into()), (1, 0, 0), "is Released, not Bound");
    expect(&after(|e| e.volumes[0].path = None), (1, 0, 0), "names no path");
    let two_claims_one_volume = after(|e| e.claims[0].volume = Some("pvc-u1".into()));
    expect(&two_claims_one_volume, (1, 0, 0), "is for another claim");
}

#[test]
fn a_claim_whose_directory_is_missing_or_disagrees_is_lost() {
    expect(&after(|e| drop(e.directories.remove(0))), (1, 0, 0), "does not exist");
    expect(
        &after(|e| e.directories[0].marker = Err("its marker is unreadable".into())),
        (1, 0, 0),
        "unreadable",
    );
    let wrong_volume = after(|e| e.directories[0].marker.as_mut().unwrap().volume = "pvc-x".into());
    expect(&wrong_volume, (1, 0, 0), "says volume \"pvc-x\"");
    let wrong_name =
        after(|e| e.directories[0].marker.as_mut().unwrap().claim_name = "other".into());
    expect(&wrong_name, (1, 0, 0), "says claim_name");
}

#[test]
fn two_volumes_for_a_claim_are_duplicated_even_if_one_is_gone() {
    let now = after(|e| {
        let second = VolumeState { name: "pvc-u0-again".into(), ..e.volumes[0].clone() };
        e.volumes.push(second);
    });
    expect(&now, (0, 1, 0), "it has 2 volumes");
    let once = after(|e| {
        let again = VolumeBirth { uid: "v0-again".into(), ..e.volume_births[0].clone() };
        e.volume_births.push(again);
    });
    expect(&once, (0, 1, 0), "2 volumes were created");
    expect(
        &after(|e| e.written[0].bound_to.push("other".into())),
        (0, 1, 0),
        "bound to more than one",
    );
}

#[test]
fn two_directories_for_a_claim_are_duplicated_even_if_one_is_gone() {
    let now = after(|e| {
        let second =
            Directory { path: "/volumes/team-b/pvc-u0".into(), ..e.directories[0].clone() };
        e.directories.push(second);
    });
    expect(&now, (0, 1, 0), "it has 2 directories");
    let made_twice = after(|e| e.directory_births.push(directory(0, 11)));
    expect(&made_twice, (0, 1, 0), "created for it 2 times");
    let also_of_a_deleted_claim = after(|e| e.directory_births.push(directory(CLAIMS - 1, 11)));
    expect(&also_of_a_deleted_claim, (0, 1, 0), "created for it 2 times");
}

#[test]
fn what_a_deleted_claim_leaves_is_orphaned() {
    let claim = after(|e| {
        let left = ClaimState { name: "claim-9".into(), uid: "u9".into(), ..e.claims[0].clone() };
        e.claims.push(left);
    });
    expect(&claim, (0, 0, 1), "still on the server");
    let volume = after(|e| {
        let left = VolumeState {
            name: "pvc-u9".into(),
            claim_uid: Some("u9".into()),
            ..e.volumes[0].clone()
        };
        e.volumes.push(left);
    });
    expect(&volume, (0, 0, 1), "was deleted");
    expect(&after(|e| e.directories.push(directory(9, 11))), (0, 0, 1), "was deleted");
}

#[test]
fn what_belongs_to_nobody_is_orphaned() {
    expect(
        &after(|e| e.directories.push(directory(77, 11))),
        (0, 0, 1),
        "no claim that was ever written",
    );
    expect(
        &after(|e| e.strays.push("/volumes/team-a/.staging-1".into())),
        (0, 0, 1),
        "should not be there",
    );
    let volume = after(|e| {
        let nobodys = VolumeState { name: "stray".into(), claim_uid: None, ..e.volumes[0].clone() };
        e.volumes.push(nobodys);
    });
    expect(&volume, (0, 0, 1), "belongs to no claim");
}

#[test]
fn a_claim_deleted_before_it_was_bound_is_lost() {
    expect(&after(|e| e.written[9].was_bound = false), (1, 0, 0), "without ever having been bound");
}

#[test]
fn bound_without_a_birth_is_lost() {
    expect(&after(|e| drop(e.directory_births.remove(0))), (1, 0, 0), "0 directories were seen");
    expect(&after(|e| drop(e.volume_births.remove(0))), (1, 0, 0), "0 volumes");
}

#[test]
fn a_fence_that_goes_back_is_found_and_an_equal_one_is_not() {
    let back = after(|e| e.directory_births.swap(0, 9));
    expect(&back, (0, 0, 0), "after replica-1 had made one with fence 11");
    assert!(back.findings.iter().all(|finding| finding.harm == Harm::Fence));
    assert!(after(|e| e.directory_births.swap(0, 1)).all_well());
    // Numbers, not text: 9 comes before 10.
    assert!(after(|_| ()).all_well());
    let odd = after(|e| {
        e.directory_births[3].marker.as_mut().unwrap().fence.resource_version = "x".into()
    });
    expect(&odd, (0, 0, 0), "no number");
    expect(
        &after(|e| e.directory_births[3].marker = Err("its marker cannot be read".into())),
        (0, 0, 0),
        "cannot be read",
    );
}

#[test]
fn a_marker_that_is_rewritten_after_its_birth_is_found() {
    let verdict = after(|evidence| {
        let Ok(marker) = &mut evidence.directories[3].marker else { panic!("no marker") };
        marker.identity = "replica-2".into();
        marker.fence.resource_version = "1".into();
    });
    expect(&verdict, (0, 0, 0), "was changed after its birth: made by replica-1");
}

#[test]
fn what_was_made_for_nobody_is_orphaned_even_if_it_is_gone() {
    let verdict = after(|evidence| {
        let (name, uid) = ("ghost".into(), "v-ghost".into());
        evidence.volume_births.push(VolumeBirth { name, uid, claim_uid: Some("u-none".into()) });
    });
    expect(&verdict, (0, 0, 1), "volume ghost: was created for no claim");
    let verdict = after(|evidence| evidence.directory_births.push(directory(77, 99)));
    expect(&verdict, (0, 0, 1), "was created for no claim");
}

#[test]
fn a_judge_who_missed_something_says_so() {
    let verdict = after(|e| e.gaps.push("the watch of volumes started anew".into()));
    expect(&verdict, (0, 0, 0), "blind: judge: the watch of volumes started anew");
}
