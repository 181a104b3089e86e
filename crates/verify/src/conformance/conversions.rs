//! Conversion webhooks of definitions: what a version shows of objects that are stored in another.

mod admission;
mod failures;
mod hook;
mod owners;
mod reads;
mod refusals;
mod writes;

use crate::conformance::Case;

pub(super) fn cases() -> Vec<Case> {
    let all = [
        reads::cases(),
        writes::cases(),
        owners::cases(),
        failures::cases(),
        refusals::cases(),
        admission::cases(),
    ];
    all.into_iter().flatten().collect()
}
