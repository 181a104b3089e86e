//! `metav1.Status`: errors, and the success of a delete.

use std::borrow::Cow;

use api_front::Body;
use http::{Response, StatusCode, header};
use serde_json::{Value, json};

use crate::api::kind::Kind;
use k8s_value::go_value::quoted;
use k8s_value::json_text::READABLE_DEPTH;

pub(crate) use k8s_value::{FieldError, FieldErrors};

mod invalid;
mod media;

/// An error of the API.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Status {
    code: u16,
    reason: Cow<'static, str>,
    message: String,
    details: Option<Value>,
    retry_after: Option<u32>,
    more: Option<Box<More>>,
}

/// Rare parts of an error.
#[derive(Debug, Clone, Default, PartialEq)]
struct More {
    /// `metadata.continue` of an expired list: a token for the newest revision.
    continuation: Option<String>,
    /// Warnings of the request before the error.
    warnings: Vec<String>,
}

impl Status {
    fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.into(), message.into());
        Self { code, reason, message, details: None, retry_after: None, more: None }
    }

    fn about(mut self, kind: &Kind, name: &str) -> Self {
        self.details = Some(Self::details(kind.group(), kind.plural(), name));
        self
    }

    fn details(group: &str, kind: &str, name: &str) -> Value {
        let mut details = json!({ "kind": kind });
        for (member, text) in [("name", name), ("group", group)] {
            if !text.is_empty() {
                details[member] = text.into();
            }
        }
        details
    }

    /// The message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(
            404,
            "NotFound",
            format!("{} {} not found", kind.qualified_plural(), quoted(name)),
        )
        .about(kind, name)
    }

    /// A path that names no resource of the group.
    pub(crate) fn no_such_resource() -> Self {
        let mut status =
            Self::new(404, "NotFound", "the server could not find the requested resource");
        status.details = Some(json!({}));
        status
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{} \"{name}\" already exists", kind.qualified_plural()),
        )
        .about(kind, name)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            kind.qualified_plural()
        );
        Self::new(409, "Conflict", message).about(kind, name)
    }

    /// An apply to fields of other managers.
    pub(crate) fn apply_conflict(message: String, causes: Value) -> Self {
        let mut status = Self::new(409, "Conflict", message);
        status.details = Some(json!({ "causes": causes }));
        status
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.qualified_plural());
        Self::new(403, "Forbidden", message).about(kind, name)
    }

    /// An authorizer refuses the request: `NewForbidden` of apimachinery. Not only for served
    /// resources; for a path, all three are empty.
    pub(crate) fn refused(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let dot = if group.is_empty() { "" } else { "." };
        let message = match (resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{resource}{dot}{group} is forbidden: {why}"),
            _ => format!("{resource}{dot}{group} {name:?} is forbidden: {why}"),
        };
        let mut status = Self::new(403, "Forbidden", message);
        let members = [("name", name), ("group", group), ("kind", resource)];
        let members = members.into_iter().filter(|(_, value)| !value.is_empty());
        status.details = Some(Value::Object(
            members.map(|(member, value)| (member.to_owned(), Value::from(value))).collect(),
        ));
        status
    }

    /// An admission hook refuses the request, with its own code and reason.
    pub(crate) fn denied(code: u16, reason: String, message: String) -> Self {
        Self::new(code, reason, message)
    }

    pub(crate) fn with_details(self, details: Option<Value>) -> Self {
        Self { details, ..self }
    }

    /// A policy refuses the request of an object: its group, its resource and its name.
    #[doc(alias = "reasonToCode")]
    pub(crate) fn denied_by_policy(
        (group, resource, name): (&str, &str, &str),
        reason: &str,
        why: &str,
    ) -> Self {
        let (code, reason) = match reason {
            "Forbidden" => (403, reason),
            "RequestEntityTooLarge" => (413, reason),
            "" => (422, "Invalid"),
            _ => (422, reason),
        };
        let mut status = Self::refused(group, resource, name, why);
        status.code = code;
        status.reason = reason.to_owned().into();
        if let Some(details) = &mut status.details {
            details["causes"] = json!([{ "message": why }]);
        }
        status
    }

    /// An object of a kind that need not be served.
    pub(crate) fn missing(group: &str, resource: &str, name: &str) -> Self {
        let mut status =
            Self::new(404, "NotFound", format!("{resource}.{group} {name:?} not found"));
        status.details = Some(json!({ "name": name, "group": group, "kind": resource }));
        status
    }

    /// A create in a terminating namespace.
    pub(crate) fn namespace_terminating(kind: &Kind, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut status = Self::forbidden(kind, name, &why);
        if let Some(details) = &mut status.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace",
            }]);
        }
        status
    }

    /// The error of a create while the old object is still being deleted.
    pub(crate) fn and_is_being_deleted(mut self) -> Self {
        self.message = format!("object is being deleted: {}", self.message);
        self
    }

    /// The error of a create with `generateName`: no free name was found.
    pub(crate) fn no_unique_name(mut self) -> Self {
        self.message.push_str(", the server was not able to generate a unique name for the object");
        if let Some(details) = &mut self.details {
            details["retryAfterSeconds"] = 1.into();
        }
        self.retry_after = Some(1);
        self
    }

    /// A precondition of a delete does not hold. Upstream names the kind here, not the resource.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let qualified = kind.qualified_kind();
        let message = format!("Operation cannot be fulfilled on {qualified} \"{name}\": {why}");
        let mut status = Self::new(409, "Conflict", message);
        status.details = Some(Self::details(kind.group_of_rules(), kind.kind(), name));
        status
    }

    /// A well-formed patch that cannot be applied to this object.
    pub(crate) fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self { details: Some(json!({})), ..Self::new(422, "Invalid", message) }
    }

    /// Upstream panics, and returns this.
    pub(crate) fn panicked() -> Self {
        Self::internal("This request caused apiserver to panic. Look in the logs for details.")
    }

    /// A limit of this server, as `unprocessable` with the reason.
    pub(crate) fn out_of_bounds(why: &str) -> Self {
        let causes =
            json!({ "causes": [{ "reason": "UnexpectedServerResponse", "message": why }] });
        Self { details: Some(causes), ..Self::unprocessable() }
    }

    pub(crate) fn bad_request(why: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", why)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let mut status = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        status.details = Some(json!({}));
        status
    }

    /// A verb that custom kinds do not support.
    pub(crate) fn not_supported(kind: &Kind, verb: &str) -> Self {
        let kind_name = kind.qualified_plural();
        let message = format!("{verb} is not supported on resources of kind {kind_name:?}");
        Self::new(405, "MethodNotAllowed", message).about(kind, "")
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    /// The server asks to try again later, in some seconds, or whenever the client likes. `cause`:
    /// its reason and message.
    pub(crate) fn too_many_requests(
        message: &str,
        (reason, why): (&str, &str),
        seconds: u32,
    ) -> Self {
        let mut status = Self::new(429, "TooManyRequests", message);
        let mut details = json!({ "causes": [{ "reason": reason, "message": why }] });
        if seconds > 0 {
            details["retryAfterSeconds"] = seconds.into();
            status.retry_after = Some(seconds);
        }
        status.details = Some(details);
        status
    }

    /// Upstream's response to an error without a reason.
    pub(crate) fn unknown(why: impl Into<String>) -> Self {
        Self::new(500, "", why)
    }

    pub(crate) fn internal(why: &str) -> Self {
        let mut status = Self::new(500, "InternalError", format!("Internal error occurred: {why}"));
        status.details = Some(json!({ "causes": [{ "message": why }] }));
        status
    }

    /// A feature of upstream that this server lacks.
    pub(crate) fn not_implemented(what: &str) -> Self {
        Self::new(501, "NotImplemented", format!("embedded-apiserver does not implement {what}"))
    }

    /// JSON or YAML beyond the readable depth.
    pub(crate) fn too_deep() -> Self {
        Self::not_implemented(&format!(
            "JSON or YAML that is nested deeper than {READABLE_DEPTH} levels"
        ))
    }

    /// A watch or a list at a compacted revision.
    pub(crate) fn expired(why: impl Into<String>) -> Self {
        Self::new(410, "Expired", why)
    }

    /// An expired page of a list, with a token for an inconsistent continuation.
    pub(crate) fn expired_continue(continuation: String) -> Self {
        let mut status = Self::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new \
             list without the continue parameter, or use the continue token in this response to retrieve the \
             remainder of the results. Continuing with the provided token results in an inconsistent list - objects \
             that were created, modified, or deleted between the time the first chunk was returned and now may show \
             up in the list.",
        );
        status.more.get_or_insert_default().continuation = Some(continuation);
        status
    }

    /// A read at a revision in the future.
    pub(crate) fn revision_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut status = Self::new(504, "Timeout", message);
        status.details = Some(json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        }));
        status.retry_after = Some(1);
        status
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = (*self.reason).into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        if let Some(token) = self.more.as_ref().and_then(|more| more.continuation.as_ref()) {
            status["metadata"]["continue"] = token.as_str().into();
        }
        status
    }

    pub(crate) const fn code(&self) -> u16 {
        self.code
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let code = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json_response(code, self.to_json().to_string());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        let warnings = self.more.map(|more| more.warnings).unwrap_or_default();
        crate::api::response::with_warnings(response, &warnings)
    }

    /// Adds warnings before those of the error.
    pub(crate) fn warned(mut self, warnings: &[String]) -> Self {
        if !warnings.is_empty() {
            self.more.get_or_insert_default().warnings.splice(..0, warnings.iter().cloned());
        }
        self
    }

    /// Adds warnings after those of the error.
    pub(crate) fn warned_later(mut self, warnings: Vec<String>) -> Self {
        if !warnings.is_empty() {
            self.more.get_or_insert_default().warnings.extend(warnings);
        }
        self
    }
}

/// The Status of a successful delete.
pub(crate) fn deleted(kind: &Kind, name: &str, uid: &str) -> Value {
    let mut details = json!({ "name": name, "kind": kind.plural(), "uid": uid });
    if !kind.group().is_empty() {
        details["group"] = kind.group().into();
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

pub(crate) fn json_response(code: StatusCode, json: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::full(json));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache, private"));
    response
}
