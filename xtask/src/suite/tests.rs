//! What is read from a test program's output.

use super::Report;

const FAILED: &str = "\nrunning 3 tests\ntest a::b ... ok\ntest a::c - should panic ... FAILED\ntest d ... FAILED\n
failures:\n    d\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s\n";

#[test]
fn failed_tests_are_named() {
    let failed = vec!["a::c".to_owned(), "d".to_owned()];
    assert_eq!(Report::read(FAILED), Report { passed: 1, failed });
}

#[test]
fn a_program_without_a_harness_is_one_test() {
    assert_eq!(Report::read("all well\n"), Report { passed: 1, failed: Vec::new() });
}
