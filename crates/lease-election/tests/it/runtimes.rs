//! Runtimes: a coordinated candidate whose runs use several runtimes, of which the first ends.

use embedded_apiserver::EmbeddedApiServer;
use futures::poll;
use kube::api::DeleteParams;
use lease_election::{Config, Coordination, LeaderElector};
use tokio::runtime::{Builder, Runtime};

use crate::cluster::LEASE;
use crate::cluster::ManualClock;
use crate::coordinated::candidates;
use crate::wedged::until;

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap()
}

/// The first run began the publisher of its LeaseCandidate, which ends with that run's runtime.
#[test]
fn a_candidate_stands_on_when_the_runtime_of_the_run_goes_away_that_began_to_publish_it() {
    // kube's clients work in the runtime that made them.
    let (of_clients, first, second) = (runtime(), runtime(), runtime());
    let (server, elector, clock) = of_clients.block_on(async {
        let server = EmbeddedApiServer::builder().seed(1).build();
        let (clock, client) = (ManualClock::new(), server.client_as("one"));
        let config = Config::builder("default", "lease").fast().identity("one");
        let version = Coordination::new("1.0.0");
        let elector =
            LeaderElector::coordinated_with_clock(client, config, &version, clock.clone(), 1);
        (server, elector.unwrap(), clock)
    });
    let campaign = || {
        let elector = elector.clone();
        Box::pin(async move {
            elector.run_forever(|leadership| async move { drop(leadership.ending().await) }).await;
        })
    };
    let stands = async || candidates(&server).get_opt("one").await.unwrap().is_some();
    first.spawn(campaign());
    of_clients.block_on(until("it stands", stands));
    // The next run has begun, and waits for the first.
    let mut next = campaign();
    assert!(second.block_on(async { poll!(&mut next) }).is_pending());
    second.spawn(next);

    drop(first);
    of_clients.block_on(async {
        candidates(&server).delete("one", &DeleteParams::default()).await.unwrap();
        let stands_again = async || {
            clock.advance(LEASE / 100);
            stands().await
        };
        until("it stands again", stands_again).await;
        until("that was counted", async || elector.stats().publisher_failures == 1).await;
    });
}
