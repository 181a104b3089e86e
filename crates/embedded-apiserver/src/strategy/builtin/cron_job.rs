//! CronJobs.

mod schedule;
mod time_zone;

use jiff::Timestamp;
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::{self, Object};
use crate::strategy::age;
use crate::strategy::builtin::cells::{NONE, UNSET, list};
use crate::strategy::builtin::job::spec as job_spec;
use crate::strategy::builtin::members::{at, fill, text};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::not_negative;
use crate::strategy::builtin::{label_selector, pod_spec, workload};
use crate::strategy::columns::Cell::{Made, Member, Timed};
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Creation, Generation, Strategy, Write};

pub(super) static CRON_JOB: Row = Row {
    group: "batch",
    kind: "CronJob",
    plural: "cronjobs",
    status: true,
    short_names: &["cj"],
    categories: &["all"],
    strategy: &CronJob,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Schedule", Member("/spec/schedule", "")),
    column("Timezone", Member("/spec/timeZone", NONE)),
    column("Suspend", Made(suspend)).of("boolean"),
    column("Active", Made(|job| list(job, "/status/active").len().into())).of("integer"),
    column("Last Schedule", Timed(last_schedule)),
    AGE,
    wide("Containers", Made(|job| workload::containers_of(template(job)))),
    wide("Images", Made(|job| workload::images_of(template(job)))),
    wide(
        "Selector",
        Made(|job| workload::selector_cell(&job["spec"]["jobTemplate"]["spec"]["selector"])),
    ),
];

/// The most characters of a name: Jobs have it with a time of 11 characters.
const LONGEST_NAME: usize = 52;
const TEMPLATE: &str = "spec.jobTemplate.spec.template";

#[derive(Debug)]
struct CronJob;

impl Strategy for CronJob {
    /// An update of the status is not validated upstream.
    fn validates_finalizer_names(&self, write: Write<'_>) -> bool {
        write.subresource != Some("status")
    }

    #[doc(alias = "SetDefaults_CronJob")]
    fn default(&self, object: &mut Object) {
        let defaults = [
            ("concurrencyPolicy", json!("Allow")),
            ("suspend", json!(false)),
            ("successfulJobsHistoryLimit", json!(3)),
            ("failedJobsHistoryLimit", json!(1)),
        ];
        fill(object, "spec", &defaults);
        let job = object.get_mut("spec").and_then(|spec| spec.get_mut("jobTemplate"));
        if let Some(Value::Object(spec)) = job.and_then(|job| job.get_mut("spec")) {
            pod_spec::default_template_of(spec);
        }
    }

    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        object.insert("status".to_owned(), json!({}));
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_some() {
            return;
        }
        validate_spec(object, write.old, causes);
        let name = metadata::text(object, "name");
        if write.old.is_none() && name.len() > LONGEST_NAME {
            let why = format!("must be no more than {LONGEST_NAME} characters");
            causes.push(FieldError::invalid("metadata.name", name, &why));
        }
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        workload::warn_of_name(object, old, &mut warnings);
        workload::warn_of_template(object, old, TEMPLATE, &mut warnings);
        if old.is_some() && text(object, "spec.schedule").contains("TZ") {
            warnings.push(
                "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more \
                 details"
                    .to_owned(),
            );
        }
        warnings
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "validateCronJobSpec")]
fn validate_spec(object: &Object, old: Option<&Object>, causes: &mut FieldErrors) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    validate_schedule(object, old, causes);
    let counts =
        ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
    not_negative(spec, "spec", &counts, causes);
    let path = "spec.timeZone";
    let zone_of = |object| at(object, path).and_then(Value::as_str);
    if let Some(zone) = zone_of(object).filter(|zone| old.and_then(zone_of) != Some(*zone)) {
        time_zone::validate(zone, path, causes);
    }
    let path = "spec.concurrencyPolicy";
    match text(object, path) {
        "" => causes.push(FieldError::required(path, "")),
        "Allow" | "Forbid" | "Replace" => {}
        other => {
            causes.push(FieldError::unsupported(path, other, &["Allow", "Forbid", "Replace"]));
        }
    }
    let path = "spec.jobTemplate.spec";
    let job = at(object, path).unwrap_or(&Value::Null);
    job_spec::validate(job, path, causes);
    if let Some(selector) = job.get("selector") {
        let shown = label_selector::shown(selector);
        let why = "`selector` will be auto-generated";
        causes.push(FieldError::invalid_shown(format!("{path}.selector"), &shown, why));
    }
    if job.get("manualSelector") == Some(&Value::Bool(true)) {
        let field = format!("{path}.manualSelector");
        causes.push(FieldError::unsupported_shown(field, "true", &["nil", "false"]));
    }
}

fn validate_schedule(object: &Object, old: Option<&Object>, causes: &mut FieldErrors) {
    let path = "spec.schedule";
    let schedule = text(object, path);
    if schedule.is_empty() {
        return causes.push(FieldError::required(path, ""));
    }
    if let Err(why) = schedule::check(schedule) {
        causes.push(FieldError::invalid(path, schedule, &why));
    }
    if !schedule.contains("TZ") {
        return;
    }
    // What an older server has let in stays.
    let why = if !old.is_some_and(|old| text(old, path).contains("TZ")) {
        "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    } else if at(object, "spec.timeZone").is_some() {
        "cannot use both timeZone field and TZ or CRON_TZ in schedule"
    } else {
        return;
    };
    causes.push(FieldError::invalid(path, schedule, why));
}

fn template(job: &Value) -> &Value {
    &job["spec"]["jobTemplate"]["spec"]["template"]
}

#[doc(alias = "printBoolPtr")]
fn suspend(job: &Value) -> Value {
    match job["spec"]["suspend"].as_bool() {
        Some(true) => "True".into(),
        Some(false) => "False".into(),
        None => UNSET.into(),
    }
}

fn last_schedule(job: &Value, now: Timestamp) -> Value {
    let time = || job.pointer("/status/lastScheduleTime")?.as_str()?.parse::<Timestamp>().ok();
    match time() {
        Some(time) => age::human(now.as_second().saturating_sub(time.as_second())).into(),
        None => NONE.into(),
    }
}
