//! A valid object with one member replaced, which the server refuses.

use serde_json::Value;

use crate::conformance::{Outcome, Target};

/// Posts the object with each member replaced, by JSON pointer, and compares the causes.
pub(super) async fn refused(
    t: &Target,
    path: &str,
    object: &Value,
    members: &[(&str, Value, &[&str])],
) -> Outcome {
    for (pointer, value, causes) in members {
        let mut wrong = object.clone();
        if let Some(member) = wrong.pointer_mut(pointer) {
            *member = value.clone();
        } else {
            let (parent, member) = pointer.rsplit_once('/').unwrap_or_default();
            let parent = wrong.pointer_mut(parent).ok_or_else(|| format!("no {pointer}"))?;
            parent[member] = value.clone();
        }
        let answer = t.post(path, &wrong).await?.invalid(causes);
        answer.map_err(|why| format!("{pointer} = {value}: {why}"))?;
    }
    Ok(())
}
