//! Conversion webhooks of definitions: what a version shows of objects that are stored in another.

mod failures;
mod hook;
mod reads;
mod refusals;
mod writes;

use crate::conformance::Case;

pub(super) fn cases() -> Vec<Case> {
    [reads::cases(), writes::cases(), failures::cases(), refusals::cases()]
        .into_iter()
        .flatten()
        .collect()
}
