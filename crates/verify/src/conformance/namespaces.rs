//! Namespaces: what holds in a missing one and in one that is going away.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

const NAMESPACES: &str = "/api/v1/namespaces";

/// A namespace that is being deleted and does not end, since something in it is held.
pub(super) async fn ending(t: &Target) -> Result<String, String> {
    let name = t.own("end");
    t.make(NAMESPACES, named(&name)).await?;
    let mut object = map("held", "v");
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    t.make(&format!("{NAMESPACES}/{name}/configmaps"), object).await?;
    t.delete(&format!("{NAMESPACES}/{name}")).await?.is(200)?;
    Ok(name)
}

/// A namespace of the case's own, and its path.
async fn made(t: &Target, of: &str) -> Result<(Value, String), String> {
    let name = t.own(of);
    let made = t.make(NAMESPACES, named(&name)).await?;
    Ok((made, format!("{NAMESPACES}/{name}")))
}

/// Gives a namespace these finalizers in its spec.
async fn finalized_by(t: &Target, path: &str, finalizers: &[&str]) -> Result<Value, String> {
    let mut namespace = t.get(path).await?.is(200)?;
    namespace["spec"]["finalizers"] = json!(finalizers);
    namespace["metadata"]["resourceVersion"] = Value::Null;
    t.put(&format!("{path}/finalize"), &namespace).await?.is(200)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_marked_namespace_says_no_grace",
            "The first delete of a namespace sets deletionTimestamp, and no deletionGracePeriodSeconds.",
            async |t| {
                let (_, path) = made(t, "grace").await?;
                let marked = t.delete(&path).await?.is(200)?;
                let metadata =
                    json!({ "deletionTimestamp": "*", "deletionGracePeriodSeconds": null });
                has(&marked, json!({ "metadata": metadata }))
            },
        ),
        case(
            "a_delete_leaves_the_conditions_of_a_namespace",
            "The first delete of a namespace changes the phase in its status, and nothing else of that.",
            async |t| {
                let (_, path) = made(t, "cond").await?;
                let condition = json!({
                    "type": "example.com/mine", "status": "True", "reason": "Mine", "message": "m",
                    "lastTransitionTime": "2001-01-01T00:00:00Z",
                });
                let status = json!({ "status": { "conditions": [condition.clone()] } });
                t.merge(&format!("{path}/status"), status).await?.is(200)?;
                let marked = t.delete(&path).await?.is(200)?;
                has(
                    &marked,
                    json!({ "status": { "phase": "Terminating", "conditions": [condition] } }),
                )
            },
        ),
        case(
            "a_namespace_without_finalizers_takes_two_deletes",
            "The first delete of a namespace only marks it, even if its spec has no finalizers; the second removes it.",
            async |t| {
                let (_, path) = made(t, "two").await?;
                finalized_by(t, &path, &[]).await?;
                let marked = t.delete(&path).await?.is(200)?;
                has(
                    &marked,
                    json!({ "kind": "Namespace", "metadata": { "deletionTimestamp": "*" }, "status": { "phase": "Terminating" } }),
                )?;
                t.get(&path).await?.is(200)?;
                has(&t.delete(&path).await?.is(200)?, json!({ "kind": "Namespace" }))?;
                t.get(&path).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "another_delete_of_a_held_namespace_changes_nothing",
            "A delete of a namespace that its spec's finalizers hold answers it as it is, whatever the options say.",
            async |t| {
                let (_, path) = made(t, "held").await?;
                finalized_by(t, &path, &["example.com/f"]).await?;
                t.delete(&path).await?.is(200)?;
                let again = t
                    .delete_with(&path, json!({ "propagationPolicy": "Foreground" }))
                    .await?
                    .is(200)?;
                let metadata = json!({ "finalizers": null, "deletionGracePeriodSeconds": null });
                has(&again, json!({ "kind": "Namespace", "metadata": metadata }))?;
                finalized_by(t, &path, &[]).await?;
                t.get(&path).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "a_namespace_is_deleted_in_the_foreground_by_not_orphaning",
            "The first delete of a namespace with orphanDependents false answers 202 and waits for its dependents, as with the policy Foreground.",
            async |t| {
                let (_, path) = made(t, "front").await?;
                let dry = json!({ "orphanDependents": false, "dryRun": ["All"] });
                let marked = t.delete_with(&path, dry).await?.is(202)?;
                has(&marked, json!({ "metadata": { "finalizers": ["foregroundDeletion"] } }))?;
                let dry = json!({ "propagationPolicy": "Foreground", "dryRun": ["All"] });
                let marked = t.delete_with(&path, dry).await?.is(200)?;
                has(&marked, json!({ "metadata": { "finalizers": ["foregroundDeletion"] } }))?;
                has(
                    &t.get(&path).await?.is(200)?,
                    json!({ "metadata": { "deletionTimestamp": null } }),
                )
            },
        ),
        case(
            "a_marked_namespace_that_is_held_by_its_metadata_gets_its_grace",
            "A namespace whose metadata has finalizers says the grace 0 from its second delete on.",
            async |t| {
                let (_, path) = made(t, "meta").await?;
                let held = json!({ "metadata": { "finalizers": ["example.com/f"] } });
                t.merge(&path, held).await?.is(200)?;
                finalized_by(t, &path, &[]).await?;
                let first = t.delete(&path).await?.is(200)?;
                has(&first, json!({ "metadata": { "deletionGracePeriodSeconds": null } }))?;
                let second = t.delete(&path).await?.is(200)?;
                has(
                    &second,
                    json!({ "kind": "Namespace", "metadata": { "deletionGracePeriodSeconds": 0, "deletionTimestamp": text(&first, "/metadata/deletionTimestamp") } }),
                )?;
                t.merge(&path, json!({ "metadata": { "finalizers": null } })).await?.is(200)?;
                t.get(&path).await?.refused(404, "NotFound")?;
                Ok(())
            },
        ),
        case(
            "preconditions_of_a_namespace_speak_in_their_own_words",
            "A delete of a namespace whose precondition does not hold answers 409 in the name of the resource.",
            async |t| {
                let (made, path) = made(t, "pre").await?;
                let name = text(&made, "/metadata/name");
                let told = |what: &str, wanted: &str, is: &str| {
                    format!(
                        "Operation cannot be fulfilled on namespaces \"{name}\": Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}"
                    )
                };
                let options = json!({ "preconditions": { "uid": "other" } });
                let status = t.delete_with(&path, options).await?.refused(409, "Conflict")?;
                let uid = text(&made, "/metadata/uid");
                same("message", text(&status, "/message"), told("UID", "other", uid).as_str())?;
                has(&status, json!({ "details": { "name": name, "kind": "namespaces" } }))?;
                let now = t.get(&path).await?.is(200)?;
                let options = json!({ "preconditions": { "uid": uid, "resourceVersion": "1" } });
                let status = t.delete_with(&path, options).await?.refused(409, "Conflict")?;
                let why = told("ResourceVersion", "1", version(&now));
                same("message", text(&status, "/message"), why.as_str())?;
                has(
                    &t.get(&path).await?.is(200)?,
                    json!({ "metadata": { "deletionTimestamp": null } }),
                )
            },
        ),
        case(
            "what_outlives_its_namespace_cannot_be_changed",
            "An update, a patch or an apply of an object whose namespace is gone answers 404 about the namespace.",
            async |t| {
                let (made, path) = made(t, "left").await?;
                let maps = format!("{path}/configmaps");
                let map = t.post(&maps, &named("a")).await?.is(201)?;
                finalized_by(t, &path, &[]).await?;
                t.delete(&path).await?.is(200)?;
                t.delete(&path).await?.is(200)?;
                t.get(&path).await?.refused(404, "NotFound")?;
                let at = format!("{maps}/a");
                let why = format!("namespaces \"{}\" not found", text(&made, "/metadata/name"));
                t.put(&at, &map).await?.says(404, "NotFound", &why)?;
                t.merge(&at, json!({ "data": { "k": "v" } })).await?.says(404, "NotFound", &why)?;
                t.delete(&at).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "preconditions_come_before_what_protects_a_namespace",
            "A delete of the namespace default answers 403, and 409 if its precondition does not hold.",
            async |t| {
                let path = format!("{NAMESPACES}/default");
                t.delete(&path).await?.refused(403, "Forbidden")?;
                let options = json!({ "preconditions": { "uid": "other" } });
                t.delete_with(&path, options).await?.refused(409, "Conflict")?;
                Ok(())
            },
        ),
        case(
            "a_namespace_is_made_active",
            "A new namespace is Active, has the finalizer kubernetes in its spec, and its name as a label.",
            async |t| {
                let name = t.own("n");
                let made = t.make(NAMESPACES, named(&name)).await?;
                has(
                    &made,
                    json!({ "metadata": { "labels": { "kubernetes.io/metadata.name": name } }, "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" } }),
                )
            },
        ),
        case(
            "a_create_in_a_missing_namespace_is_404",
            "A create in a namespace that does not exist answers 404 about the namespace.",
            async |t| {
                let status = t
                    .post(&format!("{NAMESPACES}/conformance-missing/configmaps"), &named("a"))
                    .await?;
                let status =
                    status.says(404, "NotFound", "namespaces \"conformance-missing\" not found")?;
                has(
                    &status,
                    json!({ "details": { "kind": "namespaces", "name": "conformance-missing" } }),
                )
            },
        ),
        case(
            "a_custom_object_in_a_missing_namespace_is_404",
            "A create of a custom object in a namespace that does not exist answers 404 about the namespace.",
            async |t| {
                let path =
                    "/apis/conformance.example.com/v1/namespaces/conformance-missing/widgets";
                t.post(path, &widget("a", json!({}))).await?.says(
                    404,
                    "NotFound",
                    "namespaces \"conformance-missing\" not found",
                )?;
                Ok(())
            },
        ),
        case(
            "a_write_in_a_missing_namespace_is_404",
            "A put, patch or delete in a namespace that does not exist answers 404 about the object.",
            async |t| {
                let path = format!("{NAMESPACES}/conformance-missing/configmaps/a");
                t.put(&path, &named("a")).await?.says(
                    404,
                    "NotFound",
                    "configmaps \"a\" not found",
                )?;
                t.merge(&path, json!({})).await?.says(
                    404,
                    "NotFound",
                    "configmaps \"a\" not found",
                )?;
                t.delete(&path).await?.says(404, "NotFound", "configmaps \"a\" not found")?;
                Ok(())
            },
        ),
        case(
            "a_put_that_creates_needs_the_namespace",
            "A put that would create a Lease answers 404 in a namespace that does not exist.",
            async |t| {
                let path = "/apis/coordination.k8s.io/v1/namespaces/conformance-missing/leases/a";
                t.put(path, &lease("a", "x")).await?.says(
                    404,
                    "NotFound",
                    "namespaces \"conformance-missing\" not found",
                )?;
                Ok(())
            },
        ),
        case(
            "a_deleted_namespace_is_terminating",
            "The delete of a namespace answers it, Terminating and with a deletionTimestamp.",
            async |t| {
                let name = t.own("n");
                t.make(NAMESPACES, named(&name)).await?;
                let marked = t.delete(&format!("{NAMESPACES}/{name}")).await?.is(200)?;
                has(
                    &marked,
                    json!({ "kind": "Namespace", "metadata": { "deletionTimestamp": "*" }, "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Terminating" } }),
                )
            },
        ),
        case(
            "nothing_new_in_a_terminating_namespace",
            "A create in a namespace that is being deleted answers 403 with the cause NamespaceTerminating.",
            async |t| {
                let name = ending(t).await?;
                let status = t
                    .post(&format!("{NAMESPACES}/{name}/configmaps"), &named("a"))
                    .await?
                    .refused(403, "Forbidden")?;
                let why = format!(
                    "configmaps \"a\" is forbidden: unable to create new content in namespace {name} because it is being terminated"
                );
                same("message", text(&status, "/message"), why.as_str())?;
                let cause = json!({ "reason": "NamespaceTerminating", "message": format!("namespace {name} is being terminated"), "field": "metadata.namespace" });
                has(
                    &status,
                    json!({ "details": { "name": "a", "kind": "configmaps", "causes": [cause] } }),
                )
            },
        ),
        case(
            "what_is_to_be_named_has_no_name_in_a_terminating_namespace",
            "A create with generateName in a namespace that is being deleted is refused in the name it begins with.",
            async |t| {
                let name = ending(t).await?;
                let path = format!("{NAMESPACES}/{name}/configmaps");
                let nameless = json!({ "metadata": { "generateName": "base-" } });
                let status = t.post(&path, &nameless).await?.refused(403, "Forbidden")?;
                let why = "configmaps \"base-\" is forbidden: unable to create new content";
                holds(
                    "the name is what it begins with",
                    text(&status, "/message").starts_with(why),
                )?;
                let status =
                    t.post(&path, &json!({ "metadata": {} })).await?.refused(403, "Forbidden")?;
                let why = "configmaps \"Unknown\" is forbidden: unable to create new content";
                holds("without both it is unknown", text(&status, "/message").starts_with(why))
            },
        ),
        case(
            "changes_in_a_terminating_namespace_are_fine",
            "An object in a namespace that is being deleted can still be changed and deleted.",
            async |t| {
                let name = ending(t).await?;
                t.merge(
                    &format!("{NAMESPACES}/{name}/configmaps/held"),
                    json!({ "data": { "k": "w" } }),
                )
                .await?
                .is(200)?;
                Ok(())
            },
        ),
        case(
            "a_namespace_ends_when_it_is_empty",
            "A namespace that is being deleted is gone when its objects are.",
            async |t| {
                let name = t.own("n");
                t.make(NAMESPACES, named(&name)).await?;
                t.make(&format!("{NAMESPACES}/{name}/configmaps"), named("a")).await?;
                t.delete(&format!("{NAMESPACES}/{name}")).await?.is(200)?;
                t.until_gone(&format!("{NAMESPACES}/{name}")).await
            },
        ),
        case(
            "finalizers_of_a_namespace_are_changed_by_finalize",
            "A put of a namespace leaves its spec; a put of its finalize subresource changes it.",
            async |t| {
                let name = t.own("n");
                let mut made = t.make(NAMESPACES, named(&name)).await?;
                made["spec"]["finalizers"] = json!(["kubernetes", "example.com/f"]);
                let put = t.put(&format!("{NAMESPACES}/{name}"), &made).await?.is(200)?;
                has(&put, json!({ "spec": { "finalizers": ["kubernetes"] } }))?;
                made["metadata"]["resourceVersion"] = version(&put).into();
                let put = t.put(&format!("{NAMESPACES}/{name}/finalize"), &made).await?.is(200)?;
                has(&put, json!({ "spec": { "finalizers": ["kubernetes", "example.com/f"] } }))?;
                made["metadata"]["resourceVersion"] = version(&put).into();
                made["spec"]["finalizers"] = json!(["kubernetes"]);
                t.put(&format!("{NAMESPACES}/{name}/finalize"), &made).await?.is(200)?;
                Ok(())
            },
        ),
        case(
            "finalize_has_only_put",
            "A get, patch or delete of a namespace's finalize answers 405.",
            async |t| {
                let path = format!("{NAMESPACES}/{}/finalize", t.namespace);
                t.get(&path).await?.refused(405, "MethodNotAllowed")?;
                t.merge(&path, json!({})).await?.refused(405, "MethodNotAllowed")?;
                t.delete(&path).await?.refused(405, "MethodNotAllowed")?;
                Ok(())
            },
        ),
        case(
            "the_system_namespaces_stay",
            "default, kube-system and kube-public exist and cannot be deleted: 403.",
            async |t| {
                for name in ["default", "kube-system", "kube-public"] {
                    t.get(&format!("{NAMESPACES}/{name}")).await?.is(200)?;
                    t.delete(&format!("{NAMESPACES}/{name}")).await?.says(
                        403,
                        "Forbidden",
                        "this namespace may not be deleted",
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "the_name_label_comes_back",
            "The label with the namespace's name cannot be removed or changed.",
            async |t| {
                let name = t.own("n");
                t.make(NAMESPACES, named(&name)).await?;
                let patch =
                    json!({ "metadata": { "labels": { "kubernetes.io/metadata.name": null } } });
                let patched = t.merge(&format!("{NAMESPACES}/{name}"), patch).await?.is(200)?;
                has(
                    &patched,
                    json!({ "metadata": { "labels": { "kubernetes.io/metadata.name": name } } }),
                )
            },
        ),
    ]
}
