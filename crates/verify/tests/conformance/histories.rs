//! Histories on the embedded server, over its socket, with many writers, and with faults where a
//! watch can meet them.

use std::time::Duration;

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule, Verb};
use kube::Client;
use verify::histories::{self, Gaps, Recorded, Scene, judge, linearizable};

/// How many seeds are played: `HISTORY_SEEDS`, which the stage `conformance` sets.
fn seeds() -> u64 {
    std::env::var("HISTORY_SEEDS").map_or(1, |seeds| seeds.parse().expect("a number of seeds"))
}

/// A client over the socket, as the user of a token.
fn client(url: &str, token: &str) -> Client {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.default_retry = false;
    config.proxy_url = None;
    config.auth_info.token = Some(token.to_owned().into());
    Client::try_from(config).unwrap()
}

/// Everything that can happen to a watch but for the loss of its history, and delays.
pub(crate) fn faults(seed: u64) -> FaultPlan {
    let watches = || Match::any().user("faulty").verb(Verb::Watch);
    let cut = |mid_line| Fault::CutWatch { min_events: 0, max_events: 9, after_ms: None, mid_line };
    FaultPlan::seeded(seed)
        .rule(Rule::new(watches(), Fault::Latency { min_ms: 0, max_ms: 3 }))
        .rule(
            Rule::one_of(watches(), [Fault::Unavailable, Fault::DropBefore, Fault::DropAfter])
                .percent(10),
        )
        .rule(Rule::one_of(watches(), [cut(false), cut(true)]).percent(90))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_keep_their_promises_under_faults_and_many_writers() {
    for seed in 1..=seeds() {
        let server = EmbeddedApiServer::builder()
            .seed(seed)
            .token("sound", "s")
            .token("faulty", "f")
            .bookmark_interval(Duration::from_millis(3))
            .faults(faults(seed))
            .build();
        let listener = server.listen("127.0.0.1:0").await.unwrap();
        let url = listener.url();
        let scene = Scene::new(client(&url, "s"), client(&url, "f"), "default", seed);
        let recorded = histories::record(&scene).await.unwrap();
        judge_all(&recorded, seed);
        assert_eq!(recorded.expired(), 0, "no history is lost");
        let bookmarks = recorded.seen.iter().flat_map(|seen| &seen.changes);
        let bookmarks = bookmarks.filter(|change| change.kind == histories::Kind::Bookmark).count();
        assert!(bookmarks > 0, "there were bookmarks to go on from");
    }
}

fn judge_all(recorded: &Recorded, seed: u64) {
    let Recorded { truth, seen, resumed, .. } = recorded;
    let changes = truth.changes.len();
    assert!(changes > 150 && *resumed > 10, "{changes} changes, {resumed} resumed");
    for seen in seen {
        judge(truth, seen).unwrap_or_else(|why| panic!("seed {seed}, {:?}: {why}", seen.selection));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_is_gone_costs_its_watchers_a_list_and_nothing_else() {
    for seed in 1..=seeds() {
        let compact = Rule::new(Match::any().user("compactor"), Fault::Compact);
        let server = EmbeddedApiServer::builder()
            .seed(seed)
            .token("sound", "s")
            .token("faulty", "f")
            .token("compactor", "c")
            .bookmark_interval(Duration::from_millis(3))
            .faults(faults(seed).rule(compact))
            .build();
        let listener = server.listen("127.0.0.1:0").await.unwrap();
        let url = listener.url();
        let mut scene = Scene::new(client(&url, "s"), client(&url, "f"), "default", seed);
        scene.writes = 25;
        let compactor = client(&url, "c");
        scene.gaps = Some(Gaps { count: 3, faults: server.faults(), away: "faulty", compactor });
        let recorded = histories::record(&scene).await.unwrap();
        judge_all(&recorded, seed);
        // Whoever is not back before the next gap begins is told once of both.
        assert!(recorded.expired() >= 5, "{} were told so", recorded.expired());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_object_is_linearizable_under_concurrent_writers() {
    for seed in 1..=seeds() {
        let server = EmbeddedApiServer::builder().seed(seed).token("sound", "s").build();
        let listener = server.listen("127.0.0.1:0").await.unwrap();
        for sound in [client(&listener.url(), "s"), server.client_as("sound")] {
            let namespace = "default";
            let mut scene = Scene::new(sound.clone(), sound, namespace, seed);
            scene.writers = 6;
            let (first, history) = histories::race(&scene).await.unwrap();
            assert_eq!(history.len(), 600);
            linearizable(first, &history).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
            let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
                kube::Api::namespaced(scene.sound, namespace);
            maps.delete("register", &Default::default()).await.unwrap();
        }
    }
}
