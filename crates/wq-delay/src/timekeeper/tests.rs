//! Who is on duty, who is woken, and who takes over.

use super::{RESERVE_LAG, Timekeepers, WatchId, Watcher};
use crate::tick::Tick;
use std::task::Waker;

const SOON: Option<Tick> = Some(Tick(1_000));

fn report(keepers: &mut Timekeepers, id: &mut Option<WatchId>, earliest: Option<Tick>) -> Option<Tick> {
    keepers.report(id, Watcher::Getter, Waker::noop().clone(), earliest).0
}

/// So many getters that wait, the first being the keeper.
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
fn the_first_keeps_time_the_second_is_the_reserve_the_rest_sleep() {
    let mut keepers = Timekeepers::default();
    assert_eq!(report(&mut keepers, &mut None, SOON), SOON);
    assert_eq!(report(&mut keepers, &mut None, SOON), SOON.map(|at| at.after(RESERVE_LAG)));
    assert_eq!(report(&mut keepers, &mut None, SOON), None);
}

#[test]
fn nobody_sleeps_for_a_deadline_that_never_comes() {
    let mut keepers = Timekeepers::default();
    assert_eq!(report(&mut keepers, &mut None, None), None);
    assert_eq!(report(&mut keepers, &mut None, Some(Tick::NEVER)), None);
}

#[test]
fn a_leaving_keeper_wakes_one_successor_and_leaves_the_reserve_alone() {
    let (mut keepers, [first, second, third]) = line(SOON);
    let (_, successor) = keepers.leave(first, SOON);
    assert!(successor.is_some());
    assert_eq!(keepers.keeper, Some(third));
    assert_eq!(keepers.reserve, Some(second));
}

#[test]
fn the_reserve_takes_over_when_nobody_else_waits() {
    let (mut keepers, [first, second]) = line(SOON);
    assert!(keepers.leave(first, SOON).1.is_some());
    assert_eq!((keepers.keeper, keepers.reserve), (Some(second), None));
}

#[test]
fn a_leaving_keeper_wakes_nobody_if_nothing_is_delayed() {
    let (mut keepers, [first, second, third]) = line(None);
    assert!(keepers.leave(first, None).1.is_none());
    assert_eq!((keepers.keeper, keepers.reserve), (Some(third), Some(second)));
}

#[test]
fn one_that_is_not_on_duty_leaves_without_a_trace() {
    let (mut keepers, [_, _, third]) = line(SOON);
    assert!(keepers.leave(third, SOON).1.is_none());
}

#[test]
fn an_earlier_deadline_wakes_those_on_duty_once() {
    let (mut keepers, [_, _, _]) = line(SOON);
    assert_eq!(keepers.earlier(Tick(2_000)).iter().flatten().count(), 0, "they look earlier anyway");
    assert_eq!(keepers.earlier(Tick(500)).iter().flatten().count(), 2);
    assert_eq!(keepers.earlier(Tick(400)).iter().flatten().count(), 0, "they are on their way");
}

#[test]
fn a_relieved_keeper_gets_no_duty_before_it_is_polled_again() {
    let (mut keepers, [first, second, third]) = line(SOON);
    assert!(keepers.is_reserve(second));
    assert!(keepers.relieve_keeper(SOON).is_some());
    assert_eq!((keepers.keeper, keepers.reserve), (Some(second), Some(third)));
    assert!(
        keepers.leave(second, SOON).1.is_none(),
        "the third was woken already, and the first is not to be"
    );
    assert_eq!((keepers.keeper, keepers.reserve), (Some(third), None));
    let mut id = Some(first);
    assert_eq!(report(&mut keepers, &mut id, SOON), SOON.map(|at| at.after(RESERVE_LAG)));
}

#[test]
fn two_that_missed_are_replaced_by_two_others() {
    let (mut keepers, [_, _, third, fourth]) = line(SOON);
    assert_eq!(keepers.relieve_both(SOON).iter().flatten().count(), 2);
    assert_eq!((keepers.keeper, keepers.reserve), (Some(third), Some(fourth)));
}

#[test]
fn two_that_missed_stay_if_nobody_else_waits() {
    let (mut keepers, [first, second]) = line(SOON);
    assert_eq!(keepers.relieve_both(SOON).iter().flatten().count(), 0);
    assert_eq!((keepers.keeper, keepers.reserve), (Some(first), Some(second)));
}

#[test]
fn a_dedicated_watcher_becomes_the_keeper() {
    let (mut keepers, [first, _]) = line(SOON);
    let mut id = None;
    let (until, _) = keepers.report(&mut id, Watcher::Dedicated, Waker::noop().clone(), SOON);
    assert_eq!(until, SOON);
    assert_eq!((keepers.keeper, keepers.reserve), (id, Some(first)));
}

#[test]
fn somebody_is_on_duty_whenever_somebody_waits() {
    // All orders in which five getters come and leave in pairs, with and without a relief in between.
    for seed in 0..5_000_u32 {
        let mut choice = seed;
        let mut take = |n: u32| {
            choice = choice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (choice >> 16) % n
        };
        let mut keepers = Timekeepers::default();
        let mut waiting: Vec<WatchId> = Vec::new();
        for _ in 0..30 {
            match take(4) {
                0 | 1 => {
                    let mut id = None;
                    let _ = report(&mut keepers, &mut id, SOON);
                    waiting.extend(id);
                }
                2 if !waiting.is_empty() => {
                    let at = take(u32::try_from(waiting.len()).unwrap_or(1)) as usize;
                    let _ = keepers.leave(waiting.swap_remove(at), SOON);
                }
                _ if keepers.reserve.is_some() => {
                    let _ = keepers.relieve_keeper(SOON);
                }
                _ => {}
            }
            let fit = waiting.iter().filter(|id| !keepers.watches[*id].missed).count();
            assert_eq!(keepers.keeper.is_some(), fit > 0, "a keeper exactly when somebody can be it");
            assert_eq!(keepers.reserve.is_some(), fit > 1, "a reserve exactly when somebody can be it");
        }
    }
}
