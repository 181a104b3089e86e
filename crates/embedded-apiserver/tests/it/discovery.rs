//! Discovery, health, and kinds that are registered at runtime.

use embedded_apiserver::{EmbeddedApiServer, Kind};
use http::StatusCode;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, PostParams};
use kube::discovery::{ApiResource, Discovery, Scope};
use kube::{Resource, ResourceExt};
use serde_json::json;

use crate::wire;

#[tokio::test]
async fn kube_discovers_every_kind() {
    let server = EmbeddedApiServer::new();
    server
        .register_kind(Kind::cluster_scoped("example.com", "v1beta1", "Gadget", "gadgets"))
        .unwrap();
    server.register_kind(Kind::cluster_scoped("example.com", "v1", "Gadget", "gadgets")).unwrap();
    let discovery = Discovery::new(server.client()).run().await.unwrap();
    for (group, kind, scope) in [
        ("", "Pod", Scope::Namespaced),
        ("", "PersistentVolume", Scope::Cluster),
        ("storage.k8s.io", "StorageClass", Scope::Cluster),
        ("coordination.k8s.io", "Lease", Scope::Namespaced),
        ("events.k8s.io", "Event", Scope::Namespaced),
        ("example.com", "Gadget", Scope::Cluster),
    ] {
        let group = discovery.get(group).unwrap_or_else(|| panic!("no group {group}"));
        let (_, capabilities) = group.recommended_kind(kind).unwrap_or_else(|| panic!("no {kind}"));
        assert_eq!(capabilities.scope, scope, "{kind}");
    }
    let gadgets = discovery.get("example.com").unwrap();
    assert_eq!(gadgets.preferred_version(), Some("v1"));
    let version = server.client().apiserver_version().await.unwrap();
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
    assert!(version.git_version.contains("embedded"), "it does not pretend");
}

#[tokio::test]
async fn discovery_lists_verbs_and_subresources() {
    let server = EmbeddedApiServer::new();
    let list = wire::get(&server, "/api/v1").await.json();
    let find = |name: &str| {
        list["resources"].as_array().unwrap().iter().find(|r| r["name"] == name).cloned()
    };
    let pods = find("pods").unwrap();
    assert_eq!(pods["shortNames"], json!(["po"]));
    assert!(pods["verbs"].as_array().unwrap().contains(&json!("watch")));
    assert_eq!(find("pods/status").unwrap()["verbs"], json!(["get", "patch", "update"]));
    assert_eq!(find("configmaps/status"), None);
    for (path, kind) in [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/storage.k8s.io", "APIGroup"),
        ("/apis/storage.k8s.io/v1", "APIResourceList"),
    ] {
        assert_eq!(wire::get(&server, path).await.json()["kind"], kind, "{path}");
    }
    for path in ["/livez", "/readyz", "/healthz"] {
        let answer = wire::get(&server, path).await;
        assert_eq!((answer.code, answer.text.as_str()), (StatusCode::OK, "ok"));
    }
}

/// A custom kind, as derived by kube.
#[derive(Debug, Clone)]
struct Widget;

impl Resource for Widget {
    type DynamicType = ();
    type Scope = kube::core::ClusterResourceScope;
    fn kind((): &()) -> std::borrow::Cow<'_, str> {
        "Widget".into()
    }
    fn group((): &()) -> std::borrow::Cow<'_, str> {
        "example.com".into()
    }
    fn version((): &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }
    fn plural((): &()) -> std::borrow::Cow<'_, str> {
        "widgets".into()
    }
    fn meta(&self) -> &kube::core::ObjectMeta {
        unimplemented!("only its names are used")
    }
    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        unimplemented!("only its names are used")
    }
}

#[tokio::test]
async fn a_kind_is_registered_by_its_rust_type() {
    let server = EmbeddedApiServer::new();
    let before = wire::get(&server, "/apis/example.com/v1/widgets").await;
    assert_eq!(before.code, StatusCode::NOT_FOUND);
    server.register::<Widget>().unwrap();
    let api: Api<DynamicObject> =
        Api::all_with(server.client(), &ApiResource::erase::<Widget>(&()));
    let widget = DynamicObject::new("a", &ApiResource::erase::<Widget>(&()))
        .data(json!({ "spec": { "n": 1 } }));
    api.create(&PostParams::default(), &widget).await.unwrap();
    assert_eq!(api.list(&Default::default()).await.unwrap().items[0].name_any(), "a");
}

#[tokio::test]
async fn a_definition_says_scope_status_names_and_selectable_fields() {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "color": { "type": "string" } } },
    } } });
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"] },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                  "schema": schema, "selectableFields": [{ "jsonPath": ".spec.color" }] },
                { "name": "v1alpha1", "served": true, "storage": false, "schema": schema },
                // A different schema: otherwise no version could have its own selectable fields.
                { "name": "v0", "served": false, "storage": false, "schema": { "openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                } } },
            ],
        },
    }))
    .unwrap();
    let server = EmbeddedApiServer::new();
    server.register_definition(&definition).unwrap();
    let list = wire::get(&server, "/apis/example.com/v1").await.json();
    assert_eq!(list["resources"][0]["shortNames"], json!(["wd"]));
    assert_eq!(list["resources"][1]["name"], "widgets/status");
    assert_eq!(wire::get(&server, "/apis/example.com/v0").await.code, StatusCode::NOT_FOUND);
    let path = "/apis/example.com/v1/namespaces/default/widgets";
    for (name, color) in [("a", "red"), ("b", "blue")] {
        let widget = json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": name }, "spec": { "color": color },
        });
        assert_eq!(wire::post(&server, path, &widget).await.code, StatusCode::CREATED);
    }
    let list = wire::get(&server, &format!("{path}?fieldSelector=spec.color%3Dblue")).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let older =
        wire::get(&server, "/apis/example.com/v1alpha1/namespaces/default/widgets/a").await.json();
    assert_eq!(older["apiVersion"], "example.com/v1alpha1", "one table, each version's own name");
}

#[test]
fn a_kind_that_cannot_be_served_is_refused_with_the_reason() {
    let server = EmbeddedApiServer::new();
    for (kind, field) in [
        (Kind::namespaced("", "v1", "Pod", "pods"), "plural"),
        (Kind::namespaced("a b", "v1", "A", "as"), "group"),
        (Kind::namespaced("a.b", "V1", "A", "as"), "version"),
        (Kind::namespaced("a.b", "v1", "A", "a/s"), "plural"),
        (Kind::namespaced("a.b", "v1", "", "as"), "kind"),
        (Kind::namespaced("storage.k8s.io", "v1", "StorageClass", "storageclasses"), "built in"),
    ] {
        let refused = server.register_kind(kind).unwrap_err().to_string();
        assert!(refused.contains(field), "{refused}");
    }
    let statuses = Kind::cluster_scoped("", "v1", "ComponentStatus", "componentstatuses");
    server.register_kind(statuses).unwrap();
    let flows =
        Kind::cluster_scoped("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas");
    server.register_kind(flows.status(true)).unwrap();
}
