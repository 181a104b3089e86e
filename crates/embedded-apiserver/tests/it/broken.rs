//! Faults of the server and of bodies in transit: history, clock, truncated responses, malformed
//! lines.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use embedded_apiserver::{EmbeddedApiServer, Fault, FaultPlan, Match, Outcome, Rule, Verb};
use futures::StreamExt;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::wire::{self, Lines};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn first(verb: Verb, fault: Fault) -> EmbeddedApiServer {
    let rule = Rule::new(Match::any().verb(verb), fault).calls(1..=1);
    EmbeddedApiServer::builder().faults(FaultPlan::seeded(1).rule(rule)).build()
}

async fn create(server: &EmbeddedApiServer, name: &str) -> Value {
    wire::post(server, MAPS, &json!({ "metadata": { "name": name } })).await.json()
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().expect("a version")
}

/// The chunks of a body, and whether it was truncated.
async fn chunks(server: &EmbeddedApiServer, method: Method, path: &str) -> (Vec<Bytes>, bool) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(Full::new(Bytes::new()))
        .expect("a request");
    let response = server.service().oneshot(request).await.expect("a head");
    assert_eq!(response.status(), StatusCode::OK);
    let mut stream = response.into_body().into_stream();
    let mut chunks = Vec::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => chunks.push(chunk),
            Err(_) => return (chunks, true),
        }
    }
    (chunks, false)
}

#[tokio::test(start_paused = true)]
async fn an_answer_breaks_off_in_its_middle() {
    let server = first(Verb::List, Fault::DropMidAnswer);
    create(&server, "m").await;
    let (half, broken) = chunks(&server, Method::GET, MAPS).await;
    let (whole, whole_broken) = chunks(&server, Method::GET, MAPS).await;
    assert!(broken && !whole_broken);
    let (half, whole) = (half.concat(), whole.concat());
    assert_eq!(half, whole[..whole.len() / 2]);

    // The write is applied, although its client gets no answer.
    let server = first(Verb::Delete, Fault::DropMidAnswer);
    create(&server, "m").await;
    let (_, broken) = chunks(&server, Method::DELETE, &format!("{MAPS}/m")).await;
    assert!(broken);
    assert_eq!(wire::get(&server, &format!("{MAPS}/m")).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn an_answer_falls_silent_in_its_middle() {
    let server = first(Verb::List, Fault::StallMidAnswer);
    create(&server, "m").await;
    let answer = timeout(Duration::from_secs(3600), chunks(&server, Method::GET, MAPS)).await;
    assert!(answer.is_err(), "it neither goes on nor ends");
    let entry = server.requests().verb(Verb::List).entries().remove(0);
    assert_eq!((entry.outcome, entry.fault), (Outcome::Answered(200), Some("stall_mid_answer")));
}

#[tokio::test(start_paused = true)]
async fn a_line_of_garbage_comes_between_two_events() {
    let server = first(Verb::Watch, Fault::GarbageLine { min_events: 1, max_events: 1 });
    create(&server, "a").await;
    create(&server, "b").await;
    let path = format!("{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1");
    let (lines, broken) = chunks(&server, Method::GET, &path).await;
    assert!(!broken);
    let read: Vec<Option<Value>> =
        lines.iter().map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(read.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    assert!(lines.iter().all(|line| line.ends_with(b"\n")), "it is a line");
    assert!(read[2].as_ref().is_some_and(|event| event["object"]["metadata"]["name"] == "b"));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_withheld_with_or_without_the_end_mark() {
    let path = format!(
        "{MAPS}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=200"
    );
    let mut types = Vec::new();
    for fault in [
        None,
        Some(Fault::WithholdBookmarks { end_mark: false }),
        Some(Fault::WithholdBookmarks { end_mark: true }),
    ] {
        let server = match fault {
            Some(fault) => first(Verb::Watch, fault),
            None => EmbeddedApiServer::new(),
        };
        create(&server, "a").await;
        let lines = wire::get(&server, &path).await.lines();
        types.push(
            lines
                .iter()
                .map(|line| line["type"].as_str().expect("a type").to_owned())
                .collect::<Vec<_>>(),
        );
    }
    // The bookmark after the initial events, one a minute, and the last one.
    assert_eq!(types[0], ["ADDED", "BOOKMARK", "BOOKMARK", "BOOKMARK", "BOOKMARK", "BOOKMARK"]);
    assert_eq!(types[1], ["ADDED", "BOOKMARK"]);
    assert_eq!(types[2], ["ADDED"]);
}

#[tokio::test(start_paused = true)]
async fn a_compaction_comes_just_before_the_planned_request() {
    let server = first(Verb::Get, Fault::Compact);
    let old = create(&server, "a").await;
    create(&server, "b").await;
    let path = format!("{MAPS}?watch=1&resourceVersion={}", version(&old));
    let mut early = Lines::open(&server, &path).await;
    assert_eq!(early.event().await, "ADDED b");
    assert_eq!(
        wire::get(&server, &format!("{MAPS}/a")).await.code,
        200,
        "the request itself is served"
    );
    let mut late = Lines::open(&server, &path).await;
    let event = late.next().await.expect("an event");
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    create(&server, "c").await;
    assert_eq!(early.event().await, "ADDED c", "who has read everything goes on");
    assert_eq!(server.requests().verb(Verb::Get).entries()[0].fault, Some("compact"));
}

#[tokio::test(start_paused = true)]
async fn the_clock_jumps_by_plan_and_by_hand_and_timers_do_not() {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let jump = Fault::MoveClock { by_ms: -3_600_000 };
    let rule = Rule::new(Match::any().verb(Verb::Create), jump).calls(2..=2);
    let server =
        EmbeddedApiServer::builder().start_time(start).faults(FaultPlan::none().rule(rule)).build();
    let made = |object: &Value| {
        object["metadata"]["creationTimestamp"].as_str().expect("a time").to_owned()
    };
    assert_eq!(made(&create(&server, "a").await), "2027-01-15T08:00:00Z");
    assert_eq!(made(&create(&server, "b").await), "2027-01-15T07:00:00Z", "before it is served");
    assert_eq!(made(&create(&server, "c").await), "2027-01-15T07:00:00Z", "and it stays so");
    let clock = server.clock();
    clock.forward(Duration::from_secs(7200));
    assert_eq!(clock.now(), start + Duration::from_secs(3600));
    let began = tokio::time::Instant::now();
    let lines = wire::get(&server, &format!("{MAPS}?watch=1&timeoutSeconds=5")).await.lines();
    assert_eq!((lines.len(), began.elapsed()), (3, Duration::from_secs(5)));
    clock.set(start);
    assert_eq!(made(&create(&server, "d").await), "2027-01-15T08:00:00Z");
    let wall = server.requests().all().entries().last().map(|entry| entry.wall);
    assert_eq!(wall, Some(start), "the request log reads the same clock");
    clock.back(Duration::MAX);
    assert_eq!(made(&create(&server, "e").await), "1970-01-01T00:00:00Z");
    clock.forward(Duration::MAX);
    clock.forward(Duration::MAX);
    assert_eq!(made(&create(&server, "f").await), "9999-12-30T22:00:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_write_is_applied_although_its_answer_is_an_error() {
    for (fault, code, reason) in [
        (Fault::ApplyInternalError, 500, "InternalError"),
        (Fault::ApplyGatewayTimeout, 504, "Timeout"),
    ] {
        let server = first(Verb::Create, fault);
        let answer = create(&server, "m").await;
        assert_eq!((&answer["code"], &answer["reason"]), (&json!(code), &json!(reason)));
        assert_eq!(wire::get(&server, &format!("{MAPS}/m")).await.code, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_of_filters_and_of_storage_look_as_the_real_ones() {
    let refused = async |fault: Fault| {
        let server = first(Verb::Get, fault);
        let answer = wire::get(&server, &format!("{MAPS}/m")).await;
        let after =
            answer.headers.get("retry-after").map(|value| value.to_str().expect("text").to_owned());
        (answer.code.as_u16(), after.unwrap_or_default(), answer)
    };
    let (code, after, answer) = refused(Fault::Overloaded { retry_after_s: 1 }).await;
    assert_eq!((code, after.as_str()), (429, "1"));
    assert_eq!(answer.text, "Too many requests, please try again later.\n");
    assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");

    let (code, after, answer) = refused(Fault::ServerTimeout { retry_after_s: 2 }).await;
    assert_eq!((code, after.as_str()), (500, "2"));
    let status = answer.json();
    assert_eq!(status["reason"], "ServerTimeout");
    assert_eq!(
        status["message"],
        "The get operation against configmaps could not be completed at this time, please try again."
    );
    assert_eq!(
        status["details"],
        json!({ "name": "m", "kind": "configmaps", "retryAfterSeconds": 2 })
    );

    let (code, after, answer) = refused(Fault::ShuttingDown).await;
    assert_eq!((code, after.as_str()), (503, "1"));
    let status = answer.json();
    assert_eq!(
        (&status["reason"], &status["message"]),
        (&json!("ServiceUnavailable"), &json!("apiserver is shutting down"))
    );
}

#[cfg(feature = "proxy")]
#[tokio::test(start_paused = true)]
async fn a_proxy_says_that_it_cannot_reach_history_and_clock() {
    for fault in [Fault::Compact, Fault::MoveClock { by_ms: 1 }] {
        let server = EmbeddedApiServer::new();
        let plan = FaultPlan::none().rule(Rule::new(Match::any(), fault.clone()));
        let proxy = embedded_apiserver::FaultProxy::builder()
            .user("u", "t", server.client())
            .faults(plan)
            .build();
        let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
            kube::Api::default_namespaced(proxy.client_as("u"));
        let error = maps.get("m").await.expect_err("501");
        let kube::Error::Api(status) = error else { panic!("{error:?}") };
        assert_eq!(status.code, 501);
        assert!(status.message.contains(fault.as_str()), "{}", status.message);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_about_a_name_meets_its_create_too() {
    let rule = Rule::new(Match::any().verb(Verb::Create).name("b"), Fault::InternalError);
    let server = EmbeddedApiServer::builder().faults(FaultPlan::none().rule(rule)).build();
    assert_eq!(create(&server, "a").await["kind"], "ConfigMap");
    assert_eq!(create(&server, "b").await["code"], 500);
    let made_up = wire::post(&server, MAPS, &json!({ "metadata": { "generateName": "b" } })).await;
    assert_eq!(made_up.code, 201, "nobody knows its name yet");
    assert_eq!(wire::send(&server, Method::POST, MAPS, &[], "no JSON").await.code, 400);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_refused_answers_its_refusal_whatever_was_to_happen_after_it() {
    for (fault, code) in [(Fault::ApplyInternalError, 500), (Fault::ApplyGatewayTimeout, 504)] {
        let word = fault.as_str();
        let plan = FaultPlan::seeded(1).rule(Rule::new(Match::any().user("a").writes(), fault));
        let server = EmbeddedApiServer::builder().faults(plan).build();
        create(&server, "there").await;
        let post = async |name: &str| {
            let map = json!({ "metadata": { "name": name } }).to_string();
            let request = Request::builder().method(Method::POST).uri(MAPS);
            let request = request.header("content-type", "application/json");
            let request = request.body(Full::new(Bytes::from(map))).expect("a request");
            server.service().as_user("a").oneshot(request).await.expect("a head")
        };
        // Upstream returns this error if etcd's answer is lost after the write.
        let refused = post("there").await;
        assert_eq!(
            (refused.status(), refused.headers().get("x-embedded-fault")),
            (StatusCode::CONFLICT, None)
        );
        assert_eq!(post("A_B").await.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let entries = server.requests().by("a").entries();
        assert_eq!(
            entries.iter().map(|entry| entry.fault).collect::<Vec<_>>(),
            [None, None],
            "{word}"
        );
        assert_eq!(server.requests().by("a").counts().faulted, 0);

        let lost = post("new").await;
        assert_eq!(lost.status(), code);
        assert_eq!(lost.headers().get("x-embedded-fault").expect("the mark"), word);
        assert_eq!(wire::get(&server, &format!("{MAPS}/new")).await.code, StatusCode::OK);
        assert_eq!(server.requests().by("a").entries()[2].fault, Some(word));
        assert_eq!(server.requests().by("a").counts().faulted, 1);
    }
}
