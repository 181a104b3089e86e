//! Election on real Leases: hand-over, crash, restart of the API server, a paused etcd, foreign
//! hands, candidates of client-go.

mod contest;
mod coordinated;
mod go;
pub(crate) mod judge;
mod outage;
pub(crate) mod replica;
mod rounds;
mod scenarios;
mod with_go;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use kube::core::ApiResource;
use lease_election::{Config, KubeLeaseStore, LeaderElector, LeaseStore as _, Loss, Outcome};
use serde_json::json;

use crate::figure::figure;
use judge::{Judge, for_a_time, now, wait_for};
use replica::{Place, Replica};

const MS: Duration = Duration::from_millis(1);
/// Within this time something happens that needs no more than a few requests.
const SOON: Duration = Duration::from_secs(10);
/// The longest fail-over after a crash, with 5 s leases: the lease, the random wait, and a request
/// or two.
const FAIL_OVER: Duration = Duration::from_secs(6);
const HAND_OVER: Duration = Duration::from_millis(500);

fn shown(times: &mut [Duration]) -> String {
    times.sort();
    let ms: Vec<String> =
        times.iter().map(|time| format!("{:.1}", time.as_secs_f64() * 1000.0)).collect();
    ms.join(" ")
}

fn is_watching(replica: &Replica) -> bool {
    wait_for(SOON, || replica.elector.status().watching.then_some(())).is_some()
}

fn leases(place: &Place) -> Api<Lease> {
    Api::namespaced(place.admin.clone(), &place.namespace)
}

fn replica_of<'a>(replicas: &'a [Replica], identity: &str) -> &'a Replica {
    replicas.iter().find(|replica| replica.identity() == identity).unwrap()
}

fn take(replicas: &mut Vec<Replica>, identity: &str) -> Replica {
    let at = replicas.iter().position(|replica| replica.identity() == identity).unwrap();
    replicas.remove(at)
}

#[test]
fn a_stopped_leader_hands_over_in_milliseconds_and_a_crashed_one_within_its_lease() {
    let Some(plane) = verify::real::shared() else { return };
    let place = Place::new(plane, "election-hand-over", &["a", "b", "c"]);
    let judge = Judge::new();
    place.watch(&judge, "lease");
    let accounts = ["a", "b", "c"];
    let mut started = 0;
    let mut start = || {
        let account = accounts[started % 3];
        started += 1;
        place.start(&judge, account, place.config("lease", &format!("{account}{started}")).fast())
    };
    let mut replicas = vec![start(), start(), start()];
    let mut hand_overs = Vec::new();
    for _ in 0..5 {
        let leader = judge.await_leader("lease", SOON);
        let old = take(&mut replicas, &leader.identity);
        assert!(replicas.iter().all(is_watching));
        let stopped = now();
        old.stopper().stop();
        let next = judge.await_term("a successor", SOON, |term| term.fence > leader.fence);
        hand_overs.push(next.began.since(stopped));
        replicas.push(start());
    }
    figure(&format!("election: hand-over after a stop, ms: {}", shown(&mut hand_overs)));
    assert!(hand_overs.iter().all(|took| *took <= HAND_OVER), "{hand_overs:?}");

    let mut fail_overs = Vec::new();
    for _ in 0..2 {
        let leader = judge.await_leader("lease", SOON);
        let old = take(&mut replicas, &leader.identity);
        assert!(replicas.iter().all(is_watching));
        // At some moment between two renewals.
        for_a_time(700 * MS);
        let crashed = now();
        old.crash();
        let next = judge.await_term("a successor", SOON, |term| term.fence > leader.fence);
        fail_overs.push(next.began.since(crashed));
        replicas.push(start());
    }
    figure(&format!(
        "election: fail-over after a crash, 5 s leases, ms: {}",
        shown(&mut fail_overs)
    ));
    assert!(fail_overs.iter().all(|took| *took <= FAIL_OVER), "{fail_overs:?}");

    // What a quiet term costs.
    let leader = judge.await_leader("lease", SOON);
    assert!(replicas.iter().all(is_watching));
    let (leading, before) = (replica_of(&replicas, &leader.identity), now());
    let standby = replicas.iter().find(|replica| replica.identity() != leader.identity).unwrap();
    let counted = |replica: &Replica| {
        let stats = replica.elector.stats();
        (replica.requests.all(), stats.renewals, stats.renew_failures.total())
    };
    let (at_first, standing) = (counted(leading), standby.requests.all());
    for_a_time(5000 * MS);
    let at_last = counted(leading);
    let (renewals, failed) = (at_last.1 - at_first.1, at_last.2 - at_first.2);
    let sent = leading.requests.of("PUT") - at_first.0.get("PUT").copied().unwrap_or(0);
    figure(&format!(
        "election: in {:?} {renewals} renewals by {sent} PUT, {failed} of them failed; leader before {:?} after {:?}; standby before {standing:?} after {:?}",
        now().since(before),
        at_first.0,
        at_last.0,
        standby.requests.all(),
    ));
    assert!(
        sent.abs_diff(renewals + failed) <= 1,
        "{renewals} renewals, {failed} failed, {sent} PUT"
    );
    // A machine so busy that the server does not answer within 0.9 s says nothing about a quiet
    // term.
    if failed == 0 {
        assert!((4..=6).contains(&renewals), "{renewals} renewals");
        assert_eq!(at_last.0.get("GET"), at_first.0.get("GET"), "a renewal needs no read");
        assert_eq!(standby.requests.all(), standing, "a standby that watches sends nothing");
    }
    judge.assert_exclusive();
    // And the server says so too.
    let history = judge.history("lease");
    assert!(history.is_sorted_by_key(|told| told.version));
    for term in judge.terms("lease") {
        let acquired =
            history.iter().find(|told| told.version.to_string() == term.fence.resource_version);
        assert_eq!(acquired.map(|told| &told.holder), Some(&term.identity), "{term:?}");
    }
}

#[test]
fn what_is_stored_is_what_client_go_stores() {
    let Some(plane) = verify::real::shared() else { return };
    let place = Place::new(plane, "election-format", &["a"]);
    let judge = Judge::new();
    let replica = place.start(&judge, "a", place.config("lease", "us").fast());
    judge.await_leader("lease", SOON);
    wait_for(SOON, || (replica.elector.stats().renewals >= 1).then_some(())).unwrap();
    let resource = ApiResource::erase::<Lease>(&());
    let read = |namespace: &str, name: &str| {
        let api: Api<DynamicObject> =
            Api::namespaced_with(place.admin.clone(), namespace, &resource);
        place.runtime.block_on(api.get(name)).unwrap()
    };
    let stored = read(&place.namespace, "lease");
    // Writes do not carry them, and the server keeps them.
    assert!(stored.metadata.managed_fields.is_some_and(|fields| !fields.is_empty()));
    let ours = stored.data["spec"].clone();
    let theirs = wait_for(30 * SOON / 10, || {
        let api: Api<Lease> = Api::namespaced(place.admin.clone(), "kube-system");
        place.runtime.block_on(api.get_opt("kube-controller-manager")).unwrap()
    });
    assert!(theirs.is_some(), "kube-controller-manager holds no lease");
    let theirs = read("kube-system", "kube-controller-manager").data["spec"].clone();
    // The same fields, and the same forms of them.
    let fields = |spec: &serde_json::Value| -> Vec<(String, String)> {
        let form = |value: &serde_json::Value| match value {
            serde_json::Value::Number(_) => "number".to_owned(),
            serde_json::Value::String(text) if text.ends_with('Z') => {
                text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
            }
            _ => "text".to_owned(),
        };
        spec.as_object().unwrap().iter().map(|(name, value)| (name.clone(), form(value))).collect()
    };
    assert_eq!(fields(&ours), fields(&theirs), "{ours} {theirs}");
    assert_eq!(ours["renewTime"].as_str().map(str::len), Some("2026-01-02T03:04:05.000006Z".len()));
    assert_eq!((&ours["leaseDurationSeconds"], &ours["holderIdentity"]), (&json!(5), &json!("us")));

    // A lease of a Go program is read, respected and left alone.
    let foreign = Config::builder("kube-system", "kube-controller-manager")
        .fast()
        .identity("us")
        .build()
        .unwrap();
    place.runtime.block_on(async {
        let cluster = verify::real::config_of(&plane.kubeconfig("admin").unwrap()).await;
        let store = KubeLeaseStore::connect(cluster, &foreign).unwrap();
        let before = store.get().await.unwrap().unwrap();
        assert_eq!(Some(before.record.holder.as_str()), theirs["holderIdentity"].as_str());
        assert_eq!(before.record.lease_duration_seconds, 15);
        assert!(before.record.acquire_time.is_some() && before.record.renew_time.is_some());
        let elector = LeaderElector::new(store.clone(), foreign);
        let stop = elector.stop_handle();
        let running = elector.clone();
        let run = tokio::spawn(async move { running.run(async |_| ()).await });
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(elector.leader().as_deref(), theirs["holderIdentity"].as_str());
        stop.stop();
        assert_eq!(run.await.unwrap(), Outcome::NeverLed);
        let after = store.get().await.unwrap().unwrap();
        assert_eq!(after.record.holder, before.record.holder);
        assert_eq!(after.record.leader_transitions, before.record.leader_transitions);
        assert!(after.record.renew_time > before.record.renew_time, "its holder still renews it");
    });
    judge.assert_exclusive();
}

/// What is done to the Lease, how, and whether this is the right name for the end of the term.
type Hand<'a> = (&'a str, &'a dyn Fn(), fn(&Loss) -> bool);

#[test]
fn a_lease_that_others_change_by_hand_ends_the_term_at_once() {
    let Some(plane) = verify::real::shared() else { return };
    let place = Place::new(plane, "election-hands", &["a", "b"]);
    let judge = Judge::new();
    place.watch(&judge, "lease");
    let replicas = [
        place.start(&judge, "a", place.config("lease", "a").fast()),
        place.start(&judge, "b", place.config("lease", "b").fast()),
    ];
    let api = leases(&place);
    let delete = || {
        place.runtime.block_on(api.delete("lease", &DeleteParams::default())).unwrap();
    };
    let empty = || {
        let patch = r#"{"spec":{"holderIdentity":""}}"#;
        let mut kubectl = plane.kubectl().unwrap();
        kubectl.args([
            "-n",
            &place.namespace,
            "patch",
            "lease",
            "lease",
            "--type=merge",
            "-p",
            patch,
        ]);
        assert!(kubectl.output().unwrap().status.success());
    };
    let rewrite = || {
        let rewritten = wait_for(SOON, || {
            let mut lease = place.runtime.block_on(api.get("lease")).unwrap();
            if let Some(spec) = &mut lease.spec {
                spec.holder_identity = Some("stranger".into());
                spec.lease_duration_seconds = Some(2);
            }
            place.runtime.block_on(api.replace("lease", &PostParams::default(), &lease)).ok()
        });
        assert!(rewritten.is_some());
    };
    let hands: [Hand<'_>; 3] = [
        ("deleted", &delete, |loss| matches!(loss, Loss::Deleted)),
        ("emptied", &empty, |loss| matches!(loss, Loss::Released)),
        ("rewritten", &rewrite, |loss| matches!(loss, Loss::TakenOver { by } if by == "stranger")),
    ];
    for (what, change, expected) in hands {
        let leader = judge.await_leader("lease", SOON);
        assert!(replicas.iter().all(is_watching));
        let before = now();
        change();
        let changed = now();
        let ended = judge
            .await_term(what, SOON, |term| term.fence == leader.fence && term.over_by.is_some());
        let next = judge.await_term("the next", SOON, |term| term.fence > leader.fence);
        figure(&format!(
            "election: lease {what}: the guard ended {:?} after the answer ({:?} after the request), {:?} later {} led",
            ended.over_by.unwrap().since(changed),
            ended.over_by.unwrap().since(before),
            next.began.since(changed),
            if next.identity == leader.identity { "the same" } else { "another" },
        ));
        assert!(ended.over_by.unwrap().since(changed) < HAND_OVER, "{ended:?}");
        assert!(ended.loss.as_ref().is_some_and(expected), "{ended:?}");
        if what == "rewritten" {
            assert!(
                next.began.since(before) >= 2000 * MS,
                "the stranger's lease was not waited for"
            );
        }
    }
    judge.assert_exclusive();
}

#[test]
fn without_the_permission_to_watch_it_polls_and_hands_over_all_the_same() {
    let Some(plane) = verify::real::shared() else { return };
    let place =
        Place::with_verbs(plane, "election-polls", &["a", "b"], &["get", "create", "update"]);
    let judge = Judge::new();
    place.watch(&judge, "lease");
    let a = place.start(&judge, "a", place.config("lease", "a").fast());
    let led = judge.await_leader("lease", SOON);
    let b = place.start(&judge, "b", place.config("lease", "b").fast());
    wait_for(SOON, || (b.elector.leader().as_deref() == Some("a")).then_some(())).unwrap();
    for_a_time(2000 * MS);
    assert_eq!(judge.leader("lease").map(|term| term.fence), Some(led.fence.clone()));
    assert!(!a.elector.status().watching && !b.elector.status().watching);
    let stopped = now();
    a.stopper().stop();
    let next = judge.await_term("the other", SOON, |term| term.fence > led.fence);
    let took = next.began.since(stopped);
    figure(&format!("election: hand-over without the permission to watch: {took:?}"));
    // A poll each second and a half at the latest, and two requests.
    assert!(took <= 1500 * MS + HAND_OVER, "{took:?}");
    judge.assert_exclusive();
}

/// Cut off: connections are closed and refused. Stalled: they stand, and requests are not answered.
#[test]
fn a_leader_cut_off_from_the_server_stops_before_another_leads_and_comes_back_as_a_standby() {
    let Some(plane) = verify::real::shared() else { return };
    let place = Place::new(plane, "election-cut", &["a", "b"]);
    let judge = Judge::new();
    place.watch(&judge, "lease");
    let (a, link) = place.start_behind_a_link(&judge, "a", place.config("lease", "a").fast());
    let led = judge.await_leader("lease", SOON);
    let mut b = place.start(&judge, "b", place.config("lease", "b").fast());
    assert!(is_watching(&a) && is_watching(&b));
    let mut first = led;
    for what in ["cut off", "stalled"] {
        for_a_time(300 * MS);
        let began = now();
        if what == "cut off" {
            link.cut()
        } else {
            link.stall()
        }
        let next = judge.await_term("the other", SOON, |term| term.fence > first.fence);
        let over = judge.await_term("the end", SOON, |term| {
            term.fence == first.fence && term.over_by.is_some()
        });
        let over_by = over.over_by.unwrap();
        figure(&format!(
            "election: leader {what}: its guard ended after {:?}, {:?} before another led, {:?} in all",
            over_by.since(began),
            next.began.since(over_by),
            next.began.since(began),
        ));
        assert_eq!((&*next.identity, &over.loss), (b.identity(), &Some(Loss::Expired)));
        assert!(next.began.since(began) <= FAIL_OVER, "{next:?}");
        let told = over.told.as_ref().map(|(at, _)| *at);
        assert!(told.is_some_and(|told| told < next.began), "the work was told in time: {over:?}");
        link.mend();
        assert!(is_watching(&a));
        for_a_time(1000 * MS);
        assert_eq!(judge.leader("lease").map(|term| term.fence), Some(next.fence.clone()));
        // Back to the one behind the link, for the next fault.
        b.stopper().stop();
        first = judge
            .await_term("a again", SOON, |term| term.identity == "a" && term.fence > next.fence);
        b = place.start(&judge, "b", place.config("lease", "b2").fast());
        assert!(is_watching(&b));
    }
    judge.assert_exclusive();
}
