//! What tidy complains about, and what it lets pass.

use std::path::Path;

use super::{LINES_MAX, complaints};

fn check(path: &str, text: &str, expected: &[&str]) {
    let found = complaints(Path::new(path), text);
    assert_eq!(found.len(), expected.len(), "{path}: {found:?}");
    for (complaint, part) in found.iter().zip(expected) {
        assert!(complaint.contains(part), "{complaint:?} does not say {part:?}");
    }
}

#[test]
fn a_file_that_says_what_lives_in_it_passes() {
    check("crates/a/src/heap.rs", "//! The heap.\n", &[]);
    check("crates/a/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n", &[]);
}

#[test]
fn a_file_that_does_not_say_it_is_named() {
    check("crates/a/src/heap.rs", "use std::fmt;\n", &["first line"]);
    check("crates/a/src/heap.rs", "#![doc = include_str!(\"../README.md\")]\n", &["first line"]);
    check("crates/a/src/heap.rs", "", &["first line"]);
}

#[test]
fn drawers_are_refused_as_files_and_as_folders() {
    check("crates/a/src/util.rs", "//! Things.\n", &["`util` is a drawer"]);
    check("crates/a/tests/common/mod.rs", "//! Things.\n", &["`common` is a drawer"]);
}

#[test]
fn long_files_are_refused_unless_they_are_tests() {
    let long = format!("//! Long.\n{}", "\n".repeat(LINES_MAX));
    check("crates/a/src/heap.rs", &long, &["which are the two ideas"]);
    check("crates/a/src/heap/tests.rs", &long, &[]);
    check("crates/a/tests/it/heap.rs", &long, &[]);
    check("crates/a/src/conformance/heap.rs", &long, &[]);
}

#[test]
fn prose_wraps_and_tables_and_examples_need_not() {
    let wide = "word ".repeat(20) + "words";
    let file = |comment: &str| format!("//! The heap.\n\n{comment}\n");
    check(
        "crates/a/src/heap.rs",
        &file(&format!("    /// {wide}")),
        &["line 3 is a comment beyond"],
    );
    check("crates/a/src/heap.rs", &file(&format!("// {wide}")), &["line 3 is a comment beyond"]);
    check("crates/a/src/heap.rs", &file(&format!("/// | {wide} |")), &[]);
    check("crates/a/src/heap.rs", &file(&format!("/// ```\n/// {wide}\n/// ```")), &[]);
    let after = format!("/// ```\n/// x\n/// ```\n/// {wide}");
    check("crates/a/src/heap.rs", &file(&after), &["line 6 is a comment beyond"]);
}

#[test]
fn white_space_at_the_end_of_a_line_is_refused() {
    check("crates/a/src/heap.rs", "//! The heap.\nfn f() {} \n", &["line 2 ends in white space"]);
}
