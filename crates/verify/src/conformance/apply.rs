//! Server-side apply: what it writes, takes, keeps and refuses.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::managed::{fields, owners};
use crate::conformance::objects::{GROUP, pod, tracker};
use crate::conformance::target::{APPLY, MERGE};
use crate::conformance::{Case, Target, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = basics();
    cases.extend(conflicts());
    cases.extend(leaving());
    cases.extend(refusals());
    cases.extend(bodies());
    cases.extend(lists());
    cases.extend(custom());
    cases.extend(subresources());
    cases.extend(kubectl());
    cases
}

/// A configuration of a ConfigMap.
fn map(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": data })
}

/// As `map`, with more metadata.
fn with(metadata: Value) -> Value {
    let mut object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
    if object["metadata"]["name"].is_null() {
        object["metadata"]["name"] = "a".into();
    }
    object
}

/// Applies to the ConfigMap `a`.
async fn apply(t: &Target, manager: &str, object: &Value) -> Result<Answer, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}")), APPLY, object).await
}

async fn force(t: &Target, manager: &str, object: &Value) -> Result<Answer, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}&force=true")), APPLY, object).await
}

/// Updates the ConfigMap `a`.
async fn update(t: &Target, manager: &str, patch: Value) -> Result<Answer, String> {
    t.patch(&t.maps(&format!("/a?fieldManager={manager}")), MERGE, &patch).await
}

/// Applies a spec to the tracker `a`.
async fn track(t: &Target, manager: &str, spec: Value) -> Result<Answer, String> {
    t.patch(&t.trackers(&format!("/a?fieldManager={manager}")), APPLY, &tracker("a", spec)).await
}

async fn track_by_force(t: &Target, manager: &str, spec: Value) -> Result<Answer, String> {
    t.patch(&t.trackers(&format!("/a?fieldManager={manager}&force=true")), APPLY, &tracker("a", spec)).await
}

/// The fields that a refused apply names, in order.
fn causes(status: &Value) -> Vec<String> {
    let mut fields: Vec<_> =
        items(status, "/details/causes").iter().map(|cause| text(cause, "/field").to_owned()).collect();
    fields.sort();
    fields
}

fn basics() -> Vec<Case> {
    vec![
        case("apply_creates", "An apply of a missing object creates it: 201.", async |t| {
            let made = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
            has(&made, json!({ "data": { "k": "v" } }))
        }),
        case(
            "an_apply_is_recorded",
            "An apply leaves an entry with the operation Apply and exactly the fields of the configuration.",
            async |t| {
                let made = apply(t, "m", &map(json!({ "k": "v", "l": "w" }))).await?.is(201)?;
                let entry = json!({
                    "manager": "m", "operation": "Apply", "apiVersion": "v1", "time": "*", "fieldsType": "FieldsV1",
                    "fieldsV1": { "f:data": { "f:k": {}, "f:l": {} } },
                });
                same("entries", owners(&made), "m Apply")?;
                has(&made, json!({ "metadata": { "managedFields": [entry] } }))
            },
        ),
        case(
            "an_equal_apply_changes_nothing",
            "An apply of what its manager has applied before keeps the resourceVersion, and the entry its time.",
            async |t| {
                let made = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                let again = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(200)?;
                same("object", again, made)
            },
        ),
        case(
            "two_managers_may_agree",
            "An apply of the value that is there already is no conflict: both own the field, and the object is written.",
            async |t| {
                let made = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                let both = apply(t, "n", &map(json!({ "k": "v" }))).await?.is(200)?;
                same("owners", owners(&both).split(", ").count(), 2)?;
                same("fields", fields(&both, "n"), json!({ "f:data": { "f:k": {} } }))?;
                holds("the version is another", version(&both) != version(&made))
            },
        ),
        case(
            "who_only_agrees_has_no_time",
            "The entry of a manager whose apply changed no value has no time.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                let both = apply(t, "n", &map(json!({ "k": "v" }))).await?.is(200)?;
                let entries = items(&both, "/metadata/managedFields");
                let entry = entries.iter().find(|entry| text(entry, "/manager") == "n");
                same("time", entry.map(|entry| entry["time"].clone()), Some(Value::Null))
            },
        ),
        case(
            "an_apply_leaves_the_rest_alone",
            "An apply sets its own fields and leaves those of others as they are.",
            async |t| {
                t.map("a", "v").await?;
                let applied = apply(t, "m", &map(json!({ "l": "w" }))).await?.is(200)?;
                same("data", applied["data"].clone(), json!({ "k": "v", "l": "w" }))
            },
        ),
        case(
            "a_dry_run_applies_nothing",
            "An apply with dryRun=All answers with the result, its owners included, and writes nothing.",
            async |t| {
                let made = t.map("a", "v").await?;
                let path = t.maps("/a?fieldManager=m&dryRun=All");
                let answer = t.patch(&path, APPLY, &map(json!({ "l": "w" }))).await?.is(200)?;
                same("fields", fields(&answer, "m"), json!({ "f:data": { "f:l": {} } }))?;
                same("object", t.get(&t.maps("/a")).await?.is(200)?, made)
            },
        ),
        case(
            "a_dry_run_creates_nothing",
            "An apply of a missing object with dryRun=All answers 201 and creates nothing.",
            async |t| {
                let path = t.maps("/a?fieldManager=m&dryRun=All");
                t.patch(&path, APPLY, &map(json!({ "l": "w" }))).await?.is(201)?;
                t.get(&t.maps("/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "an_apply_says_which_version_it_means",
            "An apply with a stale resourceVersion answers 409; with the current one it is applied.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut object = map(json!({ "l": "w" }));
                object["metadata"]["resourceVersion"] = version(&made).into();
                apply(t, "m", &object).await?.is(200)?;
                object["data"]["l"] = "x".into();
                apply(t, "m", &object).await?.says(409, "Conflict", "the object has been modified").map(drop)
            },
        ),
        case(
            "an_apply_with_a_version_creates",
            "An apply of a missing object creates it even with a resourceVersion.",
            async |t| apply(t, "m", &with(json!({ "resourceVersion": "5" }))).await?.is(201).map(drop),
        ),
        case(
            "generation_follows_an_apply_of_the_spec",
            "An apply that changes the spec of a custom resource adds one to its generation; of a label, none.",
            async |t| {
                let generation = |object: &Value| object["metadata"]["generation"].clone();
                track(t, "m", json!({ "map": { "a": "b" } })).await?.is(201)?;
                let spec = track(t, "m", json!({ "map": { "a": "c" } })).await?.is(200)?;
                same("after the spec", generation(&spec), json!(2))?;
                let mut object = tracker("a", json!({ "map": { "a": "c" } }));
                object["metadata"]["labels"] = json!({ "a": "b" });
                let label = t.patch(&t.trackers("/a?fieldManager=m"), APPLY, &object).await?.is(200)?;
                same("after a label", generation(&label), json!(2))
            },
        ),
        case(
            "labels_of_several_managers_live_together",
            "Labels and annotations are owned one by one: each manager applies and abandons its own.",
            async |t| {
                apply(t, "m", &with(json!({ "labels": { "a": "1", "b": "1" } }))).await?.is(201)?;
                apply(t, "n", &with(json!({ "labels": { "c": "1" }, "annotations": { "x": "y" } })))
                    .await?
                    .is(200)?;
                let left = apply(t, "m", &with(json!({ "labels": { "b": "1" } }))).await?.is(200)?;
                same("labels", left["metadata"]["labels"].clone(), json!({ "b": "1", "c": "1" }))?;
                same("annotations", left["metadata"]["annotations"].clone(), json!({ "x": "y" }))
            },
        ),
    ]
}

fn conflicts() -> Vec<Case> {
    vec![
        case(
            "apply_conflicts_with_another_manager",
            "An apply of a field that another manager has set to another value answers 409 with the conflict as a cause.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                let status = apply(t, "n", &map(json!({ "k": "w" }))).await?.refused(409, "Conflict")?;
                has(
                    &status,
                    json!({
                        "message": "Apply failed with 1 conflict: conflict with \"m\": .data.k",
                        "details": { "name": null, "causes": [{
                            "reason": "FieldManagerConflict", "message": "conflict with \"m\"", "field": ".data.k",
                        }] },
                    }),
                )
            },
        ),
        case(
            "a_conflict_with_an_update_names_its_version",
            "A conflict with a manager that does not apply names the version it wrote.",
            async |t| {
                t.make(
                    &t.maps("?fieldManager=u"),
                    json!({ "metadata": { "name": "a" }, "data": { "k": "v" } }),
                )
                .await?;
                let status = apply(t, "n", &map(json!({ "k": "w" }))).await?.refused(409, "Conflict")?;
                let message = "Apply failed with 1 conflict: conflict with \"u\" using v1: .data.k";
                same("message", text(&status, "/message"), message)
            },
        ),
        case(
            "all_conflicts_are_named",
            "An apply that conflicts in several fields names them all, grouped by manager in the message.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v", "l": "v" }))).await?.is(201)?;
                apply(t, "n", &map(json!({ "o": "v" }))).await?.is(200)?;
                let config = map(json!({ "k": "w", "l": "w", "o": "w" }));
                let status = apply(t, "p", &config).await?.refused(409, "Conflict")?;
                same(
                    "fields",
                    causes(&status),
                    [".data.k", ".data.l", ".data.o"].map(str::to_owned).to_vec(),
                )?;
                let message = "Apply failed with 3 conflicts: conflicts with \"m\":\n- .data.k\n- .data.l\n\
                               conflicts with \"n\":\n- .data.o";
                same("message", text(&status, "/message"), message)
            },
        ),
        case(
            "a_refused_apply_changes_nothing",
            "An apply with a conflict writes none of its fields.",
            async |t| {
                let made = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                apply(t, "n", &map(json!({ "k": "w", "l": "w" }))).await?.refused(409, "Conflict")?;
                same("object", t.get(&t.maps("/a")).await?.is(200)?, made)
            },
        ),
        case(
            "force_takes_the_field",
            "An apply with force sets the field and takes it from its owner; an owner of nothing leaves the list.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                let forced = force(t, "n", &map(json!({ "k": "w" }))).await?.is(200)?;
                same("data", forced["data"].clone(), json!({ "k": "w" }))?;
                same("owners", owners(&forced), "n Apply")
            },
        ),
        case(
            "force_takes_only_what_differs",
            "An apply with force takes the fields it changes; those it agrees in are owned by both.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v", "l": "v" }))).await?.is(201)?;
                let forced = force(t, "n", &map(json!({ "k": "w", "l": "v" }))).await?.is(200)?;
                same("of the first", fields(&forced, "m"), json!({ "f:data": { "f:l": {} } }))?;
                same("of the second", fields(&forced, "n"), json!({ "f:data": { "f:k": {}, "f:l": {} } }))
            },
        ),
        case("force_false_is_no_force", "An apply with force=false conflicts as one without.", async |t| {
            apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
            let path = t.maps("/a?fieldManager=n&force=false");
            t.patch(&path, APPLY, &map(json!({ "k": "w" }))).await?.refused(409, "Conflict").map(drop)
        }),
        case(
            "an_update_takes_silently",
            "An update of a field that somebody has applied is no conflict: the field is the updater's.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v", "l": "v" }))).await?.is(201)?;
                let written = update(t, "u", json!({ "data": { "k": "w" } })).await?.is(200)?;
                same("of the applier", fields(&written, "m"), json!({ "f:data": { "f:l": {} } }))?;
                same("of the updater", fields(&written, "u"), json!({ "f:data": { "f:k": {} } }))
            },
        ),
        case(
            "an_update_makes_a_conflict",
            "An apply of a value that an update has changed since conflicts with the updater.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                update(t, "u", json!({ "data": { "k": "w" } })).await?.is(200)?;
                let status = apply(t, "m", &map(json!({ "k": "v" }))).await?.refused(409, "Conflict")?;
                same("fields", causes(&status), vec![".data.k".to_owned()])
            },
        ),
        case(
            "an_entry_of_the_same_name_that_updates_is_another",
            "A manager's updates and its applies are two entries, and conflict with each other.",
            async |t| {
                t.make(
                    &t.maps("?fieldManager=m"),
                    json!({ "metadata": { "name": "a" }, "data": { "k": "v" } }),
                )
                .await?;
                apply(t, "m", &map(json!({ "k": "w" }))).await?.refused(409, "Conflict")?;
                let both = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(200)?;
                same("owners", owners(&both), "m Apply, m Update")
            },
        ),
    ]
}

fn leaving() -> Vec<Case> {
    vec![
        case(
            "apply_removes_what_it_no_longer_says",
            "A second apply that leaves a field out removes it if nobody else has it.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v", "l": "v" }))).await?.is(201)?;
                let applied = apply(t, "m", &map(json!({ "k": "v" }))).await?.is(200)?;
                same("data", applied["data"].clone(), json!({ "k": "v" }))
            },
        ),
        case(
            "the_last_owner_takes_it_along",
            "A field that two have applied stays when the first leaves it out, and goes with the second.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                apply(t, "n", &map(json!({ "k": "v" }))).await?.is(200)?;
                let one = apply(t, "m", &map(json!({}))).await?.is(200)?;
                same("with one", one["data"].clone(), json!({ "k": "v" }))?;
                let none = apply(t, "n", &map(json!({}))).await?.is(200)?;
                holds("it is gone", none["data"].get("k").is_none())
            },
        ),
        case(
            "what_an_updater_has_too_stays",
            "A field that an update has set as well is not removed when its applier leaves it out.",
            async |t| {
                t.map("a", "v").await?;
                apply(t, "m", &map(json!({ "k": "v" }))).await?.is(200)?;
                let left = apply(t, "m", &map(json!({}))).await?.is(200)?;
                same("data", left["data"].clone(), json!({ "k": "v" }))
            },
        ),
        case(
            "what_was_taken_over_stays",
            "A field that an update took over is not removed when its former applier leaves it out.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v", "l": "v" }))).await?.is(201)?;
                update(t, "u", json!({ "data": { "k": "w" } })).await?.is(200)?;
                let left = apply(t, "m", &map(json!({ "l": "v" }))).await?.is(200)?;
                same("data", left["data"].clone(), json!({ "k": "w", "l": "v" }))
            },
        ),
        case(
            "an_emptied_map_goes",
            "When the last of a map's members is abandoned, the map goes too.",
            async |t| {
                apply(t, "m", &with(json!({ "labels": { "a": "1" } }))).await?.is(201)?;
                let left = apply(t, "m", &with(json!({}))).await?.is(200)?;
                has(&left, json!({ "metadata": { "labels": null, "managedFields": null } }))
            },
        ),
        case(
            "a_removed_field_has_no_owner",
            "A field that an update removes leaves every set it was in.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v", "l": "v" }))).await?.is(201)?;
                let written = update(t, "u", json!({ "data": { "k": null } })).await?.is(200)?;
                same("fields", fields(&written, "m"), json!({ "f:data": { "f:l": {} } }))?;
                same("owners", owners(&written), "m Apply")
            },
        ),
        case(
            "an_abandoned_finalizer_lets_it_go",
            "An apply that leaves out the last finalizer of an object that is being deleted removes it.",
            async |t| {
                apply(t, "m", &with(json!({ "finalizers": ["example.com/f"] }))).await?.is(201)?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                apply(t, "m", &with(json!({}))).await?.is(200)?;
                t.get(&t.maps("/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
    ]
}

fn refusals() -> Vec<Case> {
    vec![
        case(
            "apply_without_a_manager_is_422",
            "An apply without a fieldManager answers 422 with the required option as its cause.",
            async |t| {
                let answer = t.patch(&t.maps("/a"), APPLY, &map(json!({}))).await?;
                let status = answer.invalid(&["FieldValueRequired fieldManager"])?;
                has(&status, json!({ "details": { "group": "meta.k8s.io", "kind": "PatchOptions" } }))
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
        case("another_name_is_400", "An apply whose name is not the path's answers 400.", async |t| {
            let answer = apply(t, "m", &with(json!({ "name": "b" }))).await?;
            let message = "the name of the object (b) does not match the name on the URL (a)";
            answer.says(400, "BadRequest", message).map(drop)
        }),
        case("no_name_is_400", "An apply of a missing object without a name answers 400.", async |t| {
            let object = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
            apply(t, "m", &object).await?.says(400, "BadRequest", "name must be provided").map(drop)
        }),
        case(
            "an_existing_object_needs_no_name",
            "An apply to an object that is there may leave its name out.",
            async |t| {
                t.map("a", "v").await?;
                let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "l": "w" } });
                has(&apply(t, "m", &object).await?.is(200)?, json!({ "data": { "k": "v", "l": "w" } }))
            },
        ),
        case(
            "another_namespace_is_400",
            "An apply whose namespace is not the path's answers 400.",
            async |t| {
                let answer = apply(t, "m", &with(json!({ "namespace": "default" }))).await?;
                answer.says(400, "BadRequest", "does not match the namespace sent on the request").map(drop)
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
                answer.says(400, "BadRequest", "invalid object type: apps/v1, Kind=ConfigMap").map(drop)
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
        case("a_wrong_type_is_500", "An apply of a wrong type answers 500 and names the field.", async |t| {
            let status = apply(t, "m", &map(json!({ "k": 1 }))).await?.refused(500, "")?;
            let message = "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string, got \
                           &value.valueUnstructured{Value:1}";
            same("message", text(&status, "/message"), message)
        }),
        case("several_wrong_types_are_all_told", "An apply of several wrong types names each.", async |t| {
            let mut object = map(json!({ "k": "v" }));
            object["immutable"] = "yes".into();
            object["metadata"]["generation"] = "one".into();
            let status = apply(t, "m", &object).await?.refused(500, "")?;
            let message = text(&status, "/message");
            let told = [
                ".immutable: expected boolean, got &{yes}",
                ".metadata.generation: expected numeric (int or float), got string",
            ];
            holds("both are told", told.iter().all(|told| message.contains(told)))
        }),
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
                answer.says(409, "Conflict", "uid mismatch: the provided object specified uid abc").map(drop)
            },
        ),
        case("another_uid_is_422", "An apply with another uid than the object's answers 422.", async |t| {
            t.map("a", "v").await?;
            let answer = apply(t, "m", &with(json!({ "uid": "abc" }))).await?;
            answer.invalid(&["FieldValueInvalid metadata.uid"]).map(drop)
        }),
        case(
            "a_missing_namespace_is_404",
            "An apply in a namespace that is not there answers 404.",
            async |t| {
                let path = "/api/v1/namespaces/nowhere/configmaps/a?fieldManager=m";
                let status = t.patch(path, APPLY, &map(json!({}))).await?.refused(404, "NotFound")?;
                has(&status, json!({ "details": { "kind": "namespaces", "name": "nowhere" } }))
            },
        ),
        case("cbor_is_415", "An apply in CBOR answers 415: it is switched off by default.", async |t| {
            let media = "application/apply-patch+cbor";
            let answer = t.patch(&t.maps("/a?fieldManager=m"), media, &map(json!({}))).await?;
            answer.says(415, "UnsupportedMediaType", "415: Unsupported Media Type").map(drop)
        }),
    ]
}

fn bodies() -> Vec<Case> {
    const MEDIA: [(&str, &str); 1] = [("content-type", APPLY)];
    vec![
        case("yaml_is_applied", "The body of an apply may be YAML.", async |t| {
            let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: \"1\"\n  l: |\n    x\n    y\n";
            let made = t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?.is(201)?;
            same("data", made["data"].clone(), json!({ "k": "1", "l": "x\ny\n" }))
        }),
        case("what_is_no_yaml_is_400", "A body that is no YAML answers 400.", async |t| {
            for body in ["{", "a: b: c", "\"x"] {
                let answer = t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?;
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
                    let answer = t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?;
                    let message = format!(
                        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {sort} into \
                     Go value of type map[string]interface {{}}"
                    );
                    same("message", text(&answer.refused(400, "BadRequest")?, "/message"), &*message)?;
                }
                Ok(())
            },
        ),
        case(
            "an_empty_body_is_no_object",
            "An empty body, or null, answers 400: it is of no kind.",
            async |t| {
                for body in ["", "null"] {
                    let answer = t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?;
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
                let made = t.send(Method::PATCH, &t.maps("/a?fieldManager=m"), &MEDIA, body).await?;
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

fn lists() -> Vec<Case> {
    vec![
        case(
            "items_are_found_by_their_key",
            "A container is found by its name: its image may be applied alone, and conflicts by its path.",
            async |t| {
                t.make(&t.core("pods", "?fieldManager=u"), pod("p")).await?;
                let config = json!({
                    "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" },
                    "spec": { "containers": [{ "name": "c", "image": "other" }] },
                });
                let answer = t.patch(&t.core("pods", "/p?fieldManager=m"), APPLY, &config).await?;
                let status = answer.refused(409, "Conflict")?;
                same("fields", causes(&status), vec![".spec.containers[name=\"c\"].image".to_owned()])?;
                let path = t.core("pods", "/p?fieldManager=m&force=true");
                let forced = t.patch(&path, APPLY, &config).await?.is(200)?;
                let key = "k:{\"name\":\"c\"}";
                let owned = json!({ "f:spec": { "f:containers": { key: { ".": {}, "f:image": {}, "f:name": {} } } } });
                same("fields", fields(&forced, "m"), owned)
            },
        ),
        case(
            "a_key_may_be_a_default",
            "A port without a protocol has the default one in its key, and owns only what it says.",
            async |t| {
                let config = json!({
                    "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" },
                    "spec": { "ports": [{ "port": 80 }] },
                });
                let made =
                    t.patch(&t.core("services", "/s?fieldManager=m"), APPLY, &config).await?.is(201)?;
                let key = "k:{\"port\":80,\"protocol\":\"TCP\"}";
                same(
                    "fields",
                    fields(&made, "m"),
                    json!({ "f:spec": { "f:ports": { key: { ".": {}, "f:port": {} } } } }),
                )
            },
        ),
        case(
            "an_atomic_map_is_one_field",
            "A selector is one field: another manager cannot add to it.",
            async |t| {
                let config = |selector: Value| {
                    json!({
                        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" },
                        "spec": { "ports": [{ "port": 80 }], "selector": selector },
                    })
                };
                let path = |manager: &str| t.core("services", &format!("/s?fieldManager={manager}"));
                t.patch(&path("m"), APPLY, &config(json!({ "a": "b" }))).await?.is(201)?;
                let answer = t.patch(&path("n"), APPLY, &config(json!({ "a": "b", "c": "d" }))).await?;
                same("fields", causes(&answer.refused(409, "Conflict")?), vec![".spec.selector".to_owned()])
            },
        ),
        case(
            "finalizers_are_a_set",
            "Finalizers are owned one by one, by their value; the last owner takes each along.",
            async |t| {
                apply(t, "m", &with(json!({ "finalizers": ["example.com/a", "example.com/b"] })))
                    .await?
                    .is(201)?;
                let both = apply(t, "n", &with(json!({ "finalizers": ["example.com/c", "example.com/a"] })))
                    .await?
                    .is(200)?;
                let all = json!(["example.com/b", "example.com/c", "example.com/a"]);
                let order = both["metadata"]["finalizers"].clone();
                same("in the end", order.as_array().map(Vec::len), all.as_array().map(Vec::len))?;
                let owned = json!({ "f:metadata": { "f:finalizers": {
                    "v:\"example.com/a\"": {}, "v:\"example.com/c\"": {},
                } } });
                same("fields", fields(&both, "n"), owned)?;
                let left = apply(t, "m", &with(json!({}))).await?.is(200)?;
                same(
                    "left",
                    left["metadata"]["finalizers"].clone(),
                    json!(["example.com/c", "example.com/a"]),
                )
            },
        ),
        case(
            "owner_references_are_found_by_uid",
            "Owner references are keyed by uid: two managers may each have theirs.",
            async |t| {
                let reference = |uid: &str| {
                    with(json!({ "ownerReferences": [
                        { "apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid },
                    ] }))
                };
                // The owners are in another namespace for all the server knows: nobody collects what has one.
                let dry = |manager: &str| t.maps(&format!("/a?fieldManager={manager}&dryRun=All"));
                t.map("a", "v").await?;
                let one = t.patch(&dry("m"), APPLY, &reference("u-1")).await?.is(200)?;
                let key = "k:{\"uid\":\"u-1\"}";
                same(
                    "fields",
                    fields(&one, "m"),
                    json!({ "f:metadata": { "f:ownerReferences": { key: {} } } }),
                )
            },
        ),
        case(
            "what_is_twice_in_a_set_is_500",
            "An apply of a set with an item twice answers 500.",
            async |t| {
                let config = with(json!({ "finalizers": ["example.com/a", "example.com/a"] }));
                let status = apply(t, "m", &config).await?.refused(500, "")?;
                let part = ".metadata.finalizers: duplicate entries for key [=\"example.com/a\"]";
                holds("it is said", text(&status, "/message").ends_with(part))
            },
        ),
        case(
            "an_item_without_its_key_is_500",
            "An apply of an item without any of its list's keys answers 500.",
            async |t| {
                let mut config = tracker("a", json!({}));
                config["status"] = json!({ "conditions": [{ "status": "True" }] });
                let answer = t.patch(&t.trackers("/a?fieldManager=m"), APPLY, &config).await?;
                let part = ".status.conditions: element 0: associative list with keys has an element that omits all key \
                            fields [\"type\"] (and doesn't have default values for any key fields)";
                holds("it is said", text(&answer.refused(500, "")?, "/message").ends_with(part))
            },
        ),
    ]
}

fn custom() -> Vec<Case> {
    vec![
        case(
            "a_set_keeps_an_order",
            "Items of a set that two managers apply come in the later one's order, around what only the other has.",
            async |t| {
                track(t, "m", json!({ "set": ["a", "b", "c"] })).await?.is(201)?;
                let both = track(t, "n", json!({ "set": ["x", "b", "y"] })).await?.is(200)?;
                same("both", both["spec"]["set"].clone(), json!(["a", "x", "b", "c", "y"]))?;
                let again = track(t, "m", json!({ "set": ["c", "b", "q"] })).await?.is(200)?;
                same("again", again["spec"]["set"].clone(), json!(["x", "c", "y", "b", "q"]))?;
                let left = track(t, "n", json!({ "set": ["y"] })).await?.is(200)?;
                same("left", left["spec"]["set"].clone(), json!(["c", "y", "b", "q"]))
            },
        ),
        case(
            "a_keyed_list_is_merged",
            "Items of a list with keys are merged by them; what an applier leaves out goes if it was its own.",
            async |t| {
                track(
                    t,
                    "m",
                    json!({ "ports": [
                    { "port": 80, "protocol": "TCP", "name": "web" }, { "port": 1, "protocol": "TCP" },
                ] }),
                )
                .await?
                .is(201)?;
                track(t, "n", json!({ "ports": [{ "port": 80, "protocol": "UDP" }] })).await?.is(200)?;
                let left = track(
                    t,
                    "m",
                    json!({ "ports": [
                    { "port": 80, "protocol": "TCP", "name": "http" },
                ] }),
                )
                .await?
                .is(200)?;
                let ports = json!([
                    { "port": 80, "protocol": "TCP", "name": "http" }, { "port": 80, "protocol": "UDP" },
                ]);
                same("ports", left["spec"]["ports"].clone(), ports)
            },
        ),
        case(
            "keys_twice_are_500",
            "An apply of two items with the same keys, one of them by default, answers 500.",
            async |t| {
                let config = json!({ "ports": [{ "port": 1 }, { "port": 1, "protocol": "TCP" }] });
                let status = track(t, "m", config).await?.refused(500, "")?;
                let part = ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]";
                holds("it is said", text(&status, "/message").ends_with(part))
            },
        ),
        case(
            "an_atomic_list_is_one_field",
            "Lists that are atomic, or say nothing, are one field: another value conflicts as a whole.",
            async |t| {
                track(t, "m", json!({ "atomicList": ["a"], "plainList": [{ "a": "b" }] })).await?.is(201)?;
                let config = json!({ "atomicList": ["a", "b"], "plainList": [{ "a": "c" }] });
                let status = track(t, "n", config.clone()).await?.refused(409, "Conflict")?;
                let expected = [".spec.atomicList", ".spec.plainList"].map(str::to_owned).to_vec();
                same("fields", causes(&status), expected)?;
                let forced = track_by_force(t, "n", config.clone()).await?.is(200)?;
                same("spec", forced["spec"].clone(), config)
            },
        ),
        case(
            "a_custom_atomic_map_is_one_field",
            "A map that is atomic is replaced as a whole; one that is not is merged.",
            async |t| {
                track(t, "m", json!({ "atomicMap": { "a": "b" }, "map": { "a": "b" } })).await?.is(201)?;
                let status =
                    track(t, "n", json!({ "atomicMap": { "c": "d" } })).await?.refused(409, "Conflict")?;
                same("fields", causes(&status), vec![".spec.atomicMap".to_owned()])?;
                let config = json!({ "atomicMap": { "c": "d" }, "map": { "c": "d" } });
                let forced = track_by_force(t, "n", config).await?.is(200)?;
                let spec = json!({ "atomicMap": { "c": "d" }, "map": { "a": "b", "c": "d" } });
                same("spec", forced["spec"].clone(), spec)
            },
        ),
        case(
            "members_are_owned_one_by_one",
            "Members of an object with a schema are fields of their own; an empty map is one.",
            async |t| {
                let made = track(t, "m", json!({ "members": { "a": "1" }, "map": {} })).await?.is(201)?;
                same(
                    "fields",
                    fields(&made, "m"),
                    json!({ "f:spec": { "f:map": {}, "f:members": { "f:a": {} } } }),
                )?;
                let other = track(t, "n", json!({ "members": { "b": "1" } })).await?.is(200)?;
                same("members", other["spec"]["members"].clone(), json!({ "a": "1", "b": "1" }))
            },
        ),
        case(
            "what_has_no_schema_is_owned_by_member",
            "Below x-kubernetes-preserve-unknown-fields objects are owned member by member, and lists as a whole.",
            async |t| {
                let made = track(t, "m", json!({ "open": { "x": { "y": [{ "z": 1 }] } } })).await?.is(201)?;
                let owned = json!({ "f:spec": { "f:open": { "f:x": { ".": {}, "f:y": {} } } } });
                same("fields", fields(&made, "m"), owned)?;
                let both = track(t, "n", json!({ "open": { "x": { "w": 2 } } })).await?.is(200)?;
                same("open", both["spec"]["open"].clone(), json!({ "x": { "y": [{ "z": 1 }], "w": 2 } }))
            },
        ),
        case(
            "an_embedded_resource_has_metadata",
            "The metadata of an embedded resource is typed: its finalizers are a set.",
            async |t| {
                let inner = json!({
                    "apiVersion": "v1", "kind": "X",
                    "metadata": { "name": "n", "finalizers": ["example.com/a"], "labels": { "a": "b" } }, "z": 1,
                });
                let made = track(t, "m", json!({ "inner": inner })).await?.is(201)?;
                let owned = json!({ "f:spec": { "f:inner": {
                    "f:apiVersion": {}, "f:kind": {}, "f:z": {},
                    "f:metadata": {
                        "f:name": {}, "f:finalizers": { "v:\"example.com/a\"": {} }, "f:labels": { "f:a": {} },
                    },
                } } });
                same("fields", fields(&made, "m"), owned)
            },
        ),
        case(
            "a_value_may_change_its_type",
            "What may be a number or a text conflicts, and is taken, like any other field.",
            async |t| {
                track(t, "m", json!({ "either": 5 })).await?.is(201)?;
                let status = track(t, "n", json!({ "either": "5" })).await?.refused(409, "Conflict")?;
                same("fields", causes(&status), vec![".spec.either".to_owned()])?;
                let forced = track_by_force(t, "n", json!({ "either": "5" })).await?.is(200)?;
                same("either", forced["spec"]["either"].clone(), json!("5"))
            },
        ),
        case(
            "an_undeclared_member_is_500",
            "An apply of a member that a definition has not answers 500 and names its path.",
            async |t| {
                let status = track(t, "m", json!({ "members": { "c": 1 } })).await?.refused(500, "")?;
                let part = "Kind=Tracker): .spec.members.c: field not declared in schema";
                holds("it is said", text(&status, "/message").ends_with(part))
            },
        ),
        case(
            "each_version_has_its_own_structure",
            "What is applied in another version is owned in that version, with its structure.",
            async |t| {
                track(t, "m", json!({ "set": ["a"] })).await?.is(201)?;
                let mut object = tracker("a", json!({ "set": ["a", "b"] }));
                object["apiVersion"] = format!("{GROUP}/v2").into();
                let path = t.trackers("/a?fieldManager=m").replace("/v1/", "/v2/");
                let second = t.patch(&path, APPLY, &object).await?.is(200)?;
                has(&second["metadata"]["managedFields"][0], json!({ "apiVersion": format!("{GROUP}/v2") }))?;
                same("fields", fields(&second, "m"), json!({ "f:spec": { ".": {}, "f:set": {} } }))
            },
        ),
        case(
            "an_update_conflicts_in_its_version",
            "A conflict with what was written in another version names that version.",
            async |t| {
                track(t, "m", json!({ "set": ["a"] })).await?.is(201)?;
                let path = t.trackers("/a?fieldManager=two").replace("/v1/", "/v2/");
                t.merge(&path, json!({ "spec": { "map": { "z": "z" } } })).await?.is(200)?;
                let status = track(t, "m", json!({ "set": ["a"], "map": { "z": "y" } }))
                    .await?
                    .refused(409, "Conflict")?;
                let message = format!(
                    "Apply failed with 1 conflict: conflict with \"two\" using {GROUP}/v2: .spec.map.z"
                );
                same("message", text(&status, "/message"), &*message)
            },
        ),
    ]
}

fn subresources() -> Vec<Case> {
    vec![
        case(
            "a_status_is_applied_alone",
            "An apply to status changes and owns the status only, under the subresource.",
            async |t| {
                track(t, "m", json!({ "map": { "a": "b" } })).await?.is(201)?;
                let mut object = tracker("a", json!({ "map": { "a": "changed" } }));
                object["status"] = json!({ "phase": "Ready" });
                let applied =
                    t.patch(&t.trackers("/a/status?fieldManager=s"), APPLY, &object).await?.is(200)?;
                same("spec", applied["spec"].clone(), json!({ "map": { "a": "b" } }))?;
                same("owners", owners(&applied), "m Apply, s Apply status")?;
                same("fields", fields(&applied, "s"), json!({ "f:status": { "f:phase": {} } }))
            },
        ),
        case(
            "conditions_are_merged_by_type",
            "Conditions with a key are applied one by one, and conflict by their path and subresource.",
            async |t| {
                track(t, "m", json!({ "map": { "a": "b" } })).await?.is(201)?;
                let condition = |kind: &str, value: &str| {
                    let mut object = tracker("a", json!({}));
                    object["status"] = json!({ "conditions": [{ "type": kind, "status": value }] });
                    object
                };
                let path = |manager: &str| t.trackers(&format!("/a/status?fieldManager={manager}"));
                t.patch(&path("s"), APPLY, &condition("Ready", "True")).await?.is(200)?;
                let both = t.patch(&path("r"), APPLY, &condition("Done", "True")).await?.is(200)?;
                same("conditions", items(&both, "/status/conditions").len(), 2)?;
                let answer = t.patch(&path("r"), APPLY, &condition("Ready", "False")).await?;
                let message = "Apply failed with 1 conflict: conflict with \"s\" with subresource \"status\": \
                               .status.conditions[type=\"Ready\"].status";
                same("message", text(&answer.refused(409, "Conflict")?, "/message"), message)
            },
        ),
        case(
            "a_status_in_the_main_apply_is_nothing",
            "An apply to the object itself leaves the status alone and owns nothing of it.",
            async |t| {
                let mut object = tracker("a", json!({ "map": { "a": "b" } }));
                object["status"] = json!({ "phase": "Ready" });
                let made = t.patch(&t.trackers("/a?fieldManager=m"), APPLY, &object).await?.is(201)?;
                has(&made, json!({ "status": null }))?;
                same("fields", fields(&made, "m"), json!({ "f:spec": { "f:map": { "f:a": {} } } }))
            },
        ),
        case(
            "a_status_of_nothing_is_404",
            "An apply to the status of an object that is not there answers 404 and creates nothing.",
            async |t| {
                let object = tracker("a", json!({}));
                let answer = t.patch(&t.trackers("/a/status?fieldManager=s"), APPLY, &object).await?;
                answer.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_pods_status_takes_labels_along",
            "An apply to the status of a pod owns its labels too, but nothing of the spec.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                let config = json!({
                    "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "labels": { "a": "b" } },
                    "spec": { "priority": 5 }, "status": { "message": "m" },
                });
                let applied =
                    t.patch(&t.core("pods", "/p/status?fieldManager=s"), APPLY, &config).await?.is(200)?;
                let owned =
                    json!({ "f:metadata": { "f:labels": { "f:a": {} } }, "f:status": { "f:message": {} } });
                same("fields", fields(&applied, "s"), owned)
            },
        ),
    ]
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// As client-side `kubectl apply` creates it.
async fn client_side(t: &Target, data: Value) -> Result<Value, String> {
    let mut object = map(data);
    object["metadata"]["namespace"] = t.namespace.as_str().into();
    let last = object.to_string();
    object["metadata"]["annotations"] = json!({ LAST_APPLIED: last });
    t.make(&t.maps("?fieldManager=kubectl-client-side-apply"), object).await
}

fn kubectl() -> Vec<Case> {
    vec![
        case(
            "kubectl_takes_over_from_itself",
            "An apply of the manager kubectl has no conflicts in what client-side apply has applied last, and still is so.",
            async |t| {
                client_side(t, json!({ "k": "1", "l": "1" })).await?;
                let applied = apply(t, "kubectl", &map(json!({ "k": "2" }))).await?.is(200)?;
                same("data", applied["data"].clone(), json!({ "k": "2", "l": "1" }))
            },
        ),
        case(
            "others_do_not_take_over",
            "An apply of another manager conflicts with client-side apply.",
            async |t| {
                client_side(t, json!({ "k": "1" })).await?;
                apply(t, "m", &map(json!({ "k": "2" }))).await?.refused(409, "Conflict").map(drop)
            },
        ),
        case(
            "kubectl_conflicts_in_what_has_changed_since",
            "An apply of kubectl conflicts in what somebody has changed after the last client-side apply, and only in that.",
            async |t| {
                client_side(t, json!({ "k": "1", "l": "1" })).await?;
                update(t, "u", json!({ "data": { "l": "2" } })).await?.is(200)?;
                let answer = apply(t, "kubectl", &map(json!({ "k": "3", "l": "3" }))).await?;
                same("fields", causes(&answer.refused(409, "Conflict")?), vec![".data.l".to_owned()])
            },
        ),
        case(
            "the_last_applied_annotation_follows",
            "An apply of kubectl brings the annotation of client-side apply up to date where there is one.",
            async |t| {
                client_side(t, json!({ "k": "1" })).await?;
                let config = map(json!({ "k": "2" }));
                let applied = apply(t, "kubectl", &config).await?.is(200)?;
                let last =
                    applied["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap_or_default().to_owned();
                same("annotation", last, format!("{config}\n"))
            },
        ),
        case(
            "what_nobody_owned_belongs_to_before_first_apply",
            "The first apply to an object without owners gives all that is there to before-first-apply.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                made["metadata"]["managedFields"] = json!([]);
                t.put(&t.maps("/a"), &made).await?.is(200)?;
                let answer = apply(t, "m", &map(json!({ "k": "w" }))).await?;
                let message =
                    "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.k";
                same("message", text(&answer.refused(409, "Conflict")?, "/message"), message)?;
                let applied = apply(t, "m", &map(json!({ "l": "w" }))).await?.is(200)?;
                same("owners", owners(&applied), "m Apply, before-first-apply Update")
            },
        ),
    ]
}
