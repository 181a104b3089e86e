//! The kinds that a cluster's administrator writes: what admits, what is served and who may.

use serde_json::{Value, json};

use crate::conformance::Case;
use crate::conformance::kinds::walk::{KIND, Sample};

const ADMISSION: &str = "admissionregistration.k8s.io/v1";

static VALIDATING_WEBHOOKS: Sample = Sample {
    version: ADMISSION,
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    is_namespaced: false,
    content: |_, _| json!({ "webhooks": [webhook()] }),
    ..KIND
};
static MUTATING_WEBHOOKS: Sample = Sample {
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    ..VALIDATING_WEBHOOKS
};
static VALIDATING_POLICY: Sample = Sample {
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
    has_status: true,
    content: |_, _| {
        json!({ "spec": {
            "matchConstraints": { "resourceRules": [rule()] },
            "validations": [{ "expression": "true" }],
        } })
    },
    ..VALIDATING_WEBHOOKS
};
static VALIDATING_BINDING: Sample = Sample {
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    content: |_, _| json!({ "spec": { "policyName": "a", "validationActions": ["Deny"] } }),
    ..VALIDATING_WEBHOOKS
};
static MUTATING_POLICY: Sample = Sample {
    kind: "MutatingAdmissionPolicy",
    plural: "mutatingadmissionpolicies",
    content: |_, _| {
        json!({ "spec": {
            "matchConstraints": { "resourceRules": [rule()] },
            "reinvocationPolicy": "Never",
            "mutations": [{ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": "Object{}" } }],
        } })
    },
    ..VALIDATING_WEBHOOKS
};
static MUTATING_BINDING: Sample = Sample {
    kind: "MutatingAdmissionPolicyBinding",
    plural: "mutatingadmissionpolicybindings",
    content: |_, _| json!({ "spec": { "policyName": "a" } }),
    ..VALIDATING_WEBHOOKS
};

/// A rule that no request of another case matches.
fn rule() -> Value {
    json!({
        "operations": ["CREATE"], "apiGroups": ["nothing.example.com"], "apiVersions": ["v1"],
        "resources": ["nothings"],
    })
}

fn webhook() -> Value {
    json!({
        "name": "a.example.com", "clientConfig": { "url": "https://127.0.0.1:1/" },
        "rules": [rule()], "sideEffects": "None", "admissionReviewVersions": ["v1"],
    })
}

pub(super) fn cases() -> Vec<Case> {
    kinds! {
        "validating_webhooks" VALIDATING_WEBHOOKS "a ValidatingWebhookConfiguration is answered; it has no subresource";
        "mutating_webhooks" MUTATING_WEBHOOKS "a MutatingWebhookConfiguration is answered; it has no subresource";
        "validating_policies" VALIDATING_POLICY "a ValidatingAdmissionPolicy is answered, its status included";
        "validating_bindings" VALIDATING_BINDING "a ValidatingAdmissionPolicyBinding is answered; it has no subresource";
        "mutating_policies" MUTATING_POLICY "a MutatingAdmissionPolicy is answered; it has no subresource";
        "mutating_bindings" MUTATING_BINDING "a MutatingAdmissionPolicyBinding is answered; it has no subresource";
    }
}
