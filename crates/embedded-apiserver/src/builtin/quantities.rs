//! Kubernetes quantities (`5Gi`, `500M`, `1e3`, `100m`) as sizes of storage: compared, and brought to their one form.

use serde_json::Value;

use crate::builtin::Builtin;
use crate::metadata::Object;

const WRONG: &str = "quantities must match the regular expression \
    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Where claims and volumes have sizes.
fn sizes(builtin: Builtin) -> &'static [&'static str] {
    match builtin {
        Builtin::Claim => &["/spec/resources/requests", "/spec/resources/limits", "/status/capacity"],
        Builtin::Volume => &["/spec/capacity"],
        _ => &[],
    }
}

/// Brings the sizes of a claim or a volume to their one form; or says that one is no quantity.
pub(crate) fn canonical(builtin: Builtin, object: &mut Object) -> Result<(), String> {
    for path in sizes(builtin) {
        let mut parts = path.split('/').skip(1);
        let first = parts.next().and_then(|first| object.get_mut(first));
        let found = parts.try_fold(first, |value, part| value.map(|value| value.get_mut(part)));
        let Some(Some(Value::Object(sizes))) = found else { continue };
        for size in sizes.values_mut() {
            let text = match &*size {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => continue,
            };
            let positive = text.strip_prefix('-').unwrap_or(&text);
            *size = if bytes(positive).is_none() {
                return Err(WRONG.to_owned());
            } else {
                shortest(positive)
                    .map_or_else(|| text.clone(), |short| text.replacen(positive, &short, 1))
                    .into()
            };
        }
    }
    Ok(())
}

/// The form that `Quantity.CanonicalizeBytes` gives a positive quantity: the suffix as large as leaves a whole number,
/// of the sort that was used. Nothing where it is too large to be worked out here; it then stays as it is.
fn shortest(text: &str) -> Option<String> {
    const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    const NANO: u128 = 1_000_000_000;
    let binary = text.ends_with('i');
    let exponent = !text.ends_with('E') && text.contains(['e', 'E']);
    if exponent {
        return None;
    }
    let whole = bytes(text).filter(|whole| *whole <= u128::from(u64::MAX))?;
    if whole == 0 {
        return Some("0".to_owned());
    }
    if binary && whole >= 1024 {
        let mut number = whole;
        let mut suffixes = BINARY.iter();
        let mut suffix = suffixes.next();
        while number % 1024 == 0
            && let Some(next) = suffixes.next()
        {
            number /= 1024;
            suffix = Some(next);
        }
        return Some(format!("{number}{}", suffix?));
    }
    // In nanos, the smallest there are: a fraction of a binary quantity below 1024 is decimal, too.
    let mut number = match text.split_once('.') {
        None if !text.ends_with(['n', 'u', 'm']) => whole.checked_mul(NANO)?,
        _ => nanos(text)?,
    };
    let mut suffixes = DECIMAL.iter();
    let mut suffix = suffixes.next();
    while number % 1000 == 0
        && let Some(next) = suffixes.next()
    {
        number /= 1000;
        suffix = Some(next);
    }
    Some(format!("{number}{}", suffix?))
}

/// A quantity in billionths, rounded up.
fn nanos(text: &str) -> Option<u128> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let places = match suffix {
        "n" => 0,
        "u" => 3,
        "m" => 6,
        "" => 9,
        "k" => 12,
        "M" => 15,
        "G" => 18,
        "T" => 21,
        "Ki" | "Mi" | "Gi" => 9,
        _ => return None,
    };
    let multiplier = match suffix {
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => 1,
    };
    bytes(&format!("{number}e{places}"))?.checked_mul(multiplier)
}

/// The size in whole bytes, rounded up; `None` if the text is no quantity. Beyond `u128` it saturates.
///
/// The grammar is that of k8s.io/apimachinery/pkg/api/resource/quantity.go.
pub(crate) fn bytes(text: &str) -> Option<u128> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let value: u128 = if digits.len() > 38 { u128::MAX } else { digits.parse().ok()? };
    let places = i64::try_from(fraction.len()).ok()?;
    let (multiplier, ten_exponent) = match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1_u128 << 10, 0),
        "Mi" => (1_u128 << 20, 0),
        "Gi" => (1_u128 << 30, 0),
        "Ti" => (1_u128 << 40, 0),
        "Pi" => (1_u128 << 50, 0),
        "Ei" => (1_u128 << 60, 0),
        exponent => {
            let exponent: i64 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            (1, exponent)
        }
    };
    let value = value.saturating_mul(multiplier);
    let shift = ten_exponent.saturating_sub(places);
    let power = u32::try_from(shift.unsigned_abs()).unwrap_or(u32::MAX);
    let factor = 10_u128.checked_pow(power);
    Some(match (shift >= 0, factor) {
        (true, Some(factor)) => value.saturating_mul(factor),
        (true, None) if value == 0 => 0,
        (true, None) => u128::MAX,
        (false, Some(factor)) => value.div_ceil(factor),
        (false, None) => u128::from(value > 0),
    })
}

#[cfg(test)]
mod tests {
    use super::{bytes, shortest};

    #[test]
    fn quantities_have_one_form() {
        for (text, short) in [
            ("0", "0"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000Mi", "1000Mi"),
            ("0.5Ki", "512"),
            ("0.1Ki", "102400m"),
            ("1000000k", "1G"),
            ("1073741824", "1073741824"),
            ("1500m", "1500m"),
            ("2000m", "2"),
            ("0.5", "500m"),
            ("1.5G", "1500M"),
        ] {
            assert_eq!(shortest(text).as_deref(), Some(short), "{text}");
        }
        assert_eq!(shortest("1e3"), None);
    }

    #[test]
    fn sizes_are_read_in_all_notations() {
        for (text, size) in [
            ("0", 0),
            ("5", 5),
            ("1Ki", 1024),
            ("1.5Gi", 1_610_612_736),
            ("1G", 1_000_000_000),
            ("1e3", 1000),
            ("1E3", 1000),
            ("12E", 12_000_000_000_000_000_000),
            ("1500m", 2),
            ("100m", 1),
            (".5Ki", 512),
            ("1e-2", 1),
            ("+3", 3),
            ("1e99999", u128::MAX),
            ("0e99999", 0),
            ("1e-99999", 1),
            ("99999999999999999999999999999999999999999", u128::MAX),
        ] {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_has_no_size() {
        for text in
            ["", "Gi", ".", "1.2.3", "-1", "1gi", "1 Gi", "1e", "1ee3", "x", "1KiB", "1e99999999999999999999"]
        {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
