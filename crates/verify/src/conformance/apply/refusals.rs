//! What an apply is refused for, and the forms of its body.

use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::apply::configurations::*;
use crate::conformance::target::APPLY;
use crate::conformance::{Case, case};

pub(super) fn refusals() -> Vec<Case> {
    vec![
        case(
            "apply_without_a_manager_is_422",
            "An apply without a fieldManager answers 422 with the required option as its cause.",
            async |t| {
                let answer = t.patch(&t.maps("/a"), APPLY, &map(json!({}))).await?;
                let status = answer.invalid(&["FieldValueRequired fieldManager"])?;
                has(
                    &status,
                    json!({ "details": { "group": "meta.k8s.io", "kind": "PatchOptions" } }),
                )
            },
        ),
        case(
            "a_manager_of_129_bytes_is_422",
            "A fieldManager of more than 128 bytes answers 422.",
            async |t| {
                let answer = apply(t, &"m".repeat(129), &map(json!({}))).await?;
                answer.invalid(&["FieldValueTooLong fieldManager"]).map(drop)
            },
        ),
        case(
            "another_name_is_400",
            "An apply whose name is not the path's answers 400.",
            async |t| {
                let answer = apply(t, "m", &with(json!({ "name": "b" }))).await?;
                let message = "the name of the object (b) does not match the name on the URL (a)";
                answer.says(400, "BadRequest", message).map(drop)
            },
        ),
        case(
            "no_name_is_400",
            "An apply of a missing object without a name answers 400.",
            async |t| {
                let object = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
                apply(t, "m", &object)
                    .await?
                    .says(400, "BadRequest", "name must be provided")
                    .map(drop)
            },
        ),
        case(
            "an_existing_object_needs_no_name",
            "An apply to an object that is there may leave its name out.",
            async |t| {
                t.map("a", "v").await?;
                let object =
                    json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "l": "w" } });
                has(
                    &apply(t, "m", &object).await?.is(200)?,
                    json!({ "data": { "k": "v", "l": "w" } }),
                )
            },
        ),
        case(
            "another_namespace_is_400",
            "An apply whose namespace is not the path's answers 400.",
            async |t| {
                let answer = apply(t, "m", &with(json!({ "namespace": "default" }))).await?;
                answer
                    .says(400, "BadRequest", "does not match the namespace sent on the request")
                    .map(drop)
            },
        ),
        case(
            "what_is_something_else_is_400",
            "An apply of another kind, or of none, answers 400 and names what came.",
            async |t| {
                let mut object = map(json!({}));
                object["kind"] = "Secret".into();
                apply(t, "m", &object).await?.says(
                    400,
                    "BadRequest",
                    "invalid object type: /v1, Kind=Secret",
                )?;
                let object = json!({ "metadata": { "name": "a" } });
                let answer = apply(t, "m", &object).await?;
                answer.says(400, "BadRequest", "invalid object type: /, Kind=").map(drop)
            },
        ),
        case(
            "another_version_is_400",
            "An apply in another apiVersion than the path's answers 400.",
            async |t| {
                let mut object = map(json!({}));
                object["apiVersion"] = "apps/v1".into();
                let answer = apply(t, "m", &object).await?;
                answer
                    .says(400, "BadRequest", "invalid object type: apps/v1, Kind=ConfigMap")
                    .map(drop)
            },
        ),
        case(
            "sent_owners_are_400",
            "An apply with managedFields, even with none in them, answers 400.",
            async |t| {
                let answer = apply(t, "m", &with(json!({ "managedFields": [] }))).await?;
                answer.says(400, "BadRequest", "metadata.managedFields must be nil").map(drop)
            },
        ),
        case(
            "an_unknown_field_is_500",
            "An apply of a field that the schema has not answers 500 without a reason, even with fieldValidation=Ignore.",
            async |t| {
                let mut object = map(json!({}));
                object["foo"] = 1.into();
                let message = "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .foo: field not declared in \
                               schema";
                let answer = apply(t, "m", &object).await?;
                same("message", text(&answer.refused(500, "")?, "/message"), message)?;
                let path = t.maps("/a?fieldManager=m&fieldValidation=Ignore");
                t.patch(&path, APPLY, &object).await?.refused(500, "").map(drop)
            },
        ),
        case(
            "a_wrong_type_is_500",
            "An apply of a wrong type answers 500 and names the field.",
            async |t| {
                let status = apply(t, "m", &map(json!({ "k": 1 }))).await?.refused(500, "")?;
                let message = "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string";
                holds(message, text(&status, "/message").starts_with(message))
            },
        ),
        case(
            "several_wrong_types_are_all_told",
            "An apply of several wrong types names each.",
            async |t| {
                let mut object = map(json!({ "k": "v" }));
                object["immutable"] = "yes".into();
                object["metadata"]["generation"] = "one".into();
                let status = apply(t, "m", &object).await?.refused(500, "")?;
                let message = text(&status, "/message");
                let told = [
                    ".immutable: expected boolean",
                    ".metadata.generation: expected numeric (int or float)",
                ];
                holds("both are told", told.iter().all(|told| message.contains(told)))
            },
        ),
        case(
            "an_invalid_object_is_422",
            "An apply that makes an invalid object answers 422 with causes.",
            async |t| {
                let answer = apply(t, "m", &with(json!({ "labels": { "a b": "c" } }))).await?;
                answer.invalid(&["FieldValueInvalid metadata.labels"]).map(drop)
            },
        ),
        case(
            "a_uid_of_nothing_is_409",
            "An apply with a uid of an object that is not there answers 409.",
            async |t| {
                let answer = apply(t, "m", &with(json!({ "uid": "abc" }))).await?;
                answer
                    .says(409, "Conflict", "uid mismatch: the provided object specified uid abc")
                    .map(drop)
            },
        ),
        case(
            "another_uid_is_422",
            "An apply with another uid than the object's answers 422.",
            async |t| {
                t.map("a", "v").await?;
                let answer = apply(t, "m", &with(json!({ "uid": "abc" }))).await?;
                answer.invalid(&["FieldValueInvalid metadata.uid"]).map(drop)
            },
        ),
        case(
            "a_missing_namespace_is_404",
            "An apply in a namespace that is not there answers 404.",
            async |t| {
                let path = "/api/v1/namespaces/nowhere/configmaps/a?fieldManager=m";
                let status =
                    t.patch(path, APPLY, &map(json!({}))).await?.refused(404, "NotFound")?;
                has(&status, json!({ "details": { "kind": "namespaces", "name": "nowhere" } }))
            },
        ),
        case(
            "cbor_is_415",
            "An apply in CBOR answers 415: it is switched off by default.",
            async |t| {
                let media = "application/apply-patch+cbor";
                let answer = t.patch(&t.maps("/a?fieldManager=m"), media, &map(json!({}))).await?;
                answer.says(415, "UnsupportedMediaType", "415: Unsupported Media Type").map(drop)
            },
        ),
    ]
}

pub(super) fn bodies() -> Vec<Case> {
    const MEDIA: [(&str, &str); 1] = [("content-type", APPLY)];
    vec![
        case("yaml_is_applied", "The body of an apply may be YAML.", async |t| {
            let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: \"1\"\n  l: |\n    x\n    y\n";
            let made =
                t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?.is(201)?;
            same("data", made["data"].clone(), json!({ "k": "1", "l": "x\ny\n" }))
        }),
        case("what_is_no_yaml_is_400", "A body that is no YAML answers 400.", async |t| {
            for body in ["{", "a: b: c", "\"x"] {
                let answer =
                    t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?;
                answer.says(
                    400,
                    "BadRequest",
                    "error decoding YAML: error converting YAML to JSON: yaml: ",
                )?;
            }
            Ok(())
        }),
        case(
            "a_body_that_is_no_object_is_400",
            "A body that is a list, a text or a number answers 400.",
            async |t| {
                for (body, sort) in [("[]", "array"), ("\"x\"", "string"), ("5", "number")] {
                    let answer =
                        t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?;
                    let message = format!(
                        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {sort} into \
                     Go value of type map[string]interface {{}}"
                    );
                    same(
                        "message",
                        text(&answer.refused(400, "BadRequest")?, "/message"),
                        &*message,
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "an_empty_body_is_no_object",
            "An empty body, or null, answers 400: it is of no kind.",
            async |t| {
                for body in ["", "null"] {
                    let answer =
                        t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?;
                    answer.says(400, "BadRequest", "invalid object type: /, Kind=")?;
                }
                Ok(())
            },
        ),
        case(
            "a_member_said_twice_gives_a_warning",
            "A member that is said twice counts the second time, and gives a warning; with fieldValidation=Strict, 400.",
            async |t| {
                let body = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\n\"data\":{\"k\":\"1\",\
                            \"k\":\"2\"}}";
                let strict = t.maps("/a?fieldManager=m&fieldValidation=Strict");
                let answer = t.send(Method::PATCH, &strict, &MEDIA, body).await?;
                answer.says(400, "BadRequest", "error strict decoding YAML: ")?;
                answer.says(400, "BadRequest", "key \"k\" already set in map")?;
                let made =
                    t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?;
                same(
                    "warnings",
                    made.warnings(),
                    vec!["299 - \"line 2: key \\\"k\\\" already set in map\"".to_owned()],
                )?;
                has(&made.is(201)?, json!({ "data": { "k": "2" } }))
            },
        ),
    ]
}
