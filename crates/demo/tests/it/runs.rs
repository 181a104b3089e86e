//! One small run of each kind: well to its end, with a planted wrong outcome, interrupted, and with
//! a replica that fails.

use rustix::process::Signal;

use super::stage::{World, stand_in};
use super::theirs::Theirs;

/// Few claims, at a pace that keeps work pending.
const SMALL: [&str; 4] = ["--claims", "40", "--seed", "11"];

#[test]
fn a_run_ends_with_figures_the_verdict_and_status_0() {
    let world = World::new();
    let outcome = world.start(&SMALL).wait();
    world.assert_empty();
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(outcome.verdict(), "PASSED");
    let summary = outcome.summary();
    assert!(
        summary.starts_with(
            "demo: claims=40 bound=40 lost=0 duplicated=0 orphaned=0 crash_failover_ms="
        ),
        "{summary}"
    );
    // Wide limits: this is no benchmark, and the machine may be busy.
    assert!(outcome.figure("crash_failover_ms") < 15_000, "{summary}");
    assert!(outcome.figure("graceful_failover_ms") < 6_000, "{summary}");
    assert!(outcome.figure("bound_p99_ms") > 0, "{summary}");
    for words in [
        "server      http://127.0.0.1:",
        "kubeconfig  ",
        "SIGKILL to the leader",
        "SIGTERM to the leader",
        "API requests",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {outcome:?}");
    }
}

#[test]
fn a_planted_duplicate_is_found_and_the_document_says_so() {
    let world = World::new();
    let outcome =
        world.start(&[&SMALL[..], &["--sabotage", "duplicate", "--json"]].concat()).wait();
    world.assert_empty();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["verdict"], "FAILED");
    assert_eq!(
        (&document["lost"], &document["duplicated"], &document["orphaned"]),
        (&0.into(), &1.into(), &0.into())
    );
    assert!(outcome.stderr.contains("demo: duplicated: claim team-"), "{outcome:?}");
    assert_eq!(outcome.stderr.lines().last(), Some("FAILED"), "{outcome:?}");
}

#[test]
fn sigint_leaves_nothing_here_and_nothing_on_a_cluster_and_says_so() {
    let world = World::new();
    let theirs = Theirs::new(&world);
    let before = theirs.everything();
    let mut run = world.start(&theirs.args(&SMALL));
    theirs.wait_for_volumes(&mut run);
    run.signal(Signal::INT);
    let outcome = run.wait();
    assert_eq!(outcome.status.code(), Some(130), "{outcome:?}");
    let last = outcome.stderr.lines().last().unwrap();
    assert!(last.starts_with("demo: cleaned up: ") && last.contains("cluster"), "{outcome:?}");
    theirs.assert_as_before(&before);
    world.assert_empty();
}

#[test]
fn a_replica_that_ends_by_itself_fails_the_run_and_only_its_log_is_shown() {
    let world = World::new();
    let script = r#"case "$*" in *replica-2*) echo the cause of it all >&2; exit 3;; esac; echo noise >&2; exec sleep 1000"#;
    let broken = stand_in(world.path(), script);
    let outcome = world.start_with(&broken, &["--claims", "20"]).wait();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let log = outcome.stderr.find("demo: from the log of replica-2:\nthe cause of it all\n");
    let reason = outcome.stderr.find("replica-2 ended by itself (exit status: 3)");
    assert!(log.is_some() && log < reason, "{outcome:?}");
    assert!(!outcome.stderr.contains("noise"), "{outcome:?}");
    assert_eq!(outcome.verdict(), "FAILED");
    world.assert_empty();

    let outcome = world.start_with(&broken, &["--claims", "20", "--json"]).wait();
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["verdict"], "FAILED");
    assert!(
        document["error"].as_str().unwrap().contains("replica-2 ended by itself"),
        "{document}"
    );
}
