//! `metav1.Time` and `metav1.MicroTime`: RFC 3339 as Go reads it, written in UTC with whole seconds, or with exactly six
//! digits of one.

use jiff::civil::DateTime;
use jiff::{SignedDuration, ToSpan as _};

/// Go's `time.RFC3339`.
const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
/// `metav1.RFC3339Micro`.
const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// A time in whole seconds: fractions are cut off.
///
/// # Errors
///
/// What Go's `time.Parse` says.
pub(crate) fn seconds(text: &str) -> Result<String, String> {
    Ok(format!("{:.0}Z", parse(text, false)?))
}

/// A time with six digits of a second.
///
/// # Errors
///
/// What Go's `time.Parse` says: it takes exactly six.
pub(crate) fn micros(text: &str) -> Result<String, String> {
    Ok(format!("{:.6}Z", parse(text, true)?))
}

/// How much of a second is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    /// `metav1.Time`
    Seconds,
    /// `metav1.MicroTime`
    Micros,
}

/// A time as protobuf says it; nothing if four digits cannot say its year.
pub(crate) fn since_1970(seconds: i64, nanos: i32, precision: Precision) -> Option<String> {
    let time =
        DateTime::constant(1970, 1, 1, 0, 0, 0, 0).checked_add(SignedDuration::new(seconds, nanos)).ok()?;
    Some(match precision {
        Precision::Seconds => format!("{:.0}Z", without_fraction(time)),
        Precision::Micros => format!("{time:.6}Z"),
    })
}

/// A text as Go's package time quotes it: byte by byte, and in hexadecimal what is no printable ASCII.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

/// What is left of the text, and how to say that it is wrong.
struct Reader<'a> {
    whole: &'a str,
    rest: &'a str,
    layout: &'static str,
}

impl Reader<'_> {
    fn wrong(&self, element: &str) -> String {
        let Self { whole, rest, layout } = self;
        let (whole, rest) = (quoted(whole), quoted(rest));
        format!("parsing time {whole} as {layout:?}: cannot parse {rest} as {element:?}")
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quoted(self.whole))
    }

    fn number(&mut self, digits: usize, element: &str) -> Result<i16, String> {
        let Some((number, rest)) = self.rest.split_at_checked(digits) else {
            return Err(self.wrong(element));
        };
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.wrong(element));
        }
        let number = number.parse().map_err(|_| self.wrong(element))?;
        self.rest = rest;
        Ok(number)
    }

    fn byte(&mut self, byte: char) -> Result<(), String> {
        let mut letters = [0; 4];
        let element = byte.encode_utf8(&mut letters);
        self.rest = self.rest.strip_prefix(byte).ok_or_else(|| self.wrong(element))?;
        Ok(())
    }

    /// Billionths after a dot.
    fn fraction(&mut self, exact: bool) -> Result<i32, String> {
        let after = self.rest.strip_prefix(['.', ',']);
        let digits = after.map_or(0, |after| after.bytes().take_while(u8::is_ascii_digit).count());
        if exact && (digits < 6 || !self.rest.starts_with('.')) {
            return Err(self.wrong(".000000"));
        }
        let Some((number, rest)) = after.and_then(|after| after.split_at_checked(digits)) else {
            return Ok(0);
        };
        if digits == 0 {
            return Err(self.wrong("Z07:00"));
        }
        if exact && digits > 6 {
            // Go reads six, and then expects the zone.
            self.rest = self.rest.get(7..).unwrap_or_default();
            return Err(self.wrong("Z07:00"));
        }
        self.rest = rest;
        let nine: String = number.chars().chain("000000000".chars()).take(9).collect();
        Ok(nine.parse().unwrap_or(0))
    }

    /// Minutes east of Greenwich.
    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let (sign, parts) = match self.rest.split_at_checked(6) {
            Some((zone, _)) if zone.starts_with('+') => (1, zone),
            Some((zone, _)) if zone.starts_with('-') => (-1, zone),
            _ => return Err(self.wrong("Z07:00")),
        };
        let number = |at: std::ops::Range<usize>| {
            let digits = parts.get(at)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?
        };
        let (Some(hours), Some(minutes), Some(":")) = (number(1..3), number(4..6), parts.get(3..4)) else {
            return Err(self.wrong("Z07:00"));
        };
        if hours > 24 || minutes > 60 {
            return Err(self.out_of_range(if hours > 24 {
                "time zone offset hour"
            } else {
                "time zone offset minute"
            }));
        }
        self.rest = self.rest.get(6..).unwrap_or_default();
        Ok(sign * (hours * 60 + minutes))
    }
}

fn parse(text: &str, exact: bool) -> Result<DateTime, String> {
    let layout = if exact { MICROS } else { SECONDS };
    let mut reader = Reader { whole: text, rest: text, layout };
    let year = reader.number(4, "2006")?;
    reader.byte('-')?;
    let month = reader.number(2, "01")?;
    if !(1..=12).contains(&month) {
        return Err(reader.out_of_range("month"));
    }
    reader.byte('-')?;
    let day = reader.number(2, "02")?;
    reader.byte('T')?;
    let mut small = |element, what, most| -> Result<i16, String> {
        let number = reader.number(2, element)?;
        if number > most {
            return Err(reader.out_of_range(what));
        }
        if element != "05" {
            reader.byte(':')?;
        }
        Ok(number)
    };
    let hour = small("15", "hour", 23)?;
    let minute = small("04", "minute", 59)?;
    let second = small("05", "second", 59)?;
    let nanos = reader.fraction(exact)?;
    let minutes = reader.zone()?;
    if !reader.rest.is_empty() {
        let (whole, rest) = (text, reader.rest);
        return Err(format!("parsing time {whole:?}: extra text: {rest:?}"));
    }
    let narrow = |number: i16| i8::try_from(number).unwrap_or(i8::MAX);
    let local =
        DateTime::new(year, narrow(month), narrow(day), narrow(hour), narrow(minute), narrow(second), nanos)
            .map_err(|_| reader.out_of_range("day"))?;
    // A zone may move it out of the years that four digits can say.
    local
        .checked_sub(minutes.minutes())
        .map(|time| if exact { time } else { without_fraction(time) })
        .map_err(|_| "Time.MarshalJSON: year outside of range [0,9999]".to_owned())
}

fn without_fraction(time: DateTime) -> DateTime {
    let nanos = SignedDuration::from_nanos(time.subsec_nanosecond().into());
    time.checked_sub(nanos).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::{micros, seconds};

    #[test]
    fn times_are_written_in_utc() {
        for (text, expected) in [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05+02:30", "2026-01-02T00:34:05Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(seconds(text).as_deref(), Ok(expected), "{text}");
        }
        for (text, expected) in [
            ("2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05.000006Z"),
            ("2026-01-02T03:04:05.000006-01:00", "2026-01-02T04:04:05.000006Z"),
            ("9999-12-31T23:59:59.000000Z", "9999-12-31T23:59:59.000000Z"),
        ] {
            assert_eq!(micros(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_said_as_go_does() {
        for (text, why) in [
            ("x", r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#),
            (
                "2026-01-02T03:04:05",
                r#"parsing time "2026-01-02T03:04:05" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
            ),
            ("2026-13-02T03:04:05Z", r#"parsing time "2026-13-02T03:04:05Z": month out of range"#),
            ("2026-02-30T03:04:05Z", r#"parsing time "2026-02-30T03:04:05Z": day out of range"#),
            ("2026-02-03T03:04:05Zx", r#"parsing time "2026-02-03T03:04:05Zx": extra text: "x""#),
        ] {
            assert_eq!(seconds(text), Err(why.to_owned()));
        }
        let why = r#"parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#;
        assert_eq!(micros("2026-01-01T00:00:00Z"), Err(why.to_owned()));
        for text in
            ["2026-01-02T03:04:05.0000060Z", "2026-01-02T03:04:05.00000Z", "é026-01-02", "20é6-01-02T"]
        {
            assert!(micros(text).is_err(), "{text}");
        }
    }
}
