//! `MatchResources`: what an admission policy or its binding matches.

use k8s_value::{FieldError, FieldErrors};
use serde_json::{Value, json};

use crate::strategy::builtin::members::{items, objects, part, set_missing, texts};
use crate::strategy::builtin::values::{one_of_texts, path_name};
use crate::strategy::builtin::{admission_rule, label_selector};

pub(super) const MATCH_POLICIES: &[&str] = &["Equivalent", "Exact"];
const MUTABLE: &[&str] = &["*", "CONNECT", "CREATE", "UPDATE"];

#[doc(alias = "SetDefaults_MatchResources")]
pub(super) fn default(matches: Option<&mut Value>) {
    let Some(Value::Object(matches)) = matches else { return };
    set_missing(
        matches,
        &[
            ("matchPolicy", json!("Equivalent")),
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
        ],
    );
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in objects(matches.get_mut(rules)) {
            rule.entry("scope").or_insert_with(|| "*".into());
        }
    }
}

#[doc(alias = "validateMatchResources")]
pub(super) fn validate(matches: &Value, path: &str, causes: &mut FieldErrors) {
    let policy = matches.get("matchPolicy").unwrap_or(&Value::Null);
    one_of_texts(policy, &format!("{path}.matchPolicy"), MATCH_POLICIES, causes);
    for member in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = part(matches, member) {
            label_selector::validate(selector, &format!("{path}.{member}"), causes);
        }
    }
    for member in ["resourceRules", "excludeResourceRules"] {
        for (path, rule) in items(matches.get(member), &format!("{path}.{member}")) {
            validate_names(rule, &path, causes);
            admission_rule::validate(rule, &path, causes);
        }
    }
}

fn validate_names(rule: &Value, path: &str, causes: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (path, name) in items(rule.get("resourceNames"), &format!("{path}.resourceNames")) {
        let name = name.as_str().unwrap_or_default();
        path_name(name, &path, causes);
        if seen.contains(&name) {
            causes.push(FieldError::duplicate(path, &name.into()));
        } else {
            seen.push(name);
        }
    }
}

/// A mutation is never about deletes.
pub(super) fn validate_mutable(matches: &Value, path: &str, causes: &mut FieldErrors) {
    for (_, rule) in items(matches.get("resourceRules"), path) {
        for operation in texts(rule.get("operations")) {
            if !MUTABLE.contains(&operation) {
                let path = format!("{path}.resourceRules.operations");
                causes.push(FieldError::unsupported(path, operation, MUTABLE));
            }
        }
    }
}
