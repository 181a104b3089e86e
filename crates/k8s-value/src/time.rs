//! Times (`metav1.Time`, `metav1.MicroTime`): RFC 3339 as Go's `time.Parse` reads it, written in
//! UTC. The first moment of year 1 is Go's zero time, which is written as null.

use jiff::civil::DateTime;
use jiff::{SignedDuration, ToSpan as _};
use serde_json::Value;

use crate::ParseError;

/// Go's `time.RFC3339`.
const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
/// `metav1.RFC3339Micro`.
const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";
/// What `MICROS` has and `SECONDS` has not.
const FRACTION: &str = ".000000";
/// The years after which the calendar is the same again.
const CYCLE: i16 = 400;

/// Returns a `metav1.Time` as it is written: in whole seconds. Null for Go's zero time.
///
/// ```
/// let time = k8s_value::time::seconds("2026-01-02T03:04:05.9+02:00")?;
/// assert_eq!(time, "2026-01-02T01:04:05Z");
/// # Ok::<(), k8s_value::ParseError>(())
/// ```
///
/// # Errors
///
/// The text is no time.
pub fn seconds(text: &str) -> Result<Value, ParseError> {
    parse(text, Precision::Seconds).map_err(ParseError::new)
}

/// Returns a `metav1.MicroTime` as it is written: with six digits of a second. Null for Go's zero
/// time.
///
/// # Errors
///
/// The text is no time, or has not exactly six digits of a second.
pub fn micros(text: &str) -> Result<Value, ParseError> {
    parse(text, Precision::Micros).map_err(ParseError::new)
}

/// How much of a second is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Whole seconds: `metav1.Time`.
    Seconds,
    /// Six digits: `metav1.MicroTime`.
    Micros,
}

/// Returns a time of protobuf, since 1970, as it is written in JSON. `None` if its year has more
/// than four digits.
pub fn since_1970(seconds: i64, nanos: i32, precision: Precision) -> Option<String> {
    let time = DateTime::constant(1970, 1, 1, 0, 0, 0, 0)
        .checked_add(SignedDuration::new(seconds, nanos))
        .ok()?;
    Some(match precision {
        Precision::Seconds => format!("{:.0}Z", without_fraction(time)),
        Precision::Micros => format!("{time:.6}Z"),
    })
}

/// Bytes as Go's package time quotes them: in hexadecimal what is no ASCII, or a control character.
fn quoted(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=0x7f => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

/// Why a part cannot be read.
enum Wrong {
    /// It cannot be read.
    Part,
    /// This is out of range.
    Range(&'static str),
}

/// The text, and what is left of it.
struct Reader<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    layout: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads one part of the layout. An error shows the text from the start of that part.
    fn part<T>(
        &mut self,
        element: &str,
        read: impl FnOnce(&mut Self) -> Result<T, Wrong>,
    ) -> Result<T, String> {
        let before = self.rest;
        read(self).map_err(|wrong| match wrong {
            Wrong::Part => self.cannot_parse(before, element),
            Wrong::Range(what) => self.out_of_range(what),
        })
    }

    fn cannot_parse(&self, rest: &[u8], element: &str) -> String {
        let (whole, layout, rest) = (quoted(self.whole), self.layout, quoted(rest));
        format!("parsing time {whole} as {layout:?}: cannot parse {rest} as {element:?}")
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quoted(self.whole))
    }

    /// A sign that stands between parts.
    fn sign(&mut self, sign: u8) -> Result<(), String> {
        match self.rest.split_first() {
            Some((first, rest)) if *first == sign => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(self.cannot_parse(self.rest, &char::from(sign).to_string())),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Wrong> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(Wrong::Part)?;
        self.rest = rest;
        Ok(taken)
    }

    fn year(&mut self) -> Result<i16, Wrong> {
        let digits = self.take(4)?;
        number(digits).map(i16::try_from).and_then(Result::ok).ok_or(Wrong::Part)
    }

    /// One digit or two; exactly two if that is `fixed`. It is at least `least` and at most `most`.
    fn two(
        &mut self,
        fixed: bool,
        (least, most): (i8, i8),
        what: &'static str,
    ) -> Result<i8, Wrong> {
        let digits = self.rest.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || (fixed && digits == 1) {
            return Err(Wrong::Part);
        }
        let two =
            number(self.take(digits)?).map(i8::try_from).and_then(Result::ok).ok_or(Wrong::Part)?;
        if (least..=most).contains(&two) { Ok(two) } else { Err(Wrong::Range(what)) }
    }

    /// Any fraction of a second, which the layout does not have: billionths.
    fn any_fraction(&mut self) -> Result<i32, Wrong> {
        let Some((b'.' | b',', after)) = self.rest.split_first() else { return Ok(0) };
        let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Ok(0);
        }
        billionths(self.take(digits.saturating_add(1))?)
    }

    /// Minutes east of Greenwich.
    fn zone(&mut self) -> Result<i64, Wrong> {
        if let Some((b'Z', rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(0);
        }
        let &[sign, h, hh, b':', m, mm] = self.take(6)? else { return Err(Wrong::Part) };
        let (hours, minutes) = (digits(&[h, hh]), digits(&[m, mm]));
        if hours.is_some_and(|hours| hours > 24) {
            return Err(Wrong::Range("time zone offset hour"));
        }
        let (Some(hours), Some(minutes)) = (hours, minutes) else { return Err(Wrong::Part) };
        if minutes > 60 {
            return Err(Wrong::Range("time zone offset minute"));
        }
        match sign {
            b'+' => Ok(hours * 60 + minutes),
            b'-' => Ok(-(hours * 60 + minutes)),
            _ => Err(Wrong::Part),
        }
    }
}

/// Digits and nothing else.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().all(u8::is_ascii_digit).then(|| number(text))?
}

/// As Go's package time reads a number: it may have a sign, and a sign alone is zero.
fn number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        Some((b'+', digits)) => (false, digits),
        _ => (false, text),
    };
    let number = digits.iter().try_fold(0_i64, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number.saturating_mul(10).saturating_add(i64::from(byte - b'0')))
    })?;
    Some(if negative { -number } else { number })
}

/// Billionths of a second from a dot or a comma and at least one digit; those after nine are left
/// out.
fn billionths(text: &[u8]) -> Result<i32, Wrong> {
    let Some((b'.' | b',', digits)) = text.split_first() else { return Err(Wrong::Part) };
    let digits = digits.get(..9).unwrap_or(digits);
    let number = number(digits).ok_or(Wrong::Part)?;
    if number < 0 {
        return Err(Wrong::Range("fractional second"));
    }
    let missing = u32::try_from(9_usize.saturating_sub(digits.len())).unwrap_or(0);
    i32::try_from(number.saturating_mul(10_i64.pow(missing))).map_err(|_| Wrong::Part)
}

fn parse(text: &str, precision: Precision) -> Result<Value, String> {
    let exact = precision == Precision::Micros;
    let layout = if exact { MICROS } else { SECONDS };
    let bytes = text.as_bytes();
    let mut reader = Reader { whole: bytes, rest: bytes, layout };
    let year = reader.part("2006", |reader| {
        let begins = reader.rest.first().is_some_and(u8::is_ascii_digit);
        if begins { reader.year() } else { Err(Wrong::Part) }
    })?;
    reader.sign(b'-')?;
    let month = reader.part("01", |reader| reader.two(true, (1, 12), "month"))?;
    reader.sign(b'-')?;
    // Whether the month has such a day is asked in the end.
    let day = reader.part("02", |reader| reader.two(true, (0, 99), "day"))?;
    reader.sign(b'T')?;
    let hour = reader.part("15", |reader| reader.two(false, (0, 23), "hour"))?;
    reader.sign(b':')?;
    let minute = reader.part("04", |reader| reader.two(true, (0, 59), "minute"))?;
    reader.sign(b':')?;
    let mut nanos = 0;
    let second = reader.part("05", |reader| {
        let second = reader.two(true, (0, 59), "second")?;
        if !exact {
            nanos = reader.any_fraction()?;
        }
        Ok(second)
    })?;
    if exact {
        nanos = reader.part(FRACTION, |reader| billionths(reader.take(FRACTION.len())?))?;
    }
    let minutes = reader.part("Z07:00", Reader::zone)?;
    if !reader.rest.is_empty() {
        return Err(format!("parsing time {}: extra text: {}", quoted(bytes), quoted(reader.rest)));
    }
    // A zone may move it beyond the last year of the calendar: it is moved in an earlier cycle.
    let local = DateTime::new(year - CYCLE, month, day, hour, minute, second, nanos)
        .map_err(|_| reader.out_of_range("day"))?;
    let utc = local.checked_sub(minutes.minutes()).map_err(|_| reader.out_of_range("day"))?;
    Ok(shown(utc, precision))
}

/// A time of an earlier cycle as Go writes it.
fn shown(time: DateTime, precision: Precision) -> Value {
    let year = time.year() + CYCLE;
    let micros = time.subsec_nanosecond() / 1_000;
    let rest = time.strftime("%m-%dT%H:%M:%S");
    let zero = "01-01T00:00:00";
    let sign = if year < 0 { "-" } else { "" };
    let whole = format!("{sign}{:04}-{rest}", year.unsigned_abs());
    match precision {
        Precision::Seconds if year == 1 && rest.to_string() == zero => Value::Null,
        Precision::Micros if year == 1 && rest.to_string() == zero && micros == 0 => Value::Null,
        Precision::Seconds => format!("{whole}Z").into(),
        Precision::Micros => format!("{whole}.{micros:06}Z").into(),
    }
}

fn without_fraction(time: DateTime) -> DateTime {
    let nanos = SignedDuration::from_nanos(time.subsec_nanosecond().into());
    time.checked_sub(nanos).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{MICROS, micros, quoted, seconds};
    #[test]
    fn times_are_written_in_utc() {
        for (text, expected) in [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05,9Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.1234567891Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05+02:30", "2026-01-02T00:34:05Z"),
            ("2026-01-02T03:04:05+24:60", "2026-01-01T02:04:05Z"),
            ("2026-01-02T3:04:05Z", "2026-01-02T03:04:05Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            ("9999-12-31T23:59:59-01:00", "10000-01-01T00:59:59Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("0000-01-01T00:00:00+01:00", "-0001-12-31T23:00:00Z"),
            ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z"),
            ("0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"),
        ] {
            assert_eq!(seconds(text), Ok(expected.into()), "{text}");
        }
        for (text, expected) in [
            ("2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05.000006Z"),
            ("2026-01-02T03:04:05,000006Z", "2026-01-02T03:04:05.000006Z"),
            ("2026-01-02T03:04:05.+00006Z", "2026-01-02T03:04:05.000006Z"),
            ("2026-01-02T03:04:05.000006-01:00", "2026-01-02T04:04:05.000006Z"),
            ("9999-12-31T23:59:59.000000Z", "9999-12-31T23:59:59.000000Z"),
            ("0001-01-01T00:00:00.000001Z", "0001-01-01T00:00:00.000001Z"),
        ] {
            assert_eq!(micros(text), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn the_first_moment_of_year_1_is_null() {
        for text in ["0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00.5Z"]
        {
            assert_eq!(seconds(text), Ok(Value::Null), "{text}");
        }
        assert_eq!(micros("0000-12-31T23:00:00.000000-01:00"), Ok(Value::Null));
    }

    #[test]
    fn what_is_no_time_is_said_as_go_does() {
        let layout = r#"as "2006-01-02T15:04:05Z07:00": cannot parse"#;
        for (text, why) in [
            ("x", format!(r#"{layout} "x" as "2006""#)),
            ("+026-01-02T03:04:05Z", format!(r#"{layout} "+026-01-02T03:04:05Z" as "2006""#)),
            ("2026-1-02T03:04:05Z", format!(r#"{layout} "1-02T03:04:05Z" as "01""#)),
            ("2026-01-02t03:04:05Z", format!(r#"{layout} "t03:04:05Z" as "T""#)),
            ("2026-01-02 03:04:05Z", format!(r#"{layout} " 03:04:05Z" as "T""#)),
            ("2026-01-02T03:4:05Z", format!(r#"{layout} "4:05Z" as "04""#)),
            ("2026-01-02T03:04:05", format!(r#"{layout} "" as "Z07:00""#)),
            ("2026-01-02T03:04:05.Z", format!(r#"{layout} ".Z" as "Z07:00""#)),
            ("2026-01-02T03:04:05z", format!(r#"{layout} "z" as "Z07:00""#)),
            ("2026-01-02T03:04:05+0100", format!(r#"{layout} "+0100" as "Z07:00""#)),
            ("2026-01-02T03:04:05é01:00", format!(r#"{layout} "\xc3\xa901:00" as "Z07:00""#)),
        ] {
            assert_eq!(
                seconds(text).map_err(String::from),
                Err(format!("parsing time {} {why}", quoted(text.as_bytes())))
            );
        }
        for (text, why) in [
            ("2026-13-02T03:04:05Z", "month out of range"),
            ("2026-00-02T03:04:05Z", "month out of range"),
            ("2026-02-30T03:04:05Z", "day out of range"),
            ("2026-02-00T03:04:05Z", "day out of range"),
            ("2026-02-03T24:04:05Z", "hour out of range"),
            ("2026-02-03T03:60:05Z", "minute out of range"),
            ("2026-02-03T03:04:60Z", "second out of range"),
            ("2026-02-03T03:04:05+25:00", "time zone offset hour out of range"),
            ("2026-02-03T03:04:05+24:61", "time zone offset minute out of range"),
            ("2026-02-03T03:04:05Zx", r#"extra text: "x""#),
        ] {
            assert_eq!(
                seconds(text).map_err(String::from),
                Err(format!("parsing time {text:?}: {why}"))
            );
        }
        let text = "2026-01-01T00:00:00Z";
        let why = format!(r#"parsing time "{text}" as "{MICROS}": cannot parse "Z" as ".000000""#);
        assert_eq!(micros(text).map_err(String::from), Err(why));
        let text = "2026-01-01T00:00:00.-00001Z";
        assert_eq!(
            micros(text).map_err(String::from),
            Err(format!("parsing time {text:?}: fractional second out of range"))
        );
        for text in ["2026-01-02T03:04:05.0000060Z", "2026-01-02T03:04:05.00000Z", "é026-01-02"] {
            assert!(micros(text).is_err(), "{text}");
        }
    }
}
