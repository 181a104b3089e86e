//! The rule of a coordinated candidate, case by case. The cases of client-go's
//! `TestTryCoordinatedRenew` keep their names.

use super::*;
use crate::record::StoredLease;
use crate::version::Version;

const SEEN: Moment = Moment::from_origin(Duration::from_secs(100));
const CLAIM: Claim = Claim { not_before: Moment::from_origin(Duration::ZERO), silent_from: None };
const NEVER: Step = Step::WaitUntil(Moment::from_origin(Duration::MAX));

fn config() -> Config {
    Config::builder("ns", "lease").identity("baz").build().unwrap()
}

fn after(seconds: u64) -> Moment {
    SEEN.after(Duration::from_secs(seconds))
}

/// As the server's controller writes it.
fn granted_to(holder: &str) -> Record {
    Record {
        holder: holder.into(),
        lease_duration_seconds: 5,
        renew_time: "2026-01-01T00:00:00Z".parse().ok(),
        strategy: "OldestEmulationVersion".into(),
        ..Record::default()
    }
}

/// As a candidate of ours renews it.
fn led_by(holder: &str) -> Record {
    let granted = granted_to(holder);
    Record { lease_duration_seconds: 15, acquire_time: granted.renew_time, ..granted }
}

fn seen(record: Record, mine: bool) -> Observation {
    Observation::Present {
        lease: StoredLease { version: Version::new("u", "5"), record },
        since: SEEN,
        mine,
        jitter: Duration::ZERO,
    }
}

fn decided(record: Record, now: Moment) -> Step {
    decide_coordinated(&seen(record, false), &config(), CLAIM, now)
}

#[test]
fn upstream_a_lease_that_is_absent_free_or_anothers_is_never_made_nor_taken_however_old_it_is() {
    assert_eq!(decide_coordinated(&Observation::Unknown, &config(), CLAIM, SEEN), Step::Read);
    let absent = Observation::Absent { free_at: SEEN };
    assert_eq!(decide_coordinated(&absent, &config(), CLAIM, after(10_000)), NEVER);
    for record in [Record::default(), granted_to("bing"), led_by("bing"), granted_to("")] {
        assert_eq!(decided(record.clone(), after(10_000)), NEVER, "{record:?}");
    }
}

#[test]
fn a_grant_is_claimed_as_soon_as_the_one_before_must_have_stopped() {
    assert_eq!(decided(granted_to("baz"), SEEN), Step::TakeOver);
    let claim = Claim { not_before: after(3), ..CLAIM };
    let grant = seen(granted_to("baz"), false);
    assert_eq!(decide_coordinated(&grant, &config(), claim, after(2)), Step::WaitUntil(after(3)));
    assert_eq!(decide_coordinated(&grant, &config(), claim, after(3)), Step::TakeOver);
    assert_eq!(decide_alone(&grant, &config(), claim, after(2)), Step::WaitUntil(after(3)));
    // An old grant is as good: a lease that was taken since would have another version.
    assert_eq!(decided(granted_to("baz"), after(10_000)), Step::TakeOver);
}

#[test]
fn what_is_left_of_a_term_that_is_over_is_given_back_because_the_controller_elects_nobody_over_its_best()
 {
    assert_eq!(
        decide_coordinated(&seen(led_by("baz"), true), &config(), CLAIM, SEEN),
        Step::GiveBack
    );
}

#[test]
fn upstream_a_grant_marked_end_of_term_is_not_renewed_but_given_back() {
    let marked = Record { preferred_holder: "bing".into(), ..granted_to("baz") };
    assert_eq!(decided(marked, SEEN), Step::GiveBack);
    let own = Record { preferred_holder: "baz".into(), ..granted_to("baz") };
    assert_eq!(decided(own, SEEN), Step::TakeOver);
}

#[test]
fn another_process_of_this_identity_is_left_alone_until_its_lease_has_run_out() {
    assert_eq!(decided(led_by("baz"), after(14)), Step::WaitUntil(after(15)));
    assert_eq!(decided(led_by("baz"), after(15)), Step::GiveBack);
}

#[test]
fn one_that_elects_alone_leaves_a_free_lease_to_a_controller_that_may_be_there() {
    let alone = |record: Record, now| decide_alone(&seen(record, false), &config(), CLAIM, now);
    assert_eq!(alone(Record::default(), SEEN), Step::TakeOver, "no hand of a controller");
    assert_eq!(alone(granted_to(""), after(14)), Step::WaitUntil(after(15)));
    assert_eq!(alone(granted_to(""), after(15)), Step::TakeOver);
    assert_eq!(alone(led_by("bing"), after(14)), Step::WaitUntil(after(15)));
    assert_eq!(alone(led_by("bing"), after(15)), Step::TakeOver);
    assert_eq!(
        decide_alone(&Observation::Absent { free_at: SEEN }, &config(), CLAIM, SEEN),
        Step::Create
    );
}

#[test]
fn a_candidate_that_may_go_alone_looks_again_when_nobody_was_elected_for_long() {
    let claim = Claim { silent_from: Some(after(30)), ..CLAIM };
    assert_eq!(
        decide_coordinated(&seen(Record::default(), false), &config(), claim, SEEN),
        Step::WaitUntil(after(30))
    );
}

/// The candidate makes way once: it does not take the lease back from the preferred one.
#[test]
fn one_that_elects_alone_and_was_asked_to_make_way_does_not_lead_again_at_once() {
    let marked = || seen(Record { preferred_holder: "bing".into(), ..led_by("baz") }, true);
    assert_eq!(decide_alone(&marked(), &config(), CLAIM, SEEN), Step::GiveBack);
    let keeps =
        Config::builder("ns", "lease").identity("baz").release_on_stop(false).build().unwrap();
    assert_eq!(decide_alone(&marked(), &keeps, CLAIM, after(14)), Step::WaitUntil(after(15)));
    assert_eq!(decide_alone(&marked(), &keeps, CLAIM, after(15)), Step::GiveBack);
    // Its own record without that note is its own.
    assert_eq!(decide_alone(&seen(led_by("baz"), true), &keeps, CLAIM, SEEN), Step::TakeOver);
}
