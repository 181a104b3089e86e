//! Conditions that a subresource sets in the status of an object.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::api::clock;
use crate::api::metadata::Object;

/// A condition of a Pod, which is true from now on.
pub(super) fn pod_condition(kind: &str, now: Timestamp) -> Map<String, Value> {
    let mut condition = Map::new();
    for (member, value) in [
        ("type", kind.into()),
        ("status", "True".into()),
        ("lastProbeTime", Value::Null),
        ("lastTransitionTime", clock::seconds(now).into()),
    ] {
        condition.insert(member.to_owned(), value);
    }
    condition
}

/// Adds a condition to the status, or replaces the one of its type. The time of the transition
/// stays if the condition is what it was.
#[doc(alias("UpdatePodCondition", "SetStatusCondition"))]
pub(super) fn set_condition(object: &mut Object, mut condition: Map<String, Value>) {
    let status = object.entry("status").or_insert_with(|| json!({}));
    let Value::Object(status) = status else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Value::Array(conditions) = conditions else { return };
    match conditions.iter_mut().find(|known| known.get("type") == condition.get("type")) {
        Some(known) => {
            let at = "lastTransitionTime";
            if known.get("status") == condition.get("status")
                && let Some(since) = known.get(at)
            {
                condition.insert(at.to_owned(), since.clone());
            }
            *known = Value::Object(condition);
        }
        None => conditions.push(Value::Object(condition)),
    }
}
