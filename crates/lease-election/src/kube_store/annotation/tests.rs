//! What an annotation says: client-go's bytes both ways, and everything else that may stand there.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

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

/// What client-go's own locks wrote (`crates/verify/go/annotation-locks`).
const RECORDED: &str = include_str!("recorded.json");

/// The record as client-go had it before it was written: whole seconds.
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
            let Ok(object) = serde_json::from_value::<DynamicObject>(step[kind].clone()) else { continue };
            let text = &object.metadata.annotations.as_ref().unwrap()[LEADER_ANNOTATION];
            assert_eq!(read(&object), expected, "{lock} {}", step["step"]);
            assert_eq!(written(&expected), *text, "{lock} {}", step["step"]);
            annotations += 1;
        }
        if let Ok(lease) = serde_json::from_value::<DynamicObject>(step["lease"].clone()) {
            // The other half of the same write has the fractions.
            let lease = crate::kube_store::spec::read(&lease);
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
    // Four kinds, each made, renewed, handed on and given back; two of them with a Lease.
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
    // An old client writes, maybe in the very second: it keeps annotations that it does not know.
    let of = |holder: &str, renewed: &str| Record {
        holder: holder.into(),
        renew_time: time(renewed),
        acquire_time: time("2026-01-02T03:04:05Z"),
        ..ours.clone()
    };
    for theirs in [of("a", "2026-01-02T03:04:08Z"), of("go", "2026-01-02T03:04:06Z")] {
        let mut kept = object.clone();
        kept.metadata.annotations.as_mut().unwrap().insert(LEADER_ANNOTATION.into(), written(&theirs));
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
        object.metadata.annotations.as_mut().unwrap().insert(TIMES_ANNOTATION.into(), garbage.to_owned());
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

#[test]
fn anything_may_stand_in_an_annotation() {
    for free in [None, Some("null"), Some("{}"), Some(r#"{"holderIdentity":null,"renewTime":null}"#)] {
        assert_eq!(read(&object(free)), Record::default(), "{free:?}");
    }
    let mut seen = std::collections::BTreeSet::new();
    for broken in ["", "{", "[]", "7", "\"x\"", r#"{"holderIdentity":"#, r#"{"holderIdentity":{"a":1}}"#] {
        let record = read(&object(Some(broken)));
        assert!(!record.is_free(), "{broken:?}: somebody may mean to hold it");
        assert!(seen.insert(record.holder), "{broken:?}: a change of it is a change of the record");
    }
    // Names without regard to case, any fraction, any offset, numbers out of range.
    let record = read(&object(Some(
        r#"{"HOLDERIDENTITY":"x","leasedurationseconds":4294967296,"renewTime":"2022-03-04T06:06:07.5+01:00","acquireTime":7,"leaderTransitions":-5000000000}"#,
    )));
    assert_eq!((record.holder.as_str(), record.renew_time), ("x", time("2022-03-04T05:06:07.5Z")));
    assert_eq!((record.lease_duration_seconds, record.leader_transitions), (i32::MAX, i32::MIN));
}
