//! Warnings of a write.

use crate::api::metadata::Object;
use crate::rest::admission_chain::AdmissionChain;
use crate::store::stored::Stored;
use crate::strategy::resource::ServedResource;

/// The warnings of mutating webhooks, of a kind's strategy, and of validating webhooks. Few
/// strategies warn of writes to the status.
pub(super) fn warned(
    admission: &AdmissionChain<'_>,
    kind: &ServedResource,
    stored: &Stored,
    old: Option<&Object>,
    subresource: Option<&str>,
) -> Vec<String> {
    let [mut warnings, validating] = admission.warnings();
    // Decoding the object is slow, so ask first.
    let strategy = kind.strategy();
    let warns = subresource != Some("status") || strategy.warns_of_status();
    if warns && strategy.has_warnings() {
        warnings.extend(strategy.warnings(&stored.object(), old));
    }
    warnings.extend(validating);
    warnings
}
