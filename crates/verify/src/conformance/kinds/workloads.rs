//! The kinds of workloads, and of what limits them.

use serde_json::json;

use crate::conformance::Case;
use crate::conformance::kinds::walk::{KIND, Sample};
use crate::conformance::objects::pod_template;

static STATEFUL_SET: Sample = Sample {
    version: "apps/v1",
    kind: "StatefulSet",
    plural: "statefulsets",
    has_status: true,
    has_scale: true,
    content: |_, _| {
        let selector = json!({ "matchLabels": { "app": "a" } });
        json!({ "spec": { "replicas": 0, "serviceName": "s", "selector": selector, "template": pod_template() } })
    },
    ..KIND
};
static DAEMON_SET: Sample = Sample {
    version: "apps/v1",
    kind: "DaemonSet",
    plural: "daemonsets",
    has_status: true,
    content: |_, _| {
        let selector = json!({ "matchLabels": { "app": "a" } });
        json!({ "spec": { "selector": selector, "template": pod_template() } })
    },
    ..KIND
};
static REVISION: Sample = Sample {
    version: "apps/v1",
    kind: "ControllerRevision",
    plural: "controllerrevisions",
    content: |_, _| json!({ "revision": 1, "data": { "a": 1 } }),
    ..KIND
};
static CRON_JOB: Sample = Sample {
    version: "batch/v1",
    kind: "CronJob",
    plural: "cronjobs",
    has_status: true,
    content: |_, _| {
        let mut template = pod_template();
        template["spec"]["restartPolicy"] = "Never".into();
        let job = json!({ "spec": { "template": template } });
        json!({ "spec": { "schedule": "@daily", "suspend": true, "jobTemplate": job } })
    },
    ..KIND
};
static REPLICATION_CONTROLLER: Sample = Sample {
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    has_status: true,
    has_scale: true,
    content: |_, _| json!({ "spec": { "replicas": 0, "template": pod_template() } }),
    ..KIND
};
static TEMPLATE: Sample = Sample {
    kind: "PodTemplate",
    plural: "podtemplates",
    content: |_, _| json!({ "template": pod_template() }),
    ..KIND
};
static LIMITS: Sample = Sample {
    kind: "LimitRange",
    plural: "limitranges",
    content: |_, _| json!({ "spec": { "limits": [{ "type": "example.com/thing" }] } }),
    ..KIND
};
static QUOTA: Sample =
    Sample { kind: "ResourceQuota", plural: "resourcequotas", has_status: true, ..KIND };
static BUDGET: Sample = Sample {
    version: "policy/v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    has_status: true,
    content: |_, _| json!({ "spec": { "maxUnavailable": 1 } }),
    ..KIND
};

static SCALER: Sample = Sample {
    version: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    has_status: true,
    content: |_, _| {
        let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" });
        json!({ "spec": { "scaleTargetRef": target, "maxReplicas": 3 } })
    },
    ..KIND
};
static OLD_SCALER: Sample = Sample { version: "autoscaling/v1", ..SCALER };
static PRIORITY: Sample = Sample {
    version: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    plural: "priorityclasses",
    is_namespaced: false,
    content: |_, _| json!({ "value": 1 }),
    ..KIND
};
static RUNTIME: Sample = Sample {
    version: "node.k8s.io/v1",
    kind: "RuntimeClass",
    plural: "runtimeclasses",
    is_namespaced: false,
    content: |_, _| json!({ "handler": "h" }),
    ..KIND
};

pub(super) fn cases() -> Vec<(&'static Sample, Case)> {
    kinds! {
        "stateful_sets" STATEFUL_SET "a StatefulSet is answered, its status and its scale included";
        "daemon_sets" DAEMON_SET "a DaemonSet is answered, its status included";
        "controller_revisions" REVISION "a ControllerRevision is answered; it has no subresource";
        "cron_jobs" CRON_JOB "a CronJob is answered, its status included";
        "replication_controllers" REPLICATION_CONTROLLER "a ReplicationController is answered, its status and its scale included";
        "pod_templates" TEMPLATE "a PodTemplate is answered; it has no subresource";
        "limit_ranges" LIMITS "a LimitRange is answered; it has no subresource";
        "resource_quotas" QUOTA "a ResourceQuota is answered, its status included";
        "disruption_budgets" BUDGET "a PodDisruptionBudget is answered, its status included";
        "autoscalers" SCALER "a HorizontalPodAutoscaler of autoscaling/v2 is answered, its status included";
        "old_autoscalers" OLD_SCALER "a HorizontalPodAutoscaler of autoscaling/v1 is answered, its status included";
        "priority_classes" PRIORITY "a PriorityClass is answered; it has no subresource";
        "runtime_classes" RUNTIME "a RuntimeClass is answered; it has no subresource";
    }
}
