//! A cache that survives the compaction of the history it resumes from.

mod subject;

use std::collections::BTreeSet;
use std::time::Duration;

use control_plane::ControlPlane;
use kube::Client;
use reconciler::CacheConfig;
use tokio::runtime::{Builder, Runtime};
use verify::real::Own;

use crate::election::judge::{Judge, for_a_time, now, wait_for};
use crate::election::replica::Place;
use crate::figure::figure;
use subject::{Gate, Subject, create_all, namespace};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// How the server refuses to resume a watch from here: as an HTTP status, as an event, or not at
/// all.
async fn refusal(client: &Client, space: &str, version: u64) -> &'static str {
    let path = format!(
        "/api/v1/namespaces/{space}/configmaps?watch=true&resourceVersion={version}&timeoutSeconds=1"
    );
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    match client.request_text(request).await {
        Err(kube::Error::Api(status)) if status.code == 410 => "as HTTP status",
        Err(error) => panic!("{error}"),
        Ok(text) if text.contains("\"code\":410") => "as an event",
        Ok(_) => "not at all",
    }
}

/// Creates, changes, deletes and replaces objects while the subject's link is cut; then its history
/// is taken away.
fn a_gap(own: &mut Own, runtime: &Runtime, space: &str, restart: bool) {
    let subject = runtime.block_on(async {
        create_all(&namespace(own, space).await, (0..20).map(|number| format!("m{number:02}")))
            .await;
        let subject = Subject::start(own, space, CacheConfig::new(), Gate::default()).await;
        subject.settles("the start").await;
        subject
    });

    // A gap whose history is still there costs no list.
    let before = subject.requests();
    runtime.block_on(async {
        subject.link.cut();
        subject.touch("m00", "while away").await;
        subject.delete("m01").await;
        subject.create("m20").await;
        subject.link.mend();
        subject.settles("a short gap").await;
    });
    let short = subject.requests();
    assert_eq!(short.0, before.0, "a watch that can be resumed needs no list");

    // One whose history is gone costs one.
    let resumes_from = runtime.block_on(async {
        let newest = subject.truth().await.values().map(|seen| seen.1).max().unwrap();
        subject.link.cut();
        for number in 2..7 {
            subject.delete(&format!("m{number:02}")).await;
        }
        for number in 7..12 {
            subject.touch(&format!("m{number:02}"), "while away").await;
        }
        create_all(&subject.api, (30..35).map(|number| format!("m{number:02}"))).await;
        subject.delete("m12").await;
        subject.create("m12").await;
        newest
    });
    let before = subject.requests();
    let changes = subject.log.lock().unwrap().changes.len();
    own.compact().unwrap();
    if restart {
        own.restart_api_server().unwrap();
    }
    let (lists, watches, form) = runtime.block_on(async {
        let form = refusal(&subject.admin, space, resumes_from).await;
        assert_eq!(subject.requests().0, before.0, "no list can have gone through");
        subject.link.mend();
        subject.settles("a gap that was compacted away").await;
        let after = subject.requests();
        (after.0 - before.0, after.1 - before.1, form)
    });
    figure(&format!(
        "compaction: {space}: 410 comes {form}; {lists} list and {watches} watch requests to catch up"
    ));
    assert_eq!(lists, 1, "one list, and no storm");
    let log = subject.log.lock().unwrap();
    let told = &log.changes[changes..];
    let gone: BTreeSet<&str> =
        told.iter().filter(|(_, _, new)| new.is_none()).map(|(name, ..)| &**name).collect();
    assert_eq!(
        gone,
        ["m02", "m03", "m04", "m05", "m06", "m12"].into(),
        "deletions are seen as such"
    );
    assert_eq!(told.len(), 5 + 5 + 5 + 2, "{told:?}");
    drop(log);

    // Then it watches again.
    runtime.block_on(async {
        subject.touch("m30", "again").await;
        subject.settles("after it").await;
        assert_eq!(subject.requests().0, before.0 + 1);
    });
    subject.assert_forwards();
    let report = runtime.block_on(subject.stop());
    assert!(report.is_clean() && report.controllers[0].errors == 0, "{report:?}");
}

#[test]
fn a_gap_compacted_away_costs_one_list_and_loses_nothing() {
    // With the API server's watch cache, which remembers more than etcd until it is restarted.
    let Some(mut own) = verify::real::own(ControlPlane::builder()) else { return };
    let runtime = runtime();
    a_gap(&mut own, &runtime, "with-watch-cache", true);

    // The API server restarts while the link stands: nothing is lost, and there is no storm.
    let subject = runtime.block_on(async {
        create_all(
            &namespace(&own, "restart").await,
            (0..20).map(|number| format!("m{number:02}")),
        )
        .await;
        let subject = Subject::start(&own, "restart", CacheConfig::new(), Gate::default()).await;
        subject.settles("the start").await;
        subject.delete("m00").await;
        subject.touch("m01", "just before").await;
        subject
    });
    let before = subject.requests();
    own.restart_api_server().unwrap();
    runtime.block_on(async {
        subject.delete("m02").await;
        subject.touch("m03", "just after").await;
        subject.settles("after the restart").await;
    });
    let after = subject.requests();
    figure(&format!(
        "compaction: a restart of the API server: {} list and {} watch requests, refused connections included",
        after.0 - before.0,
        after.1 - before.1
    ));
    assert!(after.0 - before.0 <= 1, "at most one list");
    assert!(after.1 - before.1 <= 15, "pauses that double");
    subject.assert_forwards();
    runtime.block_on(subject.stop());
}

#[test]
fn a_gap_compacted_away_without_a_watch_cache_and_a_token_that_expires_mid_list() {
    let builder = ControlPlane::builder().api_server_flag("--watch-cache=false");
    let Some(mut own) = verify::real::own(builder) else { return };
    let runtime = runtime();
    a_gap(&mut own, &runtime, "without-watch-cache", false);

    // Ten pages; before the fifth the version they are all of is compacted away.
    let gate = Gate::before_page(5);
    let subject = runtime.block_on(async {
        let began = tokio::time::Instant::now();
        create_all(
            &namespace(&own, "pages").await,
            (0..OBJECTS).map(|number| format!("m{number:05}")),
        )
        .await;
        figure(&format!("compaction: {OBJECTS} config maps made in {:?}", began.elapsed()));
        let subject =
            Subject::start(&own, "pages", CacheConfig::new().page_size(PAGE), gate.clone()).await;
        let reached = tokio::time::timeout(Duration::from_secs(30), gate.reached.notified()).await;
        reached.expect("the fifth page is asked for");
        assert!(
            subject.cache.is_empty() && !subject.cache.is_synced(),
            "lists are taken over whole"
        );
        subject.delete("m00000").await;
        subject.create("late").await;
        subject
    });
    own.compact().unwrap();
    runtime.block_on(async {
        gate.open.notify_one();
        subject.settles("the list that began anew").await;
    });
    let (lists, _) = subject.requests();
    figure(&format!(
        "compaction: {lists} list requests for a list of {} pages that began anew at its fifth",
        OBJECTS / PAGE
    ));
    assert_eq!(
        lists,
        u64::from(5 + OBJECTS / PAGE),
        "four pages, the one refused, and all of them again"
    );
    let log = subject.log.lock().unwrap();
    assert!(
        log.changes.iter().all(|(name, ..)| name != "m00000"),
        "it was never in a list taken over"
    );
    drop(log);
    subject.assert_forwards();
    runtime.block_on(subject.stop());
    a_standby(&own);
}

/// A standby whose watch of the Lease cannot be resumed reads it again, and watches on.
fn a_standby(own: &Own) {
    let place = Place::new(own, "standby", &["a", "b"]);
    let judge = Judge::new();
    let soon = Duration::from_secs(10);
    let a = place.start(&judge, "a", place.config("lease", "a").fast());
    let led = judge.await_leader("lease", soon);
    let (b, link) = place.start_behind_a_link(&judge, "b", place.config("lease", "b").fast());
    let watching = |so: bool| wait_for(soon, || (b.elector.status().watching == so).then_some(()));
    watching(true).expect("it watches");
    link.cut();
    watching(false).expect("it notices");
    let renewed = a.elector.stats().renewals;
    wait_for(soon, || (a.elector.stats().renewals >= renewed + 2).then_some(()))
        .expect("renewals go on");
    own.compact().unwrap();
    link.mend();
    watching(true).expect("it watches again");
    // Long enough for a watch that began from too old a version to have ended.
    for_a_time(Duration::from_millis(500));
    watching(true).expect("it watches on");
    let stopped = now();
    a.stopper().stop();
    let next = judge.await_term("the standby", soon, |term| term.fence > led.fence);
    let took = next.began.since(stopped);
    figure(&format!(
        "compaction: hand-over to a standby whose history was compacted away: {took:?}"
    ));
    assert!(took <= Duration::from_millis(500), "{took:?}");
    judge.assert_exclusive();
}

const OBJECTS: u32 = 5000;
const PAGE: u32 = 500;
