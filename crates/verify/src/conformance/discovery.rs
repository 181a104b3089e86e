//! What the server says about itself.

use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::{Case, case};

fn resource<'a>(list: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    static NONE: serde_json::Value = serde_json::Value::Null;
    items(list, "/resources").iter().find(|resource| text(resource, "/name") == name).unwrap_or(&NONE)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("the_version", "`/version` says major, minor and gitVersion.", async |t| {
            let version = t.get("/version").await?.is(200)?;
            has(&version, json!({ "major": "1", "minor": "36", "platform": "*" }))?;
            holds("gitVersion is of 1.36", text(&version, "/gitVersion").starts_with("v1.36."))
        }),
        case("health", "`/livez`, `/readyz` and `/healthz` answer 200 and `ok`.", async |t| {
            for path in ["/livez", "/readyz", "/healthz"] {
                let answer = t.get(path).await?;
                answer.is(200)?;
                same("body", answer.text.as_str(), "ok")?;
            }
            Ok(())
        }),
        case("the_versions_of_the_core_group", "`/api` lists v1.", async |t| {
            has(&t.get("/api").await?.is(200)?, json!({ "kind": "APIVersions", "versions": ["v1"] }))
        }),
        case(
            "the_groups",
            "`/apis` lists the groups with their versions and the preferred one.",
            async |t| {
                let groups = t.get("/apis").await?.is(200)?;
                has(&groups, json!({ "kind": "APIGroupList", "apiVersion": "v1" }))?;
                for (name, version) in [
                    ("coordination.k8s.io", "v1"),
                    ("storage.k8s.io", "v1"),
                    ("events.k8s.io", "v1"),
                    ("conformance.example.com", "v2"),
                ] {
                    let found = items(&groups, "/groups").iter().find(|group| text(group, "/name") == name);
                    let group = found.ok_or_else(|| format!("{name} is not listed"))?;
                    same(name, text(group, "/preferredVersion/version"), version)?;
                }
                Ok(())
            },
        ),
        case(
            "one_group",
            "`/apis/GROUP` says the group's versions; an unknown one answers 404.",
            async |t| {
                let group = t.get("/apis/coordination.k8s.io").await?.is(200)?;
                has(
                    &group,
                    json!({ "kind": "APIGroup", "apiVersion": "v1", "name": "coordination.k8s.io", "preferredVersion": { "groupVersion": "coordination.k8s.io/v1", "version": "v1" } }),
                )?;
                t.get("/apis/nothing.example.com").await?.is(404)?;
                Ok(())
            },
        ),
        case(
            "the_resources_of_the_core_group",
            "`/api/v1` lists each resource with kind, scope, short names and verbs.",
            async |t| {
                let list = t.get("/api/v1").await?.is(200)?;
                has(&list, json!({ "kind": "APIResourceList", "groupVersion": "v1" }))?;
                let verbs = json!([
                    "create",
                    "delete",
                    "deletecollection",
                    "get",
                    "list",
                    "patch",
                    "update",
                    "watch"
                ]);
                has(
                    resource(&list, "configmaps"),
                    json!({ "singularName": "configmap", "namespaced": true, "kind": "ConfigMap", "verbs": verbs, "shortNames": ["cm"] }),
                )?;
                has(
                    resource(&list, "persistentvolumes"),
                    json!({ "namespaced": false, "kind": "PersistentVolume", "shortNames": ["pv"] }),
                )?;
                has(
                    resource(&list, "persistentvolumes/status"),
                    json!({ "singularName": "", "namespaced": false, "kind": "PersistentVolume", "verbs": ["get", "patch", "update"] }),
                )?;
                has(
                    resource(&list, "namespaces"),
                    json!({ "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"] }),
                )?;
                has(
                    resource(&list, "namespaces/finalize"),
                    json!({ "kind": "Namespace", "verbs": ["update"] }),
                )
            },
        ),
        case(
            "the_resources_of_a_custom_group",
            "`/apis/GROUP/VERSION` lists a custom kind and its subresource.",
            async |t| {
                let list = t.get("/apis/conformance.example.com/v1").await?.is(200)?;
                let verbs = json!([
                    "create",
                    "delete",
                    "deletecollection",
                    "get",
                    "list",
                    "patch",
                    "update",
                    "watch"
                ]);
                let mut found: Vec<_> = items(resource(&list, "widgets"), "/verbs").to_vec();
                found.sort_by_key(ToString::to_string);
                same("verbs", serde_json::Value::Array(found), verbs)?;
                has(
                    resource(&list, "widgets"),
                    json!({ "singularName": "widget", "namespaced": true, "kind": "Widget" }),
                )?;
                has(resource(&list, "widgets/status"), json!({ "kind": "Widget", "namespaced": true }))?;
                has(resource(&list, "gadgets"), json!({ "namespaced": false, "kind": "Gadget" }))
            },
        ),
        case("leases_are_listed", "The group of Leases lists them.", async |t| {
            let list = t.get("/apis/coordination.k8s.io/v1").await?.is(200)?;
            has(
                resource(&list, "leases"),
                json!({ "singularName": "lease", "namespaced": true, "kind": "Lease" }),
            )
        }),
        case(
            "aggregated_discovery",
            "`/apis` as APIGroupDiscoveryList answers all groups and resources at once.",
            async |t| {
                let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
                has(
                    &t.get_as("/apis", accept).await?.is(200)?,
                    json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2" }),
                )
            },
        ),
        case(
            "openapi_has_a_document_for_each_group",
            "`/openapi/v3` lists a document for each group and version.",
            async |t| {
                let index = t.get("/openapi/v3").await?.is(200)?;
                for path in ["api/v1", "apis/coordination.k8s.io/v1", "apis/storage.k8s.io/v1"] {
                    let listed = index["paths"][path]["serverRelativeURL"].is_string();
                    holds("it is listed", listed).map_err(|why| format!("{path}: {why}"))?;
                }
                Ok(())
            },
        ),
        case("a_double_slash_is_no_path", "`//api` answers a plain 404.", async |t| {
            let answer = t.get("//api").await?;
            same("code", answer.code, 404)
        }),
    ]
}
