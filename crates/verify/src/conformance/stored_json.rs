//! Stored JSON: numbers, texts and times as Go has them, and what patches see of them.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::{JSON, JSON_PATCH, Target};
use crate::conformance::{Case, Outcome, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = patches();
    cases.extend(numbers());
    cases.extend(times());
    cases.extend(seen());
    cases
}

/// A widget with this as its spec, word by word.
async fn widget_of(t: &Target, spec: &str) -> Result<Value, String> {
    let object = format!(
        r#"{{"apiVersion":"{GROUP}/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{spec}}}"#
    );
    t.send(Method::POST, &t.widgets(""), &[JSON], object).await?.is(201)
}

/// What an operation comes to, of which nothing is kept.
async fn tried(t: &Target, operations: &str) -> Result<Answer, String> {
    let headers = [("content-type", JSON_PATCH)];
    t.send(Method::PATCH, &t.widgets("/a?dryRun=All"), &headers, operations).await
}

fn patches() -> Vec<Case> {
    vec![
        case(
            "an_index_may_have_a_sign_and_zeros",
            "An index in a JSON patch may have a sign and zeros before it, and one below zero counts from the end.",
            async |t| {
                widget_of(t, r#"{"l":["a","b","c"],"m":[["x"]]}"#).await?;
                for (operation, expected) in [
                    (json!({ "op": "remove", "path": "/spec/l/-1" }), json!(["a", "b"])),
                    (json!({ "op": "remove", "path": "/spec/l/01" }), json!(["a", "c"])),
                    (
                        json!({ "op": "replace", "path": "/spec/l/+1", "value": "x" }),
                        json!(["a", "x", "c"]),
                    ),
                    (
                        json!({ "op": "add", "path": "/spec/l/-1", "value": "x" }),
                        json!(["a", "b", "c", "x"]),
                    ),
                    (
                        json!({ "op": "add", "path": "/spec/l/-4", "value": "x" }),
                        json!(["x", "a", "b", "c"]),
                    ),
                    (
                        json!({ "op": "move", "from": "/spec/l/-1", "path": "/spec/l/00" }),
                        json!(["c", "a", "b"]),
                    ),
                    (
                        json!({ "op": "copy", "from": "/spec/m/-1/+0", "path": "/spec/l/-" }),
                        json!(["a", "b", "c", "x"]),
                    ),
                    (
                        json!({ "op": "test", "path": "x/spec/m/-01/0", "value": "x" }),
                        json!(["a", "b", "c"]),
                    ),
                ] {
                    let patched = tried(t, &json!([operation]).to_string()).await?.is(200)?;
                    same(&operation.to_string(), patched["spec"]["l"].clone(), expected)?;
                }
                for path in ["/spec/l/-4", "/spec/l/3", "/spec/l/1x", "/spec/l/", "/spec/l/-"] {
                    let operations = json!([{ "op": "remove", "path": path }]);
                    tried(t, &operations.to_string()).await?.refused(422, "Invalid")?;
                }
                Ok(())
            },
        ),
        case(
            "an_index_of_a_finalizer_counts_from_the_end",
            "A JSON patch removes the last finalizer by the index -1.",
            async |t| {
                let finalizers = json!(["example.com/a", "example.com/b"]);
                let object = json!({ "metadata": { "name": "a", "finalizers": finalizers } });
                t.make(&t.maps(""), object).await?;
                let operations = json!([{ "op": "remove", "path": "/metadata/finalizers/-1" }]);
                let patched = t.json_patch(&t.maps("/a"), operations).await?.is(200)?;
                has(&patched, json!({ "metadata": { "finalizers": ["example.com/a"] } }))
            },
        ),
        case(
            "a_test_compares_the_stored_text",
            "A JSON patch's test compares numbers and strings as they are written: stored ones as Go writes them.",
            async |t| {
                let spec = r#"{"html":"a<b","and":"&","line":"\u2028","e":"é","n":1.50,"big":1e20,"o":{"x":1,"y":["&"]}}"#;
                widget_of(t, spec).await?;
                for (path, value, code) in [
                    ("html", r#""a<b""#, 422),
                    ("html", r#""a\u003cb""#, 200),
                    ("and", r#""&""#, 422),
                    ("and", r#""\u0026""#, 200),
                    ("line", "\"\u{2028}\"", 422),
                    ("line", r#""\u2028""#, 200),
                    ("e", r#""\u00e9""#, 422),
                    ("e", r#""é""#, 200),
                    ("n", "1.50", 422),
                    ("n", "1.5", 200),
                    ("big", "1e20", 422),
                    ("big", "100000000000000000000", 200),
                    ("o", r#"{ "y": [ "\u0026" ], "x": 1 }"#, 200),
                    ("o", r#"{"x":1,"y":["&"]}"#, 422),
                    ("o", r#"{"x":1.0,"y":["\u0026"]}"#, 422),
                ] {
                    let operations =
                        format!(r#"[{{"op":"test","path":"/spec/{path}","value":{value}}}]"#);
                    tried(t, &operations)
                        .await?
                        .is(code)
                        .map_err(|why| format!("{operations}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "a_test_of_a_built_in_kind_compares_the_stored_text",
            "A JSON patch's test of a ConfigMap's data compares strings as Go writes them.",
            async |t| {
                t.map("a", "a<b>é").await?;
                for (value, code) in [
                    (r#""a<b>é""#, 422),
                    (r#""a\u003cb\u003eé""#, 200),
                    (r#""a\u003cb\u003e\u00e9""#, 422),
                ] {
                    let operations =
                        format!(r#"[{{"op":"test","path":"/data/k","value":{value}}}]"#);
                    let headers = [("content-type", JSON_PATCH)];
                    let answer =
                        t.send(Method::PATCH, &t.maps("/a"), &headers, operations.clone()).await?;
                    answer.is(code).map_err(|why| format!("{operations}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "what_a_patch_has_said_is_compared_as_it_was_said",
            "A JSON patch's test of what the same patch has added compares it as it was said, and of what was copied as \
             Go writes it.",
            async |t| {
                widget_of(t, "{}").await?;
                for (test, code) in [
                    (r#""path":"/spec/a","value":"<""#, 200),
                    (r#""path":"/spec/a","value":"\u003c""#, 422),
                    (r#""path":"/spec/b","value":"<""#, 422),
                    (r#""path":"/spec/b","value":"\u003c""#, 200),
                ] {
                    let operations = format!(
                        r#"[{{"op":"add","path":"/spec/a","value":"<"}},
                            {{"op":"copy","from":"/spec/a","path":"/spec/b"}},{{"op":"test",{test}}}]"#
                    );
                    tried(t, &operations)
                        .await?
                        .is(code)
                        .map_err(|why| format!("{operations}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "a_test_of_nulls_in_a_list_never_succeeds",
            "A JSON patch's test of a list that has a null gets 500, or no answer: the handler panics.",
            async |t| {
                widget_of(t, r#"{"l":[null]}"#).await?;
                match tried(t, r#"[{"op":"test","path":"/spec/l","value":[null]}]"#).await {
                    Ok(answer) => answer.is(500).map(drop),
                    Err(_) => Ok(()),
                }
            },
        ),
        case(
            "a_merge_patch_drops_nulls_within_new_lists",
            "A merge patch drops null members of objects in a list that it sets, and keeps them where the list replaces an \
             object.",
            async |t| {
                widget_of(t, r#"{"l":[1],"o":{"x":1}}"#).await?;
                let item = json!([{ "a": null, "b": { "c": null }, "d": 1 }, null]);
                for (member, expected) in [
                    ("new", json!([{ "b": {}, "d": 1 }, null])),
                    ("l", json!([{ "b": {}, "d": 1 }, null])),
                    ("o", item.clone()),
                ] {
                    let patch = json!({ "spec": { member: item } });
                    let patched = t.merge(&t.widgets("/a?dryRun=All"), patch).await?.is(200)?;
                    same(member, patched["spec"][member].clone(), expected)?;
                }
                Ok(())
            },
        ),
    ]
}

fn numbers() -> Vec<Case> {
    vec![
        case(
            "numbers_end_at_int64_and_float64",
            "A whole number that an int64 does not hold is a float64, and floats are written with an exponent from 1e21 on \
             and below 1e-6.",
            async |t| {
                let sent = r#"{"a":9223372036854775807,"b":9223372036854775808,"c":18446744073709551615,"d":1e20,"e":100000000000000000001,"f":1e21,"g":1e-6,"h":1.50e-7,"i":-0.0,"j":1.50,"k":-9223372036854775809}"#;
                let stored = r#""spec":{"a":9223372036854775807,"b":9223372036854776000,"c":18446744073709552000,"d":100000000000000000000,"e":100000000000000000000,"f":1e+21,"g":0.000001,"h":1.5e-7,"i":0,"j":1.5,"k":-9223372036854776000}"#;
                widget_of(t, sent).await?;
                let answer = t.get(&t.widgets("/a")).await?;
                let shown = answer
                    .text
                    .find(r#""spec":"#)
                    .and_then(|at| answer.text.get(at..))
                    .unwrap_or_default();
                let shown = shown.find('}').and_then(|at| shown.get(..=at)).unwrap_or_default();
                same("the spec", shown, stored)
            },
        ),
        case(
            "numbers_that_were_read_are_no_change",
            "An update with the text that was read, whatever its numbers are, is no write.",
            async |t| {
                widget_of(t, r#"{"a":18446744073709551615,"b":1e20,"c":1e19,"d":1e300,"e":0.1}"#)
                    .await?;
                let read = t.get(&t.widgets("/a")).await?;
                let again = t
                    .send(Method::PUT, &t.widgets("/a"), &[JSON], read.text.clone())
                    .await?
                    .is(200)?;
                same("the version", version(&again), version(&read.json))
            },
        ),
        case(
            "texts_are_escaped_as_go_escapes",
            "An answer has `<`, `>`, `&`, U+2028 and U+2029 in texts as escapes.",
            async |t| {
                t.map("a", "<>&\u{2028}\u{2029}é").await?;
                let answer = t.get(&t.maps("/a")).await?;
                let expected = r#"{"k":"\u003c\u003e\u0026\u2028\u2029é"}"#;
                holds(&format!("the answer has {expected}"), answer.text.contains(expected))
            },
        ),
        case(
            "bounds_of_a_schema_are_floats",
            "Bounds in a schema are float64, whole ones too.",
            async |t| {
                for (sent, shown) in [
                    ("9223372036854774807", "9223372036854775000"),
                    ("1e20", "100000000000000000000"),
                    ("1.50", "1.5"),
                    ("9007199254740993", "9007199254740992"),
                ] {
                    let plural = format!("{}s", t.class);
                    let definition = format!(
                        r#"{{"metadata":{{"name":"{plural}.example.com"}},"spec":{{"group":"example.com","scope":"Namespaced",
                        "names":{{"plural":"{plural}","kind":"Bounded"}},"versions":[{{"name":"v1","served":true,"storage":true,
                        "schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"n":{{"type":"number","maximum":{sent}}}}}}}}}}}]}}}}"#
                    );
                    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
                    let answer = t.send(Method::POST, path, &[JSON], definition).await?;
                    answer.is(201)?;
                    let expected = format!(r#""maximum":{shown}"#);
                    holds(
                        &format!("the answer has {expected}: {}", answer.text),
                        answer.text.contains(&expected),
                    )?;
                }
                Ok(())
            },
        ),
    ]
}

/// What a lease that is tried shows of a time.
async fn micro_time(t: &Target, sent: &str) -> Result<Answer, String> {
    let mut object = lease("a", "x");
    object["spec"]["renewTime"] = sent.into();
    t.post(&t.leases("?dryRun=All"), &object).await
}

/// As `micro_time`, of a time in whole seconds.
async fn time(t: &Target, sent: &str) -> Result<Answer, String> {
    let mut object = old_event("a", &t.namespace);
    object["firstTimestamp"] = sent.into();
    t.post(&t.core("events", "?dryRun=All"), &object).await
}

fn times() -> Vec<Case> {
    vec![
        case(
            "a_time_of_the_first_moment_of_year_1_is_null",
            "A time at the first moment of year 1 is shown as null, be it said in another zone.",
            async |t| {
                for sent in ["0001-01-01T00:00:00.000000Z", "0000-12-31T23:00:00.000000-01:00"] {
                    let made = micro_time(t, sent).await?.is(201)?;
                    same(sent, made["spec"].get("renewTime").cloned(), Some(Value::Null))?;
                }
                for sent in ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.5Z"] {
                    let made = time(t, sent).await?.is(201)?;
                    same(sent, made.get("firstTimestamp").cloned(), Some(Value::Null))?;
                }
                Ok(())
            },
        ),
        case(
            "times_take_what_gos_parser_takes",
            "A time may have a comma before its fraction, one digit for the hour, and a year that UTC moves beyond 9999.",
            async |t| {
                for (sent, shown) in [
                    ("2026-01-02T3:04:05Z", "2026-01-02T03:04:05Z"),
                    ("2026-01-02T03:04:05,9Z", "2026-01-02T03:04:05Z"),
                    ("2026-01-02T03:04:05+24:60", "2026-01-01T02:04:05Z"),
                    ("9999-12-31T23:59:59-01:00", "10000-01-01T00:59:59Z"),
                    ("0000-01-01T00:00:00+01:00", "-0001-12-31T23:00:00Z"),
                ] {
                    let made = time(t, sent).await?.is(201)?;
                    same(sent, text(&made, "/firstTimestamp"), shown)?;
                }
                for (sent, shown) in [
                    ("2026-01-02T03:04:05,000006Z", "2026-01-02T03:04:05.000006Z"),
                    ("2026-01-02T03:04:05.+00006Z", "2026-01-02T03:04:05.000006Z"),
                ] {
                    let made = micro_time(t, sent).await?.is(201)?;
                    same(sent, text(&made, "/spec/renewTime"), shown)?;
                }
                Ok(())
            },
        ),
        case(
            "times_are_refused_in_the_words_of_gos_parser",
            "A text that is no time answers 400 in the words of Go's parser.",
            async |t| {
                for (sent, why) in [
                    ("2026-01-02 03:04:05Z", r#"cannot parse " 03:04:05Z" as "T""#),
                    ("2026-1-02T03:04:05Z", r#"cannot parse "1-02T03:04:05Z" as "01""#),
                    ("2026-01-02T03:4:05Z", r#"cannot parse "4:05Z" as "04""#),
                    ("2026-01-02T03:04:05z", r#"cannot parse "z" as "Z07:00""#),
                    ("2026-01-02T03:04:05+0100", r#"cannot parse "+0100" as "Z07:00""#),
                    ("+026-01-02T03:04:05Z", r#"cannot parse "+026-01-02T03:04:05Z" as "2006""#),
                    ("2026-02-30T03:04:05Z", "day out of range"),
                    ("2026-02-03T24:04:05Z", "hour out of range"),
                    ("2026-02-03T03:04:60Z", "second out of range"),
                    ("2026-02-03T03:04:05+25:00", "time zone offset hour out of range"),
                    ("2026-02-03T03:04:05Zx", r#": extra text: "x""#),
                ] {
                    time(t, sent).await?.says(400, "BadRequest", why)?;
                }
                for (sent, why) in [
                    ("2026-01-02T03:04:05Z", r#"cannot parse "Z" as ".000000""#),
                    ("2026-01-02T03:04:05.-00001Z", "fractional second out of range"),
                    ("2026-01-02T03:04:05.0000061Z", r#"cannot parse "1Z" as "Z07:00""#),
                ] {
                    micro_time(t, sent).await?.says(400, "BadRequest", why)?;
                }
                Ok(())
            },
        ),
    ]
}

fn seen() -> Vec<Case> {
    vec![
        case(
            "the_end_mark_of_a_watch_as_table_is_a_row",
            "The bookmark that ends the initial events of a watch as Table has a row whose object is marked, whatever is to \
             be included.",
            async |t| {
                t.map("a", "v").await?;
                for include in ["Metadata", "None", "Object"] {
                    let path = t.maps(&format!(
                        "?includeObject={include}&allowWatchBookmarks=true&sendInitialEvents=true\
                         &resourceVersionMatch=NotOlderThan"
                    ));
                    let mut watch = t.watch_as(&path, TABLE).await?;
                    let mark = loop {
                        let event = watch.next().await?.ok_or("the watch ended")?;
                        if text(&event, "/type") == "BOOKMARK" {
                            break event;
                        }
                    };
                    let rows = items(&mark, "/object/rows");
                    same("rows", rows.len(), 1)?;
                    let kind =
                        if include == "Object" { "ConfigMap" } else { "PartialObjectMetadata" };
                    has(
                        &rows[0]["object"],
                        json!({
                            "kind": kind, "metadata": { "annotations": { "k8s.io/initial-events-end": "true" } },
                        }),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "the_end_mark_of_a_watch_of_a_custom_kind_as_table_is_a_row",
            "The bookmark that ends the initial events of a custom kind's watch as Table has a row whose object is marked.",
            async |t| {
                let path = t.widgets(
                    "?allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                );
                let mark =
                    t.watch_as(&path, TABLE).await?.next().await?.ok_or("the watch ended")?;
                same("rows", items(&mark, "/object/rows").len(), 1)?;
                let end = json!({ "metadata": { "annotations": { "k8s.io/initial-events-end": "true" } } });
                has(&mark["object"]["rows"][0]["object"], end)
            },
        ),
        case(
            "a_kind_of_cluster_scope_cannot_be_selected_by_namespace",
            "A field selector by namespace answers 400 for Nodes, Namespaces and custom kinds of cluster scope.",
            async |t| {
                let refused = async |path: String| -> Outcome {
                    let why = "field label not supported: metadata.namespace";
                    t.get(&path).await?.says(400, "BadRequest", why).map(drop)
                };
                let selector = "?fieldSelector=metadata.namespace%3Dx";
                refused(format!("/api/v1/nodes{selector}")).await?;
                refused(format!("/api/v1/namespaces{selector}")).await?;
                refused(t.gadgets(selector)).await
            },
        ),
        case(
            "some_kinds_of_cluster_scope_take_a_selector_by_namespace",
            "A field selector by namespace finds nothing of the kinds of cluster scope that take it.",
            async |t| {
                for collection in [t.volumes(""), t.classes("")] {
                    let path = format!("{collection}?fieldSelector=metadata.namespace%3Dx");
                    same(&path, names(&t.get(&path).await?.is(200)?), String::new())?;
                }
                Ok(())
            },
        ),
    ]
}
