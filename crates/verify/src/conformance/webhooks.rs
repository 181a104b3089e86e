//! Admission webhooks: which writes they see, what they get, and what becomes of their answers.

mod certificates;
mod deletes;
mod denials;
mod failures;
pub(super) mod fixture;
mod matching;
mod order;
mod patches;
mod reviews;
mod subresources;
mod versions;
mod warnings;

use crate::conformance::case::Case;

pub(super) fn cases() -> Vec<Case> {
    let files = [
        order::cases(),
        reviews::cases(),
        subresources::cases(),
        versions::cases(),
        deletes::cases(),
        matching::cases(),
        patches::cases(),
        denials::cases(),
        warnings::cases(),
        failures::cases(),
        certificates::cases(),
    ];
    files.into_iter().flatten().collect()
}
