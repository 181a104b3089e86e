//! Faults on request: what a client sees of each, and whether the write was applied. On the
//! embedded server they are its own; before the real one stands the proxy that has the same.

use std::time::Duration;

use embedded_apiserver::{Fault, FaultPlan, Match, Rule, Verb};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::conformance::answer::*;
use crate::conformance::objects::*;
use crate::conformance::{Case, Outcome, Target, case};

/// Who meets the faults.
const USER: &str = "unlucky";
/// Longer than an answer takes that is not held up.
const WHILE: Duration = Duration::from_secs(3);

fn always(fault: Fault) -> FaultPlan {
    FaultPlan::seeded(1).rule(Rule::new(Match::any().user(USER), fault))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = refusals();
    cases.extend(connections());
    cases.extend(watches());
    cases.extend(aim());
    cases
}

/// A create is refused with this, and there is no object.
async fn refuses(t: &Target, fault: Fault, code: u16, reason: &str) -> Result<Answer, String> {
    let (faulty, sound) = t.with_faults(USER, always(fault));
    let answer = faulty.post(&t.maps(""), &map("a", "v")).await?;
    answer.refused(code, reason)?;
    sound.get(&t.maps("/a")).await?.refused(404, "NotFound")?;
    Ok(answer)
}

/// A create is applied and answers this; the same again is a conflict, whatever was planned.
async fn applied_then(t: &Target, fault: Fault, code: u16, reason: &str) -> Outcome {
    let (faulty, sound) = t.with_faults(USER, always(fault));
    let (path, object) = (t.maps(""), map("a", "v"));
    faulty.post(&path, &object).await?.refused(code, reason)?;
    sound.get(&t.maps("/a")).await?.is(200)?;
    faulty.post(&path, &object).await?.refused(409, "AlreadyExists").map(drop)
}

fn refusals() -> Vec<Case> {
    vec![
        case(
            "forbidden",
            "A forbidden request answers 403 Forbidden, and is not applied.",
            async |t| refuses(t, Fault::Forbidden, 403, "Forbidden").await.map(drop),
        ),
        case(
            "too_many_requests",
            "A request too many answers 429 TooManyRequests with Retry-After, in the details too, and is not applied.",
            async |t| {
                let answer =
                    refuses(t, Fault::TooManyRequests { retry_after_s: 7 }, 429, "TooManyRequests")
                        .await?;
                same("Retry-After", answer.header("retry-after"), "7")?;
                has(&answer.json, json!({ "details": { "retryAfterSeconds": 7 } }))
            },
        ),
        case(
            "internal_error",
            "An internal error answers 500 InternalError, and is not applied.",
            async |t| refuses(t, Fault::InternalError, 500, "InternalError").await.map(drop),
        ),
        case(
            "unavailable",
            "An unavailable server answers 503 ServiceUnavailable, and nothing is applied.",
            async |t| refuses(t, Fault::Unavailable, 503, "ServiceUnavailable").await.map(drop),
        ),
        case(
            "gateway_timeout",
            "A request that takes too long answers 504 Timeout, and is not applied.",
            async |t| refuses(t, Fault::GatewayTimeout, 504, "Timeout").await.map(drop),
        ),
        case(
            "overloaded",
            "An overloaded server answers 429 in plain text with Retry-After, and nothing is applied.",
            async |t| {
                let (faulty, sound) =
                    t.with_faults(USER, always(Fault::Overloaded { retry_after_s: 1 }));
                let answer = faulty.post(&t.maps(""), &map("a", "v")).await?;
                same("the code", answer.code, 429)?;
                same("Retry-After", answer.header("retry-after"), "1")?;
                holds("plain text", answer.header("content-type").starts_with("text/plain"))?;
                sound.get(&t.maps("/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "shutting_down",
            "A server that shuts down answers 503 ServiceUnavailable with Retry-After, and nothing is applied.",
            async |t| {
                let answer = refuses(t, Fault::ShuttingDown, 503, "ServiceUnavailable").await?;
                same("Retry-After", answer.header("retry-after"), "1")
            },
        ),
        case(
            "server_timeout",
            "A server that cannot reach its storage answers 500 ServerTimeout with Retry-After, and nothing is applied.",
            async |t| {
                let fault = Fault::ServerTimeout { retry_after_s: 2 };
                let answer = refuses(t, fault, 500, "ServerTimeout").await?;
                same("Retry-After", answer.header("retry-after"), "2")
            },
        ),
        case(
            "apply_internal_error",
            "A write whose success gets lost answers 500 InternalError and is applied; one that is refused answers its refusal.",
            async |t| applied_then(t, Fault::ApplyInternalError, 500, "InternalError").await,
        ),
        case(
            "apply_gateway_timeout",
            "A write whose success comes too late answers 504 Timeout and is applied; one that is refused answers its refusal.",
            async |t| applied_then(t, Fault::ApplyGatewayTimeout, 504, "Timeout").await,
        ),
        case(
            "conflict",
            "A planned conflict answers 409 Conflict to a write, and reads are spared.",
            async |t| {
                let (faulty, sound) = t.with_faults(USER, always(Fault::Conflict));
                sound.make(&t.maps(""), map("a", "v")).await?;
                faulty
                    .merge(&t.maps("/a"), json!({ "data": { "k": "w" } }))
                    .await?
                    .refused(409, "Conflict")?;
                let read = faulty.get(&t.maps("/a")).await?.is(200)?;
                has(&read, json!({ "data": { "k": "v" } }))
            },
        ),
        case(
            "expired_list",
            "An expired list at an exact version answers 410 Expired; any other list is spared.",
            async |t| {
                let (faulty, _) = t.with_faults(USER, always(Fault::Expired));
                let version = version(&faulty.get(&t.maps("")).await?.is(200)?).to_owned();
                let exact = format!("?resourceVersion={version}&resourceVersionMatch=Exact");
                faulty.get(&t.maps(&exact)).await?.refused(410, "Expired").map(drop)
            },
        ),
    ]
}

/// The request gets no answer; `applied` says what is there then.
async fn lost(t: &Target, fault: Fault, applied: bool) -> Outcome {
    let (faulty, sound) = t.with_faults(USER, always(fault));
    let (path, object) = (t.maps(""), map("a", "v"));
    let answer = timeout(WHILE, faulty.post(&path, &object)).await;
    holds("there is no answer", !matches!(answer, Ok(Ok(_))))?;
    sound.get(&t.maps("/a")).await?.is(if applied { 200 } else { 404 }).map(drop)
}

fn connections() -> Vec<Case> {
    vec![
        case(
            "drop_before",
            "A connection that is dropped before: no answer, and nothing is applied.",
            async |t| lost(t, Fault::DropBefore, false).await,
        ),
        case(
            "drop_after",
            "A connection that is dropped after: no answer, and the write is applied.",
            async |t| lost(t, Fault::DropAfter, true).await,
        ),
        case("never_answer", "A request that is never answered is not applied.", async |t| {
            lost(t, Fault::NeverAnswer, false).await
        }),
        case(
            "apply_never_answer",
            "A request that is applied and never answered is applied.",
            async |t| lost(t, Fault::ApplyNeverAnswer, true).await,
        ),
        case(
            "apply_late",
            "A write that comes late gets no answer; it is not applied before its time, and is applied after it.",
            async |t| {
                lost(t, Fault::ApplyLate { after_ms: 3_600_000 }, false).await?;
                lost(t, Fault::ApplyLate { after_ms: 300 }, true).await
            },
        ),
        case(
            "drop_mid_answer",
            "An answer that breaks off in its middle is none, and the write is applied.",
            async |t| lost(t, Fault::DropMidAnswer, true).await,
        ),
        case(
            "stall_mid_answer",
            "An answer that falls silent in its middle is none, and the write is applied.",
            async |t| lost(t, Fault::StallMidAnswer, true).await,
        ),
        case(
            "latency",
            "A request that is delayed waits first, and then is as any other.",
            async |t| {
                let (faulty, sound) =
                    t.with_faults(USER, always(Fault::Latency { min_ms: 300, max_ms: 400 }));
                let begun = Instant::now();
                faulty.make(&t.maps(""), map("a", "v")).await?;
                holds("it took its time", begun.elapsed() >= Duration::from_millis(300))?;
                sound.get(&t.maps("/a")).await?.is(200).map(drop)
            },
        ),
        case(
            "partition",
            "A user that is cut off gets no answer to anything; others are served.",
            async |t| {
                let (faulty, sound) = t.with_faults(USER, FaultPlan::seeded(1).partition(USER));
                sound.make(&t.maps(""), map("a", "v")).await?;
                let path = t.maps("/a");
                holds("there is no answer", timeout(WHILE, faulty.get(&path)).await.is_err())?;
                sound.get(&path).await?.is(200).map(drop)
            },
        ),
    ]
}

fn watches() -> Vec<Case> {
    const fn cut(mid_line: bool) -> Fault {
        Fault::CutWatch { min_events: 1, max_events: 1, after_ms: None, mid_line }
    }
    vec![
        case(
            "expired_watch",
            "An expired watch says 410 in its stream, as one whose history is gone.",
            async |t| {
                let (faulty, _) = t.with_faults(USER, always(Fault::Expired));
                let version = version(&faulty.get(&t.maps("")).await?.is(200)?).to_owned();
                let mut watch =
                    faulty.watch(&t.maps(&format!("?resourceVersion={version}"))).await?;
                let event = watch.next().await?.unwrap_or_default();
                has(
                    &event,
                    json!({ "type": "ERROR", "object": { "code": 410, "reason": "Expired" } }),
                )
            },
        ),
        case(
            "cut_watch",
            "A watch that is cut between events ends in order, and the next goes on where it ended.",
            async |t| {
                let (faulty, sound) = t.with_faults(USER, always(cut(false)));
                let from = version(&sound.get(&t.maps("")).await?.is(200)?).to_owned();
                sound.make(&t.maps(""), map("a", "v")).await?;
                sound.make(&t.maps(""), map("b", "v")).await?;
                let mut watch = faulty.watch(&t.maps(&format!("?resourceVersion={from}"))).await?;
                let last = watch.event("ADDED", "a").await?;
                same("rest", watch.rest().await?.len(), 0)?;
                let mut watch =
                    faulty.watch(&t.maps(&format!("?resourceVersion={}", version(&last)))).await?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
        case(
            "cut_mid_line",
            "A watch that is cut in a line breaks in the next event.",
            async |t| {
                let (faulty, sound) = t.with_faults(USER, always(cut(true)));
                let from = version(&sound.get(&t.maps("")).await?.is(200)?).to_owned();
                sound.make(&t.maps(""), map("a", "v")).await?;
                sound.make(&t.maps(""), map("b", "v")).await?;
                let mut watch = faulty.watch(&t.maps(&format!("?resourceVersion={from}"))).await?;
                watch.event("ADDED", "a").await?;
                holds("the next event is no whole one", watch.next().await.is_err())
            },
        ),
        case(
            "stall_watch",
            "A watch that stalls shows nothing more and does not end; others go on.",
            async |t| {
                let stall = Fault::StallWatch { min_events: 1, max_events: 1 };
                let (faulty, sound) = t.with_faults(USER, always(stall));
                let from = version(&sound.get(&t.maps("")).await?.is(200)?).to_owned();
                let path = t.maps(&format!("?resourceVersion={from}"));
                let (mut stalled, mut flowing) =
                    (faulty.watch(&path).await?, sound.watch(&path).await?);
                sound.make(&t.maps(""), map("a", "v")).await?;
                sound.make(&t.maps(""), map("b", "v")).await?;
                flowing.event("ADDED", "a").await?;
                flowing.event("ADDED", "b").await?;
                stalled.event("ADDED", "a").await?;
                holds("nothing comes", timeout(WHILE, stalled.next()).await.is_err())
            },
        ),
        case(
            "withhold_bookmarks",
            "A watch whose bookmarks are withheld shows the objects it begins with and, if even that is withheld, no mark of their end.",
            async |t| {
                t.map("a", "v").await?;
                let path = t.maps(
                    "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                );
                for end_mark in [false, true] {
                    let (faulty, sound) =
                        t.with_faults(USER, always(Fault::WithholdBookmarks { end_mark }));
                    if sound.get(&t.maps("/a")).await?.code == 404 {
                        sound.make(&t.maps(""), map("a", "v")).await?;
                    }
                    let mut watch = faulty.watch(&path).await?;
                    let mut seen = Vec::new();
                    while !seen.iter().any(|seen| seen == "BOOKMARK")
                        && let Ok(event) = timeout(WHILE, watch.next()).await
                    {
                        seen.push(text(&event?.unwrap_or_default(), "/type").to_owned());
                    }
                    let marks = if end_mark { &["ADDED"][..] } else { &["ADDED", "BOOKMARK"] };
                    same("the events", seen, marks)?;
                }
                Ok(())
            },
        ),
        case(
            "garbage_line",
            "A line that is no JSON comes between two events, and the watch goes on.",
            async |t| {
                let garbage = Fault::GarbageLine { min_events: 1, max_events: 1 };
                let (faulty, sound) = t.with_faults(USER, always(garbage));
                let from = version(&sound.get(&t.maps("")).await?.is(200)?).to_owned();
                sound.make(&t.maps(""), map("a", "v")).await?;
                sound.make(&t.maps(""), map("b", "v")).await?;
                let mut watch = faulty.watch(&t.maps(&format!("?resourceVersion={from}"))).await?;
                watch.event("ADDED", "a").await?;
                holds("a line is no JSON", watch.next().await.is_err())?;
                watch.event("ADDED", "b").await.map(drop)
            },
        ),
    ]
}

fn aim() -> Vec<Case> {
    vec![
        case("only_that_user", "A fault for one user spares every other.", async |t| {
            let (faulty, sound) = t.with_faults(USER, always(Fault::Unavailable));
            faulty.get(&t.maps("")).await?.is(503)?;
            sound.get(&t.maps("")).await?.is(200).map(drop)
        }),
        case(
            "only_those_verbs",
            "A fault for a verb and a resource spares other verbs and resources.",
            async |t| {
                let aimed = Match::any().user(USER).verb(Verb::List).resource("configmaps");
                let plan = FaultPlan::seeded(1).rule(Rule::new(aimed, Fault::Unavailable));
                let (faulty, _) = t.with_faults(USER, plan);
                faulty.get(&t.maps("")).await?.is(503)?;
                faulty.get(&t.leases("")).await?.is(200)?;
                faulty.get(&t.maps("/a")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "only_that_name",
            "A fault for the object of a name spares its neighbours.",
            async |t| {
                let aimed = Match::any().user(USER).name("a");
                let plan = FaultPlan::seeded(1).rule(Rule::new(aimed, Fault::Unavailable));
                let (faulty, _) = t.with_faults(USER, plan);
                faulty.get(&t.maps("/a")).await?.is(503)?;
                faulty.get(&t.maps("/b")).await?.refused(404, "NotFound").map(drop)
            },
        ),
        case(
            "only_those_calls",
            "A fault for the second and third call spares the others.",
            async |t| {
                let rule = Rule::new(Match::any().user(USER), Fault::Unavailable).calls(2..=3);
                let (faulty, _) = t.with_faults(USER, FaultPlan::seeded(1).rule(rule));
                for code in [200, 503, 503, 200] {
                    faulty.get(&t.maps("")).await?.is(code)?;
                }
                Ok(())
            },
        ),
    ]
}
