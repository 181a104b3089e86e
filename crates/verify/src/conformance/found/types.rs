//! What random calls found of members of wrong types, of what an object says to be, and of the
//! owners of such.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{APPLY, Case, case};

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

pub(super) fn cases() -> Vec<Case> {
    [decoding(), kinds(), owners(), reads(), deletes()].into_iter().flatten().collect()
}

/// A widget with this in its metadata.
fn with(member: &str, value: Value) -> Value {
    let mut object = widget("a", json!({}));
    object["metadata"][member] = value;
    object
}

fn decoding() -> Vec<Case> {
    vec![
        case(
            "a_custom_object_is_refused_as_what_it_says_to_be",
            "A custom object that cannot be decoded is spoken of with the version it says, also none; refused for an unknown \
             field, as the kind it says; and without a version no field is looked at.",
            async |t| {
                let path = t.widgets("?dryRun=All&fieldValidation=Strict");
                let bad = json!({ "deletionGracePeriodSeconds": {} });
                for version in ["", "a/"] {
                    let object =
                        json!({ "apiVersion": version, "kind": "Widget", "metadata": bad });
                    let why = "Widget in version \"\" cannot be handled as a Widget: ";
                    t.post(&path, &object).await?.says(400, "BadRequest", why)?;
                    let object =
                        json!({ "apiVersion": version, "kind": "Widget", "metadata": { "x": 1 } });
                    t.post(&path, &object).await?.refused(400, "BadRequest")?;
                }
                let other = json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Other", "metadata": { "x": 1 } });
                let why =
                    "Other in version \"v1\" cannot be handled as a Other: strict decoding error";
                t.post(&path, &other).await?.says(400, "BadRequest", why).map(drop)
            },
        ),
        case(
            "a_version_that_is_null_is_no_text",
            "A custom object whose apiVersion is null answers 400.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["apiVersion"] = Value::Null;
                t.post(&t.widgets(""), &object).await?.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "nobody_holds_another_kind_to_a_schema",
            "A custom object that says to be of another kind answers 422 without a warning of members that are unknown.",
            async |t| {
                let mut object = tracker("a", json!({ "unknown": 1 }));
                object["kind"] = "x".into();
                let answer = t.post(&t.trackers(""), &object).await?;
                answer.refused(422, "Invalid")?;
                same("the warnings", answer.warnings().len(), 0)
            },
        ),
        case(
            "another_version_is_found_when_all_is_decoded",
            "A custom object of another version with an unknown member in its metadata answers 400 and warns of the member.",
            async |t| {
                let mut object = with("extra", 1.into());
                object["apiVersion"] = "x".into();
                let answer = t.post(&t.widgets(""), &object).await?;
                answer.says(400, "BadRequest", "the API version in the data (x) does not match")?;
                same("the warnings", answer.warnings().len(), 1)
            },
        ),
        case(
            "what_metadata_do_not_have_is_warned_of_even_as_null",
            "An unknown member of a custom object's metadata is warned of, though it is null.",
            async |t| {
                let answer = t.post(&t.widgets(""), &with("extra", Value::Null)).await?;
                answer.is(201)?;
                let part = "unknown field \\\"metadata.extra\\\"";
                holds(
                    "it is warned of",
                    answer.warnings().iter().any(|warning| warning.contains(part)),
                )
            },
        ),
        case(
            "a_null_label_is_an_empty_one",
            "A label of a custom object that is null is stored as an empty text.",
            async |t| {
                let made = t.make(&t.widgets(""), with("labels", json!({ "l": null }))).await?;
                has(&made, json!({ "metadata": { "labels": { "l": "" } } }))
            },
        ),
        case(
            "times_in_metadata_are_read_as_go_reads_them",
            "A custom object with a deletionTimestamp that is no time answers 400.",
            async |t| {
                for time in ["x", "é"] {
                    let answer =
                        t.post(&t.widgets(""), &with("deletionTimestamp", time.into())).await?;
                    answer.refused(400, "BadRequest")?;
                }
                Ok(())
            },
        ),
        case(
            "metadata_of_wrong_types_are_400",
            "A custom object whose labels are a list answers 400.",
            async |t| {
                let answer = t.post(&t.widgets(""), &with("labels", json!([]))).await?;
                answer.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "bytes_may_be_numbers",
            "Data of a Secret may be a list of numbers up to 255, which are its bytes.",
            async |t| {
                let secret =
                    |data: Value| json!({ "metadata": { "name": "a" }, "data": { "k": data } });
                let made = t.make(&t.core("secrets", ""), secret(json!([1, 2, null]))).await?;
                has(&made, json!({ "data": { "k": "AQIA" } }))?;
                let answer = t.post(&t.core("secrets", ""), &secret(json!([256]))).await?;
                answer.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "an_object_cannot_be_patched_into_something_else",
            "A JSON patch that puts a text in the place of the whole object answers 422 and says no more.",
            async |t| {
                t.map("a", "v").await?;
                let patch = json!([{ "op": "replace", "path": "", "value": "y" }]);
                let status = t.json_patch(&t.maps("/a"), patch).await?.refused(422, "Invalid")?;
                same("the details", &status["details"], &json!({}))
            },
        ),
        case(
            "nulls_that_are_applied_stay_nulls",
            "A null that is applied to a custom object is no absent member: where its schema has none it answers 422.",
            async |t| {
                let config = json!({ "spec": { "size": null } });
                let answer = apply_gear(t, config).await?;
                answer.invalid(&["FieldValueTypeInvalid spec.size"])?;
                // Where there is a default, that is taken.
                let made = apply_gear(t, json!({ "spec": { "level": null } })).await?.is(201)?;
                has(&made, json!({ "spec": { "level": 3 } }))
            },
        ),
        case(
            "what_is_refused_is_named_in_quotes",
            "The name of an invalid object is shown as Go quotes it.",
            async |t| {
                let answer = t.post(&t.widgets(""), &widget("a\n", json!({}))).await?;
                answer
                    .says(422, "Invalid", "Widget.conformance.example.com \"a\\n\" is invalid")
                    .map(drop)
            },
        ),
    ]
}

async fn apply_gear(t: &crate::conformance::Target, config: Value) -> Result<Answer, String> {
    let mut object = gear("a", json!({}));
    object["spec"] = config["spec"].clone();
    t.patch(&t.gears("/a?fieldManager=m"), APPLY, &object).await
}

fn kinds() -> Vec<Case> {
    vec![
        case(
            "a_whole_number_as_a_float_is_a_change",
            "A patch of 2 to 2.0 in a custom object counts a generation, though 2 is what is stored.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({ "size": 2 }))).await?;
                let patched =
                    t.merge(&t.widgets("/a"), json!({ "spec": { "size": 2.0 } })).await?.is(200)?;
                has(&patched, json!({ "metadata": { "generation": 2 }, "spec": { "size": 2 } }))
            },
        ),
        case(
            "a_list_may_stand_for_a_text_of_a_format",
            "Where a schema has a text with a format a list is taken, and an apply to such an object answers 500.",
            async |t| {
                for (name, spec) in
                    [("a", json!({ "when": [] })), ("b", json!({ "formats": { "bytes": [] } }))]
                {
                    t.make(&t.gears(""), gear(name, spec)).await?;
                    let path = t.gears(&format!("/{name}?fieldManager=m"));
                    let answer = t.patch(&path, APPLY, &gear(name, json!({ "word": "x" }))).await?;
                    answer.says(500, "", "failed to create manager for existing fields: ")?;
                }
                Ok(())
            },
        ),
        case(
            "what_cannot_be_decoded_is_named_as_it_says",
            "A custom object of another version whose metadata cannot be decoded is named with that version.",
            async |t| {
                let mut object = with("uid", 1.into());
                object["apiVersion"] = "x".into();
                let answer = t.post(&t.widgets(""), &object).await?;
                let part = "Widget in version \"x\" cannot be handled as a Widget";
                answer.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "an_event_may_be_called_anything_that_is_part_of_a_path",
            "The name of an Event of core/v1 is held to nothing but that a path can have it, and so is its generateName.",
            async |t| {
                let mut event = old_event("A b_", &t.namespace);
                event["metadata"]["generateName"] = "é".into();
                t.make(&t.core("events", ""), event.clone()).await?;
                event["metadata"]["generateName"] = "a/".into();
                let answer = t.post(&t.core("events", ""), &event).await?;
                answer.invalid(&["FieldValueInvalid metadata.generateName"])?;
                let young = new_event("A", &t.namespace);
                t.post(&t.new_events(""), &young)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.name"])
                    .map(drop)
            },
        ),
        case(
            "another_namespace_comes_before_all_else",
            "A PUT of an object of another namespace answers 400 for that, be it there or not, and before its name is looked at.",
            async |t| {
                let mut object = map("b", "v");
                object["metadata"]["namespace"] = "other".into();
                let part = "the namespace of the provided object does not match the namespace sent on the request";
                t.put(&t.maps("/a"), &object).await?.says(400, "BadRequest", part)?;
                t.map("a", "v").await?;
                let patch = json!({ "metadata": { "name": "b", "namespace": "other" } });
                t.merge(&t.maps("/a"), patch).await?.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "another_kind_is_found_when_an_object_is_validated",
            "An update of a custom object that says to be of another kind answers 404 or 409 first, where that is so.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["kind"] = "x".into();
                t.put(&t.widgets("/a"), &object).await?.refused(404, "NotFound")?;
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                object["metadata"]["resourceVersion"] = "1".into();
                t.put(&t.widgets("/a"), &object).await?.refused(409, "Conflict").map(drop)
            },
        ),
        case(
            "a_patch_may_not_change_the_version",
            "A patch that changes the apiVersion of a custom object answers 422 in the name of that version's group.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let answer = t.merge(&t.widgets("/a"), json!({ "apiVersion": "x" })).await?;
                answer.invalid(&["FieldValueInvalid apiVersion"])?;
                let part = "Widget \"a\" is invalid: apiVersion: Invalid value: \"x\": must be conformance.example.com/v1";
                answer.says(422, "Invalid", part)?;
                let answer = t.merge(&t.widgets("/a"), json!({ "apiVersion": "" })).await?;
                answer.refused(500, "InternalError").map(drop)
            },
        ),
        case(
            "a_status_may_say_to_be_of_another_kind",
            "A patch of the status of a custom object that changes its kind changes nothing.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let same_kind =
                    t.merge(&t.widgets("/a/status"), json!({ "kind": "x" })).await?.is(200)?;
                has(&same_kind, json!({ "kind": "Widget" }))
            },
        ),
        case(
            "a_version_at_a_create_is_looked_at_last",
            "A create with a resourceVersion of an invalid object is invalid; a dry run takes no notice of it.",
            async |t| {
                let mut object = map("A", "v");
                object["metadata"]["resourceVersion"] = "1".into();
                t.post(&t.maps(""), &object).await?.refused(422, "Invalid")?;
                object["metadata"]["name"] = "a".into();
                t.post(&t.maps(""), &object).await?.refused(500, "")?;
                let tried = t.post(&t.maps("?dryRun=All"), &object).await?.is(201)?;
                same("the version", version(&tried), "1")
            },
        ),
    ]
}

fn owners() -> Vec<Case> {
    vec![
        case(
            "an_empty_list_of_owners_of_a_custom_object_says_nothing",
            "managedFields that are an empty list take all fields from all owners, but of a custom object they do nothing.",
            async |t| {
                t.labelled("a", "l", "x").await?;
                t.make(&t.widgets(""), with("labels", json!({ "l": "x" }))).await?;
                let none = json!({ "metadata": { "managedFields": [] } });
                let map = t.merge(&t.maps("/a"), none.clone()).await?.is(200)?;
                same("owners of the map", &map["metadata"]["managedFields"], &Value::Null)?;
                let widget = t.merge(&t.widgets("/a"), none).await?.is(200)?;
                holds("the widget has owners", widget["metadata"]["managedFields"].is_array())?;
                let zero = json!({ "metadata": { "managedFields": [null] } });
                let widget = t.merge(&t.widgets("/a"), zero).await?.is(200)?;
                same("owners of the widget", &widget["metadata"]["managedFields"], &Value::Null)
            },
        ),
        case(
            "what_was_applied_and_pruned_is_written_once_more",
            "After an apply of which something was pruned a patch that changes nothing makes a new version.",
            async |t| {
                let config = json!({ "spec": { "open": { "inner": { "b": "y" } } } });
                let made = apply_gear(t, config).await?.is(201)?;
                let patched = t.merge(&t.gears("/a"), json!({})).await?.is(200)?;
                holds("it is another version", version(&made) != version(&patched))?;
                let again = t.merge(&t.gears("/a"), json!({})).await?.is(200)?;
                same("the version", version(&again), version(&patched))
            },
        ),
        case(
            "a_write_in_another_version_takes_the_status_from_its_owner",
            "An update in another version than the status was applied in leaves the status and takes it from its owner.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let mut status = widget("a", json!({}));
                status["status"] = json!({});
                let path = t.widgets("/a/status?fieldManager=m");
                let applied = t.patch(&path, APPLY, &status).await?.is(200)?;
                holds("it is owned", applied["metadata"]["managedFields"].is_array())?;
                let mut object = widget("a", json!({}));
                object["apiVersion"] = "conformance.example.com/v2".into();
                object["metadata"]["resourceVersion"] = version(&applied).into();
                let new = t.put(&t.widgets_v2("/a"), &object).await?.is(200)?;
                has(&new, json!({ "status": {} }))?;
                let owners = items(&new, "/metadata/managedFields");
                holds("m owns nothing", owners.iter().all(|owner| owner["manager"] != "m"))
            },
        ),
        case(
            "a_status_in_another_version_takes_nothing",
            "A write to the status in another version than the labels were written in leaves these to their owner.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["labels"] = json!({ "l": "x" });
                let made = t.make(&t.widgets(""), object.clone()).await?;
                object["apiVersion"] = "conformance.example.com/v2".into();
                object["metadata"] = json!({ "name": "a", "resourceVersion": version(&made) });
                let new = t.put(&t.widgets_v2("/a/status"), &object).await?.is(200)?;
                let fields =
                    &new["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"];
                holds("they are owned", fields["f:l"].is_object())
            },
        ),
        case(
            "what_is_applied_and_unknown_is_owned_and_not_stored",
            "An applied member that nothing but an open object knows is owned by who applied it, and pruned.",
            async |t| {
                let config = json!({ "spec": { "open": { "inner": { "a": "x", "b": "y" } } } });
                let made = apply_gear(t, config).await?.is(201)?;
                same("what is stored", &made["spec"]["open"], &json!({ "inner": { "a": "x" } }))?;
                let fields = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:open"];
                holds("it is owned", fields["f:inner"]["f:b"].is_object())
            },
        ),
        case(
            "what_does_not_fit_its_schema_has_no_owners",
            "A create whose status does not fit the schema leaves the object without owners, though no status is stored.",
            async |t| {
                let mut object = tracker("a", json!({}));
                object["metadata"]["labels"] = json!({ "l": "x" });
                object["status"] = json!([]);
                let made = t.make(&t.trackers(""), object).await?;
                same("the owners", &made["metadata"]["managedFields"], &Value::Null)
            },
        ),
        case(
            "a_status_with_a_misfit_beside_it_ends_ownership",
            "A write to the status with a spec of a wrong type takes all fields from all owners.",
            async |t| {
                let mut object = tracker("a", json!({}));
                object["metadata"]["labels"] = json!({ "l": "x" });
                let made = t.make(&t.trackers(""), object).await?;
                holds("there is an owner", made["metadata"]["managedFields"].is_array())?;
                let new =
                    t.merge(&t.trackers("/a/status"), json!({ "spec": "x" })).await?.is(200)?;
                same("the owners", &new["metadata"]["managedFields"], &Value::Null)
            },
        ),
        case(
            "an_apply_that_cannot_be_decoded_is_500",
            "An apply that cannot be decoded answers 500.",
            async |t| {
                t.make(&t.core("secrets", ""), named("a")).await?;
                let config = json!({
                    "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": { "k": "dg" },
                });
                let answer =
                    t.patch(&t.core("secrets", "/a?fieldManager=m"), APPLY, &config).await?;
                answer.refused(500, "").map(drop)
            },
        ),
    ]
}

fn reads() -> Vec<Case> {
    vec![
        case(
            "one_object_has_no_pages",
            "A list of one object by its name with a limit of 1 has no token, whatever else is there.",
            async |t| {
                for name in ["a", "b"] {
                    t.map(name, "v").await?;
                }
                let list =
                    t.get(&t.maps("?fieldSelector=metadata.name%3Da&limit=1")).await?.is(200)?;
                same("the token", &list["metadata"]["continue"], &Value::Null)
            },
        ),
        case(
            "there_is_more_if_anything_follows",
            "A page that a selector has filled has a token if any object follows, be it one that is selected or not.",
            async |t| {
                t.labelled("a", "l", "x").await?;
                t.map("b", "v").await?;
                let page = t.get(&t.maps("?labelSelector=l%3Dx&limit=1")).await?.is(200)?;
                let token = text(&page, "/metadata/continue");
                holds("there is a token", !token.is_empty())?;
                let rest = t
                    .get(&t.maps(&format!("?labelSelector=l%3Dx&limit=1&continue={token}")))
                    .await?;
                same("what follows", names(&rest.is(200)?), "")
            },
        ),
        case(
            "a_token_is_read_whatever_is_selected",
            "A list of one object by its name refuses a wrong token, and takes a right one at its word.",
            async |t| {
                for name in ["a", "b"] {
                    t.map(name, "v").await?;
                }
                let by_name = "fieldSelector=metadata.name%3Da";
                let answer = t.get(&t.maps(&format!("?continue=e30&{by_name}"))).await?;
                answer.says(400, "BadRequest", "invalid continue token")?;
                let page = t.get(&t.maps("?limit=1")).await?.is(200)?;
                let token = text(&page, "/metadata/continue");
                let list =
                    t.get(&t.maps(&format!("?continue={token}&{by_name}"))).await?.is(200)?;
                same("the names", names(&list), "")
            },
        ),
        case(
            "a_watch_for_lists_ends_with_its_first_event",
            "A watch by who accepts nothing but PartialObjectMetadataList opens, shows nothing, and ends with the first event.",
            async |t| {
                t.map("a", "v").await?;
                let mut lines = t.watch_as(&t.maps("?resourceVersion=0"), METADATA_LIST).await?;
                holds("it ends", lines.next().await?.is_none())
            },
        ),
        case(
            "versions_of_events_are_read_by_the_store",
            "A GET of an Event at a resourceVersion that is no number answers 400, unlike that of other kinds.",
            async |t| {
                let answer = t.get(&t.core("events", "/a?resourceVersion=x")).await?;
                answer.refused(400, "BadRequest")?;
                t.get(&t.maps("/a?resourceVersion=x")).await?.refused(500, "").map(drop)
            },
        ),
    ]
}

fn deletes() -> Vec<Case> {
    vec![
        case(
            "nothing_depends_on_events",
            "A DELETE of an Event with the policy Foreground removes it at once, whatever a garbage collector does.",
            async |t| {
                t.make(&t.core("events", ""), old_event("a", &t.namespace)).await?;
                let policy = json!({ "propagationPolicy": "Foreground" });
                let gone = t.delete_with(&t.core("events", "/a"), policy).await?.is(200)?;
                has(&gone, json!({ "kind": "Status", "status": "Success" }))
            },
        ),
        case(
            "events_are_deleted_in_the_name_of_one_group",
            "A DELETE of an Event of events.k8s.io whose precondition does not hold answers 409 without a group.",
            async |t| {
                t.make(&t.core("events", ""), old_event("a", &t.namespace)).await?;
                let wanted =
                    json!({ "preconditions": { "uid": "00000000-0000-4000-8000-000000000009" } });
                let status =
                    t.delete_with(&t.new_events("/a"), wanted).await?.refused(409, "Conflict")?;
                same("the group", &status["details"]["group"], &Value::Null)
            },
        ),
        case(
            "options_say_what_they_are_first",
            "DeleteOptions of another kind answer 400 for that, whatever else is wrong with them.",
            async |t| {
                let options = json!({ "kind": "x", "propagationPolicy": [] });
                let answer = t.delete_with(&t.maps("/a"), options).await?;
                let part = "no kind \"x\" is registered for version \"meta.k8s.io/v1\"";
                answer.says(400, "BadRequest", part)?;
                let answer = t.delete_with(&t.maps("/a"), json!({ "apiVersion": "a/b/c" })).await?;
                answer.says(400, "BadRequest", "unexpected GroupVersion string: a/b/c").map(drop)
            },
        ),
        case(
            "a_null_dry_run_is_an_empty_one",
            "DeleteOptions whose dryRun holds a null answer 422, as with an empty text there.",
            async |t| {
                let answer = t.delete_with(&t.maps("/a"), json!({ "dryRun": [null] })).await?;
                answer
                    .says(
                        422,
                        "Invalid",
                        "dryRun: Unsupported value: [\"\"]: supported values: \"All\"",
                    )
                    .map(drop)
            },
        ),
    ]
}
