//! Evidence: a candidate that knows of an ended holder need not wait for the lease to expire, if
//! the evidence is true (A8).

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use lease_election::{HolderEvidence, LeaderElector, Leadership, Record, TokioClock};
use tokio::time::Instant;

use crate::cluster::{Cluster, LEASE, Replica, fast, sleep_ms};
use crate::migration::led_by;

/// The ended processes, and the number of questions.
#[derive(Clone, Default)]
struct Register {
    dead: Arc<Mutex<HashSet<String>>>,
    asked: Arc<Mutex<u64>>,
    is_stuck: bool,
}

#[async_trait]
impl HolderEvidence for Register {
    async fn is_gone(&self, holder: &str, record: &Record) -> bool {
        assert_eq!(record.holder, holder);
        *self.asked.lock().unwrap() += 1;
        if self.is_stuck {
            std::future::pending::<()>().await;
        }
        self.dead.lock().unwrap().contains(holder)
    }
}

/// Evidence that takes its time, and then panics.
struct Broken;

#[async_trait]
impl HolderEvidence for Broken {
    async fn is_gone(&self, _: &str, _: &Record) -> bool {
        sleep_ms(500).await;
        panic!("evidence that breaks");
    }
}

#[tokio::test(start_paused = true)]
async fn evidence_that_panics_says_nothing_and_ends_no_term() {
    let cluster = Cluster::new();
    cluster.store.overwrite(led_by("b"));
    let a = Replica::start(cluster.elector(fast("a")).with_evidence(Broken), Duration::ZERO);
    // The question about `b` is in flight when `b` releases.
    sleep_ms(100).await;
    cluster.store.overwrite(Record::default());
    a.leads().await;
    sleep_ms(2000).await;
    assert!(a.last().leadership.is_valid(), "{:?}", a.last().leadership.loss());
}

impl Register {
    fn bury(&self, holder: &str) {
        self.dead.lock().unwrap().insert(holder.to_owned());
    }

    fn asked(&self) -> u64 {
        *self.asked.lock().unwrap()
    }
}

type Terms = Arc<Mutex<Vec<Leadership>>>;

fn start(cluster: &Cluster, identity: &str, seed: u64, register: Option<&Register>) -> Terms {
    let config = fast(identity).build().unwrap();
    let store = cluster.store.client(identity);
    let mut elector = LeaderElector::with_clock(store, config, TokioClock::new(), seed);
    if let Some(register) = register {
        elector = elector.with_evidence(register.clone());
    }
    let terms = Terms::default();
    let log = Arc::clone(&terms);
    tokio::spawn(async move {
        let work = move |leadership: Leadership| {
            log.lock().unwrap().push(leadership.clone());
            async move {
                leadership.lost().await;
            }
        };
        elector.run_forever(work).await;
    });
    terms
}

fn leads(terms: &Terms) -> bool {
    terms.lock().unwrap().iter().any(Leadership::is_valid)
}

/// The time until it leads.
async fn time_to_lead(terms: &Terms) -> Duration {
    let began = Instant::now();
    while !leads(terms) {
        assert!(began.elapsed() < Duration::from_secs(60));
        sleep_ms(1).await;
    }
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_holder_that_is_gone_is_taken_before_it_has_run_out() {
    // The time until it asks, and a stop margin for the holder's last requests; or the lease.
    for (knows, at_most) in [(true, 3.3), (false, 5.3)] {
        let (cluster, register) = (Cluster::new(), Register::default());
        let a = start(&cluster, "a", 1, None);
        let b = start(&cluster, "b", 2, knows.then_some(&register));
        time_to_lead(&a).await;
        sleep_ms(10_500).await;
        cluster.cut("a");
        register.bury("a");
        let took = time_to_lead(&b).await;
        assert!(took <= Duration::from_secs_f64(at_most), "{took:?}");
        assert_eq!(took < LEASE * 3 / 4, knows);
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_starts_asks_at_once() {
    let (cluster, register) = (Cluster::new(), Register::default());
    let a = start(&cluster, "a", 1, None);
    time_to_lead(&a).await;
    cluster.cut("a");
    register.bury("a");
    let took = time_to_lead(&start(&cluster, "b", 2, Some(&register))).await;
    assert!(took <= Duration::from_millis(1250), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_renews_is_asked_about_once_and_keeps_its_lease() {
    let (cluster, register) = (Cluster::new(), Register::default());
    let a = start(&cluster, "a", 1, None);
    time_to_lead(&a).await;
    start(&cluster, "b", 2, Some(&register));
    sleep_ms(60_000).await;
    assert_eq!(register.asked(), 1);
    // The silent holder still runs: the candidate asks once in each interval, until the lease has
    // expired.
    cluster.cut("a");
    sleep_ms(4_500).await;
    assert!((3..=4).contains(&register.asked()), "{}", register.asked());
    assert_eq!(cluster.holder(), "a");
}

#[tokio::test(start_paused = true)]
async fn an_answer_about_a_holder_that_has_renewed_since_takes_nothing() {
    let (cluster, register) = (Cluster::new(), Register::default());
    let a = start(&cluster, "a", 1, None);
    time_to_lead(&a).await;
    // A lie, told once, about a version that has changed when the write arrives: the condition of
    // the write holds.
    cluster.set(
        "b",
        &[lease_election::Verb::Update],
        lease_election::Fault::Slow { before: Duration::from_millis(1_200), after: Duration::ZERO },
    );
    register.bury("a");
    let b = start(&cluster, "b", 2, Some(&register));
    sleep_ms(10_000).await;
    assert!(b.lock().unwrap().is_empty());
    assert_eq!(cluster.holder(), "a");
}

#[tokio::test(start_paused = true)]
async fn evidence_that_does_not_answer_holds_nothing_up() {
    let (cluster, register) = (Cluster::new(), Register { is_stuck: true, ..Register::default() });
    let a = start(&cluster, "a", 1, None);
    time_to_lead(&a).await;
    let b = start(&cluster, "b", 2, Some(&register));
    sleep_ms(1000).await;
    cluster.cut("a");
    let took = time_to_lead(&b).await;
    assert!(took <= LEASE + Duration::from_millis(250), "{took:?}");
}

/// Cuts leaders off. Half of them end with it, and the others work on until their hold ends.
/// Returns how often two worked.
async fn overlaps(seed: u64, lies: bool) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let (cluster, register) = (Cluster::new(), Register::default());
    let mut nodes: Vec<(String, Terms)> = Vec::new();
    let mut ended: HashSet<String> = HashSet::new();
    let (mut overlaps, mut began) = (0, 0);
    for round in 0..12 {
        let identity = format!("node-{round}");
        nodes.push((identity.clone(), start(&cluster, &identity, random.u64(..), Some(&register))));
        for _ in 0..random.u64(1..12_000) / 20 {
            sleep_ms(20).await;
            let at_work =
                nodes.iter().filter(|(name, terms)| !ended.contains(name) && leads(terms));
            overlaps += usize::from(at_work.count() > 1);
        }
        let holder = cluster.holder();
        if random.u8(..3) > 0 && nodes.iter().any(|(name, _)| *name == holder) {
            cluster.cut(&holder);
            let ends = random.bool();
            if ends {
                ended.insert(holder.clone());
            }
            if ends || lies {
                register.bury(&holder);
            }
            began += 1;
        }
    }
    assert!(began > 2, "{began} leaders were cut off");
    overlaps
}

#[cfg(all(feature = "pod-evidence", not(wq_plant)))]
mod of_pods {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use embedded_apiserver::EmbeddedApiServer;
    use k8s_openapi::api::core::v1::Pod;
    use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
    use kube::{Api, ResourceExt};
    use lease_election::{HolderEvidence, PodEvidence, Record};
    use serde_json::json;

    fn pods(server: &EmbeddedApiServer, namespace: &str) -> Api<Pod> {
        Api::namespaced(server.client(), namespace)
    }

    /// Creates the Pod, and returns its uid.
    async fn make(pods: &Api<Pod>, name: &str) -> String {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "main", "image": "i"}]},
        });
        let pod = pods
            .create(&PostParams::default(), &serde_json::from_value(pod).unwrap())
            .await
            .unwrap();
        pod.uid().unwrap()
    }

    fn record() -> Record {
        Record { renew_time: "2026-01-02T03:04:06.5Z".parse().ok(), ..Record::default() }
    }

    /// client-go names a candidate by its host, which is named as its Pod, and a random uuid.
    #[tokio::test(start_paused = true)]
    async fn a_go_candidate_that_leads_is_not_taken_for_a_pod_that_was_replaced() {
        let server = EmbeddedApiServer::builder().seed(1).build();
        let pods = pods(&server, "default");
        let own = PodEvidence::identity("b", &make(&pods, "b").await);
        let evidence = PodEvidence::new(server.client_as("b"), "default", &own);
        make(&pods, "operator-7d9f").await;
        let go = "operator-7d9f_550e8400-e29b-41d4-a716-446655440000";
        assert!(!evidence.is_gone(go, &record()).await);
    }

    /// Two StatefulSets of one name: each Pod has a namesake in the other namespace, which runs or
    /// has failed.
    #[tokio::test(start_paused = true)]
    async fn namesakes_in_another_namespace_are_evidence_of_nothing() {
        let server = EmbeddedApiServer::builder().seed(1).build();
        let (home, astray) = (pods(&server, "default"), pods(&server, "kube-system"));
        let own = PodEvidence::identity("operator-1", &make(&home, "operator-1").await);
        let holder = PodEvidence::identity("operator-0", &make(&home, "operator-0").await);
        let evidence = PodEvidence::new(server.client_as("b"), "kube-system", &own);
        make(&astray, "operator-1").await;
        assert!(!evidence.is_gone(&holder, &record()).await, "there is no namesake of the holder");
        make(&astray, "operator-0").await;
        assert!(!evidence.is_gone(&holder, &record()).await, "it runs");
        let failed = Patch::Merge(json!({"status": {"phase": "Failed"}}));
        astray.patch_status("operator-0", &PatchParams::default(), &failed).await.unwrap();
        assert!(!evidence.is_gone(&holder, &record()).await, "it has failed");
    }

    /// A load balancer reaches no API server for a moment, or the wrong one.
    #[tokio::test(start_paused = true)]
    async fn a_404_of_somebody_in_between_is_no_evidence() {
        let server = EmbeddedApiServer::builder().seed(1).build();
        let pods = pods(&server, "default");
        let own = PodEvidence::identity("b", &make(&pods, "b").await);
        let gone = PodEvidence::identity("a", &make(&pods, "a").await);
        pods.delete("a", &DeleteParams::default().grace_period(0)).await.unwrap();
        let holder = PodEvidence::identity("c", &make(&pods, "c").await);
        let astray: Arc<AtomicBool> = Arc::default();
        let (client, is_astray) = (server.client_as("b"), Arc::clone(&astray));
        let between = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (client, is_astray) = (client.clone(), is_astray.load(Ordering::SeqCst));
            async move {
                if is_astray {
                    let answer = http::Response::builder().status(404);
                    return Ok(answer
                        .body(kube::client::Body::from(b"404 page not found".to_vec()))
                        .unwrap());
                }
                client.send(request).await
            }
        });
        let evidence = PodEvidence::new(kube::Client::new(between, "default"), "default", &own);
        assert!(evidence.is_gone(&gone, &record()).await, "it knows where it is");
        assert!(!evidence.is_gone(&holder, &record()).await);
        astray.store(true, Ordering::SeqCst);
        assert!(
            !evidence.is_gone(&holder, &record()).await,
            "nobody said that there is no such Pod"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_is_evidence_when_it_has_failed_or_is_gone_and_not_before() {
        let server = EmbeddedApiServer::builder().seed(1).build();
        let pods: Api<Pod> = Api::default_namespaced(server.client());
        let own: Pod = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"},
            "spec": {"containers": [{"name": "main", "image": "i"}]},
        }))
        .unwrap();
        let own = pods.create(&PostParams::default(), &own).await.unwrap();
        let identity = PodEvidence::identity("b", &own.uid().unwrap());
        let evidence = PodEvidence::new(server.client_as("b"), "default", &identity);
        let astray = PodEvidence::new(server.client_as("b"), "kube-system", &identity);
        let nobody = PodEvidence::new(server.client_as("b"), "default", "b_0123456789abcdef");
        let record =
            Record { renew_time: "2026-01-02T03:04:06.5Z".parse().ok(), ..Record::default() };
        let make = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "main", "image": "i"}]},
        });
        let make: Pod = serde_json::from_value(make).unwrap();
        let pod = pods.create(&PostParams::default(), &make).await.unwrap();
        let holder = PodEvidence::identity("a", &pod.uid().unwrap());
        assert!(!evidence.is_gone(&holder, &record).await);
        assert!(!evidence.is_gone("a_0123456789abcdef", &record).await);
        assert!(
            !astray.is_gone(&holder, &record).await,
            "no Pod of this election is there, so it says nothing"
        );

        let failed = Patch::Merge(json!({"status": {"phase": "Failed"}}));
        pods.patch_status("a", &PatchParams::default(), &failed).await.unwrap();
        assert!(evidence.is_gone(&holder, &record).await);

        pods.delete("a", &DeleteParams::default().grace_period(0)).await.unwrap();
        assert!(evidence.is_gone(&holder, &record).await);
        let next = pods.create(&PostParams::default(), &make).await.unwrap();
        assert!(evidence.is_gone(&holder, &record).await, "another Pod of that name");
        assert!(!nobody.is_gone(&holder, &record).await, "it does not know where it is itself");
        assert!(
            !evidence.is_gone(&PodEvidence::identity("a", &next.uid().unwrap()), &record).await
        );
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}

/// A stage of `--full` runs these tests; the stage `test` skips `long`.
mod long {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn as_long_as_it_is_true_no_two_are_at_work_and_if_it_is_not_they_are() {
        for seed in 0..8 {
            assert_eq!(overlaps(seed, false).await, 0, "seed {seed}");
        }
        let mut broken = 0;
        for seed in 0..8 {
            broken += overlaps(seed, true).await;
        }
        assert!(broken > 0, "evidence that lies breaks it: the world can tell");
    }
}
