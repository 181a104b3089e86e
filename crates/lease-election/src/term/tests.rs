//! Term tests: the guard on a manual clock whose timers never fire, because no answer may depend on
//! a wake-up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use futures::FutureExt as _;

use super::*;
use crate::leadership::Leadership;
use crate::memory_store::MemoryLeaseStore;
use crate::record::Marks;
use crate::record::Record;
use crate::version::Version;

#[derive(Clone, Debug, Default)]
struct Hand(Arc<Mutex<Duration>>);

impl Hand {
    fn set(&self, seconds: u64) {
        *self.0.lock().unwrap() = Duration::from_secs(seconds);
    }

    /// The clock panics from now on.
    fn smash(&self) {
        *self.0.lock().unwrap() = Duration::MAX;
    }
}

impl Clock for Hand {
    fn now(&self) -> Moment {
        let now = *self.0.lock().unwrap();
        assert_ne!(now, Duration::MAX, "the clock is broken");
        Moment::from_origin(now)
    }
    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
    fn sleep_until(&self, _: Moment) -> crate::Sleep {
        Box::pin(std::future::pending())
    }
}

fn term(clock: &Hand, until: u64) -> Arc<Term> {
    Term::begin(TermParts {
        fence: FenceToken { uid: "u".into(), resource_version: "7".into(), transitions: 1 },
        identity: "a".into(),
        writer: "w".into(),
        marks: Marks::All,
        acquire_time: Timestamp::UNIX_EPOCH,
        valid_until: Moment::from_origin(Duration::from_secs(until)),
        clock: Arc::new(clock.clone()),
        store: Arc::new(MemoryLeaseStore::new()),
        request_timeout: Duration::from_secs(1),
        releases: true,
        standing: None,
    })
}

#[test]
fn v08_after_a_suspend_the_term_is_over_although_no_timer_fired() {
    let clock = Hand::default();
    let leadership = Leadership::of(term(&clock, 13));
    clock.set(1);
    assert!(leadership.is_valid());
    assert_eq!(leadership.remaining(), Duration::from_secs(12));
    clock.set(3600);
    assert!(!leadership.is_valid());
    assert_eq!(leadership.ensure().unwrap_err().0, Loss::Expired);
}

#[test]
fn the_end_is_exact_and_final() {
    let clock = Hand::default();
    let term = term(&clock, 13);
    let leadership = Leadership::of(Arc::clone(&term));
    clock.set(13);
    assert!(!leadership.is_valid());
    assert!(!term.extend(Moment::from_origin(Duration::from_secs(100))), "nothing revives it");
    // A clock that goes back does not revive it either.
    clock.set(1);
    assert!(!leadership.is_valid());
    assert_eq!(leadership.remaining(), Duration::ZERO);
}

#[test]
fn a_renewal_noted_after_the_end_does_not_extend_even_if_nobody_asked_before() {
    let clock = Hand::default();
    let term = term(&clock, 13);
    clock.set(14);
    assert!(!term.extend(Moment::from_origin(Duration::from_secs(100))));
    assert!(!term.is_valid());
}

#[test]
fn an_extension_never_shortens() {
    let clock = Hand::default();
    let term = term(&clock, 13);
    assert!(term.extend(Moment::from_origin(Duration::from_secs(5))));
    assert_eq!(term.remaining(), Duration::from_secs(13));
}

#[test]
fn the_first_reason_stays() {
    let clock = Hand::default();
    let term = term(&clock, 13);
    term.end(Loss::Deleted);
    term.end(Loss::Finished);
    assert_eq!(Leadership::of(term).loss(), Some(Loss::Deleted));
}

#[tokio::test]
async fn whoever_finds_the_term_expired_wakes_those_who_wait_for_its_end() {
    let clock = Hand::default();
    let leadership = Leadership::of(term(&clock, 13));
    let waiting = leadership.clone();
    let mut lost = tokio::spawn(async move { waiting.lost().await });
    tokio::task::yield_now().await;
    clock.set(13);
    assert!(!leadership.is_valid());
    tokio::task::yield_now().await;
    let told = (&mut lost).now_or_never().expect("it is told at once, or never");
    assert_eq!(told.unwrap(), Loss::Expired);
}

#[test]
fn a_clock_that_panics_while_a_term_is_ended_leaves_nobody_waiting_for_its_end() {
    let clock = Hand::default();
    let term = term(&clock, 13);
    let leadership = Leadership::of(Arc::clone(&term));
    clock.smash();
    let ended = catch_unwind(AssertUnwindSafe(|| term.end(Loss::Deleted)));
    assert!(ended.is_err());
    term.break_off();
    assert!(!leadership.is_valid());
    assert_eq!(leadership.lost().now_or_never(), Some(Loss::Broken));
    assert_eq!(leadership.loss(), Some(Loss::Broken));
}

/// A record of the term, as its elector writes it.
fn ours() -> StoredLease {
    let record = Record {
        holder: "a".into(),
        lease_duration_seconds: 15,
        acquire_time: Some(Timestamp::UNIX_EPOCH),
        renew_time: Timestamp::from_second(7).ok(),
        leader_transitions: 1,
        ..Record::default()
    };
    StoredLease { version: Version::new("u", "9"), record: record.marked("w", 3, Marks::All) }
}

#[test]
fn v17_a_write_of_another_under_our_mark_contradicts_the_term() {
    let term = term(&Hand::default(), 13);
    assert_eq!(term.contradiction(&ours()), None);
    let changes: [fn(&mut Record); 6] = [
        |record| record.lease_duration_seconds = 1,
        |record| record.leader_transitions = 2,
        |record| record.renew_time = Timestamp::from_second(8).ok(),
        |record| record.renew_time = None,
        |record| record.strategy = "x".into(),
        |record| record.preferred_holder = "x".into(),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let mut lease = ours();
        change(&mut lease.record);
        assert_eq!(term.contradiction(&lease), Some(Loss::ForeignWrite), "change {n}");
    }
}

#[test]
fn marks_are_recognised_by_their_whole_first_part() {
    let term = term(&Hand::default(), 13);
    for (mark, theirs) in [("w", false), ("ww", true), ("x", true), ("", true), ("w.", true)] {
        let mut lease = ours();
        lease.record = lease.record.marked(mark, 4, Marks::All);
        assert_eq!(term.contradiction(&lease).is_some(), theirs, "{mark:?}");
    }
    for id in [None, Some("w"), Some("w.1"), Some("w.1."), Some("w.1.0")] {
        let mut lease = ours();
        lease.record.write_id = id.map(str::to_owned);
        assert_eq!(term.contradiction(&lease), Some(Loss::ForeignWrite), "{id:?}");
    }
}
