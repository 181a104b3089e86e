//! Random histories of a controller of objects: runs see their own writes, whatever the watches
//! meet, and children become what their owners say. A third of `HISTORY_SEEDS` is played.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use fastrand::Rng;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Resource, ResourceExt as _};
use reconciler::{
    Action, Cache, CacheConfig, Cleanup, Context, Controller, Failure, ObjectReconciler,
};
use serde_json::json;
use tokio::time::{Instant, sleep};
use wq_ratelimit::ExponentialBackoff;

use crate::bench::{Bench, manager, start};
use crate::histories::{MS, seeds};
use crate::objects::{Site, make, map, world};

/// After this long a run does not wait for the caches any more.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const FINALIZER: &str = "example.com/history";

/// What the last run of a Site wrote.
#[derive(Default)]
struct Known {
    is_running: bool,
    /// The versions of the Site and of its map.
    wrote: (u64, u64),
    /// Uids of the children that a run created, and has not deleted.
    children: Vec<String>,
    ended: Option<Instant>,
    /// A run began although a cache did not show the writes of the last one.
    was_late: bool,
}

struct State {
    rng: Rng,
    /// Runs neither fail nor repeat any more.
    is_calm: bool,
    sites: BTreeMap<String, Known>,
    runs: u32,
    wrong: Vec<String>,
}

/// Copies the text of a Site into a map, and its length into its status. Creates one child under a
/// generated name, which a cleanup deletes.
struct Copier {
    maps: Cache<ConfigMap>,
    state: Arc<Mutex<State>>,
}

fn version(object: &impl Resource) -> u64 {
    object.meta().resource_version.as_deref().unwrap().parse().unwrap()
}

impl Copier {
    fn children(&self, site: &str) -> Vec<Arc<ConfigMap>> {
        let is_child = |map: &Arc<ConfigMap>| map.labels().get("site").is_some_and(|it| it == site);
        self.maps.list().into_iter().filter(is_child).collect()
    }

    /// A run starts. Returns how long it takes, whether it fails, and when it is repeated.
    fn begin(&self, site: &Site) -> (Duration, bool, Option<Duration>) {
        let name = site.name_any();
        let children = self.children(&name);
        let map = self.maps.get(&crate::bench::key(&name));
        let state = &mut *self.state.lock().unwrap();
        state.runs += 1;
        let known = state.sites.entry(name.clone()).or_default();
        let seen = (version(site), map.map_or(0, |map| version(&*map)));
        let uids: Vec<String> = children.iter().filter_map(|child| child.uid()).collect();
        let shows_children =
            known.children.len() == uids.len() && known.children.iter().all(|it| uids.contains(it));
        let is_seen = seen.0 >= known.wrote.0 && seen.1 >= known.wrote.1 && shows_children;
        known.was_late |= known.ended.is_some_and(|ended| ended.elapsed() >= LONGEST_WAIT);
        if known.is_running || !(is_seen || known.was_late) {
            let (wrote, made, ended) = (known.wrote, &known.children, known.ended);
            let waited = ended.map(|ended| ended.elapsed());
            state.wrong.push(format!(
                "{name}: runs {}, sees {seen:?} and {uids:?} after {wrote:?}, {made:?}, {waited:?}",
                known.is_running
            ));
        }
        known.is_running = true;
        let fails = !state.is_calm && state.rng.u8(0..4) == 0;
        let repeats = (!state.is_calm && state.rng.bool()).then(|| MS * state.rng.u32(0..50));
        (MS * state.rng.u32(0..20), fails, repeats)
    }

    fn known<T>(&self, site: &str, change: impl FnOnce(&mut Known) -> T) -> T {
        change(self.state.lock().unwrap().sites.get_mut(site).unwrap())
    }

    async fn copy(&self, site: &Site, cx: &Context<Site>, takes: Duration) -> Result<(), Failure> {
        let name = site.name_any();
        let copied = cx.apply(map(&name, &site.spec.text)).await?;
        self.known(&name, |known| known.wrote.1 = version(&copied));
        if self.children(&name).is_empty() {
            let child = json!({"metadata": {"generateName": "x-", "labels": {"site": name}}});
            let child: ConfigMap = cx.create(serde_json::from_value(child)?).await?;
            self.known(&name, |known| known.children.extend(child.uid()));
        }
        sleep(takes).await;
        cx.update_status(|status| status.length = site.spec.text.len()).await?;
        self.known(&name, |known| known.wrote.0 = version(&*cx.object()));
        Ok(())
    }
}

impl ObjectReconciler for Copier {
    type Object = Site;

    async fn reconcile(&self, site: &Site, cx: &Context<Site>) -> Result<Action, Failure> {
        let (takes, fails, repeats) = self.begin(site);
        let copied = self.copy(site, cx, takes).await;
        self.known(&site.name_any(), |known| {
            (known.is_running, known.ended) = (false, Some(Instant::now()));
        });
        copied?;
        match (fails, repeats) {
            (true, _) => Err(Failure::retry("planted")),
            (false, Some(after)) => Ok(Action::requeue(after)),
            (false, None) => Ok(Action::await_change()),
        }
    }

    async fn cleanup(&self, site: &Site, cx: &Context<Site>) -> Result<Cleanup, Failure> {
        let (takes, fails, _) = self.begin(site);
        let name = site.name_any();
        sleep(takes).await;
        let mut deleted = Ok(());
        for child in self.children(&name) {
            deleted = deleted.and(cx.delete(&*child).await);
            if deleted.is_ok() {
                self.known(&name, |known| {
                    known.children.retain(|it| Some(it) != child.uid().as_ref())
                });
            }
        }
        self.known(&name, |known| {
            (known.is_running, known.ended) = (false, Some(Instant::now()));
        });
        deleted?;
        if fails { Err(Failure::retry("planted")) } else { Ok(Cleanup::Complete) }
    }
}

fn plan(seed: u64) -> FaultPlan {
    let of = |verb| Match::any().user("controller").verb(verb);
    let starts =
        || [Fault::Unavailable, Fault::TooManyRequests { retry_after_s: 1 }, Fault::DropBefore];
    let streams = [
        Fault::CutWatch { min_events: 0, max_events: 3, after_ms: Some(500), mid_line: true },
        Fault::StallWatch { min_events: 0, max_events: 3 },
        Fault::GarbageLine { min_events: 0, max_events: 3 },
    ];
    let latency = || Fault::Latency { min_ms: 1, max_ms: 300 };
    let mut plan = FaultPlan::seeded(seed)
        .rule(Rule::new(of(Verb::Watch), Fault::Compact).percent(10))
        .rule(Rule::one_of(of(Verb::Watch), streams).percent(50));
    for (verb, percent) in
        [(Verb::Watch, 20), (Verb::List, 20), (Verb::Patch, 5), (Verb::Create, 5)]
    {
        plan = plan
            .rule(Rule::new(of(verb), latency()).percent(20))
            .rule(Rule::one_of(of(verb), starts()).percent(percent));
    }
    plan
}

/// Writes Sites at random, also their maps, and cuts what is open.
async fn play(bench: &Bench, sites: &Api<Site>, rng: &mut Rng) {
    let watches = Match::any().user("controller").verb(Verb::Watch);
    let (mut names, mut next) = (Vec::<String>::new(), 0);
    let params = PatchParams::default();
    for step in 0..40 {
        match rng.u8(0..12) {
            0 => bench.server.compact(),
            1 => _ = bench.server.faults().cut_watches(&watches),
            2 => _ = bench.server.faults().stall_watches(&watches),
            choice if names.len() < 3 && choice < 6 => {
                names.push(format!("site{next}"));
                make(sites, &names[names.len() - 1], "a").await;
                next += 1;
            }
            _ if names.is_empty() => {}
            choice => {
                let at = rng.usize(..names.len());
                match choice {
                    // A name is never used again: its map would have the old owner.
                    3 => {
                        sites
                            .delete(&names.swap_remove(at), &DeleteParams::default())
                            .await
                            .unwrap();
                    }
                    4 | 5 => {
                        let patch =
                            Patch::Merge(json!({"data": {"text": format!("foreign {step}")}}));
                        // It may not be there yet.
                        _ = bench.maps.patch(&names[at], &params, &patch).await;
                    }
                    _ => {
                        let text = "a".repeat(rng.usize(1..5));
                        let patch = Patch::Merge(json!({"spec": {"text": text}}));
                        sites.patch(&names[at], &params, &patch).await.unwrap();
                    }
                }
            }
        }
        sleep(MS * if rng.u8(0..4) == 0 { rng.u32(0..2000) } else { rng.u32(0..20) }).await;
    }
}

/// What of the Sites is not yet as it should be.
async fn late(bench: &Bench, sites: &Api<Site>, state: &Mutex<State>) -> Vec<String> {
    let sites = sites.list(&ListParams::default()).await.unwrap().items;
    let maps = bench.maps.list(&ListParams::default()).await.unwrap().items;
    let state = state.lock().unwrap();
    let mut late = Vec::new();
    for (name, known) in &state.sites {
        let site = sites.iter().find(|site| site.name_any() == *name);
        let map = maps.iter().find(|map| map.name_any() == *name);
        let children = maps.iter().filter(|map| map.labels().get("site") == Some(name)).count();
        let is_right = match site {
            None => children == 0 || known.was_late,
            Some(site) => {
                let text = map.and_then(|map| map.data.as_ref()?.get("text"));
                text == Some(&site.spec.text)
                    && site.status.as_ref().is_some_and(|it| it.length == site.spec.text.len())
                    && (children == 1 || (known.was_late && children > 0))
            }
        };
        if !is_right || known.is_running {
            late.push(format!("{name}: {site:?} {map:?} {children}"));
        }
    }
    late.extend(
        sites.iter().filter(|it| !state.sites.contains_key(&it.name_any())).map(|it| it.name_any()),
    );
    late
}

/// Counts the runs of one history, and the Sites that had to wait for 10 s.
async fn history(seed: u64) -> (u32, usize) {
    let mut rng = Rng::with_seed(seed);
    let (bench, sites) = world();
    bench.server.faults().set_plan(plan(seed));
    let state = Arc::new(Mutex::new(State {
        rng: rng.fork(),
        is_calm: false,
        sites: BTreeMap::new(),
        runs: 0,
        wrong: Vec::new(),
    }));
    let mut manager = manager();
    let watch_time = Duration::from_secs(10);
    let cache = manager
        .cache_with(Api::all(bench.client.clone()), CacheConfig::new().watch_time(watch_time));
    let config = CacheConfig::new().watch_time(watch_time).streaming_list(seed % 2 == 1);
    let maps = manager.cache_with(bench.api(), config);
    let copier = Copier { maps: maps.clone(), state: Arc::clone(&state) };
    let controller = Controller::new("sites", &cache, copier)
        .owns(&maps)
        .finalizer(FINALIZER)
        .ignore_own_writes(seed % 4 < 2)
        .limiter(ExponentialBackoff::new(100 * MS, 1000 * MS).unwrap());
    manager.add(controller);
    let running = start(manager);
    play(&bench, &sites, &mut rng).await;
    state.lock().unwrap().is_calm = true;
    bench.server.faults().clear();
    let mut what = Vec::new();
    for _ in 0..120 {
        sleep(1000 * MS).await;
        what = late(&bench, &sites, &state).await;
        if what.is_empty() {
            break;
        }
    }
    assert!(what.is_empty(), "HISTORY_SEED {seed}: {what:#?}");
    let report = running.stop().await;
    let state = state.lock().unwrap();
    assert!(state.wrong.is_empty(), "HISTORY_SEED {seed}: {:#?}", state.wrong);
    assert!(report.is_clean() && report.controllers[0].panics == 0, "{seed}: {report:?}");
    (state.runs, state.sites.values().filter(|known| known.was_late).count())
}

#[test]
fn runs_see_their_own_writes_and_children_converge_whatever_the_watches_meet() {
    let first = std::env::var("HISTORY_SEED").map_or(0, |seed| seed.parse().expect("a seed"));
    let (mut runs, mut late, seeds) = (0, 0, seeds() / 3);
    for seed in first..first + seeds {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let (of_one, late_of_one) = runtime.block_on(history(seed));
        (runs, late) = (runs + of_one, late + late_of_one);
    }
    assert!(seeds < 100 || (runs > 2000 && late > 0), "{runs} runs, {late} late");
}
