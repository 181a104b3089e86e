//! Candidates of client-go and ours on one Lease: they take turns and exclude each other, whoever
//! comes first and however it ends.

use std::path::Path;
use std::time::Duration;

use lease_election::{Loss, Moment};
use tempfile::TempDir;

use super::contest::{AS_GO, Candidate, Contest};
use super::go::{self, GoCandidate, LEASE, RENEW_DEADLINE, RETRY_PERIOD};
use super::judge::{Judge, for_a_time, now};
use super::replica::Place;
use super::{HAND_OVER, MS, SOON};
use crate::figure::figure;

/// Terms, if `ELECTION_TERMS` says nothing else.
const TERMS: usize = 8;
/// What a candidate of client-go takes beyond a lease that is free: two of its polls, and requests.
const POLLS: Duration = Duration::from_millis(RETRY_PERIOD.as_millis() as u64 * 22 / 5 + 300);
/// What a lease and the requests to take it over take at most.
const RUN_OUT: Duration = LEASE.saturating_add(Duration::from_secs(1));

/// Who leads.
enum Side {
    Go(GoCandidate),
    Ours(Candidate),
}

struct Field<'a> {
    program: &'a Path,
    place: &'a Place,
    folder: TempDir,
}

impl<'a> Field<'a> {
    fn new(program: &'a Path, place: &'a Place) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kubeconfig"), place.kubeconfig("go")).unwrap();
        Self { program, place, folder }
    }

    fn go(&self, lease: &str, identity: &str) -> GoCandidate {
        let kubeconfig = self.folder.path().join("kubeconfig");
        GoCandidate::start(self.program, &kubeconfig, &self.place.namespace, lease, identity)
    }
}

#[test]
fn candidates_of_client_go_and_ours_take_turns_and_exclude_each_other() {
    let (Some(plane), Some(program)) = (verify::real::shared(), go::program()) else { return };
    let count = std::env::var("ELECTION_TERMS").map_or(TERMS, |count| count.parse().unwrap());
    let place = Place::new(plane, "election-go", &["elector", "go"]);
    let judge = Judge::new();
    place.watch_all(&judge);
    let field = Field::new(program, &place);
    let contest = Contest::new(&place, &judge, "turns".to_owned());
    // Terms of client-go, and how long each way of a change took.
    let mut theirs: Vec<(Moment, Moment)> = Vec::new();
    let mut took: [Vec<Duration>; 4] = Default::default();

    let first = field.go("turns", "go-0");
    let mut began = first.await_said("leading", SOON);
    let mut leading = Side::Go(first);
    for term in 0..count - 1 {
        // Released by both sides, then both crash, and so on.
        let crash = term / 2 % 2 == 1;
        let limit = if crash { RUN_OUT } else { Duration::ZERO };
        leading = match leading {
            Side::Go(mut old) => {
                let next = contest.start(AS_GO);
                next.await_watching();
                for_a_time(1000 * MS);
                assert!(old.said("stopped").is_none(), "client-go was robbed");
                let ended = now();
                let stopped = if crash {
                    old.kill();
                    ended
                } else {
                    old.stop();
                    old.await_said("stopped", SOON)
                };
                theirs.push((began, stopped));
                let led = contest.await_term("ours", |term| term.identity == next.identity());
                took[usize::from(crash)].push(led.began.since(ended));
                assert!(
                    led.began.since(ended) <= limit + HAND_OVER,
                    "{:?}",
                    led.began.since(ended)
                );
                Side::Ours(next)
            }
            Side::Ours(old) => {
                let next = field.go("turns", &format!("go-{}", term + 1));
                next.await_said(&format!("leader {}", old.identity()), SOON);
                for_a_time(1000 * MS);
                assert!(next.said("leading").is_none(), "ours was robbed");
                let ended = now();
                if crash {
                    old.kill();
                } else {
                    old.terminate();
                    old.await_end();
                }
                began = next.await_said("leading", 2 * SOON);
                took[2 + usize::from(crash)].push(began.since(ended));
                assert!(began.since(ended) <= limit + POLLS, "{:?}", began.since(ended));
                Side::Go(next)
            }
        };
    }
    match leading {
        Side::Go(mut old) => {
            old.stop();
            theirs.push((began, old.await_said("stopped", SOON)));
        }
        Side::Ours(old) => {
            old.terminate();
            old.await_end();
        }
    }
    let ours = contest.terms();
    for term in &ours {
        for (began, ended) in &theirs {
            let apart = term.valid_until <= *began || *ended <= term.began;
            assert!(apart, "both led: {term:?}, client-go from {began:?} to {ended:?}");
        }
    }
    assert_eq!(ours.len() + theirs.len(), count, "somebody led out of turn: {ours:?} {theirs:?}");
    contest.verdict();
    judge.assert_exclusive();
    let [go_released, go_crashed, released, crashed] =
        took.each_mut().map(|times| super::shown(times.as_mut_slice()));
    figure(&format!(
        "election: {count} terms in turns with client-go on one Lease, 3 s leases, 0 overlaps; next after, ms: Go's release {go_released}, Go's crash {go_crashed}, our release {released}, our crash {crashed}"
    ));
}

/// Where client-go alone breaks the rule: it was stopped in its tracks, its lease ran out, ours
/// led, and then it goes on for a whole RenewDeadline (V7), and may give back a lease that is not
/// its own (V1). Ours had waited as it should, and its term ends at once when its Lease is emptied.
#[test]
fn client_go_that_was_paused_acts_beside_ours_and_cannot_make_two_of_ours_lead() {
    let (Some(plane), Some(program)) = (verify::real::shared(), go::program()) else { return };
    let place = Place::new(plane, "election-go-paused", &["elector", "go"]);
    let judge = Judge::new();
    place.watch_all(&judge);
    let field = Field::new(program, &place);
    let contest = Contest::new(&place, &judge, "paused".to_owned());
    let old = field.go("paused", "go");
    old.await_said("leading", SOON);
    let others = [contest.start(AS_GO), contest.start(AS_GO)];
    others.iter().for_each(Candidate::await_watching);
    let paused = now();
    old.pause();
    let led = contest.await_term("ours", |_| true);
    assert!(
        led.began.since(paused) >= LEASE.saturating_sub(2 * RETRY_PERIOD),
        "taken too early: {led:?}"
    );
    for_a_time(500 * MS);
    let resumed = now();
    old.resume();
    let stopped = old.await_said("stopped", SOON);
    for_a_time(1000 * MS);
    let led = contest.await_term("it", |term| term.fence == led.fence);
    assert!(matches!(led.loss, None | Some(Loss::Released | Loss::Expired)), "{led:?}");
    contest.verdict();
    judge.assert_exclusive();
    figure(&format!(
        "election: client-go alone breaks the rule: paused for {:?}, it went on for {:?} beside ours (its RenewDeadline is {RENEW_DEADLINE:?}), {}",
        resumed.since(paused),
        stopped.since(resumed),
        match led.loss {
            Some(Loss::Released) =>
                "and emptied our Lease: our term ended at once, and one of ours began another",
            _ => "and let our term go on",
        }
    ));
}
