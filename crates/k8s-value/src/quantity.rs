//! Quantities (`5Gi`, `500M`, `1e3`, `100m`): read, and written in their canonical form.
//!
//! The grammar and the form are those of k8s.io/apimachinery/pkg/api/resource/quantity.go.

use std::str::FromStr;

use crate::ParseError;

/// The error of a text that is no quantity, Go's `ErrFormatWrong`.
pub const FORMAT: &str = "quantities must match the regular expression \
    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";

const NANO: u128 = 1_000_000_000;
/// The largest quantity with a binary suffix. A larger one is cut to it.
const MOST: u128 = (i64::MAX as u128) * NANO;
/// Decimal ones may have as many digits, billionths included; larger ones are not told apart.
const MOST_DIGITS: i64 = 38;

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// From billionths on.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    Binary,
    Decimal,
    Exponent,
}

/// An amount in billionths. An amount of more than 38 digits is `u128::MAX`, the largest.
///
/// ```
/// use k8s_value::Quantity;
///
/// let size: Quantity = "1.5Gi".parse()?;
/// assert_eq!(size.whole(), 1_610_612_736);
/// # Ok::<(), k8s_value::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    negative: bool,
    nanos: u128,
    notation: Notation,
}

/// Returns the canonical form of a quantity. One with more than 38 digits stays as it is.
///
/// ```
/// assert_eq!(k8s_value::quantity::canonical("1024Mi")?, "1Gi");
/// # Ok::<(), k8s_value::ParseError>(())
/// ```
///
/// # Errors
///
/// The text is no quantity.
#[doc(alias = "CanonicalizeBytes")]
pub fn canonical(text: &str) -> Result<String, ParseError> {
    let text = text.trim();
    let quantity = Quantity::parse(text)?;
    Ok(if stays(text) || quantity.nanos == u128::MAX {
        text.to_owned()
    } else {
        quantity.to_text()
    })
}

/// As [`canonical`], of an amount in a list of resources: rounded up to thousandths.
///
/// # Errors
///
/// As [`canonical`].
#[doc(alias = "SetDefaults_ResourceList")]
pub fn canonical_resource(text: &str) -> Result<String, ParseError> {
    const MILLI: u128 = NANO / 1000;
    let quantity = Quantity::parse(text.trim())?;
    if quantity.nanos.is_multiple_of(MILLI) || quantity.nanos == u128::MAX {
        return canonical(text);
    }
    Ok(Quantity { nanos: quantity.nanos.next_multiple_of(MILLI), ..quantity }.to_text())
}

/// Returns the amount in whole units, rounded up; `None` if the text is no quantity, or less than
/// zero.
pub fn bytes(text: &str) -> Option<u128> {
    let quantity =
        Quantity::parse(text).ok().filter(|quantity| !quantity.negative || quantity.nanos == 0)?;
    Some(quantity.nanos.div_ceil(NANO))
}

impl Quantity {
    /// Reads a quantity.
    ///
    /// # Errors
    ///
    /// The text is no quantity.
    #[doc(alias = "ParseQuantity")]
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::read(text).map_err(ParseError::new)
    }

    fn read(text: &str) -> Result<Self, &'static str> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let digits_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at_checked(digits_end).ok_or(FORMAT)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(FORMAT);
        }
        check_suffix(suffix)?;
        let places = |known: &[&str]| known.iter().position(|known| *known == suffix);
        let (notation, nanos) = match (places(&BINARY).filter(|place| *place > 0), places(&DECIMAL))
        {
            (Some(place), _) => (Notation::Binary, binary(whole, fraction, place * 10)),
            (_, Some(place)) => {
                let exponent = i64::try_from(place).unwrap_or(0) * 3 - 9;
                (Notation::Decimal, decimal(whole, fraction, exponent))
            }
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E']).ok_or(SUFFIX)?;
                let exponent: i64 = exponent.parse().map_err(|_| SUFFIX)?;
                (Notation::Exponent, decimal(whole, fraction, exponent))
            }
        };
        let nanos = if notation == Notation::Binary { nanos.min(MOST) } else { nanos };
        Ok(Self { negative, nanos, notation })
    }

    /// Returns whether it is less than zero.
    pub const fn is_negative(self) -> bool {
        self.negative && self.nanos > 0
    }

    /// Returns the amount without its sign, in billionths.
    pub const fn nanos(self) -> u128 {
        self.nanos
    }

    /// Returns the amount without its sign in whole units, rounded up.
    pub const fn whole(self) -> u128 {
        self.nanos.div_ceil(NANO)
    }

    /// Returns whether it is a whole number.
    pub const fn is_whole(self) -> bool {
        self.nanos.is_multiple_of(NANO)
    }

    /// `CanonicalizeBytes`: the suffix as large as leaves a whole number, of the sort that was
    /// used.
    fn to_text(self) -> String {
        if self.nanos == 0 {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        if self.notation == Notation::Binary && self.is_whole() && self.nanos >= 1024 * NANO {
            let (number, steps) = divided(self.nanos / NANO, 1024, BINARY.len());
            return format!("{sign}{number}{}", BINARY.get(steps).copied().unwrap_or_default());
        }
        let (number, steps) = divided(self.nanos, 1000, DECIMAL.len());
        let exponent = i64::try_from(steps).unwrap_or(0) * 3 - 9;
        match self.notation {
            Notation::Exponent if exponent == 0 => format!("{sign}{number}"),
            Notation::Exponent => format!("{sign}{number}e{exponent}"),
            _ => format!("{sign}{number}{}", DECIMAL.get(steps).copied().unwrap_or_default()),
        }
    }
}

impl FromStr for Quantity {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// Whether `ParseQuantity` takes the text for canonical already. It looks at it only roughly:
/// `1E3` and `1.500` pass.
fn stays(text: &str) -> bool {
    /// As many digits as an `int64` always holds.
    const FAST: usize = 18;
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(digits_end).unwrap_or((rest, ""));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    if let Some(place) = BINARY.iter().position(|known| *known == suffix).filter(|place| *place > 0)
    {
        let value: u64 = whole.parse().unwrap_or(0);
        return fraction.is_empty() && whole.len() + place * 3 < 15 && value & 7 != 0;
    }
    let exponent = match suffix.strip_prefix(['e', 'E']).filter(|rest| !rest.is_empty()) {
        Some(exponent) => exponent.parse::<i64>().ok(),
        None => {
            let place = DECIMAL.iter().position(|known| *known == suffix);
            place.and_then(|place| i64::try_from(place).ok()).map(|place| place * 3 - 9)
        }
    };
    let places = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let scale = exponent.unwrap_or(i64::MIN).saturating_sub(places);
    let shifted = format!("{whole}{fraction}");
    text == "0"
        || (shifted.len() <= FAST
            && scale >= -9
            && scale % 3 == 0
            && !shifted.ends_with("000")
            && !shifted.starts_with('0'))
}

/// How often a number can be divided, and what is left of it.
fn divided(mut number: u128, by: u128, suffixes: usize) -> (u128, usize) {
    let mut steps = 0;
    while number.is_multiple_of(by) && steps + 1 < suffixes {
        number /= by;
        steps += 1;
    }
    (number, steps)
}

/// Letters of suffixes, then perhaps a sign and digits, then nothing.
fn check_suffix(suffix: &str) -> Result<(), &'static str> {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if rest.bytes().all(|byte| byte.is_ascii_digit()) { Ok(()) } else { Err(FORMAT) }
}

/// `whole.fraction * 10^exponent` in billionths, rounded up.
fn decimal(whole: &str, fraction: &str, exponent: i64) -> u128 {
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return 0;
    }
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let shift = exponent.saturating_sub(length(fraction)).saturating_add(9);
    let size = length(digits).saturating_add(shift);
    if size > MOST_DIGITS {
        return u128::MAX;
    }
    if size <= 0 {
        return 1;
    }
    let kept = usize::try_from(size).unwrap_or(usize::MAX);
    match digits.split_at_checked(kept) {
        Some((kept, cut)) => {
            let up = u128::from(cut.bytes().any(|digit| digit != b'0'));
            kept.parse::<u128>().unwrap_or(u128::MAX).saturating_add(up)
        }
        None => {
            let power = u32::try_from(shift).unwrap_or(u32::MAX);
            let factor = 10_u128.checked_pow(power).unwrap_or(u128::MAX);
            digits.parse::<u128>().unwrap_or(u128::MAX).saturating_mul(factor)
        }
    }
}

/// `whole.fraction * 2^bits` in billionths, rounded up.
fn binary(whole: &str, fraction: &str, bits: usize) -> u128 {
    const MOST_PLACES: usize = 18;
    let factor = 1_u128 << bits.min(60);
    let whole = match whole.trim_start_matches('0') {
        "" => 0,
        digits if digits.len() > 20 => u128::MAX,
        digits => digits.parse().unwrap_or(u128::MAX),
    };
    let (kept, cut) = fraction.split_at_checked(MOST_PLACES).unwrap_or((fraction, ""));
    let ten = 10_u128.pow(u32::try_from(kept.len()).unwrap_or(0));
    let up = u128::from(cut.bytes().any(|digit| digit != b'0'));
    let part = kept.parse::<u128>().unwrap_or(0).saturating_add(up).saturating_mul(factor);
    let part = (part / ten * NANO).saturating_add((part % ten * NANO).div_ceil(ten));
    whole.saturating_mul(factor).saturating_mul(NANO).saturating_add(part)
}

#[cfg(test)]
mod tests {
    use super::{bytes, canonical, canonical_resource};

    #[test]
    fn quantities_have_one_form() {
        for (text, short) in [
            ("0", "0"),
            ("-0", "0"),
            ("0Gi", "0"),
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
            ("-1.5G", "-1500M"),
            ("+3", "+3"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("1e3", "1e3"),
            ("12e4", "120e3"),
            ("1E3", "1E3"),
            ("1e-3", "1e-3"),
            ("5e0", "5e0"),
            ("8Ei", "9223372036854775807"),
            ("9.5Ei", "9223372036854775807"),
            ("1e99", "1e99"),
            ("1e19", "10e18"),
            ("1.500", "1.500"),
            ("1000e3", "1e6"),
            ("99999999999999999999", "99999999999999999999"),
            ("0.0000000001", "1n"),
            ("00001.5000", "1500m"),
        ] {
            assert_eq!(canonical(text).as_deref(), Ok(short), "{text}");
        }
    }

    #[test]
    fn resources_are_no_finer_than_thousandths() {
        for (text, short) in
            [("1n", "1m"), ("0.1n", "1m"), ("1500m", "1500m"), ("1.0001", "1001m"), ("1Gi", "1Gi")]
        {
            assert_eq!(canonical_resource(text).as_deref(), Ok(short), "{text}");
        }
    }

    #[test]
    fn a_quantity_in_its_one_form_stays() {
        for text in ["1536Mi", "100m", "1n", "7e6", "12E", "1Ei", "3k", "-2Gi"] {
            assert_eq!(canonical(text).as_deref(), Ok(text));
        }
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
            ("1500m", 2),
            ("100m", 1),
            (".5Ki", 512),
            ("1e-2", 1),
            ("+3", 3),
            ("1e20", 100_000_000_000_000_000_000),
            ("0e99999", 0),
            ("1e-99999", 1),
            ("99999999999999999999999999999999999999999Ki", 9_223_372_036_854_775_807),
        ] {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_has_no_size() {
        for text in [
            "",
            "Gi",
            ".",
            "1.2.3",
            "1gi",
            "1 Gi",
            "1ee3",
            "x",
            "1KiB",
            "1e99999999999999999999",
            "é",
            "1é",
        ] {
            assert_eq!(bytes(text), None, "{text}");
            assert!(canonical(text).is_err(), "{text}");
        }
        assert_eq!(bytes("-1"), None);
    }
}
