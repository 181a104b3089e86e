//! Arithmetic, and quantities (k8s.io/apiserver/pkg/cel/library/quantity.go).

use crate::eval_error::EvalError;
use crate::value::{Called, Value, Value as V};
use k8s_value::quantity::Quantity;

const NANO: i128 = 1_000_000_000;

pub(super) fn call(function: &str, args: &[Value]) -> Option<Called> {
    let said = |why: &str| EvalError::said(why);
    let whole = |value: Option<i64>| value.map(V::Int).ok_or_else(|| said("integer overflow"));
    let unsigned =
        |value: Option<u64>| value.map(V::Uint).ok_or_else(|| said("unsigned integer overflow"));
    Some(match (function, args) {
        ("-_", [V::Int(a)]) => whole(a.checked_neg()),
        ("-_", [V::Double(a)]) => Ok(V::Double(-a)),
        ("_+_", [V::Int(a), V::Int(b)]) => whole(a.checked_add(*b)),
        ("_-_", [V::Int(a), V::Int(b)]) => whole(a.checked_sub(*b)),
        ("_*_", [V::Int(a), V::Int(b)]) => whole(a.checked_mul(*b)),
        ("_/_", [V::Int(_), V::Int(0)]) | ("_/_", [V::Uint(_), V::Uint(0)]) => {
            Err(said("division by zero"))
        }
        ("_%_", [V::Int(_), V::Int(0)]) | ("_%_", [V::Uint(_), V::Uint(0)]) => {
            Err(said("modulus by zero"))
        }
        ("_/_", [V::Int(a), V::Int(b)]) => whole(a.checked_div(*b)),
        ("_%_", [V::Int(a), V::Int(b)]) => whole(a.checked_rem(*b)),
        ("_+_", [V::Uint(a), V::Uint(b)]) => unsigned(a.checked_add(*b)),
        ("_-_", [V::Uint(a), V::Uint(b)]) => unsigned(a.checked_sub(*b)),
        ("_*_", [V::Uint(a), V::Uint(b)]) => unsigned(a.checked_mul(*b)),
        ("_/_", [V::Uint(a), V::Uint(b)]) => unsigned(a.checked_div(*b)),
        ("_%_", [V::Uint(a), V::Uint(b)]) => unsigned(a.checked_rem(*b)),
        ("_+_", [V::Double(a), V::Double(b)]) => Ok(V::Double(a + b)),
        ("_-_", [V::Double(a), V::Double(b)]) => Ok(V::Double(a - b)),
        ("_*_", [V::Double(a), V::Double(b)]) => Ok(V::Double(a * b)),
        ("_/_", [V::Double(a), V::Double(b)]) => Ok(V::Double(a / b)),
        ("quantity", [V::Text(text)]) => quantity(text).map(V::Quantity),
        ("isQuantity", [V::Text(text)]) => Ok(V::Bool(quantity(text).is_ok())),
        ("sign", [V::Quantity(a)]) => Ok(V::Int(i64::try_from(a.signum()).unwrap_or(0))),
        ("isGreaterThan", [V::Quantity(a), V::Quantity(b)]) => Ok(V::Bool(a > b)),
        ("isLessThan", [V::Quantity(a), V::Quantity(b)]) => Ok(V::Bool(a < b)),
        ("compareTo", [V::Quantity(a), V::Quantity(b)]) => Ok(V::Int(a.cmp(b) as i64)),
        ("asApproximateFloat", [V::Quantity(a)]) => Ok(V::Double(*a as f64 / NANO as f64)),
        ("isInteger", [V::Quantity(a)]) => Ok(V::Bool(integer(*a).is_some())),
        ("asInteger", [V::Quantity(a)]) => {
            integer(*a).map(V::Int).ok_or_else(|| said("cannot convert value to integer"))
        }
        ("add", [V::Quantity(a), b]) => operand(b).map(|b| V::Quantity(a.saturating_add(b))),
        ("sub", [V::Quantity(a), b]) => operand(b).map(|b| V::Quantity(a.saturating_sub(b))),
        _ => return None,
    })
}

fn quantity(text: &str) -> Result<i128, EvalError> {
    let read = Quantity::parse(text).map_err(EvalError::said)?;
    let amount = i128::try_from(read.nanos()).unwrap_or(i128::MAX);
    Ok(if read.is_negative() { -amount } else { amount })
}

fn integer(nanos: i128) -> Option<i64> {
    (nanos % NANO == 0).then(|| i64::try_from(nanos / NANO).ok()).flatten()
}

fn operand(value: &Value) -> Result<i128, EvalError> {
    match value {
        V::Quantity(nanos) => Ok(*nanos),
        V::Int(number) => Ok(i128::from(*number) * NANO),
        _ => Err(EvalError::NoSuchOverload),
    }
}
