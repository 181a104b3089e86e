//! Create, read and replace: what comes back, what is refused, what an equal write does.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = creates();
    cases.extend(replaces());
    cases.extend(equal_writes());
    cases.extend(dry_runs());
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
                let status = answer.says(409, "AlreadyExists", "configmaps \"a\" already exists")?;
                has(&status, json!({ "details": { "name": "a", "kind": "configmaps", "group": null } }))
            },
        ),
        case(
            "errors_name_the_group",
            "Errors about a kind outside the core group name the group, and say `plural.group` in the message.",
            async |t| {
                t.make(&t.leases(""), lease("a", "x")).await?;
                let again = t.post(&t.leases(""), &lease("a", "x")).await?;
                let status =
                    again.says(409, "AlreadyExists", "leases.coordination.k8s.io \"a\" already exists")?;
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
                let absent = json!({ "deletionTimestamp": null, "deletionGracePeriodSeconds": null });
                has(&made, json!({ "metadata": absent }))
            },
        ),
        case(
            "create_in_another_namespace_than_the_path_is_400",
            "A create whose metadata.namespace is not the path's answers 400.",
            async |t| {
                let object = json!({ "metadata": { "name": "a", "namespace": "default" } });
                let why =
                    "the namespace of the provided object does not match the namespace sent on the request";
                t.post(&t.maps(""), &object).await?.says(400, "BadRequest", why)?;
                Ok(())
            },
        ),
        case(
            "create_of_another_kind_is_400",
            "A create whose body says another kind or version answers 400.",
            async |t| {
                let object = json!({ "kind": "Secret", "apiVersion": "v1", "metadata": { "name": "a" } });
                t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
                let object = json!({ "kind": "ConfigMap", "apiVersion": "v2", "metadata": { "name": "a" } });
                t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
                let object =
                    json!({ "kind": "ConfigMap", "apiVersion": "apps/v1", "metadata": { "name": "a" } });
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
                t.post("/api/v1/configmaps", &named("a")).await?.refused(405, "MethodNotAllowed")?;
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
                        .send(http::Method::POST, &t.maps(""), &[("content-type", "application/json")], body)
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
        case("malformed_json_is_400", "A body that is no JSON, or no object, answers 400.", async |t| {
            for body in ["{", "[]", "7", "\"x\"", "{\"metadata\":{\"name\":\"a\"}} x"] {
                let answer = t
                    .send(http::Method::POST, &t.maps(""), &[("content-type", "application/json")], body)
                    .await?;
                answer.refused(400, "BadRequest")?;
            }
            Ok(())
        }),
        case("an_empty_body_is_refused", "A POST with an empty body is refused.", async |t| {
            let answer =
                t.send(http::Method::POST, &t.maps(""), &[("content-type", "application/json")], "").await?;
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
                has(&status, json!({ "details": { "group": "meta.k8s.io", "kind": "CreateOptions" } }))
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
                    .send(http::Method::POST, &t.maps(""), &[("content-type", "application/json")], body)
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
                    .send(http::Method::POST, &t.maps(""), &[("content-type", "application/json")], body)
                    .await?;
                same("warnings", answer.warnings(), ["299 - \"duplicate field \\\"data.k\\\"\""])
            },
        )
        .differs("duplicate keys give no warning: the parser does not tell; the last one counts, as on the real server", async |t| {
            let body = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"one\",\"k\":\"two\"}}";
            let answer =
                t.send(http::Method::POST, &t.maps(""), &[("content-type", "application/json")], body).await?;
            same("warnings", answer.warnings(), Vec::<String>::new())
        }),
        case("null_members_are_absent", "A member that is null is as good as not there.", async |t| {
            let object =
                json!({ "metadata": { "name": "a", "labels": null, "finalizers": null }, "data": null });
            let answer = t.post(&t.maps(""), &object).await?;
            has(
                &answer.is(201)?,
                json!({ "data": null, "metadata": { "labels": null, "finalizers": null } }),
            )?;
            same("warnings", answer.warnings(), Vec::<String>::new())
        }),
        case("bytes_must_be_base64", "binaryData that is not base64 answers 400.", async |t| {
            let object = json!({ "metadata": { "name": "a" }, "binaryData": { "k": "%%" } });
            t.post(&t.maps(""), &object).await?.refused(400, "BadRequest")?;
            let object = json!({ "metadata": { "name": "a" }, "binaryData": { "k": "aGVsbG8=" } });
            has(&t.post(&t.maps(""), &object).await?.is(201)?, json!({ "binaryData": { "k": "aGVsbG8=" } }))
        }),
        case(
            "too_large_a_map_is_422",
            "A ConfigMap whose values exceed 1 MiB in all answers 422 FieldValueTooLong; keys do not count.",
            async |t| {
                let big = "x".repeat(1024 * 1024);
                t.post(&t.maps(""), &map("a", &format!("{big}x"))).await?.invalid(&["FieldValueTooLong []"])?;
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

fn replaces() -> Vec<Case> {
    vec![
        case(
            "replace_needs_the_name_of_the_path",
            "A PUT whose body has another name than the path, or none, answers 400.",
            async |t| {
                t.map("a", "v").await?;
                let why = "the name of the object (b) does not match the name on the URL (a)";
                t.put(&t.maps("/a"), &map("b", "v")).await?.says(400, "BadRequest", why)?;
                t.put(&t.maps("/a"), &json!({ "metadata": {} })).await?.says(
                    400,
                    "BadRequest",
                    "name must be provided",
                )?;
                Ok(())
            },
        ),
        case(
            "replace_in_another_namespace_is_400",
            "A PUT whose metadata.namespace is not the path's answers 400.",
            async |t| {
                t.map("a", "v").await?;
                let object = json!({ "metadata": { "name": "a", "namespace": "default" } });
                t.put(&t.maps("/a"), &object).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "replace_takes_everything_away_that_it_does_not_say",
            "A PUT replaces the object: labels and data that it does not hold are gone; uid and creation time stay.",
            async |t| {
                let made = t.labelled("a", "l", "1").await?;
                let put = t.put(&t.maps("/a"), &named("a")).await?.is(200)?;
                let kept = json!({ "uid": text(&made, "/metadata/uid"), "creationTimestamp": text(&made, "/metadata/creationTimestamp"), "labels": null });
                has(&put, json!({ "data": null, "metadata": kept }))?;
                holds("the version is newer", number(&put) > number(&made))
            },
        ),
        case(
            "replace_of_a_stale_version_is_409",
            "A PUT with a resourceVersion that is not the current one answers 409 Conflict.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                let answer = t.put(&t.maps("/a"), &made).await?;
                let why = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again";
                let status = answer.says(409, "Conflict", why)?;
                has(&status, json!({ "details": { "name": "a", "kind": "configmaps" } }))
            },
        ),
        case(
            "replace_of_a_future_version_is_409",
            "A PUT with a resourceVersion from the future answers 409 Conflict.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                made["metadata"]["resourceVersion"] = "9999999999".into();
                t.put(&t.maps("/a"), &made).await?.refused(409, "Conflict")?;
                Ok(())
            },
        ),
        case(
            "replace_without_a_version_overwrites",
            "A PUT without resourceVersion, or with \"0\", overwrites a ConfigMap, Secret, Pod's like unconditionally.",
            async |t| {
                t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                has(&t.put(&t.maps("/a"), &map("a", "x")).await?.is(200)?, json!({ "data": { "k": "x" } }))?;
                let mut zero = map("a", "y");
                zero["metadata"]["resourceVersion"] = "0".into();
                has(&t.put(&t.maps("/a"), &zero).await?.is(200)?, json!({ "data": { "k": "y" } }))
            },
        ),
        case(
            "replace_of_a_lease_needs_a_version",
            "A PUT of a Lease without resourceVersion answers 422 Invalid.",
            async |t| {
                t.make(&t.leases(""), lease("a", "x")).await?;
                t.put(&t.leases("/a"), &lease("a", "y"))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.resourceVersion"])?;
                Ok(())
            },
        ),
        case(
            "replace_of_a_custom_object_needs_a_version",
            "A PUT of a custom object without resourceVersion answers 422 Invalid.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let status = t
                    .put(&t.widgets("/a"), &widget("a", json!({})))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.resourceVersion"])?;
                let message = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
                holds("the message says so", text(&status, "/message").contains(message))
                    .map_err(|why| format!("{why}: {status}"))
            },
        ),
        case(
            "replace_with_a_foreign_uid_is_409",
            "A PUT with another uid than the object's answers 409 Conflict.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                let uid = text(&made, "/metadata/uid").to_owned();
                made["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
                let why = format!(
                    "Precondition failed: UID in precondition: 00000000-0000-0000-0000-000000000000, UID in object meta: {uid}"
                );
                t.put(&t.maps("/a"), &made).await?.says(409, "Conflict", &why)?;
                Ok(())
            },
        ),
        case(
            "replace_of_a_missing_object_is_404",
            "A PUT of a missing object answers 404 for most kinds.",
            async |t| {
                t.put(&t.maps("/a"), &map("a", "v")).await?.refused(404, "NotFound")?;
                t.put(&t.core("secrets", "/a"), &named("a")).await?.refused(404, "NotFound")?;
                t.put(&t.claims("/a"), &claim("a", &t.class)).await?.refused(404, "NotFound")?;
                t.put(&t.core("pods", "/a"), &pod("a")).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "replace_of_a_missing_custom_object_is_404",
            "A PUT of a missing custom object answers 404.",
            async |t| {
                t.put(&t.widgets("/a"), &widget("a", json!({}))).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "replace_creates_a_lease",
            "A PUT of a missing Lease creates it: 201, even with a resourceVersion.",
            async |t| {
                let mut object = lease("a", "x");
                object["metadata"]["resourceVersion"] = "1".into();
                let made = t.put(&t.leases("/a"), &object).await?.is(201)?;
                holds("the version is the server's", version(&made) != "1")?;
                t.put(&t.leases("/b"), &lease("b", "x")).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "replace_creates_a_service_and_an_event",
            "A PUT of a missing Service or Event creates it: 201.",
            async |t| {
                t.put(&t.core("services", "/a"), &service("a")).await?.is(201)?;
                t.put(&t.core("events", "/a"), &old_event("a", &t.namespace)).await?.is(201)?;
                t.put(&t.new_events("/b"), &new_event("b", &t.namespace)).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "replace_of_a_missing_lease_with_a_uid_is_409",
            "A PUT of a missing Lease with a uid answers 409 Conflict.",
            async |t| {
                let mut object = lease("a", "x");
                object["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
                t.put(&t.leases("/a"), &object).await?.says(409, "Conflict", "UID in object meta: ")?;
                Ok(())
            },
        ),
        case(
            "replace_with_a_version_that_is_no_number_is_500",
            "A PUT with a resourceVersion that is no number answers 500 without a reason.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                made["metadata"]["resourceVersion"] = "x".into();
                t.put(&t.maps("/a"), &made).await?.refused(500, "")?;
                Ok(())
            },
        ),
        case(
            "replace_cannot_change_the_creation_time",
            "A PUT with another creationTimestamp or generation keeps what the object has.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut changed = made.clone();
                changed["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
                changed["metadata"]["generation"] = 7.into();
                let put = t.put(&t.maps("/a"), &changed).await?.is(200)?;
                has(
                    &put,
                    json!({ "metadata": { "creationTimestamp": text(&made, "/metadata/creationTimestamp") } }),
                )?;
                same("version", version(&put), version(&made))
            },
        ),
        case(
            "replace_cannot_set_a_deletion_time",
            "A PUT with a deletionTimestamp on an object that is not being deleted does not begin a deletion.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                made["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
                t.put(&t.maps("/a"), &made)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.deletionTimestamp"])?;
                Ok(())
            },
        ),
        case(
            "of_two_replaces_from_one_version_one_wins",
            "Of two PUTs from the same resourceVersion exactly one is applied, the other answers 409.",
            async |t| {
                let made = t.map("a", "v").await?;
                let (mut one, mut two) = (made.clone(), made);
                one["data"]["k"] = "one".into();
                two["data"]["k"] = "two".into();
                let path = t.maps("/a");
                let (one, two) = futures::join!(t.put(&path, &one), t.put(&path, &two));
                let mut codes = [one?.code, two?.code];
                codes.sort_unstable();
                same("codes", codes, [200, 409])
            },
        ),
    ]
}

fn equal_writes() -> Vec<Case> {
    vec![
        case(
            "an_equal_replace_changes_nothing",
            "A PUT that changes nothing answers 200 with the same resourceVersion.",
            async |t| {
                let made = t.map("a", "v").await?;
                let put = t.put(&t.maps("/a"), &made).await?.is(200)?;
                same("version", version(&put), version(&made))
            },
        ),
        case(
            "an_equal_patch_changes_nothing",
            "A merge patch and a JSON patch that change nothing keep the resourceVersion.",
            async |t| {
                let made = t.map("a", "v").await?;
                let merged = t.merge(&t.maps("/a"), json!({ "data": { "k": "v" } })).await?.is(200)?;
                same("version", version(&merged), version(&made))?;
                let patch = json!([{ "op": "replace", "path": "/data/k", "value": "v" }]);
                let patched = t.json_patch(&t.maps("/a"), patch).await?.is(200)?;
                same("version", version(&patched), version(&made))
            },
        ),
        case(
            "an_equal_write_makes_no_event",
            "A write that changes nothing is not seen by a watch.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut watch = t.watch(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?;
                t.put(&t.maps("/a"), &made).await?.is(200)?;
                t.map("b", "v").await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "an_equal_write_of_a_lease_keeps_its_version",
            "A PUT of a Lease with the same times changes nothing.",
            async |t| {
                let made = t.make(&t.leases(""), lease("a", "x")).await?;
                let put = t.put(&t.leases("/a"), &made).await?.is(200)?;
                same("version", version(&put), version(&made))
            },
        ),
        case(
            "an_equal_write_of_a_custom_object_keeps_version_and_generation",
            "A PUT of a custom object that changes nothing keeps resourceVersion and generation.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({ "n": 1 }))).await?;
                let put = t.put(&t.widgets("/a"), &made).await?.is(200)?;
                same("version", version(&put), version(&made))?;
                has(&put, json!({ "metadata": { "generation": 1 } }))
            },
        ),
        case(
            "a_write_that_takes_nothing_away_is_equal",
            "Removing a label or an annotation that is not there changes nothing.",
            async |t| {
                let made = t.map("a", "v").await?;
                let patch = json!({ "metadata": { "labels": { "x": null }, "annotations": { "y": null } } });
                let patched = t.merge(&t.maps("/a"), patch).await?.is(200)?;
                same("version", version(&patched), version(&made))
            },
        ),
        case(
            "empty_maps_and_lists_are_absent_ones",
            "Writing empty labels, annotations or finalizers changes nothing on an object without them.",
            async |t| {
                let made = t.map("a", "v").await?;
                let patch = json!({ "metadata": { "labels": {}, "annotations": {}, "finalizers": [] } });
                let patched = t.merge(&t.maps("/a"), patch).await?.is(200)?;
                same("version", version(&patched), version(&made))
            },
        ),
    ]
}

fn dry_runs() -> Vec<Case> {
    vec![
        case(
            "a_dry_run_create_answers_and_stores_nothing",
            "A create with dryRun=All answers 201 with an object without resourceVersion, and stores nothing.",
            async |t| {
                let made = t.post(&t.maps("?dryRun=All"), &map("a", "v")).await?.is(201)?;
                has(&made, json!({ "metadata": { "uid": "*", "resourceVersion": null } }))?;
                t.get(&t.maps("/a")).await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "a_dry_run_update_answers_and_stores_nothing",
            "A PUT or PATCH with dryRun=All answers with the change and stores nothing.",
            async |t| {
                let made = t.map("a", "v").await?;
                let put = t.put(&t.maps("/a?dryRun=All"), &map("a", "w")).await?.is(200)?;
                has(
                    &put,
                    json!({ "data": { "k": "w" }, "metadata": { "resourceVersion": version(&made) } }),
                )?;
                let patched =
                    t.merge(&t.maps("/a?dryRun=All"), json!({ "data": { "k": "x" } })).await?.is(200)?;
                has(
                    &patched,
                    json!({ "data": { "k": "x" }, "metadata": { "resourceVersion": version(&made) } }),
                )?;
                has(&t.get(&t.maps("/a")).await?.is(200)?, json!({ "data": { "k": "v" } }))
            },
        ),
        case(
            "a_dry_run_still_refuses",
            "A dry run refuses what the write would: existing names, stale versions, invalid objects.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                t.post(&t.maps("?dryRun=All"), &map("a", "v")).await?.refused(409, "AlreadyExists")?;
                made["metadata"]["resourceVersion"] = "1".into();
                t.put(&t.maps("/a?dryRun=All"), &made).await?.refused(409, "Conflict")?;
                t.post(&t.maps("?dryRun=All"), &map("A_", "v")).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case("another_dry_run_is_422", "dryRun of another value than All answers 422 Invalid.", async |t| {
            t.post(&t.maps("?dryRun=Some"), &named("a"))
                .await?
                .invalid(&["FieldValueNotSupported dryRun"])?;
            Ok(())
        }),
    ]
}
