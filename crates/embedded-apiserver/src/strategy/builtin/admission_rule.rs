//! `RuleWithOperations`: the requests that a webhook or an admission policy is about.

use k8s_value::{FieldError, FieldErrors};
use serde_json::Value;

use crate::strategy::builtin::members::{items, part, texts};
use crate::strategy::builtin::values::one_of_texts;

const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: &[&str] = &["*", "Cluster", "Namespaced"];

#[doc(alias = "validateRuleWithOperations")]
pub(super) fn validate(rule: &Value, path: &str, causes: &mut FieldErrors) {
    not_empty(rule, path, "operations", causes);
    alone(rule, path, "operations", "operations", causes);
    for (path, operation) in items(rule.get("operations"), &format!("{path}.operations")) {
        one_of_texts(operation, &path, OPERATIONS, causes);
    }
    not_empty(rule, path, "apiGroups", causes);
    alone(rule, path, "apiGroups", "API groups", causes);
    not_empty(rule, path, "apiVersions", causes);
    alone(rule, path, "apiVersions", "API versions", causes);
    for (path, _) in empty(rule, path, "apiVersions") {
        causes.push(FieldError::required(path, ""));
    }
    validate_resources(rule, path, causes);
    if let Some(scope) = part(rule, "scope") {
        one_of_texts(scope, &format!("{path}.scope"), SCOPES, causes);
    }
}

fn not_empty(rule: &Value, path: &str, member: &str, causes: &mut FieldErrors) {
    if texts(rule.get(member)).is_empty() {
        causes.push(FieldError::required(format!("{path}.{member}"), ""));
    }
}

/// `*` stands alone in its list.
fn alone(rule: &Value, path: &str, member: &str, what: &str, causes: &mut FieldErrors) {
    let all = texts(rule.get(member));
    if all.len() > 1 && all.contains(&"*") {
        let why = format!("if '*' is present, must not specify other {what}");
        causes.push(FieldError::invalid_json(format!("{path}.{member}"), &all.into(), &why));
    }
}

fn empty<'a>(
    rule: &'a Value,
    path: &str,
    member: &str,
) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    items(rule.get(member), &format!("{path}.{member}")).filter(|(_, value)| *value == "")
}

#[doc(alias = "validateResources")]
fn validate_resources(rule: &Value, path: &str, causes: &mut FieldErrors) {
    not_empty(rule, path, "resources", causes);
    let path = format!("{path}.resources");
    let all = texts(rule.get("resources"));
    let (mut with_all_subresources, mut with_all_resources) = (Vec::new(), Vec::new());
    // As upstream, only the last name without a subresource counts.
    let mut ends_with_resource = false;
    for (at, name) in all.iter().enumerate() {
        let field = format!("{path}[{at}]");
        if name.is_empty() {
            causes.push(FieldError::required(field, ""));
            continue;
        }
        let Some((resource, subresource)) = name.split_once('/') else {
            ends_with_resource = *name != "*";
            continue;
        };
        if with_all_subresources.contains(&resource) {
            let why = format!("if '{resource}/*' is present, must not specify {name}");
            causes.push(FieldError::invalid(field.clone(), name, &why));
        }
        if with_all_resources.contains(&subresource) {
            let why = format!("if '*/{subresource}' is present, must not specify {name}");
            causes.push(FieldError::invalid(field, name, &why));
        }
        if subresource == "*" {
            with_all_subresources.push(resource);
        }
        if resource == "*" {
            with_all_resources.push(subresource);
        }
    }
    let mut refuse = |why| {
        causes.push(FieldError::invalid_json(path.clone(), &all.clone().into(), why));
    };
    if all.len() > 1 && all.contains(&"*/*") {
        refuse("if '*/*' is present, must not specify other resources");
    }
    if all.contains(&"*") && ends_with_resource {
        refuse("if '*' is present, must not specify other resources without subresources");
    }
}
