//! Reads in another version than the stored one.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::conversions::hook::Hook;
use crate::conformance::waiting::eventually;
use crate::conformance::webhook_server::Certificate;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    [objects(), lists(), watches()].into_iter().flatten().collect()
}

fn objects() -> Vec<Case> {
    vec![
        case(
            "a_get_in_another_version_is_converted",
            "A get in another version than the stored one answers what the webhook makes of the object.",
            async |t| {
                let hook = Hook::served(t).await?;
                let made = hook.make(t, "v1", "a", "red").await?;
                let got = t.get(&hook.things("v2", "/a")).await?.is(200)?;
                same("apiVersion", text(&got, "/apiVersion"), hook.version("v2"))?;
                same("the spec", &got["spec"], &json!({ "colour": "red" }))?;
                same("the metadata", &got["metadata"], &made["metadata"])
            },
        ),
        case(
            "a_get_in_the_stored_version_asks_no_webhook",
            "A get in the stored version works while the webhook does not.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.fail();
                let got = t.get(&hook.things("v1", "/a")).await?.is(200)?;
                same("the spec", &got["spec"], &json!({ "color": "red" }))
            },
        ),
        case(
            "a_review_has_the_object_and_the_desired_version",
            "The webhook gets a ConversionReview with the object as it is stored, and with the desired apiVersion.",
            async |t| {
                let hook = Hook::served(t).await?;
                let made = hook.make(t, "v1", "a", "red").await?;
                hook.server.forget();
                t.get(&hook.things("v2", "/a")).await?.is(200)?;
                let seen = hook.server.seen().pop().ok_or("no review came")?;
                same("the path", seen.path.as_str(), "/convert?timeout=30s")?;
                let header = |name: &str| seen.headers.get(name).cloned();
                same("the type", header("content-type"), "application/json".parse().ok())?;
                same("the types", header("accept"), "application/json, */*".parse().ok())?;
                let agent = "kube-apiserver-admission".parse().ok();
                same("the agent", header("user-agent"), agent)?;
                let review = &seen.review;
                same("apiVersion", text(review, "/apiVersion"), "apiextensions.k8s.io/v1")?;
                same("kind", text(review, "/kind"), "ConversionReview")?;
                let desired = text(review, "/request/desiredAPIVersion");
                same("the version", desired, hook.version("v2"))?;
                same("a uid's length", text(review, "/request/uid").len(), 36)?;
                let mut stored = made;
                if let Some(metadata) = stored["metadata"].as_object_mut() {
                    metadata.remove("resourceVersion");
                }
                same("the objects", &review["request"]["objects"], &json!([stored]))
            },
        ),
        case(
            "an_older_review_is_sent_to_who_accepts_that",
            "The webhook gets a review of the first version it accepts that the server knows.",
            async |t| {
                let hook = Hook::with(t, Certificate::Good).await?;
                let mut definition = hook.definition();
                let webhook = &mut definition["spec"]["conversion"]["webhook"];
                webhook["conversionReviewVersions"] = json!(["v2", "v1beta1", "v1"]);
                hook.define(t, definition).await?;
                hook.make(t, "v1", "a", "red").await?;
                // Of this version neither kind nor uid of the answer count.
                hook.edit(|answer| {
                    answer["response"]["uid"] = "another".into();
                    answer["kind"] = Value::Null;
                });
                hook.server.forget();
                let got = t.get(&hook.things("v2", "/a")).await?.is(200)?;
                same("the spec", &got["spec"], &json!({ "colour": "red" }))?;
                let seen = hook.server.seen().pop().ok_or("no review came")?;
                let version = text(&seen.review, "/apiVersion");
                same("the review", version, "apiextensions.k8s.io/v1beta1")
            },
        ),
        case(
            "what_the_other_schema_lacks_is_pruned",
            "Members of a converted object that the schema of its version lacks are pruned.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.edit_object(|object| {
                    object["spec"]["unknown"] = 1.into();
                    object["spec"]["size"] = Value::Null;
                });
                let got = t.get(&hook.things("v2", "/a")).await?.is(200)?;
                same("the spec", &got["spec"], &json!({ "colour": "red" }))
            },
        ),
        case(
            "what_a_webhook_returns_is_not_validated",
            "A converted object that does not fit the schema of its version is shown as it is.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.edit_object(|object| object["spec"]["size"] = "big".into());
                let got = t.get(&hook.things("v2", "/a")).await?.is(200)?;
                same("the spec", &got["spec"], &json!({ "colour": "red", "size": "big" }))
            },
        ),
        case(
            "defaults_come_before_the_conversion",
            "A default that the stored version got later is there when the webhook gets the object.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                t.replace(&hook.own(), |definition| {
                    let schema =
                        &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
                    schema["properties"]["spec"]["properties"]["size"]["default"] = 3.into();
                })
                .await?
                .is(200)?;
                let shown = |_, found: &Value| found["spec"]["size"] == 3;
                t.until(&hook.things("v2", "/a"), "with a default", shown).await.map(drop)
            },
        ),
        case(
            "only_labels_and_annotations_are_converted",
            "Of the metadata a webhook changes only labels and annotations.",
            async |t| {
                let hook = Hook::served(t).await?;
                let made = hook.make(t, "v1", "a", "red").await?;
                hook.edit_object(|object| {
                    let metadata = &mut object["metadata"];
                    metadata["labels"] = json!({ "l": "x" });
                    metadata["annotations"] = json!({ "an": "y" });
                    metadata["finalizers"] = json!(["example.com/f"]);
                    metadata["generation"] = 7.into();
                    metadata["resourceVersion"] = "5".into();
                    metadata["creationTimestamp"] = Value::Null;
                });
                let got = t.get(&hook.things("v2", "/a")).await?.is(200)?;
                let mut expected = made["metadata"].clone();
                expected["labels"] = json!({ "l": "x" });
                expected["annotations"] = json!({ "an": "y" });
                same("the metadata", &got["metadata"], &expected)
            },
        ),
        case(
            "metadata_alone_are_converted_too",
            "A get of the metadata alone answers converted labels.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.edit_object(|object| object["metadata"]["labels"] = json!({ "l": "x" }));
                let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
                let got = t.get_as(&hook.things("v2", "/a"), metadata).await?.is(200)?;
                same("kind", text(&got, "/kind"), "PartialObjectMetadata")?;
                same("the labels", &got["metadata"]["labels"], &json!({ "l": "x" }))
            },
        ),
        case(
            "a_table_has_the_columns_of_the_version",
            "A table of converted objects has cells by the columns of the requested version.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
                let got = t.get_as(&hook.things("v2", "/a"), table).await?.is(200)?;
                same("a column", text(&got, "/columnDefinitions/1/name"), "colour")?;
                same("the cells", &got["rows"][0]["cells"], &json!(["a", "red"]))
            },
        ),
    ]
}

fn lists() -> Vec<Case> {
    vec![
        case(
            "a_list_in_another_version_is_converted",
            "A list answers every object in the requested version, whatever version it was created in.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.make(t, "v2", "b", "blue").await?;
                for (version, member) in [("v1", "color"), ("v2", "colour")] {
                    let list = t.get(&hook.things(version, "")).await?.is(200)?;
                    same("apiVersion", text(&list, "/apiVersion"), hook.version(version))?;
                    let specs: Vec<_> =
                        items(&list, "/items").iter().map(|it| &it["spec"]).collect();
                    let (red, blue) = (json!({ member: "red" }), json!({ member: "blue" }));
                    same("the specs", specs, vec![&red, &blue])?;
                }
                Ok(())
            },
        ),
        case(
            "fields_are_selected_in_the_requested_version",
            "A field selector selects by the fields of the requested version.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                hook.make(t, "v1", "b", "blue").await?;
                let list = |rest: &str| hook.things("v2", &format!("?fieldSelector=spec.{rest}"));
                let found = t.get(&list("colour%3Dblue")).await?.is(200)?;
                same("the names", names(&found), "b")?;
                t.get(&list("color%3Dblue")).await?.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "labels_are_selected_after_the_conversion",
            "A label selector selects by the labels that the webhook has given.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.edit_object(|object| {
                    let name = object["metadata"]["name"].clone();
                    object["metadata"]["labels"] = json!({ "called": name });
                });
                for name in ["a", "b", "c"] {
                    hook.make(t, "v1", name, "red").await?;
                }
                let found =
                    t.get(&hook.things("v2", "?labelSelector=called%3Db")).await?.is(200)?;
                same("the names", names(&found), "b")?;
                let rest = "?labelSelector=called&limit=2";
                let page = t.get(&hook.things("v2", rest)).await?.is(200)?;
                same("the first page", names(&page), "a,b")?;
                let next = text(&page, "/metadata/continue").to_owned();
                let rest = format!("{rest}&continue={next}");
                let page = t.get(&hook.things("v2", &rest)).await?.is(200)?;
                same("the second page", names(&page), "c")
            },
        ),
        case(
            "a_list_fails_with_one_of_its_objects",
            "A list that has to convert an object fails if the webhook does.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.fail();
                hook.make(t, "v1", "a", "red").await?;
                let message = hook.failure(&t.get(&hook.things("v2", "")).await?)?;
                holds(
                    "it says why",
                    message.ends_with("has prevented the request from succeeding"),
                )?;
                hook.mend();
                let served = |code, found: &Value| code == 200 && names(found) == "a";
                t.until(&hook.things("v2", ""), "served again", served).await.map(drop)
            },
        ),
    ]
}

fn watches() -> Vec<Case> {
    vec![
        case(
            "events_are_converted",
            "A watch in another version has every event in that version, in order.",
            async |t| {
                let hook = Hook::served(t).await?;
                let mut watch = t.watch(&hook.things("v2", "")).await?;
                hook.make(t, "v1", "a", "red").await?;
                t.merge(&hook.things("v1", "/a"), json!({ "spec": { "color": "blue" } }))
                    .await?
                    .is(200)?;
                t.delete(&hook.things("v1", "/a")).await?.is(200)?;
                for (event, color) in [("ADDED", "red"), ("MODIFIED", "blue"), ("DELETED", "blue")]
                {
                    let object = watch.event(event, "a").await?;
                    same("apiVersion", text(&object, "/apiVersion"), hook.version("v2"))?;
                    same("the spec", &object["spec"], &json!({ "colour": color }))?;
                }
                Ok(())
            },
        ),
        case(
            "initial_events_are_converted",
            "The initial events of a watch are converted.",
            async |t| {
                let hook = Hook::served(t).await?;
                hook.make(t, "v1", "a", "red").await?;
                t.settled(&hook.things("v2", "")).await?;
                let mut watch = t.watch(&hook.things("v2", "?resourceVersion=0")).await?;
                let object = watch.event("ADDED", "a").await?;
                same("the spec", &object["spec"], &json!({ "colour": "red" }))
            },
        ),
        case(
            "events_are_selected_after_the_conversion",
            "A watch with a field selector has the events of objects that match in its version.",
            async |t| {
                let hook = Hook::served(t).await?;
                let rest = "?fieldSelector=spec.colour%3Dred";
                let mut watch = t.watch(&hook.things("v2", rest)).await?;
                hook.make(t, "v1", "a", "blue").await?;
                hook.make(t, "v1", "b", "red").await?;
                let object = watch.event("ADDED", "b").await?;
                same("the spec", &object["spec"], &json!({ "colour": "red" }))?;
                t.merge(&hook.things("v1", "/b"), json!({ "spec": { "color": "blue" } }))
                    .await?
                    .is(200)?;
                let object = watch.event("DELETED", "b").await?;
                same("the spec", &object["spec"], &json!({ "colour": "red" }))
            },
        ),
        case(
            "a_watch_waits_for_its_webhook",
            "While the webhook fails a watch has no event, and goes on when the webhook answers again.",
            async |t| {
                let hook = Hook::served(t).await?;
                let mut watch = t.watch(&hook.things("v2", "")).await?;
                hook.make(t, "v1", "a", "red").await?;
                watch.event("ADDED", "a").await?;
                hook.fail();
                hook.server.forget();
                hook.make(t, "v1", "b", "blue").await?;
                let mended = async {
                    eventually(async || {
                        let is_asked = !hook.server.seen().is_empty();
                        Ok(if is_asked { Ok(()) } else { Err("no review came".to_owned()) })
                    })
                    .await?;
                    hook.mend();
                    Ok::<_, String>(())
                };
                // The embedded server converts an event when a client reads it.
                let (object, mended) = futures::join!(watch.event("ADDED", "b"), mended);
                mended?;
                let object = object?;
                same("the spec", &object["spec"], &json!({ "colour": "blue" }))
            },
        ),
    ]
}
