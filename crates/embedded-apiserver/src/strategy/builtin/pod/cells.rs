//! The cells of a Pod, as `printPod` in pkg/printers/internalversion/printers.go of Kubernetes.

use jiff::Timestamp;
use serde_json::Value;

use crate::strategy::age;
use crate::strategy::builtin::cells::{NONE, list, text_at};

/// The state of a Pod's containers.
#[derive(Debug, Default)]
struct Summary {
    total: usize,
    ready: usize,
    restarts: i64,
    restarted: Option<Timestamp>,
    reason: String,
}

pub(super) fn ready(pod: &Value) -> Value {
    let summary = Summary::of(pod);
    format!("{}/{}", summary.ready, summary.total).into()
}

pub(super) fn status(pod: &Value) -> Value {
    Summary::of(pod).reason.into()
}

pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let Summary { restarts, restarted, .. } = Summary::of(pod);
    match restarted.filter(|_| restarts != 0) {
        Some(time) => {
            let seconds = now.as_second().saturating_sub(time.as_second());
            format!("{restarts} ({} ago)", age::human(seconds)).into()
        }
        None => restarts.to_string().into(),
    }
}

pub(super) fn gates(pod: &Value) -> Value {
    let gates: Vec<&str> = list(pod, "/spec/readinessGates")
        .iter()
        .map(|gate| text_at(gate, "/conditionType"))
        .collect();
    if gates.is_empty() {
        return NONE.into();
    }
    let met = |gate: &&&str| {
        list(pod, "/status/conditions")
            .iter()
            .any(|is| is["type"] == ***gate && is["status"] == "True")
    };
    format!("{}/{}", gates.iter().filter(met).count(), gates.len()).into()
}

fn has_condition(pod: &Value, of: &str) -> bool {
    let found = list(pod, "/status/conditions").iter().find(|condition| condition["type"] == of);
    found.is_some_and(|condition| condition["status"] == "True")
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

/// Why a container has ended, in a few letters.
fn ended(state: &Value) -> String {
    match (state["reason"].as_str().unwrap_or_default(), state["signal"].as_i64().unwrap_or(0)) {
        ("", 0) => format!("ExitCode:{}", state["exitCode"].as_i64().unwrap_or(0)),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let said = |path: &str| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (phase, why) = (said("/status/phase"), said("/status/reason"));
        let mut reason = if why.is_empty() { phase } else { why }.to_owned();
        let gated = |condition: &Value| {
            condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
        };
        if list(pod, "/status/conditions").iter().any(gated) {
            "SchedulingGated".clone_into(&mut reason);
        }
        let sidecars = list(pod, "/spec/initContainers")
            .iter()
            .filter(|container| is_sidecar(container))
            .count();
        let mut summary = Self {
            total: list(pod, "/spec/containers").len() + sidecars,
            reason,
            ..Self::default()
        };
        let initializing = summary.initial_containers(pod);
        if !initializing || has_condition(pod, "Initialized") {
            summary.containers(pod);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            if why == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if !matches!(phase, "Failed" | "Succeeded") {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    fn restarted(&mut self, status: &Value) {
        self.restarts += status["restartCount"].as_i64().unwrap_or(0);
        let time = status.pointer("/lastState/terminated/finishedAt").and_then(Value::as_str);
        self.restarted = self.restarted.max(time.and_then(|time| time.parse().ok()));
    }

    /// Whether initial containers still run: the others do not count then.
    fn initial_containers(&mut self, pod: &Value) -> bool {
        let specs = list(pod, "/spec/initContainers");
        let of_sidecar = |status: &Value| {
            specs
                .iter()
                .any(|container| container["name"] == status["name"] && is_sidecar(container))
        };
        let (mut all, mut reached) = (Self::default(), false);
        for (at, status) in list(pod, "/status/initContainerStatuses").iter().enumerate() {
            all.restarted(status);
            if of_sidecar(status) {
                self.restarted(status);
            }
            let (terminated, waiting) =
                (&status["state"]["terminated"], &status["state"]["waiting"]);
            let waits = waiting["reason"]
                .as_str()
                .filter(|reason| !reason.is_empty() && *reason != "PodInitializing");
            if terminated.is_object() && terminated["exitCode"].as_i64().unwrap_or(0) == 0 {
                continue;
            }
            if of_sidecar(status) && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            self.reason = match waits {
                _ if terminated.is_object() => format!("Init:{}", ended(terminated)),
                Some(reason) => format!("Init:{reason}"),
                None => format!("Init:{at}/{}", specs.len()),
            };
            reached = true;
            break;
        }
        if reached && !has_condition(pod, "Initialized") {
            (self.restarts, self.restarted) = (all.restarts, all.restarted);
        }
        reached
    }

    fn containers(&mut self, pod: &Value) {
        let (mut running, mut failed) = (false, None);
        for status in list(pod, "/status/containerStatuses").iter().rev() {
            self.restarted(status);
            let (terminated, waiting) =
                (&status["state"]["terminated"], &status["state"]["waiting"]);
            let waits = waiting["reason"].as_str().filter(|reason| !reason.is_empty());
            if let Some(reason) = waits {
                reason.clone_into(&mut self.reason);
            } else if terminated.is_object() {
                self.reason = ended(terminated);
                if terminated["exitCode"].as_i64().unwrap_or(0) != 0 {
                    failed = Some(self.reason.clone());
                }
            } else if status["ready"] == true && status["state"]["running"].is_object() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && has_condition(pod, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failed) = failed {
                self.reason = failed;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}
