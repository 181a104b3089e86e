//! Values of JSON as Go prints them, where its messages show them: the verbs of package `fmt`.

use serde_json::{Number, Value};

use crate::go_json::go_json;

/// Returns the value's type as errors of Go's JSON decoder name it.
pub const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns a text as `%q` prints it.
pub fn quoted(text: &str) -> String {
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

/// Returns a value as field errors show it: a text in quotes, a number as `%v`, all else as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Number(number) => number_text(number),
        other => go_json(other),
    }
}

/// Returns a number as `%v` prints it.
pub fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => float_text(float),
        None => number.to_string(),
    }
}

/// Returns a `float64` as `%v` prints it: the shortest text that reads back the same, with an
/// exponent if that is below -4 or at least 21.
pub fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let power: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&power) {
        return format!("{float}");
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.unsigned_abs())
}
