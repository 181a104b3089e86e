//! Half served: as during an upgrade, only one of two API servers over one store serves
//! LeaseCandidates.
//!
//! Electors that see a controller and electors that see none lead in turns, and never at once. A
//! proxy's answer about LeaseCandidates proves nothing.

use std::sync::{Arc, Mutex};

use embedded_apiserver::Match;
use kube::Client;
use kube::api::PostParams;
use kube::client::Body;
use lease_election::{Candidacy, Config, Coordination, HandOverError, LeaderElector, Leadership};
use tower::ServiceExt as _;

use crate::cluster::sleep_ms;
use crate::coordinated::{World, leases};

/// An elector behind a server without the API, which knows no such path.
fn elector_without_api(world: &World, identity: &'static str, releases: bool) -> LeaderElector {
    let server = world.server.service().as_user(identity);
    let client = Client::new(
        tower::service_fn(move |mut request: http::Request<Body>| {
            let unknown = request
                .uri()
                .to_string()
                .replace("/coordination.k8s.io/v1beta1", "/coordination.k8s.io/v0");
            *request.uri_mut() = unknown.parse().unwrap();
            server.clone().oneshot(request)
        }),
        "default",
    );
    let config =
        Config::builder("default", "lease").fast().identity(identity).release_on_stop(releases);
    let coordination = Coordination::new("1.9.0").emulating("1.3.0");
    LeaderElector::coordinated_with_clock(client, config, &coordination, world.clock, 77).unwrap()
}

type Terms = Arc<Mutex<Vec<(&'static str, Leadership)>>>;

/// Runs forever, and checks that no term begins while another is valid.
fn start(elector: &LeaderElector, name: &'static str, terms: &Terms) {
    let (elector, terms) = (elector.clone(), Arc::clone(terms));
    tokio::spawn(async move {
        let work = move |leadership: Leadership| {
            let mut terms = terms.lock().unwrap();
            let other = terms.iter().find(|(_, term)| term.is_valid()).map(|(name, _)| *name);
            assert_eq!(other, None, "still leads when {name} begins");
            terms.push((name, leadership.clone()));
            async move {
                leadership.ending().await;
                sleep_ms(300).await;
            }
        };
        elector.run_forever(work).await;
    });
}

fn leader(terms: &Terms) -> Option<&'static str> {
    terms.lock().unwrap().iter().find(|(_, term)| term.is_valid()).map(|(name, _)| *name)
}

/// Waits for at most this many milliseconds until it leads.
async fn leads(terms: &Terms, name: &'static str, millis: u64) {
    for _ in 0..millis / 10 {
        if leader(terms) == Some(name) {
            return;
        }
        sleep_ms(10).await;
    }
    panic!("{name} does not lead: {:?}", leader(terms));
}

/// The controller asks it to make way, and it does so once, even if it releases nothing. Its lease
/// expires, and the preferred elector takes it.
#[tokio::test(start_paused = true)]
async fn one_that_elects_alone_and_gives_nothing_back_makes_way_once_and_for_good() {
    let world = World::new(0);
    let terms = Terms::default();
    let blind = elector_without_api(&world, "blind", false);
    start(&blind, "blind", &terms);
    leads(&terms, "blind", 1000).await;
    let sees = world.elector("sees", "1.4.0");
    start(&sees, "sees", &terms);
    leads(&terms, "sees", 12_000).await;
    sleep_ms(60_000).await;
    assert_eq!(leader(&terms), Some("sees"));
    let led: Vec<_> = terms.lock().unwrap().iter().map(|(name, _)| *name).collect();
    assert_eq!(led, ["blind", "sees"]);
}

/// A controller has written on its Lease, so the controller chooses the next leader, even if this
/// elector sees none.
#[tokio::test(start_paused = true)]
async fn one_that_elects_alone_hands_over_to_nobody_when_a_controller_has_written_on_its_lease() {
    let world = World::without_controller();
    let terms = Terms::default();
    let blind = elector_without_api(&world, "blind", true);
    start(&blind, "blind", &terms);
    leads(&terms, "blind", 1000).await;
    let mut lease = leases(&world.server).get("lease").await.unwrap();
    lease.spec.as_mut().unwrap().strategy = Some("OldestEmulationVersion".into());
    leases(&world.server).replace("lease", &PostParams::default(), &lease).await.unwrap();
    sleep_ms(100).await;
    let leadership = terms.lock().unwrap()[0].1.clone();
    assert_eq!(leadership.hand_over_to("other"), Err(HandOverError::ServerElects));
    assert!(leadership.is_valid() && !leadership.is_stopping());
}

/// Answers of balancers, gateways and proxies.
const ASTRAY: [&str; 6] = [
    "404 page not found\n",
    "default backend - 404",
    r#"{"error": "not found"}"#,
    r#"{"kind": "Status", "status": "Failure", "code": 404}"#,
    r#"{"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}"#,
    r#"{"kind": "Status", "status": "Failure", "reason": "NotFound", "details": {"name": "c1", "kind": "clusters"}, "code": 404}"#,
];

/// An elector, and a proxy's answer in place of the API server's about LeaseCandidates, if any.
fn elector_behind(
    world: &World,
    identity: &'static str,
    says: Option<&'static str>,
) -> (LeaderElector, Arc<Mutex<Option<&'static str>>>) {
    let says = Arc::new(Mutex::new(says));
    let (server, said) = (world.server.client_as(identity), Arc::clone(&says));
    let between = tower::service_fn(move |request: http::Request<Body>| {
        let about_candidates = request.uri().path().contains("/coordination.k8s.io/v1beta1");
        let (server, said) = (server.clone(), *said.lock().unwrap());
        async move {
            match said.filter(|_| about_candidates) {
                Some(said) => {
                    let answer = http::Response::builder().status(404);
                    Ok(answer.body(Body::from(said.as_bytes().to_vec())).unwrap())
                }
                None => server.send(request).await,
            }
        }
    });
    let config = Config::builder("default", "lease").fast().identity(identity);
    let coordination = Coordination::new("1.9.0").emulating("1.4.0");
    let client = Client::new(between, "default");
    let elector =
        LeaderElector::coordinated_with_clock(client, config, &coordination, world.clock, 77)
            .unwrap();
    (elector, says)
}

/// A stage of `--full` runs these tests; the stage `test` skips `long`.
mod long {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_404_of_somebody_in_between_does_not_make_the_api_absent() {
        for body in ASTRAY {
            let world = World::new(0);
            let terms = Terms::default();
            let (one, says) = elector_behind(&world, "one", Some(body));
            start(&one, "one", &terms);
            sleep_ms(15_000).await;
            assert_eq!(leader(&terms), None, "{body}");
            let candidacy = one.status().candidacy.unwrap();
            assert!(
                matches!(&candidacy, Candidacy::Refused(_)),
                "it is told: {body} {candidacy:?}"
            );
            *says.lock().unwrap() = None;
            leads(&terms, "one", 12_000).await;
            assert_eq!(one.status().candidacy, Some(Candidacy::Standing));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nor_does_it_take_a_candidate_back_or_make_one_that_stands_fall() {
        for body in ASTRAY {
            let world = World::new(0);
            let terms = Terms::default();
            let (one, says) = elector_behind(&world, "one", None);
            start(&one, "one", &terms);
            leads(&terms, "one", 12_000).await;
            *says.lock().unwrap() = Some(body);
            world.server.faults().drop_watches(&Match::any().user("one"));
            sleep_ms(8000).await;
            let candidacy = one.status().candidacy;
            assert_eq!((leader(&terms), terms.lock().unwrap().len()), (Some("one"), 1), "{body}");
            assert!(!matches!(candidacy, Some(Candidacy::ApiAbsent)), "{body} {candidacy:?}");
            one.stop_handle().stop();
            sleep_ms(5000).await;
            let candidacy = one.status().candidacy;
            assert!(matches!(candidacy, Some(Candidacy::LeftBehind(_))), "{body} {candidacy:?}");
            assert!(world.stands("one").await, "{body}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_see_the_api_and_those_that_do_not_lead_one_at_a_time() {
        let world = World::new(0);
        let terms = Terms::default();
        let blind = elector_without_api(&world, "blind", true);
        start(&blind, "blind", &terms);
        leads(&terms, "blind", 1000).await;
        assert_eq!(blind.status().candidacy, Some(Candidacy::ApiAbsent));

        // The controller knows and prefers the other elector only. The first makes way and leaves
        // it the lease.
        let sees = world.elector("sees", "1.4.0");
        start(&sees, "sees", &terms);
        leads(&terms, "sees", 12_000).await;
        sleep_ms(60_000).await;
        assert_eq!(leader(&terms), Some("sees"));
        assert_eq!(terms.lock().unwrap().len(), 2, "and does not fight it");
        assert_eq!(blind.stats().losses, lease_election::Losses::default());

        // While it is cut off, the elector that needs no controller replaces it. The controller
        // elects it again when it is back.
        world.server.faults().partition("sees");
        leads(&terms, "blind", 12_000).await;
        sleep_ms(10_000).await;
        world.server.faults().heal("sees");
        leads(&terms, "sees", 20_000).await;

        // The controller has no candidate left to elect.
        sees.stop_handle().stop();
        leads(&terms, "blind", 12_000).await;
        sleep_ms(60_000).await;
        assert_eq!(leader(&terms), Some("blind"));
    }

    /// It also makes way once if its work always winds up too late.
    #[tokio::test(start_paused = true)]
    async fn one_that_elects_alone_and_winds_up_too_late_makes_way_once_too() {
        let world = World::new(0);
        let blind = elector_without_api(&world, "blind", true);
        let (elector, terms) = (blind.clone(), Terms::default());
        let counted = Arc::clone(&terms);
        tokio::spawn(async move {
            let work = move |leadership: Leadership| {
                counted.lock().unwrap().push(("blind", leadership));
                std::future::pending()
            };
            elector.run_forever(work).await;
        });
        leads(&terms, "blind", 1000).await;
        let sees = world.elector("sees", "1.4.0");
        start(&sees, "sees", &terms);
        leads(&terms, "sees", 60_000).await;
        sleep_ms(60_000).await;
        assert_eq!((leader(&terms), terms.lock().unwrap().len()), (Some("sees"), 2));
    }
}
