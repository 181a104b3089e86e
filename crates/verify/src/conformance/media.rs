//! Media types: in which form answers come, and which bodies are taken.

use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const YAML: &str = "application/yaml";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "answers_are_json",
            "Answers and refusals have the content type application/json.",
            async |t| {
                t.map("a", "v").await?;
                same(
                    "an object",
                    t.get(&t.maps("/a")).await?.header("content-type"),
                    "application/json",
                )?;
                same(
                    "a refusal",
                    t.get(&t.maps("/b")).await?.header("content-type"),
                    "application/json",
                )
            },
        ),
        case(
            "anything_is_json",
            "Accept `*/*`, no Accept, and application/json with a charset answer JSON.",
            async |t| {
                t.map("a", "v").await?;
                for accept in
                    ["*/*", "application/json", "application/json;charset=utf-8", "text/html, */*"]
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
        case(
            "a_pattern_of_applications_is_406",
            "Accept `application/*` answers 406.",
            async |t| {
                t.map("a", "v").await?;
                t.get_as(&t.maps("/a"), "application/*").await?.refused(406, "NotAcceptable")?;
                Ok(())
            },
        ),
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
                    &t.get_as(&t.maps("/a"), &format!("{PARTIAL},application/json"))
                        .await?
                        .is(200)?,
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
                let headers =
                    [("accept", PARTIAL), ("content-type", "application/merge-patch+json")];
                let answer = t
                    .send(Method::PATCH, &t.maps("/a"), &headers, "{\"data\":{\"k\":\"w\"}}")
                    .await?;
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
                t.get_as(&t.maps("/a"), "application/vnd.kubernetes.protobuf,application/json")
                    .await?;
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
                t.send(Method::POST, &t.maps(""), &headers, "x")
                    .await?
                    .refused(400, "BadRequest")?;
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
        case(
            "a_body_without_a_type_is_json",
            "A POST without a Content-Type is taken as JSON.",
            async |t| {
                t.send(Method::POST, &t.maps(""), &[], map("a", "v").to_string()).await?.is(201)?;
                Ok(())
            },
        ),
        case("a_body_of_json_with_parameters", "Content-Type may have parameters.", async |t| {
            let headers = [("content-type", "application/json; charset=utf-8")];
            t.send(Method::POST, &t.maps(""), &headers, map("a", "v").to_string())
                .await?
                .is(201)?;
            Ok(())
        }),
        case("a_body_of_yaml", "A POST of application/yaml is understood.", async |t| {
            let body = "metadata:\n  name: a\ndata:\n  k: v\n";
            let answer = t
                .send(Method::POST, &t.maps(""), &[("content-type", "application/yaml")], body)
                .await?;
            has(&answer.is(201)?, json!({ "data": { "k": "v" } }))
        }),
        case(
            "a_body_of_yaml_in_json_type_is_400",
            "YAML under the type of JSON answers 400.",
            async |t| {
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
            },
        ),
        case(
            "answers_are_not_cached",
            "Answers carry Cache-Control: no-cache, private.",
            async |t| {
                t.map("a", "v").await?;
                same(
                    "Cache-Control",
                    t.get(&t.maps("/a")).await?.header("cache-control"),
                    "no-cache, private",
                )
            },
        ),
        case(
            "answers_of_yaml",
            "Objects and lists are answered in YAML to who prefers that, members by name.",
            async |t| {
                t.map("a", "v").await?;
                let one = t.get_as(&t.maps("/a"), YAML).await?;
                same("code", one.code, 200)?;
                same("content type", one.header("content-type"), YAML)?;
                holds(
                    "it begins with the version",
                    one.text
                        .starts_with("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\nmetadata:\n"),
                )?;
                let list = t.get_as(&t.maps(""), YAML).await?;
                holds(
                    "items are indented as Go does",
                    list.text.starts_with("apiVersion: v1\nitems:\n- data:\n    k: v\n"),
                )?;
                let either = t.get_as(&t.maps("/a"), "application/json, application/yaml").await?;
                has(&either.is(200)?, json!({ "kind": "ConfigMap" }))
            },
        ),
        case(
            "texts_in_yaml_stay_texts",
            "Texts that look like numbers or booleans are quoted in YAML.",
            async |t| {
                let mut object = map("a", "yes");
                object["data"] = json!({ "a": "yes", "b": "1", "c": "null", "d": "1e3", "e": "" });
                t.make(&t.maps(""), object).await?;
                let text = t.get_as(&t.maps("/a"), YAML).await?.text;
                for quoted in ["a: \"yes\"", "b: \"1\"", "c: \"null\"", "d: \"1e3\"", "e: \"\""] {
                    holds("it is quoted", text.contains(quoted))
                        .map_err(|why| format!("{quoted}: {why}: {text}"))?;
                }
                Ok(())
            },
        ),
        case("refusals_of_yaml", "A refusal is in YAML for who prefers that.", async |t| {
            let answer = t.get_as(&t.maps("/nothing"), YAML).await?;
            same("code", answer.code, 404)?;
            same("content type", answer.header("content-type"), YAML)?;
            holds("it is a Status", answer.text.starts_with("apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: nothing\nkind: Status\n"))
        }),
        case(
            "metadata_and_tables_of_yaml",
            "PartialObjectMetadata and Table are there in YAML, too.",
            async |t| {
                t.map("a", "v").await?;
                let partial = t
                    .get_as(
                        &t.maps("/a"),
                        "application/yaml;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
                    )
                    .await?;
                holds(
                    "it is metadata",
                    partial.text.starts_with(
                        "apiVersion: meta.k8s.io/v1\nkind: PartialObjectMetadata\nmetadata:\n",
                    ),
                )?;
                let table =
                    t.get_as(&t.maps("/a"), "application/yaml;as=Table;g=meta.k8s.io;v=v1").await?;
                holds(
                    "it is a table",
                    table.text.starts_with(
                        "apiVersion: meta.k8s.io/v1\ncolumnDefinitions:\n- description: ",
                    ),
                )
            },
        ),
        case(
            "a_watch_of_yaml_is_406",
            "A watch in YAML answers 406, and says so in YAML.",
            async |t| {
                let answer = t.get_as(&t.maps("?watch=true&timeoutSeconds=1"), YAML).await?;
                same("code", answer.code, 406)?;
                same("content type", answer.header("content-type"), YAML)?;
                holds(
                    "it says why",
                    answer.text.contains("reason: NotAcceptable\n")
                        && answer.text.contains("application/json;stream=watch"),
                )
            },
        ),
        case(
            "malformed_yaml_is_400",
            "A body of YAML that cannot be read, or holds no object, answers 400.",
            async |t| {
                for body in ["a: [", "hello", "- a"] {
                    let answer =
                        t.send(Method::POST, &t.maps(""), &[("content-type", YAML)], body).await?;
                    answer.refused(400, "BadRequest").map_err(|why| format!("{body}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "types_in_yaml",
            "Unquoted numbers and booleans in YAML, old words of booleans included, are no texts: 400.",
            async |t| {
                for value in ["1", "yes", "true", "1.5"] {
                    let body = format!("metadata: {{name: a}}\ndata:\n  k: {value}\n");
                    let answer =
                        t.send(Method::POST, &t.maps(""), &[("content-type", YAML)], body).await?;
                    answer.refused(400, "BadRequest").map_err(|why| format!("{value}: {why}"))?;
                }
                let body = "metadata: {name: a}\ndata: {k: 'yes'}\n";
                let made = t
                    .send(Method::POST, &t.maps(""), &[("content-type", YAML)], body)
                    .await?
                    .is(201)?;
                has(&made, json!({ "data": { "k": "yes" } }))
            },
        ),
        case(
            "one_document_of_yaml_is_read",
            "Of several documents in a body the first is read.",
            async |t| {
                let body = "metadata: {name: a}\n---\nmetadata: {name: b}\n";
                t.send(Method::POST, &t.maps(""), &[("content-type", YAML)], body)
                    .await?
                    .is(201)?;
                same("names", names(&t.get(&t.maps("")).await?.is(200)?), "a".to_owned())
            },
        ),
        case(
            "unknown_members_in_yaml",
            "Unknown and repeated members of a body of YAML are said in warnings, and answer 400 under Strict.",
            async |t| {
                for (name, rest) in [("a", "datum: x\n"), ("b", "data: {k: v}\ndata: {k: w}\n")] {
                    let body = format!("metadata: {{name: {name}}}\n{rest}");
                    let strict = t
                        .send(
                            Method::POST,
                            &t.maps("?fieldValidation=Strict"),
                            &[("content-type", YAML)],
                            body.clone(),
                        )
                        .await?;
                    strict
                        .says(400, "BadRequest", "strict decoding error")
                        .map_err(|why| format!("{rest}: {why}"))?;
                    let made =
                        t.send(Method::POST, &t.maps(""), &[("content-type", YAML)], body).await?;
                    made.is(201)?;
                    same("warnings", made.warnings().len(), 1)
                        .map_err(|why| format!("{rest}: {why}"))?;
                }
                has(&t.get(&t.maps("/b")).await?.is(200)?, json!({ "data": { "k": "w" } }))
            },
        ),
        case(
            "a_put_and_a_delete_of_yaml",
            "A PUT and the options of a DELETE may be YAML.",
            async |t| {
                t.map("a", "v").await?;
                let body = "metadata: {name: a}\ndata: {k: w}\n";
                let put = t
                    .send(Method::PUT, &t.maps("/a"), &[("content-type", YAML)], body)
                    .await?
                    .is(200)?;
                has(&put, json!({ "data": { "k": "w" } }))?;
                let options = "kind: DeleteOptions\napiVersion: v1\ndryRun: [All]\n";
                t.send(Method::DELETE, &t.maps("/a"), &[("content-type", YAML)], options)
                    .await?
                    .is(200)?;
                t.get(&t.maps("/a")).await?.is(200).map(drop)
            },
        ),
        case(
            "a_patch_of_yaml_is_415",
            "A PATCH of the type application/yaml answers 415.",
            async |t| {
                t.map("a", "v").await?;
                t.send(Method::PATCH, &t.maps("/a"), &[("content-type", YAML)], "data: {k: w}\n")
                    .await?
                    .refused(415, "UnsupportedMediaType")
                    .map(drop)
            },
        ),
        case(
            "custom_objects_of_yaml",
            "Custom objects are taken and given in YAML, too.",
            async |t| {
                let body = "apiVersion: conformance.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {color: red}\n";
                t.send(Method::POST, &t.widgets(""), &[("content-type", YAML)], body)
                    .await?
                    .is(201)?;
                let text = t.get_as(&t.widgets("/a"), YAML).await?.text;
                holds("it is YAML", text.contains("\nspec:\n  color: red\n"))
            },
        ),
        case("cbor_is_not_served", "A body of CBOR answers 415, an Accept of it 406.", async |t| {
            t.map("a", "v").await?;
            let answer = t
                .send(Method::POST, &t.maps(""), &[("content-type", "application/cbor")], "x")
                .await?;
            answer.says(415, "UnsupportedMediaType", "accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf")?;
            t.get_as(&t.maps("/a"), "application/cbor")
                .await?
                .refused(406, "NotAcceptable")
                .map(drop)
        }),
        case(
            "how_it_is_said_that_a_form_is_not_served",
            "What is not served of a built-in kind is refused in other words than of a custom one.",
            async |t| {
                t.map("a", "v").await?;
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let available = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf";
                let streams = format!(
                    "{available}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
                );
                let only = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
                for (path, said) in [
                    (t.maps("/a"), available),
                    (t.maps(""), &streams),
                    (t.widgets("/a"), only),
                    (t.widgets(""), only),
                ] {
                    let status =
                        t.get_as(&path, "application/xml").await?.refused(406, "NotAcceptable")?;
                    same("message", text(&status, "/message"), said)
                        .map_err(|why| format!("{path}: {why}"))?;
                }
                let plain = [("content-type", "text/plain")];
                t.send(Method::PATCH, &t.maps("/a"), &plain, "x").await?.says(
                    415,
                    "UnsupportedMediaType",
                    "415: Unsupported Media Type",
                )?;
                let custom = t.send(Method::PATCH, &t.widgets("/a"), &plain, "x").await?;
                custom.says(415, "UnsupportedMediaType", "accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml").map(drop)
            },
        ),
    ]
}
