//! What random calls found of which refusal comes first, and of what else comes with it.

use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, MERGE, case};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(
            "an_object_of_another_kind_is_held_to_all_but_the_schema",
            "A custom object that says to be of another kind is told of that, and of the objects in it that do not say \
             what they are.",
            async |t| {
                let mut object = gear("a", json!({ "embedded": {}, "size": "x" }));
                object["kind"] = json!("Other");
                let answer = t.post(&t.gears(""), &object).await?;
                let causes = [
                    "FieldValueInvalid kind",
                    "FieldValueRequired spec.embedded.apiVersion",
                    "FieldValueRequired spec.embedded.kind",
                ];
                answer.invalid(&causes).map(drop)
            },
        ),
        case(
            "what_is_unknown_in_an_object_of_another_group_is_not_told",
            "A custom object that says to be of another group is refused without a warning of unknown members, one of \
             another version of its own group with it.",
            async |t| {
                for (version, warnings) in
                    [("other.example.com/v1", 0), ("conformance.example.com/v9", 1)]
                {
                    let mut object = tracker("a", json!({ "extra": "x" }));
                    object["apiVersion"] = json!(version);
                    let answer = t.post(&t.trackers(""), &object).await?;
                    answer.refused(400, "BadRequest")?;
                    same("the warnings", answer.warnings().len(), warnings as usize)?;
                }
                Ok(())
            },
        ),
        case(
            "a_merge_patch_that_is_no_object_and_not_looked_into",
            "With fieldValidation=Ignore a merge patch that is a number answers 400, and a list 422, \
             since of it comes no object.",
            async |t| {
                t.map("a", "v").await?;
                let ignored = t.maps("/a?fieldValidation=Ignore");
                t.patch(&ignored, MERGE, &json!(-1)).await?.refused(400, "BadRequest")?;
                t.patch(&ignored, MERGE, &json!(["x"])).await?.refused(422, "Invalid")?;
                let looked_into = t.patch(&t.maps("/a"), MERGE, &json!(-1)).await?;
                looked_into.refused(400, "BadRequest").map(drop)
            },
        ),
        case(
            "a_collection_is_selected_before_the_options_are_read",
            "A DELETE of a collection by a field that is none, with options that are none, is told of the field.",
            async |t| {
                let path = t.of_group("apps/v1", "replicasets", "?fieldSelector=spec.x%3D1");
                let body = json!({ "kind": "x", "apiVersion": "x" }).to_string();
                let answer = t.send(Method::DELETE, &path, &JSON, &body).await?;
                answer.says(400, "BadRequest", "is not a known field selector").map(drop)
            },
        ),
        case(
            "a_definition_without_a_name_is_not_told_which",
            "A definition that says nothing at all is told that its name is required, and not how it has to be made.",
            async |t| {
                let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
                let answer = t.post(path, &json!({ "metadata": {} })).await?;
                let status = answer.refused(422, "Invalid")?;
                let of_name = |cause: &&serde_json::Value| text(cause, "/field") == "metadata.name";
                let causes = items(&status, "/details/causes").iter().filter(of_name);
                let said: Vec<_> = causes.map(|cause| text(cause, "/reason")).collect();
                same("the causes", said, ["FieldValueRequired"])
            },
        ),
        case(
            "a_base_of_a_definition_is_held_to_the_rule_of_the_name",
            "The generateName of a new definition must be the plural and the group too.",
            async |t| {
                let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
                let status = t.post(path, &json!({ "metadata": { "generateName": "x" } })).await?;
                let status = status.refused(422, "Invalid")?;
                let wanted = "must be spec.names.plural+\".\"+spec.group";
                let causes = items(&status, "/details/causes").iter();
                let said = causes.filter(|cause| text(cause, "/message").ends_with(wanted));
                let said: Vec<_> = said.map(|cause| text(cause, "/field")).collect();
                same("the causes", said, ["metadata.generateName", "metadata.name"])
            },
        ),
        case(
            "a_base_of_names_is_checked_in_updates_too",
            "An update that says a generateName with a slash answers 422 whatever the kind; with other letters that names do \
             not have, if the kind checks all its metadata again, as ConfigMaps do and Leases do not.",
            async |t| {
                t.map("a", "v").await?;
                t.make(&t.leases(""), lease("a", "x")).await?;
                t.make(&t.widgets(""), widget("a", json!({}))).await?;
                let based = |base: &str| json!({ "metadata": { "generateName": base } });
                for path in [t.maps("/a"), t.leases("/a"), t.widgets("/a")] {
                    let answer = t.merge(&path, based("a/b")).await?;
                    answer.says(
                        422,
                        "Invalid",
                        "metadata.generateName: Invalid value: \"a/b\": may not contain '/'",
                    )?;
                }
                t.merge(&t.maps("/a"), based("é"))
                    .await?
                    .invalid(&["FieldValueInvalid metadata.generateName"])?;
                t.merge(&t.leases("/a"), based("é")).await?.is(200).map(drop)
            },
        ),
        case(
            "a_role_is_named_after_no_dots_alone",
            "A new Role with the generateName `..` answers 422, though more would follow; an Event with it is made.",
            async |t| {
                let based = |more: serde_json::Value| {
                    let mut object = more;
                    object["metadata"] = json!({ "name": "a", "generateName": ".." });
                    object
                };
                let roles = t.of_group("rbac.authorization.k8s.io/v1", "roles", "");
                let part = "metadata.generateName: Invalid value: \"..\": may not be '..'";
                t.post(&roles, &based(json!({}))).await?.says(422, "Invalid", part)?;
                let event = json!({ "involvedObject": { "namespace": t.namespace } });
                t.post(&t.core("events", ""), &based(event)).await?.is(201).map(drop)
            },
        ),
        case(
            "a_service_that_begins_to_select_says_its_families_anew",
            "A PUT that gives a headless Service without a selector one keeps the policy of two families, which the \
             cluster does not have, and not the families.",
            async |t| {
                let service = |spec| json!({ "metadata": { "name": "a" }, "spec": spec });
                t.make(&t.core("services", ""), service(json!({ "clusterIP": "None" }))).await?;
                let selecting = service(json!({ "selector": { "app": "a" } }));
                let answer = t.put(&t.core("services", "/a"), &selecting).await?;
                answer.invalid(&["FieldValueInvalid spec.ipFamilyPolicy"]).map(drop)
            },
        ),
        case(
            "a_version_to_delete_does_not_outlive_the_last_finalizer",
            "A delete in the background, on the condition of a version, of an object that waits for its dependents alone \
             answers 409: the version that it is held to is none.",
            async |t| {
                let mut object = widget("a", json!({}));
                object["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
                let seen = version(&t.make(&t.widgets(""), object).await?).to_owned();
                let options = |dry_run: &[&str]| {
                    let wanted = json!({ "resourceVersion": seen });
                    json!({ "propagationPolicy": "Background", "preconditions": wanted, "dryRun": dry_run })
                };
                t.delete_with(&t.widgets("/a"), options(&["All"])).await?.is(200)?;
                let why = format!(
                    "ResourceVersion in precondition: , ResourceVersion in object meta: {seen}"
                );
                t.delete_with(&t.widgets("/a"), options(&[]))
                    .await?
                    .says(409, "Conflict", &why)
                    .map(drop)
            },
        ),
        case(
            "an_update_without_a_namespace_has_options_of_an_update",
            "A PUT to a path with an empty namespace is told what is wrong with its UpdateOptions.",
            async |t| {
                let path = "/api/v1/namespaces//configmaps/a?fieldValidation=x";
                let answer = t.put(path, &json!({ "metadata": { "name": "a" } })).await?;
                answer.says(422, "Invalid", "UpdateOptions.meta.k8s.io \"\" is invalid").map(drop)
            },
        ),
        case(
            "versions_that_are_none_are_shown_as_they_were_sent",
            "A definition with an empty list of versions is shown one, and one without the list is shown null.",
            async |t| {
                let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
                let mut object = json!({
                    "metadata": { "name": "ks.none.example.com" },
                    "spec": {
                        "group": "none.example.com", "scope": "Namespaced", "names": { "kind": "K", "plural": "ks" },
                    },
                });
                let answer = t.post(path, &object).await?;
                answer.says(
                    422,
                    "Invalid",
                    "spec.versions: Invalid value: null: must have exactly one",
                )?;
                object["spec"]["versions"] = json!([]);
                let answer = t.post(path, &object).await?;
                answer
                    .says(422, "Invalid", "spec.versions: Invalid value: []: must have exactly one")
                    .map(drop)
            },
        ),
    ]
}
