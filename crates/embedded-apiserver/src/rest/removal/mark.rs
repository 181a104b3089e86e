//! Marks an object for deletion: deletionTimestamp, grace period, finalizers.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::api::clock;
use crate::api::metadata::{self, Object};
use crate::rest::delete_options::DeleteOptions;
use crate::strategy::Dependents;
use crate::strategy::resource::ServedResource;

/// Sets the garbage collector's finalizers by the options of the delete and by the kind. The
/// options override those of the object.
#[doc(alias = "deletionFinalizersForGarbageCollection")]
pub(super) fn set_finalizers(
    kind: &ServedResource,
    options: &DeleteOptions,
    old: &Object,
    new: &mut Object,
) {
    let of_collector = |finalizer: &&str| matches!(*finalizer, "orphan" | "foregroundDeletion");
    // Finalizers on the object override the default of its kind.
    let marked = metadata::finalizers(old).iter().any(of_collector);
    let says = options.says_what_waits()
        || (options.orphans_by_default(kind) && !marked)
        || kind.strategy().dependents() == Dependents::Unsupported;
    if !says {
        return;
    }
    let mut finalizers = metadata::finalizers(old);
    finalizers.retain(|finalizer| !of_collector(finalizer));
    finalizers.extend(options.waits_for(kind));
    if finalizers.is_empty() {
        metadata::of(new).remove("finalizers");
    } else {
        metadata::set(new, "finalizers", Value::from(finalizers));
    }
}

/// Whether the object has a grace period.
pub(super) fn waits(object: &Object) -> bool {
    given(object).unwrap_or(0) > 0
}

/// Whether a delete shortens the grace period. Then its options count, as those of the first one.
pub(super) fn shortens(object: &Object, asked: Option<i64>) -> bool {
    asked.zip(given(object)).is_some_and(|(asked, given)| asked < given)
}

fn given(object: &Object) -> Option<i64> {
    metadata::get(object, "deletionGracePeriodSeconds").and_then(Value::as_i64)
}

pub(super) fn mark(object: &mut Object, grace: i64, now: Timestamp) {
    if metadata::ends_at_zero(object) {
        metadata::set(object, "deletionGracePeriodSeconds", grace);
        return;
    }
    let first = !metadata::is_being_deleted(object);
    let given = given(object);
    let mut grace = grace;
    if first {
        let end = now.saturating_add(SignedDuration::from_secs(grace)).unwrap_or(Timestamp::MAX);
        metadata::set(object, "deletionTimestamp", clock::seconds(end));
    } else if let Some(given) = given.filter(|given| grace < *given) {
        // Counts from the first delete. If that time is over, one second is left.
        let until: Option<Timestamp> = metadata::text(object, "deletionTimestamp").parse().ok();
        let sooner = SignedDuration::from_secs(given.saturating_sub(grace));
        let end = until.and_then(|until| until.checked_sub(sooner).ok()).filter(|end| *end >= now);
        if end.is_none() && grace != 0 {
            grace = 1;
        }
        metadata::set(object, "deletionTimestamp", clock::seconds(end.unwrap_or(now)));
    }
    // A kind's own first step may mark without a grace period. The next delete sets it.
    if first || given.is_none_or(|given| grace < given) {
        metadata::set(object, "deletionGracePeriodSeconds", grace);
    }
    if first && metadata::generation(object) > 0 {
        metadata::set(object, "generation", metadata::generation(object).saturating_add(1));
    }
}
