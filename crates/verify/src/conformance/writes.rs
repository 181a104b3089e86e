//! Creates: what comes back, and what is refused.

mod quiet;
mod replaces;

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = creates();
    cases.extend(replaces::cases());
    cases.extend(quiet::equal_writes());
    cases.extend(quiet::dry_runs());
    cases
}

fn creates() -> Vec<Case> {
    vec![
        case(
            "create_answers_201_and_the_object",
            "A create answers 201 with the object, its uid, creation time and resource version.",
            async |t| {
                let made = t.post(&t.maps(""), &map("a", "v")).await?.is(201)?;
                let metadata = json!({
                    "name": "a", "namespace": t.namespace, "uid": "*", "resourceVersion": "*",
                    "creationTimestamp": "*", "generation": null, "selfLink": null,
                });
                has(
                    &made,
                    json!({ "kind": "ConfigMap", "apiVersion": "v1", "data": { "k": "v" }, "metadata": metadata }),
                )
            },
        ),
        case(
            "create_of_an_existing_name_is_409",
            "A create of a name that exists answers 409 AlreadyExists and names plural and object.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t.post(&t.maps(""), &map("a", "w")).await?;
                let status =
                    answer.says(409, "AlreadyExists", "configmaps \"a\" already exists")?;
                has(
                    &status,
                    json!({ "details": { "name": "a", "kind": "configmaps", "group": null } }),
                )
            },
        ),
        case(
            "errors_name_the_group",
            "Errors about a kind outside the core group name the group, and say `plural.group` in the message.",
            async |t| {
                t.make(&t.leases(""), lease("a", "x")).await?;
                let again = t.post(&t.leases(""), &lease("a", "x")).await?;
                let status = again.says(
                    409,
                    "AlreadyExists",
                    "leases.coordination.k8s.io \"a\" already exists",
                )?;
                has(
                    &status,
                    json!({ "details": { "name": "a", "kind": "leases", "group": "coordination.k8s.io" } }),
                )
            },
        ),
        case(
            "get_of_a_missing_object_is_404",
            "A get of a missing object answers 404 NotFound with plural, name and group in the details.",
            async |t| {
                let status = t.get(&t.leases("/a")).await?.says(
                    404,
                    "NotFound",
                    "leases.coordination.k8s.io \"a\" not found",
                )?;
                has(
                    &status,
                    json!({ "details": { "name": "a", "kind": "leases", "group": "coordination.k8s.io" } }),
                )
            },
        ),
        case(
            "create_with_a_resource_version_is_500",
            "A create that carries a resourceVersion answers 500 without a reason.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "resourceVersion": "1" } });
                t.post(&t.maps(""), &object).await?.says(
                    500,
                    "",
                    "resourceVersion should not be set on objects to be created",
                )?;
                Ok(())
            },
        ),
        case(
            "create_with_resource_version_zero_is_fine",
            "A create with resourceVersion \"0\" is an ordinary create.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "resourceVersion": "0" } });
                t.post(&t.maps(""), &object).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "create_ignores_system_metadata",
            "uid, creationTimestamp, deletionTimestamp, generation and selfLink of a create are replaced silently.",
            async |t| {
                let object = json!({ "metadata": {
                    "name": "a", "uid": "00000000-0000-0000-0000-000000000000", "creationTimestamp": "2001-01-01T00:00:00Z",
                    "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 7, "generation": 9,
                    "selfLink": "/x",
                } });
                let made = t.make(&t.maps(""), object).await?;
                holds(
                    "the uid is new",
                    text(&made, "/metadata/uid") != "00000000-0000-0000-0000-000000000000",
                )?;
                holds(
                    "the creation is now",
                    !text(&made, "/metadata/creationTimestamp").starts_with("2001"),
                )?;
                let absent =
                    json!({ "deletionTimestamp": null, "deletionGracePeriodSeconds": null });
                has(&made, json!({ "metadata": absent }))
            },
        ),
        case(
            "create_in_another_namespace_than_the_path_is_400",
            "A create whose metadata.namespace is not the path's answers 400.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "namespace": "default" } });
                let why = "the namespace of the provided object does not match the namespace sent on the request";
                t.post(&t.maps(""), &object).await?.says(400, "BadRequest", why)?;
                Ok(())
            },
        ),
        case(
            "create_of_another_kind_is_400",
            "A create whose body says another kind or version answers 400.",
            async |t| {
                let object =
                    json!({ "kind": "Secret", "apiVersion": "v1", "metadata": { "name": "a" } });
                t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
                let object =
                    json!({ "kind": "ConfigMap", "apiVersion": "v2", "metadata": { "name": "a" } });
                t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
                let object = json!({ "kind": "ConfigMap", "apiVersion": "apps/v1", "metadata": { "name": "a" } });
                t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "create_of_a_custom_kind_needs_type_members",
            "A create of a custom kind without kind or apiVersion in the body answers 400; built-in kinds do without.",
            async |t| {
                t.post(&t.widgets(""), &json!({ "metadata": { "name": "a" } }))
                    .await?
                    .refused(400, "BadRequest")?;
                let object = json!({ "kind": "Widget", "metadata": { "name": "a" } });
                t.post(&t.widgets(""), &object).await?.refused(400, "BadRequest")?;
                t.post(&t.maps(""), &named("a")).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "create_outside_a_namespace_is_405",
            "A POST to the all-namespaces path of a namespaced kind answers 405.",
            async |t| {
                t.post("/api/v1/configmaps", &named("a"))
                    .await?
                    .refused(405, "MethodNotAllowed")?;
                Ok(())
            },
        ),
        case(
            "post_to_an_object_is_405",
            "A POST to an object's own path answers 405, and PUT, PATCH to a collection too.",
            async |t| {
                t.map("a", "v").await?;
                t.post(&t.maps("/a"), &map("a", "v")).await?.refused(405, "MethodNotAllowed")?;
                t.put(&t.maps(""), &map("a", "v")).await?.refused(405, "MethodNotAllowed")?;
                t.merge(&t.maps(""), json!({})).await?.refused(405, "MethodNotAllowed")?;
                Ok(())
            },
        ),
        case(
            "bodies_without_an_object_name_are_422",
            "A POST of `{}` or `null` answers 422: a name is required.",
            async |t| {
                for body in ["{}", "null"] {
                    let answer = t
                        .send(
                            http::Method::POST,
                            &t.maps(""),
                            &[("content-type", "application/json")],
                            body,
                        )
                        .await?;
                    let status = answer.invalid(&["FieldValueRequired metadata.name"])?;
                    same(
                        "message",
                        text(&status, "/message"),
                        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "malformed_json_is_400",
            "A body that is no JSON, or no object, answers 400.",
            async |t| {
                for body in ["{", "[]", "7", "\"x\"", "{\"metadata\":{\"name\":\"a\"}} x"] {
                    let answer = t
                        .send(
                            http::Method::POST,
                            &t.maps(""),
                            &[("content-type", "application/json")],
                            body,
                        )
                        .await?;
                    answer.refused(400, "BadRequest")?;
                }
                Ok(())
            },
        ),
        case("an_empty_body_is_refused", "A POST with an empty body is refused.", async |t| {
            let answer = t
                .send(http::Method::POST, &t.maps(""), &[("content-type", "application/json")], "")
                .await?;
            answer.refused(400, "BadRequest")?;
            Ok(())
        }),
        case(
            "wrong_types_are_400",
            "A member of the wrong type answers 400 and says which kind could not be handled.",
            async |t| {
                let object = json!({ "metadata": { "name": "a" }, "data": { "k": 7 } });
                t.post(&t.maps(""), &object).await?.says(
                    400,
                    "BadRequest",
                    "cannot be handled as a ConfigMap",
                )?;
                let object = json!({ "metadata": { "name": "a", "labels": "x" } });
                t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
                let object = json!({ "metadata": { "name": 7 } });
                t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "wrong_types_of_metadata_are_400_for_custom_kinds",
            "Labels that are no texts answer 400 for a custom kind too.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["labels"] = json!({ "k": 7 });
                t.post(&t.widgets(""), &object).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "unknown_members_are_dropped_with_a_warning",
            "A member that a built-in kind does not have is dropped, and said in a Warning header.",
            async |t| {
                let object = json!({ "metadata": { "name": "a" }, "wrong": 1 });
                let answer = t.post(&t.maps(""), &object).await?;
                has(&answer.is(201)?, json!({ "wrong": null }))?;
                same("warnings", answer.warnings(), ["299 - \"unknown field \\\"wrong\\\"\""])
            },
        ),
        case(
            "field_validation_strict_refuses_unknown_members",
            "With fieldValidation=Strict an unknown member answers 400 with a strict decoding error.",
            async |t| {
                let object = json!({ "metadata": { "name": "a" }, "wrong": 1 });
                let answer = t.post(&t.maps("?fieldValidation=Strict"), &object).await?;
                answer.says(400, "BadRequest", "strict decoding error: unknown field \"wrong\"")?;
                t.get(&t.maps("/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "field_validation_ignore_says_nothing",
            "With fieldValidation=Ignore an unknown member is dropped without a word.",
            async |t| {
                let object = json!({ "metadata": { "name": "a" }, "wrong": 1 });
                let answer = t.post(&t.maps("?fieldValidation=Ignore"), &object).await?;
                answer.is(201)?;
                same("warnings", answer.warnings(), Vec::<String>::new())
            },
        ),
        case(
            "field_validation_of_another_word_is_422",
            "fieldValidation of another value answers 422 Invalid about CreateOptions.",
            async |t| {
                let status = t
                    .post(&t.maps("?fieldValidation=Maybe"), &named("a"))
                    .await?
                    .invalid(&["FieldValueNotSupported fieldValidation"])?;
                has(
                    &status,
                    json!({ "details": { "group": "meta.k8s.io", "kind": "CreateOptions" } }),
                )
            },
        ),
        case(
            "field_validation_strict_of_an_update_is_400",
            "A PUT with an unknown member answers 400 under fieldValidation=Strict.",
            async |t| {
                t.map("a", "v").await?;
                let object = json!({ "metadata": { "name": "a" }, "wrong": 1 });
                t.put(&t.maps("/a?fieldValidation=Strict"), &object).await?.says(
                    400,
                    "BadRequest",
                    "strict decoding error",
                )?;
                Ok(())
            },
        ),
        case(
            "duplicate_keys_take_the_last_value",
            "Of a JSON member that comes twice, the last one counts.",
            async |t| {
                let body = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"one\",\"k\":\"two\"}}";
                let answer = t
                    .send(
                        http::Method::POST,
                        &t.maps(""),
                        &[("content-type", "application/json")],
                        body,
                    )
                    .await?;
                has(&answer.is(201)?, json!({ "data": { "k": "two" } }))
            },
        ),
        case(
            "duplicate_keys_are_said_in_a_warning",
            "A JSON member that comes twice is said in a Warning header.",
            async |t| {
                let body = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"one\",\"k\":\"two\"}}";
                let answer = t
                    .send(
                        http::Method::POST,
                        &t.maps(""),
                        &[("content-type", "application/json")],
                        body,
                    )
                    .await?;
                same("warnings", answer.warnings(), ["299 - \"duplicate field \\\"data.k\\\"\""])
            },
        ),
        case(
            "field_validation_strict_refuses_duplicate_keys",
            "With fieldValidation=Strict a JSON member that comes twice answers 400, each said once.",
            async |t| {
                let body = r#"{"metadata":{"name":"a","labels":{"a":"b","a":"c"}},"data":{"k":"1","k":"2","k":"3"},"data":{"x":"y"},"w":1}"#;
                let headers = [("content-type", "application/json")];
                let answer = t
                    .send(http::Method::POST, &t.maps("?fieldValidation=Strict"), &headers, body)
                    .await?;
                let duplicates = r#"duplicate field "metadata.labels.a", duplicate field "data.k", duplicate field "data", unknown field "w""#;
                answer.says(400, "BadRequest", &format!("strict decoding error: {duplicates}"))?;
                Ok(())
            },
        ),
        case(
            "null_members_are_absent",
            "A member that is null is as good as not there.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "labels": null, "finalizers": null }, "data": null });
                let answer = t.post(&t.maps(""), &object).await?;
                has(
                    &answer.is(201)?,
                    json!({ "data": null, "metadata": { "labels": null, "finalizers": null } }),
                )?;
                same("warnings", answer.warnings(), Vec::<String>::new())
            },
        ),
        case("bytes_must_be_base64", "binaryData that is not base64 answers 400.", async |t| {
            let object = json!({ "metadata": { "name": "a" }, "binaryData": { "k": "%%" } });
            t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
            let object = json!({ "metadata": { "name": "a" }, "binaryData": { "k": "aGVsbG8=" } });
            has(
                &t.post(&t.maps(""), &object).await?.is(201)?,
                json!({ "binaryData": { "k": "aGVsbG8=" } }),
            )
        }),
        case(
            "too_large_a_map_is_422",
            "A ConfigMap whose values exceed 1 MiB in all answers 422 FieldValueTooLong; keys do not count.",
            async |t| {
                let big = "x".repeat(1024 * 1024);
                t.post(&t.maps(""), &map("a", &format!("{big}x")))
                    .await?
                    .invalid(&["FieldValueTooLong []"])?;
                t.post(&t.maps(""), &map("a", &big)).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "too_large_a_body_is_413",
            "A body of more than 3 MiB answers 413 RequestEntityTooLarge.",
            async |t| {
                let big = "x".repeat(3 * 1024 * 1024);
                t.post(&t.maps(""), &map("a", &big)).await?.says(
                    413,
                    "RequestEntityTooLarge",
                    "limit is 3145728",
                )?;
                Ok(())
            },
        ),
        case(
            "too_large_an_object_is_500",
            "A custom object that etcd does not take answers 500: etcdserver: request is too large.",
            async |t| {
                let big = "x".repeat(2_000_000);
                let answer = t.post(&t.widgets(""), &widget("a", json!({ "k": big }))).await?;
                answer.says(500, "", "etcdserver: request is too large")?;
                Ok(())
            },
        ),
    ]
}
