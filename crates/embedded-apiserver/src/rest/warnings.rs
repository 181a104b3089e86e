//! What the answer to a write warns of.

use crate::api::metadata::Object;
use crate::store::stored::Stored;
use crate::strategy::resource::ServedResource;

/// What the answer to a write warns of, by the kind's own rules.
pub(super) fn warned(kind: &ServedResource, stored: &Stored, old: Option<&Object>) -> Vec<String> {
    // To read the object takes time.
    let strategy = kind.strategy();
    if strategy.has_warnings() { strategy.warnings(&stored.object(), old) } else { Vec::new() }
}
