//! KubeLeaseStore tests: a Lease on the wire, with client-go's fixtures both ways, and odd content.

use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::core::Status;
use serde_json::{Value, json};

use super::*;
use crate::WRITE_ANNOTATION;

fn parsed(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn lease(spec: Value) -> DynamicObject {
    parsed(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "l", "namespace": "ns", "uid": "u", "resourceVersion": "5"},
        "spec": spec,
    }))
}

fn time(text: &str) -> Option<Timestamp> {
    Some(text.parse().unwrap())
}

#[test]
fn upstream_record_round_trip() {
    // TestLeaseSpecToLeaderElectionRecordRoundTrip and TestLeaseConversion: all seven fields, both
    // ways.
    let spec = json!({
        "acquireTime": "2015-10-21T07:28:00.000001Z", "holderIdentity": "id", "leaseDurationSeconds": 15,
        "leaseTransitions": 3, "preferredHolder": "other", "renewTime": "2015-10-21T07:29:00.123456Z",
        "strategy": "OldestEmulationVersion",
    });
    let before = lease(spec.clone());
    let record = spec::read(&before);
    assert_eq!(record.holder, "id");
    assert_eq!(record.lease_duration_seconds, 15);
    assert_eq!(record.leader_transitions, 3);
    assert_eq!(record.acquire_time, time("2015-10-21T07:28:00.000001Z"));
    assert_eq!(record.renew_time, time("2015-10-21T07:29:00.123456Z"));
    let mut after = lease(json!({}));
    spec::write(&mut after, &record);
    assert_eq!(after.data["spec"], spec);
}

#[test]
fn times_have_exactly_six_fraction_digits() {
    let mut object = lease(json!({}));
    let record = Record { renew_time: time("2026-01-02T03:04:05.999999999Z"), ..Record::default() };
    spec::write(&mut object, &record);
    assert_eq!(object.data["spec"]["renewTime"], "2026-01-02T03:04:05.999999Z");
    assert_eq!(object.data["spec"]["acquireTime"], Value::Null);
    let record = Record { renew_time: time("2026-01-02T03:04:05Z"), ..Record::default() };
    spec::write(&mut object, &record);
    assert_eq!(object.data["spec"]["renewTime"], "2026-01-02T03:04:05.000000Z");
}

#[test]
fn a_release_is_written_as_client_go_writes_it() {
    let mut object =
        lease(json!({"strategy": "x/y", "preferredHolder": "z", "leaseTransitions": 4}));
    let released = spec::read(&object).released(time("2026-01-02T03:04:05Z").unwrap()).marked(
        "w",
        1,
        crate::record::Marks::All,
    );
    spec::write(&mut object, &released);
    assert_eq!(
        object.data["spec"],
        json!({
            "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 4,
            "acquireTime": "2026-01-02T03:04:05.000000Z", "renewTime": "2026-01-02T03:04:05.000000Z",
        })
    );
}

#[test]
fn a_successor_stands_beside_the_record_and_changes_none_of_it() {
    use crate::SUCCESSOR_ANNOTATION;
    let wall = time("2026-01-02T03:04:05Z").unwrap();
    for form in [SPEC, crate::legacy_locks::ANNOTATION] {
        let mut object = lease(json!({}));
        (form.write)(
            &mut object,
            &Record { holder: "a".into(), leader_transitions: 4, ..Record::default() },
        );
        let released = (form.read)(&object).released(wall);
        let (mut plain, mut hinted) = (object.clone(), object);
        (form.write)(&mut plain, &released.clone().marked("w", 1, crate::record::Marks::All));
        let named =
            Record { successor: "b".into(), ..released }.marked("w", 1, crate::record::Marks::All);
        (form.write)(&mut hinted, &named);
        assert_eq!((form.read)(&hinted), named);
        assert_eq!(named.hint(), Some("b"));
        // client-go reads the same from both.
        assert_eq!(hinted.data, plain.data);
        let annotations = |object: &DynamicObject| {
            let mut all = object.metadata.annotations.clone().unwrap_or_default();
            assert!(all.remove(WRITE_ANNOTATION).is_some());
            (all.remove(SUCCESSOR_ANNOTATION), all)
        };
        assert_eq!(annotations(&hinted), (Some("b".to_owned()), annotations(&plain).1));

        // client-go keeps unknown annotations: neither its terms nor its releases have a successor.
        let mut go = hinted.clone();
        let keep = go.metadata.annotations.clone();
        for holder in ["go", ""] {
            let record =
                Record { holder: holder.into(), leader_transitions: 5, ..Record::default() };
            (form.write)(&mut go, &record);
            let theirs = go.metadata.annotations.get_or_insert_default();
            for (key, value) in
                keep.iter().flatten().filter(|(key, _)| key.starts_with("lease-election"))
            {
                theirs.insert(key.clone(), value.clone());
            }
            assert_eq!((form.read)(&go).hint(), None, "{holder}");
        }
        // A successor beside a held record does not count either.
        let mut object = hinted;
        (form.write)(&mut object, &Record { holder: "a".into(), ..Record::default() });
        let annotations = object.metadata.annotations.get_or_insert_default();
        assert!(!annotations.contains_key(SUCCESSOR_ANNOTATION));
        annotations.insert(SUCCESSOR_ANNOTATION.to_owned(), "b".to_owned());
        assert_eq!((form.read)(&object).successor, "");
    }
}

#[test]
fn a_write_keeps_labels_annotations_owners_and_unknown_fields() {
    // Upstream's TestLabelUpdate and TestUpdateWithNilLabelsOnLease: foreign fields stay.
    let mut object = parsed(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "l", "uid": "u", "resourceVersion": "5", "labels": {"a": "b"}, "annotations": {"c": "d"},
                     "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "q"}]},
        "spec": {"holderIdentity": "x", "fromTheFuture": 7},
    }));
    spec::write(
        &mut object,
        &Record { holder: "y".into(), write_id: Some("w.2".into()), ..Record::default() },
    );
    let value = serde_json::to_value(&object).unwrap();
    assert_eq!(value["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(value["metadata"]["annotations"], json!({"c": "d", WRITE_ANNOTATION: "w.2"}));
    assert_eq!(value["metadata"]["ownerReferences"][0]["name"], "p");
    assert_eq!(value["metadata"]["resourceVersion"], "5");
    assert_eq!(value["metadata"]["uid"], "u");
    assert_eq!(value["spec"]["fromTheFuture"], 7);
    assert_eq!(value["spec"]["holderIdentity"], "y");
    assert_eq!(spec::read(&object).write_id.as_deref(), Some("w.2"));
}

#[test]
fn what_is_remembered_of_an_object_is_all_but_who_wrote_which_field() {
    let mut value =
        serde_json::to_value(lease(json!({"holderIdentity": "x", "fromTheFuture": 7}))).unwrap();
    let plain = value.clone();
    value["metadata"]["managedFields"] =
        json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]);
    assert_eq!(serde_json::to_value(object::kept(parsed(value))).unwrap(), plain);
}

#[test]
fn anything_may_stand_in_a_lease_and_what_cannot_be_read_is_somebodys() {
    for nothing in [json!(null), json!({}), json!({"holderIdentity": null, "renewTime": null})] {
        let record = spec::read(&lease(nothing));
        assert!(record.is_free());
        assert_eq!(record, Record::default());
    }
    let mut seen = std::collections::BTreeSet::new();
    for unreadable in [
        json!([]),
        json!("x"),
        json!({"leaseDurationSeconds": "15"}),
        json!({"leaseDurationSeconds": 1e300}),
        json!({"leaseTransitions": "3"}),
        json!({"renewTime": "yesterday"}),
        json!({"renewTime": "2026-01-02 03:04:05.678901"}),
        json!({"acquireTime": 7}),
        json!({"strategy": []}),
        json!({"holderIdentity": {"a": 1}, "leaseDurationSeconds": 4_294_967_296_u64, "leaseTransitions": -5_000_000_000_i64}),
    ] {
        let record = spec::read(&lease(unreadable.clone()));
        assert!(record.is_unreadable() && !record.is_free(), "{unreadable}");
        assert!(
            seen.insert(record.write_id),
            "{unreadable}: a change of it is a change of the record"
        );
    }
    // Names are exact here, and fields that the server adds for others are no part of the record.
    let record = spec::read(&lease(json!({"HOLDERIDENTITY": "x", "fromTheFuture": "15"})));
    assert_eq!(record, Record::default());
    let huge =
        json!({"leaseDurationSeconds": 4_294_967_296_u64, "leaseTransitions": -5_000_000_000_i64});
    let huge = spec::read(&lease(huge));
    assert_eq!((huge.lease_duration_seconds, huge.leader_transitions), (i32::MAX, i32::MIN));
}

#[test]
fn an_object_without_uid_or_version_is_no_answer() {
    for missing in ["uid", "resourceVersion"] {
        let mut value = serde_json::to_value(lease(json!({}))).unwrap();
        value["metadata"].as_object_mut().unwrap().remove(missing);
        assert!(matches!(object::decode(&parsed(value), SPEC), Err(StoreError::Unknown { .. })));
    }
}

#[test]
fn statuses_say_whether_a_write_may_have_been_applied() {
    let status = |code: u16| requests::from_status(&Status { code, ..Status::default() }, None);
    assert_eq!(status(404), StoreError::NotFound);
    assert_eq!(status(409), StoreError::Conflict);
    assert_eq!(status(410), StoreError::Expired);
    assert_eq!(status(429), StoreError::TooManyRequests { retry_after: None });
    for code in [400, 401, 403, 405, 413, 415, 422] {
        assert!(matches!(status(code), StoreError::Rejected { code: c, .. } if c == code));
    }
    for code in [0, 408, 500, 502, 503, 504, 599] {
        assert!(matches!(status(code), StoreError::Unknown { .. }), "{code}");
    }
}

/// A store whose server answers every request the same.
fn answered(code: u16, retry_after: Option<&'static str>, body: &'static str) -> KubeLeaseStore {
    let server = tower::service_fn(move |_: http::Request<kube::client::Body>| async move {
        let answer = http::Response::builder().status(code);
        let answer = match retry_after {
            Some(text) => answer.header("Retry-After", text),
            None => answer,
        };
        answer.body(kube::client::Body::from(body.as_bytes().to_vec()))
    });
    let config = Config::builder("ns", "l").identity("a").build().unwrap();
    KubeLeaseStore::new(Client::new(server, "ns"), &config)
}

#[tokio::test(start_paused = true)]
async fn what_a_server_asks_for_in_a_header_is_heard_although_it_answers_in_plain_text() {
    // API Priority and Fairness refuses in this form, without a Status.
    let text = "Too many requests, please try again later.";
    let status = r#"{"kind":"Status","code":429,"reason":"TooManyRequests","details":{"retryAfterSeconds":2}}"#;
    for (retry_after, body, seconds) in [
        (Some("7"), text, Some(7)),
        (Some(" 1 "), text, Some(1)),
        (None, text, None),
        (Some("0"), text, None),
        (Some("Wed, 21 Oct 2015 07:28:00 GMT"), text, None),
        (Some("-1"), text, None),
        (None, status, Some(2)),
        (Some("5"), status, Some(5)),
        (Some("1"), status, Some(2)),
        (Some("3"), "{}", Some(3)),
    ] {
        let expected = StoreError::TooManyRequests {
            retry_after: seconds.map(std::time::Duration::from_secs),
        };
        let store = answered(429, retry_after, body);
        assert_eq!(store.get().await.unwrap_err(), expected, "{retry_after:?} {body}");
        assert_eq!(store.create(&Record::default()).await.unwrap_err(), expected);
        let update = store.update(&Version::new("u", "5"), &Record::default()).await;
        assert_eq!(update.unwrap_err(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_lease_that_exists_is_in_the_way_of_a_create() {
    let exists = r#"{"kind":"Status","code":409,"reason":"AlreadyExists","message":"leases \"l\" already exists"}"#;
    assert_eq!(
        answered(409, None, exists).create(&Record::default()).await,
        Err(StoreError::Conflict)
    );
    let quota = r#"{"kind":"Status","code":409,"reason":"Conflict","message":"Operation cannot be fulfilled on resourcequotas"}"#;
    for (body, message) in
        [(quota, "Operation cannot be fulfilled on resourcequotas"), ("no", "no")]
    {
        let refused = answered(409, None, body).create(&Record::default()).await;
        assert_eq!(refused, Err(StoreError::Rejected { code: 409, message: message.to_owned() }));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_object_says_nothing_of_the_lease() {
    for (code, body) in [(200, "<html>"), (200, "{}"), (500, "oh"), (503, "{}")] {
        let store = answered(code, Some("1"), body);
        assert!(matches!(store.get().await, Err(StoreError::Unknown { .. })), "{code} {body}");
        assert!(matches!(store.create(&Record::default()).await, Err(StoreError::Unknown { .. })));
    }
    // The code of the answer itself counts: an intermediary may wrap another server's Status.
    let wrapped = answered(502, None, r#"{"kind":"Status","code":404,"reason":"NotFound"}"#);
    assert!(
        matches!(wrapped.get().await, Err(StoreError::Unknown { .. })),
        "this is no absent Lease"
    );
}

/// A load balancer may answer 404 too, and a leader that believes it ends its term.
#[tokio::test(start_paused = true)]
async fn only_what_the_api_server_says_of_this_very_lease_says_that_there_is_none() {
    let of_it = r#"{"kind":"Status","code":404,"reason":"NotFound","details":{"name":"l","kind":"leases"}}"#;
    let update = async |body| {
        answered(404, None, body).update(&Version::new("u", "5"), &Record::default()).await
    };
    assert_eq!(answered(404, None, of_it).get().await, Ok(None));
    assert_eq!(update(of_it).await, Err(StoreError::NotFound));
    for body in [
        "gone",
        "404 page not found",
        "{}",
        r#"{"kind":"Status","code":404,"reason":"NotFound"}"#,
        r#"{"kind":"Status","code":404,"reason":"NotFound","details":{"name":"m","kind":"leases"}}"#,
        r#"{"kind":"Status","code":404,"reason":"","details":{"name":"l","kind":"leases"}}"#,
    ] {
        assert!(
            matches!(answered(404, None, body).get().await, Err(StoreError::Unknown { .. })),
            "{body}"
        );
        assert!(matches!(update(body).await, Err(StoreError::Unknown { .. })), "{body}");
    }
    // Nor does it mean that there is no such namespace.
    for body in ["404 page not found", "{}", r#"{"kind":"Status","code":404}"#] {
        let made = answered(404, None, body).create(&Record::default()).await;
        assert!(matches!(made, Err(StoreError::Unknown { .. })), "{body} {made:?}");
    }
}

#[test]
fn an_event_has_a_name_of_its_own_and_a_name_that_fits() {
    use crate::announcement::{Announced, Announcement};
    use crate::version::FenceToken;
    let fence = FenceToken { uid: "u".into(), resource_version: "7".into(), transitions: 0 };
    let at = time("2026-01-02T03:04:05Z").unwrap();
    let mut names = std::collections::BTreeSet::new();
    for (what, identity, lease) in [
        (Announced::BecameLeader, "a", "l".to_owned()),
        (Announced::StoppedLeading, "a", "l".to_owned()),
        (Announced::BecameLeader, "b", "l".to_owned()),
        (Announced::BecameLeader, "a", "l".repeat(253)),
        (Announced::BecameLeader, "a", format!("{}.{}", "l".repeat(235), "m".repeat(17))),
    ] {
        let name = events::name(&lease, &Announcement::new(what, identity, fence.clone(), at));
        assert!(name.len() <= 253 && !name.contains(".."), "{name}");
        assert!(name.starts_with("l") && name.rsplit('.').next().unwrap().len() == 16, "{name}");
        assert!(names.insert(name.clone()), "{name} twice");
    }
}
