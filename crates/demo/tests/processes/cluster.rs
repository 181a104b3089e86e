//! On a cluster of the user's the demo neither judges nor touches foreign objects, and leaves none
//! of its own.

use std::time::Duration;

use rustix::process::Signal;

use super::interrupted::assert_empty_soon;
use super::stage::{World, sleep};
use super::theirs::Theirs;

const SMALL: [&str; 4] = ["--claims", "40", "--seed", "3"];

#[test]
fn a_run_on_a_cluster_judges_and_touches_only_its_own_and_leaves_nothing_there() {
    let world = World::new();
    let theirs = Theirs::new(&world);
    sleep(Duration::from_millis(200));
    let before = theirs.everything();
    let outcome = world.start(&theirs.args(&SMALL)).wait();
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(outcome.verdict(), "PASSED");
    let summary = outcome.summary();
    assert!(
        summary.starts_with("demo: claims=40 bound=40 lost=0 duplicated=0 orphaned=0"),
        "{summary}"
    );
    assert!(summary.contains(" engine=kube-apiserver/v"), "{summary}");
    assert_eq!(theirs.everything(), before);
    let mine = theirs.server.requests().by("me");
    assert!(mine.count() > 100);
    for entry in mine.writes().entries() {
        let (namespace, name) = (entry.request.namespace.as_deref(), entry.request.name.as_deref());
        assert!(
            namespace.is_none_or(|name| name.starts_with("wq-demo-") || name == "default"),
            "{entry}"
        );
        assert_ne!(name, Some("pvc-theirs"), "{entry}");
    }
    world.assert_empty();
}

#[test]
fn a_signal_and_even_sigkill_leave_nothing_on_the_cluster() {
    for (signal, status) in
        [(Signal::INT, Some(130)), (Signal::TERM, Some(143)), (Signal::KILL, None)]
    {
        let world = World::new();
        let theirs = Theirs::new(&world);
        sleep(Duration::from_millis(200));
        let before = theirs.everything();
        let mut run = world.start(&theirs.args(&SMALL));
        theirs.wait_for_volumes(&mut run);
        run.signal(signal);
        let outcome = run.wait();
        assert_eq!(outcome.status.code(), status, "{outcome:?}");
        theirs.assert_as_before(&before);
        assert_empty_soon(&world);
    }
}

#[test]
fn a_server_process_that_is_killed_leaves_the_remedy() {
    let world = World::new();
    let theirs = Theirs::new(&world);
    let mut run = world.start(&theirs.args(&SMALL));
    theirs.wait_for_volumes(&mut run);
    let processes = world.left();
    let server = processes.iter().find(|line| line.contains(" serve --dir ")).unwrap();
    let pid = server.split(['/', ':']).nth(2).unwrap().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL)
        .unwrap();
    let outcome = run.wait();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    for words in ["may still be on the cluster", "-l demo.wq-rs.dev/run=", r#""finalizers":null"#] {
        assert_eq!(outcome.stderr.matches(words).count(), 1, "{words}: {outcome:?}");
    }
    assert_eq!(outcome.verdict(), "FAILED");
    world.assert_empty();
}
