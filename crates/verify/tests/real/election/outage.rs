//! What becomes of elections when the API server goes, and when its etcd stands still.

use super::judge::{Judge, for_a_time, now};
use super::replica::{Place, Replica};
use super::{HAND_OVER, MS, SOON, is_watching, leases, take};
use lease_election::Ending;

use crate::figure::figure;

/// Everything that can become of the API server and of its etcd, while electors with short and with
/// usual leases are at work.
#[test]
fn terms_never_overlap_whatever_becomes_of_the_api_server_and_etcd() {
    let Some(mut plane) = verify::real::own(control_plane::ControlPlane::builder()) else { return };
    let place = Place::new(&plane, "election-outage", &["a", "b", "c"]);
    let judge = Judge::new();
    place.watch(&judge, "quick");
    place.watch(&judge, "usual");
    let mut quick: Vec<Replica> = ["a", "b", "c"]
        .map(|name| {
            place.start(&judge, name, place.config("quick", &format!("quick-{name}")).fast())
        })
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
    figure(&format!(
        "election: API server away for {down:?}: the term with a 5 s lease {}, with 15 s {}",
        if after.0.fence == led.0.fence { "went on" } else { "ended" },
        if after.1.fence == led.1.fence { "went on" } else { "ended" },
    ));
    if down < 8000 * MS {
        assert_eq!(after.1.fence, led.1.fence, "a hold of 13 s outlasts {down:?}");
    }
    all_watch(&quick, &usual);
    let stopped = now();
    let old = take(&mut usual, &after.1.identity);
    old.stopper().stop();
    let next = judge.await_term("a successor", SOON, |term| {
        term.lease == "usual" && term.fence > after.1.fence
    });
    let took = next.began.since(stopped);
    figure(&format!("election: hand-over after the restart: {took:?}"));
    assert!(took <= HAND_OVER, "the standby's watch did not come back: {took:?}");
    usual.push(place.start(&judge, "c", place.config("usual", "usual-c")));

    // Away for longer than the lease.
    let led = judge.await_leader("quick", SOON);
    let stopped = now();
    plane.stop_api_server();
    for_a_time(7000 * MS);
    let over =
        judge.await_term("the end", SOON, |term| term.fence == led.fence && term.over_by.is_some());
    let over_by = over.over_by.unwrap();
    assert!(over_by.since(stopped) <= hold + 200 * MS, "{over:?}");
    assert!(judge.leader("quick").is_none(), "nobody can have been elected");
    plane.start_api_server().unwrap();
    let back = now();
    let next = judge.await_leader("quick", SOON);
    figure(&format!(
        "election: API server away for {:?}: the guard ended {:?} after its end ({:?}), and {:?} after its return somebody led",
        back.since(stopped),
        over_by.since(stopped),
        over.loss,
        next.began.since(back),
    ));
    judge.await_leader("usual", SOON);
    all_watch(&quick, &usual);

    // etcd stands still: writes hang, and some are applied when it goes on, long after their
    // senders gave up.
    let led = judge.await_leader("quick", SOON);
    let before = unknown(&quick);
    let paused = now();
    let pause = plane.pause_etcd().unwrap();
    for_a_time(8000 * MS);
    let over =
        judge.await_term("the end", SOON, |term| term.fence == led.fence && term.over_by.is_some());
    assert!(over.over_by.unwrap().since(paused) <= hold + 200 * MS, "{over:?}");
    assert!(judge.leader("quick").is_none(), "nobody can have been elected");
    drop(pause);
    let resumed = now();
    let next = judge.await_leader("quick", SOON);
    judge.await_leader("usual", SOON);
    // Long enough for whatever is applied late, and for a wrong second leader.
    for_a_time(6000 * MS);
    let settled = judge.await_leader("quick", SOON);
    let acquired: u64 = next.fence.resource_version.parse().unwrap();
    let history = judge.history("quick");
    let late = history.iter().filter(|told| told.at >= resumed && told.version < acquired).count();
    let since = judge.terms("quick").iter().filter(|term| term.began >= resumed).count();
    figure(&format!(
        "election: etcd stood still for {:?}: the guard ended after {:?}, {} requests without an answer, {late} of their writes applied late, {:?} after its return somebody led, {since} terms since",
        resumed.since(paused),
        over.over_by.unwrap().since(paused),
        unknown(&quick) - before,
        next.began.since(resumed),
    ));
    // One election; or two, if a take-over that was applied late had no time left.
    assert!(since <= 2, "{since} terms");
    let stored = place.runtime.block_on(leases(&place).get("quick")).unwrap();
    assert_eq!(stored.spec.unwrap().holder_identity, Some(settled.identity.clone()));
    all_watch(&quick, &usual);
    let told = judge.terms("quick");
    assert!(told.iter().all(|term| !matches!(term.told, Some((_, Ending::StopRequested)))));
    let old = take(&mut quick, &settled.identity);
    let stopped = now();
    old.stopper().stop();
    let next = judge.await_term("a successor", SOON, |term| {
        term.lease == "quick" && term.fence > settled.fence
    });
    assert!(next.began.since(stopped) <= HAND_OVER, "{:?}", next.began.since(stopped));
    judge.assert_exclusive();
}

/// Requests of all these electors that nobody knows the fate of.
fn unknown(replicas: &[Replica]) -> u64 {
    let stats = replicas.iter().map(|replica| replica.elector.stats());
    stats.map(|stats| stats.renew_failures.unknown + stats.acquire_failures.unknown).sum()
}
