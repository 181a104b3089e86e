//! Telling the store of the beginning or the end of a term, which may not cost the term or its
//! release.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::announcement::Announcement;
use crate::shared::Shared;

/// A panic of the store ends here: what is told is for people, and the lease is to be given back
/// all the same.
pub(super) fn announce(shared: &Shared, announcement: &Announcement) {
    if catch_unwind(AssertUnwindSafe(|| shared.store.announce(announcement))).is_err() {
        tracing::error!(
            lease = shared.config.name(),
            "the store panicked when it was told: {announcement}"
        );
    }
}
