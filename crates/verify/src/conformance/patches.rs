//! Patches of each type, and what is wrong with them.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::{JSON_PATCH, MERGE, STRATEGIC};
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = merges();
    cases.extend(json_patches());
    cases
}

fn merges() -> Vec<Case> {
    vec![
        case(
            "a_merge_patch_merges_members",
            "A merge patch sets members, removes those that are null, and leaves the others.",
            async |t| {
                t.make(
                    &t.maps(""),
                    json!({ "metadata": { "name": "a" }, "data": { "a": "1", "b": "1" } }),
                )
                .await?;
                let patched = t
                    .merge(&t.maps("/a"), json!({ "data": { "a": null, "c": "1" } }))
                    .await?
                    .is(200)?;
                same("data", patched["data"].clone(), json!({ "b": "1", "c": "1" }))
            },
        ),
        case(
            "a_merge_patch_replaces_lists",
            "A merge patch replaces lists as a whole.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({ "l": [1, 2] }))).await?;
                let patched =
                    t.merge(&t.widgets("/a"), json!({ "spec": { "l": [3] } })).await?.is(200)?;
                has(&patched, json!({ "spec": { "l": [3] } }))
            },
        ),
        case(
            "a_patch_with_a_stale_version_is_409",
            "A merge patch that names a resourceVersion which is not current answers 409.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                let patch = json!({ "metadata": { "resourceVersion": version(&made) }, "data": { "k": "x" } });
                t.merge(&t.maps("/a"), patch).await?.says(
                    409,
                    "Conflict",
                    "the object has been modified",
                )?;
                Ok(())
            },
        ),
        case(
            "a_patch_with_the_current_version_is_applied",
            "A merge patch that names the current resourceVersion is applied.",
            async |t| {
                let made = t.map("a", "v").await?;
                let patch = json!({ "metadata": { "resourceVersion": version(&made) }, "data": { "k": "x" } });
                has(&t.merge(&t.maps("/a"), patch).await?.is(200)?, json!({ "data": { "k": "x" } }))
            },
        ),
        case(
            "a_patch_of_a_missing_object_is_404",
            "A merge or JSON patch of a missing object answers 404.",
            async |t| {
                t.merge(&t.maps("/a"), json!({})).await?.refused(404, "NotFound")?;
                t.json_patch(&t.maps("/a"), json!([])).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "a_malformed_merge_patch_is_400",
            "A merge patch that is no JSON object answers 400.",
            async |t| {
                t.map("a", "v").await?;
                for body in ["{", "x"] {
                    let answer = t
                        .send(http::Method::PATCH, &t.maps("/a"), &[("content-type", MERGE)], body)
                        .await?;
                    answer.refused(400, "BadRequest")?;
                }
                Ok(())
            },
        ),
        case(
            "a_merge_patch_that_is_a_list_is_refused",
            "A merge patch that is a JSON list answers 400.",
            async |t| {
                t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!([])).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "a_patch_to_a_wrong_type_is_422",
            "A merge patch that makes a member another type answers 422.",
            async |t| {
                t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": 7 } }))
                    .await?
                    .refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "a_patch_to_a_wrong_type_names_the_patch",
            "A patch that makes a member another type is said to be wrong in the field `patch`.",
            async |t| {
                t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": 7 } }))
                    .await?
                    .invalid(&["FieldValueInvalid patch"])?;
                Ok(())
            },
        ),
        case(
            "a_patch_to_an_invalid_object_is_422",
            "A patch that makes the object invalid answers 422 with the field.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t
                    .merge(&t.maps("/a"), json!({ "metadata": { "labels": { "k": "a b" } } }))
                    .await?;
                answer.invalid(&["FieldValueInvalid metadata.labels"])?;
                Ok(())
            },
        ),
        case(
            "a_patch_of_kind_or_version_is_422",
            "A merge patch that changes kind or apiVersion, or makes kind a number, answers 422 about the field `patch`.",
            async |t| {
                t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "kind": "Secret" }))
                    .await?
                    .invalid(&["FieldValueInvalid patch"])?;
                for patch in [json!({ "apiVersion": "v2" }), json!({ "kind": 7 })] {
                    t.merge(&t.maps("/a"), patch).await?.invalid(&["FieldValueInvalid patch"])?;
                }
                Ok(())
            },
        ),
        case(
            "a_strategic_patch_of_kind_or_version_is_ignored",
            "kind and apiVersion in a strategic merge patch change nothing, unless they are no text: 422.",
            async |t| {
                t.map("a", "v").await?;
                for patch in
                    [json!({ "kind": "X" }), json!({ "apiVersion": "v2" }), json!({ "kind": null })]
                {
                    let patched = t.patch(&t.maps("/a"), STRATEGIC, &patch).await?.is(200)?;
                    has(
                        &patched,
                        json!({ "kind": "ConfigMap", "apiVersion": "v1", "data": { "k": "v" } }),
                    )?;
                }
                t.patch(&t.maps("/a"), STRATEGIC, &json!({ "kind": 7 }))
                    .await?
                    .invalid(&["FieldValueInvalid patch"])?;
                Ok(())
            },
        ),
        case(
            "a_strict_patch_refuses_duplicate_keys",
            "A merge patch in which a member comes twice answers 422 under fieldValidation=Strict.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t
                    .send(
                        http::Method::PATCH,
                        &t.maps("/a?fieldValidation=Strict"),
                        &[("content-type", MERGE)],
                        "{\"data\":{\"k\":\"1\",\"k\":\"2\"}}",
                    )
                    .await?;
                answer.says(422, "Invalid", "strict decoding error: duplicate field \"data.k\"")?;
                Ok(())
            },
        ),
        case(
            "a_strict_json_patch_refuses_duplicate_keys",
            "A JSON patch in which a member of a step comes twice answers 422 under fieldValidation=Strict.",
            async |t| {
                t.map("a", "v").await?;
                let body = r#"[{"op":"add","op":"add","path":"/data/k","value":"1"}]"#;
                let headers = [("content-type", "application/json-patch+json")];
                let path = t.maps("/a?fieldValidation=Strict");
                let answer = t.send(http::Method::PATCH, &path, &headers, body).await?;
                answer.says(
                    422,
                    "Invalid",
                    "strict decoding error: json patch duplicate field \"[0].op\"",
                )?;
                Ok(())
            },
        ),
        case(
            "a_strict_patch_refuses_unknown_members",
            "A patch with an unknown member answers 422 under fieldValidation=Strict.",
            async |t| {
                t.map("a", "v").await?;
                let answer =
                    t.merge(&t.maps("/a?fieldValidation=Strict"), json!({ "wrong": 1 })).await?;
                answer.says(422, "Invalid", "unknown field \"wrong\"")?;
                Ok(())
            },
        ),
        case(
            "a_patch_warns_of_unknown_members",
            "A patch with an unknown member is applied with a Warning.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t.merge(&t.maps("/a"), json!({ "wrong": 1 })).await?;
                answer.is(200)?;
                same("warnings", answer.warnings(), ["299 - \"unknown field \\\"wrong\\\"\""])
            },
        ),
        case(
            "a_patch_of_another_media_type_is_415",
            "A PATCH of a media type that is no patch answers 415.",
            async |t| {
                t.map("a", "v").await?;
                t.patch(&t.maps("/a"), "application/json", &json!({}))
                    .await?
                    .refused(415, "UnsupportedMediaType")?;
                Ok(())
            },
        ),
        case(
            "a_strategic_patch_of_a_custom_object_is_415",
            "A strategic merge patch of a custom object answers 415.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                t.patch(&t.widgets("/a"), STRATEGIC, &json!({}))
                    .await?
                    .refused(415, "UnsupportedMediaType")?;
                Ok(())
            },
        ),
        case(
            "force_without_apply_is_422",
            "The query parameter force beside another patch than apply answers 422.",
            async |t| {
                t.map("a", "v").await?;
                t.merge(&t.maps("/a?force=true"), json!({}))
                    .await?
                    .invalid(&["FieldValueForbidden force"])?;
                Ok(())
            },
        ),
        case(
            "a_strategic_patch_merges_members",
            "A strategic merge patch of a built-in kind sets and removes members.",
            async |t| {
                t.make(
                    &t.maps(""),
                    json!({ "metadata": { "name": "a" }, "data": { "a": "1", "b": "1" } }),
                )
                .await?;
                let patched = t
                    .patch(&t.maps("/a"), STRATEGIC, &json!({ "data": { "a": null, "c": "1" } }))
                    .await?
                    .is(200)?;
                same("data", patched["data"].clone(), json!({ "b": "1", "c": "1" }))
            },
        ),
        case(
            "a_strategic_patch_merges_finalizers",
            "A strategic merge patch adds its finalizers to those that are there.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["finalizers"] = json!(["example.com/x"]);
                t.make(&t.maps(""), object).await?;
                let patch = json!({ "metadata": { "finalizers": ["example.com/y"] } });
                let patched = t.patch(&t.maps("/a"), STRATEGIC, &patch).await?.is(200)?;
                let found = &patched["metadata"]["finalizers"];
                holds("both are there", items(found, "").len() == 2)
                    .map_err(|why| format!("{why}: {found}"))
            },
        ),
    ]
}

fn json_patches() -> Vec<Case> {
    vec![
        case(
            "a_json_patch_does_each_operation",
            "add, replace, remove, copy, move and test of a JSON patch do what RFC 6902 says.",
            async |t| {
                t.make(
                    &t.widgets(""),
                    widget("a", json!({ "a": 1, "b": 2, "c": { "d": 3 }, "l": [1, 2] })),
                )
                .await?;
                let patch = json!([
                    { "op": "test", "path": "/spec/a", "value": 1 },
                    { "op": "add", "path": "/spec/l/-", "value": 3 },
                    { "op": "add", "path": "/spec/l/0", "value": 0 },
                    { "op": "replace", "path": "/spec/a", "value": 10 },
                    { "op": "remove", "path": "/spec/b" },
                    { "op": "copy", "from": "/spec/c", "path": "/spec/e" },
                    { "op": "move", "from": "/spec/c/d", "path": "/spec/f" },
                ]);
                let patched = t.json_patch(&t.widgets("/a"), patch).await?.is(200)?;
                same(
                    "spec",
                    patched["spec"].clone(),
                    json!({ "a": 10, "c": {}, "e": { "d": 3 }, "f": 3, "l": [0, 1, 2, 3] }),
                )
            },
        ),
        case(
            "escapes_in_json_pointers",
            "`~1` and `~0` in a JSON pointer are `/` and `~`.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["annotations"] = json!({ "example.com/x": "1" });
                t.make(&t.maps(""), object).await?;
                let patch = json!([{ "op": "replace", "path": "/metadata/annotations/example.com~1x", "value": "2" }]);
                let patched = t.json_patch(&t.maps("/a"), patch).await?.is(200)?;
                has(&patched, json!({ "metadata": { "annotations": { "example.com/x": "2" } } }))
            },
        ),
        case(
            "a_failed_test_is_422",
            "A JSON patch whose test fails answers 422 and changes nothing.",
            async |t| {
                t.map("a", "v").await?;
                let patch = json!([{ "op": "replace", "path": "/data/k", "value": "w" }, { "op": "test", "path": "/data/k", "value": "x" }]);
                let status = t.json_patch(&t.maps("/a"), patch).await?.refused(422, "Invalid")?;
                same(
                    "message",
                    text(&status, "/message"),
                    "the server rejected our request due to an error in our request",
                )?;
                has(&t.get(&t.maps("/a")).await?.is(200)?, json!({ "data": { "k": "v" } }))
            },
        ),
        case(
            "a_test_of_null_passes_on_an_absent_member",
            "A JSON patch test for null passes where the member is absent.",
            async |t| {
                t.map("a", "v").await?;
                let patch = json!([
                    { "op": "test", "path": "/metadata/finalizers", "value": null },
                    { "op": "add", "path": "/metadata/finalizers", "value": ["example.com/f"] },
                ]);
                let patched = t.json_patch(&t.maps("/a"), patch).await?.is(200)?;
                has(&patched, json!({ "metadata": { "finalizers": ["example.com/f"] } }))
            },
        ),
        case(
            "a_test_of_null_below_an_absent_member_is_422",
            "A JSON patch test for null below a member that is absent answers 422.",
            async |t| {
                t.map("a", "v").await?;
                let patch =
                    json!([{ "op": "test", "path": "/metadata/annotations/x", "value": null }]);
                t.json_patch(&t.maps("/a"), patch).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "a_test_of_the_version_guards_a_patch",
            "A JSON patch test of metadata.resourceVersion answers 422 when it is stale.",
            async |t| {
                let made = t.map("a", "v").await?;
                let test = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version(&made) });
                let patch = |value: &str| json!([test, { "op": "replace", "path": "/data/k", "value": value }]);
                t.json_patch(&t.maps("/a"), patch("w")).await?.is(200)?;
                t.json_patch(&t.maps("/a"), patch("x")).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "a_replace_of_the_version_guards_a_patch",
            "A JSON patch that writes a stale metadata.resourceVersion answers 409.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                let patch = json!([{ "op": "replace", "path": "/metadata/resourceVersion", "value": version(&made) }]);
                t.json_patch(&t.maps("/a"), patch).await?.refused(409, "Conflict")?;
                Ok(())
            },
        ),
        case(
            "removing_what_is_absent_is_422",
            "A JSON patch that removes or moves an absent member answers 422.",
            async |t| {
                t.map("a", "v").await?;
                t.json_patch(&t.maps("/a"), json!([{ "op": "remove", "path": "/data/x" }]))
                    .await?
                    .refused(422, "Invalid")?;
                t.json_patch(
                    &t.maps("/a"),
                    json!([{ "op": "move", "from": "/data/x", "path": "/data/y" }]),
                )
                .await?
                .refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "replacing_what_is_absent_adds_it",
            "A JSON patch that replaces an absent member of an object that is there adds it.",
            async |t| {
                t.map("a", "v").await?;
                let patched = t
                    .json_patch(
                        &t.maps("/a"),
                        json!([{ "op": "replace", "path": "/data/x", "value": "y" }]),
                    )
                    .await?
                    .is(200)?;
                has(&patched, json!({ "data": { "k": "v", "x": "y" } }))?;
                t.json_patch(
                    &t.maps("/a"),
                    json!([{ "op": "replace", "path": "/nothing/x", "value": "y" }]),
                )
                .await?
                .refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "an_operation_without_a_path_is_422",
            "A JSON patch operation without a path, or with one that is no pointer, answers 422.",
            async |t| {
                t.map("a", "v").await?;
                t.json_patch(&t.maps("/a"), json!([{ "op": "add" }]))
                    .await?
                    .refused(422, "Invalid")?;
                t.json_patch(&t.maps("/a"), json!([{ "op": "add", "path": "data", "value": {} }]))
                    .await?
                    .refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "adding_below_an_absent_member_is_422",
            "A JSON patch that adds below a member that is absent answers 422.",
            async |t| {
                t.map("a", "v").await?;
                let patch =
                    json!([{ "op": "add", "path": "/metadata/annotations/x", "value": "y" }]);
                t.json_patch(&t.maps("/a"), patch).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "an_index_out_of_range_is_422",
            "A JSON patch with an index beyond the end of a list answers 422.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({ "l": [1] }))).await?;
                t.json_patch(
                    &t.widgets("/a"),
                    json!([{ "op": "add", "path": "/spec/l/5", "value": 1 }]),
                )
                .await?
                .refused(422, "Invalid")?;
                t.json_patch(&t.widgets("/a"), json!([{ "op": "remove", "path": "/spec/l/1" }]))
                    .await?
                    .refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "an_unknown_operation_is_422",
            "A JSON patch with an unknown operation answers 422.",
            async |t| {
                t.map("a", "v").await?;
                let answer =
                    t.json_patch(&t.maps("/a"), json!([{ "op": "jump", "path": "/data" }])).await?;
                answer.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "a_json_patch_that_is_no_list_is_400",
            "A JSON patch that is no list answers 400.",
            async |t| {
                t.map("a", "v").await?;
                t.json_patch(&t.maps("/a"), json!({})).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "a_json_patch_of_10001_operations_is_413",
            "A JSON patch of more than 10,000 operations answers 413.",
            async |t| {
                t.map("a", "v").await?;
                let operation = json!({ "op": "test", "path": "/data/k", "value": "v" });
                let patch = |count: usize| serde_json::Value::Array(vec![operation.clone(); count]);
                t.json_patch(&t.maps("/a"), patch(10_000)).await?.is(200)?;
                t.json_patch(&t.maps("/a"), patch(10_001)).await?.says(
                    413,
                    "RequestEntityTooLarge",
                    "10000",
                )?;
                Ok(())
            },
        ),
        case(
            "an_empty_json_patch_changes_nothing",
            "A JSON patch without operations answers 200 and changes nothing.",
            async |t| {
                let made = t.map("a", "v").await?;
                same(
                    "version",
                    version(&t.json_patch(&t.maps("/a"), json!([])).await?.is(200)?),
                    version(&made),
                )
            },
        ),
        case(
            "the_media_type_of_a_patch_is_named_exactly",
            "The media type of a patch may have parameters; in another case, or with a space behind, it answers 415.",
            async |t| {
                t.map("a", "v").await?;
                t.patch(&t.maps("/a"), &format!("{JSON_PATCH}; charset=utf-8"), &json!([]))
                    .await?
                    .is(200)?;
                t.patch(&t.maps("/a"), &format!("{MERGE};charset"), &json!({})).await?.is(200)?;
                for media in ["Application/Merge-Patch+JSON", "application/merge-patch+json ;x=y"] {
                    t.patch(&t.maps("/a"), media, &json!({}))
                        .await?
                        .refused(415, "UnsupportedMediaType")?;
                }
                Ok(())
            },
        ),
    ]
}
