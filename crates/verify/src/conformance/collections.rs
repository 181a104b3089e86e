//! deletecollection.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_collection_is_deleted",
            "A delete of a collection removes its objects and answers a list of them.",
            async |t| {
                t.map("a", "v").await?;
                t.map("b", "v").await?;
                let gone = t.delete(&t.maps("")).await?.is(200)?;
                same("kind", text(&gone, "/kind"), "ConfigMapList")?;
                let list = t.get(&t.maps("")).await?.is(200)?;
                holds(
                    "a and b are gone",
                    !names(&list).split(',').any(|name| name == "a" || name == "b"),
                )
            },
        ),
        case(
            "a_collection_is_deleted_by_label",
            "A delete of a collection with a label selector removes what matches.",
            async |t| {
                t.labelled("a", "l", "1").await?;
                t.labelled("b", "l", "2").await?;
                let gone = t.delete(&t.maps("?labelSelector=l%3D1")).await?.is(200)?;
                same("gone", names(&gone), "a".to_owned())?;
                t.get(&t.maps("/a")).await?.is(404)?;
                t.get(&t.maps("/b")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_collection_is_deleted_by_field",
            "A delete of a collection with a field selector removes what matches.",
            async |t| {
                t.map("a", "v").await?;
                t.map("b", "v").await?;
                same(
                    "gone",
                    names(&t.delete(&t.maps("?fieldSelector=metadata.name%3Da")).await?.is(200)?),
                    "a".to_owned(),
                )?;
                t.get(&t.maps("/b")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "held_objects_of_a_collection_are_marked",
            "Objects of a deleted collection that have finalizers are marked and stay.",
            async |t| {
                let mut object = map("a", "v");
                object["metadata"]["finalizers"] = json!(["example.com/f"]);
                object["metadata"]["labels"] = json!({ "l": "1" });
                t.make(&t.maps(""), object).await?;
                t.delete(&t.maps("?labelSelector=l%3D1")).await?.is(200)?;
                has(
                    &t.get(&t.maps("/a")).await?.is(200)?,
                    json!({ "metadata": { "deletionTimestamp": "*" } }),
                )
            },
        ),
        case(
            "a_dry_run_of_a_collection_deletes_nothing",
            "A delete of a collection with dryRun=All deletes nothing.",
            async |t| {
                t.map("a", "v").await?;
                t.delete(&t.maps("?dryRun=All")).await?.is(200)?;
                t.get(&t.maps("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_collection_of_all_namespaces_is_405",
            "A delete of a namespaced kind without a namespace answers 405.",
            async |t| {
                t.delete("/api/v1/configmaps").await?.refused(405, "MethodNotAllowed")?;
                Ok(())
            },
        ),
        case(
            "namespaces_have_no_deletecollection",
            "A delete of all namespaces answers 405.",
            async |t| {
                t.delete("/api/v1/namespaces").await?.refused(405, "MethodNotAllowed")?;
                Ok(())
            },
        ),
        case(
            "a_malformed_selector_deletes_nothing",
            "A delete of a collection with a selector that cannot be read answers 400 and deletes nothing.",
            async |t| {
                t.map("a", "v").await?;
                t.delete(&t.maps("?labelSelector=a%20b")).await?.refused(400, "BadRequest")?;
                t.delete(&t.maps("?fieldSelector=data.k%3Dv")).await?.refused(400, "BadRequest")?;
                t.get(&t.maps("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_watch_sees_each_deletion_of_a_collection",
            "Each object of a deleted collection has a DELETED event of its own version.",
            async |t| {
                t.labelled("a", "l", "1").await?;
                let last = t.labelled("b", "l", "1").await?;
                let mut watch = t
                    .watch(
                        &t.maps(&format!(
                            "?labelSelector=l%3D1&resourceVersion={}",
                            version(&last)
                        )),
                    )
                    .await?;
                t.delete(&t.maps("?labelSelector=l%3D1")).await?.is(200)?;
                let (one, two) = (
                    watch.next().await?.unwrap_or_default(),
                    watch.next().await?.unwrap_or_default(),
                );
                same("types", (text(&one, "/type"), text(&two, "/type")), ("DELETED", "DELETED"))?;
                holds(
                    "versions differ",
                    text(&one, "/object/metadata/resourceVersion")
                        != text(&two, "/object/metadata/resourceVersion"),
                )
            },
        ),
        case(
            "a_collection_of_custom_objects_is_deleted",
            "A collection of custom objects is deleted and listed.",
            async |t| {
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                same("gone", names(&t.delete(&t.widgets("")).await?.is(200)?), "a".to_owned())?;
                has(&t.get(&t.widgets("")).await?.is(200)?, json!({ "items": [] }))
            },
        ),
        case(
            "options_of_a_collection_are_checked",
            "Delete options of a collection are checked.",
            async |t| {
                t.map("a", "v").await?;
                t.delete_with(&t.maps(""), json!({ "propagationPolicy": "Sideways" }))
                    .await?
                    .refused(422, "Invalid")?;
                t.get(&t.maps("/a")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_limit_of_a_collection",
            "A delete of a collection with a limit deletes at most that many, and answers a token for the rest.",
            async |t| {
                t.labelled("a", "l", "1").await?;
                t.labelled("b", "l", "1").await?;
                let gone = t.delete(&t.maps("?labelSelector=l%3D1&limit=1")).await?.is(200)?;
                same("gone", names(&gone), "a".to_owned())?;
                t.get(&t.maps("/b")).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "a_collection_is_deleted_object_by_object",
            "A deletecollection is no one step: the first object that may not be deleted ends it, and those before it are gone.",
            async |t| {
                let first = t.map("a", "v").await?;
                t.map("b", "v").await?;
                t.map("c", "v").await?;
                let options = json!({ "preconditions": { "uid": text(&first, "/metadata/uid") } });
                t.delete_with(&t.maps(""), options).await?.refused(409, "Conflict")?;
                same("left", names(&t.get(&t.maps("")).await?.is(200)?), "b,c".to_owned())
            },
        ),
        case(
            "the_rest_of_a_collection",
            "The token that a deletecollection with a limit answers goes on behind it; the list's version is that of the beginning.",
            async |t| {
                let mut last = json!({});
                for name in ["a", "b", "c"] {
                    last = t.labelled(name, "l", "1").await?;
                }
                let gone = t.delete(&t.maps("?labelSelector=l%3D1&limit=2")).await?.is(200)?;
                same("gone", names(&gone), "a,b".to_owned())?;
                holds("the version is that of the list", number(&gone) >= number(&last))?;
                let token = text(&gone, "/metadata/continue").to_owned();
                holds("there is a token", !token.is_empty())?;
                let gone = t
                    .delete(&t.maps(&format!("?labelSelector=l%3D1&limit=2&continue={token}")))
                    .await?
                    .is(200)?;
                same("gone", names(&gone), "c".to_owned())?;
                same(
                    "left",
                    names(&t.get(&t.maps("?labelSelector=l%3D1")).await?.is(200)?),
                    String::new(),
                )
            },
        ),
        case(
            "each_of_a_collection_has_its_own_version",
            "A watch shows a deletecollection as one DELETED event for each object, each with a version of its own, in the order of the list.",
            async |t| {
                let before = t.map("a", "v").await?;
                t.map("b", "v").await?;
                t.delete(&t.maps("")).await?.is(200)?;
                let mut watch =
                    t.watch(&t.maps(&format!("?resourceVersion={}", version(&before)))).await?;
                watch.event("ADDED", "b").await?;
                let a = watch.event("DELETED", "a").await?;
                let b = watch.event("DELETED", "b").await?;
                holds("versions grow", number(&a) < number(&b))
            },
        ),
    ]
}
