//! What random calls found of built-in kinds: creates, statuses, and what single kinds say in their
//! own way.

mod events;
mod general;
pub(super) mod objects;
mod scales;

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::found_typed::objects::{TABLE, all_jobs, job, replica_set};
use crate::conformance::objects::*;
use crate::conformance::{APPLY, Case, case};

pub(super) fn cases() -> Vec<Case> {
    [creates(), scales::cases(), statuses(), single(), general::cases(), events::cases(), jobs()]
        .into_iter()
        .flatten()
        .collect()
}

fn creates() -> Vec<Case> {
    vec![
        case(
            "a_generation_that_is_sent_is_stored_where_the_kind_counts_none",
            "A create keeps the generation in the metadata of a kind that does not count generations itself.",
            async |t| {
                let account = json!({ "metadata": { "name": "a", "generation": 7 } });
                has(
                    &t.make(&t.core("serviceaccounts", ""), account).await?,
                    json!({ "metadata": { "generation": 7 } }),
                )?;
                let mut pod = pod("a");
                pod["metadata"]["generation"] = json!(7);
                has(
                    &t.make(&t.core("pods", ""), pod).await?,
                    json!({ "metadata": { "generation": 1 } }),
                )
            },
        ),
        case(
            "a_generation_is_not_negative",
            "A negative generation in the metadata answers 422.",
            async |t| {
                let account = json!({ "metadata": { "name": "a", "generation": -1 } });
                let answer = t.post(&t.core("serviceaccounts", ""), &account).await?;
                answer.invalid(&["FieldValueInvalid metadata.generation"]).map(drop)
            },
        ),
        case(
            "an_apply_may_create_what_is_being_deleted",
            "Only a POST forgets a deletionTimestamp: an apply that creates an object stores it, and its manager owns it.",
            async |t| {
                let time = "2001-01-01T00:00:00Z";
                let account = json!({
                    "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "a", "deletionTimestamp": time },
                });
                let path = t.core("serviceaccounts", "/a?fieldManager=m");
                let made = t.patch(&path, APPLY, &account).await?.is(201)?;
                has(&made, json!({ "metadata": { "deletionTimestamp": time } }))?;
                let owned = &made["metadata"]["managedFields"][0]["fieldsV1"];
                same(
                    "what is owned",
                    owned,
                    &json!({ "f:metadata": { "f:deletionTimestamp": {} } }),
                )?;
                let account = json!({ "metadata": { "name": "b", "deletionTimestamp": time } });
                let posted = t.make(&t.core("serviceaccounts", ""), account).await?;
                same("the time", text(&posted, "/metadata/deletionTimestamp"), "")
            },
        ),
        case(
            "a_put_that_creates_reads_the_version_first",
            "A PUT that would create a Role with a resourceVersion that is no number answers 500, however wrong the Role is.",
            async |t| {
                let role = json!({ "metadata": { "name": "a", "resourceVersion": "x" }, "rules": [{ "verbs": [] }] });
                let answer = t
                    .put(&t.of_group("rbac.authorization.k8s.io/v1", "roles", "/a"), &role)
                    .await?;
                answer.refused(500, "").map(drop)
            },
        ),
        case(
            "a_write_to_a_services_status_creates_the_service",
            "PUT to the status of a Service that is not there creates it, without an address, and without the status.",
            async |t| {
                let mut service = service("a");
                service["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } });
                let made = t.put(&t.core("services", "/a/status"), &service).await?.is(201)?;
                // Nobody else does: what a case makes is known by the paths of its creates.
                t.delete(&t.core("services", "/a")).await?.is(200)?;
                has(&made, json!({ "status": { "loadBalancer": {} } }))?;
                same("the address", text(&made, "/spec/clusterIP"), "")?;
                let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:status"];
                same("what is owned", owned, &json!({ "f:loadBalancer": { "f:ingress": {} } }))
            },
        ),
        case(
            "a_service_without_an_address_stays_without",
            "A Service that its status has created gets no address from a later update, but the family of one.",
            async |t| {
                t.put(&t.core("services", "/a/status"), &service("a")).await?.is(201)?;
                let service = t.merge(&t.core("services", "/a"), json!({})).await?.is(200)?;
                same("the address", text(&service, "/spec/clusterIP"), "")?;
                t.delete(&t.core("services", "/a")).await?.is(200)?;
                has(
                    &service,
                    json!({ "spec": { "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack" } }),
                )
            },
        ),
        case(
            "a_service_that_its_status_creates_says_all_its_addresses",
            "A Service that is created by a write to its status and says a clusterIP must say clusterIPs, too.",
            async |t| {
                let mut service = service("a");
                service["spec"]["clusterIP"] = json!("None");
                let answer = t.put(&t.core("services", "/a/status"), &service).await?;
                answer.invalid(&["FieldValueRequired spec.clusterIPs"]).map(drop)
            },
        ),
    ]
}

fn statuses() -> Vec<Case> {
    vec![
        case(
            "only_a_load_balancer_has_ingress",
            "The status of a Service has addresses of a load balancer only if the Service is one.",
            async |t| {
                t.make(&t.core("services", ""), service("a")).await?;
                let status =
                    json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } } });
                let answer = t.merge(&t.core("services", "/a/status"), status).await?;
                answer.invalid(&["FieldValueForbidden status.loadBalancer.ingress"]).map(drop)
            },
        ),
        case(
            "the_addresses_of_a_pod_are_addresses",
            "A podIP that is no address answers 422 and names the first of podIPs.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let answer = t
                    .merge(&t.core("pods", "/a/status"), json!({ "status": { "podIP": "x" } }))
                    .await?;
                answer.invalid(&["FieldValueInvalid status.podIPs[0]"]).map(drop)
            },
        ),
        case(
            "the_row_of_a_pod_that_ended_says_so",
            "In a Table the row of a Pod that has succeeded or failed has the condition Completed.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                for phase in ["Succeeded", "Failed"] {
                    let status = json!({ "status": { "phase": phase } });
                    t.merge(&t.core("pods", "/a/status"), status).await?.is(200)?;
                    let table = t.get_as(&t.core("pods", "/a"), TABLE).await?.is(200)?;
                    has(
                        &table["rows"][0]["conditions"][0],
                        json!({ "type": "Completed", "reason": phase }),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "a_status_of_a_pod_ends_nothing",
            "A deletionTimestamp in a write to the status of a Pod is not looked at.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let patch = json!({ "metadata": { "deletionTimestamp": "2001-01-01T00:00:00Z" } });
                let written = t.merge(&t.core("pods", "/a/status"), patch).await?.is(200)?;
                same("the time", text(&written, "/metadata/deletionTimestamp"), "")
            },
        ),
        case(
            "the_quality_of_a_pod_stays",
            "A status of a Pod without qosClass keeps it, and one with another is refused.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let mut other = pod("a");
                other["status"] = json!({ "phase": "Running" });
                let kept = t.put(&t.core("pods", "/a/status"), &other).await?.is(200)?;
                has(&kept, json!({ "status": { "phase": "Running", "qosClass": "BestEffort" } }))?;
                other["status"]["qosClass"] = json!("Burstable");
                let answer = t.put(&t.core("pods", "/a/status"), &other).await?;
                answer.invalid(&["FieldValueInvalid status.qosClass"]).map(drop)
            },
        ),
        case(
            "what_a_node_holds_is_not_negative",
            "A negative capacity in the status of a Node answers 422 for the capacity, and for what can be allocated of it.",
            async |t| {
                let name = t.own("a");
                t.make("/api/v1/nodes", named(&name)).await?;
                let status = json!({ "status": { "capacity": { "cpu": "-1" } } });
                let answer = t.merge(&format!("/api/v1/nodes/{name}/status"), status).await?;
                answer.invalid(&[
                    "FieldValueInvalid status.capacity.cpu",
                    "FieldValueInvalid status.allocatable.cpu",
                ])?;
                Ok(())
            },
        ),
        case(
            "a_status_counts_no_generation",
            "A write to the status of a Deployment counts no generation, even if it changes an annotation.",
            async |t| {
                let mut object = replica_set("a");
                let path = |rest: &str| t.of_group("apps/v1", "deployments", rest);
                t.make(&path(""), object.clone()).await?;
                object["metadata"]["annotations"] = json!({ "a": "b" });
                let written = t.put(&path("/a/status"), &object).await?.is(200)?;
                has(
                    &written,
                    json!({ "metadata": { "generation": 1, "annotations": { "a": "b" } } }),
                )
            },
        ),
    ]
}

fn single() -> Vec<Case> {
    vec![
        case(
            "the_ranges_of_a_node_are_ranges",
            "A podCIDR that is none answers 422 and names the first of podCIDRs.",
            async |t| {
                let node =
                    json!({ "metadata": { "name": t.own("a") }, "spec": { "podCIDR": "x" } });
                let answer = t.post("/api/v1/nodes", &node).await?;
                answer.invalid(&["FieldValueInvalid spec.podCIDRs[0]"]).map(drop)
            },
        ),
        case(
            "an_update_of_a_pod_adds_no_containers",
            "A Pod keeps the number of its containers: an update with another answers 422 for the list.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let containers =
                    json!([{ "name": "c", "image": "i" }, { "name": "d", "image": "i" }]);
                let answer = t
                    .merge(&t.core("pods", "/a"), json!({ "spec": { "containers": containers } }))
                    .await?;
                answer.says(
                    422,
                    "Invalid",
                    "spec.containers: Forbidden: pod updates may not add or remove containers",
                )?;
                Ok(())
            },
        ),
        case(
            "a_second_delete_of_a_pod_that_ended_changes_nothing",
            "A Pod that is being deleted with a grace is still there after a second delete that names none, though it has ended.",
            async |t| {
                let mut pod = pod("a");
                pod["spec"]["nodeName"] = json!("n");
                t.make(&t.core("pods", ""), pod).await?;
                t.delete(&t.core("pods", "/a")).await?.is(200)?;
                let ended = json!({ "status": { "phase": "Succeeded" } });
                t.merge(&t.core("pods", "/a/status"), ended).await?.is(200)?;
                t.delete(&t.core("pods", "/a")).await?.is(200)?;
                let found = t.get(&t.core("pods", "/a")).await?.is(200)?;
                has(&found, json!({ "metadata": { "deletionGracePeriodSeconds": 30 } }))
            },
        ),
        case(
            "what_is_no_time_is_shown_byte_by_byte",
            "The refusal of a time shows what is no ASCII as bytes in hexadecimal.",
            async |t| {
                let account = json!({ "metadata": { "name": "a", "deletionTimestamp": "é" } });
                let answer = t.post(&t.core("serviceaccounts", ""), &account).await?;
                answer.says(400, "BadRequest", "parsing time \"\\xc3\\xa9\" as").map(drop)
            },
        ),
        case(
            "the_endpoints_of_a_service_go_with_it",
            "When a Service is gone, by a delete or by its last finalizer, the Endpoints of its name are, too.",
            async |t| {
                for finalizers in [json!([]), json!(["example.com/f"])] {
                    let mut service = service("a");
                    service["metadata"]["finalizers"] = finalizers;
                    t.make(&t.core("services", ""), service).await?;
                    t.make(&t.core("endpoints", ""), named("a")).await?;
                    t.delete(&t.core("services", "/a")).await?.is(200)?;
                    let free = json!({ "metadata": { "finalizers": null } });
                    let _gone = t.merge(&t.core("services", "/a"), free).await?;
                    t.get(&t.core("endpoints", "/a")).await?.refused(404, "NotFound")?;
                }
                Ok(())
            },
        ),
        case(
            "a_headless_service_that_begins_to_select_is_of_one_family",
            "A headless Service without a selector is of both families, and one that gets a selector may not be: that is said \
             before anything else is checked.",
            async |t| {
                let mut service = service("a");
                service["spec"]["clusterIP"] = json!("None");
                t.make(&t.core("services", ""), service).await?;
                let patch =
                    json!({ "spec": { "selector": { "a": "b" }, "ports": [{ "port": 0 }] } });
                let answer = t.merge(&t.core("services", "/a"), patch).await?;
                answer.invalid(&[
                    "FieldValueInvalid spec.ipFamilyPolicy",
                    "FieldValueInvalid spec.ipFamilies[1]",
                ])?;
                Ok(())
            },
        ),
        case(
            "the_one_range_of_a_node_is_the_first_of_all",
            "A podCIDR that differs from the first of podCIDRs replaces them all.",
            async |t| {
                let node = json!({ "metadata": { "name": t.own("a") }, "spec": {
                    "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.2.0.0/24"],
                } });
                let made = t.make("/api/v1/nodes", node).await?;
                same("the ranges", &made["spec"]["podCIDRs"], &json!(["10.1.0.0/24"]))
            },
        ),
        case(
            "a_service_of_no_type_keeps_its_address_in_peace",
            "A Service that is changed to a type that is none answers 422 for the type alone.",
            async |t| {
                t.make(&t.core("services", ""), service("a")).await?;
                let mut odd = service("a");
                odd["spec"]["type"] = json!("Odd");
                let answer = t.put(&t.core("services", "/a"), &odd).await?;
                answer.invalid(&["FieldValueNotSupported spec.type"]).map(drop)
            },
        ),
        case(
            "an_endpoint_slice_of_names_is_warned_of_once",
            "The address type FQDN is warned of when an EndpointSlice is created, and not when it is changed.",
            async |t| {
                let path = |rest: &str| t.of_group("discovery.k8s.io/v1", "endpointslices", rest);
                let slice =
                    json!({ "metadata": { "name": "a" }, "addressType": "FQDN", "endpoints": [] });
                let made = t.post(&path(""), &slice).await?;
                same("the warnings", made.warnings().len(), 1)?;
                let changed =
                    t.merge(&path("/a"), json!({ "metadata": { "labels": { "a": "b" } } })).await?;
                changed.is(200)?;
                same("the warnings", changed.warnings().len(), 0)
            },
        ),
        case(
            "that_endpoints_are_deprecated_is_said_first",
            "The warning that Endpoints are deprecated comes before that of an unknown member, and not at all with 406.",
            async |t| {
                let endpoints = json!({ "metadata": { "name": "a" }, "data": 1 });
                let warnings = t.post(&t.core("endpoints", ""), &endpoints).await?.warnings();
                same("the warnings", warnings.len(), 2)?;
                holds("the first is about the kind", warnings[0].contains("deprecated"))?;
                let refused =
                    t.send(Method::GET, &t.core("endpoints", ""), &[("accept", "a/b")], "").await?;
                refused.refused(406, "NotAcceptable")?;
                same("the warnings", refused.warnings().len(), 0)
            },
        ),
        case(
            "a_put_that_is_refused_is_warned_of_once",
            "A PUT with an unknown member that is refused for another reason warns of the member once.",
            async |t| {
                t.make(&t.core("services", ""), service("a")).await?;
                let mut wrong = service("a");
                wrong["spec"]["type"] = json!("Odd");
                wrong["extra"] = json!(1);
                let answer = t.put(&t.core("services", "/a"), &wrong).await?;
                answer.refused(422, "Invalid")?;
                same(
                    "the warnings",
                    answer.warnings(),
                    vec!["299 - \"unknown field \\\"extra\\\"\"".to_owned()],
                )
            },
        ),
        case(
            "a_table_of_no_roles_has_no_rows",
            "An empty Table of a kind that is printed without columns of its own has null for rows.",
            async |t| {
                let roles = t.of_group("rbac.authorization.k8s.io/v1", "roles", "");
                let table = t.get_as(&roles, TABLE).await?.is(200)?;
                same("the rows", table.get("rows"), Some(&Value::Null))?;
                let table = t.get_as(&t.maps(""), TABLE).await?.is(200)?;
                same("the rows", table.get("rows"), Some(&json!([])))
            },
        ),
        case(
            "a_table_of_what_is_only_tried_has_no_version",
            "The Table that answers a create as a dry run has metadata without a resourceVersion.",
            async |t| {
                let path = t.core("serviceaccounts", "?dryRun=All");
                let headers = [("content-type", "application/json"), ("accept", TABLE)];
                let table =
                    t.send(Method::POST, &path, &headers, named("a").to_string()).await?.is(201)?;
                same("the metadata", &table["metadata"], &json!({}))
            },
        ),
        case(
            "a_selector_that_stays_is_shown_labels_first",
            "The selector of a Deployment that may not change is shown with its labels before its expressions.",
            async |t| {
                let path = |rest: &str| t.of_group("apps/v1", "deployments", rest);
                t.make(&path(""), replica_set("a")).await?;
                let expressions = json!([{ "key": "app", "operator": "Exists" }]);
                let patch = json!({ "spec": { "selector": { "matchExpressions": expressions } } });
                let part = "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"a\"},\"matchExpressions\":[{\"key\":\
                            \"app\",\"operator\":\"Exists\"}]}: field is immutable";
                t.merge(&path("/a"), patch).await?.says(422, "Invalid", part).map(drop)
            },
        ),
        case(
            "the_mark_of_a_deployment_watch_has_replicas",
            "The bookmark that ends the initial events of Deployments shows zero replicas: it comes from Go's own type.",
            async |t| {
                let path = t.of_group(
                    "apps/v1",
                    "deployments",
                    "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                );
                let mark = t.watch(&path).await?.next().await?.unwrap_or_default();
                has(&mark, json!({ "type": "BOOKMARK", "object": { "spec": { "replicas": 0 } } }))
            },
        ),
    ]
}

fn jobs() -> Vec<Case> {
    vec![
        case(
            "jobs_have_words_of_their_own_for_field_selectors",
            "A field that Jobs cannot be selected by is named together with their kind.",
            async |t| {
                let answer = t.get(&all_jobs(t, "?fieldSelector=spec.x%3D1")).await?;
                answer
                    .says(400, "BadRequest", "field label \"spec.x\" not supported for Job")
                    .map(drop)
            },
        ),
        case(
            "a_collection_of_jobs_that_is_deleted_warns_of_their_pods",
            "A deletecollection of Jobs that does not say what becomes of their pods warns that they stay, be there any or not.",
            async |t| {
                let answer = t.delete(&all_jobs(t, "")).await?;
                answer.is(200)?;
                holds(
                    "it warns",
                    answer
                        .warnings()
                        .iter()
                        .any(|w| w.contains("child pods are preserved by default")),
                )
            },
        ),
        case(
            "the_counts_of_a_job_are_not_negative_and_do_not_shrink",
            "The counts in a Job's status are not negative, those of ended pods do not shrink, and no more are ready than active.",
            async |t| {
                t.make(&all_jobs(t, ""), job("a", false)).await?;
                let path = all_jobs(t, "/a/status");
                let status = |status: Value| json!({ "status": status });
                t.merge(&path, status(json!({ "succeeded": 1 }))).await?.is(200)?;
                t.merge(&path, status(json!({ "active": -1 })))
                    .await?
                    .invalid(&["FieldValueInvalid status.active"])?;
                t.merge(&path, status(json!({ "succeeded": 0 })))
                    .await?
                    .invalid(&["FieldValueInvalid status.succeeded"])?;
                t.merge(&path, status(json!({ "active": 1, "ready": 2 })))
                    .await?
                    .invalid(&["FieldValueInvalid status.ready"])?;
                Ok(())
            },
        ),
        case(
            "the_labels_of_a_job_are_stored_by_its_second_write",
            "The labels that a Job has of its template are stored by the first write after its creation, which makes a version \
             even if it changes nothing.",
            async |t| {
                let made = t.make(&all_jobs(t, ""), job("a", false)).await?;
                let again = t.merge(&all_jobs(t, "/a"), json!({})).await?.is(200)?;
                holds("the version rises", number(&again) > number(&made))?;
                let third = t.merge(&all_jobs(t, "/a"), json!({})).await?.is(200)?;
                same("the version", version(&third), version(&again))
            },
        ),
        case(
            "a_suspended_job_may_change_where_its_pods_go",
            "The template of a suspended Job may change in labels, node selectors and resources, and in nothing else: that \
             is said of its spec.",
            async |t| {
                t.make(&all_jobs(t, ""), job("a", true)).await?;
                let template = |spec: Value| json!({ "spec": { "template": { "spec": spec } } });
                let answer = t
                    .merge(&all_jobs(t, "/a"), template(json!({ "nodeSelector": { "a": "b" } })))
                    .await?;
                answer.is(200)?;
                let answer = t
                    .merge(&all_jobs(t, "/a"), template(json!({ "restartPolicy": "OnFailure" })))
                    .await?;
                answer.invalid(&["FieldValueInvalid spec.template.spec"]).map(drop)
            },
        ),
        case(
            "a_mode_of_a_job_that_is_said_is_one",
            "A completionMode that is empty answers 422; one that is absent is NonIndexed.",
            async |t| {
                let mut odd = job("a", false);
                odd["spec"]["completionMode"] = json!("");
                let answer = t.post(&all_jobs(t, ""), &odd).await?;
                answer.invalid(&["FieldValueNotSupported spec.completionMode"]).map(drop)
            },
        ),
        case(
            "a_template_keeps_less_than_no_time",
            "A negative terminationGracePeriodSeconds is warned of in a Job's template and stays; of a Pod it becomes 1.",
            async |t| {
                let mut odd = job("a", false);
                odd["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(-1);
                let made = t.post(&all_jobs(t, ""), &odd).await?;
                same("the warnings", made.warnings().len(), 1)?;
                let seconds = "/spec/template/spec/terminationGracePeriodSeconds";
                same("the seconds", made.is(201)?.pointer(seconds), Some(&json!(-1)))?;
                let mut odd = pod("a");
                odd["spec"]["terminationGracePeriodSeconds"] = json!(-1);
                let made = t.make(&t.core("pods", ""), odd).await?;
                has(&made, json!({ "spec": { "terminationGracePeriodSeconds": 1 } }))
            },
        ),
        case(
            "the_labels_of_a_job_may_go_unsaid",
            "An update of a Job's status that says no labels leaves it with those of its template, which are not stored: \
             the same again is a new version, and so is the next write of the Job, which says them.",
            async |t| {
                // No controller of the real server's may write to it.
                let mut of_others = job("a", false);
                of_others["spec"]["managedBy"] = "example.com/nobody".into();
                let made = t.make(&all_jobs(t, ""), of_others).await?;
                t.merge(&all_jobs(t, "/a"), json!({ "metadata": { "labels": { "l": "x" } } }))
                    .await?
                    .is(200)?;
                let bare = json!({ "metadata": { "name": "a" } });
                let once = t.put(&all_jobs(t, "/a/status"), &bare).await?.is(200)?;
                let uid = text(&made, "/metadata/uid");
                let labels = json!({ "controller-uid": uid, "job-name": "a" });
                has(&once, json!({ "metadata": { "labels": labels } }))?;
                holds("the label is gone", once["metadata"]["labels"]["l"].is_null())?;
                t.settled(&all_jobs(t, "")).await?;
                let again = t.put(&all_jobs(t, "/a/status"), &bare).await?.is(200)?;
                holds("leaving it unsaid is a write", number(&again) > number(&once))?;
                t.settled(&all_jobs(t, "")).await?;
                let said = t.merge(&all_jobs(t, "/a"), json!({})).await?.is(200)?;
                holds("saying it is a write", number(&said) > number(&again))?;
                t.settled(&all_jobs(t, "")).await?;
                let same_again = t.merge(&all_jobs(t, "/a"), json!({})).await?.is(200)?;
                same("the version of what is said", version(&same_again), version(&said))
            },
        ),
        case(
            "what_goes_unsaid_is_not_said_by_a_job_that_goes",
            "An update of a Job's status without labels and finalizers that lets it go answers without the labels of its \
             template.",
            async |t| {
                let mut held = job("a", false);
                held["metadata"]["finalizers"] = json!(["example.com/f"]);
                t.make(&all_jobs(t, ""), held).await?;
                t.delete_with(&all_jobs(t, "/a"), json!({ "propagationPolicy": "Background" }))
                    .await?
                    .is(200)?;
                let last = t
                    .put(&all_jobs(t, "/a/status"), &json!({ "metadata": { "name": "a" } }))
                    .await?
                    .is(200)?;
                same("the labels", &last["metadata"]["labels"], &Value::Null)?;
                t.get(&all_jobs(t, "/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
    ]
}
