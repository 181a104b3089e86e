//! Fields: a record's fields, as Go's `encoding/json` reads them. A value that Go refuses makes the
//! record unreadable: then another holder has the lease.

use jiff::Timestamp;
use serde_json::Value;

use crate::fnv::Fnv;
use crate::record::{Record, to_micros};

/// Reads the record. A record that cannot be read counts as another holder's. `transitions` is the
/// name of that field; `is` compares a name found with a name wanted.
pub(crate) fn read<'f>(
    fields: impl Iterator<Item = (&'f str, &'f Value)>,
    transitions: &str,
    is: fn(&str, &str) -> bool,
) -> Record {
    let mut record = Record::default();
    let mut wrong = None;
    for (name, value) in fields {
        // Without the value, so that the reason stays the same while the holder renews.
        let read = if is(name, "holderIdentity") {
            text(&mut record.holder, value)
        } else if is(name, "leaseDurationSeconds") {
            number(&mut record.lease_duration_seconds, value)
        } else if is(name, "acquireTime") {
            time(&mut record.acquire_time, value)
        } else if is(name, "renewTime") {
            time(&mut record.renew_time, value)
        } else if is(name, transitions) {
            number(&mut record.leader_transitions, value)
        } else if is(name, "strategy") {
            text(&mut record.strategy, value)
        } else if is(name, "preferredHolder") {
            text(&mut record.preferred_holder, value)
        } else {
            Ok(())
        };
        if let Err(wanted) = read {
            wrong.get_or_insert_with(|| format!("{name} is not {wanted}"));
        }
    }
    match wrong {
        None => record,
        Some(why) => Record {
            lease_duration_seconds: record.lease_duration_seconds,
            leader_transitions: record.leader_transitions,
            ..Record::unreadable(&why)
        },
    }
}

/// A digest in place of a write's mark, for a text that neither client-go nor this crate writes:
/// each change of it changes the record.
pub(crate) fn raw_id(raw: &str) -> String {
    format!("raw-{:016x}", Fnv::new().with(raw.as_bytes()).finish())
}

type Read = Result<(), &'static str>;

fn text(field: &mut String, value: &Value) -> Read {
    match value {
        Value::Null => Ok(()),
        Value::String(text) => {
            field.clone_from(text);
            Ok(())
        }
        _ => Err("a string"),
    }
}

/// A number in a string makes the record unreadable, and still sets how long to wait.
fn number(field: &mut i32, value: &Value) -> Read {
    let (number, read) = match value {
        Value::Null => return Ok(()),
        Value::String(text) => (text.trim().parse().ok(), Err("an integer")),
        value => (value.as_i64(), value.as_i64().map(|_| ()).ok_or("an integer")),
    };
    if let Some(number) = number {
        *field = i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX });
    }
    read
}

fn time(field: &mut Option<Timestamp>, value: &Value) -> Read {
    let time = match value {
        Value::Null => None,
        Value::String(text) => Some(rfc_3339(text).ok_or("a time of RFC 3339")?),
        _ => return Err("a time of RFC 3339"),
    };
    *field = time.map(to_micros);
    Ok(())
}

/// jiff accepts more than Go: a space for the `T`, an offset without minutes, a second 60.
fn rfc_3339(text: &str) -> Option<Timestamp> {
    let has_form = |text: &str, form: &str| {
        let fits = |(c, form): (u8, u8)| if form == b'0' { c.is_ascii_digit() } else { c == form };
        text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
    };
    let (seconds, rest) = text.split_at_checked("0000-00-00T00:00:00".len())?;
    let zone = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            (zone.len() < fraction.len()).then_some(zone)?
        }
    };
    let is_zone = ["Z", "+00:00", "-00:00"].iter().any(|form| has_form(zone, form));
    let is_time = has_form(seconds, "0000-00-00T00:00:00") && !seconds.ends_with("60");
    (is_time && is_zone).then(|| text.parse().ok())?
}
