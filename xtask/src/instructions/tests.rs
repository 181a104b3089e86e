//! Tests of the budgets of instructions.

use super::*;

fn budget(instructions: u64) -> Budget {
    Budget { operation: "ping".to_owned(), instructions, what: String::new() }
}

#[test]
fn what_callgrind_counted_is_read() {
    assert_eq!(
        collected("==7== Events    : Ir\n==7== Collected : 5362057\n==7==\n"),
        Some(5_362_057)
    );
    assert_eq!(collected("valgrind: no such file"), None);
}

#[test]
fn a_budget_has_a_little_slack() {
    assert!(judge(&budget(500), 500).1);
    assert!(judge(&budget(500), 510).1);
    let (line, is_met) = judge(&budget(500), 511);
    assert_eq!(
        (line.as_str(), is_met),
        ("instructions wq-core/ping measured=511 budget=500 OVER", false)
    );
    assert!(judge(&budget(500), 489).0.ends_with("ok (the budget can be lowered)"));
}

#[test]
fn the_committed_budgets_can_be_read() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(BUDGETS);
    assert!(read(&file).unwrap().budget.len() >= 9);
}
