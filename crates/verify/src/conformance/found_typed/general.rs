//! What random calls found of built-in kinds that is no single kind's matter.

use http::Method;
use serde_json::{Value, json};

use crate::conformance::answer::*;
use crate::conformance::found_typed::objects::{all_jobs, job, replica_set};
use crate::conformance::objects::*;
use crate::conformance::target::Target;
use crate::conformance::{APPLY, Case, JSON_PATCH, STRATEGIC, case};

fn deployments(t: &Target, rest: &str) -> String {
    t.of_group("apps/v1", "deployments", rest)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "a_name_in_metadata_is_wrong_in_several_ways",
            "A finalizer that is null is an empty one, which is refused for each of the rules that it breaks.",
            async |t| {
                let mut odd = job("a", false);
                odd["metadata"]["finalizers"] = json!([null]);
                let answer = t.post(&all_jobs(t, ""), &odd).await?;
                answer.says(
                    422,
                    "Invalid",
                    "metadata.finalizers: Invalid value: \"\": name part must be non-empty",
                )?;
                answer.says(
                    422,
                    "Invalid",
                    "metadata.finalizers: Invalid value: \"\": name part must consist of",
                )?;
                Ok(())
            },
        ),
        case(
            "a_patch_with_an_unknown_step_looks_for_the_object_first",
            "A JSON patch with an operation that is none answers 404 for what is not there.",
            async |t| {
                let steps = json!([{ "op": "odd", "path": "x" }]);
                t.patch(&all_jobs(t, "/a"), JSON_PATCH, &steps)
                    .await?
                    .refused(404, "NotFound")
                    .map(drop)
            },
        ),
        case(
            "a_whole_object_is_not_copied_into_itself",
            "A JSON patch that copies or moves the whole object, or onto it, answers 422 without causes.",
            async |t| {
                let account = json!({ "metadata": { "name": "a", "labels": { "l": "x" } } });
                t.make(&t.core("serviceaccounts", ""), account).await?;
                for (op, from, path) in
                    [("copy", "", "/metadata/labels/m"), ("move", "/metadata/labels", "")]
                {
                    let steps = json!([{ "op": op, "from": from, "path": path }]);
                    let answer =
                        t.patch(&t.core("serviceaccounts", "/a"), JSON_PATCH, &steps).await?;
                    let status = answer.refused(422, "Invalid")?;
                    same("the details", &status["details"], &json!({}))?;
                }
                Ok(())
            },
        ),
        case(
            "one_object_by_its_name_has_no_pages",
            "A list with the field selector metadata.name has no continue token, however small its limit.",
            async |t| {
                for name in ["a", "b"] {
                    t.make(&all_jobs(t, ""), job(name, false)).await?;
                }
                let list = t
                    .get(&all_jobs(t, "?fieldSelector=metadata.name%3Da&limit=1"))
                    .await?
                    .is(200)?;
                same("the names", names(&list), "a")?;
                same("the token", text(&list, "/metadata/continue"), "")
            },
        ),
        case(
            "an_unknown_member_that_is_there_twice_is_unknown_once",
            "A member that no type has is warned of as unknown, and not as being there twice.",
            async |t| {
                let body = "{\"metadata\":{\"name\":\"a\"},\"extra\":1,\"extra\":2}";
                let headers = [("content-type", "application/json")];
                let answer =
                    t.send(Method::POST, &t.core("serviceaccounts", ""), &headers, body).await?;
                answer.is(201)?;
                same(
                    "the warnings",
                    answer.warnings(),
                    vec!["299 - \"unknown field \\\"extra\\\"\"".to_owned()],
                )
            },
        ),
        case(
            "what_a_delete_that_is_only_tried_answers_with",
            "A delete as a dry run answers with the object as it is, and of a Pod as it would be marked.",
            async |t| {
                let made = t.make(&t.core("serviceaccounts", ""), named("a")).await?;
                let tried = t.delete(&t.core("serviceaccounts", "/a?dryRun=All")).await?.is(200)?;
                same("the version", version(&tried), version(&made))?;
                t.make(&t.core("pods", ""), pod("a")).await?;
                let tried = t.delete(&t.core("pods", "/a?dryRun=All")).await?.is(200)?;
                has(
                    &tried,
                    json!({ "metadata": { "deletionGracePeriodSeconds": 0, "generation": 2 } }),
                )
            },
        ),
        case(
            "an_apply_reads_numbers_out_of_a_map",
            "A number with a fraction in an apply, and a truth or a text in a strategic patch, where others belong, are refused.",
            async |t| {
                t.make(&t.core("serviceaccounts", ""), named("a")).await?;
                let seconds = |value: Value| {
                    json!({
                        "apiVersion": "v1", "kind": "ServiceAccount",
                        "metadata": { "name": "a", "deletionGracePeriodSeconds": value },
                    })
                };
                let path = t.core("serviceaccounts", "/a?fieldManager=m");
                let answer = t.patch(&path, APPLY, &seconds(json!(1.5))).await?;
                answer.refused(500, "")?;
                let answer = t.patch(&path, STRATEGIC, &seconds(json!(true))).await?;
                answer.refused(422, "Invalid")?;
                let patch = json!({ "metadata": { "finalizers": "" } });
                let answer = t.patch(&path, STRATEGIC, &patch).await?;
                answer.refused(422, "Invalid").map(drop)
            },
        ),
        case(
            "managed_fields_that_are_none_are_of_a_wrong_type",
            "An apply with managedFields that hold a text answers 500: they are no entries, so that there are none is not said.",
            async |t| {
                let account = json!({
                    "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "a", "managedFields": ["x"] },
                });
                let answer = t
                    .patch(&t.core("serviceaccounts", "/a?fieldManager=m"), APPLY, &account)
                    .await?;
                answer.says(500, "", ".metadata.managedFields[0]: expected map").map(drop)
            },
        ),
        case(
            "finalizers_that_come_too_late_are_told_in_order",
            "An update of what is being deleted that adds finalizers is refused with these in the order of their names, each \
             once.",
            async |t| {
                let mut held = job("a", false);
                held["metadata"]["finalizers"] = json!(["example.com/f"]);
                t.make(&all_jobs(t, ""), held).await?;
                t.delete_with(&all_jobs(t, "/a"), json!({ "propagationPolicy": "Background" }))
                    .await?
                    .is(200)?;
                let late = ["example.com/h", "example.com/g", "example.com/h", "example.com/f"];
                let answer = t
                    .merge(&all_jobs(t, "/a"), json!({ "metadata": { "finalizers": late } }))
                    .await?;
                let added = "found new finalizers []string{\"example.com/g\", \"example.com/h\"}";
                answer.says(422, "Invalid", added).map(drop)
            },
        ),
        case(
            "a_number_is_not_made_a_text_out_of_a_map",
            "A whole number where a text belongs in a strategic patch answers 422.",
            async |t| {
                t.make(&deployments(t, ""), replica_set("a")).await?;
                let host = json!({ "spec": { "template": { "spec": { "hostname": 1 } } } });
                let answer = t.patch(&deployments(t, "/a"), STRATEGIC, &host).await?;
                answer.refused(422, "Invalid").map(drop)
            },
        ),
        case(
            "a_job_selects_by_the_uid_that_an_update_says",
            "An update of a Job with another uid is told that its selector and its template's labels are not of that one, \
             and a write to its status is not.",
            async |t| {
                t.make(&all_jobs(t, ""), job("a", true)).await?;
                let patch =
                    json!({ "metadata": { "uid": "00000000-0000-4000-8000-000000000002" } });
                let uid = "metadata.uid: Invalid value";
                let answer = t.merge(&all_jobs(t, "/a"), patch.clone()).await?;
                for part in [
                    uid,
                    "`selector` not auto-generated",
                    "must be '00000000-0000-4000-8000-000000000002'",
                ] {
                    answer.says(422, "Invalid", part)?;
                }
                let of_status =
                    t.merge(&all_jobs(t, "/a/status"), patch).await?.says(422, "Invalid", uid)?;
                holds("no more is said", !text(&of_status, "/message").contains("selector"))
            },
        ),
        case(
            "a_generated_label_that_is_missing_is_required",
            "A Job whose template loses the labels that were generated for it is told that they are required.",
            async |t| {
                t.make(&all_jobs(t, ""), job("a", true)).await?;
                let patch = json!({ "spec": { "template": { "metadata": { "labels": null } } } });
                let missing = t.merge(&all_jobs(t, "/a"), patch).await?;
                missing.says(422, "Invalid", "Required value: must be 'a'").map(drop)
            },
        ),
        case(
            "an_address_is_not_given_to_a_service_without_a_name",
            "A Service without a name is refused for its address first, which cannot be its own, unless it is only tried.",
            async |t| {
                let answer = t.post(&t.core("services", ""), &json!({})).await?;
                answer.says(422, "Invalid", "is invalid: spec.parentRef.name: Required value")?;
                answer.invalid(&["FieldValueInvalid spec.clusterIPs"])?;
                let tried = t.post(&t.core("services", "?dryRun=All"), &json!({})).await?;
                tried.says(422, "Invalid", "name or generateName is required").map(drop)
            },
        ),
        case(
            "the_indexes_of_a_job_change_with_the_pods_at_once",
            "The completions of an Indexed Job change to its parallelism only; anything else answers 422.",
            async |t| {
                let mut indexed = job("a", true);
                indexed["spec"]["completionMode"] = "Indexed".into();
                indexed["spec"]["completions"] = 2.into();
                t.make(&all_jobs(t, ""), indexed).await?;
                let tandem = "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism";
                let to = |completions: u8, parallelism: u8| json!({ "spec": { "completions": completions, "parallelism": parallelism } });
                t.merge(&all_jobs(t, "/a"), to(3, 2)).await?.says(422, "Invalid", tandem)?;
                let grown = t.merge(&all_jobs(t, "/a"), to(3, 3)).await?.is(200)?;
                has(&grown, to(3, 3))
            },
        ),
        case(
            "a_number_that_is_too_long_is_cut_by_a_strategic_patch",
            "A strategic merge patch with a number of more than 32 bits sets its lower half; a merge patch with it is \
             refused.",
            async |t| {
                t.make(&t.leases(""), lease("a", "x")).await?;
                let patch = json!({ "spec": { "leaseTransitions": 4_294_967_299_i64 } });
                let cut = t.patch(&t.leases("/a"), STRATEGIC, &patch).await?.is(200)?;
                has(&cut, json!({ "spec": { "leaseTransitions": 3 } }))?;
                t.merge(&t.leases("/a"), patch).await?.refused(422, "Invalid").map(drop)
            },
        ),
    ]
}
