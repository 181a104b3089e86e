//! Input that is wrong on purpose, or by accident: what the server says of it.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Outcome, Target, case};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Texts that are no JSON, and what Go says of each.
const NO_JSON: [(&str, &str); 7] = [
    ("{", "unexpected end of JSON input"),
    ("{}x", "invalid character 'x' after top-level value"),
    ("{\"a\":tru}", "invalid character '}' in literal true (expecting 'e')"),
    ("{\"a\":01}", "invalid character '1' after object key:value pair"),
    ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
    ("{\"a\":\"\\x\"}", "invalid character 'x' in string escape code"),
    ("[1,]", "invalid character ']' looking for beginning of value"),
];

const NO_STRUCT: &str = "into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
     Kind string \"json:\\\"kind,omitempty\\\"\" }";

/// The message of a 400.
async fn complains(
    t: &Target,
    method: Method,
    path: &str,
    media: &str,
    body: &str,
) -> Result<String, String> {
    let answer = t.send(method, path, &[("content-type", media)], body.to_owned()).await?;
    Ok(text(&answer.refused(400, "BadRequest")?, "/message").to_owned())
}

/// The message of what a strategic patch of Service `s` is answered with.
async fn strategic(t: &Target, code: u16, reason: &str, patch: Value) -> Result<String, String> {
    let path = t.core("services", "/s");
    let answer = t.patch(&path, "application/strategic-merge-patch+json", &patch).await?;
    Ok(text(&answer.refused(code, reason)?, "/message").to_owned())
}

async fn a_service(t: &Target) -> Outcome {
    t.make(&t.core("services", ""), service("s")).await.map(drop)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_object_that_is_no_json",
            "A POST of no JSON is told why, and shown its body.",
            async |t| {
                for (body, why) in NO_JSON {
                    let said = complains(t, Method::POST, &t.maps(""), JSON[0].1, body).await?;
                    let shown = if body.starts_with('{') { body } else { "5b312c5d" };
                    let expected = format!(
                        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json \
                     parse error: {why} ({shown})"
                    );
                    same(body, said, expected)?;
                }
                Ok(())
            },
        ),
        case(
            "a_body_of_something_else",
            "A list, a number or a text where an object should be: 400.",
            async |t| {
                for (body, what) in [("[]", "array"), ("1", "number"), ("\"x\"", "string")] {
                    let said = complains(t, Method::POST, &t.maps(""), JSON[0].1, body).await?;
                    holds(
                        &said,
                        said.contains(&format!("json: cannot unmarshal {what} {NO_STRUCT} (")),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_kind_that_is_no_text",
            "A kind that is a number: 400, by the name of the field.",
            async |t| {
                let said =
                    complains(t, Method::POST, &t.maps(""), JSON[0].1, "{\"kind\":1}").await?;
                holds(
                    &said,
                    said.contains(
                        "cannot unmarshal number into Go struct field .kind of type string ({",
                    ),
                )
            },
        ),
        case(
            "metadata_that_is_none",
            "Metadata that is a number: 400, with Go's type.",
            async |t| {
                let said =
                    complains(t, Method::POST, &t.maps(""), JSON[0].1, "{\"metadata\":1}").await?;
                let words = "json: cannot unmarshal number into Go struct field ConfigMap.metadata of type v1.ObjectMeta";
                holds(&said, said.ends_with(words))
            },
        ),
        case("an_empty_body_is_shown_as_such", "A POST of nothing: 400, `<empty>`.", async |t| {
            let said = complains(t, Method::POST, &t.maps(""), JSON[0].1, "").await?;
            holds(&said, said.ends_with("unexpected end of JSON input (<empty>)"))
        }),
        case("a_long_body_is_shown_in_part", "Of a long body thirty bytes are shown.", async |t| {
            let body = format!("{{\"{}", "a".repeat(100));
            let said = complains(t, Method::POST, &t.maps(""), JSON[0].1, &body).await?;
            holds(&said, said.ends_with(&format!("({{\"{} ...)", "a".repeat(28))))
        }),
        case(
            "options_that_are_no_json",
            "Options of a delete that are no JSON: 400, and why.",
            async |t| {
                for (body, why) in NO_JSON {
                    let said = complains(t, Method::DELETE, &t.maps("/a"), JSON[0].1, body).await?;
                    same(
                        body,
                        said,
                        format!("couldn't get version/kind; json parse error: {why}"),
                    )?;
                }
                let said = complains(t, Method::DELETE, &t.maps("/a"), JSON[0].1, "[]").await?;
                holds(&said, said.ends_with(&format!("json: cannot unmarshal array {NO_STRUCT}")))
            },
        ),
        case(
            "options_of_wrong_types",
            "Options of wrong types: 400, with field and Go type.",
            async |t| {
                for (body, field) in [
                    (
                        "{\"propagationPolicy\":1}",
                        "number into Go struct field DeleteOptions.propagationPolicy of type v1.DeletionPropagation",
                    ),
                    (
                        "{\"gracePeriodSeconds\":\"x\"}",
                        "string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
                    ),
                    (
                        "{\"preconditions\":1}",
                        "number into Go struct field DeleteOptions.preconditions of type v1.Preconditions",
                    ),
                    (
                        "{\"preconditions\":{\"uid\":1}}",
                        "number into Go struct field Preconditions.preconditions.uid of type types.UID",
                    ),
                    (
                        "{\"orphanDependents\":\"x\"}",
                        "string into Go struct field DeleteOptions.orphanDependents of type bool",
                    ),
                    (
                        "{\"dryRun\":\"x\"}",
                        "string into Go struct field DeleteOptions.dryRun of type []string",
                    ),
                ] {
                    let said = complains(t, Method::DELETE, &t.maps("/a"), JSON[0].1, body).await?;
                    same(body, said, format!("json: cannot unmarshal {field}"))?;
                }
                Ok(())
            },
        ),
        case(
            "patches_that_are_no_json",
            "A patch of any type that is no JSON: 400, and why.",
            async |t| {
                t.map("a", "v").await?;
                for (body, why) in NO_JSON {
                    for (media, prefix) in [
                        ("application/json-patch+json", "error decoding patch: "),
                        ("application/merge-patch+json", "error decoding patch: "),
                        ("application/strategic-merge-patch+json", ""),
                    ] {
                        let said = complains(t, Method::PATCH, &t.maps("/a"), media, body).await?;
                        same(body, said, format!("{prefix}{why}"))?;
                    }
                }
                Ok(())
            },
        ),
        case(
            "operations_of_wrong_types",
            "A JSON patch that is no list of operations: 400, with Go's types.",
            async |t| {
                t.map("a", "v").await?;
                for (body, why) in [
                    ("{}", "object into Go value of type []handlers.jsonPatchOp"),
                    ("[1]", "number into Go value of type handlers.jsonPatchOp"),
                    ("[{\"op\":1}]", "number into Go struct field jsonPatchOp.op of type string"),
                    (
                        "[{\"op\":\"add\",\"path\":[]}]",
                        "array into Go struct field jsonPatchOp.path of type string",
                    ),
                ] {
                    let said = complains(
                        t,
                        Method::PATCH,
                        &t.maps("/a"),
                        "application/json-patch+json",
                        body,
                    )
                    .await?;
                    same(
                        body,
                        said,
                        format!("error decoding patch: json: cannot unmarshal {why}"),
                    )?;
                }
                t.json_patch(&t.maps("/a"), json!([null])).await?.refused(422, "Invalid").map(drop)
            },
        ),
        case(
            "strategic_directives_that_are_none",
            "An unknown `$patch` is shown with its object: 500.",
            async |t| {
                a_service(t).await?;
                for (patch, said) in [
                    (json!({ "$patch": "frob" }), "frob in map: map[$patch:frob]"),
                    (json!({ "$patch": 1 }), "%!s(int64=1) in map: map[$patch:1]"),
                    (json!({ "$patch": 2.5 }), "%!s(float64=2.5) in map: map[$patch:2.5]"),
                    (
                        json!({ "$patch": { "a": [1, null] } }),
                        "map[a:[%!s(int64=1) <nil>]] in map: map[$patch:map[a:[1 <nil>]]]",
                    ),
                    (
                        json!({ "ports": [{ "$patch": "frob", "port": 80 }] }),
                        "frob in map: map[$patch:frob port:80]",
                    ),
                ] {
                    let answer = strategic(t, 500, "", json!({ "spec": patch })).await?;
                    same("the message", answer, format!("unknown patch type: {said}"))?;
                }
                Ok(())
            },
        ),
        case(
            "strategic_items_without_a_key",
            "An item without the merge key is shown: 500.",
            async |t| {
                a_service(t).await?;
                let item =
                    json!({ "list": "", "b": [1, null, { "x": true, "a": 2.5 }], "n": null });
                let said = strategic(t, 500, "", json!({ "spec": { "ports": [item] } })).await?;
                let expected = "map: map[b:[1 <nil> map[a:2.5 x:true]] list: n:<nil>] does not contain declared merge key: port";
                same("the message", said, expected.to_owned())
            },
        ),
        case(
            "strategic_orders_that_are_none",
            "`$setElementOrder` must be a list that holds the items: 500.",
            async |t| {
                a_service(t).await?;
                for (order, what) in [
                    (json!({ "a": 1 }), "map[string]interface {}"),
                    (json!("x"), "string"),
                    (json!(7), "int64"),
                    (Value::Null, "%!s(<nil>)"),
                ] {
                    let said = strategic(
                        t,
                        500,
                        "",
                        json!({ "spec": { "$setElementOrder/ports": order } }),
                    )
                    .await?;
                    same(
                        "the message",
                        said,
                        format!("expected a []interface {{}}, but received a {what}"),
                    )?;
                }
                let patch = json!({ "$setElementOrder/ports": [{ "port": 80 }, { "port": 81 }], "ports": [{ "port": 82 }] });
                let said = strategic(t, 500, "", json!({ "spec": patch })).await?;
                let lists = "[map[port:82]]\n doesn't match $setElementOrder list:\n[map[port:80] map[port:81]]\n";
                same("the message", said, format!("The order in patch list:\n{lists}"))
            },
        ),
        case(
            "strategic_patches_are_shown_not_their_results",
            "Of a strategic patch whose result cannot be read the patch is shown: 422.",
            async |t| {
                a_service(t).await?;
                for (patch, shown) in [
                    (json!({ "spec": { "ports": "x" } }), "map[spec:map[ports:x]]"),
                    (
                        json!({ "metadata": { "labels": { "a": 1 } } }),
                        "map[metadata:map[labels:map[a:1]]]",
                    ),
                ] {
                    let said = strategic(t, 422, "Invalid", patch).await?;
                    let start = format!(" \"\" is invalid: patch: Invalid value: \"{shown}\": ");
                    holds(&said, said.starts_with(&start))?;
                }
                Ok(())
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
