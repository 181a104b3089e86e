//! CertificateSigningRequests and APIServices: who asks, who approves, what is named.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::certificates::{CERTIFICATE, REQUEST};
use crate::conformance::refused_members::refused;
use crate::conformance::{Case, case};

fn path(rest: &str) -> String {
    format!("/apis/certificates.k8s.io/v1/certificatesigningrequests{rest}")
}

fn request(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": {
        "request": REQUEST, "signerName": "example.com/s", "usages": ["client auth"],
        "username": "somebody", "groups": ["others"],
    } })
}

fn condition(kind: &str) -> Value {
    json!({ "status": { "conditions": [{ "type": kind, "status": "True", "reason": "r", "message": "m" }] } })
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "the_server_says_who_asks",
            "The user and the groups in a CertificateSigningRequest are those of its writer, and no update changes its spec.",
            async |t| {
                let name = t.own("a");
                let made = t.make(&path(""), request(&name)).await?;
                let said = text(&made, "/spec/username");
                holds("the writer", !said.is_empty() && said != "somebody")?;
                holds(
                    "its groups",
                    items(&made, "/spec/groups").contains(&json!("system:masters")),
                )?;
                same("status", made["status"].clone(), json!({}))?;
                let patch = json!({ "spec": { "usages": ["any"], "username": "ada" } });
                let patched = t.merge(&path(&format!("/{name}")), patch).await?.is(200)?;
                same("spec", patched["spec"].clone(), made["spec"].clone())
            },
        ),
        case(
            "a_request_is_approved_once",
            "Only the subresource approval adds Approved or Denied, never both, and never removes them.",
            async |t| {
                let name = t.own("a");
                t.make(&path(""), request(&name)).await?;
                let of = |rest: &str| path(&format!("/{name}{rest}"));
                t.merge(&of("/status"), condition("Approved"))
                    .await?
                    .invalid(&["FieldValueForbidden status.conditions"])?;
                let approved = t.merge(&of("/approval"), condition("Approved")).await?.is(200)?;
                let first =
                    json!({ "type": "Approved", "lastUpdateTime": "*", "lastTransitionTime": "*" });
                has(&approved["status"]["conditions"][0], first)?;
                t.merge(&of("/approval"), condition("Denied"))
                    .await?
                    .invalid(&["FieldValueForbidden status.conditions"])?;
                let both = json!({ "status": { "conditions": [
                    { "type": "Approved", "status": "True" }, { "type": "Denied", "status": "True" },
                ] } });
                t.merge(&of("/approval"), both)
                    .await?
                    .invalid(&["FieldValueInvalid status.conditions"])?;
                has(
                    &t.get(&of("/approval")).await?.is(200)?,
                    json!({ "kind": "CertificateSigningRequest" }),
                )
            },
        ),
        case(
            "a_certificate_is_issued_once",
            "The status of a CertificateSigningRequest takes a certificate in PEM, which stays; the approval takes none.",
            async |t| {
                let name = t.own("a");
                t.make(&path(""), request(&name)).await?;
                let of = |rest: &str| path(&format!("/{name}{rest}"));
                let issued = |pem: &str| json!({ "status": { "certificate": pem } });
                let field = "status.certificate";
                t.merge(&of("/status"), issued(REQUEST))
                    .await?
                    .invalid(&[&format!("FieldValueInvalid {field}")])?;
                let kept = t.merge(&of("/approval"), issued(CERTIFICATE)).await?.is(200)?;
                holds("no certificate", kept["status"].get("certificate").is_none())?;
                t.merge(&of("/status"), issued(CERTIFICATE)).await?.is(200)?;
                t.merge(&of("/status"), issued(""))
                    .await?
                    .invalid(&[&format!("FieldValueForbidden {field}")])?;
                Ok(())
            },
        ),
        case(
            "a_request_is_pem_for_a_signer",
            "A CertificateSigningRequest holds a request in PEM, a signer with a domain, known usages, and lasts ten minutes.",
            async |t| {
                refused(
                    t,
                    &path("?dryRun=All"),
                    &request(&t.own("a")),
                    &[
                        ("/spec/request", json!(CERTIFICATE), &["FieldValueInvalid spec.request"]),
                        ("/spec/usages", json!([]), &["FieldValueRequired spec.usages"]),
                        (
                            "/spec/usages",
                            json!(["odd"]),
                            &["FieldValueNotSupported spec.usages[0]"],
                        ),
                        (
                            "/spec/usages",
                            json!(["any", "any"]),
                            &["FieldValueDuplicate spec.usages[1]"],
                        ),
                        ("/spec/signerName", json!("s"), &["FieldValueInvalid spec.signerName"]),
                        (
                            "/spec/signerName",
                            json!("kubernetes.io/legacy-unknown"),
                            &["FieldValueInvalid spec.signerName"],
                        ),
                        (
                            "/spec/expirationSeconds",
                            json!(599),
                            &["FieldValueInvalid spec.expirationSeconds"],
                        ),
                    ],
                )
                .await?;
                let mut without = request(&t.own("a"));
                without["spec"].as_object_mut().map(|spec| spec.remove("request"));
                let why = "spec.request: Invalid value: null: PEM block type must be";
                t.post(&path("?dryRun=All"), &without).await?.says(422, "Invalid", why).map(drop)
            },
        ),
        case(
            "an_api_service_is_named_by_its_version",
            "An APIService is named by its version and group; without a service it is local and available.",
            async |t| {
                let group = format!("{}.example.com", t.class);
                let object = json!({ "metadata": { "name": format!("v1.{group}") }, "spec": {
                    "group": group, "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
                } });
                let path = "/apis/apiregistration.k8s.io/v1/apiservices?dryRun=All";
                let made = t.make(path, object.clone()).await?;
                has(
                    &made["status"]["conditions"][0],
                    json!({ "type": "Available", "status": "True", "reason": "Local" }),
                )?;
                refused(
                    t,
                    path,
                    &object,
                    &[
                        ("/metadata/name", json!(group), &["FieldValueInvalid metadata.name"]),
                        (
                            "/spec/groupPriorityMinimum",
                            json!(0),
                            &["FieldValueInvalid spec.groupPriorityMinimum"],
                        ),
                        (
                            "/spec/versionPriority",
                            json!(1001),
                            &["FieldValueInvalid spec.versionPriority"],
                        ),
                        ("/spec/caBundle", json!("eA=="), &["FieldValueInvalid spec.caBundle"]),
                        (
                            "/spec/service",
                            json!({ "port": 0 }),
                            &[
                                "FieldValueRequired spec.service.namespace",
                                "FieldValueRequired spec.service.name",
                                "FieldValueInvalid spec.service.port",
                            ],
                        ),
                    ],
                )
                .await
            },
        ),
    ]
}
