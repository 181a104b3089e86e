//! Two API servers over one store, of which one serves LeaseCandidates and the other does not, as in the middle of an upgrade: who sees a controller and
//! who sees none lead in turns, and never at once.

use std::sync::{Arc, Mutex};

use kube::Client;
use kube::client::Body;
use lease_election::{Candidacy, Config, Coordination, LeaderElector, Leadership};
use tower::ServiceExt as _;

use crate::cluster::sleep_ms;
use crate::coordinated::World;

/// Through a server without the API: it knows no such path.
fn elector_without_api(world: &World, identity: &'static str) -> LeaderElector {
    let server = world.server.service().as_user(identity);
    let client = Client::new(
        tower::service_fn(move |mut request: http::Request<Body>| {
            let unknown =
                request.uri().to_string().replace("/coordination.k8s.io/v1beta1", "/coordination.k8s.io/v0");
            *request.uri_mut() = unknown.parse().unwrap();
            server.clone().oneshot(request)
        }),
        "default",
    );
    let config = Config::builder("default", "lease").fast().identity(identity);
    let coordination = Coordination::new("1.9.0").emulating("1.3.0");
    LeaderElector::coordinated_with_clock(client, config, &coordination, world.clock, 77).unwrap()
}

type Terms = Arc<Mutex<Vec<(&'static str, Leadership)>>>;

/// Runs for ever. No term begins while another is valid.
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

/// From now on at the latest after so many milliseconds.
async fn leads(terms: &Terms, name: &'static str, millis: u64) {
    for _ in 0..millis / 10 {
        if leader(terms) == Some(name) {
            return;
        }
        sleep_ms(10).await;
    }
    panic!("{name} does not lead: {:?}", leader(terms));
}

#[tokio::test(start_paused = true)]
async fn those_that_see_the_api_and_those_that_do_not_lead_one_at_a_time() {
    let world = World::new(0);
    let terms = Terms::default();
    let blind = elector_without_api(&world, "blind");
    start(&blind, "blind", &terms);
    leads(&terms, "blind", 1000).await;
    assert_eq!(blind.status().candidacy, Some(Candidacy::ApiAbsent));

    // The controller knows the other alone, and prefers it; the one makes way and leaves it the lease.
    let sees = world.elector("sees", "1.4.0");
    start(&sees, "sees", &terms);
    leads(&terms, "sees", 12_000).await;
    sleep_ms(60_000).await;
    assert_eq!(leader(&terms), Some("sees"));
    assert_eq!(terms.lock().unwrap().len(), 2, "and does not fight it");
    assert_eq!(blind.stats().losses, lease_election::Losses::default());

    // Cut off, it is replaced by the one that needs no controller, and is elected again when it is back.
    world.server.faults().partition("sees");
    leads(&terms, "blind", 12_000).await;
    sleep_ms(10_000).await;
    world.server.faults().heal("sees");
    leads(&terms, "sees", 20_000).await;

    // Nobody is left whom the controller could elect.
    sees.stop_handle().stop();
    leads(&terms, "blind", 12_000).await;
    sleep_ms(60_000).await;
    assert_eq!(leader(&terms), Some("blind"));
}
