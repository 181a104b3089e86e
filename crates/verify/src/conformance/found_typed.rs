//! What random calls found of built-in kinds: scales, statuses, and what single kinds say in their own way.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::target::Target;
use crate::conformance::{APPLY, Case, JSON_PATCH, MERGE, STRATEGIC, case};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

pub(super) fn cases() -> Vec<Case> {
    [creates(), scales(), scale_bodies(), statuses(), single(), jobs()].into_iter().flatten().collect()
}

fn replica_set(name: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": { "app": "a" } },
            "template": {
                "metadata": { "labels": { "app": "a" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    })
}

fn sets(t: &Target, rest: &str) -> String {
    t.of_group("apps/v1", "replicasets", rest)
}

fn job(name: &str, suspend: bool) -> Value {
    let pods = json!({ "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] });
    json!({ "metadata": { "name": name }, "spec": { "suspend": suspend, "template": { "spec": pods } } })
}

fn all_jobs(t: &Target, rest: &str) -> String {
    t.of_group("batch/v1", "jobs", rest)
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
                has(&t.make(&t.core("pods", ""), pod).await?, json!({ "metadata": { "generation": 1 } }))
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
                same("what is owned", owned, &json!({ "f:metadata": { "f:deletionTimestamp": {} } }))?;
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
                let answer = t.put(&t.of_group("rbac.authorization.k8s.io/v1", "roles", "/a"), &role).await?;
                answer.says(500, "", "strconv.ParseUint: parsing \"x\"").map(drop)
            },
        ),
        case(
            "a_write_to_a_services_status_creates_the_service",
            "PUT to the status of a Service that is not there creates it, without an address, and without the status.",
            async |t| {
                let mut service = service("a");
                service["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } });
                let made = t.put(&t.core("services", "/a/status"), &service).await?.is(201)?;
                has(&made, json!({ "status": { "loadBalancer": {} } }))?;
                same("the address", text(&made, "/spec/clusterIP"), "")?;
                let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:status"];
                same("what is owned", owned, &json!({ "f:loadBalancer": { "f:ingress": {} } }))
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

fn scales() -> Vec<Case> {
    vec![
        case(
            "a_scale_that_is_applied_to_nothing_is_not_found",
            "An apply to the scale or the status of what is not there answers 404, whatever the body says it is.",
            async |t| {
                let path = sets(t, "/a/scale?fieldManager=m");
                t.patch(&path, APPLY, &json!({ "kind": "x" })).await?.refused(404, "NotFound")?;
                let path = sets(t, "/a/status?fieldManager=m");
                t.patch(&path, APPLY, &json!({ "kind": "x" })).await?.refused(404, "NotFound")?;
                t.patch(&sets(t, "/a/scale"), MERGE, &json!(0)).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "a_put_of_a_scale_is_read_before_the_object_is_looked_for",
            "PUT of a Scale with replicas that are a text answers 400, be there an object to scale or not.",
            async |t| {
                let scale = json!({ "metadata": { "name": "a" }, "spec": { "replicas": "x" } });
                let answer = t.put(&sets(t, "/a/scale"), &scale).await?;
                answer
                    .says(400, "BadRequest", "Scale in version \"v1\" cannot be handled as a Scale")
                    .map(drop)
            },
        ),
        case(
            "a_put_of_a_scale_says_which_object_it_means",
            "PUT of a Scale with the uid of another object answers 409 in the words of the store.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale = json!({ "metadata": { "name": "a", "uid": "x" }, "spec": { "replicas": 2 } });
                let part = "Operation cannot be fulfilled on replicasets.apps \"a\": StorageError: invalid object, Code: 4";
                t.put(&sets(t, "/a/scale"), &scale).await?.says(409, "Conflict", part).map(drop)
            },
        ),
        case(
            "a_patch_of_a_scale_says_which_object_it_means",
            "A patch that gives a Scale another uid answers 409 in the words of the subresource.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let answer = t.merge(&sets(t, "/a/scale"), json!({ "metadata": { "uid": "x" } })).await?;
                let part = "Operation cannot be fulfilled on replicasets/scale.apps \"a\": Precondition failed: UID in \
                            precondition: x, UID in object meta: ";
                answer.says(409, "Conflict", part).map(drop)
            },
        ),
        case(
            "a_scale_is_in_the_namespace_of_its_path",
            "A Scale with another namespace than its path answers 400, in a PUT and in a patch.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let part =
                    "the namespace of the provided object does not match the namespace sent on the request";
                let scale = json!({ "metadata": { "name": "a", "namespace": "other" } });
                t.put(&sets(t, "/a/scale"), &scale).await?.says(400, "BadRequest", part)?;
                t.merge(&sets(t, "/a/scale"), scale).await?.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "the_metadata_of_a_scale_is_checked",
            "Labels, finalizers and generation of a Scale are checked as any object's, though they are not stored.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let metadata = json!({ "labels": { "a b": "x" }, "finalizers": ["bad"], "generation": -1 });
                let answer = t.merge(&sets(t, "/a/scale"), json!({ "metadata": metadata })).await?;
                answer.invalid(&[
                    "FieldValueInvalid metadata.generation",
                    "FieldValueInvalid metadata.labels",
                    "FieldValueInvalid metadata.finalizers[0]",
                ])?;
                let fine = json!({ "metadata": { "labels": { "a": "x" } } });
                let scale = t.merge(&sets(t, "/a/scale"), fine).await?.is(200)?;
                same("the labels", &scale["metadata"]["labels"], &Value::Null)
            },
        ),
        case(
            "a_scale_leaves_two_entries_of_one_manager",
            "A write to a Scale takes the replicas out of the entry of who made the object and puts an entry of the \
             same manager beside it, without a time.",
            async |t| {
                t.make(&sets(t, "?fieldManager=m"), replica_set("a")).await?;
                let scale =
                    json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": { "name": "a" } });
                t.patch(&sets(t, "/a/scale?fieldManager=n"), APPLY, &scale).await?.is(200)?;
                let object = t.get(&sets(t, "/a")).await?.is(200)?;
                let entries = items(&object, "/metadata/managedFields");
                same("the entries", entries.len(), 2)?;
                has(&entries[0], json!({ "manager": "m", "fieldsV1": { "f:spec": { "f:replicas": {} } } }))?;
                same("the time", text(&entries[0], "/time"), "")?;
                same(
                    "the other one's replicas",
                    entries[1].pointer("/fieldsV1/f:spec/f:replicas"),
                    None::<&Value>,
                )
            },
        ),
    ]
}

fn scale_bodies() -> Vec<Case> {
    vec![
        case(
            "another_kind_cannot_be_made_a_scale",
            "PUT of a known kind to a scale answers 400: there is no conversion from one to the other.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
                let part = "ConfigMap in version \"v1\" cannot be handled as a Scale: converting (v1.ConfigMap) to \
                            (autoscaling.Scale): unknown conversion";
                t.put(&sets(t, "/a/scale"), &map).await?.says(400, "BadRequest", part)?;
                let types = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
                let part = "converting (v1.ConfigMap) to (autoscaling.Scale): unknown conversion";
                t.merge(&sets(t, "/a/scale"), types).await?.says(422, "Invalid", part).map(drop)
            },
        ),
        case(
            "an_unknown_kind_is_no_scale",
            "PUT of a Scale in a version that has none answers 400 and names the scheme that does not know it.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale = json!({ "apiVersion": "apps/v1", "metadata": { "name": "a" } });
                let part = "no kind \"Scale\" is registered for version \"apps/v1\" in scheme";
                t.put(&sets(t, "/a/scale"), &scale).await?.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "what_a_scale_does_not_have_is_warned_of",
            "Unknown members of a Scale are warned of in a PUT and in patches, and refused with fieldValidation=Strict.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale = json!({ "metadata": { "name": "a" }, "spec": { "foo": 1 } });
                let warning = "299 - \"unknown field \\\"spec.foo\\\"\"";
                for media in [MERGE, STRATEGIC] {
                    let answer = t.patch(&sets(t, "/a/scale"), media, &scale).await?;
                    answer.is(200)?;
                    same("the warnings", answer.warnings(), vec![warning.to_owned()])?;
                }
                let answer = t.put(&sets(t, "/a/scale"), &scale).await?;
                answer.is(200)?;
                same("the warnings", answer.warnings(), vec![warning.to_owned()])?;
                let answer = t.put(&sets(t, "/a/scale?fieldValidation=Strict"), &scale).await?;
                let part = "Scale in version \"v1\" cannot be handled as a Scale: strict decoding error: unknown field \
                            \"spec.foo\"";
                answer.says(400, "BadRequest", part).map(drop)
            },
        ),
        case(
            "a_patch_makes_no_scale_of_a_text",
            "A patch that sets the replicas of a Scale to a text answers 422 with the field `patch`.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let steps = json!([{ "op": "replace", "path": "/spec/replicas", "value": "x" }]);
                let answer = t.patch(&sets(t, "/a/scale"), JSON_PATCH, &steps).await?;
                answer.invalid(&["FieldValueInvalid patch"]).map(drop)
            },
        ),
        case(
            "a_scale_is_checked_before_its_version",
            "A Scale of an old version and with negative replicas answers 422 for the replicas.",
            async |t| {
                t.make(&sets(t, ""), replica_set("a")).await?;
                let scale = json!({ "metadata": { "name": "a", "resourceVersion": "1" }, "spec": { "replicas": -1 } });
                let answer = t.put(&sets(t, "/a/scale"), &scale).await?;
                answer.invalid(&["FieldValueInvalid spec.replicas"]).map(drop)
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
                let status = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } } });
                let answer = t.merge(&t.core("services", "/a/status"), status).await?;
                answer.invalid(&["FieldValueForbidden status.loadBalancer.ingress"]).map(drop)
            },
        ),
        case(
            "the_addresses_of_a_pod_are_addresses",
            "A podIP that is no address answers 422 and names the first of podIPs.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let answer =
                    t.merge(&t.core("pods", "/a/status"), json!({ "status": { "podIP": "x" } })).await?;
                answer.invalid(&["FieldValueInvalid status.podIPs[0]"]).map(drop)
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
                has(&written, json!({ "metadata": { "generation": 1, "annotations": { "a": "b" } } }))
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
                let node = json!({ "metadata": { "name": t.own("a") }, "spec": { "podCIDR": "x" } });
                let answer = t.post("/api/v1/nodes", &node).await?;
                answer.invalid(&["FieldValueInvalid spec.podCIDRs[0]"]).map(drop)
            },
        ),
        case(
            "an_update_of_a_pod_adds_no_containers",
            "A Pod keeps the number of its containers: an update with another answers 422 for the list.",
            async |t| {
                t.make(&t.core("pods", ""), pod("a")).await?;
                let containers = json!([{ "name": "c", "image": "i" }, { "name": "d", "image": "i" }]);
                let answer =
                    t.merge(&t.core("pods", "/a"), json!({ "spec": { "containers": containers } })).await?;
                answer.says(
                    422,
                    "Invalid",
                    "spec.containers: Forbidden: pod updates may not add or remove containers",
                )?;
                Ok(())
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
                let slice = json!({ "metadata": { "name": "a" }, "addressType": "FQDN", "endpoints": [] });
                let made = t.post(&path(""), &slice).await?;
                same("the warnings", made.warnings().len(), 1)?;
                let changed = t.merge(&path("/a"), json!({ "metadata": { "labels": { "a": "b" } } })).await?;
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
                let refused = t.send(Method::GET, &t.core("endpoints", ""), &[("accept", "a/b")], "").await?;
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
                let table = t.get_as(&t.core("services", ""), TABLE).await?.is(200)?;
                same("the rows", table.get("rows"), Some(&json!([])))
            },
        ),
        case(
            "a_table_of_what_is_only_tried_has_no_version",
            "The Table that answers a create as a dry run has metadata without a resourceVersion.",
            async |t| {
                let path = t.core("serviceaccounts", "?dryRun=All");
                let headers = [("content-type", "application/json"), ("accept", TABLE)];
                let table = t.send(Method::POST, &path, &headers, named("a").to_string()).await?.is(201)?;
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
                answer.says(400, "BadRequest", "field label \"spec.x\" not supported for Job").map(drop)
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
                    answer.warnings().iter().any(|w| w.contains("child pods are preserved by default")),
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
            "a_suspended_job_may_change_where_its_pods_go",
            "The template of a suspended Job may change in labels, node selectors and resources, and in nothing else: that \
             is said of its spec.",
            async |t| {
                t.make(&all_jobs(t, ""), job("a", true)).await?;
                let template = |spec: Value| json!({ "spec": { "template": { "spec": spec } } });
                let answer =
                    t.merge(&all_jobs(t, "/a"), template(json!({ "nodeSelector": { "a": "b" } }))).await?;
                answer.is(200)?;
                let answer =
                    t.merge(&all_jobs(t, "/a"), template(json!({ "restartPolicy": "OnFailure" }))).await?;
                answer.invalid(&["FieldValueInvalid spec.template.spec"]).map(drop)
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
    ]
}
