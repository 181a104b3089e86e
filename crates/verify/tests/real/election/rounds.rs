//! Rounds: every scenario at once, each on a Lease and with processes of its own, again and again;
//! and between them the API server ends and etcd stands still under all Leases.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::MS;
use super::contest::{Candidate, Contest, LONG, SHORT, SHORTEST};
use super::judge::{Judge, Term, assert_exclusive, for_a_time, now};
use super::replica::Place;
use super::scenarios::SCENARIOS;
use crate::figure::figure;

/// Rounds of all scenarios, if `ELECTION_ROUNDS` says nothing else; `ELECTION_SCENARIO` plays those
/// alone whose names contain it.
const ROUNDS: usize = 12;
/// After so many rounds the server itself is at fault.
const BLOCK: usize = 4;

/// How long after a fault, or after its end if the server was at fault, somebody led; by scenario.
type Times = Mutex<BTreeMap<&'static str, Vec<Duration>>>;

#[test]
fn processes_never_act_at_once_whatever_becomes_of_them_and_their_links() {
    let Some(mut plane) = verify::real::own(control_plane::ControlPlane::builder()) else { return };
    let rounds = std::env::var("ELECTION_ROUNDS").map_or(ROUNDS, |count| count.parse().unwrap());
    let wanted = std::env::var("ELECTION_SCENARIO").unwrap_or_default();
    let scenarios: Vec<_> =
        SCENARIOS.into_iter().filter(|(name, _)| name.contains(&wanted)).collect();
    let place = Place::new(&plane, "election-rounds", &["elector"]);
    let judge = Judge::new();
    place.watch_all(&judge);
    let (terms, times) = (AtomicUsize::new(0), Times::default());
    let mut faults = 0;
    for first in (0..rounds).step_by(BLOCK) {
        let those = first..rounds.min(first + BLOCK);
        std::thread::scope(|scope| {
            for (name, scenario) in scenarios.iter().copied() {
                let (place, judge, terms, times, those) =
                    (&place, &judge, &terms, &times, those.clone());
                scope.spawn(move || {
                    for round in those {
                        let contest = Contest::new(place, judge, format!("{name}-{round}"));
                        let took = scenario(round, &contest);
                        terms.fetch_add(contest.verdict(), Ordering::SeqCst);
                        times.lock().unwrap().entry(name).or_default().extend(took);
                    }
                });
            }
        });

        // Leases of three lengths, and all of them lose their server.
        let timings = [SHORTEST, SHORT, SHORT, LONG];
        let contests: Vec<Contest<'_>> = (0..timings.len())
            .map(|number| Contest::new(&place, &judge, format!("server-{first}-{number}")))
            .collect();
        let crowds: Vec<(Candidate, Vec<Candidate>, Term)> = contests
            .iter()
            .zip(timings)
            .map(|(contest, timing)| contest.crowd(timing, 1))
            .collect();
        plane.restart_api_server().unwrap();
        let back = now();
        await_leaders(&contests, back, "API server back", &times);
        let pause = plane.pause_etcd().unwrap();
        for_a_time(3000 * MS);
        drop(pause);
        let back = now();
        await_leaders(&contests, back, "etcd goes on", &times);
        for_a_time(700 * MS);
        for contest in &contests {
            terms.fetch_add(contest.verdict(), Ordering::SeqCst);
        }
        // To here all of them take part.
        drop(crowds);
        faults += 1;
    }
    judge.assert_exclusive();
    let scenarios = scenarios.len();
    figure(&format!(
        "election: {rounds} rounds of {scenarios} scenarios at once, {} runs in all, the API server ended and etcd stood still {faults} times under 4 leases: {} terms, 0 overlaps",
        rounds * scenarios,
        terms.into_inner(),
    ));
    for (name, times) in times.into_inner().unwrap() {
        if name == "stranded" {
            // Where the answer was heard after all, the Lease was looked for and given back.
            let soonest = times.iter().min().copied().unwrap_or_default();
            assert!(soonest < SHORT.lease - 200 * MS, "nobody was ever spared the wait: {times:?}");
        }
        let mean = times.iter().sum::<Duration>() / u32::try_from(times.len().max(1)).unwrap();
        let (least, most) = (times.iter().min(), times.iter().max());
        if let (Some(least), Some(most)) = (least, most) {
            figure(&format!(
                "election: [{name}] somebody led after {} ms in the mean, {} to {}",
                mean.as_millis(),
                least.as_millis(),
                most.as_millis()
            ));
        }
    }
}

/// Somebody acts on each lease again; how long that took.
fn await_leaders(
    contests: &[Contest<'_>],
    back: lease_election::Moment,
    what: &'static str,
    times: &Times,
) {
    for contest in contests {
        let leader = contest.await_leader();
        let took = leader.began.max(back).since(back);
        times.lock().unwrap().entry(what).or_default().push(took);
    }
}

/// A judge that sees nothing proves nothing.
#[test]
#[should_panic(expected = "two guards were valid")]
fn the_judge_sees_two_that_act_at_once() {
    let term = |identity: &str, version: &str, began: u64, until: u64| {
        let at = |ms| lease_election::Moment::from_origin(Duration::from_millis(ms));
        Term {
            lease: "lease".to_owned(),
            identity: identity.to_owned(),
            fence: lease_election::FenceToken {
                uid: "uid".to_owned(),
                resource_version: version.to_owned(),
                transitions: 0,
            },
            began: at(began),
            valid_until: at(until),
            over_by: None,
            told: None,
            loss: None,
        }
    };
    assert_exclusive(
        &[term("a", "9", 1, 10), term("b", "10", 10, 20), term("c", "11", 19, 20)],
        &[],
    );
}
