//! An object that was posted to a subresource of another one.

use k8s_merge::managed_fields::ManagedFields;

use crate::api::metadata::Object;
use crate::api::status::Status;
use crate::rest::admission_chain::AdmissionChain;

/// A posted object.
pub(super) struct Posted<'a> {
    pub(super) object: Object,
    /// The owners of its fields.
    pub(super) managed: ManagedFields,
    pub(super) dry_run: bool,
    pub(super) admission: &'a AdmissionChain<'a>,
}

impl Posted<'_> {
    /// Runs the validating hooks. Each subresource does so when it has checked the object.
    pub(super) async fn validate(&self) -> Result<(), Status> {
        self.admission.validate(&self.object, &self.managed, None).await
    }
}
