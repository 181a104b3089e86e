//! Tests of the evidence, case by case.

use serde_json::{Value, json};

use super::*;

const UID: &str = "0a1b2c3d-0000-4111-8222-0123456789ab";

fn record() -> Record {
    Record { renew_time: "2026-01-01T00:00:10.5Z".parse().ok(), ..Record::default() }
}

const ANOTHER: &str = "0a1b2c3d-0000-4111-8222-ffffffffffff";

/// Whether this is evidence in the namespace of the election.
fn is_evidence(there: Option<&Pod>) -> bool {
    let identity = identity_of("a", UID, 7);
    let word = seen(there, &record()).map(|found| HolderPod::of(&identity).unwrap().judge(found));
    matches!(word, Some(Word::Ended | Word::NotHere))
}

fn gone(pod: Value) -> bool {
    is_evidence(Some(&serde_json::from_value(pod).unwrap()))
}

/// A Pod of one container in this state.
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
    assert!(is_evidence(None));
    let mut other = pod("Running", running());
    other["metadata"]["uid"] = json!(ANOTHER);
    assert!(gone(other));
    let mut unknown = pod("Running", running());
    unknown["metadata"].as_object_mut().unwrap().remove("uid");
    assert!(!gone(unknown));
}

#[test]
fn a_pod_that_runs_is_not_gone_whatever_is_said_of_its_node() {
    assert!(!gone(pod("Running", running())));
    assert!(!gone(pod("Unknown", running())));
    assert!(
        !gone(deleted(pod("Running", running()))),
        "it is to be deleted, and its node does not answer"
    );
    let mut unready = pod("Running", running());
    unready["status"]["conditions"] =
        json!([{"type": "Ready", "status": "False", "reason": "NodeNotReady"}]);
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
    // In the second of the renewal an earlier process may have ended.
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
fn containers_of_every_kind_are_to_be_told_of() {
    let sidecar = json!([{"name": "side", "restartPolicy": "Always"}]);
    for (kind, statuses, more) in [
        ("initContainers", "initContainerStatuses", sidecar),
        ("ephemeralContainers", "ephemeralContainerStatuses", json!([{"name": "side"}])),
    ] {
        let mut pod = deleted(pod("Running", terminated(LATER)));
        pod["spec"][kind] = more;
        assert!(!gone(pod.clone()), "one of the {kind} may run, or start");
        // Another container's status does not count.
        pod["status"]["containerStatuses"] =
            json!([container("main", terminated(LATER)), container("main", terminated(LATER))]);
        assert!(!gone(pod.clone()));
        pod["status"][statuses] = json!([container("side", terminated(LATER))]);
        assert!(gone(pod));
    }
}

/// The kubelet knows the Pod by another uid, and runs it whatever happens to the mirror.
#[test]
fn the_mirror_of_a_static_pod_is_no_evidence() {
    for uid in [UID, ANOTHER] {
        let mut mirror = pod("Failed", terminated(LATER));
        assert!(gone(mirror.clone()));
        mirror["metadata"]["uid"] = json!(uid);
        mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "c0ffee"});
        assert!(!gone(mirror));
    }
}

#[test]
fn only_what_the_api_server_says_of_this_very_pod_says_that_there_is_none() {
    let says = |code: u16, body: Value| {
        let status: Status = serde_json::from_value(body).unwrap();
        is_about(&status.with_code(code), "a")
    };
    let status = |kind: &str, name: &str, reason: &str| {
        let details = json!({"kind": kind, "name": name});
        json!({"status": "Failure", "message": "m", "reason": reason, "details": details})
    };
    assert!(says(404, status("pods", "a", "NotFound")));
    assert!(!says(403, status("pods", "a", "NotFound")));
    assert!(!says(404, status("pods", "b", "NotFound")));
    assert!(!says(404, status("namespaces", "a", "NotFound")));
    assert!(!says(404, status("pods", "a", "Forbidden")));
    assert!(!says(
        404,
        json!({"reason": "NotFound", "message": "could not find the requested resource"})
    ));
    assert!(!is_about(
        &Status::failure("404 page not found", "Failed to parse error data").with_code(404),
        "a"
    ));
}
