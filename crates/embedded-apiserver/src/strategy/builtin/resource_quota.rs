//! ResourceQuotas.

use std::cmp::Ordering;

use k8s_value::go_json::go_json;
use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::members::{at, items, members, said};
use crate::strategy::builtin::resource_names::{
    compare, is_of_quotas, quantity, validate_amount, validate_of_quota,
};
use crate::strategy::builtin::row::{NAMESPACED, Row};
use crate::strategy::builtin::values::IMMUTABLE;
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Strategy, Write};

pub(super) static RESOURCE_QUOTA: Row = Row {
    kind: "ResourceQuota",
    plural: "resourcequotas",
    status: true,
    short_names: &["quota"],
    strategy: &ResourceQuota,
    ..NAMESPACED
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Request", Made(|quota| used(quota, false))),
    column("Limit", Made(|quota| used(quota, true))),
    AGE,
];

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
/// Scopes that exclude each other.
const PAIRS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

#[derive(Debug)]
struct ResourceQuota;

impl Strategy for ResourceQuota {
    fn prepare_create(&self, object: &mut Object, _creation: Creation) {
        object.insert("status".to_owned(), json!({}));
    }

    fn validates_generate_name_of_updates(&self) -> bool {
        false
    }

    #[doc(alias = "ValidateResourceQuotaSpec")]
    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        if write.subresource.is_none() {
            validate_amounts(object, "spec.hard", causes);
            validate_scopes(object, causes);
            validate_selector(object, causes);
        }
    }

    #[doc(alias = "ValidateResourceQuotaUpdate")]
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        let path = "spec.scopes";
        let (new, old) = (scopes(object), scopes(old));
        let is_in = |all: &[&str], some: &[&str]| some.iter().all(|scope| all.contains(scope));
        if !is_in(&new, &old) || !is_in(&old, &new) {
            let shown = at(object, path).unwrap_or(&Value::Null);
            causes.push(FieldError::invalid_json(path, shown, IMMUTABLE));
        }
    }

    #[doc(alias = "ValidateResourceQuotaStatusUpdate")]
    fn validate_status_update(&self, object: &Object, _old: &Object, causes: &mut FieldErrors) {
        validate_amounts(object, "status.hard", causes);
        validate_amounts(object, "status.used", causes);
    }

    fn has_warnings(&self) -> bool {
        true
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        if old.is_some() {
            return Vec::new();
        }
        let hard = members(at(object, "spec.hard"));
        let resources = ["cpu", "memory", "storage", "ephemeral-storage"];
        let warning = |resource: &str| {
            let (of_requests, of_limits) =
                (format!("requests.{resource}"), format!("limits.{resource}"));
            // Bare names are requests.
            let bare = matches!(resource, "cpu" | "memory") && !hard.contains_key(&of_requests);
            let of_requests = if bare { resource.to_owned() } else { of_requests };
            let (request, limit) = (hard.get(&of_requests)?, hard.get(&of_limits)?);
            let is_more = compare(quantity(request)?, quantity(limit)?) == Ordering::Greater;
            is_more.then(|| {
                format!(
                    "ResourceQuota {of_requests} ({}) should be less than {of_limits} ({})",
                    request.as_str().unwrap_or_default(),
                    limit.as_str().unwrap_or_default()
                )
            })
        };
        resources.into_iter().filter_map(warning).collect()
    }

    fn delete_answers_object(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

fn validate_amounts(object: &Object, path: &str, causes: &mut FieldErrors) {
    for (name, amount) in at(object, path).and_then(Value::as_object).into_iter().flatten() {
        let field = format!("{path}[{name}]");
        validate_of_quota(name, &field, causes);
        validate_amount(name, amount, &field, causes);
    }
}

fn scopes(object: &Object) -> Vec<&str> {
    let scopes = at(object, "spec.scopes").and_then(Value::as_array).into_iter().flatten();
    scopes.filter_map(Value::as_str).collect()
}

#[doc(alias = "validateResourceQuotaScopes")]
fn validate_scopes(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.scopes";
    let all = scopes(object);
    let shown = at(object, path).unwrap_or(&Value::Null);
    let mut refuse = |why: &str| causes.push(FieldError::invalid_json(path, shown, why));
    for scope in &all {
        if !SCOPES.contains(scope) {
            refuse("unsupported scope");
        }
        if !fits(object, scope) {
            refuse("unsupported scope applied to resource");
        }
    }
    if PAIRS.iter().any(|pair| pair.iter().all(|scope| all.contains(scope))) {
        refuse("conflicting scopes");
    }
}

/// Whether a scope applies to all resources of a quota.
#[doc(alias = "IsResourceQuotaScopeValidForResource")]
fn fits(object: &Object, scope: &str) -> bool {
    const COMPUTED: [&str; 6] =
        ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    let fits = |resource: &str| match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        scope if SCOPES.contains(&scope) => resource == "pods" || COMPUTED.contains(&resource),
        _ => true,
    };
    let hard = at(object, "spec.hard").and_then(Value::as_object).into_iter().flatten();
    hard.filter(|(name, _)| is_of_quotas(name)).all(|(name, _)| fits(name))
}

#[doc(alias = "validateScopedResourceSelectorRequirement")]
fn validate_selector(object: &Object, causes: &mut FieldErrors) {
    const EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
        ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
        ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    let path = "spec.scopeSelector.matchExpressions";
    let mut all = Vec::new();
    for (_, requirement) in items(at(object, path), path) {
        let (scope, operator) = (said(requirement, "scopeName"), said(requirement, "operator"));
        all.push(scope);
        if !SCOPES.contains(&scope) {
            let field = format!("{path}.scopeName");
            causes.push(FieldError::invalid(field, scope, "unsupported scope"));
        }
        if !fits(object, scope) {
            let shown = shown(at(object, path));
            let why = "unsupported scope applied to resource";
            causes.push(FieldError::invalid_shown(path, &shown, why));
        }
        let operator_path = format!("{path}.operator");
        let is_plain = SCOPES.contains(&scope) && !scope.ends_with("Class");
        if is_plain && operator != "Exists" {
            causes.push(FieldError::invalid(operator_path.as_str(), operator, EXISTS));
        }
        let values = requirement.get("values").unwrap_or(&Value::Null);
        let has_values = values.as_array().is_some_and(|values| !values.is_empty());
        let field = format!("{path}.values");
        match operator {
            "In" | "NotIn" if !has_values => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for \
                           scope selector";
                causes.push(FieldError::required(field, why));
            }
            "Exists" | "DoesNotExist" if has_values => {
                let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for \
                           scope selector";
                causes.push(FieldError::invalid_json(field, values, why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let why = "not a valid selector operator";
                causes.push(FieldError::invalid(operator_path, other, why));
            }
        }
    }
    if PAIRS.iter().any(|pair| pair.iter().all(|scope| all.contains(scope))) {
        let shown = at(object, "spec.scopes").unwrap_or(&Value::Null);
        causes.push(FieldError::invalid_json(path, shown, "conflicting scopes"));
    }
}

/// A scope selector in the order and format of Go's type.
fn shown(requirements: Option<&Value>) -> String {
    let all = items(requirements, "").map(|(_, requirement)| {
        format!(
            "{{\"ScopeName\":{},\"Operator\":{},\"Values\":{}}}",
            go_json(said(requirement, "scopeName")),
            go_json(said(requirement, "operator")),
            go_json(&requirement.get("values")),
        )
    });
    format!("{{\"MatchExpressions\":[{}]}}", all.collect::<Vec<_>>().join(","))
}

/// How much of how much is used, of limits or of all else.
fn used(quota: &Value, of_limits: bool) -> Value {
    let mut hard: Vec<(String, Value)> =
        members(quota.pointer("/status/hard")).into_iter().collect();
    hard.sort_by(|a, b| a.0.cmp(&b.0));
    let used = quota.pointer("/status/used");
    let parts = hard.iter().filter(|(name, _)| name.starts_with("limits.") == of_limits);
    let parts = parts.map(|(name, hard)| {
        let used = used.and_then(|used| used.get(name)).and_then(Value::as_str).unwrap_or("0");
        format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
    });
    parts.collect::<Vec<_>>().join(", ").into()
}
