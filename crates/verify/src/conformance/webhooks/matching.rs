//! Which writes a webhook sees: rules, selectors and conditions.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = rules_and_scopes();
    cases.extend(conditions());
    cases.extend(configurations());
    cases.extend([
        case(
            "a_namespace_selector_selects_by_labels",
            "A webhook whose namespaceSelector the labels of the namespace do not match is not called.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let name = "kubernetes.io/metadata.name";
                let other = json!({ "matchLabels": { name: t.namespace, "a": "b" } });
                hooks.one(VALIDATING, "other", json!({ "namespaceSelector": other })).await?;
                let both = json!({
                    "matchExpressions": [
                        { "key": name, "operator": "In", "values": [t.namespace] },
                        { "key": "a", "operator": "DoesNotExist" },
                    ],
                });
                hooks.one(VALIDATING, "own", json!({ "namespaceSelector": both })).await?;
                t.map("x", "v").await?;
                same("calls", hooks.called(), "own")
            },
        ),
        case(
            "an_object_selector_selects_by_old_or_new_labels",
            "A webhook is called if its objectSelector matches the new or the old object.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let labelled = json!({
                    "objectSelector": { "matchLabels": { "a": "b" } },
                    "rules": rules(&["*"], "/v1", &["configmaps"]),
                });
                hooks.one(VALIDATING, "see", labelled).await?;
                t.map("x", "v").await?;
                same("calls", hooks.operations(), "")?;
                let label = |value: Value| json!({ "metadata": { "labels": { "a": value } } });
                t.merge(&t.maps("/x"), label("b".into())).await?.is(200)?;
                t.merge(&t.maps("/x"), label(Value::Null)).await?.is(200)?;
                // Another object: the real server may first take the one that has just changed as
                // it was before, and asks again.
                t.map("y", "v").await?;
                t.merge(&t.maps("/y"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.delete(&t.maps("/y")).await?.is(200)?;
                let label = |review: &Value, object: &str| {
                    text(review, &format!("/{object}/metadata/labels/a")).to_owned()
                };
                let requests = hooks.requests();
                let mut changes: Vec<_> = requests
                    .iter()
                    .map(|review| (label(review, "oldObject"), label(review, "object")))
                    .collect();
                changes.dedup();
                let (none, set) = (String::new(), "b".to_owned());
                same("changes", changes, vec![(none.clone(), set.clone()), (set, none)])
            },
        ),
    ]);
    cases
}

fn rules_and_scopes() -> Vec<Case> {
    vec![
        case(
            "each_rule_has_its_operations_and_resources",
            "A write is sent if one of the rules names its operation and its resource.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let mut two = rules(&["CREATE", "DELETE"], "/v1", &["configmaps"]);
                two.as_array_mut().into_iter().for_each(|all| {
                    all.extend(
                        rules(&["UPDATE"], "/v1", &["secrets"])
                            .as_array()
                            .cloned()
                            .unwrap_or_default(),
                    );
                });
                hooks.one(VALIDATING, "see", json!({ "rules": two })).await?;
                t.map("x", "v").await?;
                t.merge(&t.maps("/x"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.make(&t.core("secrets", ""), named("s")).await?;
                t.merge(&t.core("secrets", "/s"), json!({ "stringData": { "k": "w" } }))
                    .await?
                    .is(200)?;
                t.delete(&t.maps("/x")).await?.is(200)?;
                same("calls", hooks.operations(), "CREATE x, UPDATE s, DELETE x")
            },
        ),
        case(
            "a_star_is_every_resource_without_subresources",
            "The resource * names every resource and no subresource, and */* names both.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let all = |resource: &str| {
                    let mut rules = rules(&["*"], "*/*", &[resource]);
                    rules[0]["apiVersions"] = json!(["*"]);
                    json!({ "rules": rules })
                };
                hooks.one(VALIDATING, "objects", all("*")).await?;
                hooks.one(VALIDATING, "parts", all("*/*")).await?;
                t.make(&t.widgets(""), widget("x", json!({ "n": 1 }))).await?;
                let mut called: Vec<String> =
                    hooks.called().split(' ').map(str::to_owned).collect();
                called.sort_unstable();
                same("calls", called, ["objects", "parts"])?;
                hooks.server.forget();
                t.merge(&t.widgets("/x/status"), json!({ "status": { "a": 1 } })).await?.is(200)?;
                same("calls", hooks.called(), "parts")
            },
        ),
        case(
            "a_webhook_without_rules_sees_nothing",
            "A webhook without rules is never called.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                hooks.one(VALIDATING, "see", json!({ "rules": [] })).await?;
                t.map("x", "v").await?;
                same("calls", hooks.called(), "")
            },
        ),
        case(
            "a_cluster_kind_is_selected_by_its_labels_alone",
            "A namespaceSelector does not matter to an object of cluster scope, and the scope of a rule does.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let scoped = |scope: &str| {
                    let mut rules = rules(&["CREATE"], &format!("{GROUP}/v1"), &["gadgets"]);
                    rules[0]["scope"] = scope.into();
                    let own = json!({ "matchLabels": { "case": t.class } });
                    json!({ "rules": rules, "objectSelector": own, "namespaceSelector": { "matchLabels": { "a": "b" } } })
                };
                hooks.one(VALIDATING, "cluster", scoped("Cluster")).await?;
                hooks.one(VALIDATING, "namespaced", scoped("Namespaced")).await?;
                let mut object = gadget(&t.own("x"), json!({}));
                object["metadata"]["labels"] = json!({ "case": t.class });
                t.make(&t.gadgets(""), object).await?;
                same("calls", hooks.called(), "cluster")?;
                has(&hooks.requests()[0], json!({ "namespace": null, "name": t.own("x") }))
            },
        ),
        case(
            "a_namespace_is_in_itself",
            "The review of a Namespace has its name as namespace, and the namespaceSelector sees its own labels.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let mut rules = rules(&["CREATE"], "/v1", &["namespaces"]);
                rules[0]["scope"] = "Cluster".into();
                let own = json!({ "matchLabels": { "case": t.class } });
                let see = json!({ "rules": rules, "namespaceSelector": own, "objectSelector": {} });
                hooks.one(VALIDATING, "see", see).await?;
                let labels = json!({ "case": t.class });
                let object = json!({ "metadata": { "name": t.own("x"), "labels": labels } });
                t.make("/api/v1/namespaces", object).await?;
                same("calls", hooks.called(), "see")?;
                has(&hooks.requests()[0], json!({ "namespace": t.own("x"), "name": t.own("x") }))
            },
        ),
    ]
}

fn conditions() -> Vec<Case> {
    vec![
        case(
            "match_conditions_must_all_hold",
            "A webhook is called if all its matchConditions hold.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let own =
                    json!({ "name": "own", "expression": "object.metadata.name.startsWith('x')" });
                let who = json!({ "name": "who", "expression": "'system:masters' in request.userInfo.groups" });
                let none = json!({ "name": "none", "expression": "oldObject != null" });
                hooks.one(VALIDATING, "yes", json!({ "matchConditions": [own, who] })).await?;
                hooks.one(VALIDATING, "no", json!({ "matchConditions": [own, none] })).await?;
                t.map("x", "v").await?;
                t.map("y", "v").await?;
                same("calls", hooks.called(), "yes")
            },
        ),
        case(
            "a_match_condition_that_fails_refuses",
            "A matchCondition that cannot be evaluated answers 403, and calls no webhook.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let wrong = json!([{ "name": "a", "expression": "object.spec.none == 1" }]);
                hooks.one(VALIDATING, "see", json!({ "matchConditions": wrong })).await?;
                let refused = t.post(&t.maps(""), &map("x", "v")).await?;
                refused.says(
                    403,
                    "Forbidden",
                    "configmaps \"x\" is forbidden: expression 'object.spec.none == 1' resulted in error: no such key: spec",
                )?;
                same("calls", hooks.called(), "")
            },
        ),
        case(
            "a_match_condition_that_fails_is_ignored_by_policy",
            "With failurePolicy Ignore a matchCondition that cannot be evaluated skips the webhook.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let wrong = json!([{ "name": "a", "expression": "object.spec.none == 1" }]);
                let ignored = json!({ "matchConditions": wrong, "failurePolicy": "Ignore" });
                hooks.one(VALIDATING, "see", ignored).await?;
                t.map("x", "v").await?;
                same("calls", hooks.called(), "")
            },
        ),
        case(
            "match_conditions_see_the_mutated_object",
            "The matchConditions of a mutating webhook see the object of those before.",
            async |t| {
                let hooks = hooks(t, sign).await?;
                let signed =
                    json!([{ "name": "a", "expression": "object.data.k.contains('first')" }]);
                let two = vec![
                    hooks.webhook("first", json!({})),
                    hooks.webhook("second", json!({ "matchConditions": signed })),
                ];
                hooks.register(MUTATING, "a", two).await?;
                has(&t.map("x", "v").await?, json!({ "data": { "k": "v first second" } }))
            },
        ),
    ]
}

fn configurations() -> Vec<Case> {
    vec![
        case(
            "configurations_of_webhooks_are_not_sent",
            "No webhook sees a configuration of webhooks.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let mut rules = rules(&["*"], "admissionregistration.k8s.io/v1", &["*"]);
                rules[0]["scope"] = "*".into();
                let own = json!({ "matchLabels": { "case": t.class } });
                let all = json!({ "rules": rules, "objectSelector": own });
                hooks.one(VALIDATING, "see", all).await?;
                let path = configuration(t, VALIDATING, "see");
                let label = json!({ "metadata": { "labels": { "case": t.class } } });
                t.merge(&path, label).await?.is(200)?;
                t.delete(&path).await?.is(200)?;
                same("calls", hooks.called(), "")
            },
        ),
        case(
            "a_configuration_ends_with_its_delete",
            "A webhook is called until its configuration is deleted, and as the newest version says.",
            async |t| {
                let hooks = hooks(t, |seen| deny(seen, json!({ "message": "no" }))).await?;
                hooks.one(VALIDATING, "see", json!({})).await?;
                t.post(&t.maps(""), &map("x", "v")).await?.says(
                    400,
                    "",
                    "denied the request: no",
                )?;
                let path = configuration(t, VALIDATING, "see");
                let rule = json!([{ "op": "replace", "path": "/webhooks/0/rules/0/operations", "value": ["DELETE"] }]);
                t.json_patch(&path, rule).await?.is(200)?;
                t.until_made("x").await?;
                t.delete(&path).await?.is(200)?;
                hooks.until("see", false).await?;
                t.delete(&t.maps("/x")).await?.is(200).map(drop)
            },
        ),
    ]
}
