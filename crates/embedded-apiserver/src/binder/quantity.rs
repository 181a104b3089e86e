//! Kubernetes quantities (`5Gi`, `500M`, `1e3`, `100m`), as far as sizes must be compared.

/// The size in whole bytes, rounded up; `None` if the text is no quantity. Beyond `u128` it saturates.
///
/// The grammar is that of k8s.io/apimachinery/pkg/api/resource/quantity.go.
pub(super) fn bytes(text: &str) -> Option<u128> {
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
    use super::bytes;

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
