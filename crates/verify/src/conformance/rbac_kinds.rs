//! Roles and bindings as objects: what they fill in, refuse and keep. What they allow is not asked
//! here.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

const GROUP: &str = "rbac.authorization.k8s.io";

fn roles(t: &Target, rest: &str) -> String {
    t.of_group("rbac.authorization.k8s.io/v1", "roles", rest)
}

fn bindings(t: &Target, rest: &str) -> String {
    t.of_group("rbac.authorization.k8s.io/v1", "rolebindings", rest)
}

fn of_cluster(plural: &str, rest: &str) -> String {
    format!("/apis/{GROUP}/v1/{plural}{rest}")
}

fn role(name: &str, rules: Value) -> Value {
    json!({ "metadata": { "name": name }, "rules": rules })
}

fn binding(name: &str, role: Value, subjects: Value) -> Value {
    json!({ "metadata": { "name": name }, "roleRef": role, "subjects": subjects })
}

fn reader() -> Value {
    json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": "reader" })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_role_without_rules_says_null",
            "A Role without rules, or with none in the list, says null.",
            async |t| {
                for rules in [json!([]), Value::Null] {
                    let made = t.make(&roles(t, ""), role("a", rules)).await?;
                    holds("rules is null", made.get("rules").is_some_and(Value::is_null))?;
                    t.delete(&roles(t, "/a")).await?.is(200)?;
                }
                Ok(())
            },
        ),
        case(
            "a_rule_needs_verbs",
            "A rule without verbs, groups or resources is refused for each.",
            async |t| {
                let answer = t.post(&roles(t, "?dryRun=All"), &role("a", json!([{}]))).await?;
                let status = answer.invalid(&[
                    "FieldValueRequired rules[0].verbs",
                    "FieldValueRequired rules[0].apiGroups",
                    "FieldValueRequired rules[0].resources",
                ])?;
                holds(
                    "it is said what",
                    text(&status, "/message").contains("verbs must contain at least one value"),
                )
            },
        ),
        case(
            "paths_are_for_cluster_roles",
            "A Role with non-resource URLs is refused; a ClusterRole takes them, if the rule has nothing else.",
            async |t| {
                let rule = json!([{ "verbs": ["get"], "nonResourceURLs": ["/healthz"] }]);
                let status = t
                    .post(&roles(t, "?dryRun=All"), &role("a", rule.clone()))
                    .await?
                    .invalid(&["FieldValueInvalid rules[0].nonResourceURLs"])?;
                holds(
                    "it is said why",
                    text(&status, "/message")
                        .contains("namespaced rules cannot apply to non-resource URLs"),
                )?;
                let path = of_cluster("clusterroles", "?dryRun=All");
                t.make(&path, role(&t.own("a"), rule)).await?;
                let both = json!([{ "verbs": ["get"], "nonResourceURLs": ["/healthz"], "resources": ["pods"], "apiGroups": [""] }]);
                t.post(&path, &role(&t.own("a"), both))
                    .await?
                    .invalid(&["FieldValueInvalid rules[0].nonResourceURLs"])?;
                Ok(())
            },
        ),
        case(
            "an_aggregation_needs_selectors",
            "A ClusterRole with an aggregation rule without selectors is refused.",
            async |t| {
                let mut object = role(&t.own("a"), json!([]));
                object["aggregationRule"] = json!({ "clusterRoleSelectors": [] });
                t.post(&of_cluster("clusterroles", "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueRequired aggregationRule.clusterRoleSelectors"])?;
                Ok(())
            },
        ),
        case(
            "names_of_roles_may_have_colons",
            "Names of roles and bindings are parts of paths: colons and capitals are fine.",
            async |t| {
                t.make(&roles(t, "?dryRun=All"), role("System:a_B", json!([]))).await?;
                t.post(&roles(t, "?dryRun=All"), &role("a%b", json!([])))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.name"])?;
                Ok(())
            },
        ),
        case(
            "a_bindings_groups_are_filled_in",
            "The group of a roleRef, of users and of groups is filled in; that of a service account stays empty.",
            async |t| {
                let subjects = json!([{ "kind": "User", "name": "u" }, { "kind": "Group", "name": "g" }, { "kind": "ServiceAccount", "name": "s", "namespace": "n" }]);
                let made = t
                    .make(
                        &bindings(t, "?dryRun=All"),
                        binding("a", json!({ "kind": "Role", "name": "r" }), subjects),
                    )
                    .await?;
                has(
                    &made,
                    json!({ "roleRef": { "apiGroup": GROUP }, "subjects": [{ "apiGroup": GROUP }, { "apiGroup": GROUP }, { "apiGroup": null }] }),
                )
            },
        ),
        case(
            "a_binding_binds_a_role",
            "A roleRef of another kind, another group or without a name is refused; a ClusterRoleBinding takes ClusterRoles alone.",
            async |t| {
                for (role, cause) in [
                    (json!({ "kind": "Pod", "name": "r" }), "FieldValueNotSupported roleRef.kind"),
                    (
                        json!({ "kind": "Role", "name": "r", "apiGroup": "x" }),
                        "FieldValueNotSupported roleRef.apiGroup",
                    ),
                    (json!({ "kind": "Role" }), "FieldValueRequired roleRef.name"),
                ] {
                    t.post(&bindings(t, "?dryRun=All"), &binding("a", role, json!([])))
                        .await?
                        .invalid(&[cause])?;
                }
                let object =
                    binding(&t.own("a"), json!({ "kind": "Role", "name": "r" }), json!([]));
                t.post(&of_cluster("clusterrolebindings", "?dryRun=All"), &object)
                    .await?
                    .invalid(&["FieldValueNotSupported roleRef.kind"])?;
                Ok(())
            },
        ),
        case(
            "a_subject_is_somebody",
            "A subject without a name, of another kind, or a service account without its namespace is refused.",
            async |t| {
                let path = of_cluster("clusterrolebindings", "?dryRun=All");
                for (subject, cause) in [
                    (json!({ "kind": "User" }), "FieldValueRequired subjects[0].name"),
                    (
                        json!({ "kind": "Robot", "name": "r" }),
                        "FieldValueNotSupported subjects[0].kind",
                    ),
                    (
                        json!({ "kind": "ServiceAccount", "name": "s" }),
                        "FieldValueRequired subjects[0].namespace",
                    ),
                    (
                        json!({ "kind": "ServiceAccount", "name": "s", "namespace": "n", "apiGroup": "x" }),
                        "FieldValueNotSupported subjects[0].apiGroup",
                    ),
                ] {
                    t.post(&path, &binding(&t.own("a"), reader(), json!([subject])))
                        .await?
                        .invalid(&[cause])?;
                }
                Ok(())
            },
        ),
        case(
            "a_role_reference_is_immutable",
            "A change of a binding's roleRef answers 422; its subjects can be changed.",
            async |t| {
                t.make(&bindings(t, ""), binding("a", reader(), json!([]))).await?;
                let status = t
                    .merge(&bindings(t, "/a"), json!({ "roleRef": { "name": "writer" } }))
                    .await?
                    .invalid(&["FieldValueInvalid roleRef"])?;
                let expected = format!(
                    r#"Invalid value: {{"APIGroup":"{GROUP}","Kind":"ClusterRole","Name":"writer"}}: cannot change roleRef"#
                );
                same("message", text(&status, "/details/causes/0/message").to_owned(), expected)?;
                t.merge(
                    &bindings(t, "/a"),
                    json!({ "subjects": [{ "kind": "User", "name": "u" }] }),
                )
                .await?
                .is(200)?;
                Ok(())
            },
        ),
        case(
            "replace_creates_roles",
            "A PUT of a missing Role or RoleBinding creates it: 201; without a version it overwrites.",
            async |t| {
                t.put(&roles(t, "/a"), &role("a", json!([]))).await?.is(201)?;
                t.put(
                    &roles(t, "/a"),
                    &role(
                        "a",
                        json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }]),
                    ),
                )
                .await?
                .is(200)?;
                t.put(&bindings(t, "/a"), &binding("a", reader(), json!([]))).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "deletes_of_roles_answer_a_status",
            "The delete of a Role answers a Status.",
            async |t| {
                t.make(&roles(t, ""), role("a", json!([]))).await?;
                has(
                    &t.delete(&roles(t, "/a")).await?.is(200)?,
                    json!({ "kind": "Status", "details": { "kind": "roles", "group": GROUP } }),
                )
            },
        ),
        case(
            "a_table_of_bindings",
            "A table of RoleBindings says the role, and in its wide form who is bound.",
            async |t| {
                let subjects = json!([{ "kind": "User", "name": "u" }, { "kind": "ServiceAccount", "name": "s", "namespace": "n" }]);
                t.make(&bindings(t, ""), binding("a", reader(), subjects)).await?;
                let table = t
                    .get_as(&bindings(t, "/a"), "application/json;as=Table;v=v1;g=meta.k8s.io")
                    .await?
                    .is(200)?;
                has(
                    &table["rows"][0]["cells"],
                    json!(["a", "ClusterRole/reader", "*", "u", "", "n/s"]),
                )
            },
        ),
        case("a_table_of_roles", "A table of Roles says name and creation time.", async |t| {
            t.make(&roles(t, ""), role("a", json!([]))).await?;
            let table = t
                .get_as(&roles(t, "/a"), "application/json;as=Table;v=v1;g=meta.k8s.io")
                .await?
                .is(200)?;
            has(
                &table["columnDefinitions"],
                json!([{ "name": "Name", "format": "name" }, { "name": "Created At", "type": "date" }]),
            )
        }),
        case(
            "a_service_account_can_be_named",
            "A ServiceAccount keeps its lists and its wish about tokens.",
            async |t| {
                let mut object = named("a");
                object["automountServiceAccountToken"] = false.into();
                object["imagePullSecrets"] = json!([{ "name": "s" }]);
                let made = t.make(&t.core("serviceaccounts", ""), object).await?;
                has(
                    &made,
                    json!({ "automountServiceAccountToken": false, "imagePullSecrets": [{ "name": "s" }], "secrets": null }),
                )
            },
        ),
    ]
}
