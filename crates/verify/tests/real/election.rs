//! Election on real Leases: hand-over, crash, restart of the API server, a paused etcd, foreign hands, candidates of client-go.

mod go;
mod judge;
mod replica;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use kube::core::ApiResource;
use lease_election::{Config, Ending, KubeLeaseStore, LeaderElector, LeaseStore as _, Loss, Moment, Outcome};
use serde_json::json;

use go::GoCandidate;
use judge::{Judge, for_a_time, now, wait_for};
use replica::{Place, Replica};

const MS: Duration = Duration::from_millis(1);
/// Within this time something happens that needs no more than a few requests.
const SOON: Duration = Duration::from_secs(10);
/// The longest fail-over after a crash, with 5 s leases: the lease, the random wait, and a request or two.
const FAIL_OVER: Duration = Duration::from_secs(6);
const HAND_OVER: Duration = Duration::from_millis(500);

fn shown(times: &mut [Duration]) -> String {
    times.sort();
    let ms: Vec<String> = times.iter().map(|time| format!("{:.1}", time.as_secs_f64() * 1000.0)).collect();
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
    println!("election: hand-over after a stop, ms: {}", shown(&mut hand_overs));
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
    println!("election: fail-over after a crash, 5 s leases, ms: {}", shown(&mut fail_overs));
    assert!(fail_overs.iter().all(|took| *took <= FAIL_OVER), "{fail_overs:?}");

    // What a quiet term costs.
    let leader = judge.await_leader("lease", SOON);
    assert!(replicas.iter().all(is_watching));
    let (leading, before) = (replica_of(&replicas, &leader.identity), now());
    let standby = replicas.iter().find(|replica| replica.identity() != leader.identity).unwrap();
    let counted = |replica: &Replica| (replica.requests.all(), replica.elector.stats().renewals);
    let (at_first, standing) = (counted(leading), standby.requests.all());
    for_a_time(5000 * MS);
    let at_last = counted(leading);
    let renewals = at_last.1 - at_first.1;
    let sent = leading.requests.of("PUT") - at_first.0.get("PUT").copied().unwrap_or(0);
    println!(
        "election: in {:?} {renewals} renewals by {sent} PUT; leader before {:?} after {:?}; standby before {standing:?} after {:?}",
        now().since(before),
        at_first.0,
        at_last.0,
        standby.requests.all(),
    );
    assert!((4..=6).contains(&renewals) && sent.abs_diff(renewals) <= 1, "{renewals} renewals, {sent} PUT");
    assert_eq!(at_last.0.get("GET"), at_first.0.get("GET"), "a renewal needs no read");
    assert_eq!(standby.requests.all(), standing, "a standby that watches sends nothing");
    judge.assert_exclusive();
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
        let api: Api<DynamicObject> = Api::namespaced_with(place.admin.clone(), namespace, &resource);
        place.runtime.block_on(api.get(name)).unwrap()
    };
    let ours = read(&place.namespace, "lease").data["spec"].clone();
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
    let foreign =
        Config::builder("kube-system", "kube-controller-manager").fast().identity("us").build().unwrap();
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

#[test]
fn a_lease_that_others_change_by_hand_ends_the_term_at_once() {
    let Some(plane) = verify::real::shared() else { return };
    let place = Place::new(plane, "election-hands", &["a", "b"]);
    let judge = Judge::new();
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
        kubectl.args(["-n", &place.namespace, "patch", "lease", "lease", "--type=merge", "-p", patch]);
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
    let hands: [(&str, &dyn Fn(), fn(&Loss) -> bool); 3] = [
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
        let ended = judge.await_term(what, SOON, |term| term.fence == leader.fence && term.over_by.is_some());
        let next = judge.await_term("the next", SOON, |term| term.fence > leader.fence);
        println!(
            "election: lease {what}: the guard ended {:?} after the answer ({:?} after the request), {:?} later {} led",
            ended.over_by.unwrap().since(changed),
            ended.over_by.unwrap().since(before),
            next.began.since(changed),
            if next.identity == leader.identity { "the same" } else { "another" },
        );
        assert!(ended.over_by.unwrap().since(changed) < HAND_OVER, "{ended:?}");
        assert!(ended.loss.as_ref().is_some_and(expected), "{ended:?}");
        if what == "rewritten" {
            assert!(next.began.since(before) >= 2000 * MS, "the stranger's lease was not waited for");
        }
    }
    judge.assert_exclusive();
}

#[test]
fn candidates_of_client_go_and_ours_exclude_each_other() {
    let Some(plane) = verify::real::shared() else { return };
    let place = Place::new(plane, "election-go", &["ours", "go"]);
    let judge = Judge::new();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("go.kubeconfig");
    std::fs::write(&kubeconfig, place.kubeconfig("go")).unwrap();
    let go = |identity: &str| GoCandidate::start(&kubeconfig, &place.namespace, "lease", identity);
    let ours = |identity: &str| place.start(&judge, "ours", place.config("lease", identity).fast());
    // What a Go candidate may take beyond its lease: two polls of up to 2.2 s, and a request.
    let polls = 5000 * MS;
    let mut terms: Vec<(Moment, Moment)> = Vec::new();

    let mut first = go("go-1");
    let go_led = first.await_said("leading", SOON);
    let second = ours("ours-2");
    assert!(is_watching(&second));
    for_a_time(2000 * MS);
    assert!(judge.leader("lease").is_none());
    assert_eq!(second.elector.leader().as_deref(), Some("go-1"));

    // Go releases, ours takes over.
    let stopped = now();
    first.stop();
    let term = judge.await_term("ours after Go's release", SOON, |term| term.identity == "ours-2");
    let to_ours = term.began.since(stopped);
    terms.push((go_led, first.await_said("stopped", SOON)));
    assert!(to_ours < HAND_OVER, "{to_ours:?}");

    // Ours releases, Go takes over.
    let mut third = go("go-3");
    third.await_said("leader ours-2", SOON);
    let stopped = now();
    second.stopper().stop();
    let led = third.await_said("leading", SOON);
    let to_go = led.since(stopped);
    assert!(to_go < polls, "{to_go:?}");

    // Go crashes, ours takes over within the lease.
    let fourth = ours("ours-4");
    assert!(is_watching(&fourth));
    for_a_time(1000 * MS);
    assert!(third.said("stopped").is_none());
    let crashed = now();
    third.kill();
    terms.push((led, crashed));
    let term = judge.await_term("ours after Go's crash", SOON, |term| term.identity == "ours-4");
    let after_crash = term.began.since(crashed);
    assert!(after_crash <= FAIL_OVER, "{after_crash:?}");

    // Ours crashes, Go takes over.
    let mut fifth = go("go-5");
    fifth.await_said("leader ours-4", SOON);
    let crashed = now();
    fourth.crash();
    let led = fifth.await_said("leading", 2 * SOON);
    let go_after_crash = led.since(crashed);
    assert!(go_after_crash < FAIL_OVER + polls, "{go_after_crash:?}");
    fifth.stop();
    terms.push((led, fifth.await_said("stopped", SOON)));

    println!(
        "election: with client-go: release to ours {to_ours:?}, to Go {to_go:?}; crash of Go to ours {after_crash:?}, of ours to Go {go_after_crash:?}"
    );
    for ours in judge.terms("lease") {
        for (began, ended) in &terms {
            assert!(
                ours.valid_until <= *began || *ended <= ours.began,
                "both led: {ours:?}, client-go from {began:?} to {ended:?}"
            );
        }
    }
    judge.assert_exclusive();
}

/// Everything that can become of the API server and of its etcd, while electors with short and with usual leases are at work.
#[test]
fn terms_never_overlap_whatever_becomes_of_the_api_server_and_etcd() {
    let Some(mut plane) = verify::real::own(control_plane::ControlPlane::builder()) else { return };
    let place = Place::new(&plane, "election-outage", &["a", "b", "c"]);
    let judge = Judge::new();
    let mut quick: Vec<Replica> = ["a", "b", "c"]
        .map(|name| place.start(&judge, name, place.config("quick", &format!("quick-{name}")).fast()))
        .into();
    let mut usual: Vec<Replica> = ["a", "b"]
        .map(|name| place.start(&judge, name, place.config("usual", &format!("usual-{name}"))))
        .into();
    let all_watch = |quick: &[Replica], usual: &[Replica]| {
        let (quick, usual) = (quick.iter().all(is_watching), usual.iter().all(is_watching));
        assert!(quick && usual, "the watches do not come back");
    };
    let hold = place.config("quick", "x").fast().build().unwrap().hold();

    // Killed and started again at once: a usual term survives it.
    let led = (judge.await_leader("quick", SOON), judge.await_leader("usual", SOON));
    all_watch(&quick, &usual);
    for_a_time(1500 * MS);
    let killed = now();
    plane.restart_api_server().unwrap();
    let down = now().since(killed);
    let after = (judge.await_leader("quick", SOON), judge.await_leader("usual", SOON));
    println!(
        "election: API server away for {down:?}: the term with a 5 s lease {}, with 15 s {}",
        if after.0.fence == led.0.fence { "went on" } else { "ended" },
        if after.1.fence == led.1.fence { "went on" } else { "ended" },
    );
    if down < 8000 * MS {
        assert_eq!(after.1.fence, led.1.fence, "a hold of 13 s outlasts {down:?}");
    }
    all_watch(&quick, &usual);
    let stopped = now();
    let old = take(&mut usual, &after.1.identity);
    old.stopper().stop();
    let next =
        judge.await_term("a successor", SOON, |term| term.lease == "usual" && term.fence > after.1.fence);
    let took = next.began.since(stopped);
    println!("election: hand-over after the restart: {took:?}");
    assert!(took <= HAND_OVER, "the standby's watch did not come back: {took:?}");
    usual.push(place.start(&judge, "c", place.config("usual", "usual-c")));

    // Away for longer than the lease.
    let led = judge.await_leader("quick", SOON);
    let stopped = now();
    plane.stop_api_server();
    for_a_time(7000 * MS);
    let over = judge.await_term("the end", SOON, |term| term.fence == led.fence && term.over_by.is_some());
    let over_by = over.over_by.unwrap();
    assert!(over_by.since(stopped) <= hold + 200 * MS, "{over:?}");
    assert!(judge.leader("quick").is_none(), "nobody can have been elected");
    plane.start_api_server().unwrap();
    let back = now();
    let next = judge.await_leader("quick", SOON);
    println!(
        "election: API server away for {:?}: the guard ended {:?} after its end ({:?}), and {:?} after its return somebody led",
        back.since(stopped),
        over_by.since(stopped),
        over.loss,
        next.began.since(back),
    );
    judge.await_leader("usual", SOON);
    all_watch(&quick, &usual);

    // etcd stands still: writes hang, and some are applied when it goes on, long after their senders gave up.
    let led = judge.await_leader("quick", SOON);
    let before = unknown(&quick);
    let paused = now();
    let pause = plane.pause_etcd().unwrap();
    for_a_time(8000 * MS);
    let over = judge.await_term("the end", SOON, |term| term.fence == led.fence && term.over_by.is_some());
    assert!(over.over_by.unwrap().since(paused) <= hold + 200 * MS, "{over:?}");
    assert!(judge.leader("quick").is_none(), "nobody can have been elected");
    drop(pause);
    let resumed = now();
    let next = judge.await_leader("quick", SOON);
    judge.await_leader("usual", SOON);
    // Long enough for whatever is applied late, and for a wrong second leader.
    for_a_time(6000 * MS);
    let settled = judge.await_leader("quick", SOON);
    println!(
        "election: etcd stood still for {:?}: the guard ended after {:?}, {} requests without an answer, {:?} after its return somebody led, {} terms since",
        resumed.since(paused),
        over.over_by.unwrap().since(paused),
        unknown(&quick) - before,
        next.began.since(resumed),
        judge.terms("quick").iter().filter(|term| term.began >= resumed).count(),
    );
    assert_eq!(next.fence, settled.fence, "one election, and no more");
    let stored = place.runtime.block_on(leases(&place).get("quick")).unwrap();
    assert_eq!(stored.spec.unwrap().holder_identity, Some(settled.identity.clone()));
    all_watch(&quick, &usual);
    let told = judge.terms("quick");
    assert!(told.iter().all(|term| !matches!(term.told, Some((_, Ending::StopRequested)))));
    let old = take(&mut quick, &settled.identity);
    let stopped = now();
    old.stopper().stop();
    let next =
        judge.await_term("a successor", SOON, |term| term.lease == "quick" && term.fence > settled.fence);
    assert!(next.began.since(stopped) <= HAND_OVER, "{:?}", next.began.since(stopped));
    judge.assert_exclusive();
}

/// Requests of all these electors that nobody knows the fate of.
fn unknown(replicas: &[Replica]) -> u64 {
    let stats = replicas.iter().map(|replica| replica.elector.stats());
    stats.map(|stats| stats.renew_failures.unknown + stats.acquire_failures.unknown).sum()
}
