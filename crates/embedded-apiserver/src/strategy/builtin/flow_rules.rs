//! The rules of a FlowSchema: whose requests it is about, and which.

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::strategy::builtin::members::{items, part, said, texts};
use crate::strategy::builtin::values::{label, subdomain};

const KINDS: [(&str, &str); 3] =
    [("Group", "group"), ("ServiceAccount", "serviceAccount"), ("User", "user")];
const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

#[doc(alias = "ValidateFlowSchemaPolicyRulesWithSubjects")]
pub(super) fn validate(rule: &Value, path: &str, causes: &mut FieldErrors) {
    let subjects = format!("{path}.subjects");
    if items(rule.get("subjects"), "").next().is_none() {
        let why = "subjects must contain at least one value";
        causes.push(FieldError::required(subjects.clone(), why));
    }
    for (path, subject) in items(rule.get("subjects"), &subjects) {
        validate_subject(subject, &path, causes);
    }
    let rules = ["resourceRules", "nonResourceRules"];
    if rules.iter().all(|member| items(rule.get(*member), "").next().is_none()) {
        let why = "at least one of resourceRules and nonResourceRules has to be non-empty";
        causes.push(FieldError::required(path, why));
    }
    for (path, rule) in items(rule.get("resourceRules"), &format!("{path}.resourceRules")) {
        validate_resources(rule, &path, causes);
    }
    for (path, rule) in items(rule.get("nonResourceRules"), &format!("{path}.nonResourceRules")) {
        validate_verbs(rule, &path, causes);
        validate_urls(rule, &path, causes);
    }
}

#[doc(alias = "ValidateFlowSchemaSubject")]
fn validate_subject(subject: &Value, path: &str, causes: &mut FieldErrors) {
    let kind = said(subject, "kind");
    let Some((_, own)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        let known = KINDS.map(|(known, _)| known);
        causes.push(FieldError::unsupported(format!("{path}.kind"), kind, &known));
        return;
    };
    let field = format!("{path}.{own}");
    match part(subject, own) {
        None => {
            let why = format!("{own} is required when subject kind is '{kind}'");
            causes.push(FieldError::required(field, &why));
        }
        Some(of) => {
            let (name, path) = (said(of, "name"), format!("{field}.name"));
            if name.is_empty() {
                causes.push(FieldError::required(path, ""));
            } else if kind == "ServiceAccount" && name != "*" {
                subdomain(name, &path, causes);
            }
            if kind == "ServiceAccount" {
                validate_namespace(said(of, "namespace"), &format!("{field}.namespace"), causes);
            }
        }
    }
    for (of, member) in KINDS.iter().filter(|(of, _)| *of != kind) {
        if part(subject, member).is_some() {
            let why = format!("{member} is forbidden when subject kind is not '{of}'");
            causes.push(FieldError::forbidden(format!("{path}.{member}"), &why));
        }
    }
}

fn validate_namespace(namespace: &str, path: &str, causes: &mut FieldErrors) {
    if namespace.is_empty() {
        let why = "must specify namespace for service account";
        causes.push(FieldError::required(path, why));
    } else {
        label(namespace, path, causes);
    }
}

fn validate_verbs(rule: &Value, path: &str, causes: &mut FieldErrors) {
    let path = format!("{path}.verbs");
    let verbs = texts(rule.get("verbs"));
    if verbs.is_empty() {
        causes.push(FieldError::required(path, "verbs must contain at least one value"));
    } else if verbs.contains(&"*") {
        if verbs.len() > 1 {
            let why = "if '*' is present, must not specify other verbs";
            causes.push(FieldError::invalid_json(path, &json!(verbs), why));
        }
    } else if verbs.iter().any(|verb| !VERBS.contains(verb)) {
        let shown = json!(verbs).to_string();
        causes.push(FieldError::unsupported_shown(path, &shown, VERBS));
    }
}

#[doc(alias = "ValidateFlowSchemaResourcePolicyRule")]
fn validate_resources(rule: &Value, path: &str, causes: &mut FieldErrors) {
    validate_verbs(rule, path, causes);
    for (member, one, others) in
        [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")]
    {
        let (all, path) = (texts(rule.get(member)), format!("{path}.{member}"));
        if all.is_empty() {
            let why = format!("resource rules must supply at least one {one}");
            causes.push(FieldError::required(path, &why));
        } else if all.len() > 1 && all.contains(&"*") {
            let why = format!("if '*' is present, must not specify other {others}");
            causes.push(FieldError::invalid_json(path, &json!(all), &why));
        }
    }
    let (all, path) = (texts(rule.get("namespaces")), format!("{path}.namespaces"));
    if all.is_empty() && part(rule, "clusterScope") != Some(&Value::Bool(true)) {
        let why = "resource rules that are not cluster scoped must supply at least one namespace";
        causes.push(FieldError::required(path, why));
    } else if all.contains(&"*") {
        if all.len() > 1 {
            let why = "if '*' is present, must not specify other namespaces";
            causes.push(FieldError::invalid_json(path, &json!(all), why));
        }
    } else {
        for (at, namespace) in all.iter().enumerate() {
            if let Some(why) = names::wrong_label(namespace) {
                let why =
                    format!("each member of this list must be '*' or a DNS-1123 label; {why}");
                causes.push(FieldError::invalid(format!("{path}[{at}]"), namespace, &why));
            }
        }
    }
}

fn validate_urls(rule: &Value, path: &str, causes: &mut FieldErrors) {
    let path = format!("{path}.nonResourceURLs");
    let all = texts(rule.get("nonResourceURLs"));
    if all.is_empty() {
        let why = "nonResourceURLs must contain at least one value";
        causes.push(FieldError::required(path, why));
    } else if all.contains(&"*") {
        if all.len() > 1 {
            let why = "if '*' is present, must not specify other non-resource URLs";
            causes.push(FieldError::invalid_json(path, &json!(all), why));
        }
    } else {
        for (at, url) in all.iter().enumerate() {
            if let Some(why) = wrong_url(url) {
                causes.push(FieldError::invalid(format!("{path}[{at}]"), url, why));
            }
        }
    }
}

#[doc(alias = "ValidateNonResourceURLPath")]
fn wrong_url(url: &str) -> Option<&'static str> {
    let stars = url.matches('*').count();
    match url {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !url.starts_with('/') => Some("must start with slash"),
        _ if url.contains(' ') => Some("must not contain white-space"),
        _ if url.contains("//") => Some("must not contain double slash"),
        _ if stars > 1 || (stars == 1 && !url.ends_with("/*")) => {
            Some("wildcard can only do suffix matching")
        }
        _ => None,
    }
}
