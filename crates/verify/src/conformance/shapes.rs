//! Definitions as objects: how their members are read, written, merged and owned, which their Go
//! types decide.

use http::Method;
use serde_json::{Map, Value, json};

use crate::conformance::answer::*;
use crate::conformance::definitions::{DEFINITIONS, definition, of_spec, own, served, things};
use crate::conformance::{APPLY, Case, Outcome, STRATEGIC, Target, case};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// A schema with a member `a`.
fn of_a(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "a": schema } })
}

/// What a dry run makes of a schema of member `a`.
async fn read(t: &Target, schema: Value) -> Result<(Value, Vec<String>), String> {
    let answer = t.post(&format!("{DEFINITIONS}?dryRun=All"), &definition(t, of_a(schema))).await?;
    let read =
        answer.is(201)?["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"]
            .take();
    Ok((read, answer.warnings()))
}

/// What is said of a schema of member `a` that cannot be decoded.
async fn undecodable(t: &Target, schema: Value) -> Outcome {
    let answer = t.post(DEFINITIONS, &definition(t, of_a(schema))).await?;
    answer.refused(400, "BadRequest").map(drop)
}

fn open() -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

fn applied(rest: Value) -> Value {
    let mut object = rest;
    object["apiVersion"] = "apiextensions.k8s.io/v1".into();
    object["kind"] = "CustomResourceDefinition".into();
    object
}

pub(super) fn cases() -> Vec<Case> {
    [reading(), writing(), described()].into_iter().flatten().collect()
}

fn reading() -> Vec<Case> {
    vec![
        case("numbers_have_one_form", "Whole floats in a schema lose their fraction.", async |t| {
            let sent = json!({ "type": "number", "minimum": 1.0, "maximum": 1e18, "enum": [1.0, 2.5], "default": 1.0 });
            let (read, _) = read(t, sent).await?;
            let shown = json!({ "minimum": 1, "maximum": 1_000_000_000_000_000_000_u64, "enum": [1, 2.5], "default": 1 });
            has(&read, shown)
        }),
        case(
            "what_is_null_or_empty_falls_out",
            "Null and empty members of a schema are as absent.",
            async |t| {
                let (read, _) = read(
                t,
                json!({ "type": "string", "default": null, "enum": [], "properties": {}, "title": "", "nullable": false }),
            )
            .await?;
                same("the schema", read, json!({ "type": "string" }))
            },
        ),
        case(
            "a_null_of_an_enumeration_stays",
            "A null among the values of `enum` stays there.",
            async |t| {
                let (read, _) =
                    read(t, json!({ "type": "string", "nullable": true, "enum": ["x", null] }))
                        .await?;
                same("the values", read["enum"].clone(), json!(["x", null]))
            },
        ),
        case(
            "unknown_members_are_named",
            "A member that no schema has is dropped and named in a warning.",
            async |t| {
                let (read, warnings) = read(t, json!({ "type": "string", "zop": 1 })).await?;
                same("the schema", read, json!({ "type": "string" }))?;
                let place = "spec.versions[0].schema.openAPIV3Schema.properties.a.zop";
                same(
                    "the warnings",
                    warnings,
                    vec![format!("299 - \"unknown field \\\"{place}\\\"\"")],
                )
            },
        ),
        case(
            "some_unknown_members_are_not_named",
            "Below `items` and `additionalProperties` unknown members are dropped without a warning.",
            async |t| {
                let odd = json!({ "type": "string", "zop": 1 });
                for (named, member) in [("array", "items"), ("object", "additionalProperties")] {
                    let mut schema = json!({ "type": named });
                    schema[member] = odd.clone();
                    let (read, warnings) = read(t, schema).await?;
                    same("the schema", read[member].clone(), json!({ "type": "string" }))?;
                    same("the warnings", warnings, Vec::<String>::new())?;
                }
                Ok(())
            },
        ),
        case("a_wrong_type_is_400", "A member of a schema of a wrong type: 400.", async |t| {
            for schema in [
                json!({ "type": 1 }),
                json!({ "maxLength": "x" }),
                json!({ "maxLength": 1.5 }),
                json!({ "minimum": "x" }),
                json!({ "items": { "type": 1 } }),
                json!({ "items": [1] }),
                json!(1),
                json!({ "definitions": 1 }),
                json!({ "x-kubernetes-validations": 1 }),
            ] {
                undecodable(t, schema).await?;
            }
            Ok(())
        }),
        case(
            "schemas_below_a_schema_are_decoded_apart",
            "What is there twice below `items`, `additionalProperties` or `default` is not warned of; of two of them the second counts.",
            async |t| {
                let nothing: Vec<String> = Vec::new();
                let twice = |what: &str| {
                    let at = "spec.versions[0].schema.openAPIV3Schema.properties.a";
                    vec![format!("299 - \"duplicate field \\\"{at}.{what}\\\"\"")]
                };
                for (schema, becomes, warnings) in [
                    (
                        r#"{"type":"array","items":{"type":"string","type":"integer"}}"#,
                        json!({ "type": "array", "items": { "type": "integer" } }),
                        nothing.clone(),
                    ),
                    (
                        r#"{"type":"object","additionalProperties":{"type":"string","type":"integer"}}"#,
                        json!({ "type": "object", "additionalProperties": { "type": "integer" } }),
                        nothing.clone(),
                    ),
                    (
                        r#"{"type":"string","title":"a","title":"b"}"#,
                        json!({ "type": "string", "title": "b" }),
                        twice("title"),
                    ),
                    (
                        r#"{"type":"array","items":{"title":"a"},"items":{"type":"string"}}"#,
                        json!({ "type": "array", "items": { "type": "string" } }),
                        twice("items"),
                    ),
                    (
                        r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":{"a":{"b":1},"a":{"c":1}}}"#,
                        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": { "a": { "c": 1 } } }),
                        nothing.clone(),
                    ),
                ] {
                    let body = definition(t, of_a(json!("SCHEMA")))
                        .to_string()
                        .replace("\"SCHEMA\"", schema);
                    let answer = t
                        .send(Method::POST, &format!("{DEFINITIONS}?dryRun=All"), &JSON, body)
                        .await?;
                    let made = answer.is(201)?;
                    let read = &made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
                        ["a"];
                    same(schema, read, &becomes)?;
                    same(schema, answer.warnings(), warnings)?;
                }
                Ok(())
            },
        ),
        case(
            "other_members_are_a_schema_or_a_truth",
            "`additionalProperties` that are neither: 400.",
            async |t| undecodable(t, json!({ "additionalProperties": 1 })).await,
        ),
    ]
}

fn writing() -> Vec<Case> {
    vec![
        case(
            "reserved_words_name_members",
            "A rule names a member called by a reserved word as it is, or escaped.",
            async |t| {
                let words = ["namespace", "package", "var", "void", "while"];
                let members: Map<String, Value> = words
                    .iter()
                    .map(|word| ((*word).to_owned(), json!({ "type": "string" })))
                    .collect();
                let rules = words.iter().flat_map(|word| {
                    [
                        format!("self.{word} == 'x'"),
                        format!("has(self.{word}) && self.__{word}__ == 'x'"),
                    ]
                });
                let rules: Vec<Value> = rules.map(|rule| json!({ "rule": rule })).collect();
                served(
                    t,
                    of_spec(
                        json!({ "type": "object", "properties": members, "x-kubernetes-validations": rules }),
                    ),
                )
                .await?;
                let thing = |value: &str| {
                    let spec: Map<String, Value> =
                        words.iter().map(|word| ((*word).to_owned(), value.into())).collect();
                    let version = format!("{}.example.com/v1", t.class);
                    json!({ "apiVersion": version, "kind": "Thing", "metadata": { "name": "a" }, "spec": spec })
                };
                let path = things(t, "?dryRun=All");
                t.post(&path, &thing("x")).await?.is(201)?;
                let status = t.post(&path, &thing("y")).await?.refused(422, "Invalid")?;
                same("broken rules", items(&status, "/details/causes").len(), 2 * words.len())
            },
        ),
        case(
            "conditions_are_patched_as_one",
            "A strategic merge patch with one condition replaces them all: they have no merge key.",
            async |t| {
                served(t, open()).await?;
                let mine = json!({ "type": "Mine", "status": "True" });
                let patch = json!({ "status": { "conditions": [mine] } });
                let patched =
                    t.patch(&format!("{}/status", own(t)), STRATEGIC, &patch).await?.is(200)?;
                has(&patched["status"], json!({ "conditions": [mine] }))
            },
        ),
        case(
            "conditions_are_owned_by_type",
            "Who applies a condition owns it by its type, and the controllers keep theirs.",
            async |t| {
                served(t, open()).await?;
                let ours = applied(
                    json!({ "status": { "conditions": [{ "type": "Ours", "status": "True" }] } }),
                );
                let path = format!("{}/status?fieldManager=m", own(t));
                let made = t.patch(&path, APPLY, &ours).await?.is(200)?;
                let owners = items(&made, "/metadata/managedFields").iter();
                let mine = owners
                    .filter(|owner| text(owner, "/manager") == "m")
                    .map(|owner| &owner["fieldsV1"]);
                let expected = json!({ "f:status": { "f:conditions": {
                    "k:{\"type\":\"Ours\"}": { ".": {}, "f:status": {}, "f:type": {} },
                } } });
                same("what is owned", mine.collect::<Vec<_>>(), vec![&expected])?;
                same("conditions", items(&made, "/status/conditions").len(), 3)
            },
        ),
        case(
            "versions_are_owned_as_one",
            "Whoever applies other versions than another has written: 409 about all of them.",
            async |t| {
                served(t, open()).await?;
                let versions =
                    definition(t, json!({ "type": "object" }))["spec"]["versions"].take();
                let ours = applied(json!({ "spec": { "versions": versions } }));
                let answer = t.patch(&format!("{}?fieldManager=m", own(t)), APPLY, &ours).await?;
                let status = answer.refused(409, "Conflict")?;
                has(&status["details"]["causes"], json!([{ "field": ".spec.versions" }]))
            },
        ),
        case(
            "no_conditions_are_not_nothing",
            "A status with an empty list of conditions keeps it; one without any has null.",
            async |t| {
                served(t, open()).await?;
                let path = format!("{}/status?dryRun=All", own(t));
                let conditions = async |sent: Value| -> Result<Value, String> {
                    let patched = t
                        .merge(&path, json!({ "status": { "conditions": sent } }))
                        .await?
                        .is(200)?;
                    Ok(patched["status"]
                        .get("conditions")
                        .cloned()
                        .unwrap_or_else(|| "missing".into()))
                };
                same("none", conditions(json!([])).await?, json!([]))?;
                same("null", conditions(json!(null)).await?, json!(null))
            },
        ),
        case(
            "fields_are_selectable_where_the_schema_is",
            "Selectable fields stand in the versions, or with what all of them say, as the schema does.",
            async |t| {
                let text_of =
                    |of: &str| json!({ "type": "object", "properties": { "a": { "type": of } } });
                let fields = json!([{ "jsonPath": ".a" }]);
                for (first, second, schemas, cause) in [
                    (
                        &fields,
                        &json!(null),
                        ["string", "string"],
                        "FieldValueInvalid spec.versions[0].selectableFields",
                    ),
                    (
                        &fields,
                        &fields,
                        ["string", "integer"],
                        "FieldValueInvalid spec.selectableFields",
                    ),
                    (&fields, &fields, ["string", "string"], ""),
                    (&fields, &json!(null), ["string", "integer"], ""),
                ] {
                    let mut object = definition(t, text_of(schemas[0]));
                    let mut other = object["spec"]["versions"][0].clone();
                    object["spec"]["versions"][0]["selectableFields"] = first.clone();
                    other["name"] = "v2".into();
                    other["storage"] = false.into();
                    other["selectableFields"] = second.clone();
                    other["schema"]["openAPIV3Schema"] = text_of(schemas[1]);
                    object["spec"]["versions"] = json!([object["spec"]["versions"][0], other]);
                    let answer = t.post(&format!("{DEFINITIONS}?dryRun=All"), &object).await?;
                    if cause.is_empty() {
                        answer.is(201)?
                    } else {
                        answer.invalid(&[cause])?
                    };
                }
                Ok(())
            },
        ),
        case(
            "stored_versions_come_back",
            "A status without stored versions gets the one that objects are stored in.",
            async |t| {
                served(t, open()).await?;
                let path = format!("{}/status?dryRun=All", own(t));
                for none in [json!(null), json!([])] {
                    let patched = t
                        .merge(&path, json!({ "status": { "storedVersions": none } }))
                        .await?
                        .is(200)?;
                    has(&patched, json!({ "status": { "storedVersions": ["v1"] } }))?;
                }
                Ok(())
            },
        ),
    ]
}

fn described() -> Vec<Case> {
    vec![
        case(
            "definitions_are_described",
            "OpenAPI says what a definition has, and by what its rules are merged.",
            async |t| {
                let document = t.get("/openapi/v3/apis/apiextensions.k8s.io/v1").await?.is(200)?;
                let prefix = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";
                let schemas = &document["components"]["schemas"];
                let kind = json!([{ "group": "apiextensions.k8s.io", "kind": "CustomResourceDefinition", "version": "v1" }]);
                has(
                    &schemas[format!("{prefix}CustomResourceDefinition")],
                    json!({ "type": "object", "required": ["spec"], "x-kubernetes-group-version-kind": kind }),
                )?;
                has(
                    &schemas[format!("{prefix}JSONSchemaProps")]["properties"]["x-kubernetes-validations"],
                    json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-patch-merge-key": "rule" }),
                )
            },
        ),
        case(
            "scales_are_described_where_they_are",
            "OpenAPI has the paths of status and scale, and the schema of a Scale beside those of Deployments.",
            async |t| {
                let document = t.get("/openapi/v3/apis/apps/v1").await?.is(200)?;
                let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
                for (subresource, group, kind) in
                    [("status", "apps", "Deployment"), ("scale", "autoscaling", "Scale")]
                {
                    for action in ["get", "put", "patch"] {
                        has(
                            &document["paths"][format!("{path}/{subresource}")][action],
                            json!({
                                "x-kubernetes-action": action,
                                "x-kubernetes-group-version-kind": { "group": group, "version": "v1", "kind": kind },
                            }),
                        )?;
                    }
                }
                has(
                    &document["components"]["schemas"]["io.k8s.api.autoscaling.v1.ScaleSpec"],
                    json!({ "properties": { "replicas": { "type": "integer", "format": "int32" } } }),
                )
            },
        ),
    ]
}
