//! Certificates of webhooks.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::Target;
use crate::conformance::webhook_server::Certificate;
use crate::conformance::webhooks::fixture::*;
use crate::conformance::{Case, case};

/// Creates an object whose webhook has this certificate.
async fn refuses(t: &Target, certificate: Certificate, why: &str) -> Outcome {
    let hooks = hooks_with(t, certificate, allow).await?;
    hooks.one(VALIDATING, "a", json!({})).await?;
    let answer = t.post(&t.maps(""), &map("x", "v")).await?;
    let post = format!("failed to call webhook: Post \"{}/a?timeout=10s\": ", hooks.server.url());
    failed(&answer, "a", &format!("{post}tls: failed to verify certificate: x509: {why}"))
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_expired_certificate_fails_the_call",
            "A webhook whose certificate has expired fails the call.",
            async |t| {
                let why = "certificate has expired or is not yet valid: current time ";
                refuses(t, Certificate::Expired, why).await
            },
        ),
        case(
            "a_certificate_for_another_name_fails_the_call",
            "A webhook whose certificate is for another address fails the call.",
            async |t| {
                let why = "certificate is valid for 127.0.0.9, not 127.0.0.1";
                refuses(t, Certificate::OtherName, why).await
            },
        ),
        case(
            "an_unknown_authority_fails_the_call",
            "A webhook whose certificate the caBundle does not know fails the call.",
            async |t| {
                let (hooks, other) = (hooks(t, allow).await?, hooks(t, allow).await?);
                let mut client_config = hooks.server.client_config("/a");
                client_config["caBundle"] = other.server.ca_bundle().into();
                hooks.one(VALIDATING, "a", json!({ "clientConfig": client_config })).await?;
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                let url = format!("{}/a?timeout=10s", hooks.server.url());
                let why = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
                failed(&answer, "a", &format!("failed to call webhook: Post \"{url}\": {why}"))
            },
        ),
        case(
            "without_a_ca_bundle_no_authority_is_known",
            "Without a caBundle a certificate of an own authority fails the call.",
            async |t| {
                let hooks = hooks(t, allow).await?;
                let client_config = json!({ "url": format!("{}/a", hooks.server.url()) });
                hooks.one(VALIDATING, "a", json!({ "clientConfig": client_config })).await?;
                let answer = t.post(&t.maps(""), &map("x", "v")).await?;
                let url = format!("{}/a?timeout=10s", hooks.server.url());
                let why = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
                failed(&answer, "a", &format!("failed to call webhook: Post \"{url}\": {why}"))
            },
        ),
        case(
            "several_certificates_in_a_ca_bundle_count",
            "A caBundle of several authorities trusts each of them.",
            async |t| {
                let (hooks, other) = (hooks(t, sign).await?, hooks(t, allow).await?);
                let bundle =
                    base64(&format!("{}\n{}", other.server.authority(), hooks.server.authority()));
                let mut client_config = hooks.server.client_config("/a");
                client_config["caBundle"] = bundle.into();
                hooks.one(MUTATING, "a", json!({ "clientConfig": client_config })).await?;
                has(&t.map("x", "v").await?, json!({ "data": { "k": "v a" } }))
            },
        ),
    ]
}
