//! Versions and tokens compare as the numbers they are.

use super::*;

fn token(resource_version: &str) -> FenceToken {
    FenceToken { uid: "u".into(), resource_version: resource_version.into(), transitions: 0 }
}

#[test]
fn tokens_order_by_number_not_by_text() {
    assert!(token("9") < token("10"));
    assert!(token("18446744073709551615") < token("18446744073709551616"));
    assert!(token("99") < token("abc"), "what is not a number comes last");
    assert_eq!(token("7").to_string(), "u/7");
}

#[test]
fn v14_a_lease_made_again_has_a_later_token_although_its_transitions_start_again() {
    let old = FenceToken { uid: "a".into(), resource_version: "41".into(), transitions: 7 };
    let new = FenceToken { uid: "b".into(), resource_version: "97".into(), transitions: 0 };
    assert!(old < new);
}

#[test]
fn order_agrees_with_equality() {
    assert_ne!(token("07"), token("7"));
    assert_ne!(token("07").cmp(&token("7")), Ordering::Equal);
}
