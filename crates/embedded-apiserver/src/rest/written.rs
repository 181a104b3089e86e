//! The result of a write.

use std::sync::Arc;

use http::{Response, StatusCode};

use crate::api::media::Form;
use crate::api::response::with_warnings;
use crate::api::status::json_response;
use crate::store::stored::Stored;
use crate::strategy::resource::ServedResource;
use api_front::Body;

/// The result of a write.
#[derive(Debug)]
pub(crate) struct Written {
    pub(super) object: Arc<Stored>,
    pub(super) created: bool,
    /// For the client's `Warning` headers.
    pub(super) warnings: Vec<String>,
}

impl Written {
    pub(crate) fn into_response(self, kind: &ServedResource, form: Form) -> Response<Body> {
        let code = if self.created { StatusCode::CREATED } else { StatusCode::OK };
        with_warnings(json_response(code, self.object.to_bytes(kind, form)), &self.warnings)
    }
}
