//! Candidates of client-go and ours on one Lease: they exclude each other, whoever comes first and however it ends.

use lease_election::Moment;

use super::go::{self, GoCandidate};
use super::judge::{Judge, for_a_time, now};
use super::replica::Place;
use super::{FAIL_OVER, HAND_OVER, MS, SOON, is_watching};
use crate::figure::figure;

#[test]
fn candidates_of_client_go_and_ours_exclude_each_other() {
    let (Some(plane), Some(program)) = (verify::real::shared(), go::program()) else { return };
    let place = Place::new(plane, "election-go", &["ours", "go"]);
    let judge = Judge::new();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("go.kubeconfig");
    std::fs::write(&kubeconfig, place.kubeconfig("go")).unwrap();
    let go = |identity: &str| GoCandidate::start(program, &kubeconfig, &place.namespace, "lease", identity);
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

    figure(&format!(
        "election: with client-go: release to ours {to_ours:?}, to Go {to_go:?}; crash of Go to ours {after_crash:?}, of ours to Go {go_after_crash:?}"
    ));
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
