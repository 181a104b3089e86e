//! Names and paths: which names each kind takes, generateName, what odd paths answer.

use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of_objects();
    cases.extend(of_paths());
    cases
}

fn of_objects() -> Vec<Case> {
    vec![
        case(
            "names_are_subdomains",
            "A name that is no lower-case DNS subdomain answers 422 about metadata.name.",
            async |t| {
                for name in ["A", "a_b", "-a", "a-", "a..b", ".a", "a b", "ä"] {
                    t.post(&t.maps(""), &named(name))
                        .await?
                        .invalid(&["FieldValueInvalid metadata.name"])?;
                }
                for name in ["a.b", "1", "a-b.c", "a1"] {
                    t.post(&t.maps(""), &named(name)).await?.is(201)?;
                }
                Ok(())
            },
        ),
        case(
            "names_message_is_gos",
            "The message about a wrong name gives the rule, an example and the expression.",
            async |t| {
                let status = t.post(&t.maps(""), &named("A")).await?.refused(422, "Invalid")?;
                same(
                    "message",
                    text(&status, "/message"),
                    "ConfigMap \"A\" is invalid: metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                )
            },
        ),
        case(
            "names_have_at_most_253_characters",
            "A name of 253 characters is fine, one of 254 answers 422.",
            async |t| {
                let long = "a".repeat(253);
                t.post(&t.maps(""), &named(&long)).await?.is(201)?;
                t.post(&t.maps(""), &named(&format!("{long}a")))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.name"])?;
                Ok(())
            },
        ),
        case(
            "names_of_custom_objects_are_subdomains",
            "A custom object's name is a DNS subdomain too.",
            async |t| {
                t.post(&t.widgets(""), &widget("A", json!({})))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.name"])?;
                t.post(&t.widgets(""), &widget("a.b", json!({}))).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "names_of_namespaces_are_labels",
            "A Namespace's name is a DNS label: no dots, at most 63 characters.",
            async |t| {
                t.post("/api/v1/namespaces", &named("a.b"))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.name"])?;
                t.post("/api/v1/namespaces", &named(&"a".repeat(64))).await?.invalid(&[
                    "FieldValueInvalid metadata.name",
                    "FieldValueInvalid metadata.labels",
                ])?;
                Ok(())
            },
        ),
        case("names_of_services_are_labels", "A Service's name is a DNS label.", async |t| {
            t.post(&t.core("services", ""), &service("a.b"))
                .await?
                .invalid(&["FieldValueInvalid metadata.name"])?;
            Ok(())
        }),
        case(
            "names_of_services_may_begin_with_a_digit",
            "A Service's name may begin with a digit.",
            async |t| {
                t.post(&t.core("services", ""), &service("1a")).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "names_of_pods_and_leases_may_have_dots",
            "Names of Pods, Leases, claims and ServiceAccounts may have dots.",
            async |t| {
                t.post(&t.core("pods", ""), &pod("a.b")).await?.is(201)?;
                t.post(&t.leases(""), &lease("a.b", "x")).await?.is(201)?;
                t.post(&t.claims(""), &claim("a.b", &t.class)).await?.is(201)?;
                t.post(&t.core("serviceaccounts", ""), &named("a.b")).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "generate_name_adds_five_characters",
            "generateName gets a random suffix of five characters, and stays in the object.",
            async |t| {
                let made =
                    t.make(&t.maps(""), json!({ "metadata": { "generateName": "x-" } })).await?;
                let name = text(&made, "/metadata/name");
                holds(
                    "the name is the base and five characters",
                    name.starts_with("x-") && name.len() == 7,
                )?;
                has(&made, json!({ "metadata": { "generateName": "x-" } }))
            },
        ),
        case(
            "generate_name_cuts_a_long_base",
            "A generateName of more than 58 characters is cut to 58 before the suffix.",
            async |t| {
                let made = t
                    .make(&t.maps(""), json!({ "metadata": { "generateName": "x".repeat(70) } }))
                    .await?;
                same("length", text(&made, "/metadata/name").len(), 63)
            },
        ),
        case(
            "generate_name_yields_to_a_name",
            "With a name, generateName is only kept.",
            async |t| {
                let made = t
                    .make(&t.maps(""), json!({ "metadata": { "name": "a", "generateName": "x-" } }))
                    .await?;
                has(&made, json!({ "metadata": { "name": "a", "generateName": "x-" } }))
            },
        ),
        case(
            "a_wrong_generate_name_is_422",
            "A generateName that makes no valid name answers 422.",
            async |t| {
                let answer =
                    t.post(&t.maps(""), &json!({ "metadata": { "generateName": "X_" } })).await?;
                answer.refused(422, "Invalid")?;
                Ok(())
            },
        ),
        case(
            "a_wrong_generate_name_is_said_of_both_fields",
            "A wrong generateName is reported for generateName and for the name made of it.",
            async |t| {
                let answer =
                    t.post(&t.maps(""), &json!({ "metadata": { "generateName": "X_" } })).await?;
                answer.invalid(&[
                    "FieldValueInvalid metadata.generateName",
                    "FieldValueInvalid metadata.name",
                ])?;
                Ok(())
            },
        ),
        case(
            "keys_of_data_are_checked",
            "Keys of ConfigMap and Secret data are of letters, digits, dashes, underscores and dots.",
            async |t| {
                for key in ["a/b", "", "..", "a b"] {
                    let object = json!({ "metadata": { "name": "a" }, "data": { key: "v" } });
                    t.post(&t.maps(""), &object)
                        .await?
                        .invalid(&[&format!("FieldValueInvalid data[{key}]")])?;
                }
                t.post(
                    &t.maps(""),
                    &json!({ "metadata": { "name": "a" }, "data": { "A_b-c.D": "v" } }),
                )
                .await?
                .is(201)?;
                Ok(())
            },
        ),
        case(
            "one_key_in_data_and_binary_data_is_422",
            "A key may not be in both data and binaryData.",
            async |t| {
                let object = json!({ "metadata": { "name": "a" }, "data": { "k": "v" }, "binaryData": { "k": "aGVsbG8=" } });
                t.post(&t.maps(""), &object).await?.refused(422, "Invalid")?;
                Ok(())
            },
        ),
    ]
}

fn of_paths() -> Vec<Case> {
    vec![
        case(
            "dots_are_no_name",
            "`..` and `.` as a name in the path answer 400 or, for clients that resolve them, 404; never an object.",
            async |t| {
                t.get(&t.maps("/%2e%2e")).await?.says(400, "BadRequest", "")?;
                Ok(())
            },
        ),
        case(
            "an_unknown_resource_is_404",
            "A resource that a served group does not have answers 404 with a Status.",
            async |t| {
                let status = t.get(&t.core("nothings", "")).await?.says(
                    404,
                    "NotFound",
                    "the server could not find the requested resource",
                )?;
                has(&status, json!({ "details": {} }))
            },
        ),
        case(
            "an_unknown_version_is_404",
            "A version that a served group does not have answers 404 with a Status.",
            async |t| {
                for path in [
                    "/apis/coordination.k8s.io/v9",
                    "/apis/coordination.k8s.io/v9/leases",
                    "/api/v9",
                    "/api/v9/pods",
                ] {
                    t.get(path).await?.says(
                        404,
                        "NotFound",
                        "the server could not find the requested resource",
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "an_unknown_group_is_a_plain_404",
            "A group that is not served answers 404 in plain text, as any other path.",
            async |t| {
                for path in [
                    "/apis/nothing.example.com",
                    "/apis/nothing.example.com/v1",
                    "/apis/nothing.example.com/v1/things",
                    "/nothing",
                ] {
                    let answer = t.get(path).await?;
                    same("code", answer.code, 404)?;
                    same("body", answer.text.as_str(), "404 page not found\n")?;
                }
                Ok(())
            },
        ),
        case(
            "a_slash_at_the_end_is_forgiven",
            "A path with a slash at its end is the same path.",
            async |t| {
                t.map("a", "v").await?;
                t.get(&t.maps("/a/")).await?.is(200)?;
                t.get(&t.maps("/")).await?.is(200)?;
                Ok(())
            },
        ),
        case("an_escaped_slash_is_a_slash", "`%2f` in a path separates segments.", async |t| {
            t.map("a", "v").await?;
            has(&t.get(&t.maps("%2fa")).await?.is(200)?, json!({ "kind": "ConfigMap" }))
        }),
        case("head_and_options_are_405", "HEAD and OPTIONS answer 405.", async |t| {
            t.map("a", "v").await?;
            same("HEAD", t.send(Method::HEAD, &t.maps("/a"), &[], "").await?.code, 405)?;
            same("OPTIONS", t.send(Method::OPTIONS, &t.maps("/a"), &[], "").await?.code, 405)
        }),
        case(
            "an_object_of_a_namespaced_kind_has_no_path_outside",
            "A name below the all-namespaces path answers 404.",
            async |t| {
                t.map("a", "v").await?;
                t.get("/api/v1/configmaps/a").await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "a_cluster_kind_has_no_path_in_a_namespace",
            "A kind of cluster scope below a namespace answers 404.",
            async |t| {
                t.get(&t.core("persistentvolumes", "")).await?.refused(404, "NotFound")?;
                t.get(&t.core("persistentvolumes", "/a")).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "an_unknown_subresource_is_404",
            "A subresource that a kind does not have answers 404.",
            async |t| {
                t.map("a", "v").await?;
                t.get(&t.maps("/a/status")).await?.refused(404, "NotFound")?;
                t.get(&t.leases("/a/scale")).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "an_unknown_query_parameter_is_ignored",
            "A query parameter that nobody knows changes nothing.",
            async |t| {
                t.post(&t.maps("?x=y&pretty=false"), &map("a", "v")).await?.is(201)?;
                t.get(&t.maps("/a?x=y")).await?.is(200)?;
                t.get(&t.maps("?x=y&&")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "names_in_paths_are_case_sensitive",
            "Plural names and object names in paths are case sensitive.",
            async |t| {
                t.map("a", "v").await?;
                t.get(&t.maps("/A")).await?.refused(404, "NotFound")?;
                t.get(&t.core("ConfigMaps", "")).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
    ]
}
