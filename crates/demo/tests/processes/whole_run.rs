//! Runs to their end: the document, a fast writer, and that the verdict can be bad.

use super::stage::{Outcome, World};

/// Fewer claims than a real run, at a pace that keeps work pending.
const SMALL: [&str; 2] = ["--claims", "60"];

#[track_caller]
fn play(world: &World, args: &[&str]) -> Outcome {
    let outcome = world.start(&[&SMALL, args].concat()).wait();
    world.assert_empty();
    outcome
}

#[test]
fn json_is_one_document_on_stdout() {
    let outcome = play(&World::new(), &["--json", "--seed", "12", "--faults", "0"]);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["verdict"], "PASSED");
    assert_eq!(document["seed"], 12);
    assert_eq!(document["bound"], 60);
    assert!(
        document["summary"].as_str().unwrap().starts_with("demo: claims=60 bound=60 lost=0"),
        "{document}"
    );
    assert_eq!(outcome.stderr.lines().last(), Some("PASSED"), "{outcome:?}");
}

#[test]
fn a_fast_writer_does_not_have_the_second_leader_ended_before_its_first_write() {
    let world = World::new();
    let outcome = world.start(&["--claims", "300", "--rate", "500", "--seed", "27"]).wait();
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    world.assert_empty();
}

#[track_caller]
fn spoiled(what: &str, (lost, duplicated, orphaned): (u64, u64, u64), word: &str) -> Outcome {
    let outcome = play(&World::new(), &["--sabotage", what]);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert_eq!(outcome.verdict(), "FAILED");
    assert_eq!(
        (outcome.figure("lost"), outcome.figure("duplicated"), outcome.figure("orphaned")),
        (lost, duplicated, orphaned),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains(word), "{outcome:?}");
    outcome
}

#[test]
fn a_planted_duplicate_is_found() {
    spoiled("duplicate", (0, 1, 0), "demo: duplicated: claim team-");
}

#[test]
fn a_planted_orphan_is_found() {
    spoiled("orphan", (0, 0, 1), "demo: orphaned: directory ");
}

#[test]
fn a_planted_loss_is_found_and_only_log_lines_of_that_claim_are_shown() {
    let outcome = spoiled("lose", (1, 0, 0), "demo: lost: claim team-");
    let (_, finding) = outcome.stderr.split_once("demo: lost: claim ").unwrap();
    let (_, uid) = finding.split_once("(uid ").unwrap();
    let (uid, _) = uid.split_once(')').unwrap();
    let (_, log) = outcome.stderr.split_once("demo: from the log of ").unwrap();
    let lines: Vec<_> =
        log.lines().skip(1).take_while(|line| !line.starts_with("demo: ")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(uid)), "{outcome:?}");
}
