//! What random calls found: the order in which a request is refused, and words that nobody had
//! looked at.

mod hidden;
mod refusals;
mod types;
mod zeros;

use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

pub(super) fn cases() -> Vec<Case> {
    [
        ways(),
        bodies(),
        deletes(),
        writes(),
        types::cases(),
        hidden::cases(),
        refusals::cases(),
        zeros::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn ways() -> Vec<Case> {
    vec![
        case(
            "an_unknown_subresource_is_not_found_whatever_is_accepted",
            "A subresource that a kind does not have answers 404, even to who accepts nothing that there is.",
            async |t| {
                let answer = t
                    .send(Method::POST, &t.leases("/a/scale"), &[("accept", "text/html")], "")
                    .await?;
                answer.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_method_that_is_none_comes_before_what_is_accepted",
            "A method that a path of a built-in kind does not have answers 405, even to who accepts nothing that there is.",
            async |t| {
                let answer =
                    t.send(Method::PUT, &t.maps(""), &[("accept", "text/html")], "").await?;
                answer.refused(405, "MethodNotAllowed").map(drop)
            },
        ),
        case(
            "custom_kinds_take_half_a_type",
            "Who accepts `application/*` gets custom objects, though of built-in kinds that is 406.",
            async |t| {
                let any = [("accept", "application/*")];
                t.send(Method::GET, &t.widgets(""), &any, "").await?.is(200)?;
                t.send(Method::GET, &t.maps(""), &any, "")
                    .await?
                    .refused(406, "NotAcceptable")
                    .map(drop)
            },
        ),
        case(
            "a_number_that_64_bits_do_not_hold_is_refused",
            "A limit beyond 64 bits answers 400, and a resourceVersion 500.",
            async |t| {
                let huge = "99999999999999999999";
                let answer = t.get(&t.maps(&format!("?limit={huge}"))).await?;
                answer.refused(400, "BadRequest")?;
                t.map("a", "v").await?;
                let patch =
                    json!({ "metadata": { "resourceVersion": huge }, "data": { "k": "w" } });
                t.merge(&t.maps("/a"), patch).await?.refused(500, "").map(drop)
            },
        ),
        case(
            "qualities_are_weighed",
            "Of several types that are accepted the one of the higher quality is sent, whichever comes first.",
            async |t| {
                let accept = [("accept", "application/json;q=0.1,application/yaml")];
                let answer = t.send(Method::GET, &t.maps(""), &accept, "").await?;
                same("the type", answer.header("content-type"), "application/yaml")
            },
        ),
        case(
            "a_create_takes_no_notice_of_a_name_in_its_path",
            "A POST to the path of a custom object creates the object that the body names.",
            async |t| {
                let made = t.make(&t.widgets("/other"), widget("a", json!({}))).await?;
                has(&made, json!({ "metadata": { "name": "a" } }))?;
                // Its path says nothing of where it is to be found afterwards.
                t.delete(&t.widgets("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "an_update_of_a_custom_collection_wants_a_name",
            "A PUT to a collection of a custom kind answers 400 and asks for a name.",
            async |t| {
                let answer = t.put(&t.widgets(""), &widget("a", json!({}))).await?;
                answer.says(400, "BadRequest", "name must be provided").map(drop)
            },
        ),
        case(
            "a_verb_that_a_custom_subresource_does_not_have_is_named",
            "A DELETE of the status of a custom object answers 405 and names the verb and the resource.",
            async |t| {
                let answer = t.delete(&t.widgets("/a/status")).await?;
                let part = "delete is not supported on resources of kind \"widgets.conformance.example.com\"";
                answer.says(405, "MethodNotAllowed", part).map(drop)
            },
        ),
        case(
            "what_follows_a_custom_subresource_is_not_read",
            "The path of a custom object's status may go on, and nobody looks at how.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                t.get(&t.widgets("/a/status/more")).await?.is(200)?;
                t.get(&t.maps("/a/status/more")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_field_selector_of_nothing_is_everything",
            "The field selector `=` selects every object.",
            async |t| {
                t.map("a", "v").await?;
                let list = t.get(&t.maps("?fieldSelector=%3D")).await?.is(200)?;
                same("the names", names(&list), "a")
            },
        ),
        case(
            "a_selector_is_read_before_the_options_of_a_watch_are_checked",
            "A watch with a label selector that cannot be read answers 400, whatever else is wrong with its options.",
            async |t| {
                let answer =
                    t.get(&t.maps("?watch=true&labelSelector=%2C&sendInitialEvents=true")).await?;
                answer.refused(400, "BadRequest").map(drop)
            },
        ),
    ]
}

fn bodies() -> Vec<Case> {
    vec![
        case(
            "a_custom_object_without_a_kind_is_400",
            "A custom object that does not say its kind answers 400.",
            async |t| {
                let json = [("content-type", "application/json")];
                let answer = t.send(Method::POST, &t.widgets(""), &json, "{}").await?;
                answer.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "a_custom_object_without_a_version_is_of_another",
            "A custom object that does not say its version is of the empty one, and answers 400.",
            async |t| {
                let answer = t
                    .post(&t.widgets(""), &json!({ "kind": "Widget", "metadata": { "name": "a" } }))
                    .await?;
                let part = "the API version in the data () does not match the expected API version";
                answer.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "a_custom_object_of_another_kind_is_invalid",
            "A custom object that says that it is of another kind answers 422 under the name of that kind.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["kind"] = "Other".into();
                let answer = t.post(&t.widgets(""), &object).await?;
                let part = "Other.conformance.example.com \"a\" is invalid: kind: Invalid value: \"Other\": must be Widget";
                answer.says(422, "Invalid", part).map(drop)
            },
        ),
        case(
            "a_kind_that_nobody_has_is_not_registered",
            "An object of a version that no part of Kubernetes has answers 400 and says that it is not registered.",
            async |t| {
                let answer = t
                    .post(&t.maps(""), &json!({ "apiVersion": "x", "metadata": { "name": "a" } }))
                    .await?;
                let part = "no kind \"ConfigMap\" is registered for version \"x\"";
                answer.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "a_new_event_is_owned_as_it_was_sent",
            "Of a new Event nobody owns the times that were not sent, though they are written as null.",
            async |t| {
                let event = json!({ "metadata": { "name": "a" }, "involvedObject": { "namespace": t.namespace } });
                let made = t.make(&t.core("events", ""), event).await?;
                let fields = &made["metadata"]["managedFields"][0]["fieldsV1"];
                same("the fields", fields, &json!({ "f:involvedObject": {} }))
            },
        ),
        case(
            "the_count_of_an_event_is_a_number",
            "In a table the count of an Event is a number, under a column for text.",
            async |t| {
                let mut event = old_event("a", &t.namespace);
                event["count"] = 3.into();
                t.make(&t.core("events", ""), event).await?;
                let table = t
                    .send(Method::GET, &t.core("events", ""), &[("accept", TABLE)], "")
                    .await?
                    .is(200)?;
                let cells = items(&table, "/rows/0/cells");
                holds("the count is there as 3", cells.iter().any(|cell| *cell == 3))
            },
        ),
        case(
            "the_end_of_the_initial_events_has_what_every_object_has",
            "The bookmark that ends the initial events of Leases has an empty spec, as an empty Lease.",
            async |t| {
                let mut lines = t.watch(&t.leases("?allowWatchBookmarks=true")).await?;
                let mark = lines.event("BOOKMARK", "").await?;
                same("the spec", &mark["spec"], &json!({}))
            },
        ),
    ]
}

fn deletes() -> Vec<Case> {
    vec![
        case(
            "an_unknown_policy_is_told_the_known_ones",
            "A propagation policy that is none answers 422 with those that there are, and with nil.",
            async |t| {
                let answer =
                    t.delete_with(&t.maps("/a"), json!({ "propagationPolicy": "x" })).await?;
                let part = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
                answer.says(422, "Invalid", part).map(drop)
            },
        ),
        case(
            "a_held_object_is_accepted_for_deletion_in_the_old_way",
            "A DELETE with orphanDependents=false of an object that finalizers hold answers 202.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["finalizers"] = json!(["example.com/f"]);
                t.make(&t.maps(""), object).await?;
                t.delete(&t.maps("/a?orphanDependents=false")).await?.is(202).map(drop)
            },
        ),
        case(
            "another_policy_takes_back_the_first",
            "A second DELETE with the policy Background removes an object that waited for its dependents.",
            async |t| {
                t.map("held", "v").await?;
                let owner = t.get(&t.maps("/held")).await?.is(200)?;
                let mut dependent = map("dependent", "v");
                dependent["metadata"]["finalizers"] = json!(["example.com/f"]);
                dependent["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": "v1", "kind": "ConfigMap", "name": "held", "uid": text(&owner, "/metadata/uid"),
                    "blockOwnerDeletion": true,
                }]);
                t.make(&t.maps(""), dependent).await?;
                t.delete_with(&t.maps("/held"), json!({ "propagationPolicy": "Foreground" }))
                    .await?
                    .is(200)?;
                t.delete_with(&t.maps("/held"), json!({ "propagationPolicy": "Background" }))
                    .await?
                    .is(200)?;
                t.get(&t.maps("/held")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_pod_is_told_before_it_goes",
            "A watch sees a pod that is on no node marked for deletion, and then deleted.",
            async |t| {
                let made = t.make(&t.core("pods", ""), pod("a")).await?;
                let path = t.core("pods", &format!("?resourceVersion={}", version(&made)));
                let mut lines = t.watch(&path).await?;
                let gone = t.delete(&t.core("pods", "/a")).await?.is(200)?;
                has(&gone, json!({ "metadata": { "deletionGracePeriodSeconds": 0 } }))?;
                lines.event("MODIFIED", "a").await?;
                lines.event("DELETED", "a").await.map(drop)
            },
        ),
    ]
}

fn writes() -> Vec<Case> {
    vec![
        case(
            "a_taken_name_could_have_been_made_up",
            "A create of a name that is taken, which also says generateName, is told to try again.",
            async |t| {
                t.map("a", "v").await?;
                let mut object = map("a", "v");
                object["metadata"]["generateName"] = "a-".into();
                let answer = t.post(&t.maps(""), &object).await?;
                let part = "already exists, the server was not able to generate a unique name for the object";
                answer.says(409, "AlreadyExists", part)?;
                same("Retry-After", answer.header("retry-after"), "1")
            },
        ),
        case(
            "an_update_of_another_uid_names_the_key",
            "An update with the uid of another object answers 409 in the words of the storage.",
            async |t| {
                t.map("a", "v").await?;
                let mut object = map("a", "w");
                object["metadata"]["uid"] = "00000000-0000-4000-8000-000000000001".into();
                let answer = t.put(&t.maps("/a"), &object).await?;
                let part = format!(
                    "StorageError: invalid object, Code: 4, Key: /registry/configmaps/{}/a",
                    t.namespace
                );
                answer.says(409, "Conflict", &part).map(drop)
            },
        ),
        case(
            "a_secret_for_tls_has_both_parts",
            "A Secret of the type kubernetes.io/tls without certificate and key answers 422 and names both.",
            async |t| {
                let secret = json!({ "metadata": { "name": "a" }, "type": "kubernetes.io/tls" });
                let answer = t.post(&t.core("secrets", ""), &secret).await?;
                answer
                    .invalid(&[
                        "FieldValueRequired data[tls.crt]",
                        "FieldValueRequired data[tls.key]",
                    ])
                    .map(drop)
            },
        ),
        case(
            "a_refused_write_warns_too",
            "A custom object with an unknown member and no name answers 422 with the warning of the member.",
            async |t| {
                let mut object = tracker("", json!({ "unknown": 1 }));
                object["metadata"] = json!({});
                let answer = t.post(&t.trackers(""), &object).await?;
                answer.refused(422, "Invalid")?;
                same("the warnings", answer.warnings().len(), 1)
            },
        ),
        case(
            "finalizers_without_a_domain_are_only_warned_of",
            "A custom object may have a finalizer without a domain, and is warned of it, also where it is refused for its version.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["finalizers"] = json!(["bad"]);
                let part = "prefer a domain-qualified finalizer name to avoid accidental conflicts";
                for (version, status) in [("1", 500), ("", 201)] {
                    object["metadata"]["resourceVersion"] = version.into();
                    let answer = t.post(&t.widgets(""), &object).await?;
                    answer.is(status)?;
                    holds(
                        "it is warned of",
                        answer.warnings().iter().any(|warning| warning.contains(part)),
                    )?;
                }
                t.merge(&t.widgets("/a"), json!({ "metadata": { "finalizers": null } }))
                    .await?
                    .is(200)
                    .map(drop)
            },
        ),
        case(
            "all_that_is_wrong_with_the_options_of_a_write_is_said",
            "A patch with a dryRun and a fieldValidation that are none answers 422 with both.",
            async |t| {
                t.map("a", "v").await?;
                let answer = t.merge(&t.maps("/a?dryRun=x&fieldValidation=x"), json!({})).await?;
                answer
                    .invalid(&[
                        "FieldValueNotSupported dryRun",
                        "FieldValueNotSupported fieldValidation",
                    ])
                    .map(drop)
            },
        ),
        case(
            "a_version_that_is_none_may_be_created",
            "A create with a resourceVersion that is no number is as one without.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["resourceVersion"] = "x".into();
                t.make(&t.maps(""), object).await.map(drop)
            },
        ),
        case(
            "bytes_that_are_cut_off_are_refused",
            "A Secret whose base64 is cut off answers 400, and a strategic patch that makes it so 422.",
            async |t| {
                let data = json!({ "k": "dg" });
                let secret = json!({ "metadata": { "name": "a" }, "data": data });
                t.post(&t.core("secrets", ""), &secret).await?.refused(400, "BadRequest")?;
                t.make(&t.core("secrets", ""), named("a")).await?;
                let answer = t
                    .patch(
                        &t.core("secrets", "/a"),
                        crate::conformance::STRATEGIC,
                        &json!({ "data": data }),
                    )
                    .await?;
                answer.refused(422, "Invalid").map(drop)
            },
        ),
    ]
}
