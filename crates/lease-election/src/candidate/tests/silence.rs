//! Tests of silence: when a candidate concludes that no controller elects, and what refutes that.

use super::coordinated::{ELECTED, STRATEGY, led_by};
use super::*;

/// It is not known whether the LeaseCandidate stands.
const UNSURE: Manner = Manner::Elected { stands: false, impatient: false };

fn led_alone(bench: &mut Bench, heard: Moment, holder: &str) {
    led_by(bench, heard, holder, 5);
}

fn left_free(bench: &mut Bench, heard: Moment) {
    let free = Record { lease_duration_seconds: 1, acquire_time: Some(WALL), ..Record::default() };
    let free = bench.put(free);
    let _ = bench.hear(heard, free);
}

#[test]
fn where_nobody_is_elected_for_half_a_minute_it_elects_alone_until_somebody_does() {
    let mut bench = Bench::coordinated("baz");
    for second in 0..30 {
        assert!(!bench.candidate.arrange(at_ms(second * 1000), ELECTED));
        assert!(bench.settle(at_ms(second * 1000), None).is_empty());
    }
    assert!(!bench.candidate.arrange(at_ms(29_999), ELECTED));
    assert!(bench.candidate.arrange(at_ms(30_000), ELECTED));
    let news = bench.settle(at_ms(30_000), None);
    assert!(matches!(&news[..], [News::Acquired(_)]), "{news:?}");
    assert!(bench.candidate.arrange(at_ms(30_001), ELECTED));
    let marked = {
        let found = bench.lease.clone().unwrap().record;
        bench.put(Record { strategy: STRATEGY.into(), preferred_holder: "bing".into(), ..found })
    };
    assert_eq!(bench.hear(at_ms(30_010), marked), News::Unpreferred);
    assert!(!bench.candidate.arrange(at_ms(30_020), ELECTED), "a controller is there after all");

    let mut patient = Bench::new("baz");
    let manner = Manner::Elected { stands: true, impatient: false };
    patient.candidate.arrange(at_ms(0), manner);
    patient.settle(at_ms(0), None);
    assert!(!patient.candidate.arrange(at_ms(1_000_000), manner));
    assert!(patient.settle(at_ms(1_000_000), None).is_empty());
    assert!(!patient.calls.contains(&"create"));
}

/// A leader without a strategy on the Lease elected alone. A roll-out must not find the silence
/// anew with each term.
#[test]
fn where_the_lease_says_that_nobody_elects_it_is_believed_sooner() {
    let alone = |bench: &mut Bench| {
        led_by(bench, at_ms(0), "bing", 5);
        bench.candidate.arrange(at_ms(0), Manner::Elected { stands: false, impatient: false });
    };
    let free = |bench: &mut Bench, now| {
        let free = bench.put(Record {
            lease_duration_seconds: 1,
            acquire_time: Some(WALL),
            ..Record::default()
        });
        let _ = bench.hear(now, free);
    };
    // The candidate has stood long enough when the leader goes.
    let mut bench = Bench::coordinated("baz");
    alone(&mut bench);
    assert!(!bench.candidate.arrange(at_ms(1000), ELECTED));
    assert!(!bench.candidate.arrange(at_ms(10_999), ELECTED));
    assert!(bench.candidate.arrange(at_ms(11_000), ELECTED));
    led_by(&mut bench, at_ms(11_500), "bing", 5);
    free(&mut bench, at_ms(12_000));
    assert!(bench.candidate.arrange(at_ms(12_000), ELECTED));
    assert!(matches!(&bench.settle(at_ms(12_000), None)[..], [News::Acquired(_)]));
    // It has not stood long enough.
    let mut bench = Bench::coordinated("baz");
    alone(&mut bench);
    bench.candidate.arrange(at_ms(1000), ELECTED);
    free(&mut bench, at_ms(2000));
    assert!(!bench.candidate.arrange(at_ms(10_999), ELECTED));
    assert!(bench.settle(at_ms(10_999), None).is_empty());
    assert!(bench.candidate.arrange(at_ms(11_000), ELECTED));
    assert!(matches!(&bench.settle(at_ms(11_000), None)[..], [News::Acquired(_)]));
    // The controller has written on the Lease: the ordinary wait counts.
    let mut bench = Bench::coordinated("baz");
    alone(&mut bench);
    bench.candidate.arrange(at_ms(1000), ELECTED);
    let found = bench.lease.clone().unwrap().record;
    let touched = bench.put(Record { strategy: STRATEGY.into(), ..found });
    let _ = bench.hear(at_ms(2000), touched);
    for second in 3..30 {
        assert!(!bench.candidate.arrange(at_ms(second * 1000), ELECTED), "{second} s");
        let _ = bench.settle(at_ms(second * 1000), None);
    }
}

#[test]
fn while_somebody_leads_nobody_is_missed() {
    let mut bench = Bench::coordinated("baz");
    for second in 0..100 {
        let seconds = i64::try_from(second).unwrap();
        let lease = bench.put(Record {
            holder: "bing".into(),
            lease_duration_seconds: 5,
            renew_time: Timestamp::from_second(seconds).ok(),
            ..Record::default()
        });
        let _ = bench.hear(at_ms(second * 1000), lease);
        assert!(!bench.candidate.arrange(at_ms(second * 1000), ELECTED));
    }
}

/// A lost connection or a failed list does not refute the conclusion.
#[test]
fn that_nobody_elects_is_known_through_every_gap_until_somebody_does() {
    for (what, gap) in [("a blip", UNSURE), ("no API", Manner::Alone)] {
        let mut bench = Bench::coordinated("baz");
        led_alone(&mut bench, at_ms(0), "bing");
        assert!(bench.candidate.arrange(at_ms(10_000), ELECTED));
        // Nor does the candidate wait for anything in the gap.
        bench.candidate.arrange(at_ms(11_000), gap);
        led_by(&mut bench, at_ms(11_500), "bing", 5);
        bench.candidate.arrange(at_ms(12_000), ELECTED);
        assert!(bench.candidate.arrange(at_ms(12_000), ELECTED), "{what}");
        bench.candidate.arrange(at_ms(13_000), gap);
        left_free(&mut bench, at_ms(13_000));
        assert!(matches!(&bench.settle(at_ms(13_000), None)[..], [News::Acquired(_)]), "{what}");
    }
}

/// The controller is part of the server that did not answer.
#[test]
fn a_gap_in_which_it_does_not_stand_begins_the_wait_anew() {
    let mut bench = Bench::coordinated("baz");
    assert!(!bench.candidate.arrange(at_ms(29_000), ELECTED));
    assert!(!bench.candidate.arrange(at_ms(29_500), UNSURE));
    assert!(!bench.candidate.arrange(at_ms(29_600), ELECTED));
    assert!(!bench.candidate.arrange(at_ms(59_599), ELECTED));
    assert!(bench.candidate.arrange(at_ms(59_600), ELECTED));
}

#[test]
fn every_trace_of_a_controller_is_evidence_that_somebody_elects() {
    type Trace = fn(&mut Bench) -> StoredLease;
    let traces: [(&str, Trace); 4] = [
        ("a grant to another", |bench| bench.grant("bing")),
        ("whom it prefers", |bench| bench.prefer("other")),
        ("its strategy, on a renewal that was not seen without", |bench| {
            let found = bench.lease.clone().unwrap().record;
            let renew_time = Timestamp::from_second(9).ok();
            bench.put(Record { strategy: STRATEGY.into(), renew_time, ..found })
        }),
        ("a Lease that it made", |bench| {
            bench.lease.as_mut().unwrap().version.uid = "v".into();
            bench.grant("bing")
        }),
    ];
    for (what, trace) in traces {
        let mut bench = Bench::coordinated("baz");
        led_alone(&mut bench, at_ms(0), "bing");
        assert!(bench.candidate.arrange(at_ms(10_000), ELECTED));
        let touched = trace(&mut bench);
        let _ = bench.hear(at_ms(11_000), touched);
        assert!(!bench.candidate.arrange(at_ms(11_000), ELECTED), "{what}");
    }
    // Records of candidates that elect alone are no evidence.
    let mut bench = Bench::coordinated("baz");
    led_alone(&mut bench, at_ms(0), "bing");
    assert!(bench.candidate.arrange(at_ms(10_000), ELECTED));
    left_free(&mut bench, at_ms(11_000));
    led_alone(&mut bench, at_ms(11_001), "other");
    assert!(bench.candidate.arrange(at_ms(11_001), ELECTED));
}

/// A controller elected for all the time before.
#[test]
fn who_leads_unelected_is_left_to_the_controller_for_ten_seconds_from_when_he_does() {
    let mut bench = Bench::coordinated("baz");
    let touched = Record { strategy: STRATEGY.into(), ..Record::default() };
    for second in 0..60 {
        let renew_time = Timestamp::from_second(second).ok();
        let elected = Record { holder: "bing".into(), acquire_time: Some(WALL), ..touched.clone() };
        let elected = bench.put(Record { lease_duration_seconds: 5, renew_time, ..elected });
        let now = at_ms(u64::try_from(second).unwrap() * 1000);
        let _ = bench.hear(now, elected);
        assert!(!bench.candidate.arrange(now, ELECTED));
    }
    // A candidate that elects alone takes over, renews, and hands over to another of that kind.
    for second in 60..70 {
        let now = at_ms(second * 1000);
        led_alone(&mut bench, now, if second < 65 { "alone" } else { "other" });
        let renewed = bench.lease.clone().unwrap().record;
        let renew_time = Timestamp::from_second(i64::try_from(second).unwrap()).ok();
        let renewed = bench.put(Record { renew_time, ..renewed });
        let _ = bench.hear(now, renewed);
        assert!(!bench.candidate.arrange(now, ELECTED), "{second} s");
    }
    assert!(!bench.candidate.arrange(at_ms(69_999), ELECTED));
    assert!(bench.candidate.arrange(at_ms(70_000), ELECTED));
}
