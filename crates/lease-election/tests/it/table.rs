//! Table: the election's pages agree with the code, and each violation has a row and an existing
//! test.

use std::fs;
use std::path::Path;

use lease_election::Config;

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

#[test]
fn every_violation_and_every_assumption_has_a_row() {
    let (compared, safety) = (page("compared-with-client-go.md"), page("safety.md"));
    for number in 1..=17 {
        assert!(compared.contains(&format!("\n| V{number} | ")), "there is no row V{number}");
    }
    for number in 1..=9 {
        assert!(safety.contains(&format!("\n| A{number} | ")), "there is no row A{number}");
    }
}

/// Collects `file::test` of every test in this folder that is named for a violation.
fn named_for_a_violation(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            named_for_a_violation(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let file = path.strip_prefix(root).unwrap().display();
            let functions = source.lines().filter_map(|line| {
                line.trim_start().trim_start_matches("async ").strip_prefix("fn v")
            });
            let names = functions.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            found.extend(
                names.filter_map(|rest| Some(format!("{file}::v{}", rest.split_once('(')?.0))),
            );
        }
    }
}

#[test]
fn every_test_that_is_named_for_a_violation_is_on_the_page_and_there_is_one_for_each() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = page("verification.md");
    let mut found = Vec::new();
    for folder in ["src", "tests"] {
        named_for_a_violation(root, &root.join(folder), &mut found);
    }
    let missing: Vec<&String> =
        found.iter().filter(|test| !page.contains(&format!("`{test}`"))).collect();
    assert!(missing.is_empty(), "not on the page: {missing:#?}");
    for number in 1..=17 {
        let name = format!("::v{number:02}_");
        assert!(found.iter().any(|test| test.contains(&name)), "there is no test of V{number}");
    }
    // Every test that the page names exists.
    let named = page.split('`').filter(|code| code.contains(".rs::v"));
    let gone: Vec<&str> = named.filter(|test| !found.iter().any(|there| there == test)).collect();
    assert!(gone.is_empty(), "not there: {gone:?}");
}

#[test]
fn the_numbers_of_the_presets_are_those_of_the_code() {
    let page = page("safety.md");
    let builder = || Config::builder("ns", "lease");
    for (name, preset) in [
        ("`fast()`", builder().fast()),
        ("`client_go_compatible()`", builder().client_go_compatible()),
        ("neither", builder()),
    ] {
        let config = preset.build().unwrap();
        let lease = config.lease_duration().as_secs_f64();
        let renew = config.retry_period().as_secs_f64();
        let request = config.request_timeout().as_secs_f64();
        let margin = config.stop_margin().as_secs_f64();
        // 500 ppm: (1 - 0.0005) / (1 + 0.0005), which is rounded to seven places.
        let hold = config.hold().as_secs_f64();
        assert!((lease * 0.999_000_5 - margin - hold).abs() < 1e-6, "{name}: {hold}");
        assert_eq!(config.attempts_per_hold(), 3, "{name}");
        let need = renew + 2.0 * request.max(renew / 2.0);
        let row = format!(
            "| {name} | {lease} s | {renew} s | {request} s | {margin} s | {lease} s * 0.9990005 - {margin} s = {hold:.3} s \
             | {renew} s + 2 * {request} s = {need} s <= {hold:.3} s |"
        );
        assert!(page.contains(&row), "not on the page: {row}");
    }
}

#[test]
fn every_field_of_client_gos_configuration_has_a_row() {
    let page = page("compared-with-client-go.md");
    let (_, section) = page.split_once("## From client-go").expect("the section");
    let rows: Vec<&str> =
        section.lines().skip(1).take_while(|line| !line.starts_with("## ")).collect();
    for field in [
        "Lock",
        "LeaseDuration",
        "RenewDeadline",
        "RetryPeriod",
        "Callbacks.OnStartedLeading",
        "Callbacks.OnStoppedLeading",
        "Callbacks.OnNewLeader",
        "WatchDog",
        "ReleaseOnCancel",
        "Name",
        "Coordinated",
    ] {
        let begin = format!("| `.{field}");
        let has_row = rows
            .iter()
            .any(|row| row.strip_prefix(&begin).is_some_and(|rest| rest.starts_with(['`', '('])));
        assert!(has_row, "{field} has no row");
    }
}
