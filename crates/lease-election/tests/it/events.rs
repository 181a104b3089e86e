//! Events: client-go's texts on the Lease, one at the beginning and one at the end of a term, which
//! delay no renewal.

use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule};
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use lease_election::{
    AnnotationStore, Announced, Config, KubeLeaseStore, LeaderElector, MemoryLeaseStore,
    MultiStore, Outcome, TokioClock,
};

use crate::cluster::{Replica, fast, sleep_ms};
use crate::telling::Telling;

fn elector(server: &EmbeddedApiServer, identity: &str, seed: u64) -> LeaderElector {
    let config = Config::builder("default", "lease").fast().identity(identity).build().unwrap();
    let store = KubeLeaseStore::new(server.client_as(identity), &config)
        .with_events(server.client_as("recorder"), "controller");
    LeaderElector::with_clock(store, config, TokioClock::new(), seed)
}

pub(crate) async fn events(server: &EmbeddedApiServer) -> Vec<Event> {
    let all =
        Api::<Event>::namespaced(server.client(), "default").list(&ListParams::default()).await;
    let mut all = all.unwrap().items;
    let version = |event: &Event| event.metadata.resource_version.as_ref()?.parse::<u64>().ok();
    all.sort_by_key(version);
    all
}

pub(crate) fn messages(events: &[Event]) -> Vec<&str> {
    events.iter().filter_map(|event| event.message.as_deref()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_term_has_an_event_at_its_beginning_and_one_at_its_end() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let mut a = Replica::start(elector(&server, "a", 1), Duration::from_millis(100));
    a.leads().await;
    let mut b = Replica::start(elector(&server, "b", 2), Duration::from_millis(100));
    sleep_ms(2500).await;
    assert_eq!(messages(&events(&server).await), ["a became leader"]);
    a.elector.stop_handle().stop();
    (&mut a.run).await.unwrap();
    sleep_ms(1500).await;
    b.elector.stop_handle().stop();
    (&mut b.run).await.unwrap();
    sleep_ms(1).await;
    let events = events(&server).await;
    assert_eq!(
        messages(&events),
        ["a became leader", "a stopped leading", "b became leader", "b stopped leading"]
    );
    for (event, fence) in events.iter().zip([a.fence(), a.fence(), b.fence(), b.fence()]) {
        // client-go's recorder makes this of `Eventf(lease, "Normal", "LeaderElection", ..)`.
        assert_eq!(event.type_.as_deref(), Some("Normal"));
        assert_eq!(event.reason.as_deref(), Some("LeaderElection"));
        assert_eq!(event.source.as_ref().unwrap().component.as_deref(), Some("controller"));
        assert_eq!((event.count, &event.first_timestamp), (Some(1), &event.last_timestamp));
        let about = &event.involved_object;
        assert_eq!(about.api_version.as_deref(), Some("coordination.k8s.io/v1"));
        assert_eq!(about.kind.as_deref(), Some("Lease"));
        assert_eq!(
            (about.namespace.as_deref(), about.name.as_deref()),
            (Some("default"), Some("lease"))
        );
        assert_eq!(about.uid, Some(fence.uid));
        assert_eq!(about.resource_version, Some(fence.resource_version));
    }
}

#[tokio::test(start_paused = true)]
async fn events_that_are_refused_or_never_answered_delay_no_renewal() {
    for fault in [Fault::NeverAnswer, Fault::Forbidden, Fault::DropBefore] {
        let slow =
            FaultPlan::none().rule(Rule::new(Match::any().resource("events"), fault.clone()));
        let server = EmbeddedApiServer::builder().seed(1).faults(slow).build();
        let mut a = Replica::start(elector(&server, "a", 1), Duration::ZERO);
        a.leads().await;
        sleep_ms(3100).await;
        assert_eq!(a.elector.stats().renewals, 3, "{fault:?}");
        a.elector.stop_handle().stop();
        assert!(matches!((&mut a.run).await.unwrap(), Outcome::Finished(_)), "{fault:?}");
        assert_eq!(a.elector.stats().releases, 1);
        server.requests().writes_to("events").assert_exactly(2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_terms_does_not_collect_events_that_nobody_takes() {
    let stuck =
        FaultPlan::none().rule(Rule::new(Match::any().resource("events"), Fault::NeverAnswer));
    let server = EmbeddedApiServer::builder().seed(1).faults(stuck).build();
    let elector = elector(&server, "a", 1);
    for _ in 0..20 {
        assert_eq!(elector.run(|_| async {}).await, Outcome::Finished(()));
    }
    server.requests().writes_to("events").assert_exactly(8);
    // The elector gives these up after a request time-out, and sends the next ones.
    sleep_ms(1000).await;
    elector.run(|_| async {}).await;
    server.requests().writes_to("events").assert_exactly(10);
}

#[tokio::test(start_paused = true)]
async fn the_end_is_told_once_however_it_comes_and_before_the_lease_is_given_back() {
    let telling = Telling::of(MemoryLeaseStore::new());
    let elector = LeaderElector::with_clock(
        telling.clone(),
        fast("a").build().unwrap(),
        TokioClock::new(),
        1,
    );
    let pair = || {
        let told = std::mem::take(&mut *telling.told.lock().unwrap());
        let texts: Vec<String> = told.iter().map(|(_, text, _)| text.clone()).collect();
        assert_eq!(texts, ["a became leader", "a stopped leading"]);
        assert_eq!((told[0].0, told[1].0), (Announced::BecameLeader, Announced::StoppedLeading));
        told[1].2
    };
    elector.run(|_| async {}).await;
    assert!(pair(), "another cannot have begun before the end was told");
    let lost = telling.store.clone();
    let outcome = elector
        .run(move |leadership| async move {
            lost.delete();
            leadership.lost().await;
        })
        .await;
    assert!(matches!(outcome, Outcome::Lost(())));
    assert!(!pair());
    let panics = elector.clone();
    assert!(
        tokio::spawn(async move { panics.run(|_| async { panic!("a bug of the work") }).await })
            .await
            .is_err()
    );
    assert!(pair());
    // An elector that never leads announces nothing.
    elector.stop_handle().stop();
    assert_eq!(elector.run(|_| async {}).await, Outcome::NeverLed);
    assert!(telling.told.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn both_halves_of_a_multi_store_have_the_events_of_their_own_object() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let config = Config::builder("default", "lease").fast().identity("a").build().unwrap();
    let (client, recorder) = (server.client_as("a"), server.client_as("recorder"));
    let old = AnnotationStore::endpoints(client.clone(), &config)
        .with_events(recorder.clone(), "controller");
    let new = KubeLeaseStore::new(client, &config).with_events(recorder, "controller");
    let both = MultiStore::new(old, new, &config);
    let elector = LeaderElector::with_clock(both, config, TokioClock::new(), 1);
    let fence = elector.run(|leadership| async move { leadership.fence() }).await;
    let Outcome::Finished(fence) = fence else { panic!("{fence:?}") };
    sleep_ms(1).await;
    let events = events(&server).await;
    for (kind, half) in [("Endpoints", 0), ("Lease", 1)] {
        let of: Vec<Event> = events
            .iter()
            .filter(|event| event.involved_object.kind.as_deref() == Some(kind))
            .cloned()
            .collect();
        assert_eq!(messages(&of), ["a became leader", "a stopped leading"], "{kind}");
        let about = &of[0].involved_object;
        assert_eq!(about.uid.as_deref(), fence.uid.split('+').nth(half));
        assert_eq!(about.resource_version.as_deref(), fence.resource_version.split('+').nth(half));
    }
    assert_eq!(events.len(), 4);
}
