//! Random calls to the embedded server and to the real one, and what the real one's own histories
//! look like to our judges.

use control_plane::ControlPlane;
use embedded_apiserver::FaultProxy;
use kube::Client;
use verify::conformance::Server;
use verify::fuzz::{self, Pair, Plan};
use verify::histories::{self, Scene, judge, linearizable};
use verify::real;

/// Where the sequences begin.
const SEED: &str = "FUZZ_SEED";
/// How many calls.
const CALLS: &str = "FUZZ_CALLS";

/// Which kinds, by name, with commas between; all if it is not set.
const KINDS: &str = "FUZZ_KINDS";

/// After how many disagreements of different sorts to stop.
const ENOUGH: &str = "FUZZ_ENOUGH";

/// What the real server must serve, and leave alone, to be asked about volumes and about candidates
/// for Leases.
const FLAGS: [&str; 3] = [
    "--disable-admission-plugins=StorageObjectInUseProtection",
    "--feature-gates=CoordinatedLeaderElection=true",
    "--runtime-config=coordination.k8s.io/v1beta1=true",
];

fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "what the stage of the CI is there to say")]
async fn random_calls_are_answered_as_by_the_real_server() {
    // Without controllers: nobody but the two of us writes, protects volumes, or binds them.
    let builder =
        FLAGS.iter().fold(ControlPlane::builder(), |builder, flag| builder.api_server_flag(*flag));
    let Some(plane) = tokio::task::block_in_place(|| real::own(builder)) else { return };
    let admin = real::client(&plane, "admin").await;
    Server::new(Client::clone(&admin)).prepare().await.unwrap();
    let embedded = Server::bare().unwrap();
    let pair = Pair::new(admin, Client::clone(embedded.client()));
    let mut plan = Plan::new(number(SEED, 1), number(CALLS, 5000));
    plan.enough = number(ENOUGH, plan.enough);
    let kinds = std::env::var(KINDS).unwrap_or_default();
    plan.kinds = kinds.split(',').filter(|kind| !kind.is_empty()).map(str::to_owned).collect();
    for kind in &plan.kinds {
        assert!(fuzz::draws(kind), "{KINDS}: no calls are drawn for a kind {kind:?}");
    }
    let report = fuzz::run(&pair, &plan).await;
    println!(
        "differential fuzz: seed={} calls={} watches={} events={} replayed={} disagreements={}",
        plan.seed,
        report.calls,
        report.watches,
        report.events,
        report.replayed,
        report.found.len()
    );
    assert!(report.found.is_empty(), "{}", report.found.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_servers_watches_and_objects_keep_the_same_promises() {
    let Some(plane) = tokio::task::spawn_blocking(real::shared).await.unwrap() else { return };
    let admin = real::client(plane, "admin").await;
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(admin.clone());
    let namespace =
        serde_json::from_value(serde_json::json!({ "metadata": { "name": "histories" } })).unwrap();
    namespaces.create(&Default::default(), &namespace).await.unwrap();
    let proxy = FaultProxy::builder().user("faulty", "f", admin.clone()).faults(faults(1)).build();
    let scene = Scene::new(admin.clone(), proxy.client_as("faulty"), "histories", 1);
    let recorded = histories::record(&scene).await.unwrap();
    let changes = recorded.truth.changes.len();
    assert!(
        changes > 150 && recorded.resumed > 10,
        "{changes} changes, {} resumed",
        recorded.resumed
    );
    assert_eq!(recorded.expired(), 0, "no history is lost");
    for seen in &recorded.seen {
        judge(&recorded.truth, seen).unwrap_or_else(|why| panic!("{:?}: {why}", seen.selection));
    }
    let (first, history) = histories::race(&scene).await.unwrap();
    linearizable(first, &history).unwrap();
    namespaces.delete("histories", &Default::default()).await.unwrap();
}

/// As in the test on the embedded server: cut watches, broken ones, late ones.
fn faults(seed: u64) -> embedded_apiserver::FaultPlan {
    use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
    let watches = || Match::any().user("faulty").verb(Verb::Watch);
    let cut = |mid_line| Fault::CutWatch { min_events: 0, max_events: 9, after_ms: None, mid_line };
    FaultPlan::seeded(seed)
        .rule(
            Rule::one_of(watches(), [Fault::Unavailable, Fault::DropBefore, Fault::DropAfter])
                .percent(10),
        )
        .rule(Rule::one_of(watches(), [cut(false), cut(true)]).percent(90))
}
