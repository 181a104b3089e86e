//! Schemas of custom kinds: what is refused and in which words, what is dropped, what is filled in.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::gear;
use crate::conformance::{Case, Outcome, Target, case};

pub(super) fn cases() -> Vec<Case> {
    [values(), objects(), alternatives(), pruning(), defaults(), lists(), embedded(), updates()]
        .into_iter()
        .flatten()
        .collect()
}

/// Creates a gear and returns its spec.
async fn kept(t: &Target, spec: Value) -> Result<Value, String> {
    Ok(t.make(&t.gears(""), gear("a", spec)).await?["spec"].take())
}

/// Creates a gear that is refused for these causes, `reason field: message`, in any order.
async fn refused(t: &Target, spec: Value, causes: &[&str]) -> Outcome {
    refused_for(&t.post(&t.gears(""), &gear("a", spec)).await?, causes)
}

fn refused_for(answer: &Answer, causes: &[&str]) -> Outcome {
    let status = answer.refused(422, "Invalid")?;
    let cause = |cause: &Value| {
        format!("{} {}: {}", text(cause, "/reason"), text(cause, "/field"), text(cause, "/message"))
    };
    let mut found: Vec<String> = items(&status, "/details/causes").iter().map(cause).collect();
    let mut expected: Vec<String> = causes.iter().map(|cause| (*cause).to_owned()).collect();
    // The real server looks at members in random order.
    found.sort();
    expected.sort();
    same("the causes", found, expected)
}

fn values() -> Vec<Case> {
    vec![
        case(
            "a_wrong_type_names_both",
            "A value of another type is refused with the type that it has.",
            async |t| {
                let cause = "FieldValueTypeInvalid spec.size: Invalid value: \"string\": spec.size in body must be of type \
                         integer: \"string\"";
                refused(t, json!({ "size": "x" }), &[cause]).await
            },
        ),
        case(
            "an_integer_takes_whole_floats",
            "An integer may be written as 3.0, and is shown as 3.",
            async |t| {
                same("spec", kept(t, json!({ "size": 3.0 })).await?["size"].clone(), json!(3))
            },
        ),
        case(
            "an_integer_takes_no_fraction",
            "A number with a fraction is no integer, and out of the range of one.",
            async |t| {
                let range = "FieldValueInvalid <nil>: Invalid value: \"\": Checked value must be of type integer \
                             (default format) in spec.size";
                let of_type = "FieldValueTypeInvalid spec.size: Invalid value: \"number\": spec.size in body must be \
                               of type integer: \"number\"";
                refused(t, json!({ "size": 1.5 }), &[range, of_type]).await
            },
        ),
        case(
            "a_maximum_is_the_last_that_fits",
            "A number above the maximum is refused with the bound.",
            async |t| {
                kept(t, json!({ "size": 10 })).await?;
                let cause = "FieldValueInvalid spec.size: Invalid value: 11: spec.size in body should be less than or \
                         equal to 10";
                refused(t, json!({ "size": 11 }), &[cause]).await
            },
        ),
        case(
            "a_minimum_is_the_first_that_fits",
            "A number below the minimum is refused with the bound.",
            async |t| {
                let cause = "FieldValueInvalid spec.size: Invalid value: 0: spec.size in body should be greater than or \
                         equal to 1";
                refused(t, json!({ "size": 0 }), &[cause]).await
            },
        ),
        case(
            "a_multiple_is_checked",
            "A number that is no multiple is refused with the factor.",
            async |t| {
                let cause = "FieldValueInvalid spec.ratio: Invalid value: 0.3: spec.ratio in body should be a multiple of \
                         0.25";
                refused(t, json!({ "ratio": 0.3 }), &[cause]).await
            },
        ),
        case(
            "int32_has_its_range",
            "A number that int32 cannot hold is refused, of no field.",
            async |t| {
                let cause = "FieldValueInvalid <nil>: Invalid value: \"\": Checked value must be of type integer with \
                         format int32 in spec.small";
                refused(t, json!({ "small": 3_000_000_000_u64 }), &[cause]).await
            },
        ),
        case(
            "a_long_text_is_too_long",
            "A text above its length is refused in bytes, which are characters.",
            async |t| {
                let cause = "FieldValueTooLong spec.name: Too long: may not be more than 5 bytes";
                refused(t, json!({ "name": "abcdef" }), &[cause]).await
            },
        ),
        case(
            "length_counts_characters",
            "The length of a text is counted in characters, not in bytes.",
            async |t| kept(t, json!({ "word": "äöüßé" })).await.map(drop),
        ),
        case(
            "of_length_and_pattern_one_is_said",
            "A text that is too short is told that, and not that it does not match.",
            async |t| {
                let cause = "FieldValueInvalid spec.name: Invalid value: \"A\": spec.name in body should be at least 2 \
                             chars long";
                refused(t, json!({ "name": "A" }), &[cause]).await
            },
        ),
        case(
            "a_pattern_must_match",
            "A text that does not match is refused with the pattern.",
            async |t| {
                let cause = "FieldValueInvalid spec.name: Invalid value: \"a1\": spec.name in body should match '^[a-z]+$'";
                refused(t, json!({ "name": "a1" }), &[cause]).await
            },
        ),
        case(
            "digits_of_a_pattern_are_ascii",
            "\\d in a pattern is 0 to 9, not every digit of Unicode.",
            async |t| {
                kept(t, json!({ "digit": "7" })).await?;
                let cause = "FieldValueInvalid spec.digit: Invalid value: \"٣\": spec.digit in body should match '^\\d$'";
                refused(t, json!({ "digit": "٣" }), &[cause]).await
            },
        ),
        case(
            "an_enum_lists_what_is_allowed",
            "A value that is not allowed is refused with those that are.",
            async |t| {
                let cause = "FieldValueNotSupported spec.mode: Unsupported value: \"x\": supported values: \"fast\", \
                         \"slow\"";
                refused(t, json!({ "mode": "x" }), &[cause]).await
            },
        ),
        case(
            "a_type_and_an_enum_are_both_said",
            "A value of a wrong type is also none of those allowed.",
            async |t| {
                let of_type = "FieldValueTypeInvalid spec.mode: Invalid value: \"integer\": spec.mode in body must be of \
                           type string: \"integer\"";
                let allowed = "FieldValueNotSupported spec.mode: Unsupported value: 7: supported values: \"fast\", \"slow\"";
                refused(t, json!({ "mode": 7 }), &[of_type, allowed]).await
            },
        ),
        case(
            "int_or_string_takes_both",
            "x-kubernetes-int-or-string takes an integer and a text.",
            async |t| {
                same(
                    "a text",
                    kept(t, json!({ "port": "http" })).await?["port"].clone(),
                    json!("http"),
                )?;
                let made = t.make(&t.gears(""), gear("b", json!({ "port": 80 }))).await?;
                same("an integer", made["spec"]["port"].clone(), json!(80))
            },
        ),
        case(
            "int_or_string_takes_nothing_else",
            "Anything else is refused with both types.",
            async |t| {
                let cause = "FieldValueTypeInvalid spec.port: Invalid value: \"boolean\": spec.port in body must be of type \
                         integer,string: \"boolean\"";
                refused(t, json!({ "port": true }), &[cause]).await
            },
        ),
        case("a_date_time_is_checked", "A text of format date-time must be one.", async |t| {
            kept(t, json!({ "when": "2026-01-02T03:04:05Z" })).await?;
            let cause = "FieldValueTypeInvalid spec.when: Invalid value: \"soon\": spec.when in body must be of type \
                         date-time: \"soon\"";
            refused(t, json!({ "when": "soon" }), &[cause]).await
        }),
        case(
            "a_format_nobody_knows_says_nothing",
            "A format that the server does not know is not checked.",
            async |t| kept(t, json!({ "odd": "anything" })).await.map(drop),
        ),
        case(
            "several_formats_are_checked",
            "ipv4, uuid, cidr, duration and byte are checked, too.",
            async |t| {
                let fine = json!({
                    "ip": "10.0.0.1", "uuid": "123e4567-e89b-12d3-a456-426614174000", "cidr": "10.0.0.0/8",
                    "duration": "1h30m", "bytes": "aGk=",
                });
                kept(t, json!({ "formats": fine })).await?;
                for (name, value, named) in [
                    ("ip", "10.0.0", "ipv4"),
                    ("uuid", "123", "uuid"),
                    ("cidr", "10.0.0.0", "cidr"),
                    ("duration", "long", "duration"),
                    ("bytes", "###", "byte"),
                ] {
                    let cause = format!(
                        "FieldValueTypeInvalid spec.formats.{name}: Invalid value: {value:?}: spec.formats.{name} in body \
                     must be of type {named}: {value:?}"
                    );
                    refused(t, json!({ "formats": { name: value } }), &[&cause]).await?;
                }
                Ok(())
            },
        ),
    ]
}

fn objects() -> Vec<Case> {
    vec![
        case(
            "a_required_member_is_missed",
            "A required member that is not there is a cause of its own.",
            async |t| {
                refused(
                    t,
                    json!({ "pair": {} }),
                    &["FieldValueRequired spec.pair.left: Required value"],
                )
                .await
            },
        ),
        case(
            "required_members_wait_for_their_object",
            "What is required inside of something absent is not missed.",
            async |t| kept(t, json!({ "mode": "fast" })).await.map(drop),
        ),
        case(
            "values_of_a_map_are_checked",
            "Values of a map are checked, and named by their keys.",
            async |t| {
                let cause = "FieldValueTypeInvalid spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be \
                         of type string: \"integer\"";
                refused(t, json!({ "labels": { "a": 1 } }), &[cause]).await
            },
        ),
        case("a_map_may_be_too_large", "More keys than maxProperties are too many.", async |t| {
            let cause = "FieldValueTooMany spec.labels: Too many: 3: must have at most 2 items";
            refused(t, json!({ "labels": { "a": "", "b": "", "c": "" } }), &[cause]).await
        }),
        case("a_list_may_be_too_long", "More items than maxItems are too many.", async |t| {
            let cause = "FieldValueTooMany spec.few: Too many: 3: must have at most 2 items";
            refused(t, json!({ "few": ["a", "b", "c"] }), &[cause]).await
        }),
        case("a_list_may_be_too_short", "Fewer items than minItems are invalid.", async |t| {
            let cause = "FieldValueInvalid spec.few: Invalid value: 0: spec.few in body should have at least 1 items";
            refused(t, json!({ "few": [] }), &[cause]).await
        }),
        case("items_are_named_by_their_index", "A wrong item is named by its index.", async |t| {
            let cause = "FieldValueTypeInvalid spec.few[1]: Invalid value: \"integer\": spec.few[1] in body must be of \
                         type string: \"integer\"";
            refused(t, json!({ "few": ["a", 1] }), &[cause]).await
        }),
        case("a_null_item_has_a_type", "A null in a list is of the type null.", async |t| {
            let cause = "FieldValueTypeInvalid spec.few[0]: Invalid value: \"null\": spec.few[0] in body must be of \
                         type string: \"null\"";
            refused(t, json!({ "few": [null] }), &[cause]).await
        }),
        case(
            "the_name_of_an_object_is_in_the_schema",
            "The schema may ask for more of metadata.name.",
            async |t| {
                let cause =
                    "FieldValueTooLong metadata.name: Too long: may not be more than 20 bytes";
                let named = gear("a-name-of-more-than-twenty", json!({}));
                refused_for(&t.post(&t.gears(""), &named).await?, &[cause])
            },
        ),
    ]
}

fn alternatives() -> Vec<Case> {
    vec![
        case(
            "one_of_wants_one",
            "oneOf takes a value of which one alternative is true.",
            async |t| kept(t, json!({ "one": { "a": "x" } })).await.map(drop),
        ),
        case("one_of_takes_no_two", "oneOf says how many alternatives were true.", async |t| {
            let cause = "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.one\" must validate one and only one \
                         schema (oneOf). Found 2 valid alternatives";
            refused(t, json!({ "one": { "a": "x", "b": "y" } }), &[cause]).await
        }),
        case(
            "one_of_none_says_what_is_missing",
            "oneOf without a true alternative says what the best one misses.",
            async |t| {
                let none = "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.one\" must validate one and only one \
                        schema (oneOf). Found none valid";
                refused(
                    t,
                    json!({ "one": {} }),
                    &[none, "FieldValueRequired spec.one.a: Required value"],
                )
                .await
            },
        ),
        case(
            "any_of_wants_one_at_least",
            "anyOf says that no alternative was true, and of the best why.",
            async |t| {
                kept(t, json!({ "some": { "a": "x", "b": "y" } })).await?;
                let none = "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.some\" must validate at least one schema \
                        (anyOf)";
                refused(
                    t,
                    json!({ "some": {} }),
                    &[none, "FieldValueRequired spec.some.a: Required value"],
                )
                .await
            },
        ),
        case(
            "all_of_wants_all",
            "allOf says that all are wanted, and what one misses.",
            async |t| {
                let all = "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.all\" must validate all the schemas (allOf)";
                refused(
                    t,
                    json!({ "all": { "a": "x" } }),
                    &[all, "FieldValueRequired spec.all.b: Required value"],
                )
                .await
            },
        ),
        case("not_wants_none", "not refuses what it describes.", async |t| {
            kept(t, json!({ "none": {} })).await?;
            let cause = "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.none\" must not validate the schema (not)";
            refused(t, json!({ "none": { "a": "x" } }), &[cause]).await
        }),
    ]
}

fn pruning() -> Vec<Case> {
    vec![
        case(
            "unknown_members_are_dropped",
            "Members that the schema does not name are dropped at any depth.",
            async |t| {
                let spec = kept(t, json!({ "x": 1, "pair": { "left": "l", "y": { "z": 1 } }, "parts": [{ "name": "p", "u": 1 }] })).await?;
                has(&spec, json!({ "x": null, "pair": { "left": "l", "y": null } }))?;
                same("parts", spec["parts"].clone(), json!([{ "name": "p" }]))
            },
        ),
        case(
            "members_beside_spec_are_dropped",
            "Unknown members beside spec are dropped, too.",
            async |t| {
                let mut object = gear("a", json!({}));
                object["data"] = json!({ "k": "v" });
                has(&t.make(&t.gears(""), object).await?, json!({ "data": null }))
            },
        ),
        case(
            "dropped_members_are_told_of",
            "fieldValidation=Warn names what is dropped by its path.",
            async |t| {
                let spec = json!({ "x": 1, "parts": [{ "name": "p", "u": 1 }] });
                let answer = t.post(&t.gears("?fieldValidation=Warn"), &gear("a", spec)).await?;
                answer.is(201)?;
                let warnings = [
                    "299 - \"unknown field \\\"spec.parts[0].u\\\"\"",
                    "299 - \"unknown field \\\"spec.x\\\"\"",
                ];
                same("warnings", answer.warnings(), warnings.map(str::to_owned))
            },
        ),
        case(
            "strict_refuses_what_would_be_dropped",
            "fieldValidation=Strict refuses unknown members: 400.",
            async |t| {
                let answer = t
                    .post(&t.gears("?fieldValidation=Strict"), &gear("a", json!({ "x": 1 })))
                    .await?;
                answer
                    .says(400, "BadRequest", "strict decoding error: unknown field \"spec.x\"")
                    .map(drop)
            },
        ),
        case(
            "what_is_preserved_stays",
            "x-kubernetes-preserve-unknown-fields keeps what is not named.",
            async |t| {
                let spec =
                    kept(t, json!({ "open": { "any": { "thing": [1, null] }, "n": 1 } })).await?;
                same("open", spec["open"].clone(), json!({ "any": { "thing": [1, null] }, "n": 1 }))
            },
        ),
        case(
            "named_members_of_what_is_preserved_are_checked",
            "Of what is preserved, named members are checked.",
            async |t| {
                let cause = "FieldValueTypeInvalid spec.open.n: Invalid value: \"string\": spec.open.n in body must be of \
                         type integer: \"string\"";
                refused(t, json!({ "open": { "n": "x" } }), &[cause]).await
            },
        ),
        case(
            "named_members_of_what_is_preserved_are_pruned",
            "Inside of named members pruning goes on.",
            async |t| {
                let spec =
                    kept(t, json!({ "open": { "inner": { "a": "x", "b": 1 }, "c": 1 } })).await?;
                same("open", spec["open"].clone(), json!({ "inner": { "a": "x" }, "c": 1 }))
            },
        ),
        case("nulls_are_dropped", "A null member is dropped where null is no value.", async |t| {
            let spec =
                kept(t, json!({ "mode": null, "pair": { "left": "l", "right": null } })).await?;
            has(&spec, json!({ "pair": { "left": "l" } }))?;
            holds(
                "neither null stays",
                spec.get("mode").is_none() && spec["pair"].get("right").is_none(),
            )
        }),
        case("nullable_nulls_stay", "A null stays where the schema says nullable.", async |t| {
            let spec = kept(t, json!({ "maybe": null })).await?;
            same("maybe", spec.get("maybe").cloned(), Some(Value::Null))
        }),
        case(
            "a_patch_is_pruned",
            "What a patch adds is pruned as what a create brings.",
            async |t| {
                kept(t, json!({})).await?;
                let patched = t
                    .merge(&t.gears("/a"), json!({ "spec": { "x": 1, "mode": "fast" } }))
                    .await?
                    .is(200)?;
                has(&patched, json!({ "spec": { "x": null, "mode": "fast" } }))
            },
        ),
    ]
}

fn defaults() -> Vec<Case> {
    vec![
        case(
            "defaults_are_filled_in",
            "A member with a default is filled in where its object is there.",
            async |t| same("level", kept(t, json!({})).await?["level"].clone(), json!(3)),
        ),
        case(
            "no_default_without_its_object",
            "A default inside of an absent object is not filled in.",
            async |t| {
                let mut object = gear("a", json!({}));
                object.as_object_mut().and_then(|members| members.remove("spec"));
                has(&t.make(&t.gears(""), object).await?, json!({ "spec": null }))
            },
        ),
        case(
            "defaults_bring_defaults",
            "A default of an object is filled in with the defaults inside of it.",
            async |t| {
                same("nested", kept(t, json!({})).await?["nested"].clone(), json!({ "depth": 7 }))
            },
        ),
        case(
            "a_null_becomes_the_default",
            "A null where null is no value becomes the default.",
            async |t| {
                same("level", kept(t, json!({ "level": null })).await?["level"].clone(), json!(3))
            },
        ),
        case("items_have_defaults", "Objects in lists get their defaults.", async |t| {
            let spec =
                kept(t, json!({ "parts": [{ "name": "p" }, { "name": "q", "n": 2 }] })).await?;
            same(
                "parts",
                spec["parts"].clone(),
                json!([{ "name": "p" }, { "name": "q", "n": 2 }]),
            )?;
            let spec =
                t.make(&t.gears(""), gear("b", json!({ "steps": [{}] }))).await?["spec"].take();
            same("steps", spec["steps"].clone(), json!([{ "times": 1 }]))
        }),
        case("a_put_is_filled_in", "What a PUT leaves out is its default again.", async |t| {
            t.make(&t.gears(""), gear("a", json!({ "level": 9 }))).await?;
            let mut object = t.get(&t.gears("/a")).await?.is(200)?;
            object["spec"] = json!({ "mode": "fast" });
            has(
                &t.put(&t.gears("/a"), &object).await?.is(200)?,
                json!({ "spec": { "level": 3, "mode": "fast" } }),
            )
        }),
    ]
}

fn lists() -> Vec<Case> {
    vec![
        case(
            "a_set_has_nothing_twice",
            "The second of two equal items of a set is refused.",
            async |t| {
                let cause = "FieldValueDuplicate spec.tags[2]: Duplicate value: \"a\"";
                refused(t, json!({ "tags": ["a", "b", "a", "a"] }), &[cause]).await
            },
        ),
        case(
            "a_map_list_has_no_key_twice",
            "The second item with the same keys is refused with them.",
            async |t| {
                let cause = "FieldValueDuplicate spec.parts[1]: Duplicate value: {\"name\":\"p\"}";
                refused(t, json!({ "parts": [{ "name": "p" }, { "name": "p", "n": 1 }] }), &[cause])
                    .await
            },
        ),
    ]
}

fn embedded() -> Vec<Case> {
    vec![
        case(
            "an_embedded_object_names_its_type",
            "An embedded resource needs apiVersion and kind.",
            async |t| {
                let causes = [
                    "FieldValueRequired spec.embedded.apiVersion: Required value",
                    "FieldValueRequired spec.embedded.kind: Required value",
                ];
                refused(t, json!({ "embedded": {} }), &causes).await
            },
        ),
        case(
            "an_embedded_object_keeps_its_content",
            "An embedded resource keeps its metadata and what is preserved.",
            async |t| {
                let object = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "labels": { "a": "b" } },
                    "data": { "k": "v" },
                });
                same(
                    "embedded",
                    kept(t, json!({ "embedded": object })).await?["embedded"].clone(),
                    object,
                )
            },
        ),
        case(
            "embedded_metadata_is_pruned",
            "Unknown members of an embedded resource's metadata are dropped.",
            async |t| {
                let object = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": "x", "other": 1 } });
                let spec = kept(t, json!({ "embedded": object })).await?;
                same("metadata", spec["embedded"]["metadata"].clone(), json!({ "name": "x" }))
            },
        ),
        case(
            "embedded_labels_are_checked",
            "Labels of an embedded resource are checked as any labels.",
            async |t| {
                let object = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "labels": { "a b": "c" } } });
                let answer =
                    t.post(&t.gears(""), &gear("a", json!({ "embedded": object }))).await?;
                answer.invalid(&["FieldValueInvalid spec.embedded.metadata.labels"]).map(drop)
            },
        ),
    ]
}

fn updates() -> Vec<Case> {
    vec![
        case(
            "an_update_is_checked",
            "An update that makes an object invalid is refused.",
            async |t| {
                kept(t, json!({})).await?;
                let cause = "FieldValueNotSupported spec.mode: Unsupported value: \"x\": supported values: \"fast\", \
                         \"slow\"";
                refused_for(
                    &t.merge(&t.gears("/a"), json!({ "spec": { "mode": "x" } })).await?,
                    &[cause],
                )
            },
        ),
        case(
            "the_status_is_checked_alone",
            "A write to status is checked by the status' own schema.",
            async |t| {
                kept(t, json!({})).await?;
                let answer =
                    t.merge(&t.gears("/a/status"), json!({ "status": { "phase": 7 } })).await?;
                let cause = "FieldValueTypeInvalid status.phase: Invalid value: \"integer\": phase in body must be of type \
                         string: \"integer\"";
                refused_for(&answer, &[cause])
            },
        ),
        case(
            "the_status_is_pruned",
            "A write to status drops what the schema does not name.",
            async |t| {
                kept(t, json!({})).await?;
                let status = json!({ "status": { "phase": "up", "x": 1 } });
                let patched = t.merge(&t.gears("/a/status"), status).await?.is(200)?;
                same("status", patched["status"].clone(), json!({ "phase": "up" }))
            },
        ),
    ]
}
