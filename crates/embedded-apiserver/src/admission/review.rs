//! AdmissionReview: the request that a webhook gets, and the answer that it gives. Pure.
#![doc(alias = "k8s.io/apiserver/pkg/admission/plugin/webhook/request")]

use api_front::User;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::admission::Operation;
use crate::api::kind::Kind;
use crate::api::status::Status;

/// The version of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewVersion {
    V1,
    V1beta1,
}

impl ReviewVersion {
    /// The first one of `admissionReviewVersions` that this server knows.
    pub(crate) fn of(accepted: &[&str]) -> Option<Self> {
        accepted.iter().find_map(|version| match *version {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1beta1),
            _ => None,
        })
    }

    const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

/// The request of a review.
#[derive(Debug, Clone, Copy)]
#[doc(alias = "AdmissionRequest")]
pub(crate) struct ReviewRequest<'a> {
    /// The kind of the objects, in the version that the webhook's rules name.
    pub(crate) kind: &'a Kind,
    /// The resource, in the same version.
    pub(crate) resource: &'a Kind,
    /// The same two in the version of the client's request.
    pub(crate) requested: (&'a Kind, &'a Kind),
    pub(crate) subresource: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) operation: Operation,
    pub(crate) user: &'a User,
    /// Null without one.
    pub(crate) object: &'a Value,
    pub(crate) old_object: &'a Value,
    pub(crate) dry_run: bool,
    pub(crate) options: &'a Value,
}

impl ReviewRequest<'_> {
    /// The review to send.
    #[doc(alias = "CreateAdmissionObjects")]
    pub(crate) fn to_review(self, version: ReviewVersion, uid: &str) -> Value {
        let mut request = Map::new();
        let mut set = |member: &str, value: Value| drop(request.insert(member.to_owned(), value));
        set("uid", uid.into());
        set("kind", gvk(self.kind));
        set("resource", gvr(self.resource));
        set("requestKind", gvk(self.requested.0));
        set("requestResource", gvr(self.requested.1));
        if let Some(subresource) = self.subresource {
            set("subResource", subresource.into());
            set("requestSubResource", subresource.into());
        }
        for (member, text) in [("name", self.name), ("namespace", self.namespace)] {
            if !text.is_empty() {
                set(member, text.into());
            }
        }
        set("operation", self.operation.as_str().into());
        set("userInfo", user_info(self.user));
        set("object", self.object.clone());
        set("oldObject", self.old_object.clone());
        set("dryRun", self.dry_run.into());
        set("options", self.options.clone());
        json!({
            "kind": "AdmissionReview", "apiVersion": version.api_version(), "request": request,
        })
    }
}

fn gvk(kind: &Kind) -> Value {
    json!({ "group": kind.group(), "version": kind.version(), "kind": kind.kind() })
}

fn gvr(kind: &Kind) -> Value {
    json!({ "group": kind.group(), "version": kind.version(), "resource": kind.plural() })
}

/// A user, as reviews have it.
#[doc(alias = "authentication.k8s.io/v1 UserInfo")]
pub(crate) fn user_info(user: &User) -> Value {
    let mut info = json!({ "username": user.name() });
    if !user.get_uid().is_empty() {
        info["uid"] = user.get_uid().into();
    }
    if !user.groups().is_empty() {
        info["groups"] = user.groups().into();
    }
    if !user.get_extra().is_empty() {
        info["extra"] = json!(user.get_extra());
    }
    info
}

/// A webhook's answer.
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "AdmissionResponse")]
pub(crate) struct ReviewResponse {
    pub(crate) allowed: bool,
    /// `status` of the response.
    result: Option<Value>,
    /// The text of a JSON patch; empty for none.
    pub(crate) patch: Vec<u8>,
    pub(crate) patch_type: String,
    pub(crate) warnings: Vec<String>,
}

impl ReviewResponse {
    /// Reads the review that came back.
    ///
    /// # Errors
    ///
    /// Go's text, if it is no answer to the review of this uid.
    #[doc(alias = "VerifyAdmissionResponse")]
    pub(crate) fn read(
        review: &Value,
        version: ReviewVersion,
        uid: &str,
        mutates: bool,
    ) -> Result<Self, String> {
        let Some(response) = review.get("response").filter(|response| response.is_object()) else {
            return Err("webhook response was absent".to_owned());
        };
        let text = |of: &Value, member: &str| {
            of.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let patch = STANDARD.decode(text(response, "patch"));
        let patch = patch.map_err(|error| format!("response.patch is no base64: {error}"))?;
        let patch_type = response.get("patchType").filter(|said| !said.is_null());
        if version == ReviewVersion::V1 {
            let said = text(response, "uid");
            if said != uid {
                return Err(format!("expected response.uid={uid:?}, got {said:?}"));
            }
            let said = gvk_text(&text(review, "apiVersion"), &text(review, "kind"));
            let own = gvk_text(version.api_version(), "AdmissionReview");
            if said != own {
                return Err(format!("expected webhook response of {own}, got {said}"));
            }
            check_patch(&patch, patch_type, mutates)?;
        }
        let is_patch = mutates && !patch.is_empty();
        let patch_type = match (version, patch_type) {
            (ReviewVersion::V1, Some(said)) => said.as_str().unwrap_or_default().to_owned(),
            _ => "JSONPatch".to_owned(),
        };
        let warnings = response.get("warnings").and_then(Value::as_array).into_iter().flatten();
        Ok(Self {
            allowed: response.get("allowed") == Some(&true.into()),
            result: response.get("status").filter(|status| status.is_object()).cloned(),
            patch: if is_patch { patch } else { Vec::new() },
            patch_type,
            warnings: warnings.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    /// The error of a request that the webhook denies.
    #[doc(alias = "ToStatusErr")]
    pub(crate) fn denied(self, webhook: &str) -> Status {
        let result = self.result.unwrap_or_else(|| json!({}));
        let text = |member: &str| result.get(member).and_then(Value::as_str).unwrap_or_default();
        let code = result.get("code").and_then(Value::as_u64).unwrap_or(0);
        let code = u16::try_from(code).unwrap_or(0).max(400);
        let why = match (text("message"), text("reason")) {
            ("", "") => " without explanation".to_owned(),
            ("", reason) => format!(": {reason}"),
            (message, _) => format!(": {message}"),
        };
        let message = format!("admission webhook {webhook:?} denied the request{why}");
        let details = result.get("details").filter(|details| details.is_object()).cloned();
        Status::denied(code, text("reason").to_owned(), message).with_details(details)
    }
}

fn check_patch(patch: &[u8], patch_type: Option<&Value>, mutates: bool) -> Result<(), String> {
    let why = match (mutates, patch.is_empty(), patch_type) {
        (true, false, None) => "webhook returned response.patch but not response.patchType",
        (true, true, Some(_)) => "webhook returned response.patchType but not response.patch",
        (true, false, Some(said)) if said == "" => {
            "webhook returned invalid response.patchType of \"\""
        }
        (false, false, _) => "validating webhook may not return response.patch",
        (false, true, Some(_)) => "validating webhook may not return response.patchType",
        _ => return Ok(()),
    };
    Err(why.to_owned())
}

/// `schema.GroupVersionKind.String` of apimachinery.
fn gvk_text(api_version: &str, kind: &str) -> String {
    match api_version.split_once('/') {
        Some((group, version)) => format!("{group}/{version}, Kind={kind}"),
        None => format!("/{api_version}, Kind={kind}"),
    }
}
