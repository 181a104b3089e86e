//! JSON as Go's `encoding/json` writes it, and reads it without a type. A number is an `int64` or a
//! `float64`. Characters that could end a script element are escaped.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Number, Value};

/// The fewest digits of a whole number that an `int64` may not hold.
const LONG: usize = 19;

/// Reads JSON. A whole number that an `int64` does not hold is a float.
///
/// # Errors
///
/// The text is no JSON, or has a number that a `float64` does not hold.
pub fn read(json: &[u8]) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::from_slice(json)?;
    if has_long_number(json) {
        widen(&mut value);
    }
    Ok(value)
}

/// Whether the text has `LONG` digits in a row. Such a run covers a multiple of `LONG`: only those
/// places are checked.
fn has_long_number(json: &[u8]) -> bool {
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    (0..json.len()).step_by(LONG).any(|at| {
        let (before, after) = json.split_at(at);
        let before = before.iter().rev().take_while(is_digit).count();
        after.first().is_some_and(u8::is_ascii_digit)
            && before.saturating_add(after.iter().take_while(is_digit).count()) >= LONG
    })
}

fn widen(value: &mut Value) {
    match value {
        Value::Number(number) => *number = go_number(number.clone()),
        Value::Array(items) => items.iter_mut().for_each(widen),
        Value::Object(members) => members.values_mut().for_each(widen),
        _ => {}
    }
}

/// The number that Go has for what `serde_json` has read.
fn go_number(number: Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_u64() && !number.is_i64() => {
            Number::from_f64(float).unwrap_or(number)
        }
        _ => number,
    }
}

/// Returns a `float64` as it is after it was written and read: an `int64`, if that holds it.
pub fn stored_float(float: f64) -> Option<Number> {
    let whole = float.to_string().parse::<i64>().map(Number::from);
    whole.ok().or_else(|| Number::from_f64(float))
}

/// Returns whether the value has a negative zero, which Go writes with its sign.
pub fn has_sign_of_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.as_f64().is_some_and(|float| float == 0.0 && float.is_sign_negative())
        }
        Value::Array(items) => items.iter().any(has_sign_of_zero),
        Value::Object(members) => members.values().any(has_sign_of_zero),
        _ => false,
    }
}

/// Makes each number what it is after it was written and read. Go writes a whole float without
/// a fraction; returns whether there was one.
pub fn shorten_numbers(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => {
            *number = go_number(number.clone());
            let stored = number.as_f64().filter(|_| number.is_f64()).and_then(stored_float);
            let Some(whole) = stored.filter(|stored| !stored.is_f64()) else { return false };
            *number = whole;
            true
        }
        Value::Array(items) => shorten_all(items.iter_mut()),
        Value::Object(members) => shorten_all(members.values_mut()),
        _ => false,
    }
}

fn shorten_all<'a>(values: impl Iterator<Item = &'a mut Value>) -> bool {
    let mut any = false;
    for value in values {
        any |= shorten_numbers(value);
    }
    any
}

/// Appends a value as Go's `json.Marshal` writes it.
#[doc(alias = "Marshal")]
pub fn write(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // A vector takes everything, and JSON values have no keys but texts.
    let written = value.serialize(&mut Serializer::with_formatter(out, Go));
    debug_assert!(written.is_ok(), "JSON values can be written");
}

/// Returns a value as Go's `json.Marshal` writes it.
///
/// ```
/// let value = serde_json::json!({"a": "<b>", "c": 1e21});
/// assert_eq!(k8s_value::go_json::go_json(&value), r#"{"a":"\u003cb\u003e","c":1e+21}"#);
/// ```
pub fn go_json(value: &(impl Serialize + ?Sized)) -> String {
    let mut out = Vec::new();
    write(&mut out, value);
    String::from_utf8(out).unwrap_or_default()
}

/// Returns JSON with the escapes that Go adds to texts.
pub fn escaped(json: &str) -> std::borrow::Cow<'_, str> {
    if !json.contains(is_escaped) {
        return json.into();
    }
    let mut out = Vec::with_capacity(json.len());
    // A vector takes everything.
    let written = Go.write_string_fragment(&mut out, json);
    debug_assert!(written.is_ok(), "a text can be written");
    String::from_utf8(out).unwrap_or_default().into()
}

const fn is_escaped(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// How `encoding/json` differs from `serde_json`.
struct Go;

impl Formatter for Go {
    fn write_f64<W: Write + ?Sized>(&mut self, out: &mut W, float: f64) -> io::Result<()> {
        out.write_all(float_json(float).as_bytes())
    }

    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(is_escaped) {
            let (before, from) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                write!(out, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

/// A `float64` as `encoding/json` writes it: the shortest digits that read back the same, with an
/// exponent if that is below -6 or at least 21.
fn float_json(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let power: i32 = exponent.parse().unwrap_or(0);
    if (-6..21).contains(&power) {
        return float.to_string();
    }
    let sign = if power < 0 { "" } else { "+" };
    format!("{digits}e{sign}{power}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{escaped, go_json, read, shorten_numbers};

    #[test]
    fn numbers_are_int64_or_float64() {
        for (text, is_float, shown) in [
            ("9223372036854775807", false, "9223372036854775807"),
            ("9223372036854775808", true, "9223372036854776000"),
            ("18446744073709551615", true, "18446744073709552000"),
            ("100000000000000000000", true, "100000000000000000000"),
            ("-9223372036854775808", false, "-9223372036854775808"),
            ("1e20", true, "100000000000000000000"),
            ("1e21", true, "1e+21"),
            ("1e-6", true, "0.000001"),
            ("1.50e-7", true, "1.5e-7"),
            ("1.50", true, "1.5"),
        ] {
            let read = read(format!("[{text}]").as_bytes()).expect("JSON");
            assert_eq!(read[0].is_f64(), is_float, "{text}");
            assert_eq!(go_json(&read), format!("[{shown}]"));
        }
    }

    #[test]
    fn a_whole_float_is_stored_as_a_whole_number_where_it_fits() {
        let mut value = json!([1.0, -0.0, 1e18, 1e20, 0.5]);
        assert!(shorten_numbers(&mut value));
        assert_eq!(value, json!([1, 0, 1_000_000_000_000_000_000_i64, 1e20, 0.5]));
    }

    #[test]
    fn what_could_end_a_script_is_escaped() {
        let text = "a<b>&\u{2028}é\u{2029}";
        let written = go_json(&json!({ "<": text }));
        assert_eq!(written, r#"{"\u003c":"a\u003cb\u003e\u0026\u2028é\u2029"}"#);
        assert_eq!(escaped(&json!({ "<": text }).to_string()), written);
        assert_eq!(serde_json::from_str::<Value>(&written).ok(), Some(json!({ "<": text })));
    }
}
