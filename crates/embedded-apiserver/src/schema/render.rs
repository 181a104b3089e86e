//! How Go writes a value into an error message: `ErrorBody` of
//! k8s.io/apimachinery/pkg/util/validation/field.

use serde_json::{Number, Value};

use crate::go_json::go_json;

/// A value as error messages show it: text in quotes, numbers as `%v`, anything else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Number(number) => number_text(number),
        other => go_json(other),
    }
}

/// A number as Go's `%v` writes it.
pub(crate) fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => float_text(float),
        None => number.to_string(),
    }
}

/// A `float64` as Go's `%v` writes it: the shortest text that reads back the same, with an exponent
/// if that is below -4 or at least 21.
pub(crate) fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let power: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&power) {
        return format!("{float}");
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.unsigned_abs())
}
