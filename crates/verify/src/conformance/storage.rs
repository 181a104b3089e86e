//! Claims, volumes and classes.

mod bindings;
mod claims;
mod classes;
mod objects;
mod topology;
mod volumes;

use crate::conformance::case::Case;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = claims::cases();
    cases.extend(volumes::cases());
    cases.extend(classes::cases());
    cases.extend(topology::cases());
    cases.extend(bindings::cases());
    cases
}
