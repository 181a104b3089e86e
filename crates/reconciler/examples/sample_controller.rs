//! Kubernetes' sample-controller: a Foo has a Deployment of its name and size, and a status.
//!
//! ```sh
//! cargo run -p reconciler --example sample_controller            # against the cluster of kubectl
//! cargo run -p reconciler --example sample_controller -- --once  # in the process, until it is done
//! ```
#![expect(clippy::print_stdout, reason = "an example talks")]

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::PostParams;
use kube::{Api, Client, CustomResource, CustomResourceExt as _, ResourceExt as _};
use reconciler::{
    Action, Cache, Context, Controller, EventType, Failure, Manager, ManagerError, ObjectKey,
    ObjectReconciler, shutdown_signal,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "samplecontroller.k8s.io", version = "v1alpha1", kind = "Foo", namespaced)]
#[kube(status = "FooStatus")]
// Upstream's: the group is Kubernetes' own.
#[kube(annotation("api-approved.kubernetes.io", "unapproved, experimental-only"))]
#[serde(rename_all = "camelCase")]
struct FooSpec {
    deployment_name: String,
    replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FooStatus {
    available_replicas: i32,
}

struct Sample {
    deployments: Cache<Deployment>,
}

impl ObjectReconciler for Sample {
    type Object = Foo;

    async fn reconcile(&self, sample: &Foo, cx: &Context<Foo>) -> Result<Action, Failure> {
        let name = &sample.spec.deployment_name;
        if name.is_empty() {
            return Err(Failure::terminal("spec.deploymentName is empty: set it"));
        }
        let key = ObjectKey::namespaced(cx.key().namespace().unwrap_or_default(), &**name);
        if self.deployments.get(&key).is_some_and(|held| !cx.controls(&*held)) {
            let said = format!("Resource {name:?} already exists and is not managed by Foo");
            cx.event(EventType::Warning, "ErrResourceExists", &said);
            return Err(Failure::retry(said));
        }
        let deployment = cx.apply(deployment(sample)?).await?;
        let status = deployment.status.unwrap_or_default();
        let available = status.available_replicas.unwrap_or_default();
        cx.update_status(|status| status.available_replicas = available).await?;
        cx.event(EventType::Normal, "Synced", "Foo synced successfully");
        Ok(Action::await_change())
    }
}

fn deployment(sample: &Foo) -> Result<Deployment, serde_json::Error> {
    let labels = json!({"app": "nginx", "controller": sample.name_any()});
    let container = json!({"name": "nginx", "image": "nginx:latest"});
    serde_json::from_value(json!({
        "metadata": {"name": sample.spec.deployment_name},
        "spec": {
            "replicas": sample.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }))
}

/// The manager's caches and controller.
fn assemble(manager: &mut Manager, client: &Client) -> Cache<Foo> {
    let samples = manager.cache(Api::<Foo>::all(client.clone()));
    let deployments = manager.cache(Api::<Deployment>::all(client.clone()));
    let sample = Sample { deployments: deployments.clone() };
    manager.add(Controller::new("sample-controller", &samples, sample).owns(&deployments));
    samples
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|arg| arg == "--once") {
        return Ok(once().await?);
    }
    let (mut manager, client) = Manager::connect("sample-controller").await?;
    assemble(&mut manager, &client);
    manager.run(shutdown_signal()?).await?;
    Ok(())
}

/// Runs on an API server in the process until a Foo has its Deployment.
async fn once() -> Result<(), ManagerError> {
    let server = embedded_apiserver::EmbeddedApiServer::new();
    server.register_definition(&Foo::crd()).expect("the definition is served");
    let client = server.client();
    let mut manager = Manager::builder().build()?;
    assemble(&mut manager, &client);
    let done = async {
        let spec = FooSpec { deployment_name: "example-foo".to_owned(), replicas: Some(1) };
        let samples = Api::<Foo>::namespaced(client.clone(), "default");
        let made = samples.create(&PostParams::default(), &Foo::new("example-foo", spec)).await;
        made.expect("a Foo is created");
        let deployments = Api::<Deployment>::namespaced(client, "default");
        while deployments.get("example-foo").await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    let report = manager.run(done).await?;
    println!("example-foo has its Deployment after {} runs", report.controllers[0].reconciles);
    Ok(())
}
