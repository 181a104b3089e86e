//! Bytes as Go reads them out of JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_value::go_value::json_type;
use serde_json::Value;

/// Bytes in base64, without line breaks, which Go skips.
///
/// # Errors
///
/// Says at which byte it is no base64.
pub(super) fn of_text(text: &str) -> Result<Value, String> {
    let plain: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    match STANDARD.decode(&plain) {
        Ok(_) => Ok(plain.into()),
        Err(error) => {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _)
                | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => at,
                // Where the group begins that has no end.
                _ => plain.len() - plain.len() % 4,
            };
            Err(format!("illegal base64 data at input byte {at}"))
        }
    }
}

/// Bytes as a list of numbers, which Go takes as well.
///
/// # Errors
///
/// Describes the first item that is no byte.
pub(super) fn of_numbers(numbers: Vec<Value>) -> Result<Value, String> {
    let byte = |number| match number {
        Value::Null => Ok(0),
        Value::Number(number) => {
            let byte = number.as_u64().and_then(|number| u8::try_from(number).ok());
            byte.ok_or_else(|| format!("number {number}"))
        }
        other => Err(json_type(&other).to_owned()),
    };
    let bytes: Vec<u8> = numbers.into_iter().map(byte).collect::<Result<_, _>>()?;
    Ok(STANDARD.encode(bytes).into())
}
