//! Custom resource definitions: what they may say, what becomes of them, what their end takes
//! along.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::waiting::eventually;
use crate::conformance::{Case, Outcome, Target, case};

pub(super) fn cases() -> Vec<Case> {
    [refusals(), schemas(), lives()].into_iter().flatten().collect()
}

pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A group that no other case has.
fn group(t: &Target) -> String {
    format!("{}.example.com", t.class)
}

/// A definition of `things` with one version and this schema.
pub(super) fn definition(t: &Target, schema: Value) -> Value {
    let group = group(t);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("things.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "plural": "things", "kind": "Thing" },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } },
            ],
        },
    })
}

fn open() -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

pub(super) fn of_spec(spec: Value) -> Value {
    json!({ "type": "object", "properties": { "spec": spec } })
}

/// A definition that is refused for these causes, `reason field` each, in any order.
async fn refused(t: &Target, definition: &Value, causes: &[&str]) -> Outcome {
    let status = t.post(DEFINITIONS, definition).await?.refused(422, "Invalid")?;
    let causes_of = items(&status, "/details/causes").iter();
    let mut found: Vec<String> = causes_of
        .map(|cause| format!("{} {}", text(cause, "/reason"), text(cause, "/field")))
        .collect();
    let mut expected: Vec<String> = causes.iter().map(|cause| (*cause).to_owned()).collect();
    found.sort();
    found.dedup();
    expected.sort();
    same("the causes", found, expected)
}

fn refusals() -> Vec<Case> {
    vec![
        case(
            "the_name_is_plural_and_group",
            "A definition is named by its plural and its group.",
            async |t| {
                let mut object = definition(t, open());
                object["metadata"]["name"] = format!("others.{}", group(t)).into();
                refused(t, &object, &["FieldValueInvalid metadata.name"]).await
            },
        ),
        case("a_group_has_a_dot", "A group without a dot is refused.", async |t| {
            let mut object = definition(t, open());
            object["metadata"]["name"] = "things.local".into();
            object["spec"]["group"] = "local".into();
            refused(t, &object, &["FieldValueInvalid spec.group"]).await
        }),
        case(
            "scope_is_one_of_two",
            "Another scope than Cluster and Namespaced is refused.",
            async |t| {
                let mut object = definition(t, open());
                object["spec"]["scope"] = "Global".into();
                refused(t, &object, &["FieldValueNotSupported spec.scope"]).await
            },
        ),
        case("every_version_has_a_schema", "A version without a schema is refused.", async |t| {
            let mut object = definition(t, open());
            object["spec"]["versions"][0]["schema"] = Value::Null;
            refused(t, &object, &["FieldValueRequired spec.versions[0].schema.openAPIV3Schema"])
                .await
        }),
        case("one_version_is_stored", "Exactly one version is the storage version.", async |t| {
            let mut object = definition(t, open());
            object["spec"]["versions"][0]["storage"] = false.into();
            let status = t.post(DEFINITIONS, &object).await?.refused(422, "Invalid")?;
            holds(
                "it says so",
                text(&status, "/message")
                    .contains("must have exactly one version marked as storage version"),
            )
        }),
        case("versions_have_unique_names", "Two versions of one name are refused.", async |t| {
            let mut object = definition(t, open());
            let mut second = object["spec"]["versions"][0].clone();
            second["storage"] = false.into();
            if let Some(versions) = object["spec"]["versions"].as_array_mut() {
                versions.push(second);
            }
            let status = t.post(DEFINITIONS, &object).await?.refused(422, "Invalid")?;
            holds(
                "it says so",
                text(&status, "/message").contains("must contain unique version names"),
            )
        }),
        case(
            "a_version_is_a_label",
            "A version is a DNS label that begins with a letter.",
            async |t| {
                let mut object = definition(t, open());
                object["spec"]["versions"][0]["name"] = "1".into();
                refused(
                    t,
                    &object,
                    &["FieldValueInvalid spec.version", "FieldValueInvalid spec.versions[0].name"],
                )
                .await
            },
        ),
        case("kind_and_list_kind_differ", "A listKind that is the kind is refused.", async |t| {
            let mut object = definition(t, open());
            object["spec"]["names"]["listKind"] = "Thing".into();
            refused(t, &object, &["FieldValueInvalid spec.names.listKind"]).await
        }),
        case("names_are_labels", "Short names and categories are DNS labels.", async |t| {
            let mut object = definition(t, open());
            object["spec"]["names"]["shortNames"] = json!(["T"]);
            object["spec"]["names"]["categories"] = json!(["a.b"]);
            let causes = [
                "FieldValueInvalid spec.names.shortNames[0]",
                "FieldValueInvalid spec.names.categories[0]",
            ];
            refused(t, &object, &causes).await
        }),
        case(
            "kubernetes_groups_need_approval",
            "A group of Kubernetes' own needs an annotation.",
            async |t| {
                let mut object = definition(t, open());
                let group = format!("{}.k8s.io", t.class);
                object["metadata"]["name"] = format!("things.{group}").into();
                object["spec"]["group"] = group.into();
                let cause = "FieldValueRequired metadata.annotations[api-approved.kubernetes.io]";
                refused(t, &object, &[cause]).await
            },
        ),
        case(
            "unknown_fields_are_not_preserved_as_before",
            "spec.preserveUnknownFields may not be true.",
            async |t| {
                let mut object = definition(t, open());
                object["spec"]["preserveUnknownFields"] = true.into();
                refused(t, &object, &["FieldValueInvalid spec.preserveUnknownFields"]).await
            },
        ),
        case(
            "a_column_has_a_type_and_a_path",
            "A printer column needs a name, a known type and a path.",
            async |t| {
                let mut object = definition(t, open());
                object["spec"]["versions"][0]["additionalPrinterColumns"] =
                    json!([{ "name": "A", "type": "text", "jsonPath": "spec.a" }]);
                let at = "spec.additionalPrinterColumns[0]";
                let causes = [
                    format!("FieldValueInvalid {at}.type"),
                    format!("FieldValueInvalid {at}.JSONPath"),
                ];
                refused(t, &object, &[&causes[0], &causes[1]]).await
            },
        ),
        case(
            "a_selectable_field_is_in_the_schema",
            "A selectable field must be a simple one of the schema.",
            async |t| {
                let spec = json!({ "type": "object", "properties": { "list": { "type": "array", "items": { "type": "string" } } } });
                let mut object = definition(t, of_spec(spec));
                object["spec"]["versions"][0]["selectableFields"] =
                    json!([{ "jsonPath": ".spec.list" }, { "jsonPath": ".spec.none" }]);
                let at = "FieldValueInvalid spec.selectableFields";
                refused(t, &object, &[&format!("{at}[0].jsonPath"), &format!("{at}[1].jsonPath")])
                    .await
            },
        ),
        case(
            "scale_reads_spec_and_status",
            "Paths of scale lie below spec and status.",
            async |t| {
                let mut object = definition(t, open());
                object["spec"]["versions"][0]["subresources"] = json!({ "scale": { "specReplicasPath": ".replicas", "statusReplicasPath": "status.replicas" } });
                let at = "FieldValueInvalid spec.subresources.scale";
                refused(
                    t,
                    &object,
                    &[&format!("{at}.specReplicasPath"), &format!("{at}.statusReplicasPath")],
                )
                .await
            },
        ),
        case(
            "a_warning_is_of_what_is_deprecated",
            "A deprecationWarning needs a deprecated version.",
            async |t| {
                let mut object = definition(t, open());
                object["spec"]["versions"][0]["deprecationWarning"] = "old".into();
                refused(t, &object, &["FieldValueInvalid spec.versions[0].deprecationWarning"])
                    .await
            },
        ),
    ]
}

/// The schema's place in a cause: what all versions say alike is held once for all of them.
const SCHEMA: &str = "spec.validation.openAPIV3Schema";

fn schemas() -> Vec<Case> {
    vec![
        case(
            "every_place_has_a_type",
            "A member of a schema without a type is refused.",
            async |t| {
                let object = definition(t, of_spec(json!({})));
                refused(
                    t,
                    &object,
                    &[&format!("FieldValueRequired {SCHEMA}.properties[spec].type")],
                )
                .await
            },
        ),
        case("the_root_is_an_object", "The root of a schema is an object.", async |t| {
            let object = definition(t, json!({ "type": "string" }));
            refused(t, &object, &[&format!("FieldValueInvalid {SCHEMA}.type")]).await
        }),
        case("types_are_known", "A type that nobody knows is refused.", async |t| {
            let object = definition(t, of_spec(json!({ "type": "text" })));
            refused(
                t,
                &object,
                &[&format!("FieldValueNotSupported {SCHEMA}.properties[spec].type")],
            )
            .await
        }),
        case("a_list_says_of_what", "An array without items is refused.", async |t| {
            let object = definition(t, of_spec(json!({ "type": "array" })));
            refused(t, &object, &[&format!("FieldValueRequired {SCHEMA}.properties[spec].items")])
                .await
        }),
        case(
            "members_or_a_map",
            "properties and additionalProperties exclude each other.",
            async |t| {
                let spec = json!({
                    "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": { "type": "string" },
                });
                let at =
                    format!("FieldValueForbidden {SCHEMA}.properties[spec].additionalProperties");
                refused(t, &definition(t, of_spec(spec)), &[&at]).await
            },
        ),
        case(
            "alternatives_say_no_types",
            "Types and descriptions may not stand in an alternative.",
            async |t| {
                let spec = json!({
                    "type": "object", "properties": { "a": { "type": "string" } },
                    "oneOf": [{ "properties": { "a": { "type": "string" } } }],
                });
                let at = format!(
                    "FieldValueForbidden {SCHEMA}.properties[spec].oneOf[0].properties[a].type"
                );
                refused(t, &definition(t, of_spec(spec)), &[&at]).await
            },
        ),
        case(
            "alternatives_speak_of_what_is_there",
            "An alternative may name only members of the schema.",
            async |t| {
                let mut schema = of_spec(json!({ "type": "object" }));
                schema["anyOf"] = json!([{ "properties": { "other": { "minLength": 1 } } }]);
                let at = format!("FieldValueRequired {SCHEMA}.properties[other]");
                refused(t, &definition(t, schema), &[&at]).await
            },
        ),
        case(
            "a_pattern_is_one",
            "A pattern that is no regular expression is refused.",
            async |t| {
                let at = format!("FieldValueInvalid {SCHEMA}.properties[spec].pattern");
                refused(
                    t,
                    &definition(t, of_spec(json!({ "type": "string", "pattern": "(" }))),
                    &[&at],
                )
                .await
            },
        ),
        case(
            "metadata_is_what_it_is",
            "The schema may only narrow the names in metadata.",
            async |t| {
                let schema = json!({ "type": "object", "properties": {
                "metadata": { "type": "object", "properties": { "labels": { "type": "object" } } },
            } });
                let at = format!("FieldValueForbidden {SCHEMA}.properties[metadata]");
                refused(t, &definition(t, schema), &[&at]).await
            },
        ),
        case(
            "a_default_fits_its_schema",
            "A default that its own schema refuses is refused.",
            async |t| {
                let spec = json!({ "type": "object", "properties": { "n": { "type": "integer", "default": "x" } } });
                let at = format!(
                    "FieldValueTypeInvalid {SCHEMA}.properties[spec].properties[n].default"
                );
                refused(t, &definition(t, of_spec(spec)), &[&at]).await
            },
        ),
        case(
            "a_default_has_no_unknown_members",
            "A default with members that would be pruned is refused.",
            async |t| {
                let spec = json!({ "type": "object", "properties": { "o": { "type": "object", "default": { "x": 1 } } } });
                let at =
                    format!("FieldValueInvalid {SCHEMA}.properties[spec].properties[o].default");
                refused(t, &definition(t, of_spec(spec)), &[&at]).await
            },
        ),
        case(
            "keys_of_a_map_list_are_required",
            "A key of a list of type map is required or has a default.",
            async |t| {
                let spec = json!({
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                    "items": { "type": "object", "properties": { "k": { "type": "string" } } },
                });
                let at = format!(
                    "FieldValueRequired {SCHEMA}.properties[spec].items.properties[k].default"
                );
                refused(t, &definition(t, of_spec(spec)), &[&at]).await
            },
        ),
        case(
            "a_set_holds_what_is_atomic",
            "Objects in a list of type set are atomic.",
            async |t| {
                let spec = json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "object" } });
                let at = format!(
                    "FieldValueInvalid {SCHEMA}.properties[spec].items.x-kubernetes-map-type"
                );
                refused(t, &definition(t, of_spec(spec)), &[&at]).await
            },
        ),
        case("references_are_not_followed", "$ref is refused.", async |t| {
            let at = format!("FieldValueForbidden {SCHEMA}.properties[spec].$ref");
            refused(t, &definition(t, of_spec(json!({ "type": "object", "$ref": "#/a" }))), &[&at])
                .await
        }),
        case(
            "unique_items_are_forbidden",
            "uniqueItems is refused: it costs too much.",
            async |t| {
                let spec =
                    json!({ "type": "array", "uniqueItems": true, "items": { "type": "string" } });
                let at = format!("FieldValueForbidden {SCHEMA}.properties[spec].uniqueItems");
                refused(t, &definition(t, of_spec(spec)), &[&at]).await
            },
        ),
    ]
}

pub(super) fn own(t: &Target) -> String {
    format!("{DEFINITIONS}/things.{}", group(t))
}

pub(super) fn things(t: &Target, rest: &str) -> String {
    format!("/apis/{}/v1/namespaces/{}/things{rest}", group(t), t.namespace)
}

fn thing(t: &Target, name: &str) -> Value {
    json!({ "apiVersion": format!("{}/v1", group(t)), "kind": "Thing", "metadata": { "name": name }, "spec": { "n": 1 } })
}

/// A definition that is served.
pub(super) async fn served(t: &Target, schema: Value) -> Outcome {
    t.make(DEFINITIONS, definition(t, schema)).await?;
    t.until(&things(t, ""), "served", |code, _| code == 200).await.map(drop)
}

/// A new schema takes a moment: it is in force when this object is refused.
pub(super) async fn in_force(t: &Target, object: &Value) -> Outcome {
    eventually(async || {
        let answer = t.post(&things(t, "?dryRun=All"), object).await?;
        Ok(if answer.code == 422 {
            Ok(())
        } else {
            Err(format!("the object is not refused: {}", answer.code))
        })
    })
    .await
}

async fn established(t: &Target) -> Result<Value, String> {
    t.until(&own(t), "established", |_, found| condition(found, "Established") == "True").await
}

fn condition<'a>(definition: &'a Value, name: &str) -> &'a str {
    let found = items(definition, "/status/conditions")
        .iter()
        .find(|condition| text(condition, "/type") == name);
    found.map_or("", |condition| text(condition, "/status"))
}

fn lives() -> Vec<Case> {
    vec![
        case(
            "names_are_filled_in",
            "singular, listKind and the conversion strategy are filled in.",
            async |t| {
                let made = t.make(DEFINITIONS, definition(t, open())).await?;
                has(
                    &made,
                    json!({
                        "metadata": { "generation": 1 },
                        "spec": { "names": { "singular": "thing", "listKind": "ThingList" }, "conversion": { "strategy": "None" } },
                        "status": { "storedVersions": ["v1"], "acceptedNames": { "plural": "", "kind": "" } },
                    }),
                )
            },
        ),
        case(
            "a_definition_is_established",
            "Names are accepted and the definition is established.",
            async |t| {
                t.make(DEFINITIONS, definition(t, open())).await?;
                let done = established(t).await?;
                same("names", condition(&done, "NamesAccepted"), "True")?;
                has(
                    &done,
                    json!({ "status": { "acceptedNames": {
                    "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList",
                } } }),
                )
            },
        ),
        case(
            "a_watch_sees_a_definition_grow",
            "A watch sees a definition created, accepted and established.",
            async |t| {
                let name = format!("things.{}", group(t));
                let mut watch = t
                    .watch(&format!(
                        "{DEFINITIONS}?resourceVersion=0&fieldSelector=metadata.name%3D{name}"
                    ))
                    .await?;
                t.make(DEFINITIONS, definition(t, open())).await?;
                let added = watch.event("ADDED", &name).await?;
                same("at first", condition(&added, "NamesAccepted"), "")?;
                let accepted = watch.event("MODIFIED", &name).await?;
                same(
                    "then",
                    (condition(&accepted, "NamesAccepted"), condition(&accepted, "Established")),
                    ("True", "False"),
                )?;
                let established = watch.event("MODIFIED", &name).await?;
                same("in the end", condition(&established, "Established"), "True")
            },
        ),
        case(
            "a_taken_name_is_not_accepted",
            "A kind that another definition of the group has is not accepted.",
            async |t| {
                t.make(DEFINITIONS, definition(t, open())).await?;
                established(t).await?;
                let mut second = definition(t, open());
                second["metadata"]["name"] = format!("items.{}", group(t)).into();
                second["spec"]["names"] = json!({ "plural": "items", "singular": "item", "kind": "Thing", "listKind": "ItemList" });
                t.make(DEFINITIONS, second).await?;
                let path = format!("{DEFINITIONS}/items.{}", group(t));
                let done = t
                    .until(&path, "judged", |_, found| {
                        !condition(found, "NamesAccepted").is_empty()
                    })
                    .await?;
                same("names", condition(&done, "NamesAccepted"), "False")?;
                same("established", condition(&done, "Established"), "False")?;
                let found = items(&done, "/status/conditions").iter();
                let reasons: Vec<_> = found.map(|condition| text(condition, "/reason")).collect();
                same("reasons", reasons, ["KindConflict", "NotAccepted"])
            },
        ),
        case(
            "a_put_without_a_version_is_422",
            "A PUT of a definition needs its resourceVersion.",
            async |t| {
                t.make(DEFINITIONS, definition(t, open())).await?;
                t.put(&own(t), &definition(t, open()))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.resourceVersion"])
                    .map(drop)
            },
        ),
        case(
            "a_kind_cannot_be_renamed",
            "Scope and kind of an established definition may not change.",
            async |t| {
                t.make(DEFINITIONS, definition(t, open())).await?;
                established(t).await?;
                let patch = json!({ "spec": { "scope": "Cluster", "names": { "kind": "Other" } } });
                let answer = t.merge(&own(t), patch).await?;
                answer
                    .invalid(&["FieldValueInvalid spec.scope", "FieldValueInvalid spec.names.kind"])
                    .map(drop)
            },
        ),
        case(
            "a_change_counts_a_generation",
            "A change of the spec counts a generation; one of a label does not.",
            async |t| {
                t.make(DEFINITIONS, definition(t, open())).await?;
                established(t).await?;
                let labelled = t
                    .merge(&own(t), json!({ "metadata": { "labels": { "a": "b" } } }))
                    .await?
                    .is(200)?;
                has(&labelled, json!({ "metadata": { "generation": 1 } }))?;
                let patch = json!({ "spec": { "names": { "shortNames": ["th"] } } });
                has(
                    &t.merge(&own(t), patch).await?.is(200)?,
                    json!({ "metadata": { "generation": 2 } }),
                )
            },
        ),
        case(
            "objects_of_a_kind_go_with_it",
            "Deleting a definition deletes its objects; its paths answer 404 afterwards.",
            async |t| {
                served(t, open()).await?;
                t.make(&things(t, ""), thing(t, "a")).await?;
                let held = t.delete(&own(t)).await?.is(200)?;
                has(
                    &held,
                    json!({ "metadata": { "finalizers": ["customresourcecleanup.apiextensions.k8s.io"] } }),
                )?;
                same("terminating", condition(&held, "Terminating"), "True")?;
                t.until_gone(&own(t)).await?;
                t.until_gone(&things(t, "/a")).await
            },
        ),
        case(
            "a_held_object_holds_its_definition",
            "While an object with a finalizer is there, so is the definition, and nothing new is created.",
            async |t| {
                served(t, open()).await?;
                let mut object = thing(t, "a");
                object["metadata"]["finalizers"] = json!(["example.com/hold"]);
                t.make(&things(t, ""), object).await?;
                t.delete(&own(t)).await?.is(200)?;
                t.until(&things(t, "/a"), "marked", |_, a| {
                    !text(a, "/metadata/deletionTimestamp").is_empty()
                })
                .await?;
                let refused = t.post(&things(t, ""), &thing(t, "b")).await?;
                refused.says(
                    403,
                    "Forbidden",
                    "create not allowed while custom resource definition is terminating",
                )?;
                t.merge(&things(t, "/a"), json!({ "metadata": { "finalizers": null } }))
                    .await?
                    .is(200)?;
                t.until_gone(&own(t)).await
            },
        ),
        case(
            "a_watch_ends_with_its_kind",
            "A watch sees the objects deleted and ends with their definition.",
            async |t| {
                served(t, open()).await?;
                let made = t.make(&things(t, ""), thing(t, "a")).await?;
                let path = things(t, &format!("?resourceVersion={}", version(&made)));
                let mut watch = t.watch(&path).await?;
                t.delete(&own(t)).await?.is(200)?;
                watch.event("DELETED", "a").await?;
                same("more", watch.rest().await?.len(), 0)
            },
        ),
        case(
            "new_defaults_show_in_old_objects",
            "A default that comes later shows in objects that were written before.",
            async |t| {
                let n = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
                served(t, of_spec(n)).await?;
                t.make(&things(t, ""), thing(t, "a")).await?;
                let schema = of_spec(json!({ "type": "object", "properties": {
                "n": { "type": "integer" }, "color": { "type": "string", "default": "red" },
            } }));
                let patch = json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema }]);
                t.json_patch(&own(t), patch).await?.is(200)?;
                let read = t
                    .until(&things(t, "/a"), "red", |_, a| text(a, "/spec/color") == "red")
                    .await?;
                has(&read, json!({ "spec": { "n": 1 } }))
            },
        ),
        case(
            "what_was_wrong_may_stay",
            "An update may leave what a newer schema refuses as it is.",
            async |t| {
                let words = json!({ "type": "object", "properties": { "n": { "type": "integer" }, "w": { "type": "string" } } });
                served(t, of_spec(words)).await?;
                let mut object = thing(t, "a");
                object["spec"]["w"] = "long".into();
                t.make(&things(t, ""), object).await?;
                let schema = of_spec(json!({ "type": "object", "properties": {
                "n": { "type": "integer" }, "w": { "type": "string", "maxLength": 2 },
            } }));
                let patch = json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema }]);
                t.json_patch(&own(t), patch).await?.is(200)?;
                let mut probe = thing(t, "probe");
                probe["spec"]["w"] = "long".into();
                in_force(t, &probe).await?;
                t.merge(&things(t, "/a"), json!({ "spec": { "n": 2 } })).await?.is(200)?;
                t.merge(&things(t, "/a"), json!({ "spec": { "w": "other" } }))
                    .await?
                    .invalid(&["FieldValueTooLong spec.w"])
                    .map(drop)
            },
        ),
    ]
}
