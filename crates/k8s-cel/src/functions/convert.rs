//! Values of one type as values of another one.

use jiff::Timestamp;

use crate::eval_error::EvalError;
use crate::functions::times;
use crate::value::{Called, Value, Value as V};

/// A value as one of the type of this name.
pub(super) fn convert(to: &str, value: &Value) -> Called {
    let said = |why: &str| EvalError::said(why);
    let wrong =
        || EvalError::said(format!("type conversion error from '{}' to '{to}'", value.type_name()));
    let overflow = || said("integer overflow");
    match (to, value) {
        ("bool", V::Bool(_))
        | ("int", V::Int(_))
        | ("uint", V::Uint(_))
        | ("double", V::Double(_))
        | ("string", V::Text(_))
        | ("bytes", V::Bytes(_))
        | ("duration", V::Duration(_))
        | ("timestamp", V::Timestamp(_)) => Ok(value.clone()),
        ("bool", V::Text(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(V::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(V::Bool(false)),
            _ => Err(wrong()),
        },
        ("int", V::Double(number)) => {
            let fits = number.is_finite() && *number > i64::MIN as f64 && *number < i64::MAX as f64;
            if fits { Ok(V::Int(*number as i64)) } else { Err(overflow()) }
        }
        ("int", V::Uint(number)) => i64::try_from(*number).map(V::Int).map_err(|_| overflow()),
        ("int", V::Text(text)) => text.parse().map(V::Int).map_err(|_| wrong()),
        ("int", V::Duration(nanos)) => Ok(V::Int(*nanos)),
        ("int", V::Timestamp(time)) => Ok(V::Int(time.as_second())),
        ("uint", V::Int(number)) => {
            u64::try_from(*number).map(V::Uint).map_err(|_| said("unsigned integer overflow"))
        }
        ("uint", V::Double(number)) => {
            let fits = number.is_finite() && *number >= 0.0 && *number < u64::MAX as f64;
            if fits { Ok(V::Uint(*number as u64)) } else { Err(said("unsigned integer overflow")) }
        }
        ("uint", V::Text(text)) => text.parse().map(V::Uint).map_err(|_| wrong()),
        ("double", V::Int(number)) => Ok(V::Double(*number as f64)),
        ("double", V::Uint(number)) => Ok(V::Double(*number as f64)),
        ("double", V::Text(text)) => text.parse().map(V::Double).map_err(|_| wrong()),
        ("bytes", V::Text(text)) => Ok(V::Bytes(text.as_bytes().into())),
        ("duration", V::Int(nanos)) => Ok(V::Duration(*nanos)),
        ("duration", V::Text(text)) => times::duration(text).map(V::Duration).ok_or_else(wrong),
        ("timestamp", V::Int(seconds)) => Timestamp::from_second(*seconds)
            .map(V::Timestamp)
            .map_err(|_| said("timestamp overflow")),
        ("timestamp", V::Text(text)) => times::timestamp(text).map(V::Timestamp).ok_or_else(wrong),
        ("string", V::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(V::text(text)),
            Err(_) => Err(said("invalid UTF-8 in bytes, cannot convert to string")),
        },
        (
            "string",
            V::Bool(_)
            | V::Int(_)
            | V::Uint(_)
            | V::Double(_)
            | V::Duration(_)
            | V::Timestamp(_)
            | V::Ip(_)
            | V::Cidr(..),
        ) => Ok(V::text(shown(value))),
        _ => Err(EvalError::NoSuchOverload),
    }
}

/// A value as a text.
pub(super) fn shown(value: &Value) -> String {
    match value {
        V::Null => "null".to_owned(),
        V::Bool(value) => value.to_string(),
        V::Int(value) => value.to_string(),
        V::Uint(value) => value.to_string(),
        V::Double(value) => general(*value),
        V::Text(value) => value.to_string(),
        V::Bytes(value) => String::from_utf8_lossy(value).into_owned(),
        V::Duration(nanos) => format!("{}s", *nanos as f64 / 1e9),
        V::Timestamp(time) => time.to_string(),
        V::Type(name) => (*name).to_owned(),
        V::Ip(ip) => ip.to_string(),
        V::Cidr(ip, bits) => format!("{ip}/{bits}"),
        other => other.type_name().to_owned(),
    }
}

/// A number as Go's `%g` writes it: with an exponent below -4, and from 21 on.
fn general(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    k8s_value::go_value::float_text(number)
}
