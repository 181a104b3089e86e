//! The cells of a Job, as `printJob` in pkg/printers/internalversion/printers.go of Kubernetes.

use jiff::Timestamp;
use serde_json::Value;

use crate::strategy::age;
use crate::strategy::builtin::cells::{list, number};

pub(super) fn status(job: &Value) -> Value {
    let has = |of: &str| {
        let found =
            list(job, "/status/conditions").iter().find(|condition| condition["type"] == of);
        found.is_some_and(|condition| condition["status"] == "True")
    };
    let ending = !job["metadata"]["deletionTimestamp"].is_null();
    let found = match () {
        () if has("Complete") => "Complete",
        () if has("Failed") => "Failed",
        () if ending => "Terminating",
        () if has("Suspended") => "Suspended",
        () if has("FailureTarget") => "FailureTarget",
        () if has("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    found.into()
}

pub(super) fn completions(job: &Value) -> Value {
    let succeeded = number(job, "/status/succeeded");
    let parallelism = number(job, "/spec/parallelism");
    match job["spec"]["completions"].as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}").into(),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}").into(),
        None => format!("{succeeded}/1").into(),
    }
}

pub(super) fn duration(job: &Value, now: Timestamp) -> Value {
    let time = |path: &str| job.pointer(path)?.as_str()?.parse::<Timestamp>().ok();
    let Some(start) = time("/status/startTime") else { return "".into() };
    let end = time("/status/completionTime").unwrap_or(now);
    age::human(end.as_second().saturating_sub(start.as_second())).into()
}
