//! Errors with code 422 and reason `Invalid`, which name the invalid fields.

use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::api::status::Status;
use k8s_value::{FieldError, FieldErrors};

impl Status {
    /// A custom object that declares another kind or version. `more`: its other errors.
    pub(crate) fn of_other_kind(
        kind: &Kind,
        (other_kind, other_version): (Option<&str>, Option<&str>),
        name: &str,
        more: FieldErrors,
    ) -> Self {
        let version = kind.api_version();
        let said = [("kind", other_kind, kind.kind()), ("apiVersion", other_version, &version)];
        let mut causes = FieldErrors::default();
        for (field, said, own) in said {
            if let Some(said) = said {
                causes.push(FieldError::invalid(field, said, &format!("must be {own}")));
            }
        }
        causes.append(more);
        Self::invalid_of(kind, (other_kind, other_version), name, &causes)
    }

    /// An invalid custom object. The error names the declared kind and version.
    pub(crate) fn invalid_of(
        kind: &Kind,
        (other_kind, other_version): (Option<&str>, Option<&str>),
        name: &str,
        causes: &FieldErrors,
    ) -> Self {
        let group = match other_version {
            Some(version) => version.split_once('/').map_or("", |(group, _)| group),
            None => kind.group(),
        };
        let (of, dot) =
            (other_kind.unwrap_or_else(|| kind.kind()), if group.is_empty() { "" } else { "." });
        let what = FieldError::message_of(causes.as_slice());
        let mut status =
            Self::new(422, "Invalid", format!("{of}{dot}{group} {name:?} is invalid: {what}"));
        let members = [("name", name), ("group", group), ("kind", of)];
        let members = members.into_iter().filter(|(_, value)| !value.is_empty());
        let mut details: serde_json::Map<_, _> =
            members.map(|(member, value)| (member.to_owned(), Value::from(value))).collect();
        details.insert(
            "causes".to_owned(),
            causes.as_slice().iter().map(FieldError::to_cause).collect(),
        );
        status.details = Some(details.into());
        status
    }

    /// An update without a resourceVersion, for a kind that requires one. Upstream names the
    /// resource here, not the kind.
    pub(crate) fn version_required(kind: &Kind, name: &str) -> Self {
        let why = "Invalid value: 0: must be specified for an update";
        let field = "metadata.resourceVersion";
        let message = format!("{} \"{name}\" is invalid: {field}: {why}", kind.qualified_plural());
        let mut status = Self::new(422, "Invalid", message).about(kind, name);
        if let Some(details) = &mut status.details {
            details["causes"] =
                json!([{ "reason": "FieldValueInvalid", "message": why, "field": field }]);
        }
        status
    }

    /// A patch whose result cannot be decoded.
    pub(crate) fn invalid_patch(why: &str) -> Self {
        let message = format!("the result of the patch cannot be decoded: {why}");
        let mut status = Self::new(422, "Invalid", message);
        status.details = Some(json!({
            "causes": [{ "reason": "FieldValueInvalid", "message": why, "field": "patch" }],
        }));
        status
    }

    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &FieldErrors) -> Self {
        let what = FieldError::message_of(causes.as_slice());
        let message = format!("{} {name:?} is invalid: {what}", kind.qualified_kind());
        let mut details = Self::details(kind.group_of_rules(), kind.kind(), name);
        details["causes"] = causes.as_slice().iter().map(FieldError::to_cause).collect();
        let mut status = Self::new(422, "Invalid", message);
        status.details = Some(details);
        status
    }

    /// An invalid review. Upstream names no kind here.
    pub(crate) fn invalid_review(group: &str, causes: &FieldErrors) -> Self {
        let what = FieldError::message_of(causes.as_slice());
        let mut status = Self::new(422, "Invalid", format!(".{group} \"\" is invalid: {what}"));
        let causes: Vec<_> = causes.as_slice().iter().map(FieldError::to_cause).collect();
        status.details = Some(json!({ "group": group, "causes": causes }));
        status
    }

    /// Contradictory options of a list, watch or delete.
    pub(crate) fn invalid_options(options: &str, cause: &FieldError) -> Self {
        Self::contradictory_options(options, std::slice::from_ref(cause))
    }

    /// As `invalid_options`, with several errors.
    pub(crate) fn contradictory_options(options: &str, causes: &[FieldError]) -> Self {
        let what = FieldError::message_of(causes);
        let mut status =
            Self::new(422, "Invalid", format!("{options}.meta.k8s.io \"\" is invalid: {what}"));
        status.details = Some(json!({
            "group": "meta.k8s.io",
            "kind": options,
            "causes": causes.iter().map(FieldError::to_cause).collect::<Vec<_>>(),
        }));
        status
    }
}
