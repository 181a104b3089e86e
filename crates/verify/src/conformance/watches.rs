//! Watches: where they begin, what they show, how they end.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = beginnings();
    cases.extend(events());
    cases.extend(marks_and_ends());
    cases
}

fn beginnings() -> Vec<Case> {
    vec![
        case(
            "a_watch_resumes_after_a_version",
            "A watch from a resourceVersion shows every later change, in order, and nothing earlier.",
            async |t| {
                t.map("x", "v").await?;
                let first = t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.map("b", "v").await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&first)))).await?;
                let one = watch.event("MODIFIED", "a").await?;
                let two = watch.event("ADDED", "b").await?;
                let three = watch.event("DELETED", "a").await?;
                holds(
                    "versions grow",
                    number(&first) < number(&one)
                        && number(&one) < number(&two)
                        && number(&two) < number(&three),
                )
            },
        ),
        case(
            "a_watch_resumes_from_a_list",
            "A watch from a list's resourceVersion misses nothing after the list.",
            async |t| {
                t.map("a", "v").await?;
                let list = t.get(&t.maps("")).await?.is(200)?;
                t.map("b", "v").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&list)))).await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "a_watch_without_a_version_begins_with_what_is_there",
            "A watch without resourceVersion begins with ADDED for each object, then follows.",
            async |t| {
                t.map("b", "v").await?;
                t.map("a", "v").await?;
                let mut watch = t.watch(&t.maps("")).await?;
                let mut first = [watch.next().await?, watch.next().await?].map(|event| {
                    event
                        .map(|event| {
                            format!(
                                "{} {}",
                                text(&event, "/type"),
                                text(&event, "/object/metadata/name")
                            )
                        })
                        .unwrap_or_default()
                });
                first.sort();
                same("events", first, ["ADDED a", "ADDED b"])?;
                t.map("c", "v").await?;
                watch.event("ADDED", "c").await.map(drop)
            },
        ),
        case(
            "a_watch_from_zero_begins_with_what_is_there",
            "A watch from resourceVersion 0 begins with ADDED for each object, then follows.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.get(&t.maps(&format!("?resourceVersion={}", version(&made)))).await?.is(200)?;
                let mut watch = t.watch(&t.maps("?resourceVersion=0")).await?;
                watch.event("ADDED", "a").await?;
                t.map("b", "v").await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "a_too_old_watch_says_410_in_the_stream",
            "A watch from a resourceVersion whose history is gone answers 200 with one ERROR event: 410 Expired.",
            async |t| {
                // A kind that came late: the real server's watch cache of it begins after revision
                // 1.
                let mut watch = t.watch(&t.widgets("?resourceVersion=1")).await?;
                let event = watch.next().await?.unwrap_or_default();
                has(
                    &event,
                    json!({ "type": "ERROR", "object": { "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410 } }),
                )?;
                holds(
                    "the message says so",
                    text(&event, "/object/message").starts_with("too old resource version: 1 ("),
                )?;
                same("rest", watch.rest().await?.len(), 0)
            },
        ),
        case(
            "a_watch_from_the_future_is_silent",
            "A watch from a resourceVersion that was not written yet opens and shows nothing until then.",
            async |t| {
                let mut watch =
                    t.watch(&t.maps("?resourceVersion=9999999999&timeoutSeconds=2")).await?;
                t.map("a", "v").await?;
                same("events", watch.rest().await?.len(), 0)
            },
        ),
        case(
            "a_watch_with_a_version_that_is_no_number_is_refused",
            "A watch with a resourceVersion that is no number answers 500.",
            async |t| {
                t.get(&t.maps("?watch=true&resourceVersion=x")).await?.refused(500, "")?;
                Ok(())
            },
        ),
        case(
            "words_for_true",
            "`watch=1`, `watch=yes` and `watch=True` are watches; `watch=false` and `watch=0` are lists.",
            async |t| {
                for word in ["1", "yes", "True", "true"] {
                    let answer = t
                        .get(&t.maps(&format!("?watch={word}&timeoutSeconds=1&resourceVersion=0")))
                        .await?;
                    holds("it is no list", text(&answer.json, "/kind") != "ConfigMapList")
                        .map_err(|why| format!("{word}: {why}"))?;
                }
                for word in ["0", "false"] {
                    has(
                        &t.get(&t.maps(&format!("?watch={word}"))).await?.is(200)?,
                        json!({ "kind": "ConfigMapList" }),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_watch_of_a_missing_namespace_waits",
            "A watch in a namespace that does not exist opens.",
            async |t| {
                let mut watch = t
                    .watch("/api/v1/namespaces/conformance-missing/configmaps?timeoutSeconds=1")
                    .await?;
                same("events", watch.rest().await?.len(), 0)
            },
        ),
        case(
            "a_watch_of_all_namespaces_shows_each",
            "A watch without a namespace shows changes in every namespace.",
            async |t| {
                let first = t.map("x", "v").await?;
                let path = format!(
                    "/api/v1/configmaps?labelSelector=c%3D{}&resourceVersion={}",
                    t.namespace,
                    version(&first)
                );
                let mut watch = t.watch(&path).await?;
                t.labelled("a", "c", &t.namespace).await?;
                watch.event("ADDED", "a").await.map(drop)
            },
        ),
        case(
            "a_watch_of_one_object_by_its_path",
            "`watch=true` on an object's own path is an ordinary get.",
            async |t| {
                t.map("a", "v").await?;
                t.settled(&t.maps("")).await?;
                let answer =
                    t.get(&t.maps("/a?watch=true&timeoutSeconds=1&resourceVersion=0")).await?;
                has(&answer.is(200)?, json!({ "kind": "ConfigMap" }))
            },
        ),
        case(
            "a_match_without_initial_events_is_422",
            "resourceVersionMatch of a watch without sendInitialEvents answers 422.",
            async |t| {
                t.get(&t.maps("?watch=true&resourceVersion=1&resourceVersionMatch=NotOlderThan"))
                    .await?
                    .invalid(&["FieldValueForbidden resourceVersionMatch"])?;
                Ok(())
            },
        ),
        case(
            "initial_events_need_a_match",
            "sendInitialEvents without resourceVersionMatch=NotOlderThan answers 422.",
            async |t| {
                t.get(&t.maps("?watch=true&sendInitialEvents=true"))
                    .await?
                    .invalid(&["FieldValueForbidden resourceVersionMatch"])?;
                t.get(
                    &t.maps(
                        "?watch=true&sendInitialEvents=true&resourceVersion=1&resourceVersionMatch=Exact",
                    ),
                )
                .await?
                .refused(422, "Invalid")?;
                Ok(())
            },
        ),
    ]
}

fn events() -> Vec<Case> {
    vec![
        case(
            "an_object_that_leaves_a_selector_is_deleted",
            "An object that ceases to match is shown DELETED, with its old content and the change's resourceVersion.",
            async |t| {
                let made = t.labelled("a", "l", "1").await?;
                let mut watch = t
                    .watch(
                        &t.maps(&format!(
                            "?labelSelector=l%3D1&resourceVersion={}",
                            version(&made)
                        )),
                    )
                    .await?;
                let changed = t
                    .merge(&t.maps("/a"), json!({ "metadata": { "labels": { "l": "2" } } }))
                    .await?
                    .is(200)?;
                let gone = watch.event("DELETED", "a").await?;
                has(&gone, json!({ "metadata": { "labels": { "l": "1" } } }))?;
                same("version", version(&gone), version(&changed))
            },
        ),
        case(
            "an_object_that_enters_a_selector_is_added",
            "An object that begins to match is shown ADDED.",
            async |t| {
                let made = t.labelled("a", "l", "2").await?;
                let mut watch = t
                    .watch(
                        &t.maps(&format!(
                            "?labelSelector=l%3D1&resourceVersion={}",
                            version(&made)
                        )),
                    )
                    .await?;
                let changed = t
                    .merge(&t.maps("/a"), json!({ "metadata": { "labels": { "l": "1" } } }))
                    .await?
                    .is(200)?;
                same("version", version(&watch.event("ADDED", "a").await?), version(&changed))
            },
        ),
        case(
            "what_never_matches_is_not_shown",
            "Changes and deletions of objects that do not match are not shown.",
            async |t| {
                let made = t.labelled("a", "l", "2").await?;
                let mut watch = t
                    .watch(
                        &t.maps(&format!(
                            "?labelSelector=l%3D1&resourceVersion={}",
                            version(&made)
                        )),
                    )
                    .await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                t.labelled("b", "l", "1").await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "an_object_that_matches_and_is_deleted_is_deleted",
            "A matching object that is deleted is shown DELETED with its last content.",
            async |t| {
                let made = t.labelled("a", "l", "1").await?;
                let mut watch = t
                    .watch(
                        &t.maps(&format!(
                            "?labelSelector=l%3D1&resourceVersion={}",
                            version(&made)
                        )),
                    )
                    .await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                has(
                    &watch.event("DELETED", "a").await?,
                    json!({ "metadata": { "labels": { "l": "1" } } }),
                )
            },
        ),
        case(
            "a_field_that_leaves_a_selector_is_deleted",
            "An object that ceases to match a field selector is shown DELETED.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({ "color": "red" }))).await?;
                let mut watch = t
                    .watch(&t.widgets(&format!(
                        "?fieldSelector=spec.color%3Dred&resourceVersion={}",
                        version(&made)
                    )))
                    .await?;
                t.merge(&t.widgets("/a"), json!({ "spec": { "color": "blue" } })).await?.is(200)?;
                watch.event("DELETED", "a").await.map(drop)
            },
        ),
        case(
            "an_event_holds_the_whole_object",
            "An event's object has kind and apiVersion, of built-in kinds too.",
            async |t| {
                let first = t.map("x", "v").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&first)))).await?;
                let made = t.map("a", "v").await?;
                same("object", watch.event("ADDED", "a").await?, made)
            },
        ),
        case(
            "two_writes_are_two_events",
            "Two quick writes to one object are two events, each with its own version.",
            async |t| {
                let first = t.map("a", "v").await?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&first)))).await?;
                let one = t.merge(&t.maps("/a"), json!({ "data": { "k": "1" } })).await?.is(200)?;
                let two = t.merge(&t.maps("/a"), json!({ "data": { "k": "2" } })).await?.is(200)?;
                same("one", version(&watch.event("MODIFIED", "a").await?), version(&one))?;
                same("two", version(&watch.event("MODIFIED", "a").await?), version(&two))
            },
        ),
    ]
}

fn marks_and_ends() -> Vec<Case> {
    vec![
        case(
            "initial_events_end_with_a_bookmark",
            "sendInitialEvents with bookmarks sends each object as ADDED, then a bookmark annotated k8s.io/initial-events-end.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut watch = t
                    .watch(&t.maps(
                        "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                    ))
                    .await?;
                watch.event("ADDED", "a").await?;
                let mark = watch.event("BOOKMARK", "").await?;
                has(
                    &mark,
                    json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "resourceVersion": "*", "annotations": { "k8s.io/initial-events-end": "true" } } }),
                )?;
                holds("the mark is not older than the object", number(&mark) >= number(&made))
            },
        ),
        case(
            "initial_events_of_nothing_are_the_bookmark",
            "sendInitialEvents of an empty collection sends the bookmark at once.",
            async |t| {
                let mut watch = t
                    .watch(&t.maps(
                        "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                    ))
                    .await?;
                watch.event("BOOKMARK", "").await.map(drop)
            },
        ),
        case(
            "initial_events_are_not_older_than_asked",
            "sendInitialEvents with a resourceVersion shows what was written up to there.",
            async |t| {
                let made = t.map("a", "v").await?;
                let path = t.maps(&format!("?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion={}", version(&made)));
                let mut watch = t.watch(&path).await?;
                watch.event("ADDED", "a").await?;
                holds(
                    "the mark is not older",
                    number(&watch.event("BOOKMARK", "").await?) >= number(&made),
                )?;
                t.map("b", "v").await?;
                loop {
                    // A bookmark by the clock may come at once.
                    let event = watch.next().await?.unwrap_or_default();
                    if text(&event, "/type") != "BOOKMARK" {
                        return has(
                            &event,
                            json!({ "type": "ADDED", "object": { "metadata": { "name": "b" } } }),
                        );
                    }
                }
            },
        ),
        case(
            "initial_events_without_bookmarks_have_no_mark",
            "sendInitialEvents without bookmarks sends the objects and no mark.",
            async |t| {
                t.map("a", "v").await?;
                let mut watch = t
                    .watch(
                        &t.maps("?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"),
                    )
                    .await?;
                let events = watch.rest().await?;
                same("events", events.len(), 1)
            },
        ),
        case(
            "no_initial_events_when_told_so",
            "sendInitialEvents=false begins with the next change.",
            async |t| {
                t.map("a", "v").await?;
                let mut watch = t
                    .watch(
                        &t.maps(
                            "?sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
                        ),
                    )
                    .await?;
                same("events", watch.rest().await?.len(), 0)
            },
        ),
        case(
            "a_watch_ends_after_its_time",
            "A watch with timeoutSeconds ends in order after that time.",
            async |t| {
                let sent = tokio::time::Instant::now();
                let mut watch = t.watch(&t.maps("?timeoutSeconds=1")).await?;
                same("events", watch.rest().await?.len(), 0)?;
                holds("it was open for a second", sent.elapsed().as_millis() >= 1000)
            },
        ),
        case(
            "a_negative_time_ends_at_once",
            "timeoutSeconds=-1 ends a watch at once.",
            async |t| {
                let mut watch = t.watch(&t.maps("?timeoutSeconds=-1&resourceVersion=0")).await?;
                watch.rest().await.map(drop)
            },
        ),
        case(
            "a_time_that_is_no_number_is_400",
            "timeoutSeconds that is no number answers 400.",
            async |t| {
                t.get(&t.maps("?watch=true&timeoutSeconds=x")).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "a_malformed_selector_of_a_watch_is_400",
            "A watch with a selector that cannot be read answers 400.",
            async |t| {
                t.get(&t.maps("?watch=true&labelSelector=a%20b"))
                    .await?
                    .refused(400, "BadRequest")?;
                t.get(&t.maps("?watch=true&fieldSelector=data.k%3Dv"))
                    .await?
                    .refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "metadata_can_be_watched_alone",
            "A watch that accepts PartialObjectMetadata shows metadata only.",
            async |t| {
                let first = t.map("x", "v").await?;
                let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
                let mut watch = t
                    .watch_as(&t.maps(&format!("?resourceVersion={}", version(&first))), accept)
                    .await?;
                t.map("a", "v").await?;
                let seen = watch.event("ADDED", "a").await?;
                has(
                    &seen,
                    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "data": null }),
                )
            },
        ),
        case(
            "the_content_type_of_a_watch_is_json",
            "A watch answers 200 with application/json.",
            async |t| {
                let answer = t.get(&t.maps("?watch=true&timeoutSeconds=1")).await?;
                same("code", answer.code, 200)?;
                same("content type", answer.header("content-type"), "application/json")
            },
        ),
    ]
}
