//! Applies: when one is sent, and what it repairs.

use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::Api;
use kube::api::{Patch, PatchParams};
use reconciler::{Action, Context, Controller, Failure, ObjectReconciler};
use serde_json::json;
use tokio::time::sleep;

use crate::bench::{Bench, Log, Running, bench, manager, settle, start, until};

/// Applies a Service and a Deployment for each map, each second.
struct Web {
    log: Log<()>,
}

impl ObjectReconciler for Web {
    type Object = ConfigMap;

    async fn reconcile(&self, _: &ConfigMap, cx: &Context<ConfigMap>) -> Result<Action, Failure> {
        let name = cx.key().name();
        let service = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 80}]},
        });
        cx.apply::<Service>(serde_json::from_value(service)?).await?;
        // Servers write these values in another way, or leave them out.
        let container = json!({
            "name": "web", "image": "web:1", "args": [], "tty": false,
            "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
            "env": [{"name": "EMPTY", "value": ""}],
            "livenessProbe": {"httpGet": {"port": 80}, "initialDelaySeconds": 0},
        });
        let template = json!({
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [container], "hostNetwork": false},
        });
        let deployment = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
        });
        cx.apply::<Deployment>(serde_json::from_value(deployment)?).await?;
        self.log.push(());
        Ok(Action::requeue(Duration::from_secs(1)))
    }
}

fn web(bench: &Bench) -> (Running, Log<()>) {
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let services = manager.cache(Api::<Service>::all(bench.client.clone()));
    let deployments = manager.cache(Api::<Deployment>::all(bench.client.clone()));
    let log = Log::new();
    let controller = Controller::new("web", &maps, Web { log: log.clone() });
    manager.add(controller.owns(&services).owns(&deployments));
    (start(manager), log)
}

fn applies(bench: &Bench, resource: &str) -> u64 {
    bench.server.requests().by("controller").writes().resource(resource).count()
}

#[tokio::test(start_paused = true)]
async fn an_object_that_nobody_changed_is_applied_once() {
    let bench = bench();
    bench.create("a").await;
    let (running, log) = web(&bench);
    until("runs", || log.len() > 10).await;
    assert_eq!((applies(&bench, "services"), applies(&bench, "deployments")), (1, 1));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_another_adds_to_an_atomic_map_is_removed() {
    let bench = bench();
    bench.create("a").await;
    let (running, log) = web(&bench);
    until("the Service", || log.len() > 1).await;
    let services = Api::<Service>::namespaced(bench.server.client_as("writer"), "default");
    let selector = async || services.get("a").await.unwrap().spec.unwrap().selector.unwrap();
    let before = selector().await;
    let patch = Patch::Merge(json!({"spec": {"selector": {"x": "y"}}}));
    services.patch("a", &PatchParams::default(), &patch).await.unwrap();
    settle().await;
    assert_eq!(selector().await, before);
    let repaired = applies(&bench, "services");

    // The apply says nothing of a label: it is sent once for that change, and not again.
    let patch = Patch::Merge(json!({"metadata": {"labels": {"x": "y"}}}));
    services.patch("a", &PatchParams::default(), &patch).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(services.get("a").await.unwrap().metadata.labels.unwrap()["x"], "y");
    assert_eq!(applies(&bench, "services"), repaired + 1);
    running.stop().await;
}

/// The other then owns the field too, and would keep it when the apply leaves it out.
#[tokio::test(start_paused = true)]
async fn an_apply_is_sent_after_a_change_that_another_took_back() {
    let bench = bench();
    bench.create("a").await;
    let (running, log) = web(&bench);
    until("runs", || log.len() > 1).await;
    let before = (applies(&bench, "services"), applies(&bench, "deployments"));
    // The caches see both writes at once.
    let watches = Match::any().user("controller").verb(Verb::Watch);
    bench.server.faults().stall_watches(&watches);
    let client = bench.server.client_as("writer");
    let services = Api::<Service>::namespaced(client.clone(), "default");
    let deployments = Api::<Deployment>::namespaced(client, "default");
    for (selector, image) in [("b", "web:2"), ("a", "web:1")] {
        let patch = Patch::Merge(json!({"spec": {"selector": {"app": selector}}}));
        services.patch("a", &PatchParams::default(), &patch).await.unwrap();
        let container = json!([{"name": "web", "image": image}]);
        let patch = json!({"spec": {"template": {"spec": {"containers": container}}}});
        let patch = Patch::Strategic(patch);
        deployments.patch("a", &PatchParams::default(), &patch).await.unwrap();
    }
    bench.server.compact();
    bench.server.faults().cut_watches(&watches);
    sleep(Duration::from_secs(60)).await;
    let after = (applies(&bench, "services"), applies(&bench, "deployments"));
    assert_eq!(after, (before.0 + 1, before.1 + 1), "one each");
    running.stop().await;
}

/// kube waits for ever, and the run's key with it.
#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_fails_and_the_key_runs_again() {
    let bench = bench();
    bench.create("a").await;
    let write = Match::any().user("controller").writes().resource("services");
    let hangs = Rule::new(write, Fault::NeverAnswer).calls(1..=1);
    bench.server.faults().set_plan(FaultPlan::none().rule(hangs));
    let (running, log) = web(&bench);
    until("a run to its end", || log.len() > 0).await;
    bench.server.faults().assert_all_fired();
    assert!(log.times()[0] > Duration::from_secs(65), "{:?}", log.times());
    assert_eq!(applies(&bench, "services"), 2);
    running.stop().await;
}
