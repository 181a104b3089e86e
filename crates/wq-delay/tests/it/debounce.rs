//! Debounced adds: the quiet period, its limit, and the effect of other adds.

use std::time::Duration;
use wq_delay::{
    Debounce, DebounceError, DelayingQueue, ImmediateAdd, ManualTimer, Scheduled, SecondAdd,
};

const SECOND: Duration = Duration::from_secs(1);

fn queue(second: SecondAdd) -> (DelayingQueue<u8>, ManualTimer) {
    let timer = ManualTimer::new();
    (DelayingQueue::builder().timer(timer.clone()).second_add(second).build().unwrap(), timer)
}

/// A second of quiet, and at most five seconds in all.
fn debounce() -> Debounce {
    Debounce::new(SECOND, SECOND * 5).unwrap()
}

fn runs(queue: &DelayingQueue<u8>) -> usize {
    std::iter::from_fn(|| queue.try_get().ok().map(drop)).count()
}

#[test]
fn times_that_are_no_debounce_are_refused_by_name() {
    assert_eq!(Debounce::new(Duration::ZERO, SECOND), Err(DebounceError::NoQuiet));
    let error = Debounce::new(SECOND * 2, SECOND).unwrap_err();
    assert_eq!(error, DebounceError::MaxWaitBelowQuiet { quiet: SECOND * 2, max_wait: SECOND });
    let text = error.to_string();
    assert!(text.contains("max_wait is 1s") && text.contains("quiet, which is 2s"), "{text}");
    let longest = Debounce::new(Duration::MAX, Duration::MAX).unwrap();
    assert_eq!((longest.quiet(), longest.max_wait()), (Duration::MAX, Duration::MAX));
}

#[test]
fn adds_that_follow_each_other_lead_to_one_run_after_the_quiet() {
    let (queue, timer) = queue(SecondAdd::default());
    assert_eq!(queue.add_debounced(1, debounce()), Scheduled::Delayed);
    timer.advance(SECOND / 2);
    assert_eq!(queue.add_debounced(1, debounce()), Scheduled::Moved);
    timer.advance(SECOND - Duration::from_nanos(1));
    assert_eq!(runs(&queue), 0);
    timer.advance(Duration::from_nanos(1));
    assert_eq!(runs(&queue), 1);
    timer.advance(SECOND * 10);
    assert_eq!(runs(&queue), 0);
}

#[test]
fn adds_without_a_pause_lead_to_a_run_every_longest_wait() {
    let (queue, timer) = queue(SecondAdd::default());
    let start = queue.now();
    let mut at = Vec::new();
    for _ in 0..120 {
        queue.add_debounced(1, debounce());
        timer.advance(SECOND / 10);
        if runs(&queue) > 0 {
            at.push((queue.now() - start).as_millis());
        }
    }
    // The first add after a run begins the next wait. Here it follows the run at once.
    assert_eq!(at, [5000, 10_000]);
}

#[test]
fn items_are_debounced_each_by_itself() {
    let (queue, timer) = queue(SecondAdd::default());
    queue.add_debounced(1, debounce());
    timer.advance(SECOND / 2);
    queue.add_debounced(2, debounce());
    timer.advance(SECOND / 2);
    assert_eq!(*queue.try_get().unwrap().item(), 1);
    assert_eq!(runs(&queue), 0);
    timer.advance(SECOND / 2);
    assert_eq!(*queue.try_get().unwrap().item(), 2);
}

#[test]
fn a_deadline_set_before_is_not_put_off() {
    let (queue, timer) = queue(SecondAdd::default());
    queue.add_after(1, SECOND * 2);
    for _ in 0..4 {
        queue.add_debounced(1, debounce());
        timer.advance(SECOND / 2);
    }
    assert_eq!(runs(&queue), 1, "two seconds after add_after");
}

#[test]
fn a_deadline_set_later_ends_the_putting_off_too() {
    let (queue, timer) = queue(SecondAdd::Earliest);
    queue.add_debounced(1, debounce());
    assert_eq!(queue.add_after(1, SECOND * 2), Scheduled::Kept);
    for _ in 0..4 {
        assert_eq!(runs(&queue), 0);
        queue.add_debounced(1, debounce());
        timer.advance(SECOND / 2);
    }
    assert_eq!(runs(&queue), 1);
}

#[test]
fn a_deadline_that_replaces_another_is_the_new_limit() {
    for policy in [SecondAdd::Latest, SecondAdd::Replace] {
        let (queue, timer) = queue(policy);
        queue.add_debounced(1, debounce());
        assert_eq!(queue.add_after(1, SECOND * 8), Scheduled::Moved);
        timer.advance(SECOND * 7);
        queue.add_debounced(1, debounce());
        timer.advance(SECOND - Duration::from_nanos(1));
        assert_eq!(runs(&queue), 0, "{policy:?}");
        timer.advance(Duration::from_nanos(1));
        assert_eq!(runs(&queue), 1, "{policy:?}");
    }
}

type PutOff = fn(&DelayingQueue<u8>);

#[test]
fn what_is_put_off_by_other_means_may_come_later_until_it_is_debounced_once_more() {
    let ways: [(SecondAdd, PutOff); 2] = [
        (SecondAdd::Latest, |queue| assert_eq!(queue.add_after(1, SECOND * 60), Scheduled::Moved)),
        (SecondAdd::Replace, |queue| assert_eq!(queue.add_after(1, SECOND * 60), Scheduled::Moved)),
    ];
    for (policy, put_off) in ways {
        let (queue, timer) = queue(policy);
        queue.add_debounced(1, debounce());
        put_off(&queue);
        timer.advance(SECOND * 20);
        assert_eq!(runs(&queue), 0, "{policy:?}");
        // This debounced add counts as the first: adds without a pause lead to one run after the
        // longest wait.
        let begin = queue.now();
        while runs(&queue) == 0 {
            queue.add_debounced(1, debounce());
            timer.advance(SECOND / 2);
        }
        assert_eq!(queue.now() - begin, SECOND * 5, "{policy:?}");
        // A pause ends the wait too.
        queue.add_debounced(1, debounce());
        put_off(&queue);
        queue.add_debounced(1, debounce());
        timer.advance(SECOND);
        assert_eq!(runs(&queue), 1, "{policy:?}");
    }
}

#[test]
fn with_earliest_a_later_deadline_moves_no_limit() {
    let (queue, timer) = queue(SecondAdd::Earliest);
    queue.add_debounced(1, debounce());
    assert_eq!(queue.add_after(1, SECOND * 60), Scheduled::Kept);
    let begin = queue.now();
    while runs(&queue) == 0 {
        queue.add_debounced(1, debounce());
        timer.advance(SECOND / 2);
    }
    assert_eq!(queue.now() - begin, SECOND * 5);
}

#[test]
fn the_shortest_and_the_longest_quiet() {
    let (queue, timer) = queue(SecondAdd::default());
    let shortest = Debounce::new(Duration::from_nanos(1), Duration::from_nanos(1)).unwrap();
    let longest = Debounce::new(Duration::MAX, Duration::MAX).unwrap();
    queue.add_debounced(1, shortest);
    queue.add_debounced(2, longest);
    timer.advance(Duration::from_nanos(1));
    assert_eq!(runs(&queue), 1);
    assert_eq!(queue.shutdown(), [2]);
    assert_eq!(queue.add_debounced(1, shortest), Scheduled::ShutDown);
}

#[test]
fn an_immediate_add_that_merges_takes_the_debounced_one_along() {
    let timer = ManualTimer::new();
    let builder = DelayingQueue::builder().timer(timer.clone()).immediate_add(ImmediateAdd::Merge);
    let queue = builder.build().unwrap();
    queue.add_debounced(1, debounce());
    queue.add(1);
    assert_eq!(runs(&queue), 1);
    timer.advance(SECOND * 10);
    assert_eq!(runs(&queue), 0);
}

#[test]
fn what_is_remembered_of_an_item_leaves_with_it() {
    let (queue, timer) = queue(SecondAdd::default());
    queue.add_debounced(1, debounce());
    timer.advance(SECOND / 2);
    queue.cancel(&1);
    timer.advance(SECOND * 4);
    queue.add_debounced(1, debounce());
    timer.advance(SECOND / 2);
    queue.add_debounced(1, debounce());
    timer.advance(SECOND / 2);
    assert_eq!(runs(&queue), 0, "five seconds after the one that was cancelled");
    timer.advance(SECOND / 2);
    assert_eq!(runs(&queue), 1);
}

#[test]
fn a_later_deadline_is_brought_forward() {
    for policy in [SecondAdd::Earliest, SecondAdd::Latest, SecondAdd::Replace] {
        let (queue, timer) = queue(policy);
        queue.add_after(1, SECOND * 60);
        assert_eq!(queue.add_debounced(1, debounce()), Scheduled::Moved);
        timer.advance(SECOND);
        assert_eq!(runs(&queue), 1, "{policy:?}");
    }
}
