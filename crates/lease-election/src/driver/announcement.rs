//! Announcement: tells the store of a term's beginning or end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::announcement::Announcement;
use crate::shared::Shared;

/// Catches a panic of the store: an announcement must not cost the term or its release.
pub(super) fn announce(shared: &Shared, announcement: &Announcement) {
    if catch_unwind(AssertUnwindSafe(|| shared.store.announce(announcement))).is_err() {
        tracing::error!(
            lease = shared.config.name(),
            "the store panicked when it was told: {announcement}"
        );
    }
}
