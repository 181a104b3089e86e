//! The conformance cases on the embedded server, and the page that lists them.

use std::path::Path;

use verify::conformance::{self, Server, Side};

/// Set to run only the cases whose `group::name` contains it.
const FILTER: &str = "CONFORMANCE_FILTER";
/// Set to `write` to bring the page up to date.
const PAGE: &str = "CONFORMANCE_PAGE";

#[tokio::test]
async fn the_embedded_server_does_what_each_case_says() {
    let server = Server::embedded().unwrap();
    let filter = std::env::var(FILTER).unwrap_or_default();
    let (ran, failures) = conformance::run(&server, Side::Embedded, &filter, 32).await;
    conformance::report("embedded", ran, &failures);
    assert!(failures.is_empty(), "{} of {ran} cases failed", failures.len());
}

#[test]
fn case_names_are_unique_and_rules_are_one_sentence() {
    let mut names = std::collections::BTreeSet::new();
    for case in conformance::cases() {
        assert!(names.insert(case.full_name()), "{} is there twice", case.full_name());
        assert!(
            case.rule.ends_with('.') && !case.rule.contains('\n'),
            "{}: {:?}",
            case.full_name(),
            case.rule
        );
        assert!(!case.rule.contains(". "), "{}: {:?}", case.full_name(), case.rule);
    }
}

#[test]
fn the_page_lists_the_cases() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let page = conformance::page();
    if std::env::var(PAGE).as_deref() == Ok("write") {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page, "{} is not up to date: run this test with {PAGE}=write", file.display());
}
