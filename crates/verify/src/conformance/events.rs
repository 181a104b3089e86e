//! Events, in both their groups.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_event_is_seen_in_both_groups",
            "An Event of events.k8s.io/v1 is the same object in core/v1, with that group's names.",
            async |t| {
                let made = t.make(&t.new_events(""), new_event("e", &t.namespace)).await?;
                let core = t.get(&t.core("events", "/e")).await?.is(200)?;
                has(
                    &core,
                    json!({ "kind": "Event", "apiVersion": "v1", "message": "it was seen", "reportingComponent": "example.com/c", "involvedObject": { "name": "p" }, "note": null }),
                )?;
                same("uid", text(&core, "/metadata/uid"), text(&made, "/metadata/uid"))?;
                same("version", version(&core), version(&made))
            },
        ),
        case(
            "an_old_event_is_seen_in_the_new_group",
            "An Event of core/v1 is shown in events.k8s.io/v1 with deprecated members.",
            async |t| {
                t.make(&t.core("events", ""), old_event("e", &t.namespace)).await?;
                let new = t.get(&t.new_events("/e")).await?.is(200)?;
                has(
                    &new,
                    json!({ "apiVersion": "events.k8s.io/v1", "note": "it was seen", "deprecatedSource": { "component": "c" }, "regarding": { "name": "p" } }),
                )
            },
        ),
        case(
            "new_events_need_their_members",
            "An Event of events.k8s.io/v1 without reporter, instance, action, reason, time or type answers 422.",
            async |t| {
                for member in [
                    "reportingController",
                    "reportingInstance",
                    "action",
                    "reason",
                    "eventTime",
                    "type",
                ] {
                    let mut event = new_event("e", &t.namespace);
                    if let Some(members) = event.as_object_mut() {
                        members.remove(member);
                    }
                    t.post(&t.new_events(""), &event)
                        .await?
                        .refused(422, "Invalid")
                        .map_err(|why| format!("{member}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "an_event_is_about_its_namespace",
            "An Event about an object in another namespace answers 422.",
            async |t| {
                t.post(&t.core("events", ""), &old_event("e", "other"))
                    .await?
                    .invalid(&["FieldValueInvalid involvedObject.namespace"])?;
                Ok(())
            },
        ),
        case(
            "an_event_about_a_cluster_object_lives_in_default",
            "An Event about an object without a namespace is refused outside of default.",
            async |t| {
                t.post(&t.core("events", ""), &old_event("e", ""))
                    .await?
                    .refused(422, "Invalid")?;
                let path = "/api/v1/namespaces/default/events";
                let name = t.own("e");
                t.make(path, old_event(&name, "")).await?;
                Ok(())
            },
        ),
        case(
            "fields_of_events",
            "Events are selected by what they are about, reason and type.",
            async |t| {
                t.make(&t.core("events", ""), old_event("e", &t.namespace)).await?;
                for (selector, expected) in [
                    ("involvedObject.name%3Dp,involvedObject.kind%3DPod", "e"),
                    ("involvedObject.name%3Dq", ""),
                    ("reason%3DSeen,involvedObject.name%3Dp", "e"),
                    ("type!%3DNormal,involvedObject.name%3Dp", ""),
                    ("source%3Dc", "e"),
                ] {
                    let list = t
                        .get(&t.core("events", &format!("?fieldSelector={selector}")))
                        .await?
                        .is(200)?;
                    same(selector, names(&list), expected.to_owned())?;
                }
                let list =
                    t.get(&t.new_events("?fieldSelector=regarding.name%3Dp")).await?.is(200)?;
                same("regarding", names(&list), "e".to_owned())
            },
        ),
        case(
            "an_event_can_be_counted_up",
            "A patch of an Event's count and time is applied, as recorders do.",
            async |t| {
                t.make(&t.core("events", ""), old_event("e", &t.namespace)).await?;
                let patch = json!({ "count": 2, "lastTimestamp": "2026-01-02T03:04:05Z" });
                has(
                    &t.merge(&t.core("events", "/e"), patch).await?.is(200)?,
                    json!({ "count": 2, "lastTimestamp": "2026-01-02T03:04:05Z" }),
                )
            },
        ),
        case(
            "a_series_can_be_added",
            "A patch that adds a series to an Event of events.k8s.io/v1 is applied; other changes answer 422.",
            async |t| {
                t.make(&t.new_events(""), new_event("e", &t.namespace)).await?;
                let patch = json!({ "series": { "count": 2, "lastObservedTime": "2026-01-02T03:04:05.000006Z" } });
                has(
                    &t.merge(&t.new_events("/e"), patch).await?.is(200)?,
                    json!({ "series": { "count": 2 } }),
                )
            },
        ),
        case(
            "new_events_cannot_be_changed",
            "A patch of the note, reason or reporter of an Event of events.k8s.io/v1 answers 422.",
            async |t| {
                t.make(&t.new_events(""), new_event("e", &t.namespace)).await?;
                for patch in [
                    json!({ "note": "other" }),
                    json!({ "reason": "Other" }),
                    json!({ "reportingController": "example.com/other" }),
                ] {
                    t.merge(&t.new_events("/e"), patch.clone())
                        .await?
                        .refused(422, "Invalid")
                        .map_err(|why| format!("{patch}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "a_watch_of_events_sees_both_groups",
            "A watch in one group sees Events written in the other.",
            async |t| {
                let first = t.make(&t.core("events", ""), old_event("x", &t.namespace)).await?;
                // Controllers write Events here too, of what other cases made.
                let only =
                    format!("?resourceVersion={}&fieldSelector=metadata.name%3De", version(&first));
                let mut watch = t.watch(&t.new_events(&only)).await?;
                t.make(&t.core("events", ""), old_event("e", &t.namespace)).await?;
                has(
                    &watch.event("ADDED", "e").await?,
                    json!({ "apiVersion": "events.k8s.io/v1", "note": "it was seen" }),
                )
            },
        ),
    ]
}
