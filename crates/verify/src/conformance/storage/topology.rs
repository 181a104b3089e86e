//! Which nodes a volume is for, and where a class makes volumes: node affinity and topologies.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::storage::objects::{lone_volume, with, wrong_volume};
use crate::conformance::{Case, Outcome, Target, case};

fn of_terms(terms: Value) -> Value {
    json!({ "required": { "nodeSelectorTerms": terms } })
}

/// A volume whose node affinity has one rule, of expressions or of fields.
async fn wrong_rule(t: &Target, sort: &str, rule: Value, causes: &[&str]) -> Outcome {
    let mut term = json!({});
    term[sort] = json!([rule]);
    let place = format!("spec.nodeAffinity.required.nodeSelectorTerms[0].{sort}[0]");
    let causes: Vec<String> =
        causes.iter().map(|cause| cause.replacen(' ', &format!(" {place}."), 1)).collect();
    let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
    wrong_volume(t, "/spec/nodeAffinity", of_terms(json!([term])), &causes).await
}

/// A class with these topologies.
async fn wrong_topologies(t: &Target, topologies: Value, cause: &str) -> Outcome {
    let object = with(class(&t.own("c")), "/allowedTopologies", topologies);
    t.post(&t.classes("?dryRun=All"), &object).await?.invalid(&[cause]).map(drop)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_node_affinity_has_terms",
            "A node affinity without what it requires, or without a term of it, answers 422.",
            async |t| {
                let required = "spec.nodeAffinity.required";
                let none = format!("FieldValueRequired {required}");
                wrong_volume(t, "/spec/nodeAffinity", json!({}), &[&none]).await?;
                let no_terms = format!("FieldValueRequired {required}.nodeSelectorTerms");
                wrong_volume(t, "/spec/nodeAffinity", of_terms(json!([])), &[&no_terms]).await
            },
        ),
        case(
            "a_term_may_be_empty",
            "A term of a node affinity may have no rule at all.",
            async |t| {
                let object = volume(&t.own("v"), &t.class);
                let object = with(object, "/spec/nodeAffinity", of_terms(json!([{}])));
                t.post(&t.volumes("?dryRun=All"), &object).await?.is(201).map(drop)
            },
        ),
        case(
            "an_operator_says_how_many_values",
            "Rules on labels have values, one value or none by their operator, which is one of six.",
            async |t| {
                for (operator, values, cause) in [
                    ("In", json!([]), "FieldValueRequired values"),
                    ("NotIn", json!([]), "FieldValueRequired values"),
                    ("Exists", json!(["a"]), "FieldValueForbidden values"),
                    ("Gt", json!(["1", "2"]), "FieldValueRequired values"),
                    ("Near", json!(["a"]), "FieldValueInvalid operator"),
                ] {
                    let rule = json!({ "key": "k", "operator": operator, "values": values });
                    wrong_rule(t, "matchExpressions", rule, &[cause]).await?;
                }
                Ok(())
            },
        ),
        case(
            "rules_are_on_labels",
            "Keys and values of rules on labels are those of labels.",
            async |t| {
                for (key, value, cause) in [
                    ("a b", "v", "FieldValueInvalid key"),
                    ("k", "a b", "FieldValueInvalid values[0]"),
                ] {
                    let rule = json!({ "key": key, "operator": "In", "values": [value] });
                    wrong_rule(t, "matchExpressions", rule, &[cause]).await?;
                }
                Ok(())
            },
        ),
        case(
            "rules_on_fields",
            "The only field that a rule may be on is one name of a node.",
            async |t| {
                for (key, operator, values, cause) in [
                    ("k", "In", json!(["a"]), "FieldValueInvalid key"),
                    ("metadata.name", "In", json!(["a", "b"]), "FieldValueRequired values"),
                    ("metadata.name", "Exists", Value::Null, "FieldValueInvalid operator"),
                    ("metadata.name", "In", json!(["A"]), "FieldValueInvalid values[0]"),
                ] {
                    let rule = json!({ "key": key, "operator": operator, "values": values });
                    wrong_rule(t, "matchFields", rule, &[cause]).await?;
                }
                Ok(())
            },
        ),
        case(
            "a_node_affinity_is_shown_as_go_has_it",
            "A change of the node affinity answers 422 and shows it by Go's names.",
            async |t| {
                let (path, _) = lone_volume(t, "v").await?;
                let of_key = |key: &str| {
                    let rule = json!({ "key": key, "operator": "In", "values": ["a"] });
                    json!({ "spec": { "nodeAffinity": of_terms(json!([{ "matchExpressions": [rule] }])) } })
                };
                t.merge(&path, of_key("k")).await?.is(200)?;
                let status = t
                    .merge(&path, of_key("other"))
                    .await?
                    .invalid(&["FieldValueInvalid nodeAffinity"])?;
                let shown = "{\"Required\":{\"NodeSelectorTerms\":[{\"MatchExpressions\":[{\"Key\":\"other\",\
                    \"Operator\":\"In\",\"Values\":[\"a\"]}],\"MatchFields\":null}]}}";
                holds("it is shown", text(&status, "/message").contains(shown))
            },
        ),
        case(
            "topologies_differ",
            "No topology of a class is empty or there twice, in whatever order.",
            async |t| {
                let rule = |values: Value| json!({ "matchLabelExpressions": [{ "key": "k", "values": values }] });
                let cause = |at: usize| {
                    format!("FieldValueDuplicate allowedTopologies[{at}].matchLabelExpressions")
                };
                wrong_topologies(t, json!([{}]), &cause(0)).await?;
                let twice = json!([rule(json!(["a", "b"])), rule(json!(["b", "a"]))]);
                wrong_topologies(t, twice, &cause(1)).await
            },
        ),
        case(
            "a_topology_is_of_labels",
            "A topology's keys are labels' and differ, and so do their values.",
            async |t| {
                let place = "allowedTopologies[0].matchLabelExpressions";
                for (rules, cause) in [
                    (
                        json!([{ "key": "a b", "values": ["a"] }]),
                        format!("FieldValueInvalid {place}[0].key"),
                    ),
                    (
                        json!([{ "key": "k", "values": [] }]),
                        format!("FieldValueRequired {place}[0].values"),
                    ),
                    (
                        json!([{ "key": "k", "values": ["a", "a"] }]),
                        format!("FieldValueDuplicate {place}[0].values[1]"),
                    ),
                    (
                        json!([{ "key": "k", "values": ["a"] }, { "key": "k", "values": ["b"] }]),
                        format!("FieldValueDuplicate {place}[1].key"),
                    ),
                ] {
                    wrong_topologies(t, json!([{ "matchLabelExpressions": rules }]), &cause)
                        .await?;
                }
                Ok(())
            },
        ),
    ]
}
