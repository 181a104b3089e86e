//! Replaces: which version they need, which kinds they create.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "replace_needs_the_name_of_the_path",
            "A PUT whose body has another name than the path, or none, answers 400.",
            async |t| {
                t.map("a", "v").await?;
                let why = "the name of the object (b) does not match the name on the URL (a)";
                t.put(&t.maps("/a"), &map("b", "v")).await?.says(400, "BadRequest", why)?;
                t.put(&t.maps("/a"), &json!({ "metadata": {} })).await?.says(
                    400,
                    "BadRequest",
                    "name must be provided",
                )?;
                Ok(())
            },
        ),
        case(
            "replace_in_another_namespace_is_400",
            "A PUT whose metadata.namespace is not the path's answers 400.",
            async |t| {
                t.map("a", "v").await?;
                let object = json!({ "metadata": { "name": "a", "namespace": "default" } });
                t.put(&t.maps("/a"), &object).await?.refused(400, "BadRequest")?;
                Ok(())
            },
        ),
        case(
            "replace_takes_everything_away_that_it_does_not_say",
            "A PUT replaces the object: labels and data that it does not hold are gone; uid and creation time stay.",
            async |t| {
                let made = t.labelled("a", "l", "1").await?;
                let put = t.put(&t.maps("/a"), &named("a")).await?.is(200)?;
                let kept = json!({ "uid": text(&made, "/metadata/uid"), "creationTimestamp": text(&made, "/metadata/creationTimestamp"), "labels": null });
                has(&put, json!({ "data": null, "metadata": kept }))?;
                holds("the version is newer", number(&put) > number(&made))
            },
        ),
        case(
            "replace_of_a_stale_version_is_409",
            "A PUT with a resourceVersion that is not the current one answers 409 Conflict.",
            async |t| {
                let made = t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                let answer = t.put(&t.maps("/a"), &made).await?;
                let why = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again";
                let status = answer.says(409, "Conflict", why)?;
                has(&status, json!({ "details": { "name": "a", "kind": "configmaps" } }))
            },
        ),
        case(
            "replace_of_a_future_version_is_409",
            "A PUT with a resourceVersion from the future answers 409 Conflict.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                made["metadata"]["resourceVersion"] = "9999999999".into();
                t.put(&t.maps("/a"), &made).await?.refused(409, "Conflict")?;
                Ok(())
            },
        ),
        case(
            "replace_without_a_version_overwrites",
            "A PUT without resourceVersion, or with \"0\", overwrites a ConfigMap, Secret, Pod's like unconditionally.",
            async |t| {
                t.map("a", "v").await?;
                t.merge(&t.maps("/a"), json!({ "data": { "k": "w" } })).await?.is(200)?;
                has(
                    &t.put(&t.maps("/a"), &map("a", "x")).await?.is(200)?,
                    json!({ "data": { "k": "x" } }),
                )?;
                let mut zero = map("a", "y");
                zero["metadata"]["resourceVersion"] = "0".into();
                has(&t.put(&t.maps("/a"), &zero).await?.is(200)?, json!({ "data": { "k": "y" } }))
            },
        ),
        case(
            "replace_of_a_lease_needs_a_version",
            "A PUT of a Lease without resourceVersion answers 422 Invalid.",
            async |t| {
                t.make(&t.leases(""), lease("a", "x")).await?;
                t.put(&t.leases("/a"), &lease("a", "y"))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.resourceVersion"])?;
                Ok(())
            },
        ),
        case(
            "replace_of_a_custom_object_needs_a_version",
            "A PUT of a custom object without resourceVersion answers 422 Invalid.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let status = t
                    .put(&t.widgets("/a"), &widget("a", json!({})))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.resourceVersion"])?;
                let message =
                    "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
                holds("the message says so", text(&status, "/message").contains(message))
                    .map_err(|why| format!("{why}: {status}"))
            },
        ),
        case(
            "replace_with_a_foreign_uid_is_409",
            "A PUT with another uid than the object's answers 409 Conflict.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                let uid = text(&made, "/metadata/uid").to_owned();
                made["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
                let why = format!(
                    "Precondition failed: UID in precondition: 00000000-0000-0000-0000-000000000000, UID in object meta: {uid}"
                );
                t.put(&t.maps("/a"), &made).await?.says(409, "Conflict", &why)?;
                Ok(())
            },
        ),
        case(
            "replace_of_a_missing_object_is_404",
            "A PUT of a missing object answers 404 for most kinds.",
            async |t| {
                t.put(&t.maps("/a"), &map("a", "v")).await?.refused(404, "NotFound")?;
                t.put(&t.core("secrets", "/a"), &named("a")).await?.refused(404, "NotFound")?;
                t.put(&t.claims("/a"), &claim("a", &t.class)).await?.refused(404, "NotFound")?;
                t.put(&t.core("pods", "/a"), &pod("a")).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "replace_of_a_missing_custom_object_is_404",
            "A PUT of a missing custom object answers 404.",
            async |t| {
                t.put(&t.widgets("/a"), &widget("a", json!({}))).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "replace_creates_a_lease",
            "A PUT of a missing Lease creates it: 201, even with a resourceVersion.",
            async |t| {
                let mut object = lease("a", "x");
                object["metadata"]["resourceVersion"] = "1".into();
                let made = t.put(&t.leases("/a"), &object).await?.is(201)?;
                holds("the version is the server's", version(&made) != "1")?;
                t.put(&t.leases("/b"), &lease("b", "x")).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "replace_creates_a_service_and_an_event",
            "A PUT of a missing Service or Event creates it: 201.",
            async |t| {
                t.put(&t.core("services", "/a"), &service("a")).await?.is(201)?;
                t.put(&t.core("events", "/a"), &old_event("a", &t.namespace)).await?.is(201)?;
                t.put(&t.new_events("/b"), &new_event("b", &t.namespace)).await?.is(201)?;
                Ok(())
            },
        ),
        case(
            "replace_of_a_missing_lease_with_a_uid_is_409",
            "A PUT of a missing Lease with a uid answers 409 Conflict.",
            async |t| {
                let mut object = lease("a", "x");
                object["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
                t.put(&t.leases("/a"), &object).await?.says(
                    409,
                    "Conflict",
                    "UID in object meta: ",
                )?;
                Ok(())
            },
        ),
        case(
            "replace_with_a_version_that_is_no_number_is_500",
            "A PUT with a resourceVersion that is no number answers 500 without a reason.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                made["metadata"]["resourceVersion"] = "x".into();
                t.put(&t.maps("/a"), &made).await?.refused(500, "")?;
                Ok(())
            },
        ),
        case(
            "replace_cannot_change_the_creation_time",
            "A PUT with another creationTimestamp or generation keeps what the object has.",
            async |t| {
                let made = t.map("a", "v").await?;
                let mut changed = made.clone();
                changed["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
                changed["metadata"]["generation"] = 7.into();
                let put = t.put(&t.maps("/a"), &changed).await?.is(200)?;
                has(
                    &put,
                    json!({ "metadata": { "creationTimestamp": text(&made, "/metadata/creationTimestamp") } }),
                )?;
                same("version", version(&put), version(&made))
            },
        ),
        case(
            "replace_cannot_set_a_deletion_time",
            "A PUT with a deletionTimestamp on an object that is not being deleted does not begin a deletion.",
            async |t| {
                let mut made = t.map("a", "v").await?;
                made["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
                t.put(&t.maps("/a"), &made)
                    .await?
                    .invalid(&["FieldValueInvalid metadata.deletionTimestamp"])?;
                Ok(())
            },
        ),
        case(
            "of_two_replaces_from_one_version_one_wins",
            "Of two PUTs from the same resourceVersion exactly one is applied, the other answers 409.",
            async |t| {
                let made = t.map("a", "v").await?;
                let (mut one, mut two) = (made.clone(), made);
                one["data"]["k"] = "one".into();
                two["data"]["k"] = "two".into();
                let path = t.maps("/a");
                let (one, two) = futures::join!(t.put(&path, &one), t.put(&path, &two));
                let mut codes = [one?.code, two?.code];
                codes.sort_unstable();
                same("codes", codes, [200, 409])
            },
        ),
    ]
}
