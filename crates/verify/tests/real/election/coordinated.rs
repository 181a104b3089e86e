//! Coordinated election by kube-apiserver's own controller: who is chosen, how fast a lesser leader
//! makes way, what a crash costs, and what happens where the API is not served.

use std::time::Duration;

use control_plane::ControlPlane;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use kube::Client;
use kube::api::{Api, DeleteParams};
use lease_election::{Candidacy, Coordination, Ending, LeaderElector};
use verify::real::config_of;

use super::judge::{Judge, Term, now, wait_for};
use super::replica::{Place, Replica};
use super::{MS, SOON, leases};
use crate::figure::figure;

const RULES: [(&str, &[&str]); 2] = [
    ("leases", &["get", "create", "update", "watch"]),
    ("leasecandidates", &["get", "create", "update", "delete", "watch"]),
];

/// The controller looks at a Lease every 5 s, and gives candidates 5 s to answer.
const ROUNDS: Duration = Duration::from_secs(12);
/// From the controller's note to the claim of the one it prefers.
const MAKES_WAY: Duration = Duration::from_secs(2);

fn candidate(place: &Place, judge: &Judge, identity: &str, emulation: &str) -> Replica {
    Replica::start_with(
        place.config("lease", identity).fast().build().unwrap(),
        judge,
        async |config| {
            let cluster = config_of(place.kubeconfig(identity)).await;
            let client = Client::try_from(cluster).unwrap();
            let builder = place.config("lease", config.identity()).fast();
            LeaderElector::coordinated(
                client,
                builder,
                &Coordination::new("1.9.0").emulating(emulation),
            )
            .unwrap()
        },
    )
}

fn spec(place: &Place) -> Option<LeaseSpec> {
    place.runtime.block_on(leases(place).get_opt("lease")).unwrap().and_then(|lease| lease.spec)
}

fn candidacy(replica: &Replica) -> Candidacy {
    replica.elector.status().candidacy.expect("it takes part")
}

fn term_of(judge: &Judge, identity: &str, longest: Duration, after: Option<&Term>) -> Term {
    judge.await_term(identity, longest, |term| {
        term.identity == identity && after.is_none_or(|before| term.fence > before.fence)
    })
}

#[test]
fn the_servers_own_controller_elects_and_a_lesser_leader_makes_way_in_milliseconds() {
    let builder = ControlPlane::builder()
        .api_server_flag("--feature-gates=CoordinatedLeaderElection=true")
        .api_server_flag("--runtime-config=coordination.k8s.io/v1beta1=true");
    let Some(plane) = verify::real::own(builder) else { return };
    let place = Place::with_rules(&plane, "coordinated", &["newer", "older"], &RULES);
    let judge = Judge::new();
    place.watch(&judge, "lease");

    let began = now();
    let newer = candidate(&place, &judge, "newer", "1.5.0");
    let first = term_of(&judge, "newer", ROUNDS * 2, None);
    figure(&format!(
        "coordinated: the first leader, {:?} after its start",
        first.began.since(began)
    ));
    assert_eq!(candidacy(&newer), Candidacy::Standing);

    // The better one comes.
    let began = now();
    let older = candidate(&place, &judge, "older", "1.4.0");
    let noted = wait_for(ROUNDS, || {
        let noted = spec(&place)?.preferred_holder.as_deref() == Some("older");
        (noted || judge.leader("lease").is_some_and(|term| term.identity == "older")).then(now)
    });
    let second = term_of(&judge, "older", ROUNDS, None);
    let told =
        judge.await_term("the note", SOON, |term| term.fence == first.fence && term.told.is_some());
    let (told, ending) = told.told.unwrap();
    assert_eq!(ending, Ending::StopRequested, "asked to make way within its term");
    figure(&format!(
        "coordinated: the preferred one leads {:?} after the work of the other was told, {:?} after its start (noted by {:?})",
        second.began.since(told),
        second.began.since(began),
        noted.map(|noted| noted.since(began)),
    ));
    assert!(second.began.since(told) <= MAKES_WAY, "{second:?}");
    let led = spec(&place).unwrap();
    assert_eq!(led.strategy.as_deref(), Some("OldestEmulationVersion"));
    assert!(led.acquire_time.is_some() && led.preferred_holder.is_none(), "{led:?}");

    // Who made way does not stand in the pause after its term, and then does.
    let api: Api<LeaseCandidate> = Api::namespaced(place.admin.clone(), &place.namespace);
    let newers = || place.runtime.block_on(api.get_opt("newer")).unwrap();
    let before = wait_for(SOON, newers).expect("it stands again").metadata.uid;

    // A candidate that somebody deletes stands again.
    place.runtime.block_on(api.delete("newer", &DeleteParams::default())).unwrap();
    let again = wait_for(SOON, || (newers()?.metadata.uid != before).then_some(()));
    assert!(again.is_some(), "it was not made again");

    // A stop: its candidate goes first, then the lease.
    let stopped = now();
    older.stopper().stop();
    let third = term_of(&judge, "newer", ROUNDS, Some(&second));
    figure(&format!("coordinated: hand-over after a stop: {:?}", third.began.since(stopped)));
    assert!(third.began.since(stopped) <= MAKES_WAY, "{third:?}");
    assert!(place.runtime.block_on(api.get_opt("older")).unwrap().is_none());
    drop(older);

    // A crash: the lease runs out, those that do not answer are passed over.
    let older = candidate(&place, &judge, "older", "1.4.0");
    let fourth = term_of(&judge, "older", ROUNDS, Some(&third));
    let crashed = now();
    older.crash();
    let fifth = term_of(&judge, "newer", ROUNDS * 2, Some(&fourth));
    figure(&format!(
        "coordinated: fail-over after a crash, 5 s leases: {:?}",
        fifth.began.since(crashed)
    ));
    assert!(fifth.began.since(crashed) <= Duration::from_secs(5) + ROUNDS, "{fifth:?}");
    judge.assert_exclusive();
}

#[test]
fn where_the_api_is_not_served_candidates_elect_by_the_lease_alone() {
    let Some(plane) = verify::real::shared() else { return };
    let place = Place::with_rules(plane, "coordinated-without", &["one", "other"], &RULES);
    let judge = Judge::new();
    place.watch(&judge, "lease");
    let began = now();
    let one = candidate(&place, &judge, "one", "1.5.0");
    let first = term_of(&judge, "one", SOON, None);
    let other = candidate(&place, &judge, "other", "1.4.0");
    let fell_back = |replica: &Replica| candidacy(replica) == Candidacy::ApiAbsent;
    wait_for(SOON, || (fell_back(&other) && super::is_watching(&other)).then_some(())).unwrap();
    assert!(fell_back(&one));
    let stopped = now();
    one.stopper().stop();
    let second = term_of(&judge, "other", SOON, None);
    figure(&format!(
        "coordinated, no such API: first leader after {:?}, hand-over after a stop {:?}",
        first.began.since(began),
        second.began.since(stopped),
    ));
    assert!(second.began.since(stopped) <= 500 * MS, "{second:?}");
    judge.assert_exclusive();
}
