//! Kube store: `KubeLeaseStore` against an API server, by the store's contract and in whole
//! elections.

use std::time::Duration;

use embedded_apiserver::EmbeddedApiServer;
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use lease_election::{
    Config, Ending, KubeLeaseStore, LeaderElector, LeaseEvent, LeaseStore, Loss, Outcome, Record,
    StoreError, TokioClock, Version,
};
use serde_json::json;
use tokio::time::Instant;

use crate::cluster::{Replica, sleep_ms};

const MS: Duration = Duration::from_millis(1);

fn config(identity: &str) -> Config {
    Config::builder("default", "lease").fast().identity(identity).build().unwrap()
}

fn leases(server: &EmbeddedApiServer) -> Api<Lease> {
    Api::namespaced(server.client(), "default")
}

fn store(server: &EmbeddedApiServer, identity: &str) -> KubeLeaseStore {
    KubeLeaseStore::new(server.client_as(identity), &config(identity))
}

fn elector(server: &EmbeddedApiServer, identity: &str, seed: u64) -> LeaderElector {
    LeaderElector::with_clock(store(server, identity), config(identity), TokioClock::new(), seed)
}

fn record(holder: &str, transitions: i32) -> Record {
    Record {
        holder: holder.into(),
        lease_duration_seconds: 15,
        acquire_time: "2026-01-02T03:04:05.000006Z".parse().ok(),
        renew_time: "2026-01-02T03:04:06.5Z".parse().ok(),
        leader_transitions: transitions,
        write_id: Some(format!("{holder}.{transitions}")),
        ..Record::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_gets_creates_updates_and_refuses() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let store = store(&server, "a");
    assert_eq!(store.get().await, Ok(None));
    let missing = store.update(&Version::new("nobody", "1"), &record("a", 0)).await;
    assert_eq!(missing, Err(StoreError::NotFound));

    let made = store.create(&record("a", 0)).await.unwrap();
    assert_eq!(made.record, record("a", 0), "what is read back is what was written");
    assert_eq!(store.get().await.unwrap().as_ref(), Some(&made));
    assert_eq!(store.create(&record("b", 0)).await, Err(StoreError::Conflict));

    let changed = store.update(&made.version, &record("a", 1)).await.unwrap();
    assert_eq!(changed.version.uid, made.version.uid);
    assert_ne!(changed.version.resource_version, made.version.resource_version);
    assert_eq!(store.update(&made.version, &record("b", 2)).await, Err(StoreError::Conflict));
    let other = Version::new("another", changed.version.resource_version.clone());
    assert_eq!(store.update(&other, &record("b", 2)).await, Err(StoreError::Conflict));
    assert_eq!(store.get().await.unwrap().unwrap().record, record("a", 1));
}

#[tokio::test(start_paused = true)]
async fn an_update_never_makes_a_lease_that_is_gone() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let store = store(&server, "a");
    let made = store.create(&record("a", 0)).await.unwrap();
    leases(&server).delete("lease", &DeleteParams::default()).await.unwrap();
    let refused = store.update(&made.version, &record("a", 1)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict | StoreError::NotFound), "{refused}");
    assert_eq!(store.get().await, Ok(None));
    // Nor does it overwrite another Lease of the same name.
    let again = store.create(&record("b", 0)).await.unwrap();
    assert!(store.update(&made.version, &record("a", 1)).await.is_err());
    assert_eq!(store.get().await.unwrap(), Some(again));
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_the_state_the_changes_and_the_end() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let (a, b) = (store(&server, "a"), store(&server, "b"));
    let made = a.create(&record("a", 0)).await.unwrap();
    let mut from_now = b.watch(None).await.unwrap();
    assert_eq!(from_now.next().await.unwrap(), Ok(LeaseEvent::Changed(made.clone())));
    let mut after = b.watch(Some(&made.version)).await.unwrap();
    // The watch ignores other Leases of the namespace.
    let other = Config::builder("default", "other").fast().identity("x").build().unwrap();
    KubeLeaseStore::new(server.client(), &other).create(&record("x", 0)).await.unwrap();
    let changed = a.update(&made.version, &record("a", 1)).await.unwrap();
    // A bookmark ends the initial state.
    assert_eq!(from_now.next().await.unwrap(), Ok(LeaseEvent::Alive));
    for watch in [&mut from_now, &mut after] {
        assert_eq!(watch.next().await.unwrap(), Ok(LeaseEvent::Changed(changed.clone())));
    }
    leases(&server).delete("lease", &DeleteParams::default()).await.unwrap();
    let Some(Ok(LeaseEvent::Deleted(Some(last)))) = after.next().await else { panic!("no end") };
    assert_eq!((&last.record, &last.version.uid), (&changed.record, &changed.version.uid));
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_refused_and_not_taken_for_a_missing_lease() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let nowhere = Config::builder("nowhere", "lease").fast().identity("a").build().unwrap();
    let store = KubeLeaseStore::new(server.client(), &nowhere);
    let refused = store.create(&record("a", 0)).await;
    assert!(matches!(refused, Err(StoreError::Rejected { code: 404, .. })), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn electors_hand_over_on_a_server() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let mut a = Replica::start(elector(&server, "a", 1), Duration::ZERO);
    a.leads().await;
    let b = Replica::start(elector(&server, "b", 2), Duration::ZERO);
    sleep_ms(10_500).await;
    assert!(a.last().leadership.is_valid() && b.terms.lock().unwrap().is_empty());
    let asked = Instant::now();
    a.elector.stop_handle().stop();
    let took = b.leads().await - asked;
    assert!(took <= 5 * MS, "took {took:?}");
    assert_eq!((&mut a.run).await.unwrap(), Outcome::Finished(Ending::StopRequested));
    assert!(a.fence() < b.fence());
    let lease = leases(&server).get("lease").await.unwrap();
    assert_eq!(lease.metadata.uid.as_deref(), Some(b.fence().uid.as_str()));
    let spec = lease.spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("b"));
    assert_eq!(spec.lease_duration_seconds, Some(5));
    assert_eq!(spec.lease_transitions, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_label_changes_nothing_and_stays_and_a_foreign_holder_ends_the_term() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let mut a = Replica::start(elector(&server, "a", 1), Duration::ZERO);
    a.leads().await;
    let patch = |value| Patch::Merge(value);
    let api = leases(&server);
    let label = json!({"metadata": {"labels": {"team": "x"}}});
    api.patch("lease", &PatchParams::default(), &patch(label)).await.unwrap();
    sleep_ms(5500).await;
    assert!(a.last().leadership.is_valid());
    assert_eq!(a.elector.stats().terms, 1);
    let lease = api.get("lease").await.unwrap();
    assert_eq!(lease.metadata.labels.unwrap()["team"], "x");

    let grab = json!({"spec": {"holderIdentity": "kubectl"}});
    api.patch("lease", &PatchParams::default(), &patch(grab)).await.unwrap();
    let written = Instant::now();
    let outcome = (&mut a.run).await.unwrap();
    assert_eq!(outcome, Outcome::Lost(Ending::Lost(Loss::TakenOver { by: "kubectl".into() })));
    assert!(written.elapsed() <= 2 * MS);
}

/// Upstream's TestLabelUpdate: the store restores its own key, and keeps others' keys.
#[tokio::test(start_paused = true)]
async fn labels_and_annotations_of_the_application_are_on_the_lease_with_each_write() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "q"});
    let config = config("a");
    let store = KubeLeaseStore::new(server.client(), &config)
        .with_labels([("team", "x"), ("app", "y")])
        .with_annotations([("note", "z"), (lease_election::WRITE_ANNOTATION, "mine")])
        .with_owner(serde_json::from_value(owner).unwrap());
    let elector = LeaderElector::with_clock(store, config, TokioClock::new(), 1);
    let mut a = Replica::start(elector, Duration::ZERO);
    a.leads().await;
    let api = leases(&server);
    let made = api.get("lease").await.unwrap().metadata;
    assert_eq!(
        made.labels.unwrap(),
        [("app".into(), "y".into()), ("team".into(), "x".into())].into()
    );
    assert_eq!(made.annotations.as_ref().unwrap()["note"], "z");
    assert_ne!(made.annotations.unwrap()[lease_election::WRITE_ANNOTATION], "mine");
    assert_eq!(made.owner_references.unwrap()[0].name, "d");

    let change = json!({"metadata": {
        "labels": {"team": "other", "theirs": "1"}, "annotations": {"note": null}, "ownerReferences": null,
    }});
    api.patch("lease", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    sleep_ms(1500).await;
    let renewed = api.get("lease").await.unwrap().metadata;
    let labels = renewed.labels.unwrap();
    assert_eq!((labels["team"].as_str(), labels["theirs"].as_str(), labels.len()), ("x", "1", 3));
    assert_eq!(renewed.annotations.unwrap()["note"], "z");
    assert_eq!(renewed.owner_references, None, "whoever took it away meant it");
    assert_eq!(a.elector.stats().terms, 1);
    a.elector.stop_handle().stop();
    (&mut a.run).await.unwrap();
    assert_eq!(api.get("lease").await.unwrap().metadata.labels.unwrap()["team"], "x");
}

/// The server refuses an invalid label.
#[tokio::test(start_paused = true)]
async fn a_label_that_is_refused_is_told() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let config = config("a");
    let store = KubeLeaseStore::new(server.client(), &config).with_labels([("team", "no label!")]);
    let a = Replica::start(
        LeaderElector::with_clock(store, config, TokioClock::new(), 1),
        Duration::ZERO,
    );
    sleep_ms(1000).await;
    let blocked = a.elector.status().blocked;
    assert!(matches!(&blocked, Some(StoreError::Rejected { code: 422, .. })), "{blocked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_without_a_spec_is_free_and_one_that_is_deleted_is_lost() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let bare: Lease = serde_json::from_value(json!({"metadata": {"name": "lease"}})).unwrap();
    leases(&server).create(&Default::default(), &bare).await.unwrap();
    let mut a = Replica::start(elector(&server, "a", 1), Duration::ZERO);
    a.leads().await;
    leases(&server).delete("lease", &DeleteParams::default()).await.unwrap();
    assert_eq!((&mut a.run).await.unwrap(), Outcome::Lost(Ending::Lost(Loss::Deleted)));
}
