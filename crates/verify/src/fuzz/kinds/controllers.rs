//! What keeps Pods, beside Deployments, ReplicaSets and Jobs.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::kinds::workloads::{job, selector, template};
use crate::fuzz::kinds::{BASE, Kind};
use crate::fuzz::pick::one;

pub(super) const KINDS: &[Kind] = &[
    Kind {
        collection: "/apis/apps/v1/namespaces/{ns}/statefulsets",
        api_version: "apps/v1",
        kind: "StatefulSet",
        subresources: &["status", "scale"],
        weight: 2,
        rest: stateful_set,
        status: stateful_set_status,
        ..BASE
    },
    Kind {
        collection: "/apis/apps/v1/namespaces/{ns}/daemonsets",
        api_version: "apps/v1",
        kind: "DaemonSet",
        subresources: &["status"],
        weight: 2,
        rest: daemon_set,
        status: daemon_set_status,
        ..BASE
    },
    Kind {
        collection: "/apis/apps/v1/namespaces/{ns}/controllerrevisions",
        api_version: "apps/v1",
        kind: "ControllerRevision",
        rest: revision,
        ..BASE
    },
    Kind {
        collection: "/apis/batch/v1/namespaces/{ns}/cronjobs",
        api_version: "batch/v1",
        kind: "CronJob",
        subresources: &["status"],
        weight: 2,
        rest: cron_job,
        status: cron_job_status,
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/replicationcontrollers",
        kind: "ReplicationController",
        subresources: &["status", "scale"],
        fields: &["status.replicas"],
        rest: replication_controller,
        status: |rng| json!({ "replicas": one(rng, &[0, 1, 2, -1]), "readyReplicas": one(rng, &[0, 1, 3]) }),
        ..BASE
    },
    Kind {
        collection: "/api/v1/namespaces/{ns}/podtemplates",
        kind: "PodTemplate",
        rest: |rng| json!({ "template": template(rng) }),
        ..BASE
    },
];

fn stateful_set(rng: &mut Rng) -> Value {
    let mut spec = json!({ "selector": selector(rng), "template": template(rng), "serviceName": one(rng, &["s", "s", "t", "a b"]) });
    if rng.bool() {
        spec["replicas"] = one(rng, &[0, 1, 2, -1]).into();
    }
    match rng.u8(..10) {
        0 => {
            let partition = one(rng, &[0, 1, -1]);
            spec["updateStrategy"] =
                json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": partition } });
        }
        1 => spec["updateStrategy"] = json!({ "type": one(rng, &["OnDelete", "Odd"]) }),
        2 => {
            let rolling = json!({ "maxUnavailable": one(rng, &[1, 0]) });
            spec["updateStrategy"] = json!({ "type": one(rng, &["RollingUpdate", "OnDelete", "Odd"]), "rollingUpdate": rolling });
        }
        3 => spec["podManagementPolicy"] = one(rng, &["Parallel", "OrderedReady", "Odd"]).into(),
        4 => spec["ordinals"] = json!({ "start": one(rng, &[1, 2, -1]) }),
        5 => spec["minReadySeconds"] = one(rng, &[0, 5, -1]).into(),
        6 => spec["revisionHistoryLimit"] = one(rng, &[0, 5, -1]).into(),
        7 => {
            let policy = one(rng, &["Delete", "Retain", "Odd"]);
            spec["persistentVolumeClaimRetentionPolicy"] = json!({ "whenDeleted": policy });
        }
        8 => {
            let size = one(rng, &["1Gi", "1024Mi", "0.5", "0"]);
            let mut claim = json!({
                "metadata": { "name": one(rng, &["d", "v"]) },
                "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } } },
            });
            if rng.u8(..4) == 0 {
                claim["spec"]["accessModes"] = one(rng, &[json!([]), json!(["Odd"])]);
            }
            spec["volumeClaimTemplates"] = json!([claim]);
            spec["template"]["spec"]["containers"][0]["volumeMounts"] =
                json!([{ "name": one(rng, &["d", "e"]), "mountPath": "/d" }]);
        }
        _ => {}
    }
    json!({ "spec": spec })
}

fn stateful_set_status(rng: &mut Rng) -> Value {
    let mut status = json!({
        "replicas": one(rng, &[0, 1, 2]), "readyReplicas": one(rng, &[0, 1, 3, -1]),
        "availableReplicas": one(rng, &[0, 1]), "currentRevision": one(rng, &["a", "b"]),
    });
    match rng.u8(..5) {
        0 => status["collisionCount"] = one(rng, &[0, 1, -1]).into(),
        1 => status["updatedReplicas"] = one(rng, &[1, 4]).into(),
        2 => status["conditions"] = json!([{ "type": "C", "status": "True" }]),
        _ => {}
    }
    status
}

fn daemon_set(rng: &mut Rng) -> Value {
    let mut spec = json!({ "selector": selector(rng), "template": template(rng) });
    match rng.u8(..8) {
        0 => {
            let limit = |rng: &mut Rng| {
                one(rng, &[json!(0), json!(1), json!("10%"), json!("101%"), json!("x"), json!(-1)])
            };
            let rolling = json!({ "maxUnavailable": limit(rng), "maxSurge": limit(rng) });
            spec["updateStrategy"] = json!({ "type": one(rng, &["RollingUpdate", "RollingUpdate", "OnDelete", "Odd"]), "rollingUpdate": rolling });
        }
        1 => spec["updateStrategy"] = json!({ "type": one(rng, &["OnDelete", "Odd"]) }),
        2 => spec["minReadySeconds"] = one(rng, &[0, 5, -1]).into(),
        3 => spec["revisionHistoryLimit"] = one(rng, &[0, 5, -1]).into(),
        4 => spec["template"]["spec"]["nodeSelector"] = json!({ "a": one(rng, &["1", "2"]) }),
        5 => drop(spec.as_object_mut().and_then(|spec| spec.remove("selector"))),
        _ => {}
    }
    json!({ "spec": spec })
}

fn daemon_set_status(rng: &mut Rng) -> Value {
    let mut status = json!({
        "desiredNumberScheduled": one(rng, &[0, 1, 2]), "currentNumberScheduled": one(rng, &[0, 1, -1]),
        "numberReady": one(rng, &[0, 1]),
    });
    match rng.u8(..4) {
        0 => status["collisionCount"] = one(rng, &[0, 1, -1]).into(),
        1 => status["numberUnavailable"] = one(rng, &[1, -1]).into(),
        _ => {}
    }
    status
}

fn revision(rng: &mut Rng) -> Value {
    let mut object = json!({ "revision": one(rng, &[1, 1, 2, -1, 0]) });
    if rng.u8(..10) > 0 {
        object["data"] = one(
            rng,
            &[json!({ "a": 1 }), json!({ "a": 1 }), json!({ "b": [null] }), json!("x"), json!([])],
        );
    }
    object
}

fn cron_job(rng: &mut Rng) -> Value {
    let schedules = [
        "* * * * *",
        "* * * * *",
        "*/5 1-3 ? jan,feb mon",
        "@hourly",
        "@every 1h",
        "60 * * * *",
        "* * *",
        "5-1 * * * *",
        "x * * * *",
        "*/0 * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "@often",
        "TZ=UTC * * * * *",
        "CRON_TZ=Moon * * * * *",
        "TZ=UTC",
        "* * 0 * *",
        "* * * * 7",
        "",
    ];
    let of = if rng.u8(..3) > 0 { &schedules[..5] } else { &schedules[..] };
    let mut spec =
        json!({ "schedule": one(rng, of), "jobTemplate": { "spec": job(rng)["spec"].take() } });
    match rng.u8(..10) {
        0 => spec["concurrencyPolicy"] = one(rng, &["Forbid", "Replace", "Odd"]).into(),
        1 => spec["suspend"] = rng.bool().into(),
        2 => spec["startingDeadlineSeconds"] = one(rng, &[0, 5, -1]).into(),
        3 => spec["successfulJobsHistoryLimit"] = one(rng, &[0, 5, -1]).into(),
        4 => spec["failedJobsHistoryLimit"] = one(rng, &[0, 5, -1]).into(),
        5 | 6 => {
            spec["timeZone"] = one(
                rng,
                &["Europe/Berlin", "UTC", "Moon", "", "Local", "../UTC", "Europe/a..b", "/UTC"],
            )
            .into();
        }
        7 => {
            let selector = json!({ "matchLabels": { "a": "b" } });
            spec["jobTemplate"]["spec"]["selector"] = selector;
        }
        8 => spec["jobTemplate"]["spec"]["manualSelector"] = rng.bool().into(),
        _ => {}
    }
    json!({ "spec": spec })
}

fn cron_job_status(rng: &mut Rng) -> Value {
    let mut status = json!({});
    if rng.bool() {
        status["lastScheduleTime"] = "2026-01-02T03:04:05Z".into();
    }
    if rng.bool() {
        status["active"] = json!([{ "kind": "Job", "name": one(rng, &["a", "b"]), "apiVersion": "batch/v1", "namespace": "{ns}" }]);
    }
    status
}

fn replication_controller(rng: &mut Rng) -> Value {
    let mut spec = json!({ "template": template(rng) });
    if rng.bool() {
        spec["replicas"] = one(rng, &[0, 1, 2, -1]).into();
    }
    match rng.u8(..6) {
        0 => spec["selector"] = json!({}),
        1 => spec["selector"] = json!({ "app": "b" }),
        2 => spec["selector"] = json!({ "app": "a" }),
        3 => spec["minReadySeconds"] = one(rng, &[1, -1]).into(),
        4 => {
            if rng.u8(..4) == 0 {
                spec = json!({ "selector": { "app": "a" } });
            }
        }
        _ => {}
    }
    json!({ "spec": spec })
}
