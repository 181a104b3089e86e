//! The end of a namespace: what its controller deletes, in which order, and what it says meanwhile.

use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Outcome, Target, case};

const NAMESPACES: &str = "/api/v1/namespaces";

async fn namespace(t: &Target, name: &str) -> Result<(String, Value), String> {
    let name = t.own(name);
    let made = t.make(NAMESPACES, named(&name)).await?;
    Ok((format!("{NAMESPACES}/{name}"), made))
}

fn condition<'a>(namespace: &'a Value, kind: &str) -> &'a Value {
    static NONE: Value = Value::Null;
    items(namespace, "/status/conditions")
        .iter()
        .find(|one| text(one, "/type") == kind)
        .unwrap_or(&NONE)
}

fn says_what_remains(namespace: &Value) -> bool {
    text(condition(namespace, "NamespaceContentRemaining"), "/status") == "True"
}

async fn release(t: &Target, path: &str) -> Outcome {
    t.merge(path, json!({ "metadata": { "finalizers": null } })).await?.is(200).map(drop)
}

fn held(mut object: Value) -> Value {
    object["metadata"]["finalizers"] = json!(["example.com/held"]);
    object
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "all_kinds_go_with_their_namespace",
            "Objects of every kind are deleted with their namespace.",
            async |t| {
                let (path, made) = namespace(t, "n").await?;
                let name = text(&made, "/metadata/name");
                t.make(&format!("{path}/secrets"), named("s")).await?;
                t.make(&format!("{path}/events"), old_event("e", name)).await?;
                t.make(
                    &format!("/apis/coordination.k8s.io/v1/namespaces/{name}/leases"),
                    lease("l", "h"),
                )
                .await?;
                t.delete(&path).await?.is(200)?;
                t.until_gone(&path).await?;
                for left in [
                    format!("{path}/secrets"),
                    format!("{path}/events"),
                    format!("/apis/coordination.k8s.io/v1/namespaces/{name}/leases"),
                ] {
                    same("left", names(&t.get(&left).await?.is(200)?), String::new())?;
                }
                Ok(())
            },
        ),
        case(
            "what_remains_is_said",
            "A namespace whose content is held says how many objects of which kind remain, and which finalizers hold them.",
            async |t| {
                let (path, _) = namespace(t, "n").await?;
                t.make(&format!("{path}/configmaps"), held(map("a", "v"))).await?;
                t.make(&format!("{path}/configmaps"), held(map("b", "v"))).await?;
                t.make(&format!("{path}/secrets"), named("free")).await?;
                t.delete(&path).await?.is(200)?;
                let ending =
                    t.until(&path, "said", |_, namespace| says_what_remains(namespace)).await?;
                has(
                    condition(&ending, "NamespaceContentRemaining"),
                    json!({ "reason": "SomeResourcesRemain", "message": "Some resources are remaining: configmaps. has 2 resource instances", "lastTransitionTime": "*" }),
                )?;
                has(
                    condition(&ending, "NamespaceFinalizersRemaining"),
                    json!({ "status": "True", "reason": "SomeFinalizersRemain", "message": "Some content in the namespace has finalizers remaining: example.com/held in 2 resource instances" }),
                )?;
                has(
                    condition(&ending, "NamespaceDeletionContentFailure"),
                    json!({ "status": "False", "reason": "ContentDeleted", "message": "All content successfully deleted, may be waiting on finalization" }),
                )?;
                has(
                    condition(&ending, "NamespaceDeletionDiscoveryFailure"),
                    json!({ "status": "False", "reason": "ResourcesDiscovered", "message": "All resources successfully discovered" }),
                )?;
                has(
                    condition(&ending, "NamespaceDeletionGroupVersionParsingFailure"),
                    json!({ "status": "False", "reason": "ParsedGroupVersions", "message": "All legacy kube types successfully parsed" }),
                )?;
                same(
                    "secrets",
                    names(&t.get(&format!("{path}/secrets")).await?.is(200)?),
                    String::new(),
                )?;
                release(t, &format!("{path}/configmaps/a")).await?;
                release(t, &format!("{path}/configmaps/b")).await?;
                Ok(())
            },
        ),
        case(
            "a_namespace_ends_when_its_content_is_released",
            "A namespace whose content was held goes when the last finalizer is taken off.",
            async |t| {
                let (path, _) = namespace(t, "n").await?;
                t.make(&format!("{path}/configmaps"), held(map("a", "v"))).await?;
                t.delete(&path).await?.is(200)?;
                t.until(&path, "said", |_, namespace| says_what_remains(namespace)).await?;
                release(t, &format!("{path}/configmaps/a")).await?;
                t.until_gone(&path).await
            },
        ),
        case(
            "pods_go_before_the_rest",
            "As long as a pod remains, nothing else in its namespace is deleted, and the namespace does not say what it waits for.",
            async |t| {
                let (path, _) = namespace(t, "n").await?;
                t.make(&format!("{path}/pods"), held(pod("p"))).await?;
                t.make(&format!("{path}/secrets"), named("s")).await?;
                t.delete(&path).await?.is(200)?;
                let ending = t
                    .until(&path, "said", |_, namespace| {
                        !items(namespace, "/status/conditions").is_empty()
                    })
                    .await?;
                has(
                    condition(&ending, "NamespaceContentRemaining"),
                    json!({ "status": "False", "reason": "ContentRemoved", "message": "All content successfully removed" }),
                )?;
                has(
                    &t.get(&format!("{path}/pods/p")).await?.is(200)?,
                    json!({ "metadata": { "deletionTimestamp": "*" } }),
                )?;
                t.get(&format!("{path}/secrets/s")).await?.is(200)?;
                release(t, &format!("{path}/pods/p")).await
            },
        ),
        case(
            "another_finalizer_of_a_namespace_stays",
            "The controller takes the finalizer kubernetes off, and leaves others.",
            async |t| {
                let (path, mut made) = namespace(t, "n").await?;
                made["spec"]["finalizers"] = json!(["kubernetes", "example.com/f"]);
                t.put(&format!("{path}/finalize"), &made).await?.is(200)?;
                t.delete(&path).await?.is(200)?;
                let mut ending = t
                    .until(&path, "without kubernetes", |_, namespace| {
                        items(namespace, "/spec/finalizers").len() == 1
                    })
                    .await?;
                has(
                    &ending,
                    json!({ "spec": { "finalizers": ["example.com/f"] }, "status": { "phase": "Terminating" } }),
                )?;
                ending["spec"]["finalizers"] = json!([]);
                // The controller may write its conditions in between.
                ending["metadata"]["resourceVersion"] = json!(null);
                t.put(&format!("{path}/finalize"), &ending).await?.is(200)?;
                t.until_gone(&path).await
            },
        ),
        case(
            "a_finalizer_in_the_metadata_of_a_namespace",
            "A namespace with a finalizer in its metadata is emptied, and stays until it is released.",
            async |t| {
                let (path, made) = namespace(t, "n").await?;
                t.merge(&path, json!({ "metadata": { "finalizers": ["example.com/held"] } }))
                    .await?
                    .is(200)?;
                drop(made);
                t.make(&format!("{path}/configmaps"), named("a")).await?;
                t.delete(&path).await?.is(200)?;
                t.until(&path, "emptied", |_, namespace| {
                    items(namespace, "/spec/finalizers").is_empty()
                })
                .await?;
                t.get(&format!("{path}/configmaps/a")).await?.is(404)?;
                release(t, &path).await?;
                t.until_gone(&path).await
            },
        ),
        case(
            "a_second_delete_of_a_namespace",
            "A delete of a namespace that is being deleted answers 200 with it.",
            async |t| {
                let (path, _) = namespace(t, "n").await?;
                t.make(&format!("{path}/configmaps"), held(map("a", "v"))).await?;
                let first = t.delete(&path).await?.is(200)?;
                let second = t.delete(&path).await?;
                release(t, &format!("{path}/configmaps/a")).await?;
                has(
                    &second.is(200)?,
                    json!({ "metadata": { "deletionTimestamp": first["metadata"]["deletionTimestamp"] }, "status": { "phase": "Terminating" } }),
                )
            },
        ),
        case(
            "a_namespace_of_the_same_name_can_come_back",
            "When a namespace has gone, one of its name is another one, and empty.",
            async |t| {
                let (path, made) = namespace(t, "n").await?;
                t.make(&format!("{path}/configmaps"), named("a")).await?;
                t.delete(&path).await?.is(200)?;
                t.until_gone(&path).await?;
                let again = t.make(NAMESPACES, named(text(&made, "/metadata/name"))).await?;
                holds("it is another one", again["metadata"]["uid"] != made["metadata"]["uid"])?;
                t.get(&format!("{path}/configmaps/a")).await?.is(404).map(drop)
            },
        ),
    ]
}
