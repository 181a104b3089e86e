//! Resource versions and generations: what a get accepts, which writes move what.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "writes_to_any_kind_count_one_revision",
            "Resource versions of different kinds come from one counter that only grows.",
            async |t| {
                let one = t.map("a", "v").await?;
                let two = t.make(&t.leases(""), lease("a", "x")).await?;
                let three = t.make(&t.widgets(""), widget("a", json!({}))).await?;
                holds("they grow", number(&one) < number(&two) && number(&two) < number(&three))
            },
        ),
        case(
            "a_list_has_the_newest_revision",
            "A list's resourceVersion is that of the newest write, and not older than any item's.",
            async |t| {
                t.map("a", "v").await?;
                let other = t.make(&t.leases(""), lease("a", "x")).await?;
                let list = t.get(&t.maps("")).await?.is(200)?;
                holds(
                    "the list is not older than a write to another kind",
                    number(&list) >= number(&other),
                )
            },
        ),
        case(
            "an_object_keeps_the_version_of_its_last_write",
            "Writes to other objects do not change an object's resourceVersion.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.map("b", "v").await?;
                same("version", version(&t.get(&t.maps("/a")).await?.is(200)?), version(&made))
            },
        ),
        case(
            "a_get_at_an_old_version_answers_the_newest",
            "A get with resourceVersion 0, or an old one, answers an object that is not older.",
            async |t| {
                let made = t.map("a", "v").await?;
                let path = t.maps(&format!("/a?resourceVersion={}", version(&made)));
                holds("it is not older", number(&t.get(&path).await?.is(200)?) >= number(&made))?;
                t.get(&t.maps("/a?resourceVersion=0")).await?;
                Ok(())
            },
        ),
        case(
            "a_get_from_the_future_is_504",
            "A get at a resourceVersion that was not written yet answers 504 Timeout after 3 s, with Retry-After.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t.get(&t.maps("/a?resourceVersion=9999999999")).await?;
                let status =
                    answer.says(504, "Timeout", "Too large resource version: 9999999999")?;
                has(
                    &status,
                    json!({ "details": {
                    "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
                    "retryAfterSeconds": 1,
                } }),
                )?;
                same("Retry-After", answer.header("retry-after"), "1")
            },
        ),
        case(
            "a_get_with_a_version_that_is_no_number_is_500",
            "A get with a resourceVersion that is no number answers 500 without a reason.",
            async |t| {
                t.map("a", "v").await?;
                t.get(&t.maps("/a?resourceVersion=x")).await?.refused(500, "")?;
                Ok(())
            },
        ),
        case(
            "most_kinds_have_no_generation",
            "ConfigMap, Secret, Lease, Event, Service, Namespace, claims, volumes and classes have no generation.",
            async |t| {
                let ns = &t.namespace;
                for (path, object) in [
                    (t.maps(""), named("a")),
                    (t.core("secrets", ""), named("a")),
                    (t.core("serviceaccounts", ""), named("a")),
                    (t.leases(""), lease("a", "x")),
                    (t.core("events", ""), old_event("a", ns)),
                    (t.core("services", ""), service("a")),
                    (t.claims(""), claim("a", &t.class)),
                    (t.volumes(""), volume(&t.own("a"), &t.class)),
                    (t.classes(""), class(&t.own("a"))),
                    ("/api/v1/namespaces".to_owned(), named(&t.own("a"))),
                ] {
                    let made = t.make(&path, object).await?;
                    has(&made, json!({ "metadata": { "generation": null } }))
                        .map_err(|why| format!("{path}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "a_custom_object_begins_with_generation_1",
            "A custom object has generation 1 when it is made, whatever the client says.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["generation"] = 5.into();
                has(
                    &t.make(&t.widgets(""), object).await?,
                    json!({ "metadata": { "generation": 1 } }),
                )
            },
        ),
        case(
            "a_change_of_spec_counts_a_generation",
            "A change of a custom object's spec, by PUT or by patch, adds one to its generation.",
            async |t| {
                let mut object = t.make(&t.widgets(""), widget("a", json!({ "n": 1 }))).await?;
                object["spec"]["n"] = 2.into();
                let put = t.put(&t.widgets("/a"), &object).await?.is(200)?;
                has(&put, json!({ "metadata": { "generation": 2 } }))?;
                let patched =
                    t.merge(&t.widgets("/a"), json!({ "spec": { "n": 3 } })).await?.is(200)?;
                has(&patched, json!({ "metadata": { "generation": 3 } }))
            },
        ),
        case(
            "any_member_outside_metadata_and_status_counts",
            "A change of a custom object's member beside spec adds one to its generation too.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let patched =
                    t.merge(&t.widgets("/a"), json!({ "extra": { "n": 3 } })).await?.is(200)?;
                has(&patched, json!({ "extra": { "n": 3 }, "metadata": { "generation": 2 } }))
            },
        ),
        case(
            "a_change_of_metadata_counts_no_generation",
            "Labels, annotations and finalizers of a custom object change its resourceVersion, not its generation.",
            async |t| {
                let made = t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let patch = json!({ "metadata": { "labels": { "l": "1" }, "annotations": { "a": "1" }, "finalizers": ["example.com/f"] } });
                let patched = t.merge(&t.widgets("/a"), patch).await?.is(200)?;
                holds("the version is newer", number(&patched) > number(&made))?;
                has(&patched, json!({ "metadata": { "generation": 1 } }))
            },
        ),
        case(
            "without_a_status_subresource_status_counts",
            "Of a custom kind without a status subresource, a change of status counts a generation.",
            async |t| {
                let name = t.own("g");
                t.make(&t.gadgets(""), gadget(&name, json!({}))).await?;
                let path = t.gadgets(&format!("/{name}"));
                let patched = t.merge(&path, json!({ "status": { "n": 1 } })).await?.is(200)?;
                has(&patched, json!({ "status": { "n": 1 }, "metadata": { "generation": 2 } }))
            },
        ),
        case(
            "the_beginning_of_a_deletion_counts_a_generation",
            "Where there is a generation, the deletion of an object that is held adds one.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["finalizers"] = json!(["example.com/f"]);
                t.make(&t.widgets(""), object).await?;
                let deleted = t.delete(&t.widgets("/a")).await?.is(200)?;
                has(
                    &deleted,
                    json!({ "metadata": { "generation": 2, "deletionTimestamp": "*" } }),
                )?;
                let again = t.delete(&t.widgets("/a")).await?.is(200)?;
                has(&again, json!({ "metadata": { "generation": 2 } }))
            },
        ),
        case(
            "the_deletion_of_a_map_counts_no_generation",
            "A ConfigMap that is held by a finalizer gains no generation when it is deleted.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["finalizers"] = json!(["example.com/f"]);
                t.make(&t.maps(""), object).await?;
                let deleted = t.delete(&t.maps("/a")).await?.is(200)?;
                has(
                    &deleted,
                    json!({ "metadata": { "generation": null, "deletionTimestamp": "*", "deletionGracePeriodSeconds": 0 } }),
                )
            },
        ),
        case(
            "a_pod_has_a_generation",
            "A Pod begins with generation 1, and a label does not change it.",
            async |t| {
                has(
                    &t.make(&t.core("pods", ""), pod("a")).await?,
                    json!({ "metadata": { "generation": 1 } }),
                )?;
                let patched = t
                    .merge(&t.core("pods", "/a"), json!({ "metadata": { "labels": { "l": "1" } } }))
                    .await?
                    .is(200)?;
                has(&patched, json!({ "metadata": { "generation": 1 } }))
            },
        ),
        case(
            "a_recreated_object_is_another_one",
            "An object that is deleted and made again has another uid and a newer resourceVersion.",
            async |t| {
                let one = t.map("a", "v").await?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                let two = t.map("a", "v").await?;
                holds(
                    "the uid is another one",
                    text(&one, "/metadata/uid") != text(&two, "/metadata/uid"),
                )?;
                holds("the version is newer", number(&two) > number(&one))
            },
        ),
    ]
}
