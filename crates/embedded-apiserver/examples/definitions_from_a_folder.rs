//! One suite on two servers: this one, which loads a folder of definitions, or a real one.
//!
//! ```sh
//! cargo run -p embedded-apiserver --example definitions_from_a_folder
//! ```
//!
//! With `USE_EXISTING_CLUSTER=true` the same suite runs on the cluster of `KUBECONFIG`.
//! docs/coming-from-envtest.md starts kube-apiserver for it.

#![expect(clippy::print_stdout, reason = "it tells its user what it did")]

use std::error::Error;

use embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;

/// Definitions and objects, as a controller's repository has them.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/manifests");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::var_os("USE_EXISTING_CLUSTER").is_some() {
        // Somebody has run `kubectl apply -f` on the folder.
        return suite(Client::try_default().await?).await;
    }
    let server = EmbeddedApiServer::new();
    println!("{} objects loaded", server.load(FOLDER)?);
    suite(server.client()).await?;
    status_of_a_deployment(&server).await
}

/// Knows nothing but a client.
async fn suite(client: Client) -> Result<(), Box<dyn Error>> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let widgets = Api::<DynamicObject>::default_namespaced_with(client, &kind);
    let red = DynamicObject::new("red", &kind).data(json!({ "spec": { "color": "red" } }));
    let made = widgets.create(&PostParams::default(), &red).await?;
    println!("{} is served by its definition", made.name_any());
    let wrong = DynamicObject::new("wrong", &kind).data(json!({ "spec": { "color": 1 } }));
    let refused = widgets.create(&PostParams::default(), &wrong).await;
    assert!(refused.is_err(), "the schema says that a color is a text");
    widgets.delete("red", &DeleteParams::default()).await?;
    Ok(())
}

/// On this server no controller rolls a Deployment out: the test says how far it is.
async fn status_of_a_deployment(server: &EmbeddedApiServer) -> Result<(), Box<dyn Error>> {
    let deployments = Api::<Deployment>::default_namespaced(server.client());
    let web = serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "example.com/web:1" }] },
            },
        },
    }))?;
    let web = deployments.create(&PostParams::default(), &web).await?;
    let web = server.set_status(&web, json!({ "replicas": 1, "readyReplicas": 1 })).await?;
    println!("{} has {:?} ready", web.name_any(), web.status.and_then(|s| s.ready_replicas));
    Ok(())
}
