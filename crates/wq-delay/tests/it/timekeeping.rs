//! Timekeeping, with a manual clock.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;
use wq_contract::wakes::Wakes;
use wq_delay::{DelayingQueue, ManualTimer, ThreadTimer, Timer};

const SECOND: Duration = Duration::from_secs(1);
/// The time by which the reserve wakes later than the timekeeper.
const LAG: Duration = Duration::from_millis(5);

fn by_hand() -> (DelayingQueue<u64>, ManualTimer) {
    let timer = ManualTimer::new();
    (DelayingQueue::builder().timer(timer.clone()).build().unwrap(), timer)
}

#[test]
fn all_items_of_a_burst_reach_many_getters() {
    let (queue, timer) = by_hand();
    let mut gets: Vec<_> = (0..20).map(|_| (Wakes::new(), Box::pin(queue.get()))).collect();
    for (wakes, get) in &mut gets {
        assert!(wakes.poll(get).is_pending());
    }
    for item in 0..20 {
        queue.add_after(item, SECOND + Duration::from_nanos(20 - item));
    }
    let mut got = Vec::new();
    let mut seen: Vec<usize> = gets.iter().map(|_| 0).collect();
    // A small executor, which polls the getters that were woken.
    let mut run = |timer: &ManualTimer| {
        timer.advance(SECOND / 10);
        let mut progress = true;
        while progress {
            progress = false;
            for (at, (wakes, get)) in gets.iter_mut().enumerate() {
                if wakes.count() > seen[at] {
                    seen[at] = wakes.count();
                    progress = true;
                    if let Poll::Ready(guard) = wakes.poll(get) {
                        got.push(*guard.unwrap().item());
                    }
                }
            }
        }
    };
    for _ in 0..12 {
        run(&timer);
    }
    got.sort_unstable();
    assert_eq!(got, (0..20).collect::<Vec<_>>());
}

#[test]
fn two_stalled_timekeepers_are_relieved_by_an_add() {
    let (queue, timer) = by_hand();
    let (stalled, alive) = (Wakes::new(), Wakes::new());
    let (mut one, mut two, mut three) = (pin!(queue.get()), pin!(queue.get()), pin!(queue.get()));
    assert!(stalled.poll(&mut one).is_pending());
    assert!(stalled.poll(&mut two).is_pending());
    assert!(alive.poll(&mut three).is_pending());
    queue.add_after(1, SECOND);
    timer.advance(SECOND * 2);
    assert_eq!(alive.count(), 0);
    queue.add_after(2, SECOND);
    assert_eq!(alive.count(), 1, "the third is called to the duty");
    assert!(alive.poll(&mut three).is_ready());
}

#[test]
fn a_thread_that_waits_for_a_deadline_is_woken_by_the_clock_and_by_an_add() {
    let (queue, timer) = by_hand();
    let asleep = || {
        while timer.sleepers() == 0 {
            std::thread::yield_now();
        }
    };
    queue.add_after(1, SECOND);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| *queue.get_blocking().unwrap().item());
        asleep();
        timer.advance(SECOND);
        assert_eq!(taken.join().unwrap(), 1);
    });
    queue.add_after(3, SECOND * 100);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| *queue.get_blocking().unwrap().item());
        asleep();
        queue.add(2);
        assert_eq!(taken.join().unwrap(), 2);
    });
}

#[test]
fn a_getter_that_begins_to_wait_takes_the_duty_of_two_stalled_timekeepers() {
    let (queue, timer) = by_hand();
    let (stalled, alive) = (Wakes::new(), Wakes::new());
    let (mut one, mut two) = (pin!(queue.get()), pin!(queue.get()));
    assert!(stalled.poll(&mut one).is_pending());
    assert!(stalled.poll(&mut two).is_pending());
    queue.add_after(1, SECOND);
    timer.advance(SECOND * 2);
    // Only the two stalled getters waited, and this one finds the item that they missed.
    assert!(alive.poll(&mut pin!(queue.get())).is_ready());
    let mut three = pin!(queue.get());
    assert!(alive.poll(&mut three).is_pending());
    queue.add_after(2, SECOND);
    assert!(alive.poll(&mut three).is_pending());
    let before = alive.count();
    timer.advance(SECOND);
    assert!(alive.count() > before, "it keeps the time itself now");
    assert!(alive.poll(&mut three).is_ready());
}

#[test]
fn keep_time_ends_with_a_queue_of_blocking_getters_too() {
    let queue: DelayingQueue<u64> =
        DelayingQueue::builder().timer(ThreadTimer).build_blocking().unwrap();
    let wakes = Wakes::new();
    let mut keeper = pin!(queue.keep_time());
    assert!(wakes.poll(&mut keeper).is_pending());
    _ = queue.shutdown();
    assert_eq!(wakes.count(), 1);
    assert!(wakes.poll(&mut keeper).is_ready());
}

#[test]
fn keep_time_ends_also_if_the_shutdown_comes_while_it_is_polled() {
    const ROUNDS: usize = 10_000;
    let new = || DelayingQueue::<u64>::builder().timer(ManualTimer::new()).build().unwrap();
    let queues: Vec<_> = (0..ROUNDS).map(|_| new()).collect();
    let arrived = AtomicUsize::new(0);
    // Both threads leave this spin barrier at nearly the same time. A sleeping barrier would not
    // achieve that.
    let meet = |round: usize| {
        arrived.fetch_add(1, Ordering::SeqCst);
        let mut tries = 0_u32;
        while arrived.load(Ordering::SeqCst) < 2 * (round + 1) {
            std::hint::spin_loop();
            tries += 1;
            if tries.is_multiple_of(4096) {
                std::thread::yield_now();
            }
        }
    };
    let mut keepers: Vec<_> =
        queues.iter().map(|queue| (Wakes::new(), queue.keep_time(), false)).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (round, queue) in queues.iter().enumerate() {
                meet(round);
                (0..round % 64).for_each(|_| std::hint::spin_loop());
                _ = queue.shutdown();
            }
        });
        for (round, (wakes, keeper, is_ready)) in keepers.iter_mut().enumerate() {
            meet(round);
            *is_ready = wakes.poll(keeper).is_ready();
        }
    });
    let stuck =
        keepers.iter().filter(|(wakes, _, is_ready)| !is_ready && wakes.count() == 0).count();
    assert_eq!(stuck, 0, "neither ready nor woken after the shutdown");
}

#[test]
fn a_timekeeper_that_leaves_wakes_the_next() {
    let (queue, timer) = by_hand();
    queue.add_after(1, SECOND);
    let (keeper, reserve, third) = (Wakes::new(), Wakes::new(), Wakes::new());
    let mut leaves = Box::pin(queue.get());
    let (mut two, mut three) = (pin!(queue.get()), pin!(queue.get()));
    assert!(keeper.poll(&mut leaves).is_pending());
    assert!(reserve.poll(&mut two).is_pending());
    assert!(third.poll(&mut three).is_pending());
    drop(leaves);
    assert_eq!((reserve.count(), third.count()), (0, 1));
    assert!(third.poll(&mut three).is_pending());
    timer.advance(SECOND);
    assert_eq!((reserve.count(), third.count()), (0, 2), "it slept until the deadline itself");
    assert!(third.poll(&mut three).is_ready());
}

#[test]
fn the_reserve_takes_the_place_of_a_timekeeper_that_is_not_polled() {
    let (queue, timer) = by_hand();
    queue.add_after(1, SECOND);
    queue.add_after(2, SECOND * 2);
    let (stalled, alive) = (Wakes::new(), Wakes::new());
    let (mut held, mut reserve) = (pin!(queue.get()), Box::pin(queue.get()));
    assert!(stalled.poll(&mut held).is_pending());
    assert!(alive.poll(&mut reserve).is_pending());
    timer.advance(SECOND);
    assert_eq!((stalled.count(), alive.count()), (1, 0));
    timer.advance(LAG);
    assert_eq!(alive.count(), 1);
    assert!(alive.poll(&mut reserve).is_ready());
    let mut next = pin!(queue.get());
    assert!(alive.poll(&mut next).is_pending());
    timer.advance(SECOND - LAG);
    assert_eq!(alive.count(), 2, "in time: it keeps the time itself now");
    assert!(alive.poll(&mut next).is_ready());
}

#[test]
fn a_getter_polled_with_another_waker_is_woken_by_that_one() {
    let (queue, timer) = by_hand();
    let (old, new) = (Wakes::new(), Wakes::new());
    let mut get = pin!(queue.get());
    assert!(old.poll(&mut get).is_pending());
    assert!(new.poll(&mut get).is_pending());
    queue.add_after(1, SECOND);
    assert_eq!((old.count(), new.count()), (0, 1), "for an earlier deadline");
    assert!(new.poll(&mut get).is_pending());
    timer.advance(SECOND);
    assert_eq!((old.count(), new.count()), (0, 2));
}

#[test]
fn a_deadline_that_moves_earlier_wakes_the_timekeeper_and_a_later_one_nobody() {
    let (queue, timer) = by_hand();
    queue.add_after(1, SECOND * 10);
    let wakes = Wakes::new();
    let mut get = pin!(queue.get());
    assert!(wakes.poll(&mut get).is_pending());
    queue.add_after(2, SECOND * 11);
    assert_eq!(wakes.count(), 0);
    queue.add_after(1, SECOND * 5);
    assert_eq!(wakes.count(), 1);
    assert!(wakes.poll(&mut get).is_pending());
    queue.cancel(&1);
    queue.add_after(1, SECOND * 7);
    assert_eq!(wakes.count(), 1);
    timer.advance(SECOND * 5);
    // The timer was set for the old deadline: the getter polls once in vain, and sleeps on.
    assert!(wakes.poll(&mut get).is_pending());
    timer.advance(SECOND * 2);
    assert!(wakes.poll(&mut get).is_ready());
}

/// Defect D7 of client-go: its stalled goroutine lets a thousand adds through and blocks the next.
#[test]
fn adders_never_block_whatever_is_stalled() {
    const EACH: u64 = 20_000;
    let (queue, timer) = by_hand();
    queue.pause();
    let stalled = Wakes::new();
    let (mut one, mut two) = (pin!(queue.get()), pin!(queue.get()));
    assert!(stalled.poll(&mut one).is_pending());
    assert!(stalled.poll(&mut two).is_pending());
    std::thread::scope(|scope| {
        for first in [0, EACH] {
            let queue = &queue;
            scope.spawn(move || {
                (first..first + EACH).for_each(|item| {
                    queue.add_after(item, SECOND + Duration::from_nanos(item));
                });
            });
        }
    });
    assert_eq!(queue.delayed_len(), 2 * EACH as usize);
    timer.advance(SECOND * 2);
    // Any call moves due items, in bounded steps, and a waiting drain blocks no other call.
    let mut drained = pin!(queue.drained());
    assert!(stalled.poll(&mut drained).is_pending());
    queue.add_after(0, SECOND);
    assert_eq!(queue.counts().queued, 2 * EACH as usize);
}

/// A waker that panics.
struct Explodes;

impl std::task::Wake for Explodes {
    fn wake(self: std::sync::Arc<Self>) {
        panic!("a waker's");
    }
}

#[test]
fn the_manual_clock_wakes_the_others_of_a_waker_that_panics() {
    let timer = ManualTimer::new();
    let wakes = Wakes::new();
    let (mut one, mut other) =
        (timer.sleep_until(timer.now() + SECOND), timer.sleep_until(timer.now() + SECOND));
    let waker = std::task::Waker::from(std::sync::Arc::new(Explodes));
    assert!(one.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    assert!(wakes.poll(&mut other).is_pending());
    let moves = std::panic::AssertUnwindSafe(|| timer.advance(SECOND));
    assert!(std::panic::catch_unwind(moves).is_err());
    assert_eq!((wakes.count(), timer.sleepers()), (1, 0));
}
