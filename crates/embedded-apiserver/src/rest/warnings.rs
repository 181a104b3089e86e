//! Warnings of a write.

use crate::api::metadata::Object;
use crate::store::stored::Stored;
use crate::strategy::resource::ServedResource;

/// The warnings of a kind's strategy.
pub(super) fn warned(kind: &ServedResource, stored: &Stored, old: Option<&Object>) -> Vec<String> {
    // Decoding the object is slow, so ask first.
    let strategy = kind.strategy();
    if strategy.has_warnings() { strategy.warnings(&stored.object(), old) } else { Vec::new() }
}
