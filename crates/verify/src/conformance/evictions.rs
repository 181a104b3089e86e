//! Evictions: which Pods a PodDisruptionBudget lets go, and what is written of it.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::access::users::{by, grant, rule};
use crate::conformance::answer::*;
use crate::conformance::namespaces::ending;
use crate::conformance::objects::*;
use crate::conformance::{Case, Target, case};

const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = without_budget();
    cases.extend(budgets());
    cases.extend(unready());
    cases.extend(options());
    cases
}

fn path(t: &Target, name: &str) -> String {
    t.core("pods", &format!("/{name}/eviction"))
}

fn eviction(name: &str) -> Value {
    json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name } })
}

/// A Pod with the label `app: a` on a node, in a phase, and maybe ready.
async fn running(t: &Target, name: &str, phase: &str, ready: bool) -> Result<Value, String> {
    let mut object = pod(name);
    object["metadata"]["labels"] = json!({ "app": "a" });
    object["spec"]["nodeName"] = "n".into();
    t.make(&t.core("pods", ""), object).await?;
    let ready = if ready { "True" } else { "False" };
    let status = json!({ "status": {
        "phase": phase, "conditions": [{ "type": "Ready", "status": ready }],
    } });
    t.merge(&t.core("pods", &format!("/{name}/status")), status).await?.is(200)
}

fn budgets_path(t: &Target, rest: &str) -> String {
    t.of_group("policy/v1", "poddisruptionbudgets", rest)
}

/// A budget for Pods with the label, whose status its controller has written.
async fn budget(t: &Target, name: &str, spec: Value, status: Value) -> Outcome {
    let mut whole = json!({ "minAvailable": 1, "selector": { "matchLabels": { "app": "a" } } });
    for (member, value) in spec.as_object().into_iter().flatten() {
        whole[member] = value.clone();
    }
    let object = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": name }, "spec": whole,
    });
    t.make(&budgets_path(t, ""), object).await?;
    seen(t, name, status).await
}

/// What the budget's controller writes.
async fn seen(t: &Target, name: &str, status: Value) -> Outcome {
    let mut whole = json!({ "observedGeneration": 1, "expectedPods": 2 });
    for (member, value) in status.as_object().into_iter().flatten() {
        whole[member] = value.clone();
    }
    let path = budgets_path(t, &format!("/{name}/status"));
    t.merge(&path, json!({ "status": whole })).await?.is(200).map(drop)
}

async fn status_of(t: &Target, name: &str) -> Result<Value, String> {
    Ok(t.get(&budgets_path(t, &format!("/{name}"))).await?.is(200)?["status"].take())
}

async fn evict(t: &Target, name: &str) -> Result<Answer, String> {
    t.post(&path(t, name), &eviction(name)).await
}

/// An eviction that the budget forbids, and its reason.
async fn forbidden(t: &Target, name: &str, why: &str) -> Outcome {
    let answer = evict(t, name).await?;
    let status = answer.refused(429, "TooManyRequests")?;
    same("the message", text(&status, "/message"), VIOLATES)?;
    let details = json!({ "causes": [{ "reason": "DisruptionBudget", "message": why }] });
    same("the details", &status["details"], &details)?;
    same("when to retry", answer.header("retry-after"), "")
}

async fn is_there(t: &Target, name: &str) -> Result<bool, String> {
    Ok(t.get(&t.core("pods", &format!("/{name}"))).await?.code == 200)
}

fn without_budget() -> Vec<Case> {
    vec![
        case(
            "options_of_an_eviction_say_what_they_are",
            "The deleteOptions of an Eviction may have a kind and an apiVersion.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
                let eviction = json!({
                    "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "a" },
                    "deleteOptions": options,
                });
                let path = t.core("pods", "/a/eviction?fieldValidation=Strict");
                t.post(&path, &eviction).await?.is(201).map(drop)
            },
        ),
        case(
            "an_eviction_deletes_a_pod",
            "An eviction says so in the Pod's conditions and deletes the Pod with its grace period; the answer is 201 and a Status.",
            async |t| {
                let made = running(t, "p", "Running", true).await?;
                let answer = evict(t, "p").await?.is(201)?;
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
                });
                same("the answer", &answer, &status)?;
                let pod = t.get(&t.core("pods", "/p")).await?.is(200)?;
                has(
                    &pod["metadata"],
                    json!({ "deletionTimestamp": "*", "deletionGracePeriodSeconds": 30, "generation": 2 }),
                )?;
                let condition = json!({
                    "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                    "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": "*",
                });
                has(&pod["status"]["conditions"][1], condition)?;
                let owners = |pod: &Value| pod["metadata"]["managedFields"].clone();
                same("nobody owns the condition", owners(&pod), owners(&made))?;
                evict(t, "p").await?.is(201)?;
                let again = t.get(&t.core("pods", "/p")).await?.is(200)?;
                same("a second one", version(&again), version(&pod))
            },
        ),
        case(
            "an_eviction_is_two_events",
            "A watch of Pods sees the condition and then the deletion.",
            async |t| {
                let made = running(t, "p", "Running", true).await?;
                let from = format!("?resourceVersion={}", version(&made));
                let mut watch = t.watch(&t.core("pods", &from)).await?;
                evict(t, "p").await?.is(201)?;
                let marked = watch.event("MODIFIED", "p").await?;
                has(&marked["metadata"], json!({ "deletionTimestamp": null }))?;
                let reason = text(&marked, "/status/conditions/1/reason");
                same("the condition", reason, "EvictionByEvictionAPI")?;
                let going = watch.event("MODIFIED", "p").await?;
                has(&going["metadata"], json!({ "deletionTimestamp": "*" }))
            },
        ),
        case(
            "an_eviction_names_its_pod",
            "An Eviction of another name than the path's answers 400, of a missing Pod 404.",
            async |t| {
                running(t, "p", "Running", true).await?;
                for name in ["q", ""] {
                    t.post(&path(t, "p"), &eviction(name)).await?.says(
                        400,
                        "BadRequest",
                        "name in URL does not match name in Eviction object",
                    )?;
                }
                evict(t, "none").await?.says(404, "NotFound", "pods \"none\" not found")?;
                let nowhere = "/api/v1/namespaces/not-there-at-all/pods/p/eviction";
                t.post(nowhere, &eviction("p")).await?.says(
                    404,
                    "NotFound",
                    "namespaces \"not-there-at-all\" not found",
                )?;
                Ok(())
            },
        ),
        case(
            "evictions_are_only_created",
            "The subresource eviction answers 405 to all but POST.",
            async |t| {
                running(t, "p", "Running", true).await?;
                for method in [Method::GET, Method::PUT, Method::DELETE] {
                    t.send(method, &path(t, "p"), &[], "{}")
                        .await?
                        .refused(405, "MethodNotAllowed")?;
                }
                Ok(())
            },
        ),
        case(
            "nothing_is_posted_in_a_terminating_namespace",
            "An Eviction, a Binding and a TokenRequest in a namespace that is being deleted answer 403, with the name of the path.",
            async |t| {
                let namespace = ending(t).await?;
                let why = format!(
                    "unable to create new content in namespace {namespace} because it is being terminated"
                );
                for (plural, subresource) in
                    [("pods", "eviction"), ("pods", "binding"), ("serviceaccounts", "token")]
                {
                    let path = format!("/api/v1/namespaces/{namespace}/{plural}/x/{subresource}");
                    let answer = t.post(&path, &json!({})).await?;
                    let message = format!("{plural} \"x\" is forbidden: {why}");
                    let status = answer.says(403, "Forbidden", &message)?;
                    has(&status["details"], json!({ "name": "x", "kind": plural }))?;
                }
                Ok(())
            },
        ),
        case(
            "what_is_posted_is_in_discovery",
            "Discovery lists Bindings and the subresources to which another kind is posted, with that kind.",
            async |t| {
                let list = t.get("/api/v1").await?.is(200)?;
                let posted = |name: &str, kind: &str, of: Value| {
                    let mut entry = json!({
                        "name": name, "singularName": "", "namespaced": true, "kind": kind,
                        "verbs": ["create"],
                    });
                    for (member, value) in of.as_object().into_iter().flatten() {
                        entry[member] = value.clone();
                    }
                    entry
                };
                let group = |name: &str| json!({ "group": name, "version": "v1" });
                for expected in [
                    posted("bindings", "Binding", json!({ "singularName": "binding" })),
                    posted("pods/binding", "Binding", json!({})),
                    posted("pods/eviction", "Eviction", group("policy")),
                    posted("serviceaccounts/token", "TokenRequest", group("authentication.k8s.io")),
                ] {
                    let name = expected["name"].clone();
                    let found = items(&list, "/resources").iter().find(|one| one["name"] == name);
                    same("the entry", found, Some(&expected))?;
                }
                Ok(())
            },
        ),
        case(
            "a_right_is_needed_to_evict",
            "An Eviction needs the right to create pods/eviction, and none to delete Pods.",
            async |t| {
                running(t, "p", "Running", true).await?;
                by(t, "bob", Method::POST, &path(t, "p"), &eviction("p")).await?.says(
                    403,
                    "Forbidden",
                    "cannot create resource \"pods/eviction\" in API group \"\" in the namespace",
                )?;
                grant(t, "bob", json!([rule(&["create"], "", &["pods/eviction"])])).await?;
                by(t, "bob", Method::POST, &path(t, "p"), &eviction("p")).await?.is(201).map(drop)
            },
        ),
    ]
}

fn budgets() -> Vec<Case> {
    vec![
        case(
            "a_budget_forbids_an_eviction",
            "An eviction that the budget does not allow answers 429 with the cause DisruptionBudget, and without a time to retry.",
            async |t| {
                running(t, "p", "Running", true).await?;
                let status = json!({ "currentHealthy": 1, "desiredHealthy": 1 });
                budget(t, "b", json!({}), status).await?;
                let why = "The disruption budget b needs 1 healthy pods and has 1 currently";
                forbidden(t, "p", why).await?;
                let pod = t.get(&t.core("pods", "/p")).await?.is(200)?;
                has(&pod["metadata"], json!({ "deletionTimestamp": null }))
            },
        ),
        case(
            "a_budget_says_why_it_forbids",
            "The cause has the budget's condition, unless too few Pods are healthy; a failed sync comes first.",
            async |t| {
                running(t, "p", "Running", true).await?;
                budget(t, "b", json!({}), json!({ "currentHealthy": 2, "desiredHealthy": 1 }))
                    .await?;
                let none = "The disruption budget b does not allow evicting pods currently";
                forbidden(t, "p", none).await?;
                let condition = |reason: &str| {
                    json!([{
                        "type": "DisruptionAllowed", "status": "False", "reason": reason,
                        "message": "because", "lastTransitionTime": "2020-01-01T00:00:00Z",
                    }])
                };
                let write = async |reason: &str, healthy: u32| {
                    let status = json!({
                        "currentHealthy": healthy, "desiredHealthy": 1, "conditions": condition(reason),
                    });
                    seen(t, "b", status).await
                };
                write("Other", 2).await?;
                forbidden(t, "p", &format!("{none} (Other): because")).await?;
                write("Other", 1).await?;
                let few = "The disruption budget b needs 1 healthy pods and has 1 currently";
                forbidden(t, "p", few).await?;
                write("SyncFailed", 1).await?;
                forbidden(t, "p", &format!("{none} because it failed sync: because")).await
            },
        ),
        case(
            "a_budget_must_have_been_seen",
            "While the controller has not seen the budget's generation, an eviction answers 429 with ten seconds to wait.",
            async |t| {
                running(t, "p", "Running", true).await?;
                let status = json!({ "disruptionsAllowed": 1, "observedGeneration": 0 });
                budget(t, "b", json!({}), status).await?;
                let answer = evict(t, "p").await?;
                let status = answer.refused(429, "TooManyRequests")?;
                let why = "The disruption budget b is still being processed by the server.";
                let details = json!({
                    "causes": [{ "reason": "DisruptionBudget", "message": why }],
                    "retryAfterSeconds": 10,
                });
                same("the details", &status["details"], &details)?;
                same("when to retry", answer.header("retry-after"), "10")
            },
        ),
        case(
            "an_eviction_uses_up_its_budget",
            "An eviction counts disruptionsAllowed down and notes the Pod in disruptedPods; at zero the condition DisruptionAllowed is False.",
            async |t| {
                running(t, "p", "Running", true).await?;
                running(t, "q", "Running", true).await?;
                running(t, "r", "Running", true).await?;
                let status =
                    json!({ "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1 });
                budget(t, "b", json!({}), status).await?;
                evict(t, "p").await?.is(201)?;
                has(
                    &status_of(t, "b").await?,
                    json!({
                        "disruptionsAllowed": 1, "disruptedPods": { "p": "*", "q": null },
                        "conditions": null, "currentHealthy": 3,
                    }),
                )?;
                evict(t, "q").await?.is(201)?;
                has(
                    &status_of(t, "b").await?,
                    json!({
                        "disruptionsAllowed": 0, "disruptedPods": { "p": "*", "q": "*" },
                        "conditions": [{
                            "type": "DisruptionAllowed", "status": "False", "message": "",
                            "reason": "InsufficientPods", "observedGeneration": 1,
                            "lastTransitionTime": "*",
                        }],
                    }),
                )?;
                forbidden(t, "r", "The disruption budget b does not allow evicting pods currently")
                    .await
            },
        ),
        case(
            "the_server_owns_what_it_counts",
            "In the managedFields of a budget the server itself owns what an eviction has counted.",
            async |t| {
                running(t, "p", "Running", true).await?;
                let status =
                    json!({ "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1 });
                budget(t, "b", json!({}), status).await?;
                evict(t, "p").await?.is(201)?;
                let budget = t.get(&budgets_path(t, "/b")).await?.is(200)?;
                let fields = items(&budget, "/metadata/managedFields");
                let own = fields.iter().find(|entry| entry["manager"] == "kube-apiserver");
                has(
                    own.ok_or("the server owns nothing")?,
                    json!({
                        "operation": "Update", "subresource": "status", "apiVersion": "policy/v1",
                        "fieldsV1": { "f:status": {
                            "f:disruptedPods": { ".": {}, "f:p": {} }, "f:disruptionsAllowed": {},
                        } },
                    }),
                )
            },
        ),
        case(
            "two_budgets_are_one_too_many",
            "A Pod with two budgets cannot be evicted: 500 without a reason.",
            async |t| {
                running(t, "p", "Running", true).await?;
                for name in ["b", "c"] {
                    budget(t, name, json!({}), json!({ "disruptionsAllowed": 1 })).await?;
                }
                evict(t, "p").await?.says(
                    500,
                    "",
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                )?;
                Ok(())
            },
        ),
        case(
            "a_budget_selects_pods",
            "An empty selector selects all Pods of the namespace, an absent one none; expressions count.",
            async |t| {
                running(t, "p", "Running", true).await?;
                let dry = format!("{}?dryRun=All", path(t, "p"));
                let expressions = |operator: &str| json!({ "matchExpressions": [{ "key": "app", "operator": operator, "values": ["b"] }] });
                for (name, selector, code) in [
                    ("none", Value::Null, 201),
                    ("in", expressions("In"), 201),
                    ("not-in", expressions("NotIn"), 429),
                    ("all", json!({}), 429),
                ] {
                    let spec = json!({ "selector": selector });
                    budget(t, name, spec, json!({ "desiredHealthy": 1 })).await?;
                    t.post(&dry, &eviction("p")).await?.is(code)?;
                    t.delete(&budgets_path(t, &format!("/{name}"))).await?.is(200)?;
                }
                Ok(())
            },
        ),
        case(
            "who_has_ended_or_not_begun_needs_no_budget",
            "Pods that are pending, have ended, or are being deleted are evicted whatever their budget says.",
            async |t| {
                budget(t, "b", json!({}), json!({ "desiredHealthy": 1 })).await?;
                for phase in ["Pending", "Succeeded", "Failed"] {
                    let name = phase.to_lowercase();
                    running(t, &name, phase, false).await?;
                    evict(t, &name).await?.is(201)?;
                }
                holds("who has ended is gone", !is_there(t, "succeeded").await?)?;
                running(t, "p", "Running", true).await?;
                t.delete(&t.core("pods", "/p")).await?.is(200)?;
                evict(t, "p").await?.is(201)?;
                has(&status_of(t, "b").await?, json!({ "disruptedPods": null }))
            },
        ),
    ]
}

fn unready() -> Vec<Case> {
    vec![
        case(
            "an_unready_pod_needs_a_healthy_budget",
            "An unready Pod is evicted if enough others are healthy, without a disruption; else the budget must allow it.",
            async |t| {
                running(t, "p", "Running", false).await?;
                let few = json!({ "currentHealthy": 0, "desiredHealthy": 1 });
                budget(t, "b", json!({}), few).await?;
                let why = "The disruption budget b needs 1 healthy pods and has 0 currently";
                forbidden(t, "p", why).await?;
                let enough = json!({ "currentHealthy": 1, "desiredHealthy": 1 });
                seen(t, "b", enough).await?;
                evict(t, "p").await?.is(201)?;
                has(&status_of(t, "b").await?, json!({ "disruptedPods": null }))
            },
        ),
        case(
            "a_budget_may_let_all_unready_pods_go",
            "With the policy AlwaysAllow an unready Pod is evicted whatever else the budget says; with IfHealthyBudget not.",
            async |t| {
                running(t, "p", "Running", false).await?;
                let few = json!({ "currentHealthy": 0, "desiredHealthy": 1 });
                let policy = json!({ "unhealthyPodEvictionPolicy": "IfHealthyBudget" });
                budget(t, "b", policy, few.clone()).await?;
                let why = "The disruption budget b needs 1 healthy pods and has 0 currently";
                forbidden(t, "p", why).await?;
                t.delete(&budgets_path(t, "/b")).await?.is(200)?;
                let policy = json!({ "unhealthyPodEvictionPolicy": "AlwaysAllow" });
                budget(t, "c", policy, few).await?;
                evict(t, "p").await?.is(201)?;
                has(&status_of(t, "c").await?, json!({ "disruptedPods": null }))
            },
        ),
    ]
}

fn options() -> Vec<Case> {
    vec![
        case(
            "a_dry_run_evicts_nothing",
            "A dry run, of the request or of the delete options, asks the budget and changes nothing.",
            async |t| {
                let made = running(t, "p", "Running", true).await?;
                let status =
                    json!({ "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1 });
                budget(t, "b", json!({}), status).await?;
                t.post(&format!("{}?dryRun=All", path(t, "p")), &eviction("p")).await?.is(201)?;
                let mut dry = eviction("p");
                dry["deleteOptions"] = json!({ "dryRun": ["All"] });
                t.post(&path(t, "p"), &dry).await?.is(201)?;
                same("the Pod", &t.get(&t.core("pods", "/p")).await?.is(200)?, &made)?;
                let expected = json!({ "disruptionsAllowed": 1, "disruptedPods": null });
                has(&status_of(t, "b").await?, expected)?;
                seen(t, "b", json!({ "disruptionsAllowed": 0 })).await?;
                t.post(&path(t, "p"), &dry).await?.refused(429, "TooManyRequests").map(drop)
            },
        ),
        case(
            "dry_runs_must_agree",
            "Delete options with another dry run than the request answer 500; one that is unknown answers 422.",
            async |t| {
                running(t, "p", "Running", true).await?;
                let mut odd = eviction("p");
                odd["deleteOptions"] = json!({ "dryRun": ["x"] });
                t.post(&format!("{}?dryRun=All", path(t, "p")), &odd).await?.says(
                    500,
                    "",
                    "Non-matching dry-run options in request and content: [All] and [x]",
                )?;
                t.post(&path(t, "p"), &odd)
                    .await?
                    .invalid(&["FieldValueNotSupported dryRun"])
                    .map(drop)
            },
        ),
        case(
            "delete_options_are_the_deletes",
            "The grace period of the delete options is the delete's: with zero the Pod is gone at once.",
            async |t| {
                running(t, "p", "Running", true).await?;
                let mut now = eviction("p");
                now["deleteOptions"] = json!({ "gracePeriodSeconds": 0 });
                t.post(&path(t, "p"), &now).await?.is(201)?;
                holds("the Pod is gone", !is_there(t, "p").await?)
            },
        ),
        case(
            "preconditions_come_after_the_budget",
            "An eviction whose preconditions do not hold answers 409, and has used up its budget.",
            async |t| {
                let made = running(t, "p", "Running", true).await?;
                let status =
                    json!({ "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1 });
                budget(t, "b", json!({}), status).await?;
                let (uid, at) = (text(&made, "/metadata/uid"), version(&made));
                for (member, what, is, so) in [
                    ("uid", "UID", uid, "The object might have been deleted and then recreated"),
                    (
                        "resourceVersion",
                        "ResourceVersion",
                        at,
                        "The object might have been modified",
                    ),
                ] {
                    let mut stale = eviction("p");
                    stale["deleteOptions"] = json!({ "preconditions": { member: "x" } });
                    let status = t.post(&path(t, "p"), &stale).await?.refused(409, "Conflict")?;
                    let why = format!(
                        "Operation cannot be fulfilled on Pod \"p\": the {what} in the precondition (x) does not match the {what} in record ({is}). {so}"
                    );
                    same("the message", text(&status, "/message"), why.as_str())?;
                }
                has(&status_of(t, "b").await?, json!({ "disruptionsAllowed": 0 }))?;
                seen(t, "b", json!({ "disruptionsAllowed": 1 })).await?;
                let mut fresh = eviction("p");
                fresh["deleteOptions"] =
                    json!({ "preconditions": { "uid": uid, "resourceVersion": at } });
                t.post(&path(t, "p"), &fresh).await?.is(201).map(drop)
            },
        ),
        case(
            "one_delete_option_is_none_of_an_eviction",
            "An eviction cannot ignore that its Pod is unreadable: 422.",
            async |t| {
                running(t, "p", "Running", true).await?;
                let mut odd = eviction("p");
                let member = "ignoreStoreReadErrorWithClusterBreakingPotential";
                odd["deleteOptions"] = json!({ member: true });
                let answer = t.post(&path(t, "p"), &odd).await?;
                answer.invalid(&[&format!("FieldValueInvalid deleteOptions.{member}")]).map(drop)
            },
        ),
    ]
}
