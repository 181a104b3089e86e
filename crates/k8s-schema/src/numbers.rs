//! Numbers as Go compares them.

use serde_json::Value;

/// `IsFloat64AJSONInteger` of go-openapi's swag, with its tolerance.
pub(crate) fn is_whole(float: f64) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    const TOLERANCE: f64 = 1e-9;
    if !float.is_finite() || float.abs() > EXACT {
        return false;
    }
    let cut = float.trunc();
    let difference = (float - cut).abs();
    difference == 0.0 || (cut != 0.0 && difference / (float.abs() + cut.abs()) < TOLERANCE)
}

/// Whether Go finds a value equal to an allowed one, after converting it to the type of that.
pub(crate) fn is_the_same(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(number), Value::Number(wanted)) if number != wanted => {
            match (wanted.as_i64(), number.as_f64()) {
                (Some(wanted), Some(float)) if number.is_f64() => {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "as Go's conversion to int64"
                    )]
                    let cut = float as i64;
                    cut == wanted
                }
                _ => number.as_f64() == wanted.as_f64(),
            }
        }
        (value, allowed) => value == allowed,
    }
}
