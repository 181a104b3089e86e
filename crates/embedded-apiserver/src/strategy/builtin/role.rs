//! Roles and ClusterRoles as objects.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::api::metadata::Object;
use crate::strategy::builtin::label_selector;
use crate::strategy::builtin::members::items;
use crate::strategy::builtin::row::{CLUSTER, NAMESPACED, Row};
use crate::strategy::builtin::values::{wrong_path_name, wrongs_of_path_name};
use crate::strategy::{Strategy, Write};

pub(super) const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) static ROLE: Row = Row {
    group: GROUP,
    kind: "Role",
    plural: "roles",
    strategy: &Role { is_namespaced: true },
    ..NAMESPACED
};

pub(super) static CLUSTER_ROLE: Row = Row {
    group: GROUP,
    kind: "ClusterRole",
    plural: "clusterroles",
    strategy: &Role { is_namespaced: false },
    ..CLUSTER
};

#[derive(Debug)]
struct Role {
    is_namespaced: bool,
}

impl Strategy for Role {
    fn validate_name(&self, name: &str) -> Option<&'static str> {
        wrong_path_name(name)
    }

    fn validate_generate_name(&self, prefix: &str) -> Vec<&'static str> {
        wrongs_of_path_name(prefix)
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_rules(object, self.is_namespaced, causes);
        validate_aggregation(object, causes);
    }

    fn creates_on_update(&self) -> bool {
        true
    }
}

#[doc(alias = "ValidatePolicyRule")]
fn validate_rules(object: &Object, is_namespaced: bool, causes: &mut FieldErrors) {
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
            if is_namespaced {
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
}

fn validate_aggregation(object: &Object, causes: &mut FieldErrors) {
    if let Some(aggregation) = object.get("aggregationRule") {
        let field = "aggregationRule.clusterRoleSelectors";
        let all = aggregation.get("clusterRoleSelectors");
        if all.and_then(Value::as_array).is_none_or(Vec::is_empty) {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            causes.push(FieldError::required(field, why));
        }
        for (path, selector) in items(all, field) {
            label_selector::validate(selector, &path, causes);
        }
    }
}
