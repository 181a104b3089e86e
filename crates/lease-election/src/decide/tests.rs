//! The take-over rule, case by case. The cases of client-go's `leaderelection_test.go` keep their names.

use std::time::Duration;

use super::*;
use crate::record::{Record, StoredLease};
use crate::version::Version;

const SEEN: Moment = Moment::from_origin(Duration::from_secs(100));

fn config() -> Config {
    Config::builder("ns", "lease")
        .identity("baz")
        .lease_duration(Duration::from_secs(10))
        .renew_interval(Duration::from_secs(1))
        .request_timeout(Duration::from_secs(2))
        .build()
        .unwrap()
}

fn held(holder: &str, seconds: i32) -> Observation {
    Observation::Present {
        lease: StoredLease {
            version: Version::new("u", "5"),
            record: Record { holder: holder.into(), lease_duration_seconds: seconds, ..Record::default() },
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
    // The record's 3 s count, not our 10 s.
    let lease = held("bing", 3);
    assert!(matches!(decide(&lease, &config(), after(2)), Step::WaitUntil(_)));
    assert!(matches!(decide(&lease, &config(), after(3)), Step::WaitUntil(_)), "the jitter comes on top");
    assert_eq!(decide(&lease, &config(), after(4)), Step::TakeOver);
}

#[test]
fn upstream_acquire_from_led_unacked_object_waits_for_its_own_observation() {
    // client-go takes a record it observed long ago. So do we; one seen only now is waited for, however old its times are.
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
    assert_eq!(decide(&lease, &config(), until.before(Duration::from_nanos(1))), Step::WaitUntil(until));
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
