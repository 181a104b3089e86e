//! Server-side apply: what it writes, takes, keeps and refuses.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::apply::configurations::*;
use crate::conformance::apply::refusals::{bodies, refusals};
use crate::conformance::apply::structures::{custom, kubectl, lists, subresources};
use crate::conformance::managed::{fields, owners};
use crate::conformance::objects::tracker;
use crate::conformance::target::APPLY;
use crate::conformance::{Case, case};

mod configurations;
mod refusals;
mod structures;

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
                apply(t, "m", &object)
                    .await?
                    .says(409, "Conflict", "the object has been modified")
                    .map(drop)
            },
        ),
        case(
            "an_apply_with_a_version_creates",
            "An apply of a missing object creates it even with a resourceVersion.",
            async |t| {
                apply(t, "m", &with(json!({ "resourceVersion": "5" }))).await?.is(201).map(drop)
            },
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
                let label =
                    t.patch(&t.trackers("/a?fieldManager=m"), APPLY, &object).await?.is(200)?;
                same("after a label", generation(&label), json!(2))
            },
        ),
        case(
            "labels_of_several_managers_live_together",
            "Labels and annotations are owned one by one: each manager applies and abandons its own.",
            async |t| {
                apply(t, "m", &with(json!({ "labels": { "a": "1", "b": "1" } }))).await?.is(201)?;
                apply(
                    t,
                    "n",
                    &with(json!({ "labels": { "c": "1" }, "annotations": { "x": "y" } })),
                )
                .await?
                .is(200)?;
                let left =
                    apply(t, "m", &with(json!({ "labels": { "b": "1" } }))).await?.is(200)?;
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
                let status =
                    apply(t, "n", &map(json!({ "k": "w" }))).await?.refused(409, "Conflict")?;
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
                let status =
                    apply(t, "n", &map(json!({ "k": "w" }))).await?.refused(409, "Conflict")?;
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
                apply(t, "n", &map(json!({ "k": "w", "l": "w" })))
                    .await?
                    .refused(409, "Conflict")?;
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
                same(
                    "of the second",
                    fields(&forced, "n"),
                    json!({ "f:data": { "f:k": {}, "f:l": {} } }),
                )
            },
        ),
        case(
            "force_false_is_no_force",
            "An apply with force=false conflicts as one without.",
            async |t| {
                apply(t, "m", &map(json!({ "k": "v" }))).await?.is(201)?;
                let path = t.maps("/a?fieldManager=n&force=false");
                t.patch(&path, APPLY, &map(json!({ "k": "w" })))
                    .await?
                    .refused(409, "Conflict")
                    .map(drop)
            },
        ),
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
                let status =
                    apply(t, "m", &map(json!({ "k": "v" }))).await?.refused(409, "Conflict")?;
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
