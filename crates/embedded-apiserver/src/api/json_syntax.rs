//! Checks JSON before it is decoded: its depth and its declared kind. Pure.

#[cfg(test)]
mod tests;

use serde_json::Value;

use k8s_value::go_value::json_type;
use k8s_value::json_text::{READABLE_DEPTH, depth};

/// Go's limit.
const MAX_DEPTH: usize = 10_000;

/// Whether JSON is deeper than this server reads, and not deeper than upstream reads.
pub(crate) fn is_too_deep(json: &[u8]) -> bool {
    let opens = |byte: &&u8| matches!(byte, b'{' | b'[');
    if !json.trim_ascii_start().first().is_some_and(|byte| opens(&byte))
        || json.iter().filter(opens).count() <= READABLE_DEPTH
    {
        return false;
    }
    (READABLE_DEPTH + 1..=MAX_DEPTH).contains(&depth(json))
}

/// Checks apiVersion and kind, which Go decodes first.
///
/// # Errors
///
/// Names the wrong type.
pub(crate) fn interpret(value: &Value) -> Result<(), String> {
    let members = match value {
        Value::Object(members) => members,
        Value::Null => return Ok(()),
        other => return Err(format!("expected an object, got {}", json_type(other))),
    };
    let wrong = ["apiVersion", "kind"].into_iter().find_map(|name| {
        let value = members.get(name).filter(|value| !value.is_string() && !value.is_null())?;
        Some(format!("{name}: expected string, got {}", json_type(value)))
    });
    wrong.map_or(Ok(()), Err)
}
