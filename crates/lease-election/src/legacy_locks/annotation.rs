//! Annotation: the JSON of `LeaderElectionRecord` in an annotation, byte for byte as client-go's.
//!
//! client-go's plain locks wrote it until v0.23, its multi-locks until v0.27.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit};
use kube::api::DynamicObject;
use serde_json::Value;

use super::members::{Members, is_in_any_case};
use crate::fnv::Fnv;
use crate::kube_store::{fields, mark};
use crate::record::{Record, to_micros};

/// The annotation in which client-go keeps the record.
pub(super) const LEADER_ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";

/// The annotation with the fractions of the two times, for which the record has no room, and a
/// digest of its text.
pub(super) const TIMES_ANNOTATION: &str = "lease-election.wq-rs.dev/times";

/// Never fails. No annotation is a free lease, and each change of the text changes the record.
pub(super) fn read(object: &DynamicObject) -> Record {
    let annotations = object.metadata.annotations.as_ref();
    let annotation = |key: &str| annotations.and_then(|all| all.get(key));
    let Some(text) = annotation(LEADER_ANNOTATION) else { return Record::default() };
    let mut record = match serde_json::from_str::<Members>(text) {
        Ok(members) => fields::read(members.iter(), "leaderTransitions", is_in_any_case),
        // client-go's plain annotation locks are stuck for ever here.
        Err(_) => Record::unreadable("the annotation is no JSON object"),
    };
    // client-go keeps unknown annotations: the times beside its record are of another write, maybe
    // of the same second.
    let exact =
        annotation(TIMES_ANNOTATION).and_then(|exact| times(exact, text)).unwrap_or_default();
    for (time, exact) in [(&mut record.acquire_time, exact[0]), (&mut record.renew_time, exact[1])]
    {
        *time = time
            .map(|known| exact.filter(|exact| seconds(*exact) == seconds(known)).unwrap_or(known));
    }
    if json(&record) == *text {
        mark::read(object, record)
    } else {
        // Another client's, or unreadable. Its bytes may change where its fields do not.
        Record { write_id: Some(fields::raw_id(text)), ..record }
    }
}

/// Writes the record into the annotation, and leaves the rest of the object alone.
pub(super) fn write(object: &mut DynamicObject, record: &Record) {
    let annotations = object.metadata.annotations.get_or_insert_default();
    let text = json(record);
    let [acquired, renewed] = [record.acquire_time, record.renew_time]
        .map(|time| time.map(|time| to_micros(time).to_string()).unwrap_or_default());
    annotations
        .insert(TIMES_ANNOTATION.to_owned(), format!("{acquired} {renewed} {}", digest(&text)));
    annotations.insert(LEADER_ANNOTATION.to_owned(), text);
    mark::write(object, record);
}

/// As Go's `encoding/json` writes it: fields in the order of the struct, `<`, `>`, `&` and two line
/// separators escaped.
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
    for (name, value) in
        [("strategy", &record.strategy), ("preferredHolder", &record.preferred_holder)]
    {
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
        Some(time) => {
            format!("\"{}\"", seconds(time).to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        }
        None => "null".to_owned(),
    }
}

/// Cut as in Go, and not rounded.
fn seconds(time: Timestamp) -> Timestamp {
    let floor = jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Floor);
    time.round(floor).unwrap_or(time)
}

/// The two times that were written beside `record`; `None` if they belong to another record.
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
