//! An operator of websites: a Deployment and a Service for each, and its host at a registrar.
//!
//! ```sh
//! cargo run -p reconciler --all-features --example website -- --crd | kubectl apply -f -
//! cargo run -p reconciler --all-features --example website            # the cluster of kubectl
//! cargo run -p reconciler --all-features --example website -- --once  # in the process, to the end
//! ```
#![expect(clippy::print_stdout, reason = "an example talks")]

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, CustomResource, CustomResourceExt as _, ResourceExt as _};
use reconciler::{
    Action, AdminServer, BoxError, Cleanup, Conditions as _, Context, Controller, EventType,
    Failure, Manager, ObjectReconciler, shutdown_signal,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Website", namespaced)]
#[kube(status = "WebsiteStatus")]
pub(crate) struct WebsiteSpec {
    // A host that changed would leave the old one registered.
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self == oldSelf"}]))]
    pub(crate) host: String,
    pub(crate) image: String,
    pub(crate) replicas: i32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct WebsiteStatus {
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
}

/// A system outside of the cluster. A call may be repeated: the uid of the website tells that.
pub(crate) trait Registrar: Send + Sync + 'static {
    fn register(&self, site: &Website) -> impl Future<Output = Result<(), BoxError>> + Send;
    fn release(&self, site: &Website) -> impl Future<Output = Result<(), BoxError>> + Send;
}

struct Websites<R>(R);

impl<R: Registrar> ObjectReconciler for Websites<R> {
    type Object = Website;

    async fn reconcile(&self, site: &Website, cx: &Context<Website>) -> Result<Action, Failure> {
        let registered = self.0.register(site).await;
        let (deployment, service) = children(site)?;
        let deployment = cx.apply(deployment).await?;
        cx.apply(service).await?;
        let ready = deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0);
        let refusal = registered.as_ref().err().map(ToString::to_string).unwrap_or_default();
        cx.update_status(|status| {
            status.conditions.set("Ready", ready >= site.spec.replicas, "Deployed");
            status.conditions.set("Registered", registered.is_ok(), "Registrar").message = refusal;
        })
        .await?;
        registered?; // The site is up, and the registrar is asked again.
        cx.event(EventType::Normal, "Registered", &site.spec.host);
        Ok(Action::await_change())
    }

    async fn cleanup(&self, site: &Website, cx: &Context<Website>) -> Result<Cleanup, Failure> {
        if let Err(error) = self.0.release(site).await {
            cx.event(EventType::Warning, "ReleaseFailed", &error.to_string());
            return Err(error.into()); // The object stays, and the registrar is asked again.
        }
        Ok(Cleanup::Complete)
    }
}

fn children(site: &Website) -> Result<(Deployment, Service), serde_json::Error> {
    let metadata = json!({"name": site.name_any()});
    let labels = json!({"website": site.name_any()});
    let container = json!({"name": "web", "image": site.spec.image});
    let deployment = json!({
        "metadata": metadata,
        "spec": {
            "replicas": site.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    });
    let ports = json!([{"port": 80}]);
    let service = json!({"metadata": metadata, "spec": {"selector": labels, "ports": ports}});
    Ok((serde_json::from_value(deployment)?, serde_json::from_value(service)?))
}

/// Adds the operator, with its caches.
pub(crate) fn add_websites(manager: &mut Manager, client: &Client, registrar: impl Registrar) {
    let sites = manager.cache(Api::<Website>::all(client.clone()));
    let deployments = manager.cache(Api::<Deployment>::all(client.clone()));
    let services = manager.cache(Api::<Service>::all(client.clone()));
    let controller = Controller::new("website", &sites, Websites(registrar))
        .owns(&deployments)
        .owns(&services)
        .finalizer("example.com/website")
        .timeout(Duration::from_secs(30)); // The registrar may not answer.
    manager.add(controller);
}

/// Stands for the client of a registrar.
struct Printer;

impl Registrar for Printer {
    async fn register(&self, site: &Website) -> Result<(), BoxError> {
        println!("{} is registered", site.spec.host);
        Ok(())
    }
    async fn release(&self, site: &Website) -> Result<(), BoxError> {
        println!("{} is released", site.spec.host);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("--crd") => println!("{}", serde_json::to_string_pretty(&Website::crd())?),
        Some("--once") => once().await?,
        _ => {
            let admin = AdminServer::bind(([0, 0, 0, 0], 8080).into())?;
            let (mut manager, client) = Manager::builder().admin(admin).connect("website").await?;
            add_websites(&mut manager, &client, Printer);
            manager.run(shutdown_signal()?).await?;
        }
    }
    Ok(())
}

/// Runs on an API server in the process until a website has come and gone.
async fn once() -> Result<(), Box<dyn std::error::Error>> {
    let server = embedded_apiserver::EmbeddedApiServer::new();
    server.register_definition(&Website::crd())?;
    let mut manager = Manager::builder().build()?;
    add_websites(&mut manager, &server.client(), Printer);
    let sites = Api::<Website>::namespaced(server.client(), "default");
    let spec = WebsiteSpec { host: "a.example.com".into(), image: "a:1".into(), replicas: 1 };
    sites.create(&PostParams::default(), &Website::new("a", spec)).await?;
    let report = manager.run(async {
        let is_deployed = |site: Option<&Website>| site.is_some_and(|site| site.status.is_some());
        await_condition(sites.clone(), "a", is_deployed).await.expect("it is deployed");
        sites.delete("a", &DeleteParams::default()).await.expect("it is deleted");
        let is_gone = |site: Option<&Website>| site.is_none();
        await_condition(sites, "a", is_gone).await.expect("it is gone");
    });
    println!("a website came and went in {} runs", report.await?.controllers[0].reconciles);
    Ok(())
}
