//! What the expressions of a policy see of a write.

use http::Method;
use serde_json::json;

use crate::conformance::access::users::{by, grant, own_user, rule};
use crate::conformance::answer::*;
use crate::conformance::policies::fixture::{
    denies, enforce, map, passes, refused, rules, until_refused, valid,
};
use crate::conformance::{Case, Outcome, Target, case};

/// A policy whose message is the value of an expression of type string.
async fn tells(t: &Target, expression: &str, wanted: &str) -> Outcome {
    let validation = json!({ "expression": "false", "messageExpression": expression });
    enforce(t, json!({ "validations": [validation] }), json!({})).await?;
    denies(t, wanted).await
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = requests();
    cases.extend(variables());
    cases
}

fn requests() -> Vec<Case> {
    vec![
        case(
            "an_expression_sees_the_request",
            "`request` has the operation, the kind, the resource, the names and the dry run.",
            async |t| {
                let all = "[request.operation, request.kind.group, request.kind.version, \
                           request.kind.kind, request.resource.resource, request.requestKind.kind, \
                           request.requestResource.resource, request.name, \
                           string(request.dryRun)].join('+')";
                let wanted = "CREATE++v1+ConfigMap+configmaps+ConfigMap+configmaps+no+true";
                tells(t, all, wanted).await
            },
        ),
        case(
            "a_request_has_only_what_is_said",
            "`request` lacks the members that are empty: the subresource, the user's uid.",
            async |t| {
                let all = "[has(request.subResource), has(request.requestSubResource), \
                           has(request.namespace), has(request.name)].map(x, string(x)).join('+')";
                tells(t, all, "false+false+true+true").await
            },
        ),
        case(
            "an_expression_sees_the_options",
            "`request.options` has the options of the request: its kind and its dry run.",
            async |t| {
                let all = "[string(request.options.kind), string(request.options.apiVersion), \
                           string(request.options.dryRun[0])].join('+')";
                tells(t, all, "CreateOptions+meta.k8s.io/v1+All").await
            },
        ),
        case(
            "a_policy_of_a_scale_sees_scales",
            "A rule of `deployments/scale` gets the Scale, and `request.kind` is its kind.",
            async |t| {
                let labels = json!({ "a": "b" });
                let template = json!({
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "c", "image": "i" }] },
                });
                let spec = json!({ "paused": true, "replicas": 1, "selector": { "matchLabels": labels }, "template": template });
                let path = |rest: &str| t.of_group("apps/v1", "deployments", rest);
                t.make(&path(""), json!({ "metadata": { "name": "x" }, "spec": spec })).await?;
                let validation = json!({
                    "expression": "object.spec.replicas <= 5",
                    "messageExpression": "[string(object.kind), request.kind.group, request.kind.kind, \
                        request.requestKind.kind, request.resource.resource, request.subResource, \
                        string(oldObject.spec.replicas)].join('+')",
                });
                let rules = json!([{
                    "operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"],
                    "resources": ["deployments/scale"],
                }]);
                let spec = json!({
                    "matchConstraints": { "resourceRules": rules }, "validations": [validation],
                });
                enforce(t, spec, json!({})).await?;
                let many = json!({ "spec": { "replicas": 6 } });
                let refusal = until_refused(t, Method::PATCH, &path("/x/scale"), &many).await?;
                let why = "denied request: Scale+autoscaling+Scale+Scale+deployments+scale+1";
                let status = refusal.says(422, "Invalid", why)?;
                let named =
                    json!({ "details": { "name": "x", "kind": "deployments", "group": "apps" } });
                has(&status, named)?;
                t.merge(&path("/x/scale"), json!({ "spec": { "replicas": 5 } })).await?.is(200)?;
                t.merge(&path("/x"), many).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "an_expression_sees_the_user",
            "`request.userInfo` has the name and the groups of the user.",
            async |t| {
                let expression = format!("request.userInfo.username != '{}'", own_user(t, "bob"));
                let validation = json!({
                    "expression": expression,
                    "messageExpression": "request.userInfo.groups.exists(x, x == 'system:authenticated') ? 'bob' : '?'",
                });
                enforce(t, json!({ "validations": [validation] }), json!({})).await?;
                grant(t, "bob", json!([rule(&["create"], "", &["configmaps"])])).await?;
                let refusal = crate::conformance::waiting::eventually(async || {
                    let path = t.maps("?dryRun=All");
                    let answer = by(t, "bob", Method::POST, &path, &map("a", &[])).await?;
                    let is = answer.text.contains("denied request: bob");
                    Ok(if is { Ok(answer) } else { Err(answer.text) })
                })
                .await?;
                refusal.refused(422, "Invalid")?;
                passes(t, &map("a", &[])).await
            },
        ),
        case(
            "an_expression_sees_both_objects",
            "An update has both objects, a create no old one, a delete no new one.",
            async |t| {
                t.make(&t.maps(""), map("a", &[])).await?;
                let mut spec = valid(
                    "object == null ? oldObject.data.k != 'v' : \
                     oldObject == null || oldObject.data.k == object.data.k",
                );
                let operations = ["CREATE", "UPDATE", "DELETE"];
                spec["matchConstraints"]["resourceRules"] = rules(&operations, &["configmaps"]);
                enforce(t, spec, json!({})).await?;
                let change = json!({ "data": { "k": "w" } });
                let path = t.maps("/a");
                until_refused(t, Method::PATCH, &path, &change).await?.refused(422, "Invalid")?;
                let none = serde_json::Value::Null;
                until_refused(t, Method::DELETE, &path, &none).await?.refused(422, "Invalid")?;
                t.merge(&path, json!({ "data": { "l": "w" } })).await?.is(200)?;
                passes(t, &map("b", &[])).await
            },
        ),
        case(
            "an_expression_sees_the_namespace",
            "`namespaceObject` is the namespace of the object.",
            async |t| {
                let labels = "namespaceObject.metadata.labels['kubernetes.io/metadata.name']";
                let wanted = t.namespace.clone();
                tells(t, labels, &wanted).await
            },
        ),
        case(
            "an_expression_sees_what_the_server_adds",
            "The object has the members that the server sets: namespace, uid, creation time.",
            async |t| {
                let all = "[string(object.metadata.namespace), string(size(object.metadata.uid)), \
                           string(has(object.metadata.creationTimestamp)), \
                           string(object.kind), string(object.apiVersion)].join('+')";
                let wanted = format!("{}+36+true+ConfigMap+v1", t.namespace);
                tells(t, all, &wanted).await
            },
        ),
        case(
            "a_generated_name_is_known",
            "A policy sees the name that the server generates.",
            async |t| {
                enforce(t, valid("request.name == 'other'"), json!({})).await?;
                let mut object = map("x", &[]);
                object["metadata"] = json!({ "generateName": "made-" });
                let status = refused(t, &object).await?.refused(422, "Invalid")?;
                let name = text(&status, "/details/name");
                holds("the name is made", name.starts_with("made-") && name.len() == 10)
            },
        ),
        case(
            "an_apply_is_a_create_or_an_update",
            "A server-side apply is held against policies as what it does.",
            async |t| {
                enforce(t, valid("request.operation != 'CREATE'"), json!({})).await?;
                refused(t, &map("no", &[])).await?;
                let apply = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "no" },
                });
                let path = t.maps("/no?fieldManager=a");
                t.patch(&path, crate::conformance::target::APPLY, &apply).await?.says(
                    422,
                    "Invalid",
                    "request.operation != 'CREATE'",
                )?;
                t.get(&t.maps("/no")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "an_authorizer_answers",
            "`authorizer` decides about the user and about service accounts.",
            async |t| {
                let secrets = format!(
                    ".group('').resource('secrets').namespace('{}').name('a').check('delete')",
                    t.namespace
                );
                let checks = [
                    "object.metadata.name != 'no'".to_owned(),
                    format!("authorizer{secrets}.allowed() && authorizer{secrets}.error() == ''"),
                    format!(
                        "!authorizer.serviceAccount('{}', 'nobody'){secrets}.allowed()",
                        t.namespace
                    ),
                    "authorizer.path('/healthz').check('get').allowed()".to_owned(),
                    "!authorizer.requestResource.check('create').errored()".to_owned(),
                ];
                let checks = checks.map(|check| json!({ "expression": check }));
                let spec = json!({ "validations": checks });
                enforce(t, spec, json!({})).await?;
                denies(t, "failed expression: object.metadata.name != 'no'").await?;
                passes(t, &map("yes", &[])).await
            },
        ),
    ]
}

fn variables() -> Vec<Case> {
    vec![
        case(
            "variables_are_made_of_those_before",
            "A variable may use the variables before it, and messages use them too.",
            async |t| {
                let spec = json!({
                    "variables": [
                        { "name": "name", "expression": "object.metadata.name" },
                        { "name": "loud", "expression": "variables.name.upperAscii()" },
                    ],
                    "validations": [{
                        "expression": "variables.loud != 'NO'", "messageExpression": "variables.loud + '!'",
                    }],
                });
                enforce(t, spec, json!({})).await?;
                denies(t, "NO!").await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "a_variable_that_nobody_reads_does_not_fail",
            "A variable is evaluated when an expression reads it; its failure is that expression's.",
            async |t| {
                let spec = json!({
                    "variables": [{ "name": "bad", "expression": "object.data.missing" }],
                    "validations": [{ "expression": "object.metadata.name != 'no' || variables.bad == ''" }],
                });
                enforce(t, spec, json!({})).await?;
                let why = "composited variable \"bad\" fails to evaluate: no such key: missing";
                let source = "object.metadata.name != 'no' || variables.bad == ''";
                denies(t, &format!("expression '{source}' resulted in error: {why}")).await?;
                passes(t, &map("yes", &[])).await
            },
        ),
        case(
            "members_of_what_has_none_are_missing",
            "A member of null, of a number or of a text is a key that is missing.",
            async |t| {
                let all = "[has(namespaceObject.metadata.deletionTimestamp), has(oldObject.data), \
                           has(object.data.k.more)].map(x, string(x)).join('+')";
                tells(t, all, "false+false+false").await
            },
        ),
        case(
            "a_member_of_null_fails",
            "To read a member of a missing old object is an error.",
            async |t| {
                enforce(t, valid("oldObject.data.k == 'v'"), json!({})).await?;
                let why = "resulted in error: no such key: data";
                denies(t, &format!("expression 'oldObject.data.k == 'v'' {why}")).await
            },
        ),
    ]
}
