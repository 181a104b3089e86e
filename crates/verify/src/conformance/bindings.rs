//! Bindings: what assigns a Pod to a node.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::access::users::{by, grant, rule};
use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

/// A Binding of a Pod to the node `n`.
fn binding(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "target": { "kind": "Node", "name": "n" } })
}

fn path(t: &Target, name: &str) -> String {
    t.core("pods", &format!("/{name}/binding"))
}

async fn bound(t: &Target, name: &str) -> Result<Value, String> {
    t.get(&t.core("pods", &format!("/{name}"))).await?.is(200)
}

/// A Binding that is refused with 409, and the reason.
async fn refused(t: &Target, name: &str, why: &str) -> Outcome {
    let status = t.post(&path(t, name), &binding(name)).await?.refused(409, "Conflict")?;
    let message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
    same("the message", text(&status, "/message"), message.as_str())?;
    same("the details", &status["details"], &json!({ "name": name, "kind": "pods/binding" }))
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_binding_assigns_a_pod",
            "A Binding sets the node and the condition PodScheduled, and is answered with 201 and a Status.",
            async |t| {
                let made = t.make(&t.core("pods", ""), pod("p")).await?;
                let answer = t.post(&path(t, "p"), &binding("p")).await?.is(201)?;
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
                });
                same("the answer", &answer, &status)?;
                let now = bound(t, "p").await?;
                has(&now, json!({ "spec": { "nodeName": "n" }, "metadata": { "generation": 1 } }))?;
                has(
                    &now["status"]["conditions"],
                    json!([{
                        "type": "PodScheduled", "status": "True", "lastProbeTime": null,
                        "lastTransitionTime": "*", "reason": null, "message": null,
                    }]),
                )?;
                let fields = |pod: &Value| pod["metadata"]["managedFields"].clone();
                same("nobody owns the node", fields(&now), fields(&made))
            },
        ),
        case(
            "a_resource_of_bindings_does_the_same",
            "A Binding that is posted to bindings assigns the Pod of its name.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                t.post(&t.core("bindings", ""), &binding("p")).await?.is(201)?;
                has(&bound(t, "p").await?, json!({ "spec": { "nodeName": "n" } }))?;
                t.post(&t.core("bindings", ""), &binding("none")).await?.says(
                    404,
                    "NotFound",
                    "pods \"none\" not found",
                )?;
                let nameless =
                    json!({ "metadata": { "generateName": "p" }, "target": { "name": "n" } });
                t.post(&t.core("bindings", ""), &nameless).await?.says(
                    400,
                    "BadRequest",
                    "Name parameter required.",
                )?;
                Ok(())
            },
        ),
        case(
            "bindings_are_only_created",
            "Bindings cannot be read, listed or deleted: 405 for the collection and the subresource, 404 for a name.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                for (method, path, code, reason) in [
                    (Method::GET, t.core("bindings", ""), 405, "MethodNotAllowed"),
                    (Method::DELETE, t.core("bindings", ""), 405, "MethodNotAllowed"),
                    (Method::GET, t.core("bindings", "/p"), 404, "NotFound"),
                    (Method::GET, path(t, "p"), 405, "MethodNotAllowed"),
                    (Method::PUT, path(t, "p"), 405, "MethodNotAllowed"),
                    (Method::DELETE, path(t, "p"), 405, "MethodNotAllowed"),
                ] {
                    t.send(method, &path, &[], "{}").await?.refused(code, reason)?;
                }
                t.post("/api/v1/bindings", &binding("p")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "labels_and_annotations_come_along",
            "The labels and annotations of a Binding are added to the Pod's, and replace those of the same key.",
            async |t| {
                let mut object = pod("p");
                object["metadata"]["labels"] = json!({ "a": "old", "b": "stays" });
                t.make(&t.core("pods", ""), object).await?;
                let mut more = binding("p");
                more["metadata"]["labels"] = json!({ "a": "new", "c": "more" });
                more["metadata"]["annotations"] = json!({ "x": "y" });
                t.post(&path(t, "p"), &more).await?.is(201)?;
                let now = bound(t, "p").await?;
                let labels = json!({ "a": "new", "b": "stays", "c": "more" });
                same("labels", &now["metadata"]["labels"], &labels)?;
                same("annotations", &now["metadata"]["annotations"], &json!({ "x": "y" }))
            },
        ),
        case(
            "a_pod_is_bound_once",
            "A second Binding answers 409 and names the node.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                t.post(&path(t, "p"), &binding("p")).await?.is(201)?;
                refused(t, "p", "pod p is already assigned to node \"n\"").await
            },
        ),
        case(
            "a_gated_pod_is_not_bound",
            "A Binding of a Pod with scheduling gates answers 409.",
            async |t| {
                let mut object = pod("p");
                object["spec"]["schedulingGates"] = json!([{ "name": "example.com/later" }]);
                t.make(&t.core("pods", ""), object).await?;
                refused(t, "p", "pod p has non-empty .spec.schedulingGates").await
            },
        ),
        case(
            "a_pod_that_goes_is_not_bound",
            "A Binding of a Pod that is being deleted answers 409.",
            async |t| {
                let mut object = pod("p");
                object["metadata"]["finalizers"] = json!(["example.com/held"]);
                t.make(&t.core("pods", ""), object).await?;
                t.delete(&t.core("pods", "/p")).await?.is(200)?;
                refused(t, "p", "pod p is being deleted, cannot be assigned to a host").await
            },
        ),
        case(
            "a_binding_names_its_pod",
            "A Binding of another name than the path's answers 400, one in another namespace too.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                t.post(&path(t, "p"), &binding("q")).await?.says(
                    400,
                    "BadRequest",
                    "name in URL does not match name in Binding object",
                )?;
                let mut elsewhere = binding("p");
                elsewhere["metadata"]["namespace"] = "other".into();
                t.post(&path(t, "p"), &elsewhere).await?.refused(400, "BadRequest")?;
                t.post(&path(t, "none"), &binding("none")).await?.says(
                    404,
                    "NotFound",
                    "pods \"none\" not found",
                )?;
                Ok(())
            },
        ),
        case(
            "a_target_is_a_node",
            "A Binding whose target has no name, or is no Node, answers 500.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                let kind = "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\"";
                let name = "target.name: Required value";
                for (target, why) in [
                    (json!({ "kind": "Pod", "name": "x" }), kind.to_owned()),
                    (json!({ "kind": "Node" }), name.to_owned()),
                    (json!({ "kind": "Pod" }), format!("[{kind}, {name}]")),
                ] {
                    let odd = json!({ "metadata": { "name": "p" }, "target": target });
                    let status = t.post(&path(t, "p"), &odd).await?.refused(500, "")?;
                    same("the message", text(&status, "/message"), why.as_str())?;
                }
                Ok(())
            },
        ),
        case(
            "a_binding_has_preconditions",
            "A Binding with another uid or resourceVersion than the Pod's answers 409.",
            async |t| {
                let made = t.make(&t.core("pods", ""), pod("p")).await?;
                let (uid, at) = (text(&made, "/metadata/uid"), version(&made));
                for (member, what, is) in
                    [("uid", "UID", uid), ("resourceVersion", "ResourceVersion", at)]
                {
                    let mut stale = binding("p");
                    stale["metadata"][member] = "x".into();
                    let place = format!("/pods/{}/p", t.namespace);
                    for (query, place) in
                        [("", format!("/registry{place}")), ("?dryRun=All", place.clone())]
                    {
                        let answer = t.post(&format!("{}{query}", path(t, "p")), &stale).await?;
                        let why = format!(
                            "Operation cannot be fulfilled on pods \"p\": StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {what} in precondition: x, {what} in object meta: {is}"
                        );
                        answer.says(409, "Conflict", &why)?;
                    }
                }
                let mut fresh = binding("p");
                fresh["metadata"]["uid"] = uid.into();
                fresh["metadata"]["resourceVersion"] = at.into();
                t.post(&path(t, "p"), &fresh).await?.is(201).map(drop)
            },
        ),
        case(
            "a_dry_run_binds_nothing",
            "A Binding with dryRun is answered as the real one, and changes nothing.",
            async |t| {
                let made = t.make(&t.core("pods", ""), pod("p")).await?;
                t.post(&format!("{}?dryRun=All", path(t, "p")), &binding("p")).await?.is(201)?;
                same("the Pod", bound(t, "p").await?, made)
            },
        ),
        case(
            "a_binding_ends_what_kept_the_pod_waiting",
            "A Binding takes the nominated node away, and replaces the condition PodScheduled.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                let long_ago = "2020-01-01T00:00:00Z";
                let status = json!({ "status": {
                    "nominatedNodeName": "other",
                    "conditions": [{
                        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                        "message": "no", "lastTransitionTime": long_ago,
                    }],
                } });
                t.merge(&t.core("pods", "/p/status"), status).await?.is(200)?;
                t.post(&path(t, "p"), &binding("p")).await?.is(201)?;
                let now = bound(t, "p").await?;
                has(
                    &now["status"],
                    json!({
                        "nominatedNodeName": null,
                        "conditions": [{ "status": "True", "reason": null, "message": null }],
                    }),
                )?;
                holds(
                    "the condition has changed now",
                    text(&now, "/status/conditions/0/lastTransitionTime") > long_ago,
                )
            },
        ),
        case(
            "a_right_is_needed_to_bind",
            "A Binding needs the right to create pods/binding, and the resource that to create bindings.",
            async |t| {
                t.make(&t.core("pods", ""), pod("p")).await?;
                by(t, "bob", Method::POST, &path(t, "p"), &binding("p")).await?.says(
                    403,
                    "Forbidden",
                    "cannot create resource \"pods/binding\" in API group \"\"",
                )?;
                grant(t, "bob", json!([rule(&["create"], "", &["pods/binding"])])).await?;
                by(t, "bob", Method::POST, &t.core("bindings", ""), &binding("p")).await?.says(
                    403,
                    "Forbidden",
                    "cannot create resource \"bindings\" in API group \"\"",
                )?;
                by(t, "bob", Method::POST, &path(t, "p"), &binding("p")).await?.is(201).map(drop)
            },
        ),
    ]
}
