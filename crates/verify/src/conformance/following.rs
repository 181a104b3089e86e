//! What somebody who follows a watch sees of each kind of write, and of each way to ask.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = writes();
    cases.extend(ways_to_ask());
    cases
}

fn writes() -> Vec<Case> {
    vec![
        case("a_dry_run_makes_no_event", "Writes with dryRun=All make no event.", async |t| {
            let made = t.map("a", "v").await?;
            let mut watch =
                t.watch(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?;
            t.post(&t.maps("?dryRun=All"), &map("b", "v")).await?.is(201)?;
            t.merge(&t.maps("/a?dryRun=All"), json!({ "data": { "k": "w" } })).await?.is(200)?;
            t.delete(&t.maps("/a?dryRun=All")).await?.is(200)?;
            t.map("c", "v").await?;
            watch.event("ADDED", "c").await.map(drop)
        }),
        case(
            "a_refused_write_makes_no_event",
            "Writes that are refused make no event and take no version.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?;
                t.post(&t.maps(""), &map("a", "v")).await?.is(409)?;
                t.post(&t.maps(""), &map("A!", "v")).await?.is(422)?;
                t.map("b", "v").await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "a_status_write_is_modified",
            "A write of a status is one MODIFIED event with the whole object.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({ "color": "red" }))).await?;
                let mut watch =
                    t.watch(&t.widgets(&format!("?resourceVersion={}", version(&made)))).await?;
                t.merge(&t.widgets("/a/status"), json!({ "status": { "phase": "Ready" } }))
                    .await?
                    .is(200)?;
                let event = watch.event("MODIFIED", "a").await?;
                has(&event, json!({ "spec": { "color": "red" }, "status": { "phase": "Ready" } }))
            },
        ),
        case(
            "a_recreated_object_is_deleted_and_added",
            "Delete and create of one name are DELETED and ADDED, with different uids.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                t.map("a", "w").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?;
                let old = watch.event("DELETED", "a").await?;
                let new = watch.event("ADDED", "a").await?;
                holds("another uid", text(&old, "/metadata/uid") != text(&new, "/metadata/uid"))
            },
        ),
        case(
            "several_watches_see_the_same",
            "Two watches from one version show the same events, byte for byte.",
            async |t| {
                let made = t.map("a", "v").await?;
                let path = t.maps(&format!("?resourceVersion={}", version(&made)));
                let (mut one, mut other) = (t.watch(&path).await?, t.watch(&path).await?);
                t.map("b", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.delete(&t.maps("/b")).await?.is(200)?;
                for _ in 0..3 {
                    same("events", one.next().await?, other.next().await?)?;
                }
                Ok(())
            },
        ),
        case(
            "versions_of_a_kind_are_seen_in_each",
            "A watch of one version of a custom kind shows objects written in another one as its own.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let mut watch =
                    t.watch(&t.widgets_v2(&format!("?resourceVersion={}", version(&made)))).await?;
                t.make(&t.widgets(""), widget("b", json!({}))).await?;
                has(
                    &watch.event("ADDED", "b").await?,
                    json!({ "apiVersion": "conformance.example.com/v2", "kind": "Widget" }),
                )
            },
        ),
    ]
}

fn ways_to_ask() -> Vec<Case> {
    vec![
        case(
            "a_watch_from_any_version_marks_the_end_of_the_beginning",
            "A watch without resourceVersion, or from 0, that allows bookmarks gets one after what is there, annotated as the end of the initial events.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.get(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?.is(200)?;
                for from in ["", "&resourceVersion=0"] {
                    let mut watch =
                        t.watch(&t.maps(&format!("?allowWatchBookmarks=true{from}"))).await?;
                    watch.event("ADDED", "a").await?;
                    let mark = watch.event("BOOKMARK", "").await?;
                    has(
                        &mark,
                        json!({ "metadata": { "annotations": { "k8s.io/initial-events-end": "true" } } }),
                    )?;
                    holds("it is not older than the object", number(&mark) >= number(&made))?;
                }
                Ok(())
            },
        ),
        case(
            "a_watch_from_a_version_has_no_mark",
            "A watch from a version begins with the next change and no mark.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut watch = t
                    .watch(&t.maps(&format!(
                        "?allowWatchBookmarks=true&resourceVersion={}",
                        version(&made)
                    )))
                    .await?;
                t.map("b", "v").await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "a_bookmark_is_a_version_and_nothing_else",
            "A bookmark holds kind, apiVersion and metadata, and in these nothing but the version and the mark.",
            async |t| {
                let mut watch = t.watch(&t.maps("?allowWatchBookmarks=true")).await?;
                let mark = watch.event("BOOKMARK", "").await?;
                let members = |value: &Value| {
                    value
                        .as_object()
                        .map(|members| members.keys().cloned().collect::<Vec<_>>().join(","))
                };
                same("object", members(&mark).as_deref(), Some("apiVersion,kind,metadata"))?;
                same(
                    "metadata",
                    members(&mark["metadata"]).as_deref(),
                    Some("annotations,resourceVersion"),
                )
            },
        ),
        case(
            "a_bookmark_of_metadata_says_so",
            "The bookmark of a watch of metadata alone is a PartialObjectMetadata.",
            async |t| {
                let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
                let mut watch = t.watch_as(&t.maps("?allowWatchBookmarks=true"), accept).await?;
                has(
                    &watch.event("BOOKMARK", "").await?,
                    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1" }),
                )
            },
        ),
        case(
            "all_that_is_wrong_with_a_watch_is_said",
            "resourceVersionMatch=Exact of a watch answers 422 with both causes.",
            async |t| {
                t.get(&t.maps("?watch=1&resourceVersion=1&resourceVersionMatch=Exact")).await?.says(
                422,
                "Invalid",
                "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]",
            )?;
                Ok(())
            },
        ),
        case(
            "a_watch_with_a_token_is_422",
            "A watch from any version with a continue token answers 422.",
            async |t| {
                t.get(&t.maps("?watch=1&continue=x"))
                    .await?
                    .invalid(&["FieldValueForbidden resourceVersionMatch"])?;
                Ok(())
            },
        ),
        case(
            "a_limit_of_a_watch_is_ignored",
            "A watch with a limit shows everything.",
            async |t| {
                t.map("a", "v").await?;
                t.map("b", "v").await?;
                let mut watch = t.watch(&t.maps("?limit=1")).await?;
                watch.next().await?;
                holds("there is a second event", watch.next().await?.is_some())
            },
        ),
        case(
            "an_object_is_watched_before_it_exists",
            "A watch of one name shows its creation, its change and its deletion, and nothing of others.",
            async |t| {
                let before = t.map("x", "v").await?;
                let mut watch = t
                    .watch(&t.maps(&format!(
                        "?fieldSelector=metadata.name%3Da&resourceVersion={}",
                        version(&before)
                    )))
                    .await?;
                t.map("b", "v").await?;
                t.map("a", "v").await?;
                t.merge(&t.maps("/b"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                for kind in ["ADDED", "MODIFIED", "DELETED"] {
                    watch.event(kind, "a").await?;
                }
                Ok(())
            },
        ),
        case(
            "a_name_that_must_not_be_is_left_out",
            "A watch of every name but one leaves that one out.",
            async |t| {
                let before = t.map("x", "v").await?;
                let mut watch = t
                    .watch(&t.maps(&format!(
                        "?fieldSelector=metadata.name%21%3Da&resourceVersion={}",
                        version(&before)
                    )))
                    .await?;
                t.map("a", "v").await?;
                t.map("b", "v").await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "a_namespace_is_selected_by_field",
            "A watch of all namespaces with a field selector for one shows that one alone.",
            async |t| {
                let before = t.map("x", "v").await?;
                let path = format!(
                    "/api/v1/configmaps?fieldSelector=metadata.namespace%3D{}&resourceVersion={}",
                    t.namespace,
                    version(&before)
                );
                let mut watch = t.watch(&path).await?;
                t.map("a", "v").await?;
                watch.event("ADDED", "a").await.map(drop)
            },
        ),
        case(
            "labels_and_fields_of_a_watch_are_joined",
            "A watch with a label and a field selector shows what both select.",
            async |t| {
                let before = t.labelled("a", "l", "1").await?;
                let mut watch = t
                    .watch(&t.maps(&format!(
                        "?labelSelector=l%3D1&fieldSelector=metadata.name%3Db&resourceVersion={}",
                        version(&before)
                    )))
                    .await?;
                t.labelled("c", "l", "1").await?;
                t.labelled("b", "l", "2").await?;
                let entered = t
                    .merge(&t.maps("/b"), json!({ "metadata": { "labels": { "l": "1" } } }))
                    .await?
                    .is(200)?;
                same("version", version(&watch.event("ADDED", "b").await?), version(&entered))
            },
        ),
        case(
            "a_change_within_a_selector_is_modified",
            "A change of an object that matched and matches is MODIFIED, though the labels changed.",
            async |t| {
                let made = t.labelled("a", "l", "1").await?;
                let mut watch = t
                    .watch(&t.maps(&format!(
                        "?labelSelector=l+in+%281%2C2%29&resourceVersion={}",
                        version(&made)
                    )))
                    .await?;
                t.merge(&t.maps("/a"), json!({ "metadata": { "labels": { "l": "2" } } }))
                    .await?
                    .is(200)?;
                watch.event("MODIFIED", "a").await.map(drop)
            },
        ),
        case(
            "a_resumed_selector_looks_at_the_past",
            "A watch with a selector that resumes shows objects that ceased to match since as DELETED.",
            async |t| {
                let made = t.labelled("a", "l", "1").await?;
                t.merge(&t.maps("/a"), json!({ "metadata": { "labels": { "l": "2" } } }))
                    .await?
                    .is(200)?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.merge(&t.maps("/a"), json!({ "metadata": { "labels": { "l": "1" } } }))
                    .await?
                    .is(200)?;
                let mut watch = t
                    .watch(
                        &t.maps(&format!(
                            "?labelSelector=l%3D1&resourceVersion={}",
                            version(&made)
                        )),
                    )
                    .await?;
                watch.event("DELETED", "a").await?;
                has(&watch.event("ADDED", "a").await?, json!({ "data": { "k": "w" } }))
            },
        ),
    ]
}
