//! What is more than none: Go's zero time as a deletionTimestamp, a zero with a sign, bytes of
//! null.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::{APPLY, STRATEGIC, Target};
use crate::conformance::{Case, case};

/// Go's zero time.
const ZERO: &str = "0001-01-01T00:00:00Z";
const IMMUTABLE: &str = "metadata.deletionTimestamp: Invalid value: null: field is immutable";

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_end_at_zero_is_a_change",
            "A deletionTimestamp of the first moment of year 1 answers 422 where an object of a built-in kind is to be \
             changed, though it is shown as null.",
            async |t| {
                t.map("a", "x").await?;
                let ending = json!({ "metadata": { "deletionTimestamp": ZERO } });
                t.merge(&t.maps("/a"), ending).await?.says(422, "Invalid", IMMUTABLE)?;
                let end = |map: &mut Value| map["metadata"]["deletionTimestamp"] = ZERO.into();
                t.replace(&t.maps("/a"), end).await?.says(422, "Invalid", IMMUTABLE)?;
                apply(t, &t.maps("/a"), ending_map())
                    .await?
                    .says(422, "Invalid", IMMUTABLE)
                    .map(drop)
            },
        ),
        case(
            "who_applies_an_end_at_zero_makes_an_object_that_ends",
            "An apply makes an object with a deletionTimestamp of the first moment of year 1, which no write takes away: \
             one that says it again removes the object, and a delete leaves it as it is while there are finalizers.",
            async |t| {
                let made = apply(t, &t.maps("/a"), ending_map()).await?.is(201)?;
                same("shown", made["metadata"].get("deletionTimestamp"), Some(&Value::Null))?;
                t.merge(&t.maps("/a"), json!({ "data": { "a": "y" } }))
                    .await?
                    .says(422, "Invalid", IMMUTABLE)?;
                let why = "object is being deleted: configmaps \"a\" already exists";
                t.post(&t.maps(""), &map("a", "x")).await?.says(409, "AlreadyExists", why)?;
                let again =
                    json!({ "data": { "a": "y" }, "metadata": { "deletionTimestamp": ZERO } });
                t.merge(&t.maps("/a"), again).await?.is(200)?;
                t.get(&t.maps("/a")).await?.is(404)?;
                let mut held = ending_map();
                held["metadata"]["finalizers"] = json!(["example.com/held"]);
                apply(t, &t.maps("/a"), held).await?.is(201)?;
                t.delete(&t.maps("/a")).await?.is(200)?;
                let left = t.get(&t.maps("/a")).await?.is(200)?;
                same("a time", left["metadata"]["deletionTimestamp"].is_string(), false)?;
                let released =
                    json!({ "metadata": { "deletionTimestamp": ZERO, "finalizers": null } });
                t.merge(&t.maps("/a"), released).await?.is(200)?;
                t.get(&t.maps("/a")).await?.is(404).map(drop)
            },
        ),
        case(
            "an_end_at_zero_of_a_custom_object_is_owned_until_the_next_write",
            "Who sends a custom object a deletionTimestamp of the first moment of year 1 owns it, though it is not shown, and \
             the next write, which says nothing of it, makes a version.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let ending = json!({ "metadata": { "deletionTimestamp": ZERO } });
                let sent = t.merge(&t.widgets("/a"), ending).await?.is(200)?;
                same("shown", sent["metadata"].get("deletionTimestamp"), None::<&Value>)?;
                let owned = items(&sent, "/metadata/managedFields").iter();
                let ends = |entry: &Value| {
                    !entry["fieldsV1"]["f:metadata"]["f:deletionTimestamp"].is_null()
                };
                same("owners", owned.filter(|entry| ends(entry)).count(), 1)?;
                let next = t.merge(&t.widgets("/a"), json!({})).await?.is(200)?;
                same("another version", version(&next) != version(&sent), true)
            },
        ),
        case(
            "what_is_applied_is_converted_to_the_stored_version",
            "A deletionTimestamp or deletionGracePeriodSeconds that cannot be read answers 500 when it is applied to another \
             version than the stored one.",
            async |t| {
                for (member, value) in [
                    ("deletionTimestamp", json!(5)),
                    ("deletionTimestamp", json!("5")),
                    ("deletionGracePeriodSeconds", json!(1.5)),
                ] {
                    let mut object = widget("a", json!({}));
                    object["metadata"][member] = value;
                    apply(t, &t.widgets("/a?dryRun=All"), object.clone()).await?.is(201)?;
                    object["apiVersion"] = format!("{GROUP}/v2").into();
                    apply(t, &t.widgets_v2("/a?dryRun=All"), object).await?.refused(500, "")?;
                }
                Ok(())
            },
        ),
        case(
            "the_sign_of_a_zero_is_stored_and_not_read",
            "Of `-0.0` in a custom object the sign is stored: the next write makes a version, also one to the status that \
             says nothing; YAML and an apply lose it.",
            async |t| {
                for (to, part) in [("", "spec"), ("/status", "status")] {
                    let name = format!("a-{part}");
                    t.make(&t.widgets(""), widget(&name, json!({}))).await?;
                    let to = t.widgets(&format!("/{name}{to}"));
                    let sent = t.merge(&to, json!({ part: { "size": -0.0 } })).await?.is(200)?;
                    same("shown", sent[part]["size"].clone(), 0)?;
                    let status = t.widgets(&format!("/{name}/status"));
                    let next = t.merge(&status, json!({})).await?.is(200)?;
                    same("another version", version(&next) != version(&sent), true)?;
                    let last = t.merge(&status, json!({})).await?.is(200)?;
                    same("a third version", version(&last) != version(&next), false)?;
                }
                let applied = apply(t, &t.widgets("/b"), widget("b", json!({ "size": -0.0 })))
                    .await?
                    .is(201)?;
                let next = t.merge(&t.widgets("/b/status"), json!({})).await?.is(200)?;
                same("another version", version(&next) != version(&applied), false)?;
                let yaml = [("content-type", "application/yaml")];
                let mut object = widget("b", json!({ "size": -0.0 }));
                object["metadata"]["resourceVersion"] = version(&applied).into();
                let sent = t
                    .send(Method::PUT, &t.widgets("/b"), &yaml, object.to_string())
                    .await?
                    .is(200)?;
                same("another version", version(&sent) != version(&applied), false)
            },
        ),
        case(
            "bytes_of_null_are_stored_otherwise_than_none",
            "A Secret or a binary ConfigMap with null for a value shows an empty text, and the next write makes a version.",
            async |t| {
                for (path, part) in [(t.core("secrets", ""), "data"), (t.maps(""), "binaryData")] {
                    let made = t
                        .make(&path, json!({ "metadata": { "name": "a" }, part: { "k": null } }))
                        .await?;
                    same("shown", text(&made, &format!("/{part}/k")), "")?;
                    let next =
                        t.patch(&format!("{path}/a"), STRATEGIC, &json!({})).await?.is(200)?;
                    same("another version", version(&next) != version(&made), true)?;
                    let last =
                        t.patch(&format!("{path}/a"), STRATEGIC, &json!({})).await?.is(200)?;
                    same("a third version", version(&last) != version(&next), false)?;
                }
                Ok(())
            },
        ),
        case(
            "a_definition_is_made_without_an_end_at_zero",
            "An apply that makes a definition with a deletionTimestamp of the first moment of year 1 makes one without.",
            async |t| {
                let name = format!("things.{}.example.com", t.class);
                let path =
                    format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
                let schema = json!({ "openAPIV3Schema": { "type": "object" } });
                let definition = json!({
                    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                    "metadata": { "name": name, "deletionTimestamp": ZERO },
                    "spec": {
                        "group": format!("{}.example.com", t.class), "scope": "Namespaced",
                        "names": { "kind": "Thing", "plural": "things" },
                        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
                    },
                });
                let made = apply(t, &path, definition).await?.is(201)?;
                same("shown", made["metadata"].get("deletionTimestamp"), None)?;
                t.merge(&path, json!({ "metadata": { "labels": { "a": "b" } } }))
                    .await?
                    .is(200)
                    .map(drop)
            },
        ),
        case(
            "a_deployment_is_warned_of_whenever_its_generation_rises",
            "A write to a Deployment that changes annotations alone warns of its pods, since its generation rises.",
            async |t| {
                let pods = json!({
                    "metadata": { "labels": { "app": "a" } },
                    "spec": { "containers": [{ "image": "i", "name": "c" }], "terminationGracePeriodSeconds": -1 },
                });
                let spec =
                    json!({ "selector": { "matchLabels": { "app": "a" } }, "template": pods });
                let path = |rest: &str| t.of_group("apps/v1", "deployments", rest);
                t.make(&path(""), json!({ "metadata": { "name": "a" }, "spec": spec })).await?;
                let of = async |metadata: Value| {
                    let answer = t.merge(&path("/a"), json!({ "metadata": metadata })).await?;
                    answer.is(200)?;
                    Ok::<_, String>(answer.warnings().len())
                };
                same("of annotations", of(json!({ "annotations": { "l": "x" } })).await?, 1)?;
                same("of labels", of(json!({ "labels": { "l": "x" } })).await?, 0)
            },
        ),
    ]
}

fn ending_map() -> Value {
    let mut map = map("a", "x");
    map["metadata"]["deletionTimestamp"] = ZERO.into();
    map
}

async fn apply(t: &Target, path: &str, mut object: Value) -> Result<Answer, String> {
    if object.get("apiVersion").is_none() {
        object["apiVersion"] = "v1".into();
        object["kind"] = "ConfigMap".into();
    }
    let joint = if path.contains('?') { '&' } else { '?' };
    let path = format!("{path}{joint}fieldManager=m&force=true");
    t.send(Method::PATCH, &path, &[("content-type", APPLY)], object.to_string()).await
}
