//! Tests of a grant of which it is unknown which leader came before it.

use super::coordinated::led_by;
use super::*;

fn read(bench: &mut Bench, now: Moment) {
    let read = bench.candidate.begin_read(now);
    let _ = bench.candidate.read(now, read, Ok(bench.lease.clone()));
}

/// Nothing is written until the last moment at which an unseen leader may act. Then the grant is
/// claimed.
fn claims_a_lease_after(bench: &mut Bench, met: Moment) {
    let grant = bench.lease.clone();
    let due = met.after(bench.candidate.config.lease_duration());
    assert!(bench.settle(met, None).is_empty());
    assert!(bench.settle(due.before(Duration::from_millis(1)), None).is_empty());
    assert_eq!(bench.lease, grant, "nothing is written");
    assert!(matches!(&bench.settle(due, None)[..], [News::Acquired(_)]));
}

/// The record before the grant: released by this candidate, released by another, or led by another.
fn known_before(which: u8) -> Bench {
    let mut bench = Bench::led("baz");
    bench.candidate.leave();
    assert_eq!(bench.settle(at_ms(10), None), [News::Released]);
    if which > 0 {
        led_by(&mut bench, at_ms(20), "bong", 5);
    }
    if which == 1 {
        let free = bench.put(Record::default());
        let _ = bench.hear(at_ms(30), free);
    }
    bench
}

/// Unseen, `bing` is granted the Lease and leads, and a clock that is ahead takes it for dead.
fn led_in_between(bench: &mut Bench) -> [StoredLease; 3] {
    let granted = bench.grant("bing");
    let led = bench.put(Record { acquire_time: Some(WALL), ..granted.record.clone() });
    [granted, led, bench.grant("baz")]
}

#[test]
fn a_grant_that_a_campaign_meets_after_a_pause_waits_for_whoever_led_in_the_pause() {
    for which in 0..3 {
        let mut bench = known_before(which);
        led_in_between(&mut bench);
        bench.candidate.resume(at_ms(1010));
        read(&mut bench, at_ms(1010));
        claims_a_lease_after(&mut bench, at_ms(1010));
    }
}

#[test]
fn a_grant_that_is_read_before_the_watch_has_told_it_waits_if_the_watch_tells_of_another_before_it()
{
    for which in 0..3 {
        let mut bench = known_before(which);
        let events = led_in_between(&mut bench);
        let back = at_ms(60_000);
        read(&mut bench, back);
        for event in events {
            let _ = bench.hear(back, event);
        }
        claims_a_lease_after(&mut bench, back);
    }
}

#[test]
fn a_grant_with_which_a_watch_begins_waits_for_whoever_led_before_it_opened() {
    for is_read in [true, false] {
        let mut bench = known_before(0);
        let [_, _, grant] = led_in_between(&mut bench);
        let back = at_ms(60_000);
        bench.candidate.opened(true);
        if is_read {
            read(&mut bench, back);
        }
        let _ = bench.hear(back, grant);
        claims_a_lease_after(&mut bench, back);
    }
}

#[test]
fn a_grant_that_is_met_first_of_all_waits_for_whoever_led_before_it() {
    let mut bench = Bench::new("baz");
    bench.candidate.arrange(at_ms(0), coordinated::ELECTED);
    bench.grant("baz");
    read(&mut bench, at_ms(0));
    claims_a_lease_after(&mut bench, at_ms(0));
}

#[test]
fn a_grant_that_is_read_is_claimed_as_soon_as_the_watch_has_told_that_it_follows_on_what_was_known()
{
    let mut bench = known_before(0);
    let known = bench.lease.clone().unwrap();
    let grant = bench.grant("baz");
    bench.candidate.resume(at_ms(1010));
    read(&mut bench, at_ms(1010));
    assert!(bench.settle(at_ms(1010), None).is_empty());
    assert_eq!(
        bench.candidate.watch_from(),
        Some(&known.version),
        "a watch that opens tells what came since"
    );
    let _ = bench.candidate.heard(at_ms(1011), LeaseEvent::Alive);
    assert!(bench.settle(at_ms(1011), None).is_empty());
    let _ = bench.hear(at_ms(1012), grant.clone());
    assert_eq!(bench.candidate.watch_from(), Some(&grant.version));
    assert!(matches!(&bench.settle(at_ms(1012), None)[..], [News::Acquired(_)]));
}

/// An unseen grant that was not claimed says nothing about the leader before it.
#[test]
fn a_grant_that_is_told_waits_for_those_before_a_grant_to_another_that_was_read() {
    let mut bench = known_before(0);
    led_in_between(&mut bench);
    let other = bench.grant("other").record;
    bench.put(Record { lease_duration_seconds: 1, ..other });
    read(&mut bench, at_ms(2000));
    let grant = bench.grant("baz");
    let _ = bench.hear(at_ms(3000), grant);
    let due = at_ms(2000).after(bench.candidate.config.lease_duration());
    assert!(bench.settle(due.before(Duration::from_millis(1)), None).is_empty());
    assert!(matches!(&bench.settle(due, None)[..], [News::Acquired(_)]));
}
