//! Sources: which changes name keys.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use reconciler::{
    Action, Cache, Cleanup, Context, Controller, Failure, Manager, ObjectKey, ObjectReconciler,
    Request, predicate, reconcile_fn,
};
use serde_json::{Value, json};

use crate::bench::{Bench, Log, bench, key, manager, settle, start, until};

fn deployment(name: &str) -> Deployment {
    let labels = json!({"app": name});
    let spec = json!({
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    });
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

/// Deployments as a user other than the controller sees them.
fn deployments(bench: &Bench) -> Api<Deployment> {
    Api::namespaced(bench.server.client_as("writer"), "default")
}

async fn merge(deployments: &Api<Deployment>, patch: Value) {
    deployments.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

async fn report(deployments: &Api<Deployment>, unavailable: u32) {
    let patch = Patch::Merge(json!({"status": {"unavailableReplicas": unavailable}}));
    deployments.patch_status("a", &PatchParams::default(), &patch).await.unwrap();
}

/// Notes its runs.
#[derive(Clone)]
struct Noting(Log<&'static str>);

impl ObjectReconciler for Noting {
    type Object = Deployment;

    async fn reconcile(&self, _: &Deployment, _: &Context<Deployment>) -> Result<Action, Failure> {
        self.0.push("reconcile");
        Ok(Action::await_change())
    }

    async fn cleanup(&self, _: &Deployment, _: &Context<Deployment>) -> Result<Cleanup, Failure> {
        self.0.push("cleanup");
        Ok(Cleanup::Complete)
    }
}

/// A cache of all deployments, and the log of the controller that `controller` makes of it.
fn noting(
    bench: &Bench,
    controller: impl FnOnce(
        &mut Manager,
        Cache<Deployment>,
        Noting,
    ) -> Controller<reconciler::ObjectAdapter<Noting>>,
) -> (Manager, Log<&'static str>) {
    let (mut manager, log) = (manager(), Log::new());
    let cache = manager.cache(Api::<Deployment>::all(bench.client.clone()));
    let controller = controller(&mut manager, cache, Noting(log.clone()));
    manager.add(controller);
    (manager, log)
}

#[tokio::test(start_paused = true)]
async fn a_predicate_selects_the_changes_of_its_source_and_no_appearance() {
    let (bench, log) = (bench(), Log::new());
    let writer = deployments(&bench);
    writer.create(&PostParams::default(), &deployment("a")).await.unwrap();
    let mut manager = manager();
    let cache = manager.cache(Api::<Deployment>::all(bench.client.clone()));
    let runs = log.clone();
    let controller = Controller::keyed(
        "deployments",
        reconcile_fn(move |request: Request<ObjectKey>| {
            let reasons: Vec<String> = request.reasons().map(|reason| reason.to_string()).collect();
            runs.push(reasons.join(", "));
            async { Ok(Action::await_change()) }
        }),
    );
    let changed = cache.when(predicate::generation_changed).objects().named("object");
    manager.add(controller.source(changed));
    let running = start(manager);
    until("the object of the start", || log.len() == 1).await;
    report(&writer, 1).await;
    merge(&writer, json!({"metadata": {"labels": {"a": "b"}}})).await;
    settle().await;
    assert_eq!(log.len(), 1, "{:?}", log.all());
    merge(&writer, json!({"spec": {"replicas": 3}})).await;
    until("the spec", || log.len() == 2).await;
    // A deletion and an appearance that only a new list shows.
    bench.server.faults().partition("controller");
    writer.delete("a", &DeleteParams::background()).await.unwrap();
    settle().await;
    writer.create(&PostParams::default(), &deployment("b")).await.unwrap();
    bench.server.compact();
    bench.server.faults().heal("controller");
    cache.retry_now();
    until("the deletion and the appearance", || log.len() == 4).await;
    settle().await;
    let mut seen = log.all();
    seen[2..].sort();
    let expected = ["object appeared", "object changed", "object appeared", "object vanished"];
    assert_eq!(seen, expected);
    assert_eq!(cache.when(|_| false).len(), 1, "reads see every object");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_controller_and_what_it_owns_have_predicates() {
    let bench = bench();
    let writer = deployments(&bench);
    let made = writer.create(&PostParams::default(), &deployment("a")).await.unwrap();
    let (manager, log) = noting(&bench, |manager, cache, noting| {
        let maps = manager.cache(bench.api());
        let labelled = maps.when(predicate::labels_changed);
        let mine = maps.when(|change| change.both().any(|map| map.name_any() == "mine"));
        Controller::new("a", &cache.when(predicate::spec_or_deletion), noting)
            .owns(&labelled)
            .watches(&mine.when(predicate::annotations_changed), |_| Some(key("a")))
    });
    let running = start(manager);
    until("the object of the start", || log.len() == 1).await;
    report(&writer, 1).await;
    merge(&writer, json!({"metadata": {"labels": {"a": "b"}}})).await;
    settle().await;
    assert_eq!(log.len(), 1);

    let owner = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "uid": made.uid(),
        "controller": true,
    });
    let child = json!({"metadata": {"name": "child", "ownerReferences": [owner]}});
    let child = serde_json::from_value(child).unwrap();
    bench.maps.create(&PostParams::default(), &child).await.unwrap();
    until("the child", || log.len() == 2).await;
    let patch = |name: &'static str, patch: Value| {
        let maps = bench.maps.clone();
        async move { maps.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap() }
    };
    bench.touch("child", "x").await;
    settle().await;
    assert_eq!(log.len(), 2);
    patch("child", json!({"metadata": {"labels": {"a": "b"}}})).await;
    until("the child's label", || log.len() == 3).await;

    // Both predicates must hold.
    bench.create("other").await;
    patch("other", json!({"metadata": {"annotations": {"a": "b"}}})).await;
    bench.create("mine").await;
    until("the map appears", || log.len() == 4).await;
    bench.touch("mine", "x").await;
    settle().await;
    assert_eq!(log.len(), 4);
    patch("mine", json!({"metadata": {"annotations": {"a": "b"}}})).await;
    until("the map's annotation", || log.len() == 5).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_predicate_that_panics_skips_its_change_and_no_other() {
    let (bench, log) = (bench(), Log::new());
    for name in ["a", "b"] {
        bench.create(name).await;
    }
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let runs = log.clone();
    let controller = Controller::keyed(
        "maps",
        reconcile_fn(move |request: Request<ObjectKey>| {
            runs.push(request.key().name().to_owned());
            async { Ok(Action::await_change()) }
        }),
    );
    let sound = |change: &reconciler::Change<ConfigMap>| {
        assert!(change.both().all(|map| map.name_any() != "a"), "as the test wants");
        true
    };
    manager.add(controller.source(maps.when(sound).objects()));
    let running = start(manager);
    until("the other object", || log.len() == 1).await;
    bench.touch("a", "x").await;
    bench.touch("b", "x").await;
    until("its change", || log.len() == 2).await;
    assert_eq!((log.all(), maps.status().panics), (vec!["b".to_owned(); 2], 2));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_object_has_no_run_until_its_annotation_is_removed() {
    let bench = bench();
    let writer = deployments(&bench);
    let mut paused = deployment("a");
    paused.annotations_mut().insert("example.com/paused".to_owned(), String::new());
    writer.create(&PostParams::default(), &paused).await.unwrap();
    let (manager, log) = noting(&bench, |_, cache, noting| {
        Controller::new("a", &cache, noting)
            .finalizer("example.com/a")
            .pause_annotation("example.com/paused")
    });
    let running = start(manager);
    merge(&writer, json!({"spec": {"replicas": 3}})).await;
    settle().await;
    assert_eq!(log.all(), [""; 0]);
    assert!(writer.get("a").await.unwrap().finalizers().is_empty());
    merge(&writer, json!({"metadata": {"annotations": {"example.com/paused": "false"}}})).await;
    until("the run", || log.len() > 0).await;
    settle().await;
    // A cleanup is paused too.
    merge(&writer, json!({"metadata": {"annotations": {"example.com/paused": "true"}}})).await;
    settle().await;
    let runs = log.len();
    writer.delete("a", &DeleteParams::background()).await.unwrap();
    settle().await;
    assert_eq!(log.len(), runs);
    merge(&writer, json!({"metadata": {"annotations": {"example.com/paused": null}}})).await;
    until("the cleanup", || log.all().last() == Some(&"cleanup")).await;
    settle().await;
    assert!(writer.get_opt("a").await.unwrap().is_none());
    running.stop().await;
}
