//! One seed, one run: the hash of everything visible, with several clients and all faults.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Rule};
use futures::StreamExt;
use http::Method;
use http_body_util::Full;
use serde_json::json;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Every fault, often enough that each happens in a run.
fn all_faults(seed: u64) -> FaultPlan {
    let often = |fault| Rule::new(Match::any(), fault).percent(4);
    let faults = [
        Fault::Conflict,
        Fault::Forbidden,
        Fault::TooManyRequests { retry_after_s: 1 },
        Fault::Overloaded { retry_after_s: 1 },
        Fault::InternalError,
        Fault::ApplyInternalError,
        Fault::ServerTimeout { retry_after_s: 2 },
        Fault::Unavailable,
        Fault::ShuttingDown,
        Fault::GatewayTimeout,
        Fault::ApplyGatewayTimeout,
        Fault::Expired,
        Fault::NeverAnswer,
        Fault::ApplyNeverAnswer,
        Fault::ApplyLate { after_ms: 700 },
        Fault::DropBefore,
        Fault::DropAfter,
        Fault::DropMidAnswer,
        Fault::StallMidAnswer,
        Fault::Compact,
        Fault::MoveClock { by_ms: -1500 },
        Fault::CutWatch { min_events: 0, max_events: 5, after_ms: Some(2000), mid_line: false },
        Fault::CutWatch { min_events: 0, max_events: 5, after_ms: None, mid_line: true },
        Fault::StallWatch { min_events: 0, max_events: 5 },
        Fault::GarbageLine { min_events: 0, max_events: 5 },
        Fault::WithholdBookmarks { end_mark: true },
    ];
    let plan = FaultPlan::seeded(seed)
        .rule(Rule::new(Match::any(), Fault::Latency { min_ms: 1, max_ms: 50 }).percent(30));
    faults.into_iter().map(often).fold(plan, FaultPlan::rule)
}

/// Sends a request as `user`, and reads the answer to its end, to its cut, or for two seconds.
pub(crate) async fn send(
    server: &EmbeddedApiServer,
    user: &str,
    method: Method,
    path: &str,
    body: String,
) {
    let request = http::Request::builder()
        .method(method.clone())
        .uri(path)
        .header(
            "content-type",
            if method == Method::PATCH { wire::MERGE } else { "application/json" },
        )
        .body(Full::new(body.into()))
        .expect("a request");
    let service = server.service().as_user(user);
    let _ = timeout(Duration::from_secs(2), async move {
        if let Ok(response) = service.oneshot(request).await {
            let mut body = response.into_body().into_stream();
            while let Some(Ok(_)) = body.next().await {}
        }
    })
    .await;
}

async fn writer(server: EmbeddedApiServer, user: Arc<str>) {
    for round in 0..12 {
        let name = format!("{user}-{}", round % 4);
        let map = json!({ "metadata": { "name": name, "labels": { "l": "1" } }, "data": { "k": round.to_string() } });
        send(&server, &user, Method::POST, MAPS, map.to_string()).await;
        let patch = json!({ "data": { "k": format!("p{round}") } }).to_string();
        send(&server, &user, Method::PATCH, &format!("{MAPS}/{name}"), patch).await;
        if round % 3 == 2 {
            send(&server, &user, Method::DELETE, &format!("{MAPS}/{name}"), String::new()).await;
        }
        send(&server, &user, Method::GET, &format!("{MAPS}?limit=3"), String::new()).await;
        sleep(Duration::from_millis(30)).await;
    }
}

async fn watcher(server: EmbeddedApiServer, user: Arc<str>) {
    for _ in 0..12 {
        let path =
            format!("{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=1");
        send(&server, &user, Method::GET, &path, String::new()).await;
    }
}

/// The hash of a run of five clients, and its faults.
fn run(seed: u64) -> (u64, Vec<&'static str>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let server = EmbeddedApiServer::builder()
            .seed(seed)
            .start_time(start)
            .faults(all_faults(seed))
            .build();
        server.faults().partition("w2");
        let mut clients = tokio::task::JoinSet::new();
        for user in ["w1", "w2", "w3"] {
            clients.spawn(writer(server.clone(), user.into()));
        }
        for user in ["r1", "r2"] {
            clients.spawn(watcher(server.clone(), user.into()));
        }
        sleep(Duration::from_secs(3)).await;
        server.faults().heal("w2");
        clients.join_all().await;
        let mut words: Vec<_> =
            server.requests().all().entries().iter().filter_map(|entry| entry.fault).collect();
        words.sort_unstable();
        words.dedup();
        (server.requests().trace_hash(), words)
    })
}

#[test]
fn the_same_seed_has_the_same_trace_with_several_clients_and_all_faults_on() {
    let (mut hashes, mut seen) = (Vec::new(), Vec::new());
    for seed in 0..20 {
        let (hash, words) = run(seed);
        assert_eq!((hash, words.clone()), run(seed), "seed {seed}");
        hashes.push(hash);
        seen.extend(words);
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 20, "another seed is another run");
    seen.sort_unstable();
    seen.dedup();
    let planned =
        all_faults(0).rules.iter().flat_map(|rule| &rule.faults).map(Fault::as_str).collect();
    let missing: Vec<&str> = Vec::from_iter::<std::collections::BTreeSet<&str>>(planned)
        .into_iter()
        .filter(|word| !seen.contains(word))
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "each fault happened in some run");
}

/// A refactoring keeps the hashes. A change of behaviour records new ones.
#[test]
fn fifty_runs_have_the_traces_that_were_recorded() {
    let hashes: Vec<String> = (0..50).map(|seed| format!("{:016x}", run(seed).0)).collect();
    let recorded: Vec<&str> = include_str!("trace_hashes.txt").lines().collect();
    assert_eq!(hashes, recorded);
}

#[tokio::test(start_paused = true)]
async fn whatever_can_be_seen_changes_the_trace() {
    type Step = fn(EmbeddedApiServer) -> futures::future::BoxFuture<'static, ()>;
    let steps: [Step; 9] = [
        |_| Box::pin(async {}),
        |server| Box::pin(async move { drop(wire::get(&server, MAPS).await) }),
        |server| {
            Box::pin(async move { drop(wire::get(&server, &format!("{MAPS}?limit=1")).await) })
        },
        |server| {
            Box::pin(async move {
                drop(wire::post(&server, MAPS, &json!({ "metadata": { "name": "a" } })).await);
            })
        },
        |server| {
            Box::pin(async move {
                drop(wire::post(&server, MAPS, &json!({ "metadata": { "name": "b" } })).await);
            })
        },
        |server| {
            Box::pin(async move {
                sleep(Duration::from_millis(1)).await;
                drop(wire::get(&server, MAPS).await);
            })
        },
        |server| {
            Box::pin(
                async move { drop(server.service().as_user("u").oneshot(list_request()).await) },
            )
        },
        |server| {
            Box::pin(async move {
                let whom = [("impersonate-user", "u"), ("impersonate-extra-a", "b")];
                drop(wire::send(&server, Method::GET, MAPS, &whom, "").await);
            })
        },
        |server| {
            Box::pin(async move {
                let whom = [("impersonate-user", "u"), ("impersonate-extra-a", "c")];
                drop(wire::send(&server, Method::GET, MAPS, &whom, "").await);
            })
        },
    ];
    let mut hashes = Vec::new();
    for step in steps {
        let server =
            EmbeddedApiServer::builder().seed(1).start_time(SystemTime::UNIX_EPOCH).build();
        step(server.clone()).await;
        hashes.push(server.requests().trace_hash());
    }
    let mut different = hashes.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), hashes.len(), "{hashes:?}");
}

#[tokio::test(start_paused = true)]
async fn the_half_of_an_answer_that_arrives_is_in_the_trace() {
    for fault in [Fault::DropMidAnswer, Fault::StallMidAnswer] {
        let mut hashes = Vec::new();
        for day in [0, 0, 1] {
            // Only the time in the first half of the answer differs.
            let server = EmbeddedApiServer::builder()
                .seed(1)
                .start_time(SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * day))
                .faults(FaultPlan::none().rule(Rule::new(Match::any(), fault.clone())))
                .build();
            send(&server, "u", Method::GET, "/api/v1/namespaces/default", String::new()).await;
            hashes.push(server.requests().trace_hash());
        }
        assert_eq!(hashes[0], hashes[1]);
        assert_ne!(hashes[0], hashes[2], "{}", fault.as_str());
    }
}

fn list_request() -> http::Request<Full<bytes::Bytes>> {
    http::Request::builder().uri(MAPS).body(Full::default()).expect("a request")
}
