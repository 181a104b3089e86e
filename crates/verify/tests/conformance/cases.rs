//! The cases in process and over a socket, what they cover, and the pages that are made of them.

use std::path::Path;

use tokio::sync::OnceCell;
use verify::conformance::{self, MUST_HAVES, REFUSALS, Run, Server, Side};

/// Set to run only the cases whose `group::name` contains it.
const FILTER: &str = "CONFORMANCE_FILTER";
/// These tests, as cargo is told them.
const TEST: &str = "--test conformance";
/// Set to `write` to bring the pages up to date.
const PAGE: &str = "CONFORMANCE_PAGE";
/// The table of verbs in docs/embedded-apiserver.md stands between these.
const TABLE: [&str; 2] = ["<!-- support: written by the test -->\n\n", "<!-- end of support -->"];

/// Every case in process, once for all tests that need it.
async fn whole() -> &'static Run {
    static WHOLE: OnceCell<Run> = OnceCell::const_new();
    WHOLE
        .get_or_init(|| async {
            let server = Server::embedded().unwrap();
            conformance::run(&server, Side::Embedded, "", 32).await
        })
        .await
}

#[cfg_attr(feature = "paused-time", tokio::test(start_paused = true))]
#[cfg_attr(not(feature = "paused-time"), tokio::test)]
async fn the_embedded_server_does_what_each_case_says() {
    let filter = std::env::var(FILTER).unwrap_or_default();
    let filtered;
    let run = if filter.is_empty() {
        whole().await
    } else {
        let server = Server::embedded().unwrap();
        filtered = conformance::run(&server, Side::Embedded, &filter, 32).await;
        &filtered
    };
    conformance::report("embedded", run);
    assert!(run.ran > 0, "no case has a name that contains {FILTER}={filter}");
    assert!(run.failures.is_empty(), "{}", conformance::verdict(&run.failures, TEST));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_its_socket_the_embedded_server_does_the_same() {
    let server = Server::listening().await.unwrap();
    let filter = std::env::var(FILTER).unwrap_or_default();
    let run = conformance::run(&server, Side::Embedded, &filter, 32).await;
    conformance::report("embedded, over its socket", &run);
    assert!(run.ran > 0, "no case has a name that contains {FILTER}={filter}");
    assert!(run.failures.is_empty(), "{}", conformance::verdict(&run.failures, TEST));
}

#[test]
fn case_names_are_unique_and_rules_are_one_sentence() {
    let (mut names, mut rules) =
        (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for case in conformance::cases() {
        assert!(names.insert(case.full_name()), "{} is there twice", case.full_name());
        assert!(
            rules.insert(case.rule),
            "{}: another case has the rule {:?}",
            case.full_name(),
            case.rule
        );
        assert!(
            case.rule.ends_with('.') && !case.rule.contains('\n'),
            "{}: {:?}",
            case.full_name(),
            case.rule
        );
        assert!(!case.rule.contains(". "), "{}: {:?}", case.full_name(), case.rule);
    }
    assert!(names.len() >= 300, "{} cases", names.len());
}

#[test]
fn each_of_the_points_has_its_cases() {
    let names: Vec<_> = conformance::cases().iter().map(conformance::Case::full_name).collect();
    for (at, point) in MUST_HAVES.iter().enumerate() {
        assert_eq!(usize::from(point.number), at + 1);
        let count = names.iter().filter(|name| point.has(name)).count();
        assert!(count >= 10, "point {} has {count} cases: {}", point.number, point.what);
        for begin in point.cases {
            let is_there = names.iter().any(|name| name.starts_with(begin));
            assert!(is_there, "no case begins with {begin}");
        }
    }
}

#[test]
fn few_rules_differ_and_none_that_controllers_live_by() {
    // What a rule is about that must not differ: by its group, or by a word of its name.
    const GROUPS: [&str; 9] = [
        "versions",
        "watches",
        "deletes",
        "finalizers",
        "lists",
        "selectors",
        "collections",
        "statuses",
        "leases",
    ];
    const WORDS: [&str; 9] = [
        "version",
        "watch",
        "conflict",
        "delet",
        "finalizer",
        "generation",
        "page",
        "selector",
        "lease",
    ];
    let cases = conformance::cases();
    let differing: Vec<_> = cases.iter().filter(|case| case.difference().is_some()).collect();
    let wrong: Vec<_> = differing
        .iter()
        .filter(|case| {
            GROUPS.contains(&case.group) || WORDS.iter().any(|word| case.name.contains(word))
        })
        .map(|case| case.full_name())
        .collect();
    assert!(wrong.is_empty(), "these must not differ: {wrong:?}");
    assert!(differing.len() <= MOST, "{} rules differ", differing.len());
}

/// How many rules may differ.
const MOST: usize = 10;

#[cfg_attr(feature = "paused-time", tokio::test(start_paused = true))]
#[cfg_attr(not(feature = "paused-time"), tokio::test)]
async fn each_verb_is_seen_refused_for_each_reason() {
    let run = whole().await;
    let mut missing = Vec::new();
    for refusal in &REFUSALS {
        for verb in refusal.verbs {
            let seen = run.sights.iter().any(|sight| {
                (sight.verb, sight.code, sight.reason.as_str())
                    == (*verb, refusal.code, refusal.reason)
            });
            if !seen {
                missing.push(format!("{} {} {}", verb.name(), refusal.code, refusal.reason));
            }
        }
    }
    assert!(missing.is_empty(), "no case sees: {missing:?}");
}

#[cfg_attr(feature = "paused-time", tokio::test(start_paused = true))]
#[cfg_attr(not(feature = "paused-time"), tokio::test)]
async fn the_pages_say_what_the_cases_saw() {
    let run = whole().await;
    assert!(run.failures.is_empty(), "a page is made of what passes: {:?}", run.failures);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let (rules, support) = (docs.join("conformance.md"), docs.join("embedded-apiserver.md"));
    let old = std::fs::read_to_string(&support).unwrap_or_default();
    let (before, rest) = old.split_once(TABLE[0]).expect("the beginning of the table");
    let (_, after) = rest.split_once(TABLE[1]).expect("the end of the table");
    let [begin, end] = TABLE;
    let table = format!("{before}{begin}{}\n{end}{after}", conformance::support(&run.sights));
    for (file, page) in [(rules, conformance::page(&run.sights)), (support, table)] {
        if std::env::var(PAGE).as_deref() == Ok("write") {
            std::fs::write(&file, &page).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == page,
            "{} is not up to date: run this test with {PAGE}=write",
            file.display()
        );
    }
}
