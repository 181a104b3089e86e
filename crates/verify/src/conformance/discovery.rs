//! What the server says about itself.

use http::Method;
use serde_json::json;

use crate::conformance::answer::*;
use crate::conformance::{Case, case};

fn resource<'a>(list: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    static NONE: serde_json::Value = serde_json::Value::Null;
    items(list, "/resources")
        .iter()
        .find(|resource| text(resource, "/name") == name)
        .unwrap_or(&NONE)
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A resource in the first version of a group, as aggregated discovery has it.
fn aggregated<'a>(list: &'a serde_json::Value, group: &str, name: &str) -> &'a serde_json::Value {
    static NONE: serde_json::Value = serde_json::Value::Null;
    let group = items(list, "/items").iter().find(|item| text(item, "/metadata/name") == group);
    let resources = group.map_or(&[][..], |group| items(group, "/versions/0/resources"));
    resources.iter().find(|resource| text(resource, "/resource") == name).unwrap_or(&NONE)
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
            has(
                &t.get("/api").await?.is(200)?,
                json!({ "kind": "APIVersions", "versions": ["v1"] }),
            )
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
                    let found =
                        items(&groups, "/groups").iter().find(|group| text(group, "/name") == name);
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
                has(
                    resource(&list, "widgets/status"),
                    json!({ "kind": "Widget", "namespaced": true }),
                )?;
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
        case(
            "aggregated_discovery_of_the_core_group",
            "`/api` as APIGroupDiscoveryList has one group without a name, and its resources with subresources.",
            async |t| {
                let answer = t.get_as("/api", AGGREGATED).await?;
                let list = answer.is(200)?;
                same("content type", answer.header("content-type"), AGGREGATED)?;
                same("vary", answer.header("vary"), "Accept")?;
                same("cache", answer.header("cache-control"), "public")?;
                has(&list, json!({ "kind": "APIGroupDiscoveryList", "metadata": {} }))?;
                has(&list["items"][0], json!({ "metadata": { "name": null } }))?;
                has(
                    &list["items"][0]["versions"][0],
                    json!({ "version": "v1", "freshness": "Current" }),
                )?;
                let pods = aggregated(&list, "", "pods");
                let kind = json!({ "group": "", "version": "", "kind": "Pod" });
                has(
                    pods,
                    json!({ "responseKind": kind, "scope": "Namespaced", "singularResource": "pod", "shortNames": ["po"], "categories": ["all"], "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] }),
                )?;
                let status = items(pods, "/subresources")
                    .iter()
                    .find(|one| text(one, "/subresource") == "status");
                same(
                    "status",
                    status,
                    Some(
                        &json!({ "subresource": "status", "responseKind": kind, "verbs": ["get", "patch", "update"] }),
                    ),
                )?;
                has(
                    aggregated(&list, "", "configmaps"),
                    json!({ "subresources": null, "categories": null }),
                )?;
                has(
                    aggregated(&list, "", "namespaces"),
                    json!({ "scope": "Cluster", "subresources": [{ "subresource": "finalize" }, { "subresource": "status" }] }),
                )
            },
        ),
        case(
            "aggregated_discovery_of_custom_kinds",
            "Of a custom kind the aggregated form says group and version of what it shows, the preferred version first.",
            async |t| {
                let list = t.get_as("/apis", AGGREGATED).await?.is(200)?;
                let group = items(&list, "/items")
                    .iter()
                    .find(|group| text(group, "/metadata/name") == "conformance.example.com");
                let group = group.ok_or("the group is not listed")?;
                same(
                    "versions",
                    items(group, "/versions")
                        .iter()
                        .map(|version| text(version, "/version"))
                        .collect::<Vec<_>>(),
                    ["v2", "v1"],
                )?;
                let kind = json!({ "group": "conformance.example.com", "version": "v2", "kind": "Widget" });
                has(
                    aggregated(&list, "conformance.example.com", "widgets"),
                    json!({ "responseKind": kind, "scope": "Namespaced", "singularResource": "widget", "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"], "subresources": [{ "subresource": "status", "responseKind": kind }] }),
                )
            },
        ),
        case(
            "an_etag_of_aggregated_discovery",
            "The aggregated form has an ETag, and is answered 304 to who sends it.",
            async |t| {
                let first = t.get_as("/api", AGGREGATED).await?;
                let tag = first.header("etag").to_owned();
                holds("it is a hash between quotes", tag.len() == 130 && tag.starts_with('"'))?;
                let again = t
                    .send(
                        Method::GET,
                        "/api",
                        &[("accept", AGGREGATED), ("if-none-match", &tag)],
                        "",
                    )
                    .await?;
                same("code", again.code, 304)?;
                same("body", again.text.as_str(), "")?;
                same("etag", again.header("etag"), tag.as_str())?;
                t.send(
                    Method::GET,
                    "/api",
                    &[("accept", AGGREGATED), ("if-none-match", "\"other\"")],
                    "",
                )
                .await?
                .is(200)
                .map(drop)
            },
        ),
        case(
            "the_aggregated_form_comes_first",
            "Who takes the aggregated form gets it, even as a second choice.",
            async |t| {
                for accept in [
                    format!("{AGGREGATED},application/json"),
                    format!("application/json,{AGGREGATED}"),
                ] {
                    has(
                        &t.get_as("/apis", &accept).await?.is(200)?,
                        json!({ "kind": "APIGroupDiscoveryList" }),
                    )
                    .map_err(|why| format!("{accept}: {why}"))?;
                }
                has(
                    &t.get_as("/apis", "application/json").await?.is(200)?,
                    json!({ "kind": "APIGroupList" }),
                )
            },
        ),
        case(
            "other_versions_of_aggregated_discovery",
            "The aggregated form in another version than v2 answers 406.",
            async |t| {
                for version in ["v2beta1", "v3"] {
                    let accept = format!(
                        "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                    );
                    t.get_as("/apis", &accept)
                        .await?
                        .refused(406, "NotAcceptable")
                        .map_err(|why| format!("{version}: {why}"))?;
                    has(
                        &t.get_as("/apis", &format!("{accept},application/json")).await?.is(200)?,
                        json!({ "kind": "APIGroupList" }),
                    )?;
                }
                Ok(())
            },
        ),
        case(
            "aggregated_discovery_is_only_at_the_top",
            "One group, or one version, in the aggregated form answers 406.",
            async |t| {
                for path in ["/api/v1", "/apis/coordination.k8s.io", "/apis/coordination.k8s.io/v1"]
                {
                    t.get_as(path, AGGREGATED)
                        .await?
                        .refused(406, "NotAcceptable")
                        .map_err(|why| format!("{path}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "the_order_of_the_groups",
            "Kubernetes' own groups come first, in an order of their own, then the others.",
            async |t| {
                let groups = t.get("/apis").await?.is(200)?;
                let all: Vec<_> =
                    items(&groups, "/groups").iter().map(|group| text(group, "/name")).collect();
                let at = |name: &str| {
                    all.iter().position(|listed| *listed == name).unwrap_or(usize::MAX)
                };
                let wanted = [
                    "events.k8s.io",
                    "storage.k8s.io",
                    "coordination.k8s.io",
                    "conformance.example.com",
                ]
                .map(at);
                holds(
                    "they are listed in this order",
                    wanted.is_sorted() && wanted[3] != usize::MAX,
                )
                .map_err(|why| format!("{why}: {all:?}"))
            },
        ),
        case(
            "the_list_of_the_core_group_has_no_version",
            "The APIResourceList of `/api/v1` says no apiVersion, those of groups v1.",
            async |t| {
                has(
                    &t.get("/api/v1").await?.is(200)?,
                    json!({ "kind": "APIResourceList", "apiVersion": null }),
                )?;
                has(
                    &t.get("/apis/coordination.k8s.io/v1").await?.is(200)?,
                    json!({ "apiVersion": "v1", "groupVersion": "coordination.k8s.io/v1" }),
                )?;
                has(
                    &t.get("/api").await?.is(200)?,
                    json!({ "kind": "APIVersions", "apiVersion": null }),
                )
            },
        ),
        case(
            "storage_version_hashes",
            "Each resource has a hash of the group, version and kind in which it is stored.",
            async |t| {
                let list = t.get("/api/v1").await?.is(200)?;
                has(
                    resource(&list, "configmaps"),
                    json!({ "storageVersionHash": "qFsyl6wFWjQ=" }),
                )?;
                has(resource(&list, "pods"), json!({ "storageVersionHash": "xPOwRZ+Yhw8=" }))
            },
        ),
        case(
            "categories",
            "Pods and Services are in the category `all`, ConfigMaps and Secrets are not.",
            async |t| {
                let list = t.get("/api/v1").await?.is(200)?;
                for (name, categories) in [
                    ("pods", json!(["all"])),
                    ("services", json!(["all"])),
                    ("configmaps", json!(null)),
                    ("secrets", json!(null)),
                ] {
                    has(resource(&list, name), json!({ "categories": categories }))
                        .map_err(|why| format!("{name}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "discovery_in_yaml",
            "Discovery is answered in YAML to who prefers that.",
            async |t| {
                let answer = t.get_as("/apis", "application/yaml").await?;
                same("code", answer.code, 200)?;
                same("content type", answer.header("content-type"), "application/yaml")?;
                holds("it is YAML", answer.text.starts_with("apiVersion: v1\ngroups:\n- name: "))
            },
        ),
        case(
            "discovery_in_another_form_is_406",
            "Discovery as a Table or in XML answers 406 and says what there is, in two different ways.",
            async |t| {
                let only = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
                let available = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf";
                for (path, accept, said) in [
                    ("/api/v1", "application/json;as=Table;g=meta.k8s.io;v=v1", only),
                    ("/api/v1", "application/xml", available),
                    ("/apis", "application/xml", only),
                    ("/apis/coordination.k8s.io", "application/xml", only),
                    ("/apis/coordination.k8s.io/v1", "application/xml", available),
                    ("/apis/conformance.example.com/v1", "application/xml", only),
                ] {
                    let status = t.get_as(path, accept).await?.refused(406, "NotAcceptable")?;
                    same("message", text(&status, "/message"), said)
                        .map_err(|why| format!("{path} {accept}: {why}"))?;
                }
                Ok(())
            },
        ),
        case(
            "the_version_says_what_it_emulates",
            "`/version` says which versions it emulates and is compatible with.",
            async |t| {
                has(
                    &t.get("/version").await?.is(200)?,
                    json!({ "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1", "minCompatibilityMinor": "35" }),
                )
            },
        ),
        case(
            "addresses_of_documents_hold_for_ever",
            "A document of OpenAPI v3 under its own hash may be kept for ever, and has that hash as its ETag.",
            async |t| {
                let index = t.get("/openapi/v3").await?;
                same("code", index.code, 200)?;
                let index: serde_json::Value =
                    serde_json::from_str(&index.text).map_err(|error| error.to_string())?;
                let path =
                    text(&index["paths"]["apis/coordination.k8s.io/v1"], "/serverRelativeURL")
                        .to_owned();
                let document = t.get(&path).await?;
                has(&document.is(200)?, json!({ "openapi": "3.0.0" }))?;
                same("cache", document.header("cache-control"), "public, immutable")?;
                let hash = path.split("hash=").nth(1).unwrap_or_default();
                same("etag", document.header("etag"), format!("\"{hash}\"").as_str())?;
                let known = t
                    .send(Method::GET, &path, &[("if-none-match", document.header("etag"))], "")
                    .await?;
                same("code", known.code, 304)
            },
        ),
        case(
            "a_document_under_another_hash_has_moved",
            "A document of OpenAPI v3 under a hash that is not its own answers 301 and where it is; one that there is not answers 404.",
            async |t| {
                let moved = t.get("/openapi/v3/apis/coordination.k8s.io/v1?hash=OTHER").await?;
                same("code", moved.code, 301)?;
                holds(
                    "it says where to",
                    moved
                        .header("location")
                        .starts_with("/openapi/v3/apis/coordination.k8s.io/v1?hash="),
                )?;
                let missing = t.get("/openapi/v3/apis/nothing.example.com/v1").await?;
                same("code", missing.code, 404)
            },
        ),
        case(
            "the_document_of_a_custom_kind",
            "The document of a custom kind has the types of its definition, and what every object has.",
            async |t| {
                let document =
                    t.get("/openapi/v3/apis/conformance.example.com/v1").await?.is(200)?;
                let schema =
                    &document["components"]["schemas"]["com.example.conformance.v1.Widget"];
                has(
                    schema,
                    json!({
                        "type": "object",
                        "properties": { "apiVersion": { "type": "string" }, "spec": { "properties": { "color": { "type": "string" } } }, "metadata": { "allOf": [{ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }] } },
                        "x-kubernetes-group-version-kind": [{ "group": "conformance.example.com", "kind": "Widget", "version": "v1" }],
                    }),
                )?;
                holds(
                    "metadata is described",
                    document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
                        .is_object(),
                )?;
                let patch = &document["paths"]["/apis/conformance.example.com/v1/namespaces/{namespace}/widgets/{name}"]
                    ["patch"];
                has(
                    patch,
                    json!({ "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": { "group": "conformance.example.com", "version": "v1", "kind": "Widget" } }),
                )
            },
        ),
    ]
}
