//! What an annotation says: client-go's bytes both ways, and everything else that may stand there.

use jiff::Timestamp;
use serde_json::json;

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

/// As client-go v0.23 writes it.
const CLIENT_GO: &str = r#"{"holderIdentity":"host_4f2c","leaseDurationSeconds":15,"acquireTime":"2022-03-04T05:06:07Z","renewTime":"2022-03-04T05:06:09Z","leaderTransitions":2}"#;

#[test]
fn the_bytes_are_those_of_client_go_both_ways() {
    let record = read(&object(Some(CLIENT_GO)));
    let expected = Record {
        holder: "host_4f2c".into(),
        lease_duration_seconds: 15,
        acquire_time: time("2022-03-04T05:06:07Z"),
        renew_time: time("2022-03-04T05:06:09Z"),
        leader_transitions: 2,
        ..Record::default()
    };
    assert_eq!(record, expected);
    assert_eq!(written(&record), CLIENT_GO);
    // A release, a zero time, and what Go escapes.
    assert_eq!(
        written(&expected.released(time("2022-03-04T05:06:10.999999Z").unwrap())),
        r#"{"holderIdentity":"","leaseDurationSeconds":1,"acquireTime":"2022-03-04T05:06:10Z","renewTime":"2022-03-04T05:06:10Z","leaderTransitions":2}"#
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
    let mut object = object(Some(CLIENT_GO));
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
