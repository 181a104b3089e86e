//! Counters, the bounded ring, questions about time, assertions.

use super::ring::MAX_SERIES;
use super::{Outcome, RequestLog};
use crate::clock::Clock;
use crate::request_info::{RequestInfo, Verb};
use http::{Method, Uri};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

fn request(method: Method, uri: &'static str) -> RequestInfo {
    RequestInfo::of(&method, &Uri::from_static(uri))
}

fn note(log: &RequestLog, user: &str, method: Method, uri: &'static str, outcome: Outcome) {
    log.arrived(&Arc::from(user), &request(method, uri), 0).finish(outcome);
}

fn new_log(capacity: usize) -> RequestLog {
    RequestLog::new(capacity, Clock::starting_at(SystemTime::UNIX_EPOCH))
}

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/x";
const PVS: &str = "/api/v1/persistentvolumes";

#[tokio::test(start_paused = true)]
async fn counts_are_kept_by_user_verb_and_resource() {
    let log = new_log(10);
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(200));
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(409));
    note(&log, "b", Method::PUT, LEASE, Outcome::Disconnected);
    note(&log, "a", Method::POST, PVS, Outcome::Answered(201));
    note(&log, "a", Method::GET, PVS, Outcome::Answered(200));

    log.all().assert_exactly(5);
    log.writes_to("leases").assert_exactly(3);
    log.writes_to("leases.coordination.k8s.io").by("a").assert_exactly(2);
    log.writes_to("leases.example.com").assert_none();
    log.by("a").writes().except_resource("leases").assert_exactly(1);
    log.reads_of("persistentvolumes").verb(Verb::List).assert_exactly(1);
    assert_eq!(log.writes_to("leases").answered_with(409), 1);
    assert_eq!(log.writes_to("leases").counts().unanswered, 1);
    assert_eq!(log.counts().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn counters_outlive_the_ring() {
    let log = new_log(3);
    for _ in 0..10 {
        note(&log, "a", Method::POST, PVS, Outcome::Answered(201));
    }
    assert_eq!(log.all().entries().len(), 3);
    assert_eq!(log.all().answered_with(201), 10);
    let oldest = log.all().entries()[0].seq;
    assert_eq!(oldest, 7);
    assert!(log.all().entries_from(6).is_err());
    let (entries, next) = log.all().entries_from(8).expect("still kept");
    assert_eq!((entries.len(), next), (2, 10));
    assert_eq!(log.all().entries_from(99).expect("the future is empty").0.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_write_after_a_moment_is_exact_or_refused() {
    let log = new_log(4);
    let start = tokio::time::Instant::now().into_std();
    note(&log, "b", Method::PUT, LEASE, Outcome::Answered(200));
    tokio::time::advance(Duration::from_secs(1)).await;
    let killed = tokio::time::Instant::now().into_std();
    tokio::time::advance(Duration::from_millis(5)).await;
    note(&log, "b", Method::GET, PVS, Outcome::Answered(200));
    note(&log, "b", Method::PUT, LEASE, Outcome::Answered(200));
    note(&log, "b", Method::POST, PVS, Outcome::Answered(201));

    let first = log.by("b").writes().first_since(killed).expect("kept").expect("there is one");
    assert_eq!((first.seq, first.at - killed), (2, Duration::from_millis(5)));
    let beside_leases = log.by("b").writes().except_resource("leases").first_since(killed);
    assert_eq!(beside_leases.expect("kept").expect("there is one").seq, 3);
    assert!(log.by("c").writes().first_since(killed).expect("kept").is_none());

    note(&log, "b", Method::POST, PVS, Outcome::Answered(201));
    assert!(
        log.all().first_since(killed).is_ok(),
        "only an entry from before that moment was given up"
    );
    let refused = log.all().first_since(start).expect_err("the first entry was given up");
    assert_eq!(refused.oldest_seq, 1);
    assert!(refused.to_string().contains("request_log_capacity"));
}

#[tokio::test(start_paused = true)]
async fn a_request_is_seen_at_arrival_and_its_end_is_filled_in() {
    let log = new_log(4);
    let mut recording = log.arrived(&Arc::from("a"), &request(Method::PUT, LEASE), 0);
    recording.faulted("never_answer");
    assert_eq!(log.all().entries()[0].outcome, Outcome::Pending);
    assert_eq!(log.all().counts().faulted, 1);
    tokio::time::advance(Duration::from_millis(7)).await;
    drop(recording);
    let entry = log.all().entries().remove(0);
    assert_eq!(entry.outcome, Outcome::Abandoned);
    assert_eq!(entry.took, Some(Duration::from_millis(7)));
    assert_eq!(entry.fault, Some("never_answer"));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_count_ends_with_the_request_that_reaches_it() {
    let log = new_log(4);
    let mut waiting = wait_for_two(log.clone());
    tokio::task::yield_now().await;
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(200));
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(200));
    (&mut waiting).await.expect("no panic");
}

fn wait_for_two(log: RequestLog) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move { log.writes_to("leases").reached(2).await })
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "expected at most 1 writes of leases, saw 2")]
async fn a_failed_assertion_says_what_was_seen() {
    let log = new_log(4);
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(200));
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(409));
    log.writes_to("leases").assert_at_most(1);
}

#[tokio::test(start_paused = true)]
async fn invented_resources_do_not_grow_the_counters_without_bound() {
    let log = new_log(4);
    for number in 0..MAX_SERIES + 100 {
        let uri: Uri = format!("/api/v1/kind{number}").parse().expect("a valid URI");
        log.arrived(&Arc::from("a"), &RequestInfo::of(&Method::GET, &uri), 0)
            .finish(Outcome::Answered(404));
    }
    assert_eq!(log.counts().len(), MAX_SERIES + 1);
    log.reads_of("(other)").assert_exactly(100);
}

/// A log whose counters are all taken, by reads of the user `a`.
fn full_log() -> RequestLog {
    let log = new_log(4);
    for number in 0..MAX_SERIES {
        let uri: Uri = format!("/api/v1/kind{number}").parse().expect("a valid URI");
        log.arrived(&Arc::from("a"), &RequestInfo::of(&Method::GET, &uri), 0)
            .finish(Outcome::Answered(404));
    }
    log
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "1 of them (no longer counted by resource) may be such")]
async fn nothing_is_asserted_of_a_resource_that_is_no_longer_counted_apart() {
    let log = full_log();
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(200));
    log.writes_to("leases").assert_none();
}

#[tokio::test(start_paused = true)]
async fn what_is_no_longer_counted_apart_spoils_no_other_assertion() {
    let log = full_log();
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(200));
    log.writes_to("leases").by("b").assert_none();
    log.reads_of("leases").assert_none();
    log.reads_of("kind7").assert_exactly(1);
    log.by("a").writes().assert_exactly(1);
    // One is certain, however many there may be.
    note(&log, "b", Method::PUT, LEASE, Outcome::Answered(200));
    log.all().assert_at_least(1);
}

#[tokio::test(start_paused = true)]
async fn what_may_be_of_an_excepted_resource_is_counted_once_and_is_in_doubt() {
    let log = full_log();
    note(&log, "a", Method::PUT, LEASE, Outcome::Answered(200));
    note(&log, "a", Method::POST, PVS, Outcome::Answered(201));
    let others = log.by("a").writes().except_resource("leases");
    // No counter knows which of the two are no leases.
    assert_eq!((others.count(), others.rows().len()), (0, 0));
    others.assert_at_most(2);
    let doubt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| others.assert_exactly(2)));
    let doubt = doubt.expect_err("there may be fewer");
    let message = doubt.downcast_ref::<String>().expect("a message");
    assert!(
        message.contains("saw 0, and 2 of them (no longer counted by resource) may be such"),
        "{message}"
    );
}
