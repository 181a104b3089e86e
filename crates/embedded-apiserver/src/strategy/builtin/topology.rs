//! Node selectors of volumes, and topologies of StorageClasses.

use std::collections::{BTreeMap, BTreeSet};

use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

const NO_OPERATOR: &str = "not a valid selector operator";

fn list<'a>(of: &'a Value, member: &str) -> &'a [Value] {
    of.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(of: &'a Value, member: &str) -> &'a str {
    of.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'a>(of: &'a Value, member: &str) -> impl Iterator<Item = &'a str> {
    list(of, member).iter().map(|value| value.as_str().unwrap_or_default())
}

/// `validateVolumeNodeAffinity`.
pub(super) fn check_node_affinity(affinity: &Value, causes: &mut FieldErrors) {
    let field = "spec.nodeAffinity.required";
    let Some(required) = affinity.get("required").filter(|required| !required.is_null()) else {
        return causes.push(FieldError::required(field, "must specify required node constraints"));
    };
    let field = format!("{field}.nodeSelectorTerms");
    let terms = list(required, "nodeSelectorTerms");
    if terms.is_empty() {
        causes.push(FieldError::required(
            field.as_str(),
            "must have at least one node selector term",
        ));
    }
    for (at, term) in terms.iter().enumerate() {
        for (at_rule, rule) in list(term, "matchExpressions").iter().enumerate() {
            check_expression(rule, &format!("{field}[{at}].matchExpressions[{at_rule}]"), causes);
        }
        for (at_rule, rule) in list(term, "matchFields").iter().enumerate() {
            check_field(rule, &format!("{field}[{at}].matchFields[{at_rule}]"), causes);
        }
    }
}

/// `ValidateNodeSelectorRequirement`.
fn check_expression(rule: &Value, place: &str, causes: &mut FieldErrors) {
    let values = format!("{place}.values");
    let count = list(rule, "values").len();
    match text(rule, "operator") {
        "In" | "NotIn" if count == 0 => {
            causes.push(FieldError::required(
                values.as_str(),
                "must be specified when `operator` is 'In' or 'NotIn'",
            ));
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            causes.push(FieldError::forbidden(values.as_str(), why));
        }
        "Gt" | "Lt" if count != 1 => {
            let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            causes.push(FieldError::required(values.as_str(), why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => causes.push(FieldError::invalid(format!("{place}.operator"), other, NO_OPERATOR)),
    }
    check_key(text(rule, "key"), place, causes);
    for (at, value) in texts(rule, "values").enumerate() {
        if let Some(why) = names::wrong_label_value(value) {
            causes.push(FieldError::invalid(format!("{values}[{at}]"), value, why));
        }
    }
}

/// `ValidateNodeFieldSelectorRequirement`: only `metadata.name`.
fn check_field(rule: &Value, place: &str, causes: &mut FieldErrors) {
    let values = format!("{place}.values");
    match text(rule, "operator") {
        "In" | "NotIn" if list(rule, "values").len() == 1 => {}
        "In" | "NotIn" => {
            let why =
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            causes.push(FieldError::required(values.as_str(), why));
        }
        other => causes.push(FieldError::invalid(format!("{place}.operator"), other, NO_OPERATOR)),
    }
    match text(rule, "key") {
        "metadata.name" => {
            for (at, value) in texts(rule, "values").enumerate() {
                if let Some(why) = names::wrong_subdomain(value) {
                    causes.push(FieldError::invalid(format!("{values}[{at}]"), value, why));
                }
            }
        }
        other => {
            causes.push(FieldError::invalid(
                format!("{place}.key"),
                other,
                "not a valid field selector key",
            ));
        }
    }
}

fn check_key(key: &str, place: &str, causes: &mut FieldErrors) {
    for why in names::wrongs_of_qualified_name(key) {
        causes.push(FieldError::invalid(format!("{place}.key"), key, why));
    }
}

/// The node affinity of a volume in an error, with Go's member names.
pub(super) fn shown_affinity(affinity: &Value) -> Value {
    let rules = |term: &Value, member: &str| match list(term, member) {
        [] => Value::Null,
        rules => rules
            .iter()
            .map(|rule| {
                let values = rule.get("values").cloned().unwrap_or_default();
                let (key, operator) = (text(rule, "key"), text(rule, "operator"));
                json!({ "Key": key, "Operator": operator, "Values": values })
            })
            .collect(),
    };
    let term = |term: &Value| {
        let fields = rules(term, "matchFields");
        json!({ "MatchExpressions": rules(term, "matchExpressions"), "MatchFields": fields })
    };
    match affinity.get("required") {
        Some(required) => {
            let terms: Vec<Value> = list(required, "nodeSelectorTerms").iter().map(term).collect();
            json!({ "Required": { "NodeSelectorTerms": terms } })
        }
        None if affinity.is_null() => Value::Null,
        None => json!({ "Required": null }),
    }
}

/// `validateAllowedTopologies`. Like upstream, it also compares each term with empty ones.
pub(super) fn check_topologies(topologies: &[Value], causes: &mut FieldErrors) {
    type Term<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;
    let mut seen: Vec<Term<'_>> = vec![Term::new(); topologies.len()];
    for (at, topology) in topologies.iter().enumerate() {
        let field = format!("allowedTopologies[{at}].matchLabelExpressions");
        let mut term = Term::new();
        for (at, rule) in list(topology, "matchLabelExpressions").iter().enumerate() {
            let place = format!("{field}[{at}]");
            let mut values = BTreeSet::new();
            if list(rule, "values").is_empty() {
                causes.push(FieldError::required(format!("{place}.values"), ""));
            }
            for (at, value) in texts(rule, "values").enumerate() {
                if !values.insert(value) {
                    causes.push(FieldError::duplicate(
                        format!("{place}.values[{at}]"),
                        &value.into(),
                    ));
                }
            }
            let key = text(rule, "key");
            check_key(key, &place, causes);
            if term.insert(key, values).is_some() {
                causes.push(FieldError::duplicate(format!("{place}.key"), &key.into()));
            }
        }
        for _ in seen.iter().filter(|other| **other == term) {
            causes.push(FieldError::duplicate(field.as_str(), &"".into()));
        }
        seen.push(term);
    }
}
