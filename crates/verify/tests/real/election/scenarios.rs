//! Scenarios: what broke two leaders loose elsewhere, each by the name that it was measured under,
//! on electors as processes. Each says how long after its fault the next one led, if one was to.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use lease_election::Loss;
use serde_json::json;

use super::contest::{Contest, LONG, SHORT, SHORTEST};
use super::judge::{for_a_time, now, wait_for};
use super::{MS, SOON};

/// In which round, on which lease.
pub(crate) type Scenario = fn(usize, &Contest<'_>) -> Option<Duration>;

pub(crate) const SCENARIOS: [(&str, Scenario); 16] = [
    ("pauseterm", pauseterm),
    ("heal", heal),
    ("blackhole", blackhole),
    ("slowrelease", slowrelease),
    ("regain", regain),
    ("pause", pause),
    ("healthy", healthy),
    ("delete", delete),
    ("sameid", sameid),
    ("winddown", winddown),
    ("mixed", mixed),
    ("stranded", stranded),
    ("foreign", foreign),
    ("skew", skew),
    ("race", race),
    ("sigkill", sigkill),
];

fn api(contest: &Contest<'_>) -> Api<Lease> {
    Api::namespaced(contest.place.admin.clone(), &contest.place.namespace)
}

/// Stopped in its tracks, replaced, asked to end, and only then let go on: it must not give back
/// what is another's.
fn pauseterm(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (old, _others, led) = contest.crowd(SHORT, 2);
    let since = now();
    old.pause();
    let next = contest.await_another(&led);
    for_a_time(500 * MS);
    old.terminate();
    old.resume();
    contest.stays(&next, 1000 * MS);
    old.await_end();
    Some(next.began.since(since))
}

/// Cut off, replaced, and heard again half a second later, with all it had sent meanwhile.
fn heal(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (old, _others, led) = contest.crowd(SHORT, 2);
    let since = now();
    old.link.stall();
    let next = contest.await_another(&led);
    for_a_time(500 * MS);
    old.link.mend();
    contest.stays(&next, 1000 * MS);
    old.await_watching();
    Some(next.began.since(since))
}

/// Cut off for good: both ways, or only the one or the other. In every second round its last
/// renewal is answered late, by more than it has to stop in.
fn blackhole(round: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (old, _others, led) = contest.crowd(SHORT, 2);
    let late = round % 2 == 1;
    if late {
        old.link.delay(Duration::ZERO, 450 * MS);
        let known = contest.history().len();
        let renewed = wait_for(SOON, || (contest.history().len() >= known + 2).then_some(()));
        assert!(renewed.is_some(), "{}: no renewals", contest.lease);
    }
    let since = now();
    match round / 2 % 3 {
        _ if late => old.link.hold_requests(),
        0 => old.link.stall(),
        1 => old.link.hold_requests(),
        _ => old.link.hold_replies(),
    }
    let next = contest.await_another(&led);
    contest.await_over(&led);
    contest.stays(&next, 700 * MS);
    Some(next.began.since(since))
}

/// Cut off until its term is nearly over; then the server hears it, and its release, and no answer
/// comes.
fn slowrelease(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (old, _others, led) = contest.crowd(SHORT, 2);
    let since = now();
    old.link.stall();
    for_a_time(900 * MS);
    old.terminate();
    old.link.pass_requests();
    let next = contest.await_another(&led);
    contest.stays(&next, 700 * MS);
    old.link.mend();
    old.await_end();
    Some(next.began.since(since))
}

/// Another leads in between, and the first one leads again: that is another term.
fn regain(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (first, mut others, led) = contest.crowd(SHORT, 1);
    let since = now();
    first.link.stall();
    let next = contest.await_another(&led);
    let over = contest.await_over(&led);
    first.link.mend();
    first.await_watching();
    let second = others.pop().unwrap();
    second.terminate();
    let again = contest.await_another(&next);
    second.await_end();
    assert_eq!((&*again.identity, over.loss), (first.identity(), Some(Loss::Expired)));
    Some(next.began.since(since))
}

/// Stopped in its tracks until a second after its successor began.
fn pause(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (old, _others, led) = contest.crowd(SHORT, 2);
    let since = now();
    old.pause();
    let next = contest.await_another(&led);
    for_a_time(1000 * MS);
    old.resume();
    contest.await_over(&led);
    contest.stays(&next, 700 * MS);
    Some(next.began.since(since))
}

/// Nothing happens, on the shortest lease there is: whoever leads is not robbed.
fn healthy(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (_leader, _others, led) = contest.crowd(SHORTEST, 2);
    contest.stays(&led, 4000 * MS);
    for term in contest.terms() {
        contest.stays(&term, Duration::ZERO);
    }
    None
}

/// The Lease is deleted under its leader, which in some rounds does not hear of it: those that saw
/// it wait until its lease has run out.
fn delete(round: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (leader, _others, _) = contest.crowd(SHORT, 2);
    let led = contest.await_leader();
    let deaf = round % 2 == 1 && led.identity == leader.identity();
    let since = now();
    if deaf {
        leader.link.stall();
    }
    contest
        .place
        .runtime
        .block_on(api(contest).delete(&contest.lease, &DeleteParams::default()))
        .unwrap();
    let deleted = now();
    let over = contest.await_over(&led);
    assert!(deaf || over.valid_until.since(deleted) < SHORT.notice(), "{over:?}");
    let next = contest.await_next(&led);
    contest.stays(&next, 500 * MS);
    Some(next.began.since(since))
}

/// Two processes with one identity.
fn sameid(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let same = format!("{}-twin", contest.lease);
    let (first, _others, led) =
        contest.crowd_with(SHORT, 1, |orders, _| orders.identity.clone_from(&same));
    contest.stays(&led, 1000 * MS);
    let since = now();
    first.kill();
    let next = contest.await_next(&led);
    Some(next.began.since(since))
}

/// Work that goes on for 800 ms after it was asked to stop: nobody else begins before it has ended.
fn winddown(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let wind_up = 800 * MS;
    let crowd = contest.crowd_with(SHORT, 2, |orders, _| orders.wind_up = wind_up);
    let (old, _others, led) = contest.who_leads(crowd);
    let since = now();
    old.terminate();
    let next = contest.await_next(&led);
    old.await_end();
    let over = contest.await_over(&led);
    let wound_up = over.valid_until.since(since) >= 700 * MS;
    assert!(wound_up || over.loss == Some(Loss::Expired), "the work had no time: {over:?}");
    Some(next.began.since(over.valid_until))
}

/// Those that wait have leases of half the length, and wait for the leader's all the same.
fn mixed(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let old = contest.start(LONG);
    let led = contest.await_term("a first term", |_| true);
    let others = [contest.start(SHORT), contest.start(SHORT)];
    others.iter().for_each(super::contest::Candidate::await_watching);
    let since = now();
    old.link.stall();
    let next = contest.await_another(&led);
    Some(next.began.since(since))
}

/// Asked to end while the Lease that it made is there and the answer is not.
fn stranded(round: usize, contest: &Contest<'_>) -> Option<Duration> {
    let old = contest.start_with(SHORT, |_, link| link.delay(Duration::ZERO, 150 * MS));
    let made = wait_for(SOON, || {
        contest.history().iter().any(|told| told.holder == old.identity()).then_some(())
    });
    assert!(made.is_some(), "{}: nobody makes the Lease", contest.lease);
    old.link.hold_replies();
    let since = now();
    old.terminate();
    let other = contest.start(SHORT);
    if round.is_multiple_of(2) {
        for_a_time(300 * MS);
        old.link.mend();
    }
    let next = contest.await_term("the other", |term| term.identity == other.identity());
    old.await_end();
    Some(next.began.since(since))
}

/// A merge patch names another holder.
fn foreign(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let (_leader, _others, _) = contest.crowd(SHORT, 2);
    let led = contest.await_leader();
    let since = now();
    let patch = Patch::Merge(json!({ "spec": { "holderIdentity": "stranger" } }));
    let patching =
        async { api(contest).patch(&contest.lease, &PatchParams::default(), &patch).await };
    contest.place.runtime.block_on(patching).unwrap();
    let patched = now();
    let over = contest.await_over(&led);
    assert!(over.valid_until.since(patched) < SHORT.notice(), "{over:?}");
    let next = contest.await_next(&led);
    assert!(
        next.began.since(since) >= SHORT.lease,
        "the stranger's lease was not waited for: {next:?}"
    );
    Some(next.began.since(since))
}

/// The wall clocks of those that wait are an hour ahead, or behind.
fn skew(round: usize, contest: &Contest<'_>) -> Option<Duration> {
    let old = contest.start(SHORT);
    let led = contest.await_term("a first term", |_| true);
    let ahead = if round.is_multiple_of(2) { 3600 } else { -3600 };
    let others = [0; 2].map(|_| contest.start_with(SHORT, |orders, _| orders.ahead = ahead));
    others.iter().for_each(super::contest::Candidate::await_watching);
    contest.stays(&led, 1500 * MS);
    let since = now();
    old.kill();
    let next = contest.await_next(&led);
    contest.stays(&next, 500 * MS);
    Some(next.began.since(since))
}

/// Three wait for the same lease to run out, and their writes and the answers take long.
fn race(_: usize, contest: &Contest<'_>) -> Option<Duration> {
    let old = contest.start(SHORT);
    let led = contest.await_term("a first term", |_| true);
    let others = [0; 3].map(|_| contest.start(SHORT));
    others.iter().for_each(super::contest::Candidate::await_watching);
    for candidate in &others {
        candidate.link.delay(150 * MS, 100 * MS);
    }
    let since = now();
    old.kill();
    let next = contest.await_next(&led);
    contest.stays(&next, 1000 * MS);
    Some(next.began.since(since))
}

/// Ended without a word, at some moment between two renewals.
fn sigkill(round: usize, contest: &Contest<'_>) -> Option<Duration> {
    let crowd = contest.crowd(SHORT, 2);
    for_a_time(u32::try_from(round * 137 % 400).unwrap() * MS);
    let (old, _others, led) = contest.who_leads(crowd);
    let since = now();
    old.kill();
    let next = contest.await_next(&led);
    Some(next.began.since(since))
}
