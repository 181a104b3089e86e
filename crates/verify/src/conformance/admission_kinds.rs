//! Webhook configurations, admission policies and their bindings as objects: what they fill in and
//! refuse. What they admit is not asked here.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::refused_members::refused;
use crate::conformance::{Case, Target, case};

const HOOKS: &str = "validatingwebhookconfigurations";

fn path(plural: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{plural}?dryRun=All")
}

/// A rule that no request of another case matches.
fn rule() -> Value {
    json!({
        "operations": ["CREATE"], "apiGroups": ["nothing.example.com"], "apiVersions": ["v1"],
        "resources": ["nothings"],
    })
}

fn hooks(t: &Target) -> Value {
    json!({ "metadata": { "name": t.own("a") }, "webhooks": [{
        "name": "a.example.com", "clientConfig": { "url": "https://127.0.0.1:1/" },
        "rules": [rule()], "sideEffects": "None", "admissionReviewVersions": ["v1"],
    }] })
}

fn policy(t: &Target) -> Value {
    json!({ "metadata": { "name": t.own("a") }, "spec": {
        "matchConstraints": { "resourceRules": [rule()] },
        "validations": [{ "expression": "true" }],
    } })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "webhooks_are_filled_in",
            "A webhook without policies fails closed, matches equivalents and waits ten seconds.",
            async |t| {
                let made = t.make(&path(HOOKS), hooks(t)).await?;
                has(
                    &made,
                    json!({ "metadata": { "generation": 1 }, "webhooks": [{
                    "failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10,
                    "namespaceSelector": {}, "objectSelector": {},
                }] }),
                )?;
                let made = t.make(&path("mutatingwebhookconfigurations"), hooks(t)).await?;
                has(&made, json!({ "webhooks": [{ "reinvocationPolicy": "Never" }] }))
            },
        ),
        case(
            "a_webhook_has_a_full_name_and_no_side_effects",
            "A webhook needs three segments in its name, a known review version, a timeout up to 30 seconds and no side effects.",
            async |t| {
                refused(
                    t,
                    &path(HOOKS),
                    &hooks(t),
                    &[
                        ("/webhooks/0/name", json!("a.b"), &["FieldValueInvalid webhooks[0].name"]),
                        ("/webhooks/0/name", json!(""), &["FieldValueRequired webhooks[0].name"]),
                        (
                            "/webhooks/0/sideEffects",
                            json!("Some"),
                            &["FieldValueNotSupported webhooks[0].sideEffects"],
                        ),
                        (
                            "/webhooks/0/sideEffects",
                            Value::Null,
                            &["FieldValueRequired webhooks[0].sideEffects"],
                        ),
                        (
                            "/webhooks/0/admissionReviewVersions",
                            json!(["v2"]),
                            &["FieldValueInvalid webhooks[0].admissionReviewVersions"],
                        ),
                        (
                            "/webhooks/0/admissionReviewVersions",
                            json!([]),
                            &["FieldValueRequired webhooks[0].admissionReviewVersions"],
                        ),
                        (
                            "/webhooks/0/timeoutSeconds",
                            json!(31),
                            &["FieldValueInvalid webhooks[0].timeoutSeconds"],
                        ),
                        (
                            "/webhooks/0/failurePolicy",
                            json!("Odd"),
                            &["FieldValueNotSupported webhooks[0].failurePolicy"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_webhook_is_called_by_url_or_service",
            "A webhook has either an https URL without user, query and fragment, or a service with a port and a clean path.",
            async |t| {
                let client = "/webhooks/0/clientConfig";
                let url = ["FieldValueInvalid webhooks[0].clientConfig.url"];
                let service = json!({ "namespace": "n", "name": "s" });
                refused(
                    t,
                    &path(HOOKS),
                    &hooks(t),
                    &[
                        (client, json!({}), &["FieldValueRequired webhooks[0].clientConfig"]),
                        (
                            client,
                            json!({ "url": "https://h/", "service": service }),
                            &["FieldValueRequired webhooks[0].clientConfig"],
                        ),
                        (client, json!({ "url": "http://h/" }), &url),
                        (client, json!({ "url": "https:///a" }), &url),
                        (client, json!({ "url": "https://u@h/?q#f" }), &url),
                        (
                            client,
                            json!({ "service": { "namespace": "n", "name": "s", "port": 0 } }),
                            &["FieldValueInvalid webhooks[0].clientConfig.service.port"],
                        ),
                        (
                            client,
                            json!({ "service": { "namespace": "n", "name": "s", "path": "a//b" } }),
                            &["FieldValueInvalid webhooks[0].clientConfig.service.path"],
                        ),
                        // The real server names the one for the other.
                        (
                            client,
                            json!({ "service": { "namespace": "n" } }),
                            &["FieldValueRequired webhooks[0].clientConfig.service.namespace"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_wildcard_in_a_rule_stands_alone",
            "A rule of a webhook needs operations, groups, versions and resources, and a star is the only item of its list.",
            async |t| {
                let at = "webhooks[0].rules[0]";
                let field = |reason: &str, member: &str| format!("{reason} {at}.{member}");
                for (member, wrong) in [
                    ("operations", json!(["*", "CREATE"])),
                    ("apiGroups", json!(["*", "a"])),
                    ("apiVersions", json!(["*", "v1"])),
                    ("resources", json!(["*/*", "a"])),
                    ("resources", json!(["*", "a"])),
                ] {
                    let (pointer, invalid) = (
                        format!("/webhooks/0/rules/0/{member}"),
                        field("FieldValueInvalid", member),
                    );
                    let required = field("FieldValueRequired", member);
                    refused(
                        t,
                        &path(HOOKS),
                        &hooks(t),
                        &[(&pointer, wrong, &[&invalid]), (&pointer, json!([]), &[&required])],
                    )
                    .await?;
                }
                refused(
                    t,
                    &path(HOOKS),
                    &hooks(t),
                    &[
                        (
                            "/webhooks/0/rules/0/scope",
                            json!("Odd"),
                            &["FieldValueNotSupported webhooks[0].rules[0].scope"],
                        ),
                        (
                            "/webhooks/0/rules/0/resources",
                            json!(["a/*", "a/b"]),
                            &["FieldValueInvalid webhooks[0].rules[0].resources[1]"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "webhooks_of_a_configuration_differ_in_name",
            "Two webhooks of one name in a configuration answer 422, as do two match conditions of one name in a webhook.",
            async |t| {
                let mut object = hooks(t);
                object["webhooks"] = json!([object["webhooks"][0], object["webhooks"][0]]);
                t.post(&path(HOOKS), &object)
                    .await?
                    .invalid(&["FieldValueDuplicate webhooks[1].name"])?;
                let condition = json!({ "name": "a", "expression": "true" });
                refused(
                    t,
                    &path(HOOKS),
                    &hooks(t),
                    &[
                        (
                            "/webhooks/0/matchConditions",
                            json!([condition, condition]),
                            &["FieldValueDuplicate webhooks[0].matchConditions[1].name"],
                        ),
                        (
                            "/webhooks/0/matchConditions",
                            json!([{ "name": "a b", "expression": " " }]),
                            &[
                                "FieldValueRequired webhooks[0].matchConditions[0].expression",
                                "FieldValueInvalid webhooks[0].matchConditions[0].name",
                            ],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_policy_matches_and_validates_something",
            "A ValidatingAdmissionPolicy needs resource rules and validations, and names its parameters by version and kind.",
            async |t| {
                refused(
                    t,
                    &path("validatingadmissionpolicies"),
                    &policy(t),
                    &[
                        (
                            "/spec/matchConstraints",
                            Value::Null,
                            &["FieldValueRequired spec.matchConstraints"],
                        ),
                        (
                            "/spec/matchConstraints",
                            json!({}),
                            &["FieldValueRequired spec.matchConstraints.resourceRules"],
                        ),
                        (
                            "/spec/validations",
                            json!([]),
                            &[
                                "FieldValueRequired spec.validations",
                                "FieldValueRequired spec.auditAnnotations",
                            ],
                        ),
                        (
                            "/spec/validations/0/expression",
                            json!(" "),
                            &["FieldValueRequired spec.validations[0].expression"],
                        ),
                        (
                            "/spec/validations/0/message",
                            json!("a\nb"),
                            &["FieldValueInvalid spec.validations[0].message"],
                        ),
                        (
                            "/spec/validations/0/reason",
                            json!("Odd"),
                            &["FieldValueNotSupported spec.validations[0].reason"],
                        ),
                        (
                            "/spec/paramKind",
                            json!({ "apiVersion": "a/b/c", "kind": "x y" }),
                            &[
                                "FieldValueInvalid spec.paramKind.apiVersion",
                                "FieldValueInvalid spec.paramKind.kind",
                            ],
                        ),
                        (
                            "/spec/variables",
                            json!([{ "name": "in", "expression": "1" }]),
                            &["FieldValueInvalid spec.variables[0].name"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "a_mutation_has_the_patch_of_its_type",
            "A MutatingAdmissionPolicy matches no deletes, and each mutation has the patch that its type names.",
            async |t| {
                let mut object = policy(t);
                object["spec"] = json!({
                    "matchConstraints": { "resourceRules": [rule()] }, "reinvocationPolicy": "Never",
                    "mutations": [{ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": "Object{}" } }],
                });
                refused(t, &path("mutatingadmissionpolicies"), &object, &[
                    ("/spec/mutations", json!([]), &["FieldValueRequired spec.mutations"]),
                    ("/spec/mutations/0/patchType", json!("Odd"), &["FieldValueNotSupported spec.mutations[0].patchType"]),
                    ("/spec/mutations/0/patchType", json!("JSONPatch"), &["FieldValueRequired spec.mutations[0].jsonPatch", "FieldValueInvalid spec.mutations[0].applyConfiguration"]),
                    ("/spec/reinvocationPolicy", json!(""), &["FieldValueRequired spec.reinvocationPolicy"]),
                    ("/spec/matchConstraints/resourceRules/0/operations", json!(["DELETE"]), &["FieldValueNotSupported spec.matchConstraints.resourceRules.operations"]),
                ]).await
            },
        ),
        case(
            "a_binding_acts_and_finds_its_parameters",
            "A binding needs a policy, does not both deny and warn, and finds parameters by name or by selector.",
            async |t| {
                let object = json!({
                    "metadata": { "name": t.own("a") },
                    "spec": { "policyName": "p", "validationActions": ["Deny"] },
                });
                let found = |members: Value| {
                    let mut reference = json!({ "parameterNotFoundAction": "Deny" });
                    members
                        .as_object()
                        .into_iter()
                        .flatten()
                        .for_each(|(name, value)| reference[name] = value.clone());
                    reference
                };
                refused(
                    t,
                    &path("validatingadmissionpolicybindings"),
                    &object,
                    &[
                        ("/spec/policyName", json!(""), &["FieldValueRequired spec.policyName"]),
                        ("/spec/policyName", json!("P"), &["FieldValueInvalid spec.policyName"]),
                        (
                            "/spec/validationActions",
                            json!(["Deny", "Warn"]),
                            &["FieldValueInvalid spec.validationActions"],
                        ),
                        (
                            "/spec/validationActions",
                            json!(["Odd"]),
                            &["FieldValueNotSupported spec.validationActions[0]"],
                        ),
                        (
                            "/spec/validationActions",
                            json!([]),
                            &["FieldValueRequired spec.validationActions"],
                        ),
                        ("/spec/paramRef", found(json!({})), &["FieldValueRequired spec.paramRef"]),
                        (
                            "/spec/paramRef",
                            found(json!({ "name": "a", "selector": {} })),
                            &[
                                "FieldValueForbidden spec.paramRef.name",
                                "FieldValueForbidden spec.paramRef.selector",
                            ],
                        ),
                        (
                            "/spec/paramRef",
                            json!({ "name": "a" }),
                            &["FieldValueRequired spec.paramRef.parameterNotFoundAction"],
                        ),
                    ],
                )
                .await
            },
        ),
        case(
            "names_of_static_configurations_warn",
            "A webhook configuration whose name ends with .static.k8s.io answers a warning.",
            async |t| {
                let mut object = hooks(t);
                object["metadata"]["name"] = format!("{}.static.k8s.io", t.own("a")).into();
                let answer = t.post(&path(HOOKS), &object).await?;
                let warned =
                    answer.header("warning").contains("reserved for static manifest-based");
                answer.is(201)?;
                holds("it warns", warned)
            },
        ),
    ]
}
