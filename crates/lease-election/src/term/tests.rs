//! The guard alone, on a clock that is moved by hand and whose timers never fire: what it says must not depend on anybody waking up.

use std::sync::Mutex;

use super::*;
use crate::leadership::Leadership;
use crate::memory_store::MemoryLeaseStore;

#[derive(Clone, Debug, Default)]
struct Hand(Arc<Mutex<Duration>>);

impl Hand {
    fn set(&self, seconds: u64) {
        *self.0.lock().unwrap() = Duration::from_secs(seconds);
    }
}

impl Clock for Hand {
    fn now(&self) -> Moment {
        Moment::from_origin(*self.0.lock().unwrap())
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
        acquire_time: Timestamp::UNIX_EPOCH,
        valid_until: Moment::from_origin(Duration::from_secs(until)),
        clock: Arc::new(clock.clone()),
        store: Arc::new(MemoryLeaseStore::new()),
        request_timeout: Duration::from_secs(1),
    })
}

#[test]
fn v8_after_a_suspend_the_term_is_over_although_no_timer_fired() {
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
    // Not even a clock that goes back.
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
    let lost = tokio::spawn(async move { waiting.lost().await });
    tokio::task::yield_now().await;
    clock.set(13);
    assert!(!leadership.is_valid());
    assert_eq!(lost.await.unwrap(), Loss::Expired);
}

#[test]
fn write_ids_are_recognised_by_their_whole_first_part() {
    let clock = Hand::default();
    let term = term(&clock, 13);
    assert!(term.wrote("w.1"));
    assert!(!term.wrote("ww.1") && !term.wrote("w") && !term.wrote("x.1"));
}
