//! The record inside an annotation, as client-go's Endpoints and ConfigMap locks kept it (until v0.23, in multi-locks until v0.27): JSON of
//! `LeaderElectionRecord`, byte for byte. Reading trusts nothing and fails on nothing.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};
use kube::api::DynamicObject;
use serde_json::{Map, Value};

use super::{lenient, mark};
use crate::fnv::Fnv;
use crate::record::{Record, UNKNOWN_HOLDER, to_micros};

/// Where client-go keeps the record.
pub(super) const LEADER_ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";

/// Where this crate keeps the two times with their fractions of a second, which the record has no room for, and a digest of the text that they belong to.
pub(super) const TIMES_ANNOTATION: &str = "lease-election.wq-rs.dev/times";

/// An object without the annotation is a free lease.
pub(super) fn read(object: &DynamicObject) -> Record {
    let annotations = object.metadata.annotations.as_ref();
    let annotation = |key: &str| annotations.and_then(|all| all.get(key));
    let Some(text) = annotation(LEADER_ANNOTATION) else { return Record::default() };
    let fields = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Null) => Map::new(),
        // Somebody may mean to hold it (client-go's plain annotation locks are stuck for ever). With its text in the record, a change of it is a change of the record.
        _ => return Record { holder: format!("{UNKNOWN_HOLDER}: {text}"), ..Record::default() },
    };
    // Go matches names without regard to case.
    let field = |name: &str| {
        let exact = fields.get(name);
        let any = || fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        exact.or_else(any).filter(|value| !value.is_null())
    };
    // client-go keeps annotations that it does not know: those beside its own record are of another write, maybe of the same second.
    let exact = annotation(TIMES_ANNOTATION).and_then(|exact| times(exact, text)).unwrap_or_default();
    let time = |name: &str, exact: Option<Timestamp>| {
        let known = lenient::time(field(name))?;
        Some(exact.filter(|exact| seconds(*exact) == seconds(known)).unwrap_or(known))
    };
    let record = Record {
        holder: lenient::holder(field("holderIdentity")),
        lease_duration_seconds: lenient::number(field("leaseDurationSeconds")),
        acquire_time: time("acquireTime", exact[0]),
        renew_time: time("renewTime", exact[1]),
        leader_transitions: lenient::number(field("leaderTransitions")),
        strategy: lenient::text(field("strategy")),
        preferred_holder: lenient::text(field("preferredHolder")),
        ..Record::default()
    };
    mark::read(object, record)
}

/// Writes the record into the annotation and leaves all else in the object alone.
pub(super) fn write(object: &mut DynamicObject, record: &Record) {
    let annotations = object.metadata.annotations.get_or_insert_default();
    let text = json(record);
    let [acquired, renewed] = [record.acquire_time, record.renew_time]
        .map(|time| time.map(|time| to_micros(time).to_string()).unwrap_or_default());
    annotations.insert(TIMES_ANNOTATION.to_owned(), format!("{acquired} {renewed} {}", digest(&text)));
    annotations.insert(LEADER_ANNOTATION.to_owned(), text);
    mark::write(object, record);
}

/// As Go's `encoding/json` writes it: fields in the order of the struct, `<`, `>`, `&` and two line separators escaped.
fn json(record: &Record) -> String {
    let mut text = format!(
        r#"{{"holderIdentity":{},"leaseDurationSeconds":{},"acquireTime":{},"renewTime":{},"leaderTransitions":{}"#,
        string(&record.holder),
        record.lease_duration_seconds,
        time(record.acquire_time),
        time(record.renew_time),
        record.leader_transitions,
    );
    // Newer than the annotation locks.
    for (name, value) in [("strategy", &record.strategy), ("preferredHolder", &record.preferred_holder)] {
        if !value.is_empty() {
            text.push_str(&format!(r#","{name}":{}"#, string(value)));
        }
    }
    text.push('}');
    text
}

fn string(text: &str) -> String {
    let mut quoted = Value::from(text).to_string();
    for (plain, escaped) in [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ] {
        quoted = quoted.replace(plain, escaped);
    }
    quoted
}

/// RFC 3339 in UTC, in whole seconds.
fn time(time: Option<Timestamp>) -> String {
    match time {
        Some(time) => format!("\"{}\"", seconds(time).to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
        None => "null".to_owned(),
    }
}

/// Cut, as Go does, and not rounded.
fn seconds(time: Timestamp) -> Timestamp {
    let floor = jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Floor);
    time.round(floor).unwrap_or(time)
}

/// The two times as they were written beside `record`; `None` if that is another by now.
fn times(exact: &str, record: &str) -> Option<[Option<Timestamp>; 2]> {
    let (both, beside) = exact.rsplit_once(' ')?;
    let (acquired, renewed) = both.split_once(' ')?;
    let time = |text: &str| text.parse::<Timestamp>().ok().map(to_micros);
    (beside == digest(record)).then(|| [time(acquired), time(renewed)])
}

fn digest(text: &str) -> String {
    format!("{:016x}", Fnv::new().with(text.as_bytes()).finish())
}

#[cfg(test)]
mod tests;
