//! RoleBindings and ClusterRoleBindings as objects.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::builtin::cells::list;
use crate::strategy::builtin::members::{at, items, said};
use crate::strategy::builtin::role::GROUP;
use crate::strategy::builtin::row::{CLUSTER, NAMESPACED, Row};
use crate::strategy::builtin::values::{wrong_path_name, wrongs_of_path_name};
use crate::strategy::columns::Cell::Made;
use crate::strategy::columns::{AGE, Column, NAME, column, wide};
use crate::strategy::{Strategy, Write};

pub(super) static ROLE_BINDING: Row = Row {
    group: GROUP,
    kind: "RoleBinding",
    plural: "rolebindings",
    strategy: &RoleBinding { is_namespaced: true },
    ..NAMESPACED
};

pub(super) static CLUSTER_ROLE_BINDING: Row = Row {
    group: GROUP,
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    strategy: &RoleBinding { is_namespaced: false },
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Role", Made(role)),
    AGE,
    wide("Users", Made(users)),
    wide("Groups", Made(groups)),
    wide("ServiceAccounts", Made(accounts)),
];

#[derive(Debug)]
struct RoleBinding {
    is_namespaced: bool,
}

impl Strategy for RoleBinding {
    fn default(&self, object: &mut Object) {
        if let Some(Value::Object(role)) = object.get_mut("roleRef")
            && role.get("apiGroup").is_none_or(|group| *group == "")
        {
            role.insert("apiGroup".to_owned(), GROUP.into());
        }
        let subjects =
            object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten();
        for subject in subjects.filter_map(Value::as_object_mut) {
            if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
                subject.entry("apiGroup").or_insert_with(|| GROUP.into());
            }
        }
    }

    fn validate_name(&self, name: &str) -> Option<&'static str> {
        wrong_path_name(name)
    }

    fn validate_generate_name(&self, prefix: &str) -> Vec<&'static str> {
        wrongs_of_path_name(prefix)
    }

    fn validate(&self, object: &Object, _: Write<'_>, causes: &mut FieldErrors) {
        validate_role(object, self.is_namespaced, causes);
        for (path, subject) in items(object.get("subjects"), "subjects") {
            validate_subject(subject, self.is_namespaced, &path, causes);
        }
    }

    /// The role of a binding is immutable.
    fn validate_update(&self, object: &Object, old: &Object, causes: &mut FieldErrors) {
        if object.get("roleRef") != old.get("roleRef") {
            let role = at(object, "roleRef").cloned().unwrap_or_else(|| json!({}));
            // In the order and format of Go's type.
            let shown = format!(
                "{{\"APIGroup\":{:?},\"Kind\":{:?},\"Name\":{:?}}}",
                said(&role, "apiGroup"),
                said(&role, "kind"),
                said(&role, "name")
            );
            causes.push(FieldError::invalid_shown("roleRef", &shown, "cannot change roleRef"));
        }
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

#[doc(alias = "ValidateRoleBinding")]
fn validate_role(object: &Object, is_namespaced: bool, causes: &mut FieldErrors) {
    let role = at(object, "roleRef").unwrap_or(&Value::Null);
    if said(role, "apiGroup") != GROUP {
        causes.push(FieldError::unsupported("roleRef.apiGroup", said(role, "apiGroup"), &[GROUP]));
    }
    let kinds: &[&str] = if is_namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&said(role, "kind")) {
        causes.push(FieldError::unsupported("roleRef.kind", said(role, "kind"), kinds));
    }
    match said(role, "name") {
        "" => causes.push(FieldError::required("roleRef.name", "")),
        name => {
            if let Some(why) = wrong_path_name(name) {
                causes.push(FieldError::invalid("roleRef.name", name, why));
            }
        }
    }
}

#[doc(alias = "ValidateRoleBindingSubject")]
fn validate_subject(subject: &Value, is_namespaced: bool, path: &str, causes: &mut FieldErrors) {
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
            if !is_namespaced && said(subject, "namespace").is_empty() {
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

fn role(binding: &Value) -> Value {
    let said = |member: &str| binding["roleRef"][member].as_str().unwrap_or_default();
    format!("{}/{}", said("kind"), said("name")).into()
}

fn subjects(binding: &Value, of: &str) -> Value {
    let all =
        list(binding, "/subjects").iter().filter(|subject| subject["kind"] == of).map(|subject| {
            let said = |member: &str| subject[member].as_str().unwrap_or_default();
            match of {
                "ServiceAccount" => format!("{}/{}", said("namespace"), said("name")),
                _ => said("name").to_owned(),
            }
        });
    all.collect::<Vec<_>>().join(", ").into()
}

fn users(binding: &Value) -> Value {
    subjects(binding, "User")
}

fn groups(binding: &Value) -> Value {
    subjects(binding, "Group")
}

fn accounts(binding: &Value) -> Value {
    subjects(binding, "ServiceAccount")
}
