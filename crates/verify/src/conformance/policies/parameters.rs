//! Parameters of policies: objects that bindings name or select.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::{GROUP, gadget, widget};
use crate::conformance::policies::fixture::{
    binding, bindings, denies, enforce, map, passes, policies, policy, refused,
};
use crate::conformance::{Case, Outcome, Target, case};

/// A policy whose parameters are ConfigMaps that say which name is wrong.
fn by_map() -> Value {
    json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "validations": [{
            "expression": "object.metadata.name != params.data.wrong",
            "messageExpression": "'wrong by ' + params.metadata.name",
        }],
    })
}

/// Makes a parameter.
async fn param(t: &Target, name: &str, wrong: &str) -> Outcome {
    let mut object = map(name, &[("param", "yes")]);
    object["data"] = json!({ "wrong": wrong });
    t.make(&t.maps(""), object).await?;
    Ok(())
}

fn reference(reference: Value) -> Value {
    let mut whole = json!({ "parameterNotFoundAction": "Deny" });
    if let (Value::Object(whole), Value::Object(said)) = (&mut whole, reference) {
        whole.extend(said);
    }
    json!({ "paramRef": whole })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = named();
    cases.extend(wrong());
    cases
}

fn named() -> Vec<Case> {
    vec![
        case(
            "a_parameter_is_named",
            "A binding names the parameter; without a namespace it is in that of the object.",
            async |t| {
                param(t, "rule", "no").await?;
                enforce(t, by_map(), reference(json!({ "name": "rule" }))).await?;
                denies(t, "wrong by rule").await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "a_parameter_may_be_in_a_namespace_that_is_said",
            "paramRef.namespace says where the parameter is.",
            async |t| {
                param(t, "rule", "no").await?;
                let said = json!({ "name": "rule", "namespace": t.namespace });
                enforce(t, by_map(), reference(said)).await?;
                denies(t, "wrong by rule").await
            },
        ),
        case(
            "parameters_are_selected_and_all_count",
            "A write must pass with every parameter that a selector selects.",
            async |t| {
                param(t, "first", "no").await?;
                param(t, "second", "never").await?;
                t.make(&t.maps(""), map("third", &[])).await?;
                let selector = json!({ "selector": { "matchLabels": { "param": "yes" } } });
                enforce(t, by_map(), reference(selector)).await?;
                denies(t, "wrong by first").await?;
                refused(t, &map("never", &[])).await?.says(422, "Invalid", "wrong by second")?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "a_missing_parameter_refuses",
            "Without its parameter a policy refuses, if parameterNotFoundAction is Deny.",
            async |t| {
                enforce(t, by_map(), reference(json!({ "name": "rule" }))).await?;
                let why = "failed to configure binding: no params found for policy binding with \
                           `Deny` parameterNotFoundAction";
                denies(t, why).await
            },
        ),
        case(
            "a_missing_parameter_may_be_allowed",
            "Without its parameter a policy is not evaluated, if parameterNotFoundAction is Allow.",
            async |t| {
                let allow = json!({ "name": "rule", "parameterNotFoundAction": "Allow" });
                enforce(t, by_map(), reference(allow)).await?;
                let mut second = binding(t, reference(json!({ "name": "second" })));
                second["metadata"]["name"] = t.own("second").into();
                second["spec"]["matchResources"] =
                    json!({ "objectSelector": { "matchLabels": { "tier": "b" } } });
                t.make(&bindings(""), second).await?;
                refused(t, &map("a", &[("tier", "b")])).await?;
                passes(t, &map("no", &[])).await
            },
        ),
        case("a_parameter_may_be_left_out", "Without a paramRef `params` is null.", async |t| {
            let mut spec = by_map();
            spec["validations"] = json!([{ "expression": "params != null" }]);
            enforce(t, spec, json!({})).await?;
            denies(t, "failed expression: params != null").await
        }),
        case(
            "a_parameter_may_be_of_a_custom_kind",
            "Parameters may be objects of a definition, also of cluster scope.",
            async |t| {
                let name = t.own("param");
                t.make(&t.gadgets(""), gadget(&name, json!({ "wrong": "no" }))).await?;
                let spec = json!({
                    "paramKind": { "apiVersion": format!("{GROUP}/v1"), "kind": "Gadget" },
                    "validations": [{
                        "expression": "object.metadata.name != params.spec.wrong",
                        "messageExpression": "params.apiVersion + ' ' + params.kind",
                    }],
                });
                enforce(t, spec, reference(json!({ "name": name }))).await?;
                denies(t, &format!("{GROUP}/v1 Gadget")).await?;
                passes(t, &map("yes", &[])).await
            },
        ),
    ]
}

fn wrong() -> Vec<Case> {
    vec![
        case(
            "a_kind_of_parameters_that_is_not_served_refuses",
            "A policy with an unknown paramKind refuses what it matches, whatever its bindings.",
            async |t| {
                let mut spec = by_map();
                spec["paramKind"] = json!({ "apiVersion": "none.example.com/v1", "kind": "None" });
                enforce(t, spec, reference(json!({ "name": "rule" }))).await?;
                let status = refused(t, &map("no", &[])).await?.refused(422, "Invalid")?;
                let why = format!(
                    "configmaps \"no\" is forbidden: ValidatingAdmissionPolicy '{}' denied request: failed to \
                     configure policy: failed to find resource referenced by paramKind: \
                     'none.example.com/v1, Kind=None'",
                    t.own("policy")
                );
                same("the message", text(&status, "/message"), why.as_str())
            },
        ),
        case(
            "a_parameter_of_cluster_scope_has_no_namespace",
            "A paramRef with a namespace refuses, if the parameters are of cluster scope.",
            async |t| {
                let mut spec = by_map();
                spec["paramKind"] =
                    json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Gadget" });
                let said = json!({ "name": "rule", "namespace": t.namespace });
                enforce(t, spec, reference(said)).await?;
                let why = "failed to configure binding: paramRef.namespace must not be provided for \
                           a cluster-scoped `paramKind`";
                denies(t, why).await
            },
        ),
        case(
            "an_object_of_cluster_scope_has_no_namespace_for_its_parameter",
            "A namespaced parameter of an object of cluster scope must say its namespace.",
            async |t| {
                t.keep_namespace();
                let name = t.own("gadget");
                let mut spec = by_map();
                spec["matchConstraints"] = json!({ "resourceRules": [{
                    "operations": ["CREATE"], "apiGroups": [GROUP], "apiVersions": ["v1"],
                    "resources": ["gadgets"], "resourceNames": [name],
                }] });
                t.make(&policies(""), policy(t, spec)).await?;
                let bound = binding(t, reference(json!({ "name": "rule" })));
                t.make(&bindings(""), bound).await?;
                let refusal = crate::conformance::policies::fixture::until_refused(
                    t,
                    http::Method::POST,
                    &t.gadgets(""),
                    &gadget(&name, json!({})),
                )
                .await?;
                let why = "cannot use namespaced paramRef in policy binding that matches \
                           cluster-scoped resources";
                refusal.says(422, "Invalid", why)?;
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                Ok(())
            },
        ),
    ]
}
