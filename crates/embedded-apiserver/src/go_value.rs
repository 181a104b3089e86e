//! Values of JSON as Go prints them, where its messages show them.

use serde_json::{Number, Value};

use crate::schema::number_text;

/// As Go's `%T` has it.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) => number_type(number),
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What it is in JSON, as Go's decoder says it.
pub(crate) const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A text as Go's `%q` has it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' | '\r' | '\t' => quoted.extend(c.escape_default()),
            '\0'..' ' | '\u{7f}' => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            // What Rust does not print, Go does not.
            _ if !c.is_ascii() && c.escape_debug().len() > 1 => {
                let code = u32::from(c);
                quoted.push_str(&if code > 0xffff {
                    format!("\\U{code:08x}")
                } else {
                    format!("\\u{code:04x}")
                });
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// As `quoted`, of bytes that may be no text.
pub(crate) fn quoted_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        let valid = quoted(chunk.valid());
        text.push_str(valid.get(1..valid.len() - 1).unwrap_or_default());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    format!("\"{text}\"")
}

fn number_type(number: &Number) -> &'static str {
    if number.is_f64() { "float64" } else { "int64" }
}

/// As Go's `%s` has it, which finds fault with all that is no text.
pub(crate) fn go_string(value: &Value) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("%!s({}={})", go_type(value), go_text(value)),
        Value::String(_) => go_text(value),
        Value::Array(_) | Value::Object(_) => nested(value, inner_string),
    }
}

/// Nothing within something is no fault.
fn inner_string(value: &Value) -> String {
    if value.is_null() { go_text(value) } else { go_string(value) }
}

/// As Go's `%#v` has it.
pub(crate) fn go_syntax(value: &Value) -> String {
    let inner = |value: &Value| go_syntax(value);
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            format!(
                "[]interface {{}}{{{}}}",
                items.iter().map(inner).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name:?}:{}", inner(value)));
            format!("map[string]interface {{}}{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// As Go's `%v` has it.
pub(crate) fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => nested(value, go_text),
    }
}

/// A list or an object, whose values are printed by `one`.
fn nested(value: &Value, one: fn(&Value) -> String) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(one).collect::<Vec<_>>().join(" ")),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}:{}", one(value)));
            format!("map[{}]", members.collect::<Vec<_>>().join(" "))
        }
        _ => one(value),
    }
}
