//! Wedged: a coordinated leader whose work blocks its thread and does not end, on a clock that the
//! test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule};
use lease_election::{Config, Coordination, LeaderElector, Outcome};
use tokio::sync::watch;

use crate::cluster::{LEASE, ManualClock};
use crate::controller::{Controller, Look};
use crate::coordinated::{candidates, leases};

/// Runs other tasks until the condition holds, without waiting for a time to pass. Each look is
/// followed by a task of another thread, if there is one. A thread that only yields to its own
/// runtime uses up its looks before a busy machine runs another.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..50_000 {
        if is_so().await {
            return;
        }
        tokio::spawn(tokio::task::yield_now()).await.unwrap();
    }
    panic!("never: {what}");
}

/// The controller would elect it again and again, and no other candidate.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_leader_whose_work_does_not_end_does_not_stand_until_it_has() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let clock = ManualClock::new();
    let controller = Controller::new(server.client(), clock.clone());
    let config = Config::builder("default", "lease").fast().identity("one");
    let elector = LeaderElector::coordinated_with_clock(
        server.client_as("one"),
        config,
        &Coordination::new("1.0.0"),
        clock.clone(),
        1,
    )
    .unwrap();
    let (unblock, blocked) = mpsc::channel::<()>();
    let (begin, begun) = watch::channel(false);
    let running = elector.clone();
    let run = tokio::spawn(async move {
        running
            .run(move |_| async move {
                begin.send_replace(true);
                // Other tasks of this thread move to another.
                let _ = tokio::task::block_in_place(|| blocked.recv());
                std::future::pending::<()>().await;
            })
            .await
    });
    let stands = async || candidates(&server).get_opt("one").await.unwrap().is_some();
    until("it stands", stands).await;
    assert_eq!(controller.step().await.unwrap(), Look::Granted("one".into()));
    until("it works", async || *begun.borrow()).await;

    // It is cut off from its Lease, and not from its LeaseCandidate.
    let writes = Match::any().user("one").resource("leases").writes();
    server.faults().set_plan(FaultPlan::none().rule(Rule::new(writes, Fault::Forbidden)));
    clock.advance(LEASE);
    until("its candidate is taken back", async || !stands().await).await;
    assert!(!elector.is_leader() && !run.is_finished(), "its work blocks");
    assert_eq!(
        leases(&server).get("lease").await.unwrap().spec.unwrap().holder_identity.as_deref(),
        Some("one")
    );

    server.faults().clear();
    clock.advance(LEASE);
    unblock.send(()).unwrap();
    assert_eq!(run.await.unwrap(), Outcome::Aborted);
    assert!(!stands().await);
    // It stands again in the next run.
    let again = elector.clone();
    let run = tokio::spawn(async move {
        again.run(|leadership| async move { leadership.ending().await }).await
    });
    // Requests of the dropped work have landed when a stop margin is over.
    clock.advance(LEASE);
    until("it stands again", stands).await;
    elector.stop_handle().stop();
    run.await.unwrap();
}

/// A client of this user. Once armed, its next write to a Lease panics in the sender's task.
fn faulty(server: &EmbeddedApiServer, armed: &Arc<AtomicBool>) -> kube::Client {
    let (client, armed) = (server.client_as("one"), Arc::clone(armed));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, armed) = (client.clone(), Arc::clone(&armed));
        async move {
            let writes =
                request.method() == http::Method::PUT && request.uri().path().contains("/leases/");
            assert!(!writes || !armed.swap(false, Ordering::SeqCst), "a bug below the store");
            client.send(request).await
        }
    });
    kube::Client::new(service, "default")
}

/// Nor does a leader stand whose store has panicked: it leads no more, and cannot lead again before
/// its work has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_leader_whose_store_panics_does_not_stand_until_its_work_has_ended() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let (clock, armed) = (ManualClock::new(), Arc::default());
    let controller = Controller::new(server.client(), clock.clone());
    let config = Config::builder("default", "lease").fast().identity("one");
    let version = Coordination::new("1.0.0");
    let client = faulty(&server, &armed);
    let elector =
        LeaderElector::coordinated_with_clock(client, config, &version, clock.clone(), 1).unwrap();
    let (unblock, blocked) = mpsc::channel::<()>();
    let (begin, begun) = watch::channel(false);
    let running = elector.clone();
    let run = tokio::spawn(async move {
        running
            .run(move |_| async move {
                begin.send_replace(true);
                let _ = tokio::task::block_in_place(|| blocked.recv());
                std::future::pending::<()>().await;
            })
            .await
    });
    let stands = async || candidates(&server).get_opt("one").await.unwrap().is_some();
    until("it stands", stands).await;
    assert_eq!(controller.step().await.unwrap(), Look::Granted("one".into()));
    until("it works", async || *begun.borrow()).await;

    armed.store(true, Ordering::SeqCst);
    clock.advance(LEASE / 5);
    until("its candidate is taken back", async || !stands().await).await;
    assert!(!elector.is_leader() && !run.is_finished(), "its work blocks");
    assert_eq!(elector.stats().losses.broken, 0, "it is counted when its work has ended");
    unblock.send(()).unwrap();
    assert!(run.await.unwrap_err().is_panic(), "the panic goes on where it was run");
    assert_eq!(elector.stats().losses.broken, 1);
    assert!(!stands().await);
}
