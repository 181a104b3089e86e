//! Durations and points in time.

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::eval_error::EvalError;
use crate::value::{Called, Value, Value as V};

pub(super) fn call(function: &str, args: &[Value]) -> Option<Called> {
    let length = |nanos: Option<i64>| {
        nanos.map(V::Duration).ok_or_else(|| EvalError::said("integer overflow"))
    };
    let moved = |time: &Timestamp, nanos: Option<i64>| {
        let time = nanos.and_then(|nanos| time.checked_add(SignedDuration::from_nanos(nanos)).ok());
        time.map(V::Timestamp).ok_or_else(|| EvalError::said("timestamp overflow"))
    };
    Some(match (function, args) {
        ("_+_", [V::Duration(a), V::Duration(b)]) => length(a.checked_add(*b)),
        ("_-_", [V::Duration(a), V::Duration(b)]) => length(a.checked_sub(*b)),
        ("_+_", [V::Timestamp(time), V::Duration(nanos)])
        | ("_+_", [V::Duration(nanos), V::Timestamp(time)]) => moved(time, Some(*nanos)),
        ("_-_", [V::Timestamp(time), V::Duration(nanos)]) => moved(time, nanos.checked_neg()),
        ("_-_", [V::Timestamp(a), V::Timestamp(b)]) => {
            length(i64::try_from(a.duration_since(*b).as_nanos()).ok())
        }
        ("getHours", [V::Duration(nanos)]) => Ok(V::Int(nanos / 3_600_000_000_000)),
        ("getMinutes", [V::Duration(nanos)]) => Ok(V::Int(nanos / 60_000_000_000)),
        ("getSeconds", [V::Duration(nanos)]) => Ok(V::Int(nanos / 1_000_000_000)),
        ("getMilliseconds", [V::Duration(nanos)]) => Ok(V::Int(nanos / 1_000_000)),
        (_, [V::Timestamp(time)]) => return part(function, *time, "UTC"),
        (_, [V::Timestamp(time), V::Text(zone)]) => return part(function, *time, zone),
        _ => return None,
    })
}

/// Whether a time zone is known here: by its distance from UTC, not by a place.
pub(crate) fn is_known_zone(zone: &str) -> bool {
    offset(zone).is_some()
}

fn offset(zone: &str) -> Option<Offset> {
    if matches!(zone, "" | "UTC") {
        return Some(Offset::UTC);
    }
    let (hours, minutes) = zone.split_once(':')?;
    let (negative, hours) = match hours.strip_prefix('-') {
        Some(hours) => (true, hours),
        None => (false, hours.strip_prefix('+').unwrap_or(hours)),
    };
    let seconds = hours
        .parse::<i32>()
        .ok()?
        .checked_mul(3600)?
        .checked_add(minutes.parse::<i32>().ok()?.checked_mul(60)?)?;
    Offset::from_seconds(if negative { -seconds } else { seconds }).ok()
}

fn part(function: &str, time: Timestamp, zone: &str) -> Option<Called> {
    let Some(offset) = offset(zone) else {
        return Some(Err(EvalError::said(format!("unknown time zone {zone}"))));
    };
    let time = time.to_zoned(TimeZone::fixed(offset));
    let number = match function {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return None,
    };
    Some(Ok(V::Int(number)))
}

/// Reads a point in time as cel-go does: RFC 3339 in capitals, from the year 1 on.
pub(crate) fn timestamp(text: &str) -> Option<Timestamp> {
    text.parse().ok().filter(|time: &Timestamp| is_rfc3339(text) && time.as_second() >= YEAR_ONE)
}

/// Whether a text is `2026-01-02T03:04:05.678Z`, or has an offset as `+01:00` at its end. The time
/// may still be impossible; a leap second is, for Go.
fn is_rfc3339(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let Some(rest) = shape.strip_prefix("0000-00-00T00:00:00") else { return false };
    let zone = match rest.strip_prefix('.') {
        Some(fraction) if fraction.starts_with('0') => fraction.trim_start_matches('0'),
        Some(_) => return false,
        None => rest,
    };
    matches!(zone, "Z" | "+00:00" | "-00:00") && text.get(17..19) < Some("60")
}

/// The first second of the year 1.
const YEAR_ONE: i64 = -62_135_596_800;

/// Reads a duration as Go's `time.ParseDuration` does, in nanoseconds.
pub fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut nanos = 0_i128;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(end)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(end)?;
        let of_unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let digits = |text: &str| {
            if text.is_empty() { Some(0) } else { text.parse::<i64>().ok().map(i128::from) }
        };
        nanos = nanos.checked_add(digits(whole)?.checked_mul(of_unit)?)?;
        // More than 18 digits behind the point say nothing of nanoseconds.
        let fraction = fraction.get(..18).unwrap_or(fraction);
        let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        nanos = nanos.checked_add(digits(fraction)?.checked_mul(of_unit)? / scale)?;
        rest = after;
    }
    i64::try_from(if negative { -nanos } else { nanos }).ok()
}
