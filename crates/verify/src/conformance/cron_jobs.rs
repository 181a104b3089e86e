//! CronJobs: schedules, time zones, and the Jobs that they are templates of.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn jobs(t: &Target, rest: &str) -> String {
    t.of_group("batch/v1", "cronjobs", rest)
}

fn job(members: Value) -> Value {
    let mut template = pod_template();
    template["spec"]["restartPolicy"] = "Never".into();
    let spec =
        json!({ "schedule": "0 * * * *", "jobTemplate": { "spec": { "template": template } } });
    with_spec(json!({ "metadata": { "name": "a" }, "spec": spec }), members)
}

/// A CronJob whose Jobs have other members.
fn of_job(members: Value) -> Value {
    let mut object = job(json!({}));
    for (member, value) in members.as_object().into_iter().flatten() {
        object["spec"]["jobTemplate"]["spec"][member] = value.clone();
    }
    object
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_cron_job_has_defaults",
            "A CronJob lets its Jobs run side by side, is not suspended, and keeps three Jobs that succeeded and one that failed.",
            async |t| {
                let made = t.make(&jobs(t, "?dryRun=All"), job(json!({}))).await?;
                has(
                    &made,
                    json!({
                        "metadata": { "generation": 1 },
                        "spec": {
                            "concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": 3,
                            "failedJobsHistoryLimit": 1, "timeZone": null, "startingDeadlineSeconds": null,
                        },
                    }),
                )?;
                same("status", made["status"].clone(), json!({}))
            },
        ),
        case(
            "the_template_of_a_job_is_completed_late",
            "The template of a CronJob's Jobs has the defaults of its Pods, but not those of a Job.",
            async |t| {
                let made = t.make(&jobs(t, "?dryRun=All"), job(json!({}))).await?;
                let spec = &made["spec"]["jobTemplate"]["spec"];
                has(
                    spec,
                    json!({
                        "backoffLimit": null, "completions": null, "selector": null,
                        "template": { "spec": { "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30 } },
                    }),
                )
            },
        ),
        case(
            "schedules_have_five_fields",
            "Schedules in the form of cron are accepted, with names, steps, lists and descriptors.",
            async |t| {
                for schedule in [
                    "* * * * *",
                    "*/5 0-23/2 1,15 jan-MAR sun",
                    "0 0 ? * 6",
                    "@yearly",
                    "@annually",
                    "@monthly",
                    "@weekly",
                    "@daily",
                    "@midnight",
                    "@hourly",
                    "@every 1h30m",
                ] {
                    t.make(&jobs(t, "?dryRun=All"), job(json!({ "schedule": schedule }))).await?;
                }
                Ok(())
            },
        ),
        case(
            "wrong_schedules_are_refused",
            "A schedule that cron cannot read answers 422 with what is wrong.",
            async |t| {
                for (schedule, why) in [
                    ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
                    (" ", "expected exactly 5 fields, found 0: []"),
                    ("60 * * * *", "end of range (60) above maximum (59): 60"),
                    ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
                    ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
                    ("*/0 * * * *", "step of range should be a positive number: */0"),
                    ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
                    ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
                    ("1/2/3 * * * *", "too many slashes: 1/2/3"),
                    (
                        "x * * * *",
                        "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax",
                    ),
                    (
                        "* * * * mo",
                        "failed to parse int from mo: strconv.Atoi: parsing \"mo\": invalid syntax",
                    ),
                    ("@often", "unrecognized descriptor: @often"),
                ] {
                    let status = t
                        .post(&jobs(t, "?dryRun=All"), &job(json!({ "schedule": schedule })))
                        .await?
                        .invalid(&["FieldValueInvalid spec.schedule"])?;
                    same(
                        "message",
                        text(&status, "/details/causes/0/message"),
                        format!("Invalid value: {schedule:?}: {why}"),
                    )?;
                }
                t.post(&jobs(t, "?dryRun=All"), &job(json!({ "schedule": "" })))
                    .await?
                    .invalid(&["FieldValueRequired spec.schedule"])?;
                t.post(&jobs(t, "?dryRun=All"), &job(json!({ "schedule": "@every soon" })))
                    .await?
                    .invalid(&["FieldValueInvalid spec.schedule"])?;
                Ok(())
            },
        ),
        case(
            "a_schedule_has_no_time_zone",
            "A new schedule with TZ or CRON_TZ answers 422: the time zone is a member of its own.",
            async |t| {
                for schedule in ["TZ=UTC 0 * * * *", "CRON_TZ=Europe/Berlin 0 * * * *"] {
                    let status = t
                        .post(&jobs(t, "?dryRun=All"), &job(json!({ "schedule": schedule })))
                        .await?
                        .invalid(&["FieldValueInvalid spec.schedule"])?;
                    same(
                        "message",
                        text(&status, "/details/causes/0/message"),
                        format!(
                            "Invalid value: {schedule:?}: cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
                        ),
                    )?;
                }
                t.post(&jobs(t, "?dryRun=All"), &job(json!({ "schedule": "TZ=Moon 0 * * * *" })))
                    .await?
                    .says(422, "Invalid", "provided bad location Moon: unknown time zone Moon")?;
                t.post(&jobs(t, "?dryRun=All"), &job(json!({ "schedule": "TZ=UTC" })))
                    .await?
                    .says(
                        422,
                        "Invalid",
                        "invalid schedule format: runtime error: slice bounds out of range [:-1]",
                    )?;
                Ok(())
            },
        ),
        case(
            "time_zones_are_those_of_iana",
            "The time zone of a CronJob is a name of the IANA database.",
            async |t| {
                for zone in
                    ["UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "EST5EDT"]
                {
                    t.make(&jobs(t, "?dryRun=All"), job(json!({ "timeZone": zone }))).await?;
                }
                for (zone, why) in [
                    ("", "timeZone must be nil or non-empty string"),
                    ("Moon", "unknown time zone Moon"),
                    ("europe/berlin", "unknown time zone europe/berlin"),
                    ("../UTC", "unknown time zone ../UTC"),
                    ("Europe/a..b", "time: invalid location name"),
                    (
                        "Local",
                        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
                    ),
                ] {
                    let status = t
                        .post(&jobs(t, "?dryRun=All"), &job(json!({ "timeZone": zone })))
                        .await?
                        .invalid(&["FieldValueInvalid spec.timeZone"])?;
                    same(
                        "message",
                        text(&status, "/details/causes/0/message"),
                        format!("Invalid value: {zone:?}: {why}"),
                    )?;
                }
                // Also where there was none.
                t.make(&jobs(t, ""), job(json!({}))).await?;
                t.merge(&jobs(t, "/a"), json!({ "spec": { "timeZone": "" } }))
                    .await?
                    .invalid(&["FieldValueInvalid spec.timeZone"])
                    .map(drop)
            },
        ),
        case(
            "the_name_of_a_cron_job_leaves_room_for_a_time",
            "The name of a CronJob has at most 52 characters.",
            async |t| {
                let mut object = job(json!({}));
                object["metadata"]["name"] = "a".repeat(52).into();
                t.make(&jobs(t, "?dryRun=All"), object.clone()).await?;
                object["metadata"]["name"] = "a".repeat(53).into();
                t.post(&jobs(t, "?dryRun=All"), &object).await?.says(
                    422,
                    "Invalid",
                    "must be no more than 52 characters",
                )?;
                Ok(())
            },
        ),
        case(
            "the_status_of_a_cron_job_is_not_validated",
            "An update of a CronJob's status takes any finalizer; one of the CronJob does not.",
            async |t| {
                t.make(&jobs(t, ""), job(json!({}))).await?;
                let odd = json!({ "metadata": { "finalizers": ["bad"] } });
                t.merge(&jobs(t, "/a?dryRun=All"), odd.clone())
                    .await?
                    .invalid(&["FieldValueInvalid metadata.finalizers[0]"])?;
                t.merge(&jobs(t, "/a/status?dryRun=All"), odd).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "numbers_and_policies_of_a_cron_job_are_checked",
            "Limits of a CronJob below zero and an unknown concurrencyPolicy answer 422.",
            async |t| {
                for (members, cause) in [
                    (
                        json!({ "startingDeadlineSeconds": -1 }),
                        "FieldValueInvalid spec.startingDeadlineSeconds",
                    ),
                    (
                        json!({ "successfulJobsHistoryLimit": -1 }),
                        "FieldValueInvalid spec.successfulJobsHistoryLimit",
                    ),
                    (
                        json!({ "failedJobsHistoryLimit": -1 }),
                        "FieldValueInvalid spec.failedJobsHistoryLimit",
                    ),
                    (
                        json!({ "concurrencyPolicy": "Odd" }),
                        "FieldValueNotSupported spec.concurrencyPolicy",
                    ),
                ] {
                    t.post(&jobs(t, "?dryRun=All"), &job(members)).await?.invalid(&[cause])?;
                }
                Ok(())
            },
        ),
        case(
            "the_jobs_of_a_cron_job_are_checked",
            "The template of a CronJob's Jobs has no selector, and Pods that end.",
            async |t| {
                let path = "spec.jobTemplate.spec";
                for (members, cause) in [
                    (
                        json!({ "selector": { "matchLabels": { "a": "b" } } }),
                        format!("FieldValueInvalid {path}.selector"),
                    ),
                    (
                        json!({ "manualSelector": true }),
                        format!("FieldValueNotSupported {path}.manualSelector"),
                    ),
                    (json!({ "parallelism": -1 }), format!("FieldValueInvalid {path}.parallelism")),
                    (
                        json!({ "completionMode": "Indexed" }),
                        format!("FieldValueRequired {path}.completions"),
                    ),
                    (
                        json!({ "template": pod_template() }),
                        format!("FieldValueRequired {path}.template.spec.restartPolicy"),
                    ),
                ] {
                    t.post(&jobs(t, "?dryRun=All"), &of_job(members)).await?.invalid(&[&cause])?;
                }
                t.make(&jobs(t, "?dryRun=All"), of_job(json!({ "manualSelector": false }))).await?;
                Ok(())
            },
        ),
        case(
            "a_cron_job_can_be_changed",
            "Each change of the spec of a CronJob counts a generation, the template of its Jobs included.",
            async |t| {
                t.make(&jobs(t, ""), job(json!({ "suspend": true }))).await?;
                let containers = json!([{ "name": "c", "image": "j" }]);
                let template =
                    json!({ "spec": { "template": { "spec": { "containers": containers } } } });
                for (generation, spec) in [
                    (2, json!({ "schedule": "@daily" })),
                    (3, json!({ "jobTemplate": template })),
                    (4, json!({ "timeZone": "UTC" })),
                    (4, json!({ "timeZone": "UTC" })),
                ] {
                    let patched =
                        t.merge(&jobs(t, "/a"), json!({ "spec": spec })).await?.is(200)?;
                    has(&patched, json!({ "metadata": { "generation": generation } }))?;
                }
                Ok(())
            },
        ),
        case(
            "the_status_of_a_cron_job_is_not_checked",
            "The status of a CronJob says which Jobs are active and when the last one was scheduled; anything is accepted.",
            async |t| {
                t.make(&jobs(t, ""), job(json!({ "suspend": true }))).await?;
                let active = json!([{ "kind": "Job", "name": "a-1", "apiVersion": "batch/v1" }]);
                let status =
                    json!({ "active": active, "lastScheduleTime": "2026-01-02T03:04:05Z" });
                let patch = json!({ "status": status, "spec": { "schedule": "odd" } });
                let patched = t.merge(&jobs(t, "/a/status"), patch).await?.is(200)?;
                has(&patched, json!({ "status": status, "spec": { "schedule": "0 * * * *" } }))?;
                let table = t.get_as(&jobs(t, "/a"), TABLE).await?.is(200)?;
                has(
                    &table["rows"][0]["cells"],
                    json!(["a", "0 * * * *", "<none>", "True", 1, "*", "*", "c", "i", "<none>"]),
                )?;
                has(
                    &table["columnDefinitions"][3],
                    json!({ "name": "Suspend", "type": "boolean" }),
                )?;
                has(&table["columnDefinitions"][4], json!({ "name": "Active", "type": "integer" }))
            },
        ),
        case(
            "the_jobs_of_a_cron_job_go_with_it",
            "The delete of a CronJob without a policy removes it at once, for the collector to delete its Jobs.",
            async |t| {
                t.make(&jobs(t, ""), job(json!({ "suspend": true }))).await?;
                let answer = t.delete(&jobs(t, "/a")).await?;
                has(&answer.is(200)?, json!({ "kind": "Status" }))?;
                same("warnings", answer.warnings().len(), 0)?;
                t.get(&jobs(t, "/a")).await?.is(404)?;
                Ok(())
            },
        ),
    ]
}
