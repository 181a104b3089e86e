//! Input that is wrong on purpose, or by accident: what the server says of it.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, JSON_PATCH, MERGE, Outcome, STRATEGIC, Target, case};

const JSON: &str = "application/json";

/// Texts that are no JSON.
const NO_JSON: [&str; 7] =
    ["{", "{}x", "{\"a\":tru}", "{\"a\":01}", "{'a':1}", "{\"a\":\"\\x\"}", "[1,]"];

/// Sends a body that is answered with 400.
async fn complains(t: &Target, method: Method, path: &str, media: &str, body: &str) -> Outcome {
    let answer = t.send(method, path, &[("content-type", media)], body.to_owned()).await?;
    answer.refused(400, "BadRequest").map(drop).map_err(|why| format!("{body}: {why}"))
}

/// Sends a strategic patch of the spec of Service `s` that is answered with 500.
async fn strategic(t: &Target, spec: Value) -> Outcome {
    let answer = t.patch(&t.core("services", "/s"), STRATEGIC, &json!({ "spec": spec })).await?;
    answer.refused(500, "").map(drop).map_err(|why| format!("{spec}: {why}"))
}

async fn a_service(t: &Target) -> Outcome {
    t.make(&t.core("services", ""), service("s")).await.map(drop)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("an_object_that_is_no_json", "A POST of no JSON, or of nothing: 400.", async |t| {
            for body in NO_JSON.into_iter().chain([""]) {
                complains(t, Method::POST, &t.maps(""), JSON, body).await?;
            }
            Ok(())
        }),
        case(
            "a_body_of_something_else",
            "A list, a number or a text where an object should be: 400.",
            async |t| {
                for body in ["[]", "1", "\"x\""] {
                    complains(t, Method::POST, &t.maps(""), JSON, body).await?;
                }
                Ok(())
            },
        ),
        case("a_kind_that_is_no_text", "A kind that is a number: 400.", async |t| {
            complains(t, Method::POST, &t.maps(""), JSON, "{\"kind\":1}").await
        }),
        case("metadata_that_is_none", "Metadata that is a number: 400.", async |t| {
            complains(t, Method::POST, &t.maps(""), JSON, "{\"metadata\":1}").await
        }),
        case("options_that_are_no_json", "Options of a delete that are no JSON: 400.", async |t| {
            for body in NO_JSON.into_iter().chain(["[]"]) {
                complains(t, Method::DELETE, &t.maps("/a"), JSON, body).await?;
            }
            Ok(())
        }),
        case("options_of_wrong_types", "Options of wrong types: 400.", async |t| {
            for body in [
                json!({ "propagationPolicy": 1 }),
                json!({ "gracePeriodSeconds": "x" }),
                json!({ "preconditions": 1 }),
                json!({ "preconditions": { "uid": 1 } }),
                json!({ "orphanDependents": "x" }),
                json!({ "dryRun": "x" }),
            ] {
                complains(t, Method::DELETE, &t.maps("/a"), JSON, &body.to_string()).await?;
            }
            Ok(())
        }),
        case("patches_that_are_no_json", "A patch of any type that is no JSON: 400.", async |t| {
            t.map("a", "v").await?;
            for body in NO_JSON {
                for media in [JSON_PATCH, MERGE, STRATEGIC] {
                    complains(t, Method::PATCH, &t.maps("/a"), media, body).await?;
                }
            }
            Ok(())
        }),
        case(
            "operations_of_wrong_types",
            "A JSON patch that is no list of operations: 400; a null is an operation that fails.",
            async |t| {
                t.map("a", "v").await?;
                for body in [
                    json!({}),
                    json!([1]),
                    json!([{ "op": 1 }]),
                    json!([{ "op": "add", "path": [] }]),
                ] {
                    let body = body.to_string();
                    complains(t, Method::PATCH, &t.maps("/a"), JSON_PATCH, &body).await?;
                }
                t.json_patch(&t.maps("/a"), json!([null])).await?.refused(422, "Invalid").map(drop)
            },
        ),
        case("strategic_directives_that_are_none", "An unknown `$patch`: 500.", async |t| {
            a_service(t).await?;
            for patch in [
                json!({ "$patch": "frob" }),
                json!({ "$patch": 1 }),
                json!({ "$patch": { "a": [1, null] } }),
                json!({ "ports": [{ "$patch": "frob", "port": 80 }] }),
            ] {
                strategic(t, patch).await?;
            }
            Ok(())
        }),
        case("strategic_items_without_a_key", "An item without the merge key: 500.", async |t| {
            a_service(t).await?;
            strategic(t, json!({ "ports": [{ "list": "", "n": null }] })).await
        }),
        case(
            "strategic_orders_that_are_none",
            "`$setElementOrder` must be a list that holds the items: 500.",
            async |t| {
                a_service(t).await?;
                for order in [json!({ "a": 1 }), json!("x"), json!(7), Value::Null] {
                    strategic(t, json!({ "$setElementOrder/ports": order })).await?;
                }
                let order = json!([{ "port": 80 }, { "port": 81 }]);
                let patch = json!({ "$setElementOrder/ports": order, "ports": [{ "port": 82 }] });
                strategic(t, patch).await
            },
        ),
        case(
            "commas_in_label_sets",
            "`in (x,,)` and the like hold the empty value: any number of commas is fine.",
            async |t| {
                for (name, value) in [("a", "x"), ("b", ""), ("c", "y")] {
                    t.labelled(name, "k", value).await?;
                }
                for (set, expected) in [
                    ("(x,,)", "a,b"),
                    ("(,,)", "b"),
                    ("(x,,,)", "a,b"),
                    ("(x,,y)", "a,b,c"),
                    ("(,,,)", "b"),
                    ("(,x,,,)", "a,b"),
                ] {
                    let list =
                        t.get(&t.maps(&format!("?labelSelector=k%20in%20{set}"))).await?.is(200)?;
                    same(set, names(&list), expected.to_owned())?;
                }
                Ok(())
            },
        ),
    ]
}
