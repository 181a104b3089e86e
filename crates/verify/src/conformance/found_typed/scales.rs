//! What random calls found of scales: a Scale is an object of its own to everything but the store.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::found_typed::objects::{TABLE, replica_set, sets};
use crate::conformance::{APPLY, Case, JSON_PATCH, MERGE, STRATEGIC, case};

pub(super) fn cases() -> Vec<Case> {
    [writes(), bodies()].into_iter().flatten().collect()
}

fn writes() -> Vec<Case> {
    vec![
        case(
            "a_scale_that_is_applied_to_nothing_is_not_found",
            "An apply to the scale or the status of what is not there answers 404, whatever the body says it is.",
            async |t| {
                let path = sets(t, "/a/scale?fieldManager=m");
                t.patch(&path, APPLY, &json!({ "kind": "x" })).await?.refused(404, "NotFound")?;
                let path = sets(t, "/a/status?fieldManager=m");
                t.patch(&path, APPLY, &json!({ "kind": "x" })).await?.refused(404, "NotFound")?;
                t.patch(&sets(t, "/a/scale"), MERGE, &json!(0))
                    .await?
                    .refused(404, "NotFound")
                    .map(drop)
            },
        ),
        case(
            "a_put_of_a_scale_is_read_before_the_object_is_looked_for",
            "PUT of a Scale with replicas that are a text answers 400, be there an object to scale or not.",
            async |t| {
                let scale = json!({ "metadata": { "name": "a" }, "spec": { "replicas": "x" } });
                let answer = t.put(&sets(t, "/a/scale"), &scale).await?;
                answer
                    .says(400, "BadRequest", "Scale in version \"v1\" cannot be handled as a Scale")
                    .map(drop)
            },
        ),
        case(
            "a_put_of_a_scale_says_which_object_it_means",
            "PUT of a Scale with the uid of another object answers 409 in the words of the store.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale =
                    json!({ "metadata": { "name": "a", "uid": "x" }, "spec": { "replicas": 2 } });
                let part = "Operation cannot be fulfilled on replicasets.apps \"a\": StorageError: invalid object, Code: 4";
                t.put(&sets(t, "/a/scale"), &scale).await?.says(409, "Conflict", part).map(drop)
            },
        ),
        case(
            "a_patch_of_a_scale_says_which_object_it_means",
            "A patch that gives a Scale another uid answers 409 in the words of the subresource.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let answer =
                    t.merge(&sets(t, "/a/scale"), json!({ "metadata": { "uid": "x" } })).await?;
                let part = "Operation cannot be fulfilled on replicasets/scale.apps \"a\": Precondition failed: UID in \
                            precondition: x, UID in object meta: ";
                answer.says(409, "Conflict", part).map(drop)
            },
        ),
        case(
            "a_scale_is_in_the_namespace_of_its_path",
            "A Scale with another namespace than its path answers 400, in a PUT and in a patch.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let part = "the namespace of the provided object does not match the namespace sent on the request";
                let scale = json!({ "metadata": { "name": "a", "namespace": "other" } });
                t.put(&sets(t, "/a/scale"), &scale).await?.says(400, "BadRequest", part)?;
                t.merge(&sets(t, "/a/scale"), scale).await?.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "the_metadata_of_a_scale_is_checked",
            "Labels, finalizers and generation of a Scale are checked as any object's, though they are not stored.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let metadata =
                    json!({ "labels": { "a b": "x" }, "finalizers": ["bad"], "generation": -1 });
                let answer = t.merge(&sets(t, "/a/scale"), json!({ "metadata": metadata })).await?;
                answer.invalid(&[
                    "FieldValueInvalid metadata.generation",
                    "FieldValueInvalid metadata.labels",
                    "FieldValueInvalid metadata.finalizers[0]",
                ])?;
                let fine = json!({ "metadata": { "labels": { "a": "x" } } });
                let scale = t.merge(&sets(t, "/a/scale"), fine).await?.is(200)?;
                same("the labels", &scale["metadata"]["labels"], &Value::Null)
            },
        ),
        case(
            "a_scale_leaves_two_entries_of_one_manager",
            "A write to a Scale takes the replicas out of the entry of who made the object and puts an entry of the \
             same manager beside it, without a time.",
            async |t| {
                t.make(&sets(t, "?fieldManager=m"), replica_set("a")).await?;
                let scale = json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "a" } });
                t.patch(&sets(t, "/a/scale?fieldManager=n"), APPLY, &scale).await?.is(200)?;
                let object = t.get(&sets(t, "/a")).await?.is(200)?;
                let entries = items(&object, "/metadata/managedFields");
                same("the entries", entries.len(), 2)?;
                has(
                    &entries[0],
                    json!({ "manager": "m", "fieldsV1": { "f:spec": { "f:replicas": {} } } }),
                )?;
                same("the time", text(&entries[0], "/time"), "")?;
                same(
                    "the other one's replicas",
                    entries[1].pointer("/fieldsV1/f:spec/f:replicas"),
                    None::<&Value>,
                )
            },
        ),
    ]
}

fn bodies() -> Vec<Case> {
    vec![
        case(
            "another_kind_cannot_be_made_a_scale",
            "PUT of a known kind to a scale answers 400, and a patch into one 422.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let map =
                    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
                t.put(&sets(t, "/a/scale"), &map).await?.refused(400, "BadRequest")?;
                let types = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
                t.merge(&sets(t, "/a/scale"), types).await?.refused(422, "Invalid").map(drop)
            },
        ),
        case(
            "an_unknown_kind_is_no_scale",
            "PUT of a Scale in a version that has none answers 400.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale = json!({ "apiVersion": "apps/v1", "metadata": { "name": "a" } });
                t.put(&sets(t, "/a/scale"), &scale).await?.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "what_a_scale_does_not_have_is_warned_of",
            "Unknown members of a Scale are warned of in a PUT and in patches, and refused with fieldValidation=Strict.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale = json!({ "metadata": { "name": "a" }, "spec": { "foo": 1 } });
                let warning = "299 - \"unknown field \\\"spec.foo\\\"\"";
                for media in [MERGE, STRATEGIC] {
                    let answer = t.patch(&sets(t, "/a/scale"), media, &scale).await?;
                    answer.is(200)?;
                    same("the warnings", answer.warnings(), vec![warning.to_owned()])?;
                }
                let answer = t.put(&sets(t, "/a/scale"), &scale).await?;
                answer.is(200)?;
                same("the warnings", answer.warnings(), vec![warning.to_owned()])?;
                let answer = t.put(&sets(t, "/a/scale?fieldValidation=Strict"), &scale).await?;
                let part = "Scale in version \"v1\" cannot be handled as a Scale: strict decoding error: unknown field \
                            \"spec.foo\"";
                answer.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "a_patch_makes_no_scale_of_a_text",
            "A patch that sets the replicas of a Scale to a text answers 422 with the field `patch`.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let steps = json!([{ "op": "replace", "path": "/spec/replicas", "value": "x" }]);
                let answer = t.patch(&sets(t, "/a/scale"), JSON_PATCH, &steps).await?;
                answer.invalid(&["FieldValueInvalid patch"]).map(drop)
            },
        ),
        case(
            "a_scale_that_is_refused_warns_once",
            "PUT of a Scale that is refused for its replicas warns of an unknown member once.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale =
                    json!({ "metadata": { "name": "a" }, "spec": { "replicas": -1, "foo": 1 } });
                let answer = t.put(&sets(t, "/a/scale"), &scale).await?;
                answer.invalid(&["FieldValueInvalid spec.replicas"])?;
                same("the warnings", answer.warnings().len(), 1)
            },
        ),
        case(
            "a_scale_warns_of_the_object",
            "A write to a Scale warns of what is odd in the object that is scaled.",
            async |t| {
                let mut odd = replica_set("a");
                odd["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(-1);
                t.make(&sets(t, ""), odd).await?;
                let answer =
                    t.merge(&sets(t, "/a/scale"), json!({ "spec": { "replicas": 2 } })).await?;
                answer.is(200)?;
                same("the warnings", answer.warnings().len(), 1)
            },
        ),
        case(
            "a_scale_is_printed",
            "A Scale has a Table of its own, with how many replicas are wanted and how many there are, and metadata alone.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let table = t.get_as(&sets(t, "/a/scale"), TABLE).await?.is(200)?;
                let columns =
                    items(&table, "/columnDefinitions").iter().map(|column| text(column, "/name"));
                same(
                    "the columns",
                    columns.collect::<Vec<_>>(),
                    vec!["Name", "Desired", "Available", "Age"],
                )?;
                same("the name's format", text(&table, "/columnDefinitions/0/format"), "")?;
                same("the counts", &items(&table, "/rows/0/cells")[1..3], &[json!(1), json!(0)])?;
                let partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
                let scale = t.get_as(&sets(t, "/a/scale"), partial).await?.is(200)?;
                has(&scale, json!({ "kind": "PartialObjectMetadata", "metadata": { "name": "a" } }))
            },
        ),
        case(
            "a_scale_is_checked_before_its_version",
            "A Scale of an old version and with negative replicas answers 422 for the replicas.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale = json!({ "metadata": { "name": "a", "resourceVersion": "1" }, "spec": { "replicas": -1 } });
                let answer = t.put(&sets(t, "/a/scale"), &scale).await?;
                answer.invalid(&["FieldValueInvalid spec.replicas"]).map(drop)
            },
        ),
    ]
}
