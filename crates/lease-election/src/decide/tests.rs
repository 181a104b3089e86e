//! Tests of the take-over rule; the cases of client-go's `leaderelection_test.go` keep their names.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::record::{Record, StoredLease};
use crate::version::Version;

const SEEN: Moment = Moment::from_origin(Duration::from_secs(100));

fn config() -> Config {
    Config::builder("ns", "lease")
        .identity("baz")
        .lease_duration(Duration::from_secs(10))
        .retry_period(Duration::from_secs(1))
        .request_timeout(Duration::from_secs(2))
        .build()
        .unwrap()
}

fn held(holder: &str, seconds: i32) -> Observation {
    Observation::Present {
        lease: StoredLease {
            version: Version::new("u", "5"),
            record: Record {
                holder: holder.into(),
                lease_duration_seconds: seconds,
                ..Record::default()
            },
        },
        since: SEEN,
        mine: false,
        jitter: Duration::from_millis(150),
    }
}

fn after(seconds: u64) -> Moment {
    SEEN.after(Duration::from_secs(seconds))
}

#[test]
fn nothing_is_done_before_the_lease_was_read() {
    assert_eq!(decide(&Observation::Unknown, &config(), SEEN), Step::Read);
}

#[test]
fn upstream_acquire_from_no_object() {
    assert_eq!(decide(&Observation::Absent { free_at: SEEN }, &config(), SEEN), Step::Create);
}

#[test]
fn upstream_acquire_from_object_without_annotations_and_from_unled_object() {
    assert_eq!(decide(&held("", 0), &config(), SEEN), Step::TakeOver);
}

#[test]
fn upstream_acquire_from_led_object_with_the_lease_duration_seconds() {
    // The record's 3 s count, not the configured 10 s.
    let lease = held("bing", 3);
    assert!(matches!(decide(&lease, &config(), after(2)), Step::WaitUntil(_)));
    assert!(
        matches!(decide(&lease, &config(), after(3)), Step::WaitUntil(_)),
        "the jitter comes on top"
    );
    assert_eq!(decide(&lease, &config(), after(4)), Step::TakeOver);
}

#[test]
fn upstream_acquire_from_led_unacked_object_waits_for_its_own_observation() {
    // As in client-go, a record observed long ago is taken. A record seen only now is waited for,
    // however old its times are.
    assert_eq!(decide(&held("bing", 10), &config(), after(11)), Step::TakeOver);
    assert!(matches!(decide(&held("bing", 10), &config(), SEEN), Step::WaitUntil(_)));
}

#[test]
fn upstream_acquire_from_empty_led_acked_object() {
    assert_eq!(decide(&held("", 10), &config(), SEEN), Step::TakeOver, "a release is free at once");
}

#[test]
fn upstream_do_not_acquire_from_led_acked_object() {
    let until = after(10).after(Duration::from_millis(150));
    assert_eq!(decide(&held("bing", 10), &config(), after(1)), Step::WaitUntil(until));
}

#[test]
fn the_boundary_is_exact() {
    let until = after(10).after(Duration::from_millis(150));
    let lease = held("bing", 10);
    assert_eq!(
        decide(&lease, &config(), until.before(Duration::from_nanos(1))),
        Step::WaitUntil(until)
    );
    assert_eq!(decide(&lease, &config(), until), Step::TakeOver);
}

#[test]
fn a_holder_without_a_duration_gets_a_whole_lease_of_ours() {
    for seconds in [0, -1, i32::MIN] {
        assert!(matches!(decide(&held("bing", seconds), &config(), after(10)), Step::WaitUntil(_)));
        assert_eq!(decide(&held("bing", seconds), &config(), after(11)), Step::TakeOver);
    }
}

#[test]
fn an_absurd_duration_is_capped() {
    assert!(matches!(decide(&held("bing", i32::MAX), &config(), after(600)), Step::WaitUntil(_)));
    assert_eq!(decide(&held("bing", i32::MAX), &config(), after(601)), Step::TakeOver);
}

#[test]
fn our_name_alone_is_no_claim_but_our_own_record_is() {
    assert!(matches!(decide(&held("baz", 10), &config(), after(1)), Step::WaitUntil(_)));
    let Observation::Present { lease, since, jitter, .. } = held("baz", 10) else { unreachable!() };
    let own = Observation::Present { lease, since, mine: true, jitter };
    assert_eq!(decide(&own, &config(), SEEN), Step::TakeOver);
}

#[test]
fn a_deleted_lease_is_made_again_when_it_would_have_run_out() {
    let gone = Observation::Absent { free_at: after(7) };
    assert_eq!(decide(&gone, &config(), after(6)), Step::WaitUntil(after(7)));
    assert_eq!(decide(&gone, &config(), after(7)), Step::Create);
}

/// A lease released with a hint, as `baz` sees it with a jitter of 150 ms.
fn given_to(successor: &str) -> Observation {
    let Observation::Present { lease, since, mine, jitter } = held("", 1) else { unreachable!() };
    let record = Record { successor: successor.into(), ..lease.record }.marked(
        "w",
        7,
        crate::record::Marks::All,
    );
    Observation::Present { lease: StoredLease { record, ..lease }, since, mine, jitter }
}

#[test]
fn a_lease_that_was_handed_over_is_its_successors_at_once_and_everybodys_in_the_end() {
    assert_eq!(decide(&given_to("baz"), &config(), SEEN), Step::TakeOver);
    assert_eq!(decide(&given_to(""), &config(), SEEN), Step::TakeOver);
    // One second, eight turns of 200 ms, and the jitter.
    let until = SEEN.after(Duration::from_millis(1000 + 8 * 200 + 150));
    assert_eq!(decide(&given_to("bing"), &config(), SEEN), Step::WaitUntil(until));
    assert_eq!(decide(&given_to("bing"), &config(), until), Step::TakeOver);
    // Even if this candidate released it.
    let Observation::Present { lease, since, jitter, .. } = given_to("bing") else {
        unreachable!()
    };
    let own = Observation::Present { lease, since, mine: true, jitter };
    assert_eq!(decide(&own, &config(), SEEN), Step::WaitUntil(until));
}

#[test]
fn a_hint_is_good_for_the_record_that_it_was_written_in_and_for_no_other() {
    let Observation::Present { lease, since, mine, jitter } = given_to("bing") else {
        unreachable!()
    };
    let stale: [fn(&mut Record); 4] = [
        |record| record.leader_transitions += 1,
        |record| record.renew_time = jiff::Timestamp::from_second(5).ok(),
        |record| record.write_id = None,
        |record| record.write_id = Some("no.digest".into()),
    ];
    for change in stale {
        let mut lease = lease.clone();
        change(&mut lease.record);
        let observation = Observation::Present { lease, since, mine, jitter };
        assert_eq!(decide(&observation, &config(), SEEN), Step::TakeOver, "{observation:?}");
    }
}

#[test]
fn a_hint_on_a_record_that_somebody_holds_is_none() {
    let Observation::Present { lease, since, mine, jitter } = held("bing", 5) else {
        unreachable!()
    };
    let record = Record { successor: "baz".into(), ..lease.record };
    let known =
        Observation::Present { lease: StoredLease { record, ..lease }, since, mine, jitter };
    assert_eq!(decide(&known, &config(), after(1)), decide(&held("bing", 5), &config(), after(1)));
}

proptest! {
    /// A hint only delays a candidate that may take the lease, and not for ever.
    #[test]
    fn a_hint_only_ever_delays_and_not_for_long(
        holder in prop::sample::select(vec!["", "baz", "bing"]),
        seconds in -1..20,
        successor in prop::sample::select(vec!["", "baz", "bing", "nobody"]),
        rank in prop::option::of(0..=crate::MAX_RANK),
        (mine, marked) in any::<(bool, bool)>(),
        later in 0..30_000u64,
    ) {
        let builder = Config::builder("ns", "lease").identity("baz");
        let config = match rank { Some(rank) => builder.rank(rank), None => builder }.build().unwrap();
        let Observation::Present { lease, since, jitter, .. } = held(holder, seconds) else { unreachable!() };
        let with = |successor: &str| {
            let record = Record { successor: successor.into(), ..lease.record.clone() };
            let record = if marked { record.marked("w", 1, crate::record::Marks::All) } else { record };
            Observation::Present { lease: StoredLease { record, ..lease.clone() }, since, mine, jitter }
        };
        let now = SEEN.after(Duration::from_millis(later));
        let (without, hinted) = (decide(&with(""), &config, now), decide(&with(successor), &config, now));
        match hinted {
            Step::WaitUntil(moment) if without == Step::TakeOver => {
                prop_assert!(moment > now && moment <= SEEN.after(Duration::from_millis(2600)).after(jitter));
            }
            _ => prop_assert_eq!(hinted, without),
        }
    }
}
