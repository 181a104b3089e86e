//! Errors of content negotiation.

use serde_json::json;

use crate::api::status::Status;

impl Status {
    pub(crate) fn not_acceptable(accepted: &str) -> Self {
        let message = format!("only the following media types are accepted: {accepted}");
        Self::new(406, "NotAcceptable", message)
    }

    /// As `not_acceptable`, by go-restful for built-in kinds, before other checks.
    pub(crate) fn no_representation(available: &str) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        let mut status = Self::new(406, "NotAcceptable", message);
        status.details = Some(json!({}));
        status
    }

    /// As `unsupported_media_type`, by go-restful for built-in kinds.
    pub(crate) fn no_consumer() -> Self {
        let mut status = Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
        status.details = Some(json!({}));
        status
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// A media type that upstream supports behind a feature gate that is off.
    pub(crate) fn media_type_is_off() -> Self {
        let mut status = Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
        status.details = Some(json!({}));
        status
    }
}
