//! The summary to the letter, and that the tables and the document say the same.

use super::Report;
use crate::failover::Failover;
use crate::figures::Waits;
use crate::judge::{Finding, Harm, Verdict};
use std::collections::BTreeMap;
use std::time::Duration;

fn report() -> Report {
    let failover = |to: &str, lease, work| {
        Some(Failover {
            to: to.into(),
            lease: Some(Duration::from_millis(lease)),
            work: Duration::from_millis(work),
        })
    };
    let verbs = |list: &[(&str, u64)]| {
        list.iter().map(|(verb, count)| ((*verb).to_owned(), *count)).collect::<BTreeMap<_, _>>()
    };
    Report {
        seed: 7,
        engine: "kube-apiserver v1.36.3".into(),
        verdict: Verdict { claims: 500, bound: 500, ..Verdict::default() },
        crash: failover("replica-2", 5100, 5200),
        handover: failover("replica-3", 90, 120),
        waits: Waits::of((1..=500).map(Duration::from_millis)),
        span: Duration::from_secs(20),
        retries: 31,
        requests: [
            ("replica-1".to_owned(), verbs(&[("create", 300), ("patch", 12)])),
            ("replica-2".to_owned(), verbs(&[("create", 150), ("watch", 4)])),
        ]
        .into(),
    }
}

#[test]
fn the_summary_is_to_the_letter() {
    assert_eq!(
        report().summary(),
        "demo: claims=500 bound=500 lost=0 duplicated=0 orphaned=0 crash_failover_ms=5200 graceful_failover_ms=120 bound_p99_ms=495 engine=kube-apiserver/v1.36.3"
    );
    assert_eq!(
        Report::default().summary(),
        "demo: claims=0 bound=0 lost=0 duplicated=0 orphaned=0 crash_failover_ms=none graceful_failover_ms=none bound_p99_ms=none engine="
    );
}

#[test]
fn the_tables_show_figures_targets_and_requests() {
    let tables = report().tables();
    for line in [
        "claims per second 25.0",
        "created to bound, p50 250 ms",
        "created to bound, p99 495 ms",
        "crash fail-over 5200 ms target 6000 ms; to replica-2, which had the lease after 5100 ms",
        "graceful hand-over 120 ms target 500 ms; to replica-3, which had the lease after 90 ms",
        "retries 31",
        "API requests create patch watch all",
        "replica-1 300 12 0 312",
        "replica-2 150 0 4 154",
    ] {
        let found = tables
            .lines()
            .any(|row| row.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(line));
        assert!(found, "{line}\n{tables}");
    }
    let none = Report { crash: None, ..report() }.tables();
    assert!(none.contains("target 6000 ms; did not happen"), "{none}");
}

#[test]
fn the_document_says_what_the_line_says_and_names_the_findings() {
    let mut report = report();
    report.verdict.add([Finding {
        harm: Harm::Lost,
        subject: "claim a/b".into(),
        what: "is gone".into(),
    }]);
    let document = report.json(false);
    assert_eq!(document["verdict"], "FAILED");
    assert_eq!(report.json(true)["verdict"], "PASSED");
    assert_eq!(document["summary"], report.summary());
    assert_eq!(document["bound_p99_ms"], 495);
    assert_eq!(document["crash_failover"]["lease_ms"], 5100);
    assert_eq!(document["findings"][0]["kind"], "lost");
    assert_eq!(document["requests"]["replica-1"]["patch"], 12);
}

#[test]
fn the_document_of_a_failure_has_the_verdict_and_the_reason() {
    let document = super::json_of_failure(7, "failed while electing: replica-1 ended by itself");
    assert_eq!(document["verdict"], "FAILED");
    assert_eq!(document["error"], "failed while electing: replica-1 ended by itself");
    assert_eq!(document["seed"], 7);
}
