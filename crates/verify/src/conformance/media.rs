//! Media types: in which form answers come, and which bodies are taken.

use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("answers_are_json", "Answers and refusals have the content type application/json.", async |t| {
            t.map("a", "v").await?;
            same("an object", t.get(&t.maps("/a")).await?.header("content-type"), "application/json")?;
            same("a refusal", t.get(&t.maps("/b")).await?.header("content-type"), "application/json")
        }),
        case(
            "anything_is_json",
            "Accept `*/*`, no Accept, and application/json with a charset answer JSON.",
            async |t| {
                t.map("a", "v").await?;
                for accept in ["*/*", "application/json", "application/json;charset=utf-8", "text/html, */*"]
                {
                    t.get_as(&t.maps("/a"), accept)
                        .await?
                        .is(200)
                        .map_err(|why| format!("{accept}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "what_is_not_served_is_406",
            "An Accept of something else answers 406 NotAcceptable.",
            async |t| {
                t.map("a", "v").await?;
                t.get_as(&t.maps("/a"), "application/xml").await?.refused(406, "NotAcceptable")?;
                Ok(())
            },
        ),
        case("a_pattern_of_applications_is_406", "Accept `application/*` answers 406.", async |t| {
            t.map("a", "v").await?;
            t.get_as(&t.maps("/a"), "application/*").await?.refused(406, "NotAcceptable")?;
            Ok(())
        }),
        case(
            "the_second_choice_is_taken",
            "Of several forms the first that is served is taken.",
            async |t| {
                t.map("a", "v").await?;
                has(
                    &t.get_as(&t.maps("/a"), "application/xml, application/json").await?.is(200)?,
                    json!({ "kind": "ConfigMap" }),
                )?;
                has(
                    &t.get_as(&t.maps("/a"), &format!("{PARTIAL},application/json")).await?.is(200)?,
                    json!({ "kind": "PartialObjectMetadata" }),
                )
            },
        ),
        case(
            "metadata_of_an_object",
            "An object as PartialObjectMetadata has metadata and nothing else.",
            async |t| {
                t.map("a", "v").await?;
                let partial = t.get_as(&t.maps("/a"), PARTIAL).await?.is(200)?;
                has(
                    &partial,
                    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": { "name": "a", "uid": "*" }, "data": null }),
                )
            },
        ),
        case(
            "metadata_of_a_list",
            "A list as PartialObjectMetadataList has items with metadata and their kind.",
            async |t| {
                t.map("a", "v").await?;
                let list = t.get_as(&t.maps(""), PARTIAL_LIST).await?.is(200)?;
                let item = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": { "name": "a" }, "data": null });
                has(
                    &list,
                    json!({ "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": { "resourceVersion": "*" }, "items": [item] }),
                )
            },
        ),
        case(
            "metadata_of_a_write",
            "A patch that accepts PartialObjectMetadata is answered so.",
            async |t| {
                t.map("a", "v").await?;
                let headers = [("accept", PARTIAL), ("content-type", "application/merge-patch+json")];
                let answer =
                    t.send(Method::PATCH, &t.maps("/a"), &headers, "{\"data\":{\"k\":\"w\"}}").await?;
                has(&answer.is(200)?, json!({ "kind": "PartialObjectMetadata", "data": null }))
            },
        ),
        case(
            "an_unknown_transformation_is_406",
            "An Accept that asks for an unknown transformation answers 406.",
            async |t| {
                t.map("a", "v").await?;
                t.get_as(&t.maps("/a"), "application/json;as=Nothing;g=meta.k8s.io;v=v1")
                    .await?
                    .refused(406, "NotAcceptable")?;
                Ok(())
            },
        ),
        case(
            "tables_for_kubectl",
            "A list as Table has column definitions and a row with the name for each object.",
            async |t| {
                t.map("a", "v").await?;
                let table = t.get_as(&t.maps(""), TABLE).await?.is(200)?;
                has(&table, json!({ "kind": "Table", "apiVersion": "meta.k8s.io/v1" }))?;
                same("columns", text(&table, "/columnDefinitions/0/name"), "Name")?;
                same("name", text(&table, "/rows/0/cells/0"), "a")?;
                has(
                    &table,
                    json!({ "rows": [{ "object": { "kind": "PartialObjectMetadata", "metadata": { "name": "a" } } }] }),
                )
            },
        ),
        case(
            "protobuf_falls_back_to_json",
            "A client that would rather have protobuf and takes JSON gets an answer; one that sends JSON is understood.",
            async |t| {
                t.map("a", "v").await?;
                t.get_as(&t.maps("/a"), "application/vnd.kubernetes.protobuf,application/json").await?;
                Ok(())
            },
        ),
        case(
            "a_body_of_another_type_is_415",
            "A POST of a media type that is not served answers 415 UnsupportedMediaType.",
            async |t| {
                let answer = t
                    .send(
                        Method::POST,
                        &t.maps(""),
                        &[("content-type", "text/plain")],
                        map("a", "v").to_string(),
                    )
                    .await?;
                answer.says(415, "UnsupportedMediaType", "the body of the request was in an unknown format - accepted media types include: application/json")?;
                Ok(())
            },
        ),
        case(
            "malformed_protobuf_is_400",
            "A POST in protobuf that does not begin as one answers 400.",
            async |t| {
                let headers = [("content-type", "application/vnd.kubernetes.protobuf")];
                t.send(Method::POST, &t.maps(""), &headers, "x").await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "rows_of_tables_hold_what_is_asked_for",
            "includeObject=Object puts whole objects into the rows of a Table, None nothing; another word answers 400.",
            async |t| {
                t.map("a", "v").await?;
                let whole = t.get_as(&t.maps("?includeObject=Object"), TABLE).await?.is(200)?;
                has(
                    &whole,
                    json!({ "rows": [{ "object": { "kind": "ConfigMap", "data": { "k": "v" } } }] }),
                )?;
                let none = t.get_as(&t.maps("?includeObject=None"), TABLE).await?.is(200)?;
                has(&none, json!({ "rows": [{ "object": null }] }))?;
                t.get_as(&t.maps("?includeObject=Odd"), TABLE).await?.is(400)?;
                Ok(())
            },
        ),
        case("a_body_without_a_type_is_json", "A POST without a Content-Type is taken as JSON.", async |t| {
            t.send(Method::POST, &t.maps(""), &[], map("a", "v").to_string()).await?.is(201)?;
            Ok(())
        }),
        case("a_body_of_json_with_parameters", "Content-Type may have parameters.", async |t| {
            let headers = [("content-type", "application/json; charset=utf-8")];
            t.send(Method::POST, &t.maps(""), &headers, map("a", "v").to_string()).await?.is(201)?;
            Ok(())
        }),
        case("a_body_of_yaml", "A POST of application/yaml is understood.", async |t| {
            let body = "metadata:\n  name: a\ndata:\n  k: v\n";
            let answer =
                t.send(Method::POST, &t.maps(""), &[("content-type", "application/yaml")], body).await?;
            has(&answer.is(201)?, json!({ "data": { "k": "v" } }))
        }),
        case("a_body_of_yaml_in_json_type_is_400", "YAML under the type of JSON answers 400.", async |t| {
            let answer = t
                .send(
                    Method::POST,
                    &t.maps(""),
                    &[("content-type", "application/json")],
                    "metadata:\n  name: a\n",
                )
                .await?;
            answer.refused(400, "BadRequest")?;
            Ok(())
        }),
        case("answers_are_not_cached", "Answers carry Cache-Control: no-cache, private.", async |t| {
            t.map("a", "v").await?;
            same("Cache-Control", t.get(&t.maps("/a")).await?.header("cache-control"), "no-cache, private")
        }),
    ]
}
