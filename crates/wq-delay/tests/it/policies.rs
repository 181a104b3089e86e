//! The effect of a second add on a deadline, for each policy.

use std::time::Duration;
use wq_delay::{
    Added, DelayingQueue, ImmediateAdd, ManualTimer, Phase, Rejected, Scheduled, SecondAdd,
};

const fn hours(hours: u64) -> Duration {
    Duration::from_secs(3600 * hours)
}

fn queue(second: SecondAdd, immediate: ImmediateAdd) -> (DelayingQueue<u64>, ManualTimer) {
    let timer = ManualTimer::new();
    let queue = DelayingQueue::builder()
        .timer(timer.clone())
        .second_add(second)
        .immediate_add(immediate)
        .capacity(2)
        .build()
        .unwrap();
    (queue, timer)
}

fn runs(queue: &DelayingQueue<u64>) -> usize {
    std::iter::from_fn(|| queue.try_get().ok().map(drop)).count()
}

#[test]
fn what_defers_to_a_request_without_an_end_comes_out_when_that_is_moved() {
    let (queue, timer) = queue(SecondAdd::Earliest, ImmediateAdd::Defer);
    queue.add_after(1, Duration::MAX);
    assert_eq!(queue.add(1), Added::Merged);
    timer.advance(hours(24 * 365 * 10));
    assert_eq!(runs(&queue), 0);
    queue.add_after(1, hours(1));
    timer.advance(hours(1));
    assert_eq!(runs(&queue), 1);
    queue.add_after(1, Duration::MAX);
    assert_eq!((queue.add(1), queue.cancel(&1)), (Added::Merged, Some(1)));
    assert_eq!(queue.add(1), Added::Queued);
}

/// Defect D8 of client-go: the item always runs twice.
#[test]
fn a_delayed_item_added_now_runs_as_often_as_the_policy_says() {
    for (policy, now, later) in
        [(ImmediateAdd::Keep, 1, 1), (ImmediateAdd::Merge, 1, 0), (ImmediateAdd::Defer, 0, 1)]
    {
        let adds: [fn(&DelayingQueue<u64>); 3] = [
            |queue| assert!(queue.add(1).is_accepted()),
            |queue| assert!(queue.try_add(1).is_ok()),
            |queue| {
                queue.add_all([1]);
            },
        ];
        for add in adds {
            let (queue, timer) = queue(SecondAdd::Earliest, policy);
            queue.add_after(1, hours(5));
            add(&queue);
            assert_eq!(runs(&queue), now, "{policy:?}");
            timer.advance(hours(5));
            assert_eq!(runs(&queue), later, "{policy:?}");
        }
    }
}

#[test]
fn a_second_delayed_add_moves_the_deadline_as_the_policy_says() {
    for (policy, second, at) in [
        (SecondAdd::Earliest, 1, 1),
        (SecondAdd::Earliest, 5, 3),
        (SecondAdd::Latest, 1, 3),
        (SecondAdd::Latest, 5, 5),
        (SecondAdd::Replace, 1, 1),
        (SecondAdd::Replace, 5, 5),
    ] {
        let (queue, timer) = queue(policy, ImmediateAdd::Keep);
        queue.add_after(1, hours(3));
        queue.add_after(1, hours(second));
        timer.advance(hours(at) - Duration::from_nanos(1));
        assert_eq!(runs(&queue), 0, "{policy:?} {second}");
        timer.advance(Duration::from_nanos(1));
        assert_eq!(runs(&queue), 1, "{policy:?} {second}");
        timer.advance(hours(9));
        assert_eq!(runs(&queue), 0, "{policy:?} {second}");
    }
}

#[test]
fn no_policy_moves_an_item_that_is_due_already() {
    for policy in [SecondAdd::Earliest, SecondAdd::Latest, SecondAdd::Replace] {
        let (queue, timer) = queue(policy, ImmediateAdd::Keep);
        queue.add_after(1, hours(1));
        timer.advance(hours(1));
        assert_eq!(queue.add_after(1, hours(1)), Scheduled::Delayed);
        assert_eq!(runs(&queue), 1);
    }
}

#[test]
fn a_refused_add_leaves_the_deadline_alone() {
    let (queue, timer) = queue(SecondAdd::Earliest, ImmediateAdd::Merge);
    queue.add(7);
    queue.add(8);
    queue.add_after(1, hours(1));
    assert_eq!(queue.try_add(1).map_err(Rejected::into_item), Err(1));
    assert_eq!(runs(&queue), 2);
    timer.advance(hours(1));
    assert_eq!(runs(&queue), 1);
}

#[test]
fn an_add_that_joins_a_delayed_one_says_merged() {
    let (queue, _timer) = queue(SecondAdd::Earliest, ImmediateAdd::Defer);
    queue.add_after(1, hours(1));
    assert_eq!(queue.add(1), Added::Merged);
    assert_eq!(queue.add(2), Added::Queued);
}

#[test]
fn no_delay_is_an_add_without_one_whatever_waits() {
    for (policy, now, later) in
        [(ImmediateAdd::Keep, 1, 1), (ImmediateAdd::Merge, 1, 0), (ImmediateAdd::Defer, 0, 1)]
    {
        let (queue, timer) = queue(SecondAdd::Earliest, policy);
        queue.add_after(1, hours(5));
        assert!(matches!(queue.add_after(1, Duration::ZERO), Scheduled::Now(_)));
        queue.add_at(1, queue.now());
        assert_eq!(runs(&queue), now, "{policy:?}");
        timer.advance(hours(5));
        assert_eq!(runs(&queue), later, "{policy:?}");
    }
}

#[test]
fn an_add_does_not_pay_for_a_flood_of_due_items() {
    for (policy, delay, left) in [
        (ImmediateAdd::Keep, hours(1), 9_873),
        (ImmediateAdd::Keep, hours(0), 10_000),
        (ImmediateAdd::Merge, hours(0), 9_872),
        (ImmediateAdd::Defer, hours(0), 9_872),
    ] {
        let (queue, timer) = queue(SecondAdd::Replace, policy);
        (0..10_000).for_each(|item| {
            queue.add_after(item, hours(1));
        });
        timer.advance(hours(1));
        queue.add_after(20_000, delay);
        // `Debug` reads the queue's counts without moving due items.
        let shown = format!("{queue:?}");
        assert!(
            shown.contains(&format!("delayed: {left}")),
            "{policy:?}, {delay:?}: one batch was moved at most: {shown}"
        );
        assert_eq!(
            queue.add_after(9_999, hours(1)),
            Scheduled::Delayed,
            "{policy:?}, {delay:?}: it was due, and is queued"
        );
        assert_eq!(queue.counts().queued, if delay.is_zero() { 10_001 } else { 10_000 });
    }
}

#[test]
fn one_that_is_due_is_queued_with_those_before_it_and_no_others() {
    let looks: [fn(&DelayingQueue<u64>); 3] = [
        |queue| assert_eq!(queue.phase(&500), Some(Phase::Queued)),
        |queue| assert_eq!(queue.add_after(500, hours(1)), Scheduled::Delayed),
        |queue| {
            assert_eq!(
                queue.retries().add_event(ImmediateAdd::Merge, ImmediateAdd::Merge, 500, ()),
                Added::Merged
            )
        },
    ];
    for (which, look) in looks.into_iter().enumerate() {
        let (queue, timer) = queue(SecondAdd::Replace, ImmediateAdd::Keep);
        (0..10_000).for_each(|item| _ = queue.add_after(item, hours(1)));
        timer.advance(hours(1));
        assert_eq!(queue.phase(&20_000), None);
        look(&queue);
        let shown = format!("{queue:?}");
        let delayed =
            shown.split("delayed: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        let left = 10_000 - 500 - delayed.parse::<i64>().unwrap();
        assert!((0..=2 * 128).contains(&left), "{which}: {shown}");
        let mut next = 0;
        while let Ok(guard) = queue.try_get() {
            assert_eq!(*guard.item(), next, "in the order of the deadlines");
            next += 1;
        }
        assert_eq!(next, 10_000);
    }
}

#[test]
fn an_add_that_merges_with_a_due_item_finds_it_queued_however_many_are_due() {
    for policy in [ImmediateAdd::Merge, ImmediateAdd::Defer] {
        let (queue, timer) = queue(SecondAdd::Earliest, policy);
        (0..1_000).for_each(|item| {
            queue.add_after(item, hours(1));
        });
        timer.advance(hours(1));
        assert_eq!(queue.add(999), Added::Merged, "{policy:?}");
        assert_eq!((queue.counts().queued, queue.delayed_len()), (1_000, 0));
    }
}
