//! The ReplicaSets and Jobs that these cases make, and where they are.

use serde_json::{Value, json};

use crate::conformance::target::Target;

pub(super) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

pub(in crate::conformance) fn replica_set(name: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": { "app": "a" } },
            "template": {
                "metadata": { "labels": { "app": "a" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    })
}

pub(super) fn sets(t: &Target, rest: &str) -> String {
    t.of_group("apps/v1", "replicasets", rest)
}

pub(super) fn job(name: &str, suspend: bool) -> Value {
    let pods = json!({ "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] });
    json!({ "metadata": { "name": name }, "spec": { "suspend": suspend, "template": { "spec": pods } } })
}

pub(super) fn all_jobs(t: &Target, rest: &str) -> String {
    t.of_group("batch/v1", "jobs", rest)
}
