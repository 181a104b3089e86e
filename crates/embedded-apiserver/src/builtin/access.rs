//! Roles and their bindings: what they leave out, what they refuse, and what of them may change.
//! Who may do what by them is no matter of this file. Pure.

use serde_json::{Value, json};

use crate::builtin::rules::at;
use crate::builtin::values::{items, said};
use crate::builtin::{Builtin, selectors};
use crate::metadata::Object;
use crate::status::{FieldError, FieldErrors};
use k8s_value::names;

const GROUP: &str = "rbac.authorization.k8s.io";

/// `SetDefaults_RoleBinding`, `SetDefaults_Subject`.
pub(super) fn default_binding(object: &mut Object) {
    if let Some(Value::Object(role)) = object.get_mut("roleRef")
        && role.get("apiGroup").is_none_or(|group| *group == "")
    {
        role.insert("apiGroup".to_owned(), GROUP.into());
    }
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten();
    for subject in subjects.filter_map(Value::as_object_mut) {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            subject.entry("apiGroup").or_insert_with(|| GROUP.into());
        }
    }
}

/// `ValidateRole` and `ValidateClusterRole`.
pub(super) fn check_role(builtin: Builtin, object: &Object, causes: &mut FieldErrors) {
    for (path, rule) in items(object.get("rules"), "rules") {
        let has = |member: &str| {
            rule.get(member).and_then(Value::as_array).is_some_and(|items| !items.is_empty())
        };
        if !has("verbs") {
            causes.push(FieldError::required(
                format!("{path}.verbs"),
                "verbs must contain at least one value",
            ));
        }
        if has("nonResourceURLs") {
            let (field, urls) = (format!("{path}.nonResourceURLs"), &rule["nonResourceURLs"]);
            if builtin == Builtin::Role {
                let why = "namespaced rules cannot apply to non-resource URLs";
                causes.push(FieldError::invalid_json(field.as_str(), urls, why));
            }
            if has("apiGroups") || has("resources") || has("resourceNames") {
                let why = "rules cannot apply to both regular resources and non-resource URLs";
                causes.push(FieldError::invalid_json(field, urls, why));
            }
            continue;
        }
        for (member, one) in [("apiGroups", "api group"), ("resources", "resource")] {
            if !has(member) {
                let why = format!("resource rules must supply at least one {one}");
                causes.push(FieldError::required(format!("{path}.{member}"), &why));
            }
        }
    }
    if let Some(aggregation) = object.get("aggregationRule") {
        let field = "aggregationRule.clusterRoleSelectors";
        let all = aggregation.get("clusterRoleSelectors");
        if all.and_then(Value::as_array).is_none_or(Vec::is_empty) {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            causes.push(FieldError::required(field, why));
        }
        for (path, selector) in items(all, field) {
            selectors::check(selector, &path, causes);
        }
    }
}

/// `ValidateRoleBinding` and `ValidateClusterRoleBinding`.
pub(super) fn check_binding(builtin: Builtin, object: &Object, causes: &mut FieldErrors) {
    let role = at(object, "roleRef").unwrap_or(&Value::Null);
    if said(role, "apiGroup") != GROUP {
        causes.push(FieldError::unsupported("roleRef.apiGroup", said(role, "apiGroup"), &[GROUP]));
    }
    let namespaced = builtin == Builtin::RoleBinding;
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&said(role, "kind")) {
        causes.push(FieldError::unsupported("roleRef.kind", said(role, "kind"), kinds));
    }
    match said(role, "name") {
        "" => causes.push(FieldError::required("roleRef.name", "")),
        name => check_name(name, "roleRef.name", causes),
    }
    for (path, subject) in items(object.get("subjects"), "subjects") {
        let (kind, name, group) =
            (said(subject, "kind"), said(subject, "name"), said(subject, "apiGroup"));
        if name.is_empty() {
            causes.push(FieldError::required(format!("{path}.name"), ""));
        }
        match kind {
            "ServiceAccount" => {
                if !name.is_empty()
                    && let Some(why) = names::wrong_subdomain(name)
                {
                    causes.push(FieldError::invalid(format!("{path}.name"), name, why));
                }
                if !group.is_empty() {
                    causes.push(FieldError::unsupported(format!("{path}.apiGroup"), group, &[""]));
                }
                if !namespaced && said(subject, "namespace").is_empty() {
                    causes.push(FieldError::required(format!("{path}.namespace"), ""));
                }
            }
            "User" | "Group" if group != GROUP => {
                causes.push(FieldError::unsupported(format!("{path}.apiGroup"), group, &[GROUP]));
            }
            "User" | "Group" => {}
            other => {
                let kinds = ["ServiceAccount", "User", "Group"];
                causes.push(FieldError::unsupported(format!("{path}.kind"), other, &kinds));
            }
        }
    }
}

/// Names of roles are parts of paths, and nothing more.
fn check_name(name: &str, field: &str, causes: &mut FieldErrors) {
    if let Some(why) = wrong_name(name) {
        causes.push(FieldError::invalid(field, name, why));
    }
}

/// `IsValidPathSegmentName`.
pub(super) fn wrong_name(name: &str) -> Option<&'static str> {
    match name {
        "." => Some("may not be '.'"),
        ".." => Some("may not be '..'"),
        _ if name.contains('/') => Some("may not contain '/'"),
        _ if name.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}

/// A binding binds one role for ever.
pub(super) fn check_binding_update(object: &Object, old: &Object, causes: &mut FieldErrors) {
    if object.get("roleRef") != old.get("roleRef") {
        let role = at(object, "roleRef").cloned().unwrap_or_else(|| json!({}));
        // In the order and the words of Go's own type.
        let shown = format!(
            "{{\"APIGroup\":{:?},\"Kind\":{:?},\"Name\":{:?}}}",
            said(&role, "apiGroup"),
            said(&role, "kind"),
            said(&role, "name")
        );
        causes.push(FieldError::invalid_shown("roleRef", &shown, "cannot change roleRef"));
    }
}
