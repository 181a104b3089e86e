//! What admits the writes of others: webhooks and policies. None of them matches a request of the
//! calls.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::fuzz::kind::{BASE, Kind};
use crate::fuzz::pick::one;

pub(super) const KINDS: &[Kind] = &[
    Kind {
        collection: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        kind: "ValidatingWebhookConfiguration",
        rest: webhooks,
        ..GROUP
    },
    Kind {
        collection: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        kind: "MutatingWebhookConfiguration",
        rest: mutating_webhooks,
        ..GROUP
    },
    Kind {
        collection: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        kind: "ValidatingAdmissionPolicy",
        subresources: &["status"],
        rest: policy,
        status: policy_status,
        ..GROUP
    },
    Kind {
        collection: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        kind: "ValidatingAdmissionPolicyBinding",
        rest: binding,
        ..GROUP
    },
    Kind {
        collection: "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        kind: "MutatingAdmissionPolicy",
        rest: mutating_policy,
        ..GROUP
    },
    Kind {
        collection: "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
        kind: "MutatingAdmissionPolicyBinding",
        rest: mutating_binding,
        ..GROUP
    },
];

const GROUP: Kind = Kind { api_version: "admissionregistration.k8s.io/v1", cluster: true, ..BASE };

fn rule(rng: &mut Rng) -> Value {
    let mut rule = json!({
        "operations": one(rng, &[json!(["CREATE"]), json!(["CREATE", "UPDATE"]), json!(["*"])]),
        "apiGroups": ["nothing.example.com"],
        "apiVersions": one(rng, &[json!(["v1"]), json!(["*"])]),
        "resources": one(rng, &[json!(["things"]), json!(["things", "things/status"]), json!(["*/*"])]),
    });
    match rng.u8(..16) {
        0 => rule["operations"] = one(rng, &[json!([]), json!(["*", "CREATE"]), json!(["Odd"])]),
        1 => rule["operations"] = json!(["DELETE"]),
        2 => rule["apiGroups"] = json!([]),
        3 => rule["apiVersions"] = one(rng, &[json!([]), json!(["*", "v1"]), json!([""])]),
        4 => {
            rule["resources"] = one(
                rng,
                &[
                    json!([]),
                    json!([""]),
                    json!(["*", "things"]),
                    json!(["*/*", "things"]),
                    json!(["things/*", "things/status"]),
                    json!(["*/status", "things/status"]),
                ],
            );
        }
        5 => rule["scope"] = one(rng, &["Cluster", "Namespaced", "*", "Odd"]).into(),
        _ => {}
    }
    rule
}

fn selector(rng: &mut Rng) -> Value {
    one(
        rng,
        &[
            json!({}),
            json!({ "matchLabels": { "a": "b" } }),
            json!({ "matchLabels": { "a b": "c" } }),
            json!({ "matchExpressions": [{ "key": "a", "operator": "In", "values": ["b"] }] }),
            json!({ "matchExpressions": [{ "key": "a", "operator": "Odd" }] }),
        ],
    )
}

fn conditions(rng: &mut Rng) -> Value {
    one(
        rng,
        &[
            json!([{ "name": "a", "expression": "true" }]),
            json!([{ "name": "a", "expression": "true" }, { "name": "a", "expression": " " }]),
            json!([{ "name": "a b", "expression": "true" }]),
            json!([{ "expression": "true" }]),
        ],
    )
}

fn client(rng: &mut Rng) -> Value {
    let urls = ["https://127.0.0.1:1/a", "https://h.example.com", "http://h/", "https:///a", ""];
    let odd_urls = ["https://u@h/", "https://u:p@h/a", "https://h/#f", "https://h/?q=1", "x:y"];
    let path = one(rng, &["/a", "a", "/", "//", "/a//b", "/A/", ""]);
    match rng.u8(..8) {
        0 => json!({}),
        1 => json!({ "url": "https://h/", "service": { "namespace": "n", "name": "s" } }),
        2 => json!({ "service": { "namespace": "n", "name": "s" } }),
        3 => json!({ "service": { "namespace": "n", "name": "s", "path": path } }),
        4 => json!({ "service": { "name": "s", "port": one(rng, &[8443, 0, -1]) } }),
        5 => json!({ "url": one(rng, &odd_urls) }),
        _ => json!({ "url": one(rng, &urls), "caBundle": one(rng, &["", "eA=="]) }),
    }
}

fn webhook(rng: &mut Rng) -> Value {
    let mut webhook = json!({
        "name": one(rng, &["a.example.com", "a.example.com", "b.example.com", "a.b", "", "A.b.c"]),
        "clientConfig": client(rng),
        "rules": [rule(rng)],
        "sideEffects": one(rng, &["None", "None", "NoneOnDryRun", "Some"]),
        "admissionReviewVersions": ["v1"],
    });
    match rng.u8(..12) {
        0 => webhook["failurePolicy"] = one(rng, &["Fail", "Ignore", "Odd", ""]).into(),
        1 => webhook["matchPolicy"] = one(rng, &["Exact", "Equivalent", "Odd"]).into(),
        2 => webhook["timeoutSeconds"] = one(rng, &[0, 1, 30, 31]).into(),
        3 => webhook["namespaceSelector"] = selector(rng),
        4 => webhook["objectSelector"] = selector(rng),
        5 => webhook["matchConditions"] = conditions(rng),
        6 => {
            webhook["admissionReviewVersions"] = one(
                rng,
                &[
                    json!([]),
                    json!(["v2"]),
                    json!(["v1", "v1"]),
                    json!(["V1", "v1beta1"]),
                    json!([""]),
                ],
            );
        }
        7 => webhook["sideEffects"] = Value::Null,
        8 => webhook["rules"] = json!([]),
        _ => {}
    }
    webhook
}

fn webhooks(rng: &mut Rng) -> Value {
    match rng.u8(..8) {
        0 => json!({}),
        1 | 2 => json!({ "webhooks": [webhook(rng), webhook(rng)] }),
        _ => json!({ "webhooks": [webhook(rng)] }),
    }
}

fn mutating_webhooks(rng: &mut Rng) -> Value {
    let mut object = webhooks(rng);
    if let Some(webhook) = object["webhooks"].get_mut(0)
        && rng.u8(..4) == 0
    {
        webhook["reinvocationPolicy"] = one(rng, &["Never", "IfNeeded", "Odd"]).into();
    }
    object
}

fn matches(rng: &mut Rng) -> Value {
    let mut matches = json!({ "resourceRules": [rule(rng)] });
    match rng.u8(..10) {
        0 => matches["resourceRules"] = json!([]),
        1 => matches["excludeResourceRules"] = json!([rule(rng)]),
        2 => matches["namespaceSelector"] = selector(rng),
        3 => matches["objectSelector"] = selector(rng),
        4 => matches["matchPolicy"] = one(rng, &["Exact", "Odd"]).into(),
        5 => {
            matches["resourceRules"][0]["resourceNames"] =
                one(rng, &[json!(["a"]), json!(["a", "a"]), json!(["a/b"])]);
        }
        _ => {}
    }
    matches
}

/// The members that both kinds of policies have.
fn common(rng: &mut Rng) -> Value {
    let mut spec = json!({ "matchConstraints": matches(rng) });
    match rng.u8(..12) {
        0 => spec["matchConstraints"] = Value::Null,
        1 => spec["failurePolicy"] = one(rng, &["Fail", "Ignore", "Odd"]).into(),
        2 => {
            spec["paramKind"] = one(
                rng,
                &[
                    json!({ "apiVersion": "v1", "kind": "ConfigMap" }),
                    json!({ "apiVersion": "a/b/c", "kind": "x y" }),
                    json!({ "apiVersion": "/", "kind": "" }),
                    json!({ "apiVersion": "A.b/V1", "kind": "1" }),
                    json!({}),
                ],
            );
        }
        3 => spec["matchConditions"] = conditions(rng),
        4 => {
            spec["variables"] = one(
                rng,
                &[
                    json!([{ "name": "a", "expression": "1" }]),
                    json!([{ "name": "in", "expression": "1" }]),
                    json!([{ "name": "a-b", "expression": " " }]),
                    json!([{ "name": " ", "expression": "1" }]),
                ],
            );
        }
        _ => {}
    }
    spec
}

fn policy(rng: &mut Rng) -> Value {
    let mut spec = common(rng);
    spec["validations"] = json!([{ "expression": one(rng, &["true", "false", "true", ""]) }]);
    match rng.u8(..10) {
        0 => spec["validations"] = json!([]),
        1 => spec["validations"][0]["message"] = one(rng, &["m", " ", "a\nb"]).into(),
        2 => spec["validations"][0]["reason"] = one(rng, &["Forbidden", "Odd", ""]).into(),
        3 => spec["validations"][0]["messageExpression"] = one(rng, &["'m'", " "]).into(),
        4 => {
            spec["auditAnnotations"] = one(
                rng,
                &[
                    json!([{ "key": "a", "valueExpression": "'x'" }]),
                    json!([{ "key": "a", "valueExpression": "'x'" }, { "key": "a" }]),
                    json!([{ "key": "a b", "valueExpression": " " }]),
                ],
            );
        }
        _ => {}
    }
    json!({ "spec": spec })
}

fn policy_status(rng: &mut Rng) -> Value {
    let mut status = json!({ "observedGeneration": one(rng, &[1, 2]) });
    match rng.u8(..4) {
        0 => {
            status["typeChecking"] = json!({ "expressionWarnings": one(rng, &[
                json!([{ "fieldRef": "spec.validations[0].expression", "warning": "w" }]),
                json!([{ "fieldRef": " ", "warning": "" }]),
            ]) });
        }
        1 => {
            status["conditions"] = json!([{
                "type": "Ready", "status": one(rng, &["True", "Odd"]), "reason": "R",
                "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z",
            }]);
        }
        _ => {}
    }
    status
}

fn mutating_policy(rng: &mut Rng) -> Value {
    let mut spec = common(rng);
    spec["reinvocationPolicy"] = one(rng, &["Never", "IfNeeded", "Never", "Odd", ""]).into();
    let apply = json!({ "expression": "Object{}" });
    let patch = json!({ "expression": "[JSONPatch{op: 'remove', path: '/a'}]" });
    spec["mutations"] = one(
        rng,
        &[
            json!([{ "patchType": "ApplyConfiguration", "applyConfiguration": apply }]),
            json!([{ "patchType": "JSONPatch", "jsonPatch": patch }]),
            json!([{ "patchType": "JSONPatch", "applyConfiguration": apply }]),
            json!([{ "patchType": "ApplyConfiguration", "applyConfiguration": apply, "jsonPatch": patch }]),
            json!([{ "patchType": "JSONPatch", "jsonPatch": { "expression": "" } }]),
            json!([{ "patchType": "Odd" }, {}]),
            json!([]),
        ],
    );
    json!({ "spec": spec })
}

fn mutating_binding(rng: &mut Rng) -> Value {
    let mut spec = json!({ "policyName": one(rng, &["p", "q", "P", ""]) });
    match rng.u8(..4) {
        0 => spec["matchResources"] = matches(rng),
        1 => {
            spec["paramRef"] = one(
                rng,
                &[
                    json!({ "name": "a", "parameterNotFoundAction": "Deny" }),
                    json!({ "name": "a", "namespace": "n", "parameterNotFoundAction": "Allow" }),
                    json!({ "name": "a/b", "parameterNotFoundAction": "Odd" }),
                    json!({ "name": "a", "selector": {}, "parameterNotFoundAction": "Deny" }),
                    json!({ "selector": { "matchLabels": { "a": "b", "c": "d" } }, "parameterNotFoundAction": "Deny" }),
                    json!({ "selector": { "matchExpressions": [{ "key": "a", "operator": "In", "values": ["b", "c"] }] }, "parameterNotFoundAction": "Deny" }),
                    json!({}),
                ],
            );
        }
        _ => {}
    }
    json!({ "spec": spec })
}

fn binding(rng: &mut Rng) -> Value {
    let mut object = mutating_binding(rng);
    object["spec"]["validationActions"] = one(
        rng,
        &[
            json!(["Deny"]),
            json!(["Warn", "Audit"]),
            json!(["Deny"]),
            json!(["Deny", "Warn"]),
            json!(["Audit", "Audit"]),
            json!(["Odd"]),
            json!([]),
        ],
    );
    object
}
