//! Which writes a policy is about.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::objects::{GROUP, gadget, widget};
use crate::conformance::policies::fixture::{
    binding, bindings, denies, enforce, map, passes, policies, policy, refused, rules,
    until_refused, valid,
};
use crate::conformance::{Case, case};

/// A rule about the widgets of one version.
fn of_widgets(version: &str, resource: &str) -> Value {
    json!([{
        "operations": ["*"], "apiGroups": [GROUP], "apiVersions": [version], "resources": [resource],
    }])
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = selecting();
    cases.extend(versions());
    cases.extend(conditions());
    cases
}

fn selecting() -> Vec<Case> {
    vec![
        case(
            "a_policy_without_a_binding_does_nothing",
            "A policy that nothing binds is not held against writes.",
            async |t| {
                let mut unbound = policy(t, valid("object.metadata.name != 'yes'"));
                unbound["metadata"]["name"] = t.own("unbound").into();
                t.make(&policies(""), unbound).await?;
                enforce(t, valid("object.metadata.name != 'no'"), json!({})).await?;
                denies(t, "failed expression: object.metadata.name != 'no'").await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "a_binding_of_no_policy_does_nothing",
            "A binding may name a policy that does not exist yet.",
            async |t| {
                t.keep_namespace();
                t.make(&bindings(""), binding(t, json!({}))).await?;
                passes(t, &map("no", &[])).await?;
                t.make(&policies(""), policy(t, valid("false"))).await?;
                denies(t, "failed expression: false").await
            },
        ),
        case(
            "an_object_selector_selects_the_old_or_the_new_object",
            "An update matches an objectSelector by either object.",
            async |t| {
                t.make(&t.maps(""), map("a", &[("tier", "b")])).await?;
                t.make(&t.maps(""), map("c", &[])).await?;
                let mut spec = valid("false");
                spec["matchConstraints"] =
                    json!({ "objectSelector": { "matchLabels": { "tier": "b" } } });
                enforce(t, spec, json!({})).await?;
                refused(t, &map("no", &[("tier", "b")])).await?;
                passes(t, &map("yes", &[])).await?;
                let labels = |value: Value| json!({ "metadata": { "labels": { "tier": value } } });
                t.merge(&t.maps("/a"), labels(Value::Null)).await?.refused(422, "Invalid")?;
                t.merge(&t.maps("/c"), labels("b".into())).await?.refused(422, "Invalid")?;
                t.merge(&t.maps("/c"), labels("c".into())).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_binding_narrows_its_policy",
            "The matchResources of a binding select among what the policy matches.",
            async |t| {
                let resources = json!({
                    "matchResources": { "objectSelector": { "matchLabels": { "tier": "b" } } },
                });
                enforce(t, valid("false"), resources).await?;
                refused(t, &map("no", &[("tier", "b")])).await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "rules_exclude_resources",
            "What an excludeResourceRule matches is not held against the policy.",
            async |t| {
                let mut excluded = rules(&["*"], &["configmaps"]);
                excluded[0]["resourceNames"] = json!(["yes"]);
                let mut spec = valid("false");
                spec["matchConstraints"] = json!({ "excludeResourceRules": excluded });
                enforce(t, spec, json!({})).await?;
                refused(t, &map("no", &[])).await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "rules_name_objects",
            "A rule with resourceNames matches the objects of these names.",
            async |t| {
                let mut named = rules(&["*"], &["configmaps"]);
                named[0]["resourceNames"] = json!(["no", "never"]);
                let mut spec = valid("false");
                spec["matchConstraints"] = json!({ "resourceRules": named });
                enforce(t, spec, json!({})).await?;
                refused(t, &map("no", &[])).await?;
                refused(t, &map("never", &[])).await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "rules_name_operations",
            "A rule for deletes leaves creates and updates alone.",
            async |t| {
                t.make(&t.maps(""), map("a", &[])).await?;
                let mut spec = valid("false");
                let mut deletes = rules(&["DELETE"], &["*"]);
                // Objects of cluster scope are of other cases.
                deletes[0]["scope"] = "Namespaced".into();
                spec["matchConstraints"] = json!({ "resourceRules": deletes });
                enforce(t, spec, json!({})).await?;
                let deleted = until_refused(t, Method::DELETE, &t.maps("/a"), &Value::Null).await?;
                deleted.says(422, "Invalid", "configmaps \"a\" is forbidden: ")?;
                t.delete(&t.maps("")).await?.refused(422, "Invalid")?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                passes(t, &map("b", &[])).await
            },
        ),
        case(
            "a_rule_names_subresources",
            "A rule for an object does not match its status; one for the status only that.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let mut spec =
                    valid("has(request.subResource) ? false : object.metadata.name == ''");
                spec["matchConstraints"] =
                    json!({ "resourceRules": of_widgets("v1", "widgets/status") });
                enforce(t, spec, json!({})).await?;
                let status = json!({ "status": { "a": 1 } });
                until_refused(t, Method::PATCH, &t.widgets("/a/status"), &status).await?;
                let spec = json!({ "spec": { "color": "red" } });
                t.merge(&t.widgets("/a"), spec).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_namespace_is_selected_by_its_own_labels",
            "A write of a Namespace matches a namespaceSelector by the labels that it writes.",
            async |t| {
                let mut spec = valid("!has(object.metadata.labels.bad)");
                let of_namespaces = rules(&["UPDATE"], &["namespaces"]);
                spec["matchConstraints"] = json!({ "resourceRules": of_namespaces });
                enforce(t, spec, json!({})).await?;
                let path = format!("/api/v1/namespaces/{}", t.namespace);
                let labels = json!({ "metadata": { "labels": { "bad": "x" } } });
                let refusal = until_refused(t, Method::PATCH, &path, &labels).await?;
                refusal.says(422, "Invalid", &format!("namespaces \"{}\"", t.namespace))?;
                Ok(())
            },
        ),
        case(
            "policies_are_not_about_policies",
            "No policy is held against policies, bindings and configurations of webhooks.",
            async |t| {
                let mut spec = valid("false");
                spec["matchConstraints"] = json!({ "resourceRules": [
                    {
                        "operations": ["*"], "apiGroups": ["admissionregistration.k8s.io"],
                        "apiVersions": ["*"], "resources": ["*"], "resourceNames": [t.own("x")],
                    },
                    {
                        "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
                        "resources": ["configmaps"], "resourceNames": ["no"],
                    },
                ] });
                enforce(t, spec, json!({})).await?;
                refused(t, &map("no", &[])).await?;
                let mut other = policy(t, valid("true"));
                other["metadata"]["name"] = t.own("x").into();
                t.make(&policies(""), other).await?;
                let mut other = binding(t, json!({}));
                other["metadata"]["name"] = t.own("x").into();
                t.make(&bindings(""), other).await?;
                Ok(())
            },
        ),
    ]
}

fn versions() -> Vec<Case> {
    let of_v2 = |policy: &str| {
        let mut spec = valid("object.apiVersion.endsWith('/v1')");
        spec["matchConstraints"] = json!({
            "matchPolicy": policy, "resourceRules": of_widgets("v2", "widgets"),
        });
        spec
    };
    vec![
        case(
            "an_equivalent_version_matches_and_is_what_is_seen",
            "A rule of another version matches, and the policy sees the object in that version.",
            async move |t| {
                let mut spec = of_v2("Equivalent");
                spec["validations"] = json!([{
                    "expression": "false",
                    "messageExpression": "[string(object.apiVersion), request.kind.version, request.requestKind.version].join('+')",
                }]);
                enforce(t, spec, json!({})).await?;
                let object = widget("a", json!({}));
                let refusal = until_refused(t, Method::POST, &t.widgets(""), &object).await?;
                let wanted = format!("denied request: {GROUP}/v2+v2+v1");
                refusal.says(422, "Invalid", &wanted)?;
                Ok(())
            },
        ),
        case(
            "an_exact_policy_matches_the_version_of_the_request",
            "With matchPolicy Exact a rule of another version does not match.",
            async move |t| {
                enforce(t, of_v2("Exact"), json!({})).await?;
                let mut object = widget("a", json!({}));
                object["apiVersion"] = format!("{GROUP}/v2").into();
                until_refused(t, Method::POST, &t.widgets_v2(""), &object).await?;
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                Ok(())
            },
        ),
        case(
            "objects_of_cluster_scope_match_any_namespace_selector",
            "A namespaceSelector does not exempt an object of cluster scope.",
            async |t| {
                let name = t.own("gadget");
                let mut spec = valid("false");
                spec["matchConstraints"] = json!({ "resourceRules": [{
                    "operations": ["CREATE"], "apiGroups": [GROUP], "apiVersions": ["v1"],
                    "resources": ["gadgets"], "resourceNames": [name], "scope": "Cluster",
                }] });
                enforce(t, spec, json!({})).await?;
                let object = gadget(&name, json!({}));
                let refusal = until_refused(t, Method::POST, &t.gadgets(""), &object).await?;
                refusal.says(
                    422,
                    "Invalid",
                    &format!("gadgets.{GROUP} \"{name}\" is forbidden"),
                )?;
                Ok(())
            },
        ),
    ]
}

fn conditions() -> Vec<Case> {
    let with = |condition: &str, policy: &str| {
        let mut spec = valid("false");
        spec["failurePolicy"] = policy.into();
        spec["matchConditions"] = json!([
            { "name": "first", "expression": "request.operation == 'CREATE'" },
            { "name": "second", "expression": condition },
        ]);
        spec
    };
    vec![
        case(
            "conditions_exclude_writes",
            "A write that does not fulfil all matchConditions is not held against the policy.",
            async move |t| {
                enforce(t, with("object.metadata.name != 'yes'", "Fail"), json!({})).await?;
                denies(t, "failed expression: false").await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "a_condition_that_fails_refuses",
            "A matchCondition without a value refuses with its error.",
            async move |t| {
                let fails = "object.data.k == object.data.missing";
                enforce(t, with(fails, "Fail"), json!({})).await?;
                let why = "resulted in error: no such key: missing";
                denies(t, &format!("expression '{fails}' {why}")).await
            },
        ),
        case(
            "a_condition_that_fails_may_be_ignored",
            "With failurePolicy Ignore a matchCondition that fails is one that is not fulfilled.",
            async move |t| {
                let fails = "object.metadata.name == 'no' || object.data.missing == 'x'";
                enforce(t, with(fails, "Ignore"), json!({})).await?;
                denies(t, "failed expression: false").await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "conditions_do_not_see_the_namespace",
            "In a matchCondition `namespaceObject` is null; the authorizer is there.",
            async move |t| {
                let sees = "namespaceObject == null \
                            && authorizer.requestResource.check('create').allowed()";
                enforce(t, with(sees, "Fail"), json!({})).await?;
                denies(t, "failed expression: false").await
            },
        ),
    ]
}
