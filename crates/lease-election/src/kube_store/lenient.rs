//! Lenient: fields as anybody may have written them, read so that nothing fails. A field of a wrong type counts as absent, but a holder of a wrong type is still a holder.

use jiff::Timestamp;
use serde_json::Value;

use crate::record::to_micros;

pub(super) fn text(field: Option<&Value>) -> String {
    field.and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(super) fn number(field: Option<&Value>) -> i32 {
    let value = field.and_then(Value::as_i64).unwrap_or(0);
    i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX })
}

pub(super) fn time(field: Option<&Value>) -> Option<Timestamp> {
    field.and_then(Value::as_str).and_then(|text| text.parse().ok()).map(to_micros)
}

pub(super) fn holder(field: Option<&Value>) -> String {
    match field {
        None => String::new(),
        Some(Value::String(holder)) => holder.clone(),
        Some(other) => other.to_string(),
    }
}
