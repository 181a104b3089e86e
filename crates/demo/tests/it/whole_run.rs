//! Small runs to their end: the last line, the tables, the document, and that the verdict can be bad.

use std::time::Duration;

use rustix::process::Signal;

use super::stage::{Outcome, World, sleep};

/// Fewer claims than a real run, at a pace that keeps work pending.
const SMALL: [&str; 2] = ["--claims", "60"];

#[track_caller]
fn play(world: &World, args: &[&str]) -> Outcome {
    let outcome = world.start(&[&SMALL, args].concat()).wait();
    world.assert_empty();
    outcome
}

/// The value of `key=` in the last line of stdout.
#[track_caller]
fn figure(outcome: &Outcome, key: &str) -> u64 {
    let last = outcome.stdout.lines().last().unwrap();
    let value = last.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {key} in {last:?}: {outcome:?}"))
}

#[test]
fn a_run_ends_with_the_line_and_status_0() {
    let outcome = play(&World::new(), &["--seed", "11"]);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let last = outcome.stdout.lines().last().unwrap();
    assert!(
        last.starts_with("demo: claims=60 bound=60 lost=0 duplicated=0 orphaned=0 crash_failover_ms="),
        "{last}"
    );
    // Wide limits: this is no benchmark, and the machine may be busy.
    assert!(figure(&outcome, "crash_failover_ms") < 15_000, "{last}");
    assert!(figure(&outcome, "graceful_failover_ms") < 6_000, "{last}");
    assert!(figure(&outcome, "bound_p99_ms") > 0, "{last}");
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
fn json_is_one_document_on_stdout() {
    let outcome = play(&World::new(), &["--json", "--seed", "12", "--faults", "0"]);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["seed"], 12);
    assert_eq!(document["bound"], 60);
    assert!(
        document["summary"].as_str().unwrap().starts_with("demo: claims=60 bound=60 lost=0"),
        "{document}"
    );
}

#[test]
fn a_fast_writer_does_not_have_the_second_leader_ended_before_its_first_write() {
    let world = World::new();
    let outcome = world.start(&["--claims", "300", "--rate", "500", "--seed", "27"]).wait();
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    world.assert_empty();
}

#[track_caller]
fn spoiled(what: &str, (lost, duplicated, orphaned): (u64, u64, u64), word: &str) {
    let outcome = play(&World::new(), &["--sabotage", what]);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert_eq!(
        (figure(&outcome, "lost"), figure(&outcome, "duplicated"), figure(&outcome, "orphaned")),
        (lost, duplicated, orphaned),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains(word), "{outcome:?}");
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
fn a_planted_loss_is_found() {
    spoiled("lose", (1, 0, 0), "demo: lost: claim team-");
}

#[test]
fn keep_leaves_the_server_up_until_a_signal() {
    let world = World::new();
    let run = world.start(&[&SMALL[..], &["--keep", "--seed", "13"]].concat());
    let last = |run: &super::stage::Run<'_>| {
        run.stdout().lines().last().is_some_and(|line| line.starts_with("demo: claims="))
    };
    while !last(&run) {
        sleep(Duration::from_millis(50));
    }
    let said = run.stdout();
    let kubeconfig = said
        .lines()
        .find_map(|line| line.split_once("kubeconfig  "))
        .map(|(_, path)| path.to_owned())
        .unwrap();
    let url = said
        .lines()
        .find_map(|line| line.split_once("server      http://"))
        .and_then(|(_, url)| url.split_whitespace().next())
        .map(str::to_owned)
        .unwrap();
    assert!(std::path::Path::new(&kubeconfig).is_file());
    assert!(std::net::TcpStream::connect(url.trim_end_matches('/')).is_ok());
    run.signal(Signal::INT);
    let outcome = run.wait();
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("kubectl --kubeconfig"), "{outcome:?}");
    world.assert_empty();
}
