//! Tests of identities that name a Pod, and of the verdicts on it.

use super::*;

const UID: &str = "0a1b2c3d-0000-4111-8222-0123456789ab";
const ANOTHER: &str = "0a1b2c3d-0000-4111-8222-ffffffffffff";

#[test]
fn an_identity_names_a_pod_only_in_full() {
    let own = identity_of("operator-0", UID, 7);
    assert_eq!(own, format!("operator-0_{UID}_0000000000000007"));
    assert_eq!(HolderPod::of(&own), Some(HolderPod { name: "operator-0", uid: UID }));
    assert!(HolderPod::of(&identity_of("a.b", UID, u64::MAX)).is_some());
    let random = "0123456789abcdef";
    for other in [
        "",
        "laptop",
        "laptop_0123456789abcdef",
        &format!("_{UID}_{random}"),
        &format!("../x_{UID}_{random}"),
        &format!("a/b_{UID}_{random}"),
        &format!("a?b_{UID}_{random}"),
        &format!("A_{UID}_{random}"),
        &format!("..{UID}_{UID}_{random}"),
        &format!("{}_{UID}_{random}", "a".repeat(254)),
        &format!("a_{UID}"),
        &format!("a_{UID}_"),
        &format!("a_{UID}_{random}0"),
        &format!("a_{UID}_{random}_{random}"),
        &format!("a_{UID}_0123456789ABCDEF"),
        &format!("a_0a1b2c3d-0000-4111-8222-0123456789ag_{random}"),
        &format!("a_0a1b2c3d00004111822201234567890123ab_{random}"),
    ] {
        assert_eq!(HolderPod::of(other), None, "{other}");
    }
}

/// The identity of client-go and controller-runtime in the Pod `operator-7d9f`: the process drew
/// the uuid, which is not the Pod's uid.
#[test]
fn a_go_candidate_in_a_pod_is_named_like_it_and_is_no_pod_all_the_same() {
    assert_eq!(HolderPod::of("operator-7d9f_550e8400-e29b-41d4-a716-446655440000"), None);
}

/// By the letter it is another Pod's, which would be found gone.
#[test]
fn a_uid_in_another_spelling_names_no_pod() {
    assert_eq!(HolderPod::of(&identity_of("a", &UID.to_uppercase(), 7)), None);
}

#[test]
fn a_pod_is_known_by_its_uid_and_another_of_its_name_says_nothing_of_it_but_that_it_is_not_here() {
    let own = identity_of("operator-0", UID, 7);
    let pod = HolderPod::of(&own).unwrap();
    let found = |uid, has_ended| Found::Pod { uid, has_ended };
    assert_eq!(pod.judge(found(UID, false)), Word::Nothing);
    assert_eq!(pod.judge(found(UID, true)), Word::Ended);
    assert_eq!(pod.judge(Found::Nothing), Word::NotHere);
    for has_ended in [false, true] {
        assert_eq!(pod.judge(found(ANOTHER, has_ended)), Word::NotHere);
        assert!(!pod.is_here(found(ANOTHER, has_ended)));
        assert!(pod.is_here(found(UID, has_ended)));
    }
    assert!(!pod.is_here(Found::Nothing));
}
