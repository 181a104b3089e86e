//! The kinds that a cluster's administrator writes: what admits, what is served and who may.

use serde_json::{Value, json};

use crate::conformance::Case;
use crate::conformance::certificates::REQUEST;
use crate::conformance::kinds::walk::{KIND, Sample};

const ADMISSION: &str = "admissionregistration.k8s.io/v1";
const NETWORKING: &str = "networking.k8s.io/v1";
const STORAGE: &str = "storage.k8s.io/v1";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io/v1";
const DEVICES: &str = "resource.k8s.io/v1";

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

static INGRESS: Sample = Sample {
    version: NETWORKING,
    kind: "Ingress",
    plural: "ingresses",
    has_status: true,
    content: |_, _| {
        let service = json!({ "name": "s", "port": { "number": 80 } });
        json!({ "spec": { "defaultBackend": { "service": service } } })
    },
    ..KIND
};
static INGRESS_CLASS: Sample = Sample {
    version: NETWORKING,
    kind: "IngressClass",
    plural: "ingressclasses",
    is_namespaced: false,
    content: |_, _| json!({ "spec": { "controller": "example.com/c" } }),
    ..KIND
};
static NETWORK_POLICY: Sample = Sample {
    version: NETWORKING,
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    content: |_, _| json!({ "spec": { "podSelector": {} } }),
    ..KIND
};
static IP_ADDRESS: Sample = Sample {
    version: NETWORKING,
    kind: "IPAddress",
    plural: "ipaddresses",
    is_namespaced: false,
    name: |_, letter| format!("2001:db8::{letter}"),
    content: |_, _| json!({ "spec": { "parentRef": { "resource": "things", "name": "a" } } }),
    ..KIND
};
static SERVICE_CIDR: Sample = Sample {
    version: NETWORKING,
    kind: "ServiceCIDR",
    plural: "servicecidrs",
    is_namespaced: false,
    has_status: true,
    content: |_, _| json!({ "spec": { "cidrs": ["2001:db8:1::/112"] } }),
    ..KIND
};
static ATTACHMENT: Sample = Sample {
    version: STORAGE,
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    is_namespaced: false,
    has_status: true,
    content: |_, _| {
        let source = json!({ "persistentVolumeName": "v" });
        json!({ "spec": { "attacher": "example.com", "nodeName": "n", "source": source } })
    },
    ..KIND
};
static CSI_DRIVER: Sample = Sample {
    version: STORAGE,
    kind: "CSIDriver",
    plural: "csidrivers",
    is_namespaced: false,
    content: |_, _| json!({ "spec": {} }),
    ..KIND
};
static CSI_NODE: Sample = Sample {
    kind: "CSINode",
    plural: "csinodes",
    content: |_, _| json!({ "spec": { "drivers": [{ "name": "example.com", "nodeID": "i" }] } }),
    ..CSI_DRIVER
};
static CAPACITY: Sample = Sample {
    version: STORAGE,
    kind: "CSIStorageCapacity",
    plural: "csistoragecapacities",
    content: |_, _| json!({ "storageClassName": "c" }),
    ..KIND
};
static ATTRIBUTES_CLASS: Sample = Sample {
    kind: "VolumeAttributesClass",
    plural: "volumeattributesclasses",
    content: |_, _| json!({ "driverName": "example.com", "parameters": { "a": "b" } }),
    ..CSI_DRIVER
};
static SIGNING_REQUEST: Sample = Sample {
    version: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    is_namespaced: false,
    has_status: true,
    content: |_, _| {
        let (signer, usages) = ("example.com/s", ["client auth"]);
        json!({ "spec": { "request": REQUEST, "signerName": signer, "usages": usages } })
    },
    ..KIND
};
static API_SERVICE: Sample = Sample {
    version: "apiregistration.k8s.io/v1",
    kind: "APIService",
    plural: "apiservices",
    is_namespaced: false,
    has_status: true,
    name: |t, letter| format!("v1.{letter}.{}.example.com", t.class),
    content: |_, name| {
        let group = name.trim_start_matches("v1.");
        json!({ "spec": {
            "group": group, "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
        } })
    },
    ..KIND
};
static FLOW_SCHEMA: Sample = Sample {
    version: FLOW_CONTROL,
    kind: "FlowSchema",
    plural: "flowschemas",
    is_namespaced: false,
    has_status: true,
    content: |_, _| json!({ "spec": { "priorityLevelConfiguration": { "name": "global-default" } } }),
    ..KIND
};
static PRIORITY_LEVEL: Sample = Sample {
    kind: "PriorityLevelConfiguration",
    plural: "prioritylevelconfigurations",
    content: |_, _| {
        let limited = json!({ "limitResponse": { "type": "Reject" } });
        json!({ "spec": { "type": "Limited", "limited": limited } })
    },
    ..FLOW_SCHEMA
};
static DEVICE_CLASS: Sample = Sample {
    version: DEVICES,
    kind: "DeviceClass",
    plural: "deviceclasses",
    is_namespaced: false,
    content: |_, _| json!({ "spec": {} }),
    ..KIND
};
static CLAIM: Sample = Sample {
    version: DEVICES,
    kind: "ResourceClaim",
    plural: "resourceclaims",
    has_status: true,
    content: |_, _| json!({ "spec": {} }),
    ..KIND
};
static CLAIM_TEMPLATE: Sample = Sample {
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    has_status: false,
    content: |_, _| json!({ "spec": { "spec": {} } }),
    ..CLAIM
};
static SLICE: Sample = Sample {
    kind: "ResourceSlice",
    plural: "resourceslices",
    content: |_, _| {
        let pool = json!({ "name": "p", "resourceSliceCount": 1 });
        json!({ "spec": { "driver": "example.com", "nodeName": "n", "pool": pool } })
    },
    ..DEVICE_CLASS
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

pub(super) fn cases() -> Vec<(&'static Sample, Case)> {
    kinds! {
        "validating_webhooks" VALIDATING_WEBHOOKS "a ValidatingWebhookConfiguration is answered; it has no subresource";
        "mutating_webhooks" MUTATING_WEBHOOKS "a MutatingWebhookConfiguration is answered; it has no subresource";
        "validating_policies" VALIDATING_POLICY "a ValidatingAdmissionPolicy is answered, its status included";
        "validating_bindings" VALIDATING_BINDING "a ValidatingAdmissionPolicyBinding is answered; it has no subresource";
        "mutating_policies" MUTATING_POLICY "a MutatingAdmissionPolicy is answered; it has no subresource";
        "mutating_bindings" MUTATING_BINDING "a MutatingAdmissionPolicyBinding is answered; it has no subresource";
        "ingresses" INGRESS "an Ingress is answered, its status included";
        "ingress_classes" INGRESS_CLASS "an IngressClass is answered; it has no subresource";
        "network_policies" NETWORK_POLICY "a NetworkPolicy is answered; it has no subresource";
        "ip_addresses" IP_ADDRESS "an IPAddress is answered; it has no subresource";
        "service_cidrs" SERVICE_CIDR "a ServiceCIDR is answered, its status included";
        "volume_attachments" ATTACHMENT "a VolumeAttachment is answered, its status included";
        "csi_drivers" CSI_DRIVER "a CSIDriver is answered; it has no subresource";
        "csi_nodes" CSI_NODE "a CSINode is answered; it has no subresource";
        "csi_capacities" CAPACITY "a CSIStorageCapacity is answered; it has no subresource";
        "volume_attributes_classes" ATTRIBUTES_CLASS "a VolumeAttributesClass is answered; it has no subresource";
        "signing_requests" SIGNING_REQUEST "a CertificateSigningRequest is answered, its status included";
        "api_services" API_SERVICE "an APIService is answered, its status included";
        "flow_schemas" FLOW_SCHEMA "a FlowSchema is answered, its status included";
        "priority_levels" PRIORITY_LEVEL "a PriorityLevelConfiguration is answered, its status included";
        "device_classes" DEVICE_CLASS "a DeviceClass is answered; it has no subresource";
        "resource_claims" CLAIM "a ResourceClaim is answered, its status included";
        "resource_claim_templates" CLAIM_TEMPLATE "a ResourceClaimTemplate is answered; it has no subresource";
        "resource_slices" SLICE "a ResourceSlice is answered; it has no subresource";
    }
}
