//! What is looked at in JSON before it is an object: how deep it is nested, and what it says to be.
//! Pure.

#[cfg(test)]
mod tests;

use serde_json::Value;

use k8s_value::go_value::json_type;

/// As deep as Go reads.
const MAX_DEPTH: usize = 10_000;
/// As deep as `serde_json` reads.
pub(crate) const READABLE_DEPTH: usize = 127;

/// Whether an object or a list is nested deeper than it can be read here, though not deeper than
/// the real server reads.
pub(crate) fn is_too_deep(json: &[u8]) -> bool {
    let opens = |byte: &&u8| matches!(byte, b'{' | b'[');
    if !json.trim_ascii_start().first().is_some_and(|byte| opens(&byte))
        || json.iter().filter(opens).count() <= READABLE_DEPTH
    {
        return false;
    }
    (READABLE_DEPTH + 1..=MAX_DEPTH).contains(&depth(json))
}

/// How many objects and lists are within each other.
pub(crate) fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in beside_strings(json) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// JSON without the blanks between its parts.
pub(crate) fn compact(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let mut text = InText::default();
    out.extend(json.iter().filter(|byte| text.step(**byte) || !byte.is_ascii_whitespace()));
    out
}

/// The bytes that are no part of a string.
fn beside_strings(json: &[u8]) -> impl Iterator<Item = u8> {
    let mut text = InText::default();
    json.iter().copied().filter(move |byte| !text.step(*byte))
}

/// Whether a scan is within a string.
#[derive(Debug, Default)]
struct InText {
    inside: bool,
    escaped: bool,
}

impl InText {
    /// Whether the next byte is part of a string, its quotes included.
    fn step(&mut self, byte: u8) -> bool {
        let was = self.inside;
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.inside => self.escaped = true,
            b'"' => self.inside = !self.inside,
            _ => {}
        }
        was || self.inside
    }
}

/// Checks the members that say what an object is, which are read before all others.
///
/// # Errors
///
/// Says what stands in their place.
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
