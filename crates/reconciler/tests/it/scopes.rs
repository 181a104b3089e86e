//! Caches of several namespaces.

use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use reconciler::{Cache, CacheConfig, Manager, ManagerError, ObjectKey};
use tokio::time::sleep;

use crate::bench::{Bench, bench, manager, settle, start, until};

async fn create(bench: &Bench, namespace: &str, name: &str) {
    let client = bench.server.client_as("writer");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let it = serde_json::from_value(serde_json::json!({"metadata": {"name": namespace}})).unwrap();
    let _exists = namespaces.create(&PostParams::default(), &it).await;
    let labels = serde_json::json!({"metadata": {"name": name, "labels": {"is": name}}});
    let map: ConfigMap = serde_json::from_value(labels).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, namespace);
    maps.create(&PostParams::default(), &map).await.unwrap();
}

async fn delete(bench: &Bench, namespace: &str, name: &str) {
    let maps: Api<ConfigMap> = Api::namespaced(bench.server.client_as("writer"), namespace);
    maps.delete(name, &DeleteParams::default()).await.unwrap();
}

fn of_a_and_b(bench: &Bench, manager: &mut Manager) -> Cache<ConfigMap> {
    manager.cache_with(bench.api(), CacheConfig::new().namespaces(["a", "b"]))
}

fn shown(cache: &Cache<ConfigMap>) -> Vec<String> {
    cache.list().iter().map(|map| ObjectKey::of(&**map).unwrap().to_string()).collect()
}

fn requests(verb: Verb, namespace: &str) -> Match {
    Match::any().user("controller").verb(verb).resource("configmaps").namespace(namespace)
}

#[tokio::test(start_paused = true)]
async fn a_cache_has_the_objects_of_its_namespaces_by_one_watch_for_each() {
    let bench = bench();
    for (namespace, name) in [("b", "x"), ("c", "x"), ("a", "x"), ("a", "y")] {
        create(&bench, namespace, name).await;
    }
    let mut manager = manager();
    let config = CacheConfig::new().namespaces(["a", "b"]).labels_in("a", "is=x");
    let maps = manager.cache_with(bench.api(), config);
    let running = start(manager);
    until("the cache", || maps.is_synced()).await;
    assert_eq!(shown(&maps), ["a/x", "b/x"], "in a those of its selector");
    create(&bench, "b", "z").await;
    create(&bench, "c", "z").await;
    delete(&bench, "a", "x").await;
    settle().await;
    assert_eq!(shown(&maps), ["b/x", "b/z"]);
    let status = maps.status();
    assert_eq!((status.objects, status.lists), (2, 2));
    let of_each: Vec<(&str, usize)> = status
        .namespaces
        .iter()
        .map(|(namespace, status)| (&**namespace, status.objects))
        .collect();
    assert_eq!(of_each, [("a", 0), ("b", 2)]);
    assert_eq!(maps.name(), "v1/configmaps");
    // The rights of a Role in each are enough.
    let asked = bench.server.requests().by("controller").entries();
    assert!(!asked.is_empty() && asked.iter().all(|entry| entry.request.namespace.is_some()));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_fails_is_named_and_delays_no_other() {
    let bench = bench();
    create(&bench, "a", "x").await;
    create(&bench, "b", "x").await;
    let rule = Rule::new(requests(Verb::List, "b"), Fault::Forbidden);
    bench.server.faults().set_plan(FaultPlan::none().rule(rule));
    let mut manager = manager();
    let maps = of_a_and_b(&bench, &mut manager);
    let running = start(manager);
    until("the failure", || maps.status().degraded.is_some()).await;
    settle().await;
    let status = maps.status();
    let error = status.degraded.unwrap().error.to_string();
    assert!(error.starts_with("namespace b: "), "{error}");
    assert!(error.ends_with("grant the verbs list and watch"), "{error}");
    assert!(!status.synced && status.namespaces["a"].synced && !status.namespaces["b"].synced);
    create(&bench, "a", "y").await;
    settle().await;
    assert_eq!(shown(&maps), ["a/x", "a/y"]);
    let late = maps.await_synced_within(Duration::from_secs(1)).await.unwrap_err().to_string();
    assert!(late.contains("v1/configmaps") && late.contains("namespace b: "), "{late}");
    bench.server.faults().clear();
    maps.retry_now();
    settle().await;
    assert_eq!(shown(&maps), ["a/x", "a/y", "b/x"]);
    assert!(maps.is_synced());
    until("the watch heals", || maps.status().degraded.is_none()).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_of_one_namespace_tells_nothing_about_the_objects_of_another() {
    let bench = bench();
    for (namespace, name) in [("a", "x"), ("a", "y"), ("b", "x")] {
        create(&bench, namespace, name).await;
    }
    let mut manager = manager();
    let maps = of_a_and_b(&bench, &mut manager);
    let running = start(manager);
    until("the cache", || maps.is_synced()).await;
    let watching = requests(Verb::Watch, "a");
    let rule = Rule::new(watching.clone(), Fault::Unavailable);
    bench.server.faults().set_plan(FaultPlan::none().rule(rule));
    bench.server.faults().cut_watches(&watching);
    delete(&bench, "a", "x").await;
    bench.server.compact();
    bench.server.faults().clear();
    until("the new list", || maps.status().lists == 3).await;
    assert_eq!(shown(&maps), ["a/y", "b/x"]);
    assert_eq!(maps.status().namespaces["b"].lists, 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_that_cannot_be_watched_are_an_error_before_anything_starts() {
    async fn error<K: reconciler::Kind>(api: Api<K>, config: CacheConfig<K>) -> String {
        let mut manager = manager();
        let _cache = manager.cache_with(api, config);
        let error = manager.run(sleep(Duration::from_secs(1))).await.unwrap_err();
        assert!(matches!(error, ManagerError::BadNamespaces { .. }), "{error}");
        error.to_string()
    }
    let bench = bench();
    let of = |namespaces: &[&'static str]| {
        let namespaces: Vec<&'static str> = namespaces.to_vec();
        CacheConfig::<ConfigMap>::new().namespaces(namespaces)
    };
    let long = "a".repeat(64).leak();
    for (config, why) in [
        (of(&[]), "names none"),
        (of(&["a", "b", "a"]), "names \"a\" twice"),
        (of(&["a", ""]), "\"\" is no namespace"),
        (of(&["A"]), "\"A\" is no namespace"),
        (of(&["a/b"]), "\"a/b\" is no namespace"),
        (of(&["-a"]), "\"-a\" is no namespace"),
        (of(&[long]), "is no namespace"),
        (of(&["a"]).labels_in("b", "x=y"), "labels_in names \"b\""),
        (CacheConfig::new().labels_in("b", "x=y"), "labels_in names \"b\""),
    ] {
        let error = error(bench.api(), config).await;
        assert!(
            error.starts_with("the cache of v1/configmaps: ") && error.contains(why),
            "{error}"
        );
    }
    let one = Api::namespaced(bench.client.clone(), "default");
    let error_of_one = error(one, of(&["a"])).await;
    assert!(error_of_one.contains("\"default\": use Api::all"), "{error_of_one}");
    let all = Api::<Namespace>::all(bench.client.clone());
    let of_cluster = error(all, CacheConfig::new().namespaces(["a"])).await;
    assert!(of_cluster.contains("the kind has no namespaces"), "{of_cluster}");
    assert_eq!(bench.server.requests().by("controller").count(), 0);
}

#[cfg(feature = "admin")]
#[tokio::test]
async fn metrics_and_readiness_name_the_namespace() {
    use crate::serving::{get, loopback};

    let bench = bench();
    create(&bench, "a", "x").await;
    let rule = Rule::new(requests(Verb::List, "b"), Fault::Forbidden);
    bench.server.faults().set_plan(FaultPlan::none().rule(rule));
    let admin = reconciler::AdminServer::bind(loopback()).unwrap();
    let address = admin.local_addr();
    let mut manager = Manager::builder().admin(admin).build().unwrap();
    let maps = of_a_and_b(&bench, &mut manager);
    let running = start(manager);
    until("both", || maps.status().degraded.is_some() && maps.status().lists == 1).await;
    let (_, metrics) = get(address, "/metrics").await;
    for line in [
        "reconciler_cache_objects{watch=\"v1/configmaps\",namespace=\"a\"} 1.0",
        "reconciler_watch_degraded{watch=\"v1/configmaps\",namespace=\"a\"} 0.0",
        "reconciler_watch_degraded{watch=\"v1/configmaps\",namespace=\"b\"} 1.0",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let (status, ready) = get(address, "/readyz").await;
    assert!(status.contains("503"), "{status}");
    assert!(ready.contains("[-]v1/configmaps degraded: namespace b: "), "{ready}");
    running.stop().await;
}
