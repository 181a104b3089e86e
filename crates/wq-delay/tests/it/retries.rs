//! Retries: a layer above replaces and cancels them, but no request of a user.

use std::time::Duration;
use wq_delay::{
    Added, Debounce, DelayingQueue, ImmediateAdd, ManualTimer, Scheduled, SecondAdd, Timer,
};

const SECOND: Duration = Duration::from_secs(1);

fn queue(policy: ImmediateAdd) -> (DelayingQueue<u64>, ManualTimer) {
    let timer = ManualTimer::new();
    (DelayingQueue::builder().timer(timer.clone()).immediate_add(policy).build().unwrap(), timer)
}

type Other = fn(&DelayingQueue<u64>);

#[test]
fn a_retry_is_canceled_unless_a_user_has_asked_for_the_item_too() {
    let debounce = |queue: &DelayingQueue<u64>| {
        queue.add_debounced(1, Debounce::new(SECOND, SECOND * 3).unwrap());
    };
    let others: [(Other, bool); 6] = [
        (|_| (), true),
        (|queue| assert_eq!(queue.retries().add(1, None, ()), Scheduled::Moved), true),
        (|queue| assert_eq!(queue.add_after(1, SECOND), Scheduled::Moved), false),
        (|queue| assert_eq!(queue.add_after(1, SECOND * 9), Scheduled::Kept), false),
        (debounce, false),
        (|queue| assert_eq!(queue.add(1), Added::Merged), false),
    ];
    for (which, (other, is_alone)) in others.into_iter().enumerate() {
        let (queue, timer) = queue(ImmediateAdd::Defer);
        assert_eq!(queue.retries().add(1, Some(timer.now() + SECOND * 2), ()), Scheduled::Delayed);
        other(&queue);
        assert_eq!(queue.retries().cancel(&1), is_alone, "{which}");
        assert_eq!(queue.delayed_len(), usize::from(!is_alone), "{which}");
        assert!(!queue.retries().cancel(&1));
    }
}

#[test]
fn a_retry_replaces_a_retry_whatever_the_policy() {
    for second_add in [SecondAdd::Earliest, SecondAdd::Latest, SecondAdd::Replace] {
        for (again, expected) in
            [(1, Scheduled::Moved), (5, Scheduled::Kept), (9, Scheduled::Moved)]
        {
            let timer = ManualTimer::new();
            let builder = DelayingQueue::builder().timer(timer.clone()).second_add(second_add);
            let queue = builder.build().unwrap();
            queue.retries().add(1, Some(timer.now() + SECOND * 5), ());
            let at = timer.now() + SECOND * again;
            assert_eq!(queue.retries().add(1, Some(at), ()), expected, "{second_add:?}, {again}");
            assert_eq!(queue.deadline(&1), Some(at), "{second_add:?}, {again}");
        }
    }
}

#[test]
fn a_retry_merges_with_what_a_user_has_asked_for_by_policy_and_is_the_users() {
    let cases = [
        (SecondAdd::Earliest, 9, 5),
        (SecondAdd::Earliest, 1, 1),
        (SecondAdd::Latest, 9, 9),
        (SecondAdd::Latest, 1, 5),
        (SecondAdd::Replace, 9, 9),
    ];
    for (second_add, retry, left) in cases {
        let timer = ManualTimer::new();
        let builder = DelayingQueue::builder().timer(timer.clone()).second_add(second_add);
        let queue = builder.build().unwrap();
        queue.add_after(1, SECOND * 5);
        queue.retries().add(1, Some(timer.now() + SECOND * retry), ());
        let deadline = Some(timer.now() + SECOND * left);
        assert_eq!(queue.deadline(&1), deadline, "{second_add:?}, {retry}");
        assert!(!queue.retries().cancel(&1));
        assert_eq!(queue.deadline(&1), deadline, "{second_add:?}, {retry}");
    }
}

#[test]
fn a_retry_that_is_due_is_queued_and_not_canceled() {
    for somebody_looks in [false, true] {
        let (queue, timer) = queue(ImmediateAdd::Keep);
        queue.add(1);
        let guard = queue.try_get().unwrap();
        queue.retries().add(1, Some(timer.now() + SECOND), ());
        timer.advance(SECOND);
        if somebody_looks {
            queue.move_due();
        }
        assert!(!queue.retries().cancel(&1));
        guard.done();
        assert_eq!(queue.counts().queued, 1, "{somebody_looks}");
    }
}

#[test]
fn a_retry_at_once_replaces_the_one_that_waits() {
    let (queue, timer) = queue(ImmediateAdd::Keep);
    queue.retries().add(1, Some(timer.now() + SECOND), ());
    assert_eq!(queue.retries().add(1, Some(timer.now()), ()), Scheduled::Now(Added::Queued));
    assert_eq!((queue.counts().queued, queue.delayed_len()), (1, 0));
}

#[test]
fn a_retry_at_once_leaves_alone_what_a_user_waits_for() {
    for policy in [ImmediateAdd::Keep, ImmediateAdd::Merge, ImmediateAdd::Defer] {
        let (queue, timer) = queue(policy);
        queue.add_after(1, SECOND);
        let scheduled = queue.retries().add(1, Some(timer.now()), ());
        assert_eq!(scheduled, Scheduled::Now(Added::Queued), "{policy:?}");
        assert_eq!((queue.counts().queued, queue.delayed_len()), (1, 1), "{policy:?}");
    }
}

#[test]
fn an_add_joins_a_retry_by_one_policy_and_all_else_by_the_other() {
    use ImmediateAdd::{Defer, Keep, Merge};
    for retry in [Keep, Merge, Defer] {
        for other in [Keep, Merge, Defer] {
            for is_retry in [true, false] {
                let (queue, timer) = queue(Keep);
                let at = timer.now() + SECOND;
                if is_retry {
                    queue.retries().add(1, Some(at), ());
                } else {
                    queue.add_at(1, at);
                }
                let added = queue.retries().add_event(retry, other, 1, ());
                let (expected, left) = match if is_retry { retry } else { other } {
                    Keep => (Added::Queued, (1, 1)),
                    Merge => (Added::Queued, (1, 0)),
                    _ => (Added::Merged, (0, 1)),
                };
                let case = (retry, other, is_retry);
                assert_eq!(added, expected, "{case:?}");
                assert_eq!((queue.counts().queued, queue.delayed_len()), left, "{case:?}");
                // A retry that has merged with the add is a user's request.
                let is_alone = is_retry && retry == Keep;
                assert_eq!(queue.retries().cancel(&1), is_alone, "{case:?}");
            }
        }
    }
}

#[test]
fn a_canceled_retry_ends_a_drain_that_waits_for_nothing_else() {
    let (queue, timer) = queue(ImmediateAdd::Keep);
    queue.retries().add(1, Some(timer.now() + SECOND), ());
    let mut drained = std::pin::pin!(queue.drained());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(drained.as_mut().poll(&mut context).is_pending());
    assert!(queue.retries().cancel(&1));
    assert!(drained.as_mut().poll(&mut context).is_ready());
}

#[test]
fn a_retry_without_an_end_never_comes_and_none_is_taken_after_shutdown() {
    let (queue, timer) = queue(ImmediateAdd::Keep);
    queue.retries().add(1, None, ());
    assert_eq!(queue.delayed_len(), 1);
    timer.advance(SECOND * 1000);
    assert_eq!(queue.counts().queued, 0);
    assert!(queue.retries().cancel(&1));
    assert_eq!(queue.shutdown(), []);
    assert_eq!(queue.retries().add(2, None, ()), Scheduled::ShutDown);
    assert_eq!(queue.retries().add(2, Some(timer.now()), ()), Scheduled::ShutDown);
}
