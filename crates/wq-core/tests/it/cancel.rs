//! Cancel: dropped waits, and how their wake-ups pass to other waiters. Futures are polled by hand.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use wq_contract::wakes::Wakes;
use wq_core::{Get, WorkQueue};

/// A getter in line, with the count of its wakes.
struct Waiting<'q> {
    get: Get<'q, u32>,
    wakes: Arc<Wakes>,
}

impl<'q> Waiting<'q> {
    fn on(queue: &'q WorkQueue<u32>) -> Self {
        let mut waiting = Self { get: queue.get(), wakes: Wakes::new() };
        assert!(waiting.wakes.poll(&mut waiting.get).is_pending());
        waiting
    }

    fn is_woken(&self) -> bool {
        self.wakes.count() > 0
    }

    /// Polls the getter. Returns its item, which is done at once.
    fn take(&mut self) -> Option<u32> {
        match self.wakes.poll(&mut self.get) {
            Poll::Ready(guard) => guard.map(|guard| *guard.item()),
            Poll::Pending => None,
        }
    }
}

fn many(queue: &WorkQueue<u32>, count: usize) -> Vec<Waiting<'_>> {
    (0..count).map(|_| Waiting::on(queue)).collect()
}

fn woken(line: &[Waiting<'_>]) -> Vec<bool> {
    line.iter().map(Waiting::is_woken).collect()
}

#[test]
fn getters_are_woken_in_the_order_in_which_they_began_to_wait() {
    let queue = WorkQueue::new();
    let mut line = many(&queue, 3);
    queue.add(1);
    assert_eq!(woken(&line), [true, false, false]);
    assert_eq!(line[0].take(), Some(1));
    queue.add(2);
    assert_eq!(woken(&line), [true, true, false]);
}

#[test]
fn at_most_two_are_woken_and_each_wakes_the_next() {
    let queue = WorkQueue::new();
    let mut line = many(&queue, 5);
    for item in 0..5 {
        queue.add(item);
    }
    assert_eq!(woken(&line), [true, true, false, false, false]);
    for item in 0..5_u32 {
        assert_eq!(line[item as usize].take(), Some(item));
        let expected: Vec<bool> = (0..5).map(|other| other <= item + 2).collect();
        assert_eq!(woken(&line), expected);
    }
}

#[test]
fn a_batch_of_adds_wakes_two() {
    let queue = WorkQueue::new();
    let mut line = many(&queue, 4);
    queue.add_all(0..4);
    assert_eq!(woken(&line), [true, true, false, false]);
    assert_eq!(line[1].take(), Some(0));
    assert_eq!(woken(&line), [true, true, true, false]);
}

#[test]
fn a_woken_get_that_is_dropped_wakes_the_next_while_items_remain() {
    let queue = WorkQueue::new();
    let mut line = many(&queue, 4);
    queue.add(1);
    drop(line.remove(0));
    assert_eq!(woken(&line), [true, false, false]);
    drop(line.remove(0));
    assert_eq!(woken(&line), [true, false]);
    // Another get takes the item, so the next drop has no wake-up to pass on.
    queue.try_get().unwrap().done();
    drop(line.remove(0));
    assert_eq!(woken(&line), [false]);
}

#[test]
fn a_woken_get_that_finds_nothing_keeps_its_place_in_line() {
    let queue = WorkQueue::new();
    let mut line = many(&queue, 2);
    queue.add(1);
    queue.try_get().unwrap().done();
    assert_eq!(line[0].take(), None);
    queue.add(2);
    assert_eq!(line[0].wakes.count(), 2);
    assert!(!line[1].is_woken());
}

#[test]
fn two_that_were_woken_for_nothing_keep_their_order_whoever_looks_first() {
    for looks in [[0, 1], [1, 0]] {
        let queue = WorkQueue::new();
        let mut line = many(&queue, 3);
        queue.add_all([1, 2]);
        drop((queue.try_get().unwrap(), queue.try_get().unwrap()));
        assert_eq!(looks.map(|which| line[which].take()), [None, None]);
        queue.add(3);
        let wakes: Vec<_> = line.iter().map(|waiting| waiting.wakes.count()).collect();
        assert_eq!(wakes, [2, 1, 0], "{looks:?}");
    }
}

#[test]
fn an_item_that_comes_back_wakes_a_getter() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let mut line = many(&queue, 1);
    queue.add(1);
    assert!(!line[0].is_woken());
    drop(guard);
    assert!(line[0].is_woken());
    assert_eq!(line[0].take(), Some(1));
}

#[test]
fn getters_that_are_held_but_not_polled_do_not_stall_the_rest_for_ever() {
    let queue = WorkQueue::new();
    let line = many(&queue, 4);
    queue.add(0);
    queue.add(1);
    for item in 2..33 {
        queue.add(item);
    }
    assert_eq!(woken(&line), [true, true, false, false]);
    queue.add(33);
    assert_eq!(woken(&line), [true, true, true, false], "the 32nd add that found two on their way");
}

#[test]
fn nor_do_they_when_items_come_in_batches() {
    let queue = WorkQueue::new();
    let line = many(&queue, 3);
    for item in 0..33 {
        queue.add_all([item]);
    }
    assert_eq!(woken(&line), [true, true, false]);
    queue.add_all([33]);
    assert_eq!(woken(&line), [true, true, true]);
}

#[test]
fn nor_do_they_when_all_that_is_added_is_queued_already() {
    for at_once in [false, true] {
        let queue = WorkQueue::new();
        let line = many(&queue, 3);
        queue.add_all([0, 1]);
        let again = |times: usize| {
            let items = [0, 1].into_iter().cycle().take(times);
            if at_once {
                queue.add_all(items);
            } else {
                items.for_each(|item| _ = queue.add(item));
            }
        };
        again(31);
        assert_eq!(woken(&line), [true, true, false]);
        again(1);
        assert_eq!(woken(&line), [true, true, true]);
    }
}

/// One held getter is enough to stall the other, because the second wake-up is for a second item.
#[test]
fn nor_does_one_who_was_woken_for_the_only_item() {
    let queue = WorkQueue::new();
    let line = many(&queue, 2);
    (0..32).for_each(|_| _ = queue.add(7));
    assert_eq!(woken(&line), [true, false]);
    queue.add(7);
    assert_eq!(woken(&line), [true, true]);
}

#[test]
fn adds_of_what_is_in_hand_wake_nobody() {
    let queue = WorkQueue::new();
    queue.add(7);
    let guard = queue.try_get().unwrap();
    let line = many(&queue, 2);
    (0..100).for_each(|_| _ = queue.add(7));
    assert_eq!(woken(&line), [false, false], "there is nothing to get");
    guard.done();
    assert_eq!(woken(&line), [true, false]);
}

/// The held getters no longer count from then on, so later bursts need no further 32 adds.
#[test]
fn getters_that_are_held_do_not_stall_the_rest_of_the_next_bursts_either() {
    let queue = WorkQueue::new();
    let _held = many(&queue, 2);
    let mut alive = Waiting::on(&queue);
    queue.add_all([0, 1]);
    queue.add_all(2..100);
    assert_eq!(alive.wakes.count(), 1, "a batch is as many adds as it has items");
    for burst in 2..5 {
        while alive.take().is_some() {}
        queue.add(burst);
        assert_eq!(alive.wakes.count(), burst as usize);
    }
}

#[test]
fn one_that_wakes_again_is_counted_on_again() {
    let queue = WorkQueue::new();
    let mut line = many(&queue, 6);
    queue.add_all(0..34);
    assert_eq!(
        woken(&line),
        [true, true, false, false, false, false],
        "none has found all of them woken"
    );
    queue.add_all(100..134);
    assert_eq!(woken(&line), [true, true, true, false, false, false]);
    assert!(line[0].take().is_some() && line[1].take().is_some());
    assert_eq!(
        woken(&line),
        [true, true, true, true, false, false],
        "two on their way again, and no more"
    );
}

#[test]
fn a_drain_that_saw_its_moment_before_shutdown_is_final_all_the_same_if_it_answers_after_it() {
    let queue = WorkQueue::new();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let (mut drained, wakes) = (queue.drained(), Wakes::new());
    assert!(wakes.poll(&mut drained).is_pending());
    guard.done();
    assert_eq!(wakes.count(), 1);
    queue.add(2);
    queue.shutdown();
    assert!(wakes.poll(&mut drained).is_pending(), "2 is queued");
    queue.try_get().unwrap().done();
    assert_eq!(wakes.count(), 2);
    assert!(wakes.poll(&mut drained).is_ready());
}

#[test]
fn a_getter_polled_by_another_task_wakes_that_task() {
    let queue = WorkQueue::<u32>::new();
    let (first, second) = (Wakes::new(), Wakes::new());
    let mut get = queue.get();
    assert!(first.poll(&mut get).is_pending());
    assert!(second.poll(&mut get).is_pending());
    queue.add(1);
    assert_eq!((first.count(), second.count()), (0, 1));
    assert!(second.poll(&mut get).is_ready());
}

#[test]
fn a_get_can_be_polled_again_for_the_next_item() {
    let queue = WorkQueue::<u32>::new();
    let wakes = Wakes::new();
    let mut get = queue.get();
    queue.add_all([1, 2]);
    assert!(wakes.poll(&mut get).is_ready());
    assert!(wakes.poll(&mut get).is_ready());
    assert!(wakes.poll(&mut get).is_pending());
    queue.shutdown();
    assert!(matches!(wakes.poll(&mut get), Poll::Ready(None)));
    assert!(matches!(wakes.poll(&mut get), Poll::Ready(None)));
}

#[test]
fn a_pause_swallows_no_wake_up() {
    let queue = WorkQueue::new();
    let mut line = many(&queue, 3);
    queue.add(1);
    queue.pause();
    queue.add(2);
    assert_eq!(line[0].take(), None, "paused");
    queue.resume();
    assert_eq!((line[0].wakes.count(), line[1].wakes.count()), (2, 1));
    assert_eq!((line[0].take(), line[1].take()), (Some(1), Some(2)));
}

#[test]
fn a_drain_that_is_dropped_does_not_disturb_another() {
    let queue = WorkQueue::<u32>::new();
    queue.add(1);
    let (first, second) = (Wakes::new(), Wakes::new());
    let (mut one, mut other) = (queue.drained(), queue.drained());
    assert!(first.poll(&mut one).is_pending());
    assert!(second.poll(&mut other).is_pending());
    drop(one);
    queue.try_get().unwrap().done();
    assert_eq!((first.count(), second.count()), (0, 1));
    assert!(second.poll(&mut other).is_ready());
}

#[test]
fn a_waker_that_panics_costs_nobody_else_his_wake_up() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("the panic that this test wants");
        }
    }
    let queue = WorkQueue::<u32>::new();
    let panics = Waker::from(Arc::new(Panics));
    let mut bad = queue.get();
    assert!(Pin::new(&mut bad).as_mut().poll_with(&panics).is_pending());
    let mut line = many(&queue, 3);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| queue.shutdown()));
    assert!(result.is_err());
    assert_eq!(woken(&line), [true, true, true]);
    assert!(line.iter_mut().all(|waiting| waiting.take().is_none()));
}

/// Polls with the given waker.
trait PollWith: Future {
    fn poll_with(self: Pin<&mut Self>, waker: &Waker) -> Poll<Self::Output> {
        self.poll(&mut Context::from_waker(waker))
    }
}

impl<F: Future> PollWith for F {}

#[test]
fn tokio_time_outs_lose_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let queue = WorkQueue::<u32>::new();
        let second = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(second, queue.get()).await.is_err());
        queue.add(1);
        let guard = tokio::time::timeout(second, queue.get()).await.unwrap().unwrap();
        assert_eq!(*guard.item(), 1);
    });
}
