//! Cells of tables: members by JSON pointer, and lists as text.

use serde_json::Value;

pub(super) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";

/// The text at a JSON pointer; empty by default.
pub(super) fn text_at<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a JSON pointer; zero by default.
pub(super) fn number(object: &Value, path: &str) -> i64 {
    object.pointer(path).and_then(Value::as_i64).unwrap_or(0)
}

/// The list at a JSON pointer; empty by default.
pub(super) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The first text of two that is not empty, without spaces around it.
pub(super) fn either(object: &Value, one: &str, other: &str) -> Value {
    let found = text_at(object, one);
    if found.is_empty() { text_at(object, other).trim().into() } else { found.trim().into() }
}

/// The texts with commas between them.
pub(super) fn joined(parts: impl Iterator<Item = String>) -> Value {
    let text = parts.collect::<Vec<_>>().join(",");
    if text.is_empty() { NONE.into() } else { text.into() }
}

/// The first three, and how many more there are.
#[doc(alias = "listWithMoreString")]
pub(super) fn some(all: &[String]) -> Value {
    const SHOWN: usize = 3;
    if all.is_empty() {
        return "<unset>".into();
    }
    let shown = all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(",");
    match all.len().saturating_sub(SHOWN) {
        0 => shown.into(),
        more => format!("{shown} + {more} more...").into(),
    }
}
