//! However a run ends, no process and no file of it stays.

use std::time::Duration;

use rustix::process::Signal;

use super::stage::{World, now, provisioner, sleep, stand_in};

/// A small run takes about so long; moments are drawn from it.
const SPAN_MS: u64 = 12_000;

/// Nothing is left of a run that could not clean up itself, given a moment.
#[track_caller]
pub(crate) fn assert_empty_soon(world: &World) {
    let start = now();
    while !world.left().is_empty() && start.elapsed() < Duration::from_secs(5) {
        sleep(Duration::from_millis(20));
    }
    world.assert_empty();
}

#[test]
fn sigint_at_ten_random_moments_leaves_nothing() {
    provisioner();
    for round in 0..10_u64 {
        let world = World::new();
        // One in each tenth of the run, so that every phase is met.
        let moment = Duration::from_millis(round * SPAN_MS / 10 + fastrand::u64(0..SPAN_MS / 10));
        let start = now();
        let mut run = world.start(&["--claims", "40", "--seed", "5"]);
        while start.elapsed() < moment && !run.ended() {
            sleep(Duration::from_millis(2));
        }
        let early = run.ended();
        if !early {
            run.signal(Signal::INT);
        }
        let outcome = run.wait();
        let expected: &[i32] = if early { &[0] } else { &[130, 0] };
        assert!(
            outcome.status.code().is_some_and(|code| expected.contains(&code)),
            "after {moment:?}: {outcome:?}"
        );
        if outcome.status.code() == Some(130) {
            assert!(outcome.stderr.contains("demo: cleaned up: "), "after {moment:?}: {outcome:?}");
        }
        world.assert_empty();
    }
}

#[test]
fn sigterm_and_sighup_leave_nothing_either() {
    for (signal, status) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let world = World::new();
        let run = world.start(&["--claims", "40"]);
        sleep(Duration::from_secs(2));
        run.signal(signal);
        let outcome = run.wait();
        assert_eq!(outcome.status.code(), Some(status), "{outcome:?}");
        world.assert_empty();
    }
}

#[test]
fn sigkill_of_the_demo_itself_leaves_nothing() {
    for moment in [300, 1500, 5000] {
        let world = World::new();
        let run = world.start(&["--claims", "40"]);
        sleep(Duration::from_millis(moment));
        run.signal(Signal::KILL);
        assert_eq!(run.wait().status.code(), None);
        assert_empty_soon(&world);
    }
}

#[test]
fn a_run_that_gets_nowhere_ends_at_its_time_limit_and_says_where_it_stuck() {
    let world = World::new();
    let idle = stand_in(world.path(), "echo idling >&2; exec sleep 1000");
    let outcome = world.start_with(&idle, &["--claims", "20", "--timeout", "11s"]).wait();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(
        outcome.stderr.contains("not done after --timeout 11s; stuck while electing"),
        "{outcome:?}"
    );
    assert!(
        outcome.stderr.contains("no leader among replica-1, replica-2, replica-3"),
        "{outcome:?}"
    );
    assert_eq!(outcome.stderr.matches("idling").count(), 3, "{outcome:?}");
    assert!(outcome.summary().starts_with("demo: claims=0 bound=0"), "{outcome:?}");
    assert_eq!(outcome.verdict(), "FAILED");
    world.assert_empty();
}
