//! The order of clauses, and malformed clauses.

use super::clauses;

fn order(header: &str) -> Vec<String> {
    clauses(header).iter().map(|clause| format!("{}/{}", clause.main, clause.sub)).collect()
}

#[test]
fn the_most_wanted_and_the_most_definite_come_first() {
    assert_eq!(order("a/b;q=0.5, c/d"), ["c/d", "a/b"]);
    assert_eq!(order("*/*,a/*,a/b"), ["a/b", "a/*", "*/*"]);
    assert_eq!(
        order("*/*, a/b;q=0.1"),
        ["a/b", "*/*"],
        "definite before open, whatever the quality"
    );
    assert_eq!(order("a/b;q=x, c/d;q=0.2"), ["c/d", "a/b"], "what is no quality is none at all");
}

#[test]
fn what_is_no_type_is_left_out() {
    assert!(order(";").is_empty());
    assert!(order("a, a/b/c, /, ,").is_empty());
    assert_eq!(order("*"), ["*/*"]);
}

#[test]
fn many_clauses_are_sorted_too() {
    let many = format!("{}c/d", "a/b;q=0.5,".repeat(10_000));
    assert_eq!(clauses(&many).len(), 10_001);
    assert_eq!(order(&many)[0], "c/d");
}
