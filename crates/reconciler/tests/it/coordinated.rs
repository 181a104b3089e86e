//! Coordinated election: a manager that cannot lead leaves the lease to others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::coordination::v1beta1::LeaseCandidate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use lease_election::{Clock as _, Config, Coordination, LeaderElector, Leadership, TokioClock};
use reconciler::{BoxError, LeaderTask, Manager, Release};
use tokio::time::{Instant, sleep};

use crate::bench::{Running, settle, start, until};

/// The server's election controller, without its pings to the candidates. It grants a free or
/// expired Lease to the candidate with the oldest emulation version, by the server's wall clock.
async fn grant(server: &EmbeddedApiServer, now: Timestamp) -> Result<(), kube::Error> {
    let candidates: Api<LeaseCandidate> = Api::namespaced(server.client(), "default");
    let leases: Api<Lease> = Api::namespaced(server.client(), "default");
    let found = candidates.list(&ListParams::default()).await?.items;
    let best = found.into_iter().min_by_key(|candidate| candidate.spec.emulation_version.clone());
    let Some(best) = best.and_then(|best| best.metadata.name) else { return Ok(()) };
    let held = leases.get_opt("lease").await?;
    if let Some(LeaseSpec {
        holder_identity: Some(holder),
        renew_time: Some(time),
        lease_duration_seconds: Some(length),
        ..
    }) = held.as_ref().and_then(|lease| lease.spec.as_ref())
        && !holder.is_empty()
        && time.0 + SignedDuration::from_secs((*length).into()) >= now
    {
        return Ok(());
    }
    let granted = LeaseSpec {
        holder_identity: Some(best),
        lease_duration_seconds: Some(5),
        renew_time: Some(MicroTime(now)),
        strategy: Some("OldestEmulationVersion".into()),
        ..LeaseSpec::default()
    };
    match held {
        Some(mut lease) => {
            lease.spec = Some(granted);
            leases.replace("lease", &PostParams::default(), &lease).await?;
        }
        None => {
            let metadata = ObjectMeta { name: Some("lease".into()), ..ObjectMeta::default() };
            leases.create(&PostParams::default(), &Lease { metadata, spec: Some(granted) }).await?;
        }
    }
    Ok(())
}

/// A manager with one task, which leaves work behind in its first term.
struct Replica {
    running: Running,
    elector: LeaderElector,
    terms: Arc<AtomicUsize>,
    last: Arc<Mutex<Option<Leadership>>>,
}

impl Replica {
    fn start(
        server: &EmbeddedApiServer,
        clock: TokioClock,
        identity: &str,
        version: &str,
        lasts: Duration,
    ) -> Self {
        let config = Config::builder("default", "lease").identity(identity).fast();
        let seed = version.bytes().fold(7, |seed, byte| seed * 31 + u64::from(byte));
        let elector = LeaderElector::coordinated_with_clock(
            server.client_as(identity),
            config,
            &Coordination::new(version),
            clock,
            seed,
        )
        .unwrap();
        let mut manager = Manager::builder()
            .grace(Duration::from_secs(1))
            .election(elector.clone())
            .build()
            .unwrap();
        let (terms, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)));
        let (counted, told) = (Arc::clone(&terms), Arc::clone(&last));
        manager.leader_task("leaves", move |task: LeaderTask| {
            *told.lock().unwrap() = task.leadership().cloned();
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                task.tracker().spawn(sleep(lasts));
            }
            async move {
                task.cancellation().cancelled().await;
                Ok::<(), BoxError>(())
            }
        });
        Self { running: start(manager), elector, terms, last }
    }
}

fn with_controller() -> (EmbeddedApiServer, TokioClock) {
    let (server, clock) = (EmbeddedApiServer::builder().seed(1).build(), TokioClock::default());
    let controlled = server.clone();
    tokio::spawn(async move {
        loop {
            sleep(Duration::from_millis(20)).await;
            // After a conflict the next round tries again.
            let _ = grant(&controlled, clock.wall()).await;
        }
    });
    (server, clock)
}

/// The manager waits for all work of the old term, without a time limit, before it campaigns again.
#[tokio::test(start_paused = true)]
async fn a_manager_that_waits_for_its_work_leaves_the_lease_to_the_others() {
    const WORK: Duration = Duration::from_secs(120);
    let (server, clock) = with_controller();
    let began = Instant::now();
    let best = Replica::start(&server, clock, "best", "1.4.0", WORK);
    until("the best leads", || best.elector.is_leader()).await;
    let other = Replica::start(&server, clock, "other", "1.5.0", Duration::ZERO);
    sleep(Duration::from_secs(3)).await;
    let leases: Api<Lease> = Api::namespaced(server.client(), "default");
    leases.delete("lease", &DeleteParams::default()).await.unwrap();
    let lost = Instant::now();

    until("the other leads", || other.elector.is_leader()).await;
    assert!(lost.elapsed() < Duration::from_secs(15), "{:?}", lost.elapsed());
    sleep(WORK - began.elapsed() - Duration::from_secs(1)).await;
    assert!(other.elector.is_leader());
    assert_eq!((best.terms.load(Ordering::SeqCst), other.terms.load(Ordering::SeqCst)), (1, 1));

    // The best stands again when its work has ended, and leads when the other stops.
    sleep(Duration::from_secs(2)).await;
    let report = other.running.stop().await;
    assert_eq!((report.terms, report.release), (1, Some(Release::GivenBack)));
    until("the best leads again", || best.elector.is_leader()).await;
    settle().await;
    let report = best.running.stop().await;
    assert_eq!((report.terms, report.lost_terms, report.release), (2, 1, Some(Release::GivenBack)));
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_steps_down_leaves_the_lease_to_another_at_once_also_where_it_is_the_best() {
    let (server, clock) = with_controller();
    let best = Replica::start(&server, clock, "best", "1.4.0", Duration::ZERO);
    until("the best leads", || best.elector.is_leader()).await;
    let other = Replica::start(&server, clock, "other", "1.5.0", Duration::ZERO);
    sleep(Duration::from_secs(3)).await;
    let leadership = best.last.lock().unwrap().clone().unwrap();
    leadership.step_down().unwrap();
    let asked = Instant::now();
    until("the other leads", || other.elector.is_leader()).await;
    assert!(asked.elapsed() < Duration::from_millis(100), "{:?}", asked.elapsed());
    let report = best.running.stop().await;
    assert_eq!((report.terms, report.release), (1, Some(Release::NotLeading)));
    other.running.stop().await;
}
