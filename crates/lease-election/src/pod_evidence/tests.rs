//! What is evidence, case by case.

use serde_json::{Value, json};

use super::*;

const UID: &str = "0a1b2c3d-0000-4111-8222-0123456789ab";

fn record() -> Record {
    Record { renew_time: "2026-01-01T00:00:10.5Z".parse().ok(), ..Record::default() }
}

fn gone(pod: Value) -> bool {
    is_gone(Some(&serde_json::from_value(pod).unwrap()), UID, &record())
}

/// A Pod of one container, in this state.
fn pod(phase: &str, state: Value) -> Value {
    json!({
        "metadata": {"name": "a", "uid": UID},
        "spec": {"containers": [{"name": "main"}], "restartPolicy": "Always"},
        "status": {"phase": phase, "containerStatuses": [container("main", state)]},
    })
}

fn container(name: &str, state: Value) -> Value {
    json!({"name": name, "image": "i", "imageID": "i", "ready": false, "restartCount": 0, "state": state})
}

fn terminated(at: &str) -> Value {
    json!({"terminated": {"exitCode": 0, "finishedAt": at}})
}

fn running() -> Value {
    json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})
}

fn deleted(mut pod: Value) -> Value {
    pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:05Z");
    pod
}

const LATER: &str = "2026-01-01T00:00:11Z";

#[test]
fn a_pod_that_is_not_there_or_another_is_gone() {
    assert!(is_gone(None, UID, &record()));
    let mut other = pod("Running", running());
    other["metadata"]["uid"] = json!("0a1b2c3d-0000-4111-8222-ffffffffffff");
    assert!(gone(other));
    let mut unknown = pod("Running", running());
    unknown["metadata"].as_object_mut().unwrap().remove("uid");
    assert!(!gone(unknown));
}

#[test]
fn a_pod_that_runs_is_not_gone_whatever_is_said_of_its_node() {
    assert!(!gone(pod("Running", running())));
    assert!(!gone(pod("Unknown", running())));
    assert!(!gone(deleted(pod("Running", running()))), "it is to be deleted, and its node does not answer");
    let mut unready = pod("Running", running());
    unready["status"]["conditions"] = json!([{"type": "Ready", "status": "False", "reason": "NodeNotReady"}]);
    unready["status"]["reason"] = json!("NodeLost");
    assert!(!gone(unready));
    assert!(!gone(json!({"metadata": {"name": "a", "uid": UID}})));
}

#[test]
fn a_pod_whose_phase_is_final_is_gone_unless_a_container_runs_or_nobody_asked_its_node() {
    assert!(gone(pod("Succeeded", terminated(LATER))));
    assert!(gone(pod("Failed", terminated("2026-01-01T00:00:01Z"))));
    assert!(!gone(pod("Failed", running())));
    let mut collected = pod("Failed", json!({}));
    assert!(gone(collected.clone()));
    collected["status"]["conditions"] =
        json!([{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}]);
    assert!(!gone(collected));
}

#[test]
fn containers_that_terminated_are_evidence_if_none_is_restarted_and_it_was_after_the_renewal() {
    assert!(!gone(pod("Running", terminated(LATER))), "it is restarted");
    assert!(gone(deleted(pod("Running", terminated(LATER)))));
    // In the second of the renewal: by a process before it, for all that is known.
    assert!(!gone(deleted(pod("Running", terminated("2026-01-01T00:00:10Z")))));
    assert!(!gone(deleted(pod("Running", json!({"waiting": {"reason": "CrashLoopBackOff"}})))));
    let mut never = pod("Running", terminated(LATER));
    never["spec"]["restartPolicy"] = json!("Never");
    assert!(gone(never));

    let mut two = deleted(pod("Running", terminated(LATER)));
    two["spec"]["containers"] = json!([{"name": "main"}, {"name": "side"}]);
    assert!(!gone(two.clone()), "one of which nothing is told");
    two["status"]["containerStatuses"] =
        json!([container("main", terminated(LATER)), container("side", running())]);
    assert!(!gone(two));

    let mut silent = deleted(pod("Running", json!({})));
    silent["status"]["containerStatuses"] = json!([]);
    assert!(!gone(silent));
}

#[test]
fn init_containers_count_as_what_they_are() {
    let with = |restart: Option<&str>, at: &str| {
        let mut pod = deleted(pod("Running", terminated(LATER)));
        pod["spec"]["initContainers"] = json!([{"name": "init", "restartPolicy": restart}]);
        pod["status"]["initContainerStatuses"] = json!([container("init", terminated(at))]);
        pod
    };
    assert!(gone(with(None, "2026-01-01T00:00:01Z")), "it ran once, before the others");
    assert!(!gone(with(Some("Always"), "2026-01-01T00:00:01Z")));
    assert!(gone(with(Some("Always"), LATER)));
}

#[test]
fn an_identity_names_a_pod_only_in_full() {
    let own = PodEvidence::identity("operator-0", UID);
    assert_eq!(pod_of(&own), Some(("operator-0", UID)));
    assert_ne!(own, PodEvidence::identity("operator-0", UID));
    assert_eq!(pod_of(&format!("a.b_{UID}")), Some(("a.b", UID)));
    for other in [
        "",
        "laptop",
        "laptop_0123456789abcdef",
        &format!("_{UID}"),
        &format!("../x_{UID}"),
        &format!("a/b_{UID}"),
        &format!("a?b_{UID}"),
        &format!("A_{UID}"),
        &format!("..{UID}_{UID}"),
        &format!("{}_{UID}", "a".repeat(254)),
        "a_0a1b2c3d-0000-4111-8222-0123456789ag",
        "a_0a1b2c3d00004111822201234567890123ab",
    ] {
        assert_eq!(pod_of(other), None, "{other}");
    }
}
