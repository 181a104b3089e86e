//! Controllers of objects: owned objects, status, finalizers, and runs that see their own writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Selection, Verb};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, CustomResource, ResourceExt as _};
use reconciler::{
    Action, Cache, CacheConfig, Cleanup, Conditions as _, Context, Controller, EventType, Failure,
    Manager, ObjectKey, ObjectReconciler, Request, reconcile_fn,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bench::{Bench, Log, Running, bench, key, manager, settle, start, until};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Site", namespaced)]
#[kube(status = "SiteStatus", schema = "disabled")]
pub(crate) struct SiteSpec {
    pub(crate) text: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct SiteStatus {
    #[serde(default)]
    pub(crate) length: usize,
    #[serde(default)]
    conditions: Vec<Condition>,
}

fn definition() -> CustomResourceDefinition {
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": free, "status": free}});
    let definition = json!({
        "metadata": {"name": "sites.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Site", "plural": "sites", "singular": "site"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    serde_json::from_value(definition).unwrap()
}

/// A server that has the kind, and the kind's objects as another user sees them.
pub(crate) fn world() -> (Bench, Api<Site>) {
    let bench = bench();
    bench.server.register_definition(&definition()).unwrap();
    let sites = Api::namespaced(bench.server.client_as("writer"), "default");
    (bench, sites)
}

pub(crate) async fn make(sites: &Api<Site>, name: &str, text: &str) -> Site {
    let site = Site::new(name, SiteSpec { text: text.to_owned() });
    sites.create(&PostParams::default(), &site).await.unwrap()
}

/// The controller's writes to a resource.
fn writes(bench: &Bench, resource: &str) -> Selection {
    bench.server.requests().by("controller").writes().resource(resource)
}

pub(crate) fn map(name: &str, text: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"text": text}})).unwrap()
}

/// Mirrors each Site into a ConfigMap, and its length into its status.
struct Mirror {
    maps: Cache<ConfigMap>,
    log: Log<String>,
}

impl ObjectReconciler for Mirror {
    type Object = Site;

    async fn reconcile(&self, site: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        let seen = self.maps.get(cx.key()).and_then(|map| map.data.clone()).unwrap_or_default();
        self.log.push(format!("{} sees {:?}", site.spec.text, seen.get("text")));
        cx.apply(map(&site.name_any(), &site.spec.text)).await?;
        cx.update_status(|status| {
            status.length = site.spec.text.len();
            status.conditions.set("Ready", true, "Synced");
        })
        .await?;
        cx.event(EventType::Normal, "Synced", "the map has the text");
        Ok(Action::await_change())
    }
}

fn mirror(bench: &Bench) -> (Manager, Log<String>) {
    let mut manager = manager();
    let sites = manager.cache(Api::<Site>::all(bench.client.clone()));
    let maps = manager.cache(bench.api());
    let log = Log::new();
    let mirror = Mirror { maps: maps.clone(), log: log.clone() };
    manager.add(Controller::new("mirror", &sites, mirror).owns(&maps));
    (manager, log)
}

#[tokio::test(start_paused = true)]
async fn a_run_writes_what_differs_and_then_nothing() {
    let (bench, sites) = world();
    make(&sites, "a", "one").await;
    let (manager, log) = mirror(&bench);
    let running = start(manager);
    until("the status", || writes(&bench, "sites").count() == 1).await;
    settle().await;
    let child = bench.maps.get("a").await.unwrap();
    let site = sites.get("a").await.unwrap();
    let owner = &child.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((&owner.uid, owner.controller), (site.metadata.uid.as_ref().unwrap(), Some(true)));
    let manager = &child.metadata.managed_fields.as_ref().unwrap()[0].manager;
    assert_eq!(manager.as_deref(), Some("mirror"));
    let status = site.status.unwrap();
    let ready = status.conditions.find("Ready").unwrap();
    assert_eq!((status.length, &*ready.status, ready.observed_generation), (3, "True", Some(1)));
    // Equal Events are one with a count.
    let events = Api::<Event>::namespaced(bench.server.client_as("writer"), "default");
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let [event] = &events[..] else { panic!("{events:?}") };
    let words = (event.type_.as_deref(), event.reason.as_deref(), event.note.as_deref());
    assert_eq!(words, (Some("Normal"), Some("Synced"), Some("the map has the text")));
    assert_eq!(event.regarding.as_ref().unwrap().uid, site.metadata.uid);
    assert_eq!(event.series.as_ref().unwrap().count as usize, log.len());
    // Its own writes brought it back, and it sent nothing more.
    assert!(log.len() > 1, "{:?}", log.all());
    assert_eq!((writes(&bench, "configmaps").count(), writes(&bench, "sites").count()), (1, 1));

    // Somebody else's change of the child is undone.
    bench.touch("a", "foreign").await;
    let patch = json!({"data": {"text": "wrong"}});
    bench.maps.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    settle().await;
    let data = bench.maps.get("a").await.unwrap().data.unwrap();
    assert_eq!(data.get("text").map(String::as_str), Some("one"));
    // One for each change: the first undid nothing, the field is another's.
    assert_eq!(data.get("value").map(String::as_str), Some("foreign"));
    assert_eq!(writes(&bench, "configmaps").count(), 3);
    running.stop().await;
}

/// So long the cache shows no child.
const LATE: Duration = Duration::from_secs(2);

/// Creates a child under a generated name if it sees none.
struct OneChild {
    maps: Cache<ConfigMap>,
}

impl ObjectReconciler for OneChild {
    type Object = Site;

    async fn reconcile(&self, _: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        if self.maps.is_empty() {
            let child = json!({"metadata": {"generateName": "child-"}});
            cx.create::<ConfigMap>(serde_json::from_value(child).unwrap()).await?;
        }
        Ok(Action::requeue(Duration::from_millis(100)))
    }
}

/// 13 of the table.
#[tokio::test(start_paused = true)]
async fn a_stale_cache_makes_no_second_child() {
    let (bench, sites) = world();
    let mut manager = manager();
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let maps = manager.cache(bench.api());
    let controller = Controller::new("one", &cache, OneChild { maps: maps.clone() }).owns(&maps);
    manager.add(controller);
    let running = start(manager);
    until("the watch", || {
        bench.server.faults().live_watches(&Match::any().resource("configmaps")) == 1
    })
    .await;
    // The watch shows nothing of what happens from here on, until it is cut.
    bench.server.faults().stall_watches(&Match::any().resource("configmaps"));
    make(&sites, "a", "one").await;
    tokio::time::sleep(LATE).await;
    bench.server.faults().cut_watches(&Match::any().resource("configmaps"));
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(writes(&bench, "configmaps").verb(Verb::Create).count(), 1);
    running.stop().await;
}

/// Keeps a Secret in another namespace, which no owner reference deletes.
struct Faraway {
    log: Log<&'static str>,
    failures: AtomicU32,
}

const FINALIZER: &str = "example.com/faraway";

fn faraway(name: &str) -> Secret {
    let far = json!({"metadata": {"name": name, "namespace": "kube-system"}});
    serde_json::from_value(far).unwrap()
}

impl ObjectReconciler for Faraway {
    type Object = Site;

    async fn reconcile(&self, site: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        self.log.push("reconcile");
        assert!(site.finalizers().iter().any(|name| name == FINALIZER), "it is there first");
        cx.apply_unowned(faraway(&site.name_any())).await?;
        Ok(Action::await_change())
    }

    async fn cleanup(&self, site: &Site, cx: &Context<Site>) -> Result<Cleanup, Failure> {
        if self.failures.fetch_sub(1, Ordering::Relaxed) > 1 {
            self.log.push("failed");
            return Err(Failure::retry("not now"));
        }
        self.log.push("cleanup");
        cx.delete(&faraway(&site.name_any())).await?;
        Ok(Cleanup::Complete)
    }
}

fn with_finalizer(bench: &Bench) -> (Running, Log<&'static str>) {
    let mut manager = manager();
    let sites = manager.cache(Api::<Site>::all(bench.client.clone()));
    let log = Log::new();
    let faraway = Faraway { log: log.clone(), failures: AtomicU32::new(3) };
    manager.add(Controller::new("faraway", &sites, faraway).finalizer(FINALIZER));
    (start(manager), log)
}

#[tokio::test(start_paused = true)]
async fn an_object_goes_when_its_cleanup_is_complete() {
    let (bench, sites) = world();
    make(&sites, "a", "one").await;
    let (running, log) = with_finalizer(&bench);
    let secrets = Api::<Secret>::namespaced(bench.server.client_as("writer"), "kube-system");
    until("the first run", || log.len() > 0).await;
    settle().await;
    assert!(secrets.get_opt("a").await.unwrap().is_some());
    sites.delete("a", &DeleteParams::default()).await.unwrap();
    until("the cleanup", || log.all().contains(&"cleanup")).await;
    settle().await;
    assert!(sites.get_opt("a").await.unwrap().is_none());
    assert!(secrets.get_opt("a").await.unwrap().is_none());
    let cleanups: Vec<_> = log.all().into_iter().filter(|entry| *entry != "reconcile").collect();
    assert_eq!(cleanups, ["failed", "failed", "cleanup"]);
    running.stop().await;
}

/// Case 14 of the review: two controllers remove their finalizers from stale copies.
#[tokio::test(start_paused = true)]
async fn two_controllers_remove_their_finalizers_at_once() {
    let (bench, sites) = world();
    make(&sites, "a", "one").await;
    let mut manager = manager();
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let log = Log::new();
    let faraway = Faraway { log: log.clone(), failures: AtomicU32::new(1) };
    manager.add(Controller::new("one", &cache, faraway).finalizer(FINALIZER));
    manager.add(Controller::new("two", &cache, Other(log)).finalizer("example.com/other"));
    let running = start(manager);
    until("both finalizers", || {
        cache.get(&key("a")).is_some_and(|site| site.finalizers().len() == 2)
    })
    .await;
    sites.delete("a", &DeleteParams::default()).await.unwrap();
    until("the end", || cache.is_empty()).await;
    settle().await;
    assert!(sites.get_opt("a").await.unwrap().is_none());
    let refused = writes(&bench, "sites").answered_with(422);
    assert_eq!(refused, 0, "a conditional patch is a conflict at most");
    let report = running.stop().await;
    assert_eq!(report.controllers.iter().map(|it| it.errors).sum::<u64>(), 0);
}

struct Other(Log<&'static str>);

impl ObjectReconciler for Other {
    type Object = Site;

    async fn reconcile(&self, _: &Site, _: &Context<Site>) -> Result<Action, Failure> {
        self.0.push("other");
        Ok(Action::await_change())
    }
}

/// A lost answer to the creation of a child: the next run takes over what is there.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_an_apply_is_repaired() {
    let (bench, sites) = world();
    let lost = Match::any().user("controller").writes().resource("configmaps");
    bench
        .server
        .faults()
        .set_plan(FaultPlan::none().rule(Rule::new(lost, Fault::DropAfter).calls(0..2)));
    make(&sites, "a", "one").await;
    let (manager, _) = mirror(&bench);
    let running = start(manager);
    until("the status", || writes(&bench, "sites").count() >= 1).await;
    settle().await;
    bench.server.faults().assert_all_fired();
    let all = bench.maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(all.items.len(), 1);
    running.stop().await;
}

/// What a context refuses before it sends anything.
struct Wrong(Arc<std::sync::Mutex<Vec<String>>>);

impl ObjectReconciler for Wrong {
    type Object = Site;

    async fn reconcile(&self, _: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        let abroad: ConfigMap =
            serde_json::from_value(json!({"metadata": {"name": "m", "namespace": "kube-system"}}))
                .unwrap();
        let nameless: ConfigMap = serde_json::from_value(json!({"metadata": {}})).unwrap();
        let mut said = Vec::new();
        for child in [abroad, nameless] {
            let failure = cx.apply(child).await.unwrap_err();
            assert!(failure.is_terminal());
            said.push(failure.to_string());
        }
        *self.0.lock().unwrap() = said;
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_that_cannot_be_owned_is_refused_with_the_remedy() {
    let (bench, sites) = world();
    make(&sites, "a", "one").await;
    let mut manager = manager();
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let said = Arc::default();
    manager.add(Controller::new("wrong", &cache, Wrong(Arc::clone(&said))));
    let running = start(manager);
    until("the run", || !said.lock().unwrap().is_empty()).await;
    assert_eq!(
        *said.lock().unwrap(),
        [
            "the ConfigMap kube-system/m cannot be owned by the Site default/a: owner references do not \
             cross namespaces; use Context::apply_unowned and Controller::finalizer",
            "the applied ConfigMap has no name",
        ]
    );
    assert_eq!(writes(&bench, "configmaps").count(), 0);
    running.stop().await;
}

/// A cache with a selector is waited for only for objects that it covers.
#[tokio::test(start_paused = true)]
async fn a_write_that_the_selector_leaves_out_is_not_waited_for() {
    let (bench, sites) = world();
    make(&sites, "a", "one").await;
    let mut manager = manager();
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let maps = manager.cache_with(bench.api(), CacheConfig::new().labels("app=web"));
    let log = Log::new();
    let mirror = Mirror { maps: maps.clone(), log: log.clone() };
    manager.add(Controller::new("mirror", &cache, mirror).owns(&maps));
    let running = start(manager);
    until("a run after the writes", || log.len() >= 2).await;
    assert!(log.times()[1] - log.times()[0] < Duration::from_secs(1), "{:?}", log.times());
    running.stop().await;
}

/// 11 of the table: a missing definition ends nothing. Its controllers wait and say so, and
/// the others run.
#[tokio::test(start_paused = true)]
async fn a_missing_definition_holds_back_its_controllers_alone() {
    let bench = bench();
    bench.create("a").await;
    let mut manager = manager();
    let maps = manager.cache(bench.api());
    let sites = manager.cache(Api::<Site>::all(bench.client.clone()));
    let log = Log::new();
    let noting = |name: &'static str| {
        let log = log.clone();
        Controller::keyed(
            name,
            reconcile_fn(move |request: Request<ObjectKey>| {
                log.push(format!("{name} runs {}", request.key()));
                async { Ok(Action::await_change()) }
            }),
        )
    };
    manager.add(noting("one").source(maps.objects()));
    manager.add(noting("two").source(maps.objects()).reads(&sites));
    let sweeps = log.clone();
    manager.leader_task("sweep", move |_| {
        sweeps.push("sweep".to_owned());
        async { Ok(()) }
    });
    let running = start(manager);
    // Longer than the time-out of before.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(log.all(), ["one runs default/a"]);
    let error = sites.status().degraded.unwrap().error;
    let said = "the server does not have example.com/v1/sites: install its definition (";
    assert!(error.starts_with(said), "{error}");
    bench.server.register_definition(&definition()).unwrap();
    until("the other controller and the task", || log.len() == 3).await;
    running.stop().await;
}

/// Patches its child, and notes what its request says.
struct Last(Log<(u32, bool, Duration)>);

impl ObjectReconciler for Last {
    type Object = Site;

    async fn reconcile(&self, site: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        let left = cx.deadline().unwrap() - tokio::time::Instant::now();
        self.0.push((cx.attempt(), cx.is_last_attempt(), left));
        let child = cx.apply(map(&site.name_any(), "one")).await?;
        let patch = json!({"data": {"attempt": cx.attempt().to_string()}});
        let patched: ConfigMap = cx.patch(cx.key(), &patch).await?;
        assert!(cx.controls(&patched) && !cx.controls(&ConfigMap::default()));
        assert_eq!(child.metadata.uid, patched.metadata.uid);
        Err(Failure::retry("again"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_knows_its_last_attempt_and_its_deadline() {
    let (bench, sites) = world();
    make(&sites, "a", "one").await;
    let mut manager = manager();
    let cache = manager.cache(Api::<Site>::all(bench.client.clone()));
    let log = Log::new();
    let longest = Duration::from_secs(9);
    let controller = Controller::new("last", &cache, Last(log.clone()));
    let controller = controller.timeout(longest).max_attempts(3);
    let view = controller.observe();
    manager.add(controller);
    let running = start(manager);
    until("the end of the attempts", || view.parked().len() == 1).await;
    assert_eq!(log.all(), [(0, false, longest), (1, false, longest), (2, true, longest)]);
    let data = bench.maps.get("a").await.unwrap().data.unwrap();
    assert_eq!(data.get("attempt").map(String::as_str), Some("2"));
    running.stop().await;
}
