//! Adds that a layer above takes back.

use std::time::Duration;
use wq_delay::{Added, DelayingQueue, ImmediateAdd, Joins, ManualTimer, Scheduled, Timer};

const SECOND: Duration = Duration::from_secs(1);

fn queue(policy: ImmediateAdd) -> (DelayingQueue<u64>, ManualTimer) {
    let timer = ManualTimer::new();
    (DelayingQueue::builder().timer(timer.clone()).immediate_add(policy).build().unwrap(), timer)
}

type Other = fn(&DelayingQueue<u64>);

#[test]
fn only_what_nobody_else_has_asked_for_is_taken_back() {
    let others: [(Other, bool); 6] = [
        (|_| (), true),
        (|queue| assert!(queue.postpone(&1, queue.now() + SECOND * 3).is_some()), true),
        (|queue| assert!(queue.reorder(&1, ())), true),
        (|queue| assert_eq!(queue.add_after(1, SECOND), Scheduled::Moved), false),
        (|queue| assert_eq!(queue.add_after(1, SECOND * 9), Scheduled::Kept), false),
        (|queue| assert_eq!(queue.add(1), Added::Merged), false),
    ];
    for (which, (other, is_alone)) in others.into_iter().enumerate() {
        let (queue, timer) = queue(ImmediateAdd::Defer);
        assert_eq!(queue.add_revocable(1, Some(timer.now() + SECOND * 2), ()), Scheduled::Delayed);
        other(&queue);
        assert_eq!(queue.revoke(&1).is_some(), is_alone, "{which}");
        assert_eq!(queue.delayed_len(), usize::from(!is_alone), "{which}");
        assert_eq!(queue.revoke(&1), None);
    }
}

#[test]
fn what_has_joined_a_revocable_deadline_is_queued_when_that_is_gone() {
    let others: [(Other, bool, bool); 6] = [
        (|_| (), true, false),
        (|queue| assert_eq!(queue.add(1), Added::Merged), true, true),
        (|queue| assert_eq!((queue.add(1), queue.add(1)), (Added::Merged, Added::Merged)), true, true),
        (
            |queue| {
                assert!(queue.add(1).is_accepted() && queue.postpone(&1, queue.now() + SECOND * 3).is_some())
            },
            true,
            true,
        ),
        (
            |queue| assert!(queue.add(1).is_accepted() && queue.add_after(1, SECOND * 9).is_accepted()),
            false,
            false,
        ),
        (
            |queue| assert!(queue.add(1).is_accepted() && queue.add_revocable(1, None, ()).is_accepted()),
            true,
            true,
        ),
    ];
    for (which, (other, is_revocable, is_joined)) in others.into_iter().enumerate() {
        let (queue, timer) = queue(ImmediateAdd::Defer);
        queue.add_revocable(1, Some(timer.now() + SECOND * 2), ());
        other(&queue);
        assert_eq!(queue.has_revocable_deadline(&1), is_revocable, "{which}");
        assert_eq!(queue.queue_joined(&1), is_joined, "{which}");
        assert_eq!((queue.len(), queue.delayed_len()), (usize::from(is_joined), usize::from(!is_joined)));
        assert!(!queue.queue_joined(&1) && !queue.queue_joined(&2) && !queue.has_revocable_deadline(&2));
    }
    let (queue, _timer) = queue(ImmediateAdd::Defer);
    queue.add_after(1, SECOND);
    assert_eq!(queue.add(1), Added::Merged);
    assert!(!queue.has_revocable_deadline(&1) && !queue.queue_joined(&1), "a user waits for the deadline");
}

#[test]
fn an_add_that_joins_what_is_revocable_leaves_all_else_to_the_queues_policy() {
    for policy in [ImmediateAdd::Merge, ImmediateAdd::Defer] {
        for is_users in [false, true] {
            let (queue, timer) = queue(ImmediateAdd::Keep);
            queue.add_revocable(1, Some(timer.now() + SECOND * 2), ());
            if is_users {
                queue.add_after(1, SECOND * 9);
            }
            let added = queue.add_answering(Joins::RevocableBy(policy), 1, (), &mut None);
            let expected = match (policy, is_users) {
                (_, true) => (Added::Queued, 1, 1),
                (ImmediateAdd::Merge, false) => (Added::Queued, 1, 0),
                (_, false) => (Added::Merged, 0, 1),
            };
            assert_eq!((added, queue.len(), queue.delayed_len()), expected, "{policy:?} {is_users}");
        }
        let (queue, _timer) = queue(ImmediateAdd::Keep);
        let added = queue.add_answering(Joins::RevocableBy(policy), 1, (), &mut None);
        assert_eq!((added, queue.len()), (Added::Queued, 1), "it does not wait");
    }
}

#[test]
fn what_waits_for_somebody_is_not_taken_back_with_what_joins_it() {
    let (queue, timer) = queue(ImmediateAdd::Keep);
    queue.add_after(1, SECOND * 2);
    assert_eq!(queue.add_revocable(1, Some(timer.now() + SECOND), ()), Scheduled::Moved);
    assert_eq!((queue.revoke(&1), queue.deadline(&1)), (None, Some(timer.now() + SECOND)));
}

#[test]
fn what_is_due_is_taken_back_until_somebody_looks() {
    let (queue, timer) = queue(ImmediateAdd::Keep);
    for looks in [false, true] {
        queue.add_revocable(1, Some(timer.now() + SECOND), ());
        timer.advance(SECOND);
        if looks {
            queue.move_due();
        }
        assert_eq!(queue.revoke(&1).is_none(), looks);
        assert_eq!(queue.len(), usize::from(looks));
    }
}

#[test]
fn what_was_queued_while_its_item_was_in_hand_is_for_the_guard_to_take_back() {
    for joined in [false, true] {
        let (queue, timer) = queue(ImmediateAdd::Keep);
        queue.add_revocable(1, Some(timer.now() + SECOND), ());
        queue.add(1);
        let guard = queue.try_get().unwrap();
        if joined {
            queue.add_after(1, SECOND);
        }
        timer.advance(SECOND);
        queue.move_due();
        assert_eq!((queue.revoke(&1), queue.counts().to_run_again), (None, 1));
        assert_eq!((guard.revoke().is_none(), guard.revoke()), (joined, None));
        guard.done();
        assert_eq!(queue.len(), usize::from(joined));
    }
}

#[test]
fn one_that_is_due_at_once_leaves_what_waits_alone() {
    for policy in [ImmediateAdd::Keep, ImmediateAdd::Merge, ImmediateAdd::Defer] {
        let (queue, timer) = queue(policy);
        queue.add_after(1, SECOND);
        assert_eq!(
            queue.add_revocable(1, Some(timer.now()), ()),
            Scheduled::Now(Added::Queued),
            "{policy:?}"
        );
        assert_eq!((queue.len(), queue.delayed_len()), (1, 1));
        assert_eq!(queue.revoke(&1), None, "it is queued");
        assert_eq!(queue.add_revocable(2, None, ()), Scheduled::Delayed);
        timer.advance(SECOND * 1_000_000);
        assert_eq!((queue.len(), queue.delayed_len()), (1, 1), "never");
        _ = queue.shutdown();
        assert_eq!(queue.add_revocable(3, None, ()), Scheduled::ShutDown);
    }
}

#[test]
fn a_drain_ends_when_the_last_delayed_item_is_taken_back() {
    let (queue, timer) = queue(ImmediateAdd::Keep);
    queue.add_revocable(1, Some(timer.now() + SECOND), ());
    let mut drained = std::pin::pin!(queue.drained());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(drained.as_mut().poll(&mut context).is_pending());
    assert_eq!(queue.revoke(&1), Some((1, ())));
    assert!(drained.as_mut().poll(&mut context).is_ready());
}
