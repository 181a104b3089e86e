//! CertificateSigningRequests. Requests and certificates are checked to be PEM, and not decoded.

mod conditions;

use api_front::User;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use k8s_value::{FieldError, FieldErrors, names};
use serde_json::{Value, json};

use crate::api::metadata::Object;
use crate::strategy::age;
use crate::strategy::builtin::cells::{list, text_at};
use crate::strategy::builtin::members::{at, items, said, text};
use crate::strategy::builtin::row::{CLUSTER, Row};
use crate::strategy::builtin::values::one_of_texts;
use crate::strategy::columns::Cell::{Made, Member};
use crate::strategy::columns::{AGE, Column, NAME, column};
use crate::strategy::{Creation, Strategy, Write};

pub(super) static CERTIFICATE_SIGNING_REQUEST: Row = Row {
    group: "certificates.k8s.io",
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    status: true,
    short_names: &["csr"],
    selectable: &["spec.signerName"],
    strategy: &CertificateSigningRequest,
    ..CLUSTER
};

const COLUMNS: &[Column] = &[
    NAME,
    AGE,
    column("SignerName", Member("/spec/signerName", "<none>")),
    column("Requestor", Member("/spec/username", "")),
    column("RequestedDuration", Made(duration)),
    column("Condition", Made(condition)),
];
const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
const SHORTEST: i64 = 600;

#[derive(Debug)]
struct CertificateSigningRequest;

impl Strategy for CertificateSigningRequest {
    fn set_creator(&self, object: &mut Object, user: &User) {
        let spec = object.entry("spec").or_insert_with(|| json!({}));
        let Value::Object(spec) = spec else { return };
        for (member, value, is_said) in [
            ("username", json!(user.name()), true),
            ("uid", json!(user.get_uid()), !user.get_uid().is_empty()),
            ("groups", json!(user.groups()), !user.groups().is_empty()),
            ("extra", json!(user.get_extra()), !user.get_extra().is_empty()),
        ] {
            spec.remove(member);
            if is_said {
                spec.insert(member.to_owned(), value);
            }
        }
    }

    fn prepare_create(&self, object: &mut Object, _: Creation) {
        object.insert("status".to_owned(), json!({}));
    }

    fn prepare_update(&self, object: &mut Object, old: &Object) {
        if let Some(spec) = old.get("spec") {
            object.insert("spec".to_owned(), spec.clone());
        }
    }

    fn prepare_status_update(&self, object: &mut Object, old: &Object, now: Timestamp) {
        conditions::keep_approval(object, old);
        conditions::set_times(object, old, now);
    }

    fn has_approval(&self) -> bool {
        true
    }

    fn prepare_approval(&self, object: &mut Object, old: &Object, now: Timestamp) {
        conditions::set_times(object, old, now);
        let conditions = at(object, "status.conditions").cloned();
        let mut status = old.get("status").cloned().unwrap_or_else(|| json!({}));
        if let Value::Object(status) = &mut status {
            status.remove("conditions");
            status.extend(conditions.map(|conditions| ("conditions".to_owned(), conditions)));
        }
        object.insert("status".to_owned(), status);
    }

    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"], &["status"]]
    }

    fn reset_fields_of_status(&self) -> &'static [&'static [&'static str]] {
        &[&["spec"], &["status", "conditions"]]
    }

    fn validate_name(&self, _: &str) -> Option<&'static str> {
        None
    }

    fn validate(&self, object: &Object, write: Write<'_>, causes: &mut FieldErrors) {
        validate_request(at(object, "spec.request").unwrap_or(&Value::Null), causes);
        validate_usages(object, causes);
        validate_signer(text(object, "spec.signerName"), causes);
        let path = "spec.expirationSeconds";
        if let Some(seconds) =
            at(object, path).filter(|it| it.as_i64().is_some_and(|it| it < SHORTEST))
        {
            let why = "may not specify a duration less than 600 seconds (10 minutes)";
            causes.push(FieldError::invalid_json(path, seconds, why));
        }
        conditions::validate(object, write.old, causes);
        let Some(old) = write.old else { return };
        let path = "status.certificate";
        let (certificate, before) = (text(object, path), text(old, path));
        if certificate != before {
            validate_certificate(certificate, causes);
        }
        conditions::validate_change(object, old, write.subresource, causes);
        if certificate != before && write.subresource != Some("status") {
            causes.push(FieldError::forbidden(path, "updates may not set certificate content"));
        } else if certificate != before && !before.is_empty() {
            let why = "updates may not modify existing certificate content";
            causes.push(FieldError::forbidden(path, why));
        }
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }
}

/// The types of the PEM blocks in base64 of base64.
fn pem_types(encoded: &str) -> Vec<String> {
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut types = Vec::new();
    let mut rest = &*text;
    while let Some((_, begun)) = rest.split_once("-----BEGIN ") {
        let Some((kind, body)) = begun.split_once("-----") else { break };
        let Some((_, after)) = body.split_once(&format!("-----END {kind}-----")) else { break };
        types.push(kind.to_owned());
        rest = after;
    }
    types
}

fn validate_request(request: &Value, causes: &mut FieldErrors) {
    let types = pem_types(request.as_str().unwrap_or_default());
    if types.first().is_none_or(|kind| kind != "CERTIFICATE REQUEST") {
        let why = "PEM block type must be CERTIFICATE REQUEST";
        causes.push(FieldError::invalid_json("spec.request", request, why));
    }
}

fn validate_certificate(certificate: &str, causes: &mut FieldErrors) {
    let types = pem_types(certificate);
    let why = match types.iter().find(|kind| *kind != "CERTIFICATE") {
        _ if certificate.is_empty() => return,
        Some(other) => format!("only CERTIFICATE PEM blocks are allowed, found {other:?}"),
        None if types.is_empty() => "must contain at least one CERTIFICATE PEM block".to_owned(),
        None => return,
    };
    causes.push(FieldError::invalid("status.certificate", "<certificate data>", &why));
}

fn validate_usages(object: &Object, causes: &mut FieldErrors) {
    let path = "spec.usages";
    let mut seen: Vec<&Value> = Vec::new();
    for (path, usage) in items(at(object, path), path) {
        one_of_texts(usage, &path, USAGES, causes);
        if seen.contains(&usage) {
            causes.push(FieldError::duplicate(path, usage));
        }
        seen.push(usage);
    }
    if seen.is_empty() {
        causes.push(FieldError::required(path, ""));
    }
}

#[doc(alias = "ValidateSignerName")]
fn validate_signer(signer: &str, causes: &mut FieldErrors) {
    let path = "spec.signerName";
    let mut refuse = |value: &str, why: &str| causes.push(FieldError::invalid(path, value, why));
    let (domain, name) = match signer.split('/').collect::<Vec<_>>().as_slice() {
        _ if signer == "kubernetes.io/legacy-unknown" => {
            return refuse(signer, "the legacy signerName is not allowed via this API version");
        }
        [""] => return causes.push(FieldError::required(path, "")),
        [domain, name] => (*domain, *name),
        _ => {
            let why = "must be a fully qualified domain and path of the form \
                       'example.com/signer-name'";
            return refuse(signer, why);
        }
    };
    type Wrong = fn(&str) -> Option<&'static str>;
    let wrong = |text: &str, wrong: Wrong| {
        text.split('.')
            .find_map(|part| Some(format!("validating label {part:?}: {}", wrong(part)?)))
    };
    if let Some(why) = wrong(domain, names::wrong_label) {
        refuse(domain, &why);
    }
    if !domain.contains('.') {
        refuse(domain, "should be a domain with at least two segments separated by dots");
    }
    if let Some(why) = wrong(name, names::wrong_subdomain) {
        refuse(name, &why);
    }
}

fn duration(request: &Value) -> Value {
    let seconds = request.pointer("/spec/expirationSeconds").and_then(Value::as_i64);
    seconds.map_or_else(|| "<none>".into(), |seconds| age::human(seconds).into())
}

#[doc(alias = "extractCSRStatus")]
fn condition(request: &Value) -> Value {
    let conditions = list(request, "/status/conditions");
    let has = |kind: &str| conditions.iter().any(|condition| said(condition, "type") == kind);
    let approval = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let is_issued = !text_at(request, "/status/certificate").is_empty();
    format!("{approval}{failed}{}", if is_issued { ",Issued" } else { "" }).into()
}
