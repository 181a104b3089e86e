//! Tests of the annotation: client-go's bytes both ways, and every other text.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::candidate::{Action, Candidate, Purpose};
use crate::clock::Moment;
use crate::config::Config;
use crate::record::StoredLease;
use crate::version::Version;

fn object(annotation: Option<&str>) -> DynamicObject {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Endpoints", "subsets": [{"addresses": [{"ip": "10.0.0.1"}]}],
        "metadata": {"name": "l", "namespace": "ns", "uid": "u", "resourceVersion": "5", "annotations": {"a": "b"}},
    });
    if let Some(text) = annotation {
        object["metadata"]["annotations"][LEADER_ANNOTATION] = text.into();
    }
    serde_json::from_value(object).unwrap()
}

fn time(text: &str) -> Option<Timestamp> {
    Some(text.parse().unwrap())
}

fn written(record: &Record) -> String {
    let mut object = object(None);
    write(&mut object, record);
    object.metadata.annotations.unwrap()[LEADER_ANNOTATION].clone()
}

/// The records of client-go's own locks (`crates/verify/go/annotation-locks`).
const RECORDED: &str = include_str!("recorded.json");

/// The record that client-go wrote, in whole seconds.
fn recorded(record: &Value) -> Record {
    let text = |name: &str| record[name].as_str().unwrap();
    let number = |name: &str| i32::try_from(record[name].as_i64().unwrap()).unwrap();
    Record {
        holder: text("holderIdentity").to_owned(),
        lease_duration_seconds: number("leaseDurationSeconds"),
        acquire_time: time(text("acquireTime")),
        renew_time: time(text("renewTime")),
        leader_transitions: number("leaderTransitions"),
        ..Record::default()
    }
}

#[test]
fn the_bytes_are_those_that_client_go_s_locks_have_written_both_ways() {
    let steps: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    let (mut annotations, mut leases) = (0, 0);
    for step in &steps {
        let (lock, expected) = (&step["lock"], recorded(&step["record"]));
        for kind in ["configMap", "endpoints"] {
            let Ok(object) = serde_json::from_value::<DynamicObject>(step[kind].clone()) else {
                continue;
            };
            let text = &object.metadata.annotations.as_ref().unwrap()[LEADER_ANNOTATION];
            assert_eq!(read(&object), expected, "{lock} {}", step["step"]);
            assert_eq!(written(&expected), *text, "{lock} {}", step["step"]);
            annotations += 1;
        }
        if let Ok(lease) = serde_json::from_value::<DynamicObject>(step["lease"].clone()) {
            // The other half of the same write has the fractions.
            let lease = (crate::kube_store::SPEC.read)(&lease);
            let whole = |time: Option<Timestamp>| time.map(seconds);
            let cut = Record {
                acquire_time: whole(lease.acquire_time),
                renew_time: whole(lease.renew_time),
                ..lease.clone()
            };
            assert_eq!(cut, expected, "{lock} {}", step["step"]);
            assert_ne!(lease, expected);
            leases += 1;
        }
    }
    // Four kinds, each made, renewed, handed over and released; two of them with a Lease.
    assert_eq!((annotations, leases), (16, 8));
}

#[test]
fn what_go_escapes_a_zero_time_and_a_release_are_written_so() {
    assert_eq!(
        written(&Record::default().released(time("2022-03-04T05:06:10.999999Z").unwrap())),
        r#"{"holderIdentity":"","leaseDurationSeconds":1,"acquireTime":"2022-03-04T05:06:10Z","renewTime":"2022-03-04T05:06:10Z","leaderTransitions":0}"#
    );
    let odd = Record { holder: "<a>&\"\\\u{2028}\u{e9}".into(), ..Record::default() };
    assert_eq!(
        written(&odd),
        "{\"holderIdentity\":\"\\u003ca\\u003e\\u0026\\\"\\\\\\u2028\u{e9}\",\"leaseDurationSeconds\":0,\"acquireTime\":null,\"renewTime\":null,\"leaderTransitions\":0}"
    );
}

#[test]
fn times_keep_their_fractions_beside_the_record_and_not_those_of_another_write() {
    let ours = Record {
        holder: "a".into(),
        lease_duration_seconds: 15,
        acquire_time: time("2026-01-02T03:04:05.999999Z"),
        renew_time: time("2026-01-02T03:04:06.000001Z"),
        write_id: Some("w.1.x".into()),
        ..Record::default()
    };
    let mut object = object(None);
    write(&mut object, &ours);
    assert_eq!(read(&object), ours);
    // An old client writes, maybe in the very second, and keeps unknown annotations.
    let of = |holder: &str, renewed: &str| Record {
        holder: holder.into(),
        renew_time: time(renewed),
        acquire_time: time("2026-01-02T03:04:05Z"),
        ..ours.clone()
    };
    for theirs in [of("a", "2026-01-02T03:04:08Z"), of("go", "2026-01-02T03:04:06Z")] {
        let mut kept = object.clone();
        kept.metadata
            .annotations
            .as_mut()
            .unwrap()
            .insert(LEADER_ANNOTATION.into(), written(&theirs));
        assert_eq!(read(&kept), theirs);
    }
    let digest = object.metadata.annotations.as_ref().unwrap()[TIMES_ANNOTATION]
        .rsplit_once(' ')
        .unwrap()
        .1
        .to_owned();
    for garbage in [
        "",
        " ",
        "x y z",
        "2026-01-02T03:04:05Z",
        &format!("x y {digest}"),
        &digest,
        &format!("1999-01-01T00:00:00Z 1999-01-01T00:00:00Z {digest}"),
    ] {
        object
            .metadata
            .annotations
            .as_mut()
            .unwrap()
            .insert(TIMES_ANNOTATION.into(), garbage.to_owned());
        assert_eq!(read(&object).acquire_time, time("2026-01-02T03:04:05Z"));
    }
}

#[test]
fn a_write_leaves_the_object_alone() {
    let mut object = object(Some("{}"));
    write(&mut object, &Record { holder: "y".into(), ..Record::default() });
    let value = serde_json::to_value(&object).unwrap();
    assert_eq!(value["subsets"][0]["addresses"][0]["ip"], "10.0.0.1");
    assert_eq!(value["metadata"]["annotations"]["a"], "b");
    assert_eq!(
        (&value["metadata"]["uid"], &value["metadata"]["resourceVersion"]),
        (&json!("u"), &json!("5"))
    );
}

/// A candidate with leases of 5 s that takes an expired lease at once.
fn config() -> Config {
    let config = Config::builder("ns", "l").fast().identity("baz").takeover_jitter(Duration::ZERO);
    config.build().unwrap()
}

fn at_ms(millis: u64) -> Moment {
    Moment::from_origin(Duration::from_millis(10_000 + millis))
}

/// When a candidate takes the lease that it reads at these times, and that then stays the same.
fn taken_at(seen: impl IntoIterator<Item = (u64, String)>) -> Moment {
    let mut candidate = Candidate::new(&config(), 1);
    let mut now = at_ms(0);
    let mut last = None;
    for (version, (millis, text)) in (1..).zip(seen) {
        now = at_ms(millis);
        if let Some(Action::Write(purpose)) = last.as_ref().map(|_| candidate.action(now, true)) {
            panic!("{purpose:?} at {now:?}, while the record changes");
        }
        let lease = StoredLease {
            version: Version::new("u", format!("{version}")),
            record: read(&object(Some(&text))),
        };
        let reading = candidate.begin_read(now);
        let _ = candidate.read(now, reading, Ok(Some(lease.clone())));
        last = Some(lease);
    }
    for _ in 0..1000 {
        match candidate.action(now, true) {
            Action::Read => {
                let reading = candidate.begin_read(now);
                let _ = candidate.read(now, reading, Ok(last.clone()));
            }
            Action::Write(Purpose::Acquire) => return now,
            Action::Write(purpose) => panic!("{purpose:?}"),
            Action::Wait(until) => now = until,
        }
    }
    panic!("never");
}

#[test]
fn a_holder_whose_record_cannot_be_read_is_alive_as_long_as_its_text_changes() {
    // The Python client's record (kubernetes-client/python#1877): the duration is a string, and the
    // time has no offset.
    let python = |second: u64| {
        let time = format!("2026-01-02 03:04:{second:02}.678901");
        format!(
            r#"{{"holderIdentity":"py-1","leaseDurationSeconds":"17","acquireTime":"2026-01-02 03:00:00.1","renewTime":"{time}"}}"#
        )
    };
    // It renews every 2 s; every 5 s, as its example does; and after one failed renewal.
    for pause in [2, 5, 10] {
        let renewals = (0..=50).step_by(pause).map(|second| (second * 1000, python(second)));
        assert_eq!(taken_at(renewals), at_ms(50_000 + 17_000), "every {pause} s");
    }
    // The reason is the same in each, so no observer sees a new leader.
    let [one, other] = [1, 2].map(|second| read(&object(Some(&python(second)))));
    assert_eq!(one.holder, "leaderelection.k8s.io/unknown: leaseDurationSeconds is not an integer");
    assert_eq!(one.holder, other.holder);
    assert_ne!(one, other);
    assert_eq!((one.renew_time, one.acquire_time), (None, None), "no time of it is gone by");
}

#[test]
fn a_duration_under_another_name_is_a_lease_of_ours_from_the_last_change_of_any_byte() {
    // fabric8's and Flink's record.
    let fabric8 = |duration: &str, second: u64| {
        format!(
            r#"{{"holderIdentity":"f8","leaseDuration":{duration},"acquireTime":"2026-01-02T03:00:00.123456Z","renewTime":"2026-01-02T03:04:{second:02}.123456Z","leaderTransitions":3}}"#
        )
    };
    for duration in ["15.000000000", r#""PT15S""#, "1"] {
        let renewals = (0..=40).step_by(2).map(|second| (second * 1000, fabric8(duration, second)));
        assert_eq!(taken_at(renewals), at_ms(40_000 + 5000), "{duration}");
    }
    // Any other change: an unknown field, the order, the space between.
    let other = |n: u64| {
        format!(
            r#"{{"holderIdentity":"o","leaseDurationSeconds":3,"acquireTime":"2026-01-02T03:00:00Z","beat":{n}}}"#
        )
    };
    assert_eq!(taken_at((0..=20).map(|n| (n * 2000, other(n)))), at_ms(40_000 + 3000));
    let spaced =
        |n: u64| format!("{}{}", r#"{"holderIdentity":"o"}"#, " ".repeat(usize::from(n % 2 == 1)));
    assert_eq!(taken_at((0..=20).map(|n| (n * 2000, spaced(n)))), at_ms(40_000 + 5000));
}

#[test]
fn what_go_refuses_belongs_to_somebody_and_is_held_for_a_lease_of_ours_at_least() {
    let mut seen = std::collections::BTreeSet::new();
    for text in [
        "",
        "{",
        "[]",
        "7",
        "\"x\"",
        "{} {}",
        r#"{"holderIdentity":"#,
        r#"{"holderIdentity":{"a":1}}"#,
        r#"{"holderIdentity":7}"#,
        r#"{"leaseDurationSeconds":"15"}"#,
        r#"{"leaseDurationSeconds":"3"}"#,
        r#"{"leaseDurationSeconds":1.5}"#,
        r#"{"leaseDurationSeconds":1.0}"#,
        r#"{"leaseDurationSeconds":1e2}"#,
        r#"{"leaseDurationSeconds":true}"#,
        r#"{"leaseDurationSeconds":9223372036854775808}"#,
        r#"{"leaseDurationSeconds":"15","leaseDurationSeconds":3}"#,
        r#"{"LEASEDURATIONSECONDS":"15"}"#,
        "{\"lea\u{17f}eDurationSeconds\":\"15\"}",
        r#"{"leaderTransitions":"3"}"#,
        r#"{"strategy":[]}"#,
        r#"{"preferredHolder":{}}"#,
        r#"{"renewTime":7}"#,
        r#"{"renewTime":""}"#,
        r#"{"renewTime":"yesterday"}"#,
        r#"{"renewTime":"2026-01-02T03:04Z"}"#,
        r#"{"renewTime":"2026-01-02T03:04:05"}"#,
        r#"{"renewTime":"2026-01-02T03:04:05.Z"}"#,
        r#"{"renewTime":"2026-01-02T03:04:60Z"}"#,
        r#"{"renewTime":"2026-01-02t03:04:05z"}"#,
        r#"{"renewTime":"2026-01-02T03:04:05+0100"}"#,
        r#"{"acquireTime":"2026-01-02 03:04:05Z"}"#,
        r#"{"acquireTime":"20260102T030405Z"}"#,
    ] {
        let record = read(&object(Some(text)));
        assert!(record.is_unreadable() && !record.is_free(), "{text:?}");
        let (own, cap) = (Duration::from_secs(5), config().foreign_lease_cap());
        assert!(record.patience(own, cap) >= own, "{text:?}");
        assert!(seen.insert(record.write_id), "{text:?}: a change of it is a change of the record");
        assert!(taken_at([(0, text.to_owned())]) >= at_ms(5000), "{text:?}");
    }
}

#[test]
fn what_go_reads_is_read_as_go_reads_it() {
    for free in [
        None,
        Some("null"),
        Some("{}"),
        Some(" {} "),
        Some(r#"{"holderIdentity":null,"renewTime":null}"#),
    ] {
        assert_eq!(Record { write_id: None, ..read(&object(free)) }, Record::default(), "{free:?}");
    }
    let holder = |text: &str| read(&object(Some(text))).holder;
    // The last of repeated names counts, in whatever case; `null` changes nothing.
    assert_eq!(holder(r#"{"holderIdentity":"","HOLDERIDENTITY":"x"}"#), "x");
    assert_eq!(holder(r#"{"HOLDERIDENTITY":"x","holderIdentity":""}"#), "");
    assert_eq!(holder(r#"{"holderIdentity":"x","holderIdentity":null}"#), "x");
    let record = read(&object(Some(
        r#"{"renewTime":"2026-01-02T03:04:05Z","renewTime":null,"lea\u017fedurationSeconds":4294967296,"leaderTransitions":-5000000000}"#,
    )));
    assert_eq!((record.renew_time, record.lease_duration_seconds), (None, i32::MAX));
    assert_eq!(record.leader_transitions, i32::MIN);
    // Any fraction, any offset.
    let record =
        read(&object(Some(r#"{"holderIdentity":"x","renewTime":"2022-03-04T06:06:07.5+01:00"}"#)));
    assert_eq!((record.holder.as_str(), record.renew_time), ("x", time("2022-03-04T05:06:07.5Z")));
}

#[test]
fn transitions_are_counted_on_from_a_record_that_cannot_be_read() {
    let text = r#"{"holderIdentity":"py-1","leaseDurationSeconds":"17","leaderTransitions":41}"#;
    assert_eq!(read(&object(Some(text))).leader_transitions, 41);
    let text = r#"{"holderIdentity":"py-1","leaderTransitions":"41"}"#;
    assert_eq!(read(&object(Some(text))).leader_transitions, 41);
}
