//! What two answers may differ in, and that they may not in anything else.

use serde_json::{Value, json};

use verify::fuzz::compare::Relation;

fn agree(real: Value, embedded: Value) -> bool {
    Relation::default().bodies(&real, &embedded).is_ok()
}

fn status(code: u16, reason: &str, message: &str, details: Value) -> Value {
    json!({ "kind": "Status", "code": code, "reason": reason, "message": message, "details": details })
}

/// An answer with this message, and nothing else.
fn said(message: &str) -> Value {
    status(400, "BadRequest", message, json!({}))
}

#[test]
fn codes_reasons_and_fields_must_be_the_same() {
    let details =
        |field: &str| json!({ "name": "a", "causes": [{ "reason": "Invalid", "field": field }] });
    let real = status(422, "Invalid", "a is invalid", details("spec.x"));
    assert!(agree(real.clone(), real.clone()));
    assert!(!agree(real.clone(), status(400, "Invalid", "a is invalid", details("spec.x"))));
    assert!(!agree(real.clone(), status(422, "BadRequest", "a is invalid", details("spec.x"))));
    assert!(!agree(real.clone(), status(422, "Invalid", "b is invalid", details("spec.x"))));
    assert!(!agree(real.clone(), status(422, "Invalid", "a is invalid", details("spec.y"))));
    assert!(!agree(real, json!({ "kind": "Status", "code": 422 })));
}

#[test]
fn what_a_server_makes_up_is_related_one_to_one() {
    let object = |uid: char, version: u64| {
        let uid = format!("00000000-0000-4000-8000-00000000000{uid}");
        json!({ "metadata": { "uid": uid, "resourceVersion": version.to_string() } })
    };
    let mut relation = Relation::default();
    assert_eq!(relation.bodies(&object('1', 5), &object('a', 50)), Ok(()));
    assert_eq!(relation.bodies(&object('1', 5), &object('a', 50)), Ok(()), "the same again");
    assert!(relation.bodies(&object('1', 5), &object('b', 50)).is_err(), "another uid");
    assert!(relation.bodies(&object('2', 6), &object('a', 51)).is_err(), "one that was another's");
    assert!(
        relation.bodies(&object('1', 6), &object('a', 50)).is_err(),
        "a version that did not rise"
    );
    assert!(relation.bodies(&object('1', 4), &object('a', 60)).is_err(), "one in another order");
}

#[test]
fn causes_may_come_in_any_order_but_not_others() {
    let invalid = |name: &str, first: &str, second: &str| {
        let cause = |field: &str| json!({ "field": field, "message": "no" });
        let details = json!({ "name": name, "causes": [cause(first), cause(second)] });
        status(
            422,
            "Invalid",
            &format!("Gear \"{name}\" is invalid: [{first}: no, {second}: no]"),
            details,
        )
    };
    assert!(agree(invalid("a-bcdfg", "x", "y"), invalid("a-hjklm", "y", "x")));
    assert!(!agree(invalid("a", "x", "y"), invalid("a", "x", "z")));
    assert!(!agree(invalid("a", "x", "y"), invalid("b", "y", "x")));
    let twice = status(
        422,
        "Invalid",
        "[x: no, x: no]",
        json!({ "causes": [{ "field": "x" }, { "field": "x" }] }),
    );
    assert!(agree(
        twice.clone(),
        status(422, "Invalid", "[x: no]", json!({ "causes": [{ "field": "x" }] }))
    ));
    assert!(!agree(
        twice,
        status(422, "Invalid", "[y: no]", json!({ "causes": [{ "field": "y" }] }))
    ));
}

#[test]
fn of_malformed_input_the_code_and_the_reason_count() {
    let real = "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal array into Go struct field \
                PodSpec.spec.containers of type string";
    let refused = |code: u16, reason: &str| status(code, reason, "spec: no", Value::Null);
    assert!(agree(said(real), refused(400, "BadRequest")));
    assert!(!agree(said(real), refused(422, "BadRequest")), "another code");
    assert!(!agree(said(real), refused(400, "Invalid")), "another reason");
    assert!(!agree(said("another refusal"), refused(400, "BadRequest")), "of well-formed input");
}

#[test]
fn how_a_definition_is_shown_does_not_count_and_what_is_said_of_it_does() {
    let shown =
        |value: &str, why: &str| said(&format!("[a: no, x: Invalid value: {value}: {why}]"));
    let real = shown(r#"[{"Name":"v1","Served":true}]"#, "must be one");
    let ours = r#"[{"name":"v1","schema":{"openAPIV3Schema":{}}}]"#;
    assert!(agree(real.clone(), shown(ours, "must be one")));
    assert!(!agree(real, shown(ours, "must be two")));
    assert!(!agree(shown("{\"a\":1}", "no"), shown("{\"a\":2}", "no")), "another value");
}

#[test]
fn how_an_object_would_differ_is_left_out_and_nothing_after_it() {
    let real = "[spec: no\n@@ -1,2 +1,2 @@\n {\n- \"A\": 1,\n+ \"A\": 2,\n }\n, volumeMode: no]";
    assert!(agree(said(real), said("[spec: no, volumeMode: no]")));
    assert!(!agree(said(real), said("[spec: no]")), "another cause behind it");
    assert!(!agree(said(real), said("[spec: no, volumeMode: yes]")), "another message behind it");
}

#[test]
fn warnings_of_unknown_fields_may_come_in_any_order_but_no_others() {
    let lines = |of: &[&str]| of.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let agree = |a: &[&str], b: &[&str]| Relation::default().headers(&lines(a), &lines(b)).is_ok();
    let (x, y) = ("299 - \"unknown field \\\"x\\\"\"", "299 - \"unknown field \\\"y\\\"\"");
    assert!(agree(&["first", x, y], &["first", y, x]));
    assert!(!agree(&[x], &[y]), "another field");
    assert!(!agree(&[x, y], &[x]), "one less");
    assert!(!agree(&["a", "b"], &["b", "a"]), "others have an order");
}

#[test]
fn the_parts_of_a_message_about_one_cause_have_their_order() {
    let one = |text: &str| status(422, "Invalid", text, json!({ "causes": [{ "field": "x" }] }));
    assert!(agree(one("x: a, b"), one("x: a, b")));
    assert!(!agree(one("x: a, b"), one("x: b, a")));
}

fn refusal(code: u16, field: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "code": code, "message": format!("Job.batch \"a\" is invalid: {field}: {message}"),
        "details": { "name": "a", "causes": [{ "field": field, "message": message }] },
    })
}

#[test]
fn a_template_that_may_not_change_is_related_and_nothing_around_it() {
    let go = "Invalid value: {\"Spec\":{\"Volumes\":null,\"Containers\":[]}}: field is immutable";
    let ours = "Invalid value: {\"spec\":{\"containers\":null}}: field is immutable";
    let real = refusal(422, "spec.template", go);
    assert!(agree(real.clone(), refusal(422, "spec.template", ours)));
    assert!(!agree(real.clone(), refusal(409, "spec.template", ours)), "another code");
    assert!(!agree(real.clone(), refusal(422, "spec.selector", ours)), "another field");
    let other = "Invalid value: {\"spec\":{\"containers\":null}}: may not be changed";
    assert!(!agree(real.clone(), refusal(422, "spec.template", other)), "another reason");
    let selector =
        |value: &str| format!("Invalid value: {{\"matchLabels\":{value}}}: field is immutable");
    let real = refusal(422, "spec.selector", &selector("{\"a\":\"b\"}"));
    assert!(
        !agree(real.clone(), refusal(422, "spec.selector", &selector("{\"a\":\"c\"}"))),
        "another value"
    );
}

#[test]
fn what_is_in_a_list_counts_with_its_order() {
    assert!(!agree(json!({ "items": ["a", "b"] }), json!({ "items": ["b", "a"] })));
    assert!(!agree(json!({ "items": ["a"] }), json!({ "items": ["a", "b"] })));
    assert!(agree(json!({ "items": null }), json!({ "items": [] })));
    assert!(!agree(json!({ "items": null }), json!({ "items": ["a"] })));
}

#[test]
fn members_must_be_there_on_both_sides() {
    let managed = json!({ "metadata": { "managedFields": [{ "manager": "m" }] } });
    assert!(!agree(managed.clone(), json!({ "metadata": {} })));
    assert!(!agree(json!({ "metadata": {} }), managed));
    let at = |time: &str| json!({ "creationTimestamp": time });
    assert!(agree(at("2026-01-02T03:04:05Z"), at("2026-01-02T03:04:06Z")));
    assert!(!agree(at("2026-01-02T03:04:05Z"), at("x")));
}

#[test]
fn ports_that_were_drawn_are_related_in_tables_as_in_objects() {
    let table = |port: &str| json!({ "kind": "Table", "rows": [{ "cells": ["a", format!("{port}/TCP")] }] });
    let service = |port: u16| json!({ "spec": { "ports": [{ "port": 80, "nodePort": port }] } });
    let mut relation = Relation::default();
    assert!(relation.bodies(&service(30001), &service(30002)).is_ok());
    assert!(relation.bodies(&table("80:30001"), &table("80:30002")).is_ok());
    assert!(
        relation.bodies(&table("80:30001"), &table("80:30003")).is_err(),
        "another port than before"
    );
    assert!(!agree(table("80:30001"), table("81:30002")), "of another port");
    assert!(!agree(table("80:30001"), table("80:80")), "none that is drawn");
}

#[test]
fn what_was_drawn_again_is_no_agreement_and_is_known() {
    let service = |address: &str| json!({ "spec": { "clusterIP": address } });
    let mut relation = Relation::default();
    assert!(relation.bodies(&service("10.0.0.1"), &service("10.0.0.2")).is_ok());
    assert!(relation.bodies(&service("10.0.0.1"), &service("10.0.0.3")).is_err());
    assert!(relation.drawn_again, "played anew");
    let named = |name: &str| json!({ "metadata": { "name": name } });
    let mut relation = Relation::default();
    assert!(relation.bodies(&named("a-bcdfg"), &named("a-hjklm")).is_ok());
    assert!(relation.bodies(&named("a-bcdfg"), &named("a-nopqr")).is_err());
    assert!(!relation.drawn_again, "a name is not");
}

#[test]
fn numbers_that_are_no_versions_must_be_equal() {
    let of = |version: u32| json!({ "metadata": { "resourceVersion": version.to_string() } });
    let data = |value: &str| json!({ "data": { "k": value } });
    let mut relation = Relation::default();
    assert!(relation.bodies(&data("1"), &data("2")).is_err(), "when none is known");
    assert!(relation.bodies(&of(207), &of(5)).is_ok());
    assert!(relation.bodies(&data("1"), &data("2")).is_err(), "less than any version");
    let long = |most: u32| said(&format!("must be no more than {most} characters"));
    assert!(relation.bodies(&long(63), &long(253)).is_err());
    let old = |version: u32| said(&format!("The provided resource version is too old ({version})"));
    assert!(relation.bodies(&old(208), &old(6)).is_ok());
    assert!(relation.bodies(&old(208), &old(4)).is_err(), "at another place in the order");
}

#[test]
fn a_bookmark_of_events_may_be_later_on_the_real_server_and_not_earlier() {
    let of = |version: u32| json!({ "metadata": { "resourceVersion": version.to_string() } });
    let mark_of = |kind: &str, version: u32| {
        let metadata = json!({ "resourceVersion": version.to_string() });
        json!({ "type": "BOOKMARK", "object": { "kind": kind, "metadata": metadata } })
    };
    let mark = |version: u32| mark_of("Event", version);
    let mut relation = Relation::default();
    assert!(relation.bodies(&of(10), &of(5)).is_ok() && relation.bodies(&of(20), &of(15)).is_ok());
    assert!(relation.bodies(&mark(10), &mark(5)).is_ok());
    assert!(relation.bodies(&mark(21), &mark(6)).is_ok(), "read after a call that came later");
    assert!(relation.bodies(&mark(11), &mark(16)).is_err(), "read before a call that was answered");
    let (real, embedded) = (mark_of("ConfigMap", 21), mark_of("ConfigMap", 6));
    assert!(relation.bodies(&real, &embedded).is_err(), "of a kind with a watch cache");
}
