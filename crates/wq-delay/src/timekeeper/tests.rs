//! Who is on duty, who is woken, and who takes over.

use super::{STANDBY_LAG, Timekeepers, TimerRole, WatchId};
use crate::tick::Tick;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Wake, Waker};

const SOON: Option<Tick> = Some(Tick(1_000));

fn report(
    keepers: &mut Timekeepers,
    id: &mut Option<WatchId>,
    earliest: Option<Tick>,
) -> Option<Tick> {
    keepers.report(id, TimerRole::Getter, Waker::noop().clone(), earliest).0
}

#[derive(Default)]
struct CountingWaker(AtomicUsize);

impl CountingWaker {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// So many getters that wait, the first being the leader.
fn line<const N: usize>(earliest: Option<Tick>) -> (Timekeepers, [WatchId; N]) {
    let mut keepers = Timekeepers::default();
    let ids = std::array::from_fn(|_| {
        let mut id = None;
        let _ = report(&mut keepers, &mut id, earliest);
        id.expect("report gives an id")
    });
    (keepers, ids)
}

#[test]
fn the_first_keeps_time_the_second_is_the_standby_the_rest_sleep() {
    let mut keepers = Timekeepers::default();
    assert_eq!(report(&mut keepers, &mut None, SOON), SOON);
    assert_eq!(report(&mut keepers, &mut None, SOON), SOON.map(|at| at.after(STANDBY_LAG)));
    assert_eq!(report(&mut keepers, &mut None, SOON), None);
}

#[test]
fn nobody_sleeps_for_a_deadline_that_never_comes() {
    let mut keepers = Timekeepers::default();
    assert_eq!(report(&mut keepers, &mut None, None), None);
    assert_eq!(report(&mut keepers, &mut None, Some(Tick::NEVER)), None);
}

#[test]
fn a_leaving_leader_wakes_one_successor_and_leaves_the_standby_alone() {
    let (mut keepers, [first, second, third]) = line(SOON);
    let (_, successor) = keepers.leave(first, SOON);
    assert!(successor.is_some());
    assert_eq!(keepers.leader, Some(third));
    assert_eq!(keepers.standby, Some(second));
}

#[test]
fn the_standby_takes_over_when_nobody_else_waits() {
    let (mut keepers, [first, second]) = line(SOON);
    assert!(keepers.leave(first, SOON).1.is_some());
    assert_eq!((keepers.leader, keepers.standby), (Some(second), None));
}

#[test]
fn a_leaving_leader_wakes_nobody_if_nothing_is_delayed() {
    let (mut keepers, [first, second, third]) = line(None);
    assert!(keepers.leave(first, None).1.is_none());
    assert_eq!((keepers.leader, keepers.standby), (Some(third), Some(second)));
}

#[test]
fn one_that_is_not_on_duty_leaves_without_a_trace() {
    let (mut keepers, [_, _, third]) = line(SOON);
    assert!(keepers.leave(third, SOON).1.is_none());
}

#[test]
fn an_earlier_deadline_wakes_those_on_duty_once() {
    let (mut keepers, [_, _, _]) = line(SOON);
    assert_eq!(
        keepers.earlier(Tick(2_000)).iter().flatten().count(),
        0,
        "they look earlier anyway"
    );
    assert_eq!(keepers.earlier(Tick(500)).iter().flatten().count(), 2);
    assert_eq!(keepers.earlier(Tick(400)).iter().flatten().count(), 0, "they are on their way");
}

#[test]
fn a_relieved_leader_gets_no_duty_before_it_is_polled_again() {
    let (mut keepers, [first, second, third]) = line(SOON);
    assert!(keepers.is_standby(second));
    assert!(keepers.relieve_leader(SOON).is_some());
    assert_eq!((keepers.leader, keepers.standby), (Some(second), Some(third)));
    assert!(
        keepers.leave(second, SOON).1.is_none(),
        "the third was woken already, and the first is not to be"
    );
    assert_eq!((keepers.leader, keepers.standby), (Some(third), None));
    let mut id = Some(first);
    assert_eq!(report(&mut keepers, &mut id, SOON), SOON.map(|at| at.after(STANDBY_LAG)));
}

#[test]
fn two_that_missed_are_replaced_by_two_others() {
    let (mut keepers, [_, _, third, fourth]) = line(SOON);
    assert_eq!(keepers.relieve_both(SOON).iter().flatten().count(), 2);
    assert_eq!((keepers.leader, keepers.standby), (Some(third), Some(fourth)));
}

#[test]
fn two_that_missed_stay_if_nobody_else_waits() {
    let (mut keepers, [first, second]) = line(SOON);
    assert_eq!(keepers.relieve_both(SOON).iter().flatten().count(), 0);
    assert_eq!((keepers.leader, keepers.standby), (Some(first), Some(second)));
}

#[test]
fn one_that_takes_over_from_two_that_missed_looks_again_at_once() {
    let (mut keepers, [_, _]) = line(SOON);
    assert_eq!(keepers.relieve_both(SOON).iter().flatten().count(), 0);
    let mut id = None;
    assert_eq!(report(&mut keepers, &mut id, SOON), Some(Tick::START));
    assert_eq!(keepers.leader, id);
    assert_eq!(report(&mut keepers, &mut id, SOON), SOON);
}

#[test]
fn one_that_reports_again_is_woken_by_its_new_waker() {
    let (mut keepers, [first]) = line(None);
    let (old, new) = (CountingWaker::new(), CountingWaker::new());
    for waker in [&old, &new] {
        let _ = keepers.report(&mut Some(first), TimerRole::Getter, waker.clone().into(), None);
    }
    keepers.earlier(Tick(500)).into_iter().flatten().for_each(Waker::wake);
    assert_eq!((old.count(), new.count()), (0, 1));
}

#[test]
fn a_dedicated_watcher_becomes_the_leader() {
    let (mut keepers, [first, _]) = line(SOON);
    let mut id = None;
    let (until, _) = keepers.report(&mut id, TimerRole::Dedicated, Waker::noop().clone(), SOON);
    assert_eq!(until, SOON);
    assert_eq!((keepers.leader, keepers.standby), (id, Some(first)));
}

#[test]
fn one_that_came_to_its_duty_asleep_is_woken_by_the_next_deadline() {
    let (mut keepers, [first, second, third, _fourth]) = line(SOON);
    for id in [first, second, third] {
        // Nothing is delayed any more: nobody is woken.
        assert!(keepers.leave(id, None).1.is_none());
    }
    assert_eq!(keepers.earlier(Tick(9_000)).iter().flatten().count(), 1);
}

#[test]
fn a_standby_that_became_the_leader_asleep_is_woken_by_a_deadline_before_its_timer() {
    let (mut keepers, [first, _second]) = line(SOON);
    assert!(keepers.leave(first, None).1.is_none());
    assert_eq!(keepers.earlier(Tick(2_000)).iter().flatten().count(), 1);
}

/// Thousands of random lives of up to thirty steps. After every step: somebody is on duty if
/// anybody can be, and whoever is sleeps no longer than its duty allows, or is on its way.
#[test]
fn no_deadline_is_ever_left_without_a_timer() {
    for seed in 0..20_000_u32 {
        let mut choice = seed;
        let mut take = |n: usize| {
            choice = choice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (choice >> 16) as usize % n
        };
        let mut keepers = Timekeepers::default();
        let mut waiting: Vec<WatchId> = Vec::new();
        let mut earliest: Option<Tick> = None;
        for _ in 0..30 {
            match take(8) {
                0 | 1 => {
                    let mut id = None;
                    let role = if take(8) == 0 { TimerRole::Dedicated } else { TimerRole::Getter };
                    let _ = keepers.report(&mut id, role, Waker::noop().clone(), earliest);
                    waiting.extend(id);
                }
                2 if !waiting.is_empty() => {
                    // One that was woken is polled again.
                    let mut id = Some(waiting[take(waiting.len())]);
                    let _ = report(&mut keepers, &mut id, earliest);
                }
                3 | 4 if !waiting.is_empty() => {
                    let _ = keepers.leave(waiting.swap_remove(take(waiting.len())), earliest);
                }
                5 => {
                    // A new deadline; only an earlier one is told.
                    let new = Tick(1 + take(20_000_000) as u64);
                    if earliest.is_none_or(|earliest| new < earliest) {
                        earliest = Some(new);
                        let _ = keepers.earlier(new);
                    }
                }
                6 => {
                    // Items were moved or cancelled: the earliest is later now, or there is none.
                    earliest = earliest
                        .map(|earliest| earliest.after(STANDBY_LAG))
                        .filter(|_| take(2) == 0);
                }
                7 if keepers.standby.is_some() => {
                    let mut id = keepers.standby;
                    let _ = keepers.relieve_leader(earliest);
                    let _ = report(&mut keepers, &mut id, earliest); // It is being polled.
                }
                _ => {
                    let _ = keepers.relieve_both(earliest);
                }
            }
            let fit = waiting.iter().filter(|id| !keepers.watches[*id].missed).count();
            assert!(keepers.leader.is_some() || fit == 0, "a leader whenever somebody can be it");
            assert!(keepers.standby.is_some() || fit < 2, "a standby whenever somebody can be it");
            let Some(earliest) = earliest else { continue };
            for (id, until) in
                [(keepers.leader, earliest), (keepers.standby, earliest.after(STANDBY_LAG))]
            {
                let Some(watch) = id.map(|id| &keepers.watches[&id]) else { continue };
                let is_in_time =
                    watch.sleeps_until.is_some_and(|sleeps_until| sleeps_until <= until);
                assert!(
                    watch.waker.is_none() || is_in_time,
                    "seed {seed}: asleep beyond {until:?}: {watch:?}"
                );
            }
        }
    }
}
