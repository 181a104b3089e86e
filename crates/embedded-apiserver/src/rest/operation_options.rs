//! The options of a write, as admission sees them.

use serde_json::{Value, json};

use crate::api::query::Query;
use crate::rest::delete_options::DeleteOptions;

/// The group and version of all options.
const META: &str = "meta.k8s.io/v1";

/// `CreateOptions` or `UpdateOptions`, for a PUT and for a PATCH.
#[doc(alias("updateToCreateOptions", "patchToCreateOptions", "patchToUpdateOptions"))]
pub(super) fn of_write(query: &Query, creates: bool) -> Value {
    let kind = if creates { "CreateOptions" } else { "UpdateOptions" };
    let mut options = json!({ "kind": kind, "apiVersion": META });
    let dry_run: Vec<&str> = query.all("dryRun").collect();
    if !dry_run.is_empty() {
        options["dryRun"] = dry_run.into();
    }
    for member in ["fieldManager", "fieldValidation"] {
        if let Some(text) = query.get(member).filter(|text| !text.is_empty()) {
            options[member] = text.into();
        }
    }
    options
}

/// `DeleteOptions`.
pub(super) fn of_delete(options: &DeleteOptions) -> Value {
    let mut shown = json!({ "kind": "DeleteOptions", "apiVersion": META });
    let mut set = |member: &str, value: Option<Value>| {
        if let Some(value) = value {
            shown[member] = value;
        }
    };
    set("gracePeriodSeconds", options.grace_period_seconds.map(Value::from));
    set("orphanDependents", options.orphan_dependents.map(Value::from));
    set("propagationPolicy", options.propagation_policy.as_deref().map(Value::from));
    let dry_run: Vec<&str> = options.dry_run.iter().flatten().flatten().map(|it| &**it).collect();
    set("dryRun", (!dry_run.is_empty()).then(|| dry_run.into()));
    let preconditions = options.preconditions.as_ref().map(|wanted| {
        let mut shown = json!({});
        let pairs = [("uid", &wanted.uid), ("resourceVersion", &wanted.resource_version)];
        for (member, text) in pairs {
            if let Some(text) = text {
                shown[member] = text.as_str().into();
            }
        }
        shown
    });
    set("preconditions", preconditions);
    shown
}
