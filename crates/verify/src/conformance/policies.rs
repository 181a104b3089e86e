//! ValidatingAdmissionPolicies and their bindings.
//!
//! Policies are of cluster scope: each selects the namespace of its case. The real server takes
//! about a second to know a new one.

mod compiling;
mod denying;
mod fixture;
mod matching;
mod parameters;
mod seeing;

use crate::conformance::Case;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = denying::cases();
    cases.extend(seeing::cases());
    cases.extend(matching::cases());
    cases.extend(parameters::cases());
    cases.extend(compiling::cases());
    cases
}
