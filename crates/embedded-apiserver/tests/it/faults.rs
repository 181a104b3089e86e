//! Every fault as kube's client sees it, in the process and with paused time.

use crate::fuzz_target::cases;
use crate::objects::{code, config_map};
use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Outcome, Rule, Verb};
use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use proptest::prelude::*;
use std::time::Duration;
use tokio::time::{Instant, timeout};

fn with(rule: Rule) -> EmbeddedApiServer {
    EmbeddedApiServer::builder().faults(FaultPlan::seeded(1).rule(rule)).build()
}

fn first(verb: Verb, fault: Fault) -> EmbeddedApiServer {
    with(Rule::new(Match::any().verb(verb), fault).calls(1..=1))
}

fn maps(server: &EmbeddedApiServer, user: &str) -> Api<ConfigMap> {
    Api::default_namespaced(server.client_as(user))
}

async fn create(server: &EmbeddedApiServer, name: &str) -> kube::Result<ConfigMap> {
    maps(server, "a").create(&PostParams::default(), &config_map(name, "1")).await
}

/// Bypasses the faults: they apply to user `a` and others.
async fn exists(server: &EmbeddedApiServer, name: &str) -> bool {
    maps(server, "judge").get_opt(name).await.unwrap().is_some()
}

type Events = BoxStream<'static, kube::Result<WatchEvent<ConfigMap>>>;

async fn watch(server: &EmbeddedApiServer, user: &str, from: &str) -> Events {
    maps(server, user)
        .watch(&WatchParams::default().disable_bookmarks(), from)
        .await
        .unwrap()
        .boxed()
}

/// The names of the events up to the end. `Err`: the stream was cut.
async fn names(mut events: Events) -> (Vec<String>, Result<(), ()>) {
    let mut names = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(WatchEvent::Added(map)) => names.push(map.name_any()),
            Ok(other) => panic!("{other:?}"),
            Err(_) => return (names, Err(())),
        }
    }
    (names, Ok(()))
}

#[tokio::test(start_paused = true)]
async fn answers_carry_the_real_codes_and_reasons_and_are_not_applied() {
    for (fault, wanted, reason) in [
        (Fault::Conflict, 409, "Conflict"),
        (Fault::Forbidden, 403, "Forbidden"),
        (Fault::TooManyRequests { retry_after_s: 3 }, 429, "TooManyRequests"),
        (Fault::InternalError, 500, "InternalError"),
        (Fault::Unavailable, 503, "ServiceUnavailable"),
        (Fault::GatewayTimeout, 504, "Timeout"),
    ] {
        let word = fault.as_str();
        let server = first(Verb::Create, fault);
        let kube::Error::Api(status) = create(&server, "m").await.unwrap_err() else {
            panic!("{word}")
        };
        assert_eq!((status.code, status.reason.as_str()), (wanted, reason));
        if wanted == 429 {
            assert_eq!(status.details.as_ref().unwrap().retry_after_seconds, 3);
        }
        assert!(!exists(&server, "m").await, "{word}");
        let entry = server.requests().writes_to("configmaps").entries().remove(0);
        assert_eq!((entry.outcome, entry.fault), (Outcome::Answered(wanted), Some(word)));
        create(&server, "m").await.expect("only the first call was planned");
    }
}

#[tokio::test(start_paused = true)]
async fn conflicts_and_refusals_name_the_object() {
    let server = with(Rule::one_of(Match::any().verb(Verb::Update), [Fault::Conflict]));
    let map = create(&server, "m").await.unwrap();
    let kube::Error::Api(status) =
        maps(&server, "a").replace("m", &PostParams::default(), &map).await.unwrap_err()
    else {
        panic!("an answer")
    };
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"m\": the object has been modified; \
         please apply your changes to the latest version and try again"
    );
    let details = status.details.as_ref().unwrap();
    assert_eq!((details.name.as_str(), details.kind.as_str()), ("m", "configmaps"));

    let server = first(Verb::Get, Fault::Forbidden);
    let kube::Error::Api(status) = maps(&server, "a").get("m").await.unwrap_err() else {
        panic!("an answer")
    };
    assert_eq!(
        status.message,
        "configmaps \"m\" is forbidden: User \"a\" cannot get resource \"configmaps\" in API group \"\" \
         in the namespace \"default\""
    );
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_says_when_to_come_back_in_the_header() {
    let server = first(Verb::List, Fault::TooManyRequests { retry_after_s: 7 });
    let answer = crate::wire::get(&server, "/api/v1/configmaps").await;
    assert_eq!(answer.headers["retry-after"], "7");
    assert_eq!(answer.headers["x-embedded-fault"], "too_many_requests");
}

#[tokio::test(start_paused = true)]
async fn latency_passes_on_tokios_clock_and_the_request_goes_on() {
    let server = first(Verb::Create, Fault::Latency { min_ms: 200, max_ms: 300 });
    let start = Instant::now();
    create(&server, "m").await.unwrap();
    assert!((200..=301).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    let start = Instant::now();
    create(&server, "n").await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(server.requests().by("a").counts().faulted, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_is_applied_or_not_as_planned() {
    for (fault, applied) in [(Fault::NeverAnswer, false), (Fault::ApplyNeverAnswer, true)] {
        let server = first(Verb::Create, fault);
        timeout(Duration::from_secs(3600), create(&server, "m")).await.expect_err("never answered");
        assert_eq!(exists(&server, "m").await, applied);
        let entry = server.requests().writes_to("configmaps").entries().remove(0);
        assert_eq!(entry.outcome, Outcome::Abandoned);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_can_be_applied_after_its_client_gave_up() {
    let server = first(Verb::Create, Fault::ApplyLate { after_ms: 5000 });
    timeout(Duration::from_secs(1), create(&server, "m")).await.expect_err("never answered");
    assert!(!exists(&server, "m").await);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(exists(&server, "m").await);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connection_is_no_answer_of_the_api() {
    for (fault, applied) in [(Fault::DropBefore, false), (Fault::DropAfter, true)] {
        let server = first(Verb::Create, fault);
        let error = create(&server, "m").await.unwrap_err();
        assert!(!matches!(error, kube::Error::Api(_)), "{error:?}");
        assert_eq!(exists(&server, "m").await, applied);
        let entry = server.requests().writes_to("configmaps").entries().remove(0);
        assert_eq!(entry.outcome, Outcome::Disconnected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_cut_after_its_events_and_resumes_without_a_gap() {
    let cut = Fault::CutWatch { min_events: 2, max_events: 2, after_ms: None, mid_line: false };
    let server = first(Verb::Watch, cut);
    let mut versions = Vec::new();
    for name in ["m1", "m2", "m3"] {
        versions.push(create(&server, name).await.unwrap().resource_version().unwrap());
    }
    let (seen, end) = names(watch(&server, "a", "1").await).await;
    assert_eq!((seen, end), (vec!["m1".to_owned(), "m2".to_owned()], Ok(())));
    let next = watch(&server, "a", &versions[1]).await.next().await.unwrap().unwrap();
    assert!(matches!(next, WatchEvent::Added(map) if map.name_any() == "m3"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_cut_by_time_without_an_event() {
    let cut =
        Fault::CutWatch { min_events: 100, max_events: 100, after_ms: Some(1500), mid_line: false };
    let server = first(Verb::Watch, cut);
    create(&server, "m").await.unwrap();
    let start = Instant::now();
    let (seen, end) = names(watch(&server, "a", "1").await).await;
    assert_eq!((seen.len(), end), (1, Ok(())));
    assert_eq!(start.elapsed(), Duration::from_millis(1500));
}

#[tokio::test(start_paused = true)]
async fn a_watch_cut_in_the_middle_of_a_line_breaks_off_without_the_torn_event() {
    let cut = Fault::CutWatch { min_events: 1, max_events: 1, after_ms: None, mid_line: true };
    let server = first(Verb::Watch, cut);
    create(&server, "m1").await.unwrap();
    create(&server, "m2").await.unwrap();
    let (seen, end) = names(watch(&server, "a", "1").await).await;
    assert_eq!((seen, end), (vec!["m1".to_owned()], Err(())));
}

#[tokio::test(start_paused = true)]
async fn a_stalled_watch_gives_neither_events_nor_an_end() {
    let server = first(Verb::Watch, Fault::StallWatch { min_events: 1, max_events: 1 });
    create(&server, "m1").await.unwrap();
    let mut events = watch(&server, "a", "1").await;
    events.next().await.unwrap().unwrap();
    create(&server, "m2").await.unwrap();
    timeout(Duration::from_secs(7200), events.next())
        .await
        .expect_err("silent, past the server's own time limit");
    assert_eq!(server.faults().cut_watches(&Match::any()), 1);
    assert!(events.next().await.is_none(), "an order still reaches it");
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_says_410_and_a_fresh_start_works() {
    let server = with(Rule::new(Match::any(), Fault::Expired));
    let version = create(&server, "m").await.unwrap().resource_version().unwrap();
    let mut events = watch(&server, "a", &version).await;
    let event = events.next().await.unwrap().unwrap();
    assert!(
        matches!(event, WatchEvent::Error(status) if status.code == 410 && status.reason == "Expired")
    );
    assert!(events.next().await.is_none());

    assert_eq!(maps(&server, "a").list(&ListParams::default()).await.unwrap().items.len(), 1);
    let page = ListParams::default().limit(1).continue_token("any");
    assert_eq!(
        code(maps(&server, "a").list(&page).await.unwrap_err()),
        (410, "Expired".to_owned())
    );
    let mut fresh = watch(&server, "a", "0").await;
    assert!(matches!(fresh.next().await.unwrap().unwrap(), WatchEvent::Added(_)));
}

#[tokio::test(start_paused = true)]
async fn a_partition_holds_requests_and_events_back_until_it_heals() {
    let server = EmbeddedApiServer::new();
    let mut events = watch(&server, "a", "0").await;
    server.faults().partition("a");
    assert!(server.faults().plan().partitioned.contains("a"));
    maps(&server, "b")
        .create(&PostParams::default(), &config_map("m", "1"))
        .await
        .expect("b is connected");
    timeout(Duration::from_secs(60), events.next()).await.expect_err("held back");
    let mut held = Box::pin({
        let server = server.clone();
        async move { create(&server, "late").await }
    });
    timeout(Duration::from_secs(60), held.as_mut()).await.expect_err("held back");
    assert!(!exists(&server, "late").await, "not applied either");
    server.faults().heal("a");
    held.await.expect("goes through");
    assert!(
        matches!(events.next().await.unwrap().unwrap(), WatchEvent::Added(map) if map.name_any() == "m")
    );
}

#[tokio::test(start_paused = true)]
async fn live_watches_are_cut_dropped_and_silenced_by_order() {
    let server = EmbeddedApiServer::new();
    let mut a = watch(&server, "a", "0").await;
    let mut b = watch(&server, "b", "0").await;
    let c = watch(&server, "c", "0").await;
    assert_eq!(server.faults().live_watches(&Match::any()), 3);
    assert_eq!(server.faults().cut_watches(&Match::any().user("a")), 1);
    assert!(a.next().await.is_none());
    assert_eq!(server.faults().drop_watches(&Match::any().user("b")), 1);
    assert!(b.next().await.unwrap().is_err());
    drop((a, b));
    let mut c = c;
    assert_eq!(server.faults().stall_watches(&Match::any().resource("configmaps")), 1);
    create(&server, "m").await.unwrap();
    timeout(Duration::from_secs(60), c.next()).await.expect_err("silent");
    drop(c);
    assert_eq!(server.faults().live_watches(&Match::any()), 0, "a dropped watch is forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_plan_can_be_changed_while_requests_are_under_way() {
    let server = with(Rule::new(Match::any().verb(Verb::Create), Fault::NeverAnswer));
    let stuck = tokio::spawn({
        let server = server.clone();
        async move { create(&server, "stuck").await }
    });
    server.requests().writes_to("configmaps").reached(1).await;
    server.faults().clear();
    create(&server, "m").await.expect("no more faults");
    timeout(Duration::from_secs(60), stuck).await.expect_err("what was swallowed stays swallowed");
}

/// The results of a hundred calls under a mixed plan.
fn run(seed: u64) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let plan = FaultPlan::seeded(seed)
            .exempt(Match::any().user("judge"))
            .rule(Rule::new(Match::any(), Fault::Latency { min_ms: 1, max_ms: 500 }).percent(30))
            .rule(
                Rule::one_of(
                    Match::any(),
                    [
                        Fault::Conflict,
                        Fault::TooManyRequests { retry_after_s: 1 },
                        Fault::InternalError,
                        Fault::NeverAnswer,
                        Fault::ApplyNeverAnswer,
                        Fault::DropBefore,
                        Fault::DropAfter,
                    ],
                )
                .percent(20),
            );
        let server = EmbeddedApiServer::builder().seed(1).faults(plan).build();
        let start = Instant::now();
        let mut seen = Vec::new();
        for number in 0..100 {
            let outcome =
                timeout(Duration::from_secs(5), create(&server, &format!("m{number}"))).await;
            let word = match outcome {
                Ok(Ok(_)) => "ok".to_owned(),
                Ok(Err(kube::Error::Api(status))) => status.reason.clone(),
                Ok(Err(_)) => "dropped".to_owned(),
                Err(_) => "time-out".to_owned(),
            };
            let applied = exists(&server, &format!("m{number}")).await;
            seen.push(format!("{word} {applied} {:?}", start.elapsed()));
        }
        server.requests().by("judge").assert_exactly(100);
        assert_eq!(server.requests().by("judge").counts().faulted, 0);
        seen
    })
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn the_same_seed_gives_the_same_run_to_the_millisecond(seed: u64) {
        let seen = run(seed);
        prop_assert_eq!(&seen, &run(seed));
        prop_assert_ne!(&seen, &run(seed.wrapping_add(1)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_out_a_latency_is_not_applied_through_a_partition() {
    for fault in [None, Some(Fault::DropBefore), Some(Fault::DropAfter)] {
        let creates = Match::any().verb(Verb::Create);
        let slow = Rule::new(creates.clone(), Fault::Latency { min_ms: 1000, max_ms: 1000 });
        let mut plan = FaultPlan::seeded(1).rule(slow);
        let drops = fault.is_some();
        let applied = !matches!(fault, Some(Fault::DropBefore));
        if let Some(fault) = fault {
            plan = plan.rule(Rule::new(creates, fault));
        }
        let server = EmbeddedApiServer::builder().faults(plan).build();
        let write = create(&server, "m");
        tokio::pin!(write);
        timeout(Duration::from_millis(500), &mut write).await.expect_err("it waits");
        server.faults().partition("a");
        timeout(Duration::from_secs(5), &mut write).await.expect_err("cut off");
        assert!(!exists(&server, "m").await, "drops: {drops}");
        server.faults().heal("a");
        let ended = timeout(Duration::from_secs(1), write).await.expect("it goes through");
        assert_eq!((ended.is_err(), exists(&server, "m").await), (drops, applied));
    }
}

#[tokio::test]
async fn a_rule_that_never_fires_is_found() {
    let writes = Match::any().verb(Verb::Create).resource("configmaps");
    let plan = FaultPlan::none()
        .rule(Rule::new(writes.clone(), Fault::InternalError).calls(1..=1))
        .rule(Rule::new(writes, Fault::Conflict).calls(3..=3))
        .rule(Rule::new(Match::any().resource("secrets"), Fault::Conflict));
    let server = EmbeddedApiServer::builder().faults(plan).build();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let map = ConfigMap::default();
    for _ in 0..2 {
        let _refused = maps.create(&PostParams::default(), &map).await;
    }
    let faults = server.faults();
    let unfired =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| faults.assert_all_fired()));
    let said = *unfired.unwrap_err().downcast::<String>().unwrap();
    assert!(!said.contains("rules[0]"), "{said}");
    assert!(
        said.contains("rules[1] matched 2 calls: ") && said.contains("rules[2] matched 0 calls: "),
        "{said}"
    );
    let _refused = maps.create(&PostParams::default(), &map).await;
    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    let _refused = secrets.create(&PostParams::default(), &Secret::default()).await;
    server.faults().assert_all_fired();
}

#[tokio::test]
#[should_panic = "the fault plan is refused: rules[0].match.resources[0] is \"deployment\", which no API server has; write deployments"]
async fn a_rule_about_a_resource_that_no_server_has_is_refused() {
    let rule = Rule::new(Match::any().resource("deployment"), Fault::Conflict);
    let _server = EmbeddedApiServer::builder().faults(FaultPlan::none().rule(rule));
}
