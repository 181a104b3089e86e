//! Tests of versions and tokens, which compare as numbers.

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

#[test]
fn of_two_numbers_the_greater_counts_and_every_change_of_one_is_later() {
    // One candidate sees each part only rise.
    let seen = ["7+0", "7+8", "9+8", "9+10", "11+10", "11+12", "13+12"];
    for pair in seen.windows(2) {
        assert_eq!(compare_resource_versions(pair[0], pair[1]), Some(Ordering::Less), "{pair:?}");
        assert!(token(pair[0]) < token(pair[1]), "{pair:?}");
    }
    // Three steps of a migration on one server: the old store alone, both, the new one alone.
    assert!(token("6") < token("9+10") && token("9+10") < token("14"));
    assert!(token("99+100") < token("101") && token("abc") > token("99+100"));
    for odd in ["", "+", "7+", "+7", "7+8+9", "a+1", "-1"] {
        assert_eq!(compare_resource_versions(odd, "7"), None, "{odd:?}");
    }
    assert_ne!(token("7+8").cmp(&token("8+7")), Ordering::Equal);
}

#[test]
fn a_token_is_a_number_for_those_who_keep_numbers() {
    for (version, number) in [
        ("7", Some(7)),
        ("0", Some(0)),
        ("007", Some(7)),
        ("9+10", Some(10)),
        ("10+9", Some(10)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("", None),
        ("abc", None),
    ] {
        assert_eq!(token(version).number(), number, "{version:?}");
    }
}
