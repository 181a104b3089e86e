//! Bounds: capacity, refused settings, snapshots, and released memory.

use std::sync::Arc;

use wq_core::{Added, BuildError, Phase, RejectedReason, WorkQueue};

fn bounded(capacity: usize) -> WorkQueue<u32> {
    WorkQueue::builder().capacity(capacity).build().unwrap()
}

#[test]
fn a_capacity_of_zero_is_refused() {
    let error = WorkQueue::<u32>::builder().capacity(0).build().unwrap_err();
    assert_eq!(error, BuildError::ZeroCapacity);
    assert_eq!(
        error.to_string(),
        "capacity is 0 but must be at least 1; leave it out for a queue without a bound"
    );
}

#[test]
fn a_full_queue_hands_the_item_back() {
    let queue = bounded(2);
    assert_eq!(queue.try_add(1).unwrap(), Added::Queued);
    assert_eq!(queue.try_add(2).unwrap(), Added::Queued);
    let rejected = queue.try_add(3).unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "the queue is full: its capacity of 2 items is used; try again later, or call add, which has no bound"
    );
    assert!(matches!(rejected.reason(), RejectedReason::Full { capacity } if capacity.get() == 2));
    assert_eq!(rejected.into_item(), 3);
    assert_eq!(queue.try_add(1).unwrap(), Added::Merged, "needs no room");
    assert_eq!(queue.add(3), Added::Queued, "add does not ask");
    assert_eq!(queue.counts().queued, 3);
}

#[test]
fn an_item_that_will_run_again_takes_room() {
    let queue = bounded(1);
    queue.add(1);
    let guard = queue.try_get().unwrap();
    assert_eq!(queue.try_add(1).unwrap(), Added::Deferred);
    assert_eq!(queue.try_add(1).unwrap(), Added::Merged);
    assert!(queue.try_add(2).is_err());
    guard.done();
    assert!(queue.try_add(2).is_err());
    let guard = queue.try_get().unwrap();
    assert_eq!(queue.try_add(2).unwrap(), Added::Queued);
    assert!(queue.try_add(1).is_err(), "no room to run again");
    guard.done();
}

#[test]
fn after_shutdown_the_item_is_handed_back() {
    let queue = WorkQueue::<u32>::new();
    queue.shutdown();
    let rejected = queue.try_add(1).unwrap_err();
    assert_eq!(rejected.reason(), RejectedReason::ShutDown);
    assert_eq!(rejected.to_string(), "the queue is shut down and takes no more items");
    assert_eq!(*rejected.item(), 1);
    let all = queue.add_all([3, 4]);
    assert_eq!((all.queued, all.shut_down), (0, 2));
}

#[test]
fn add_all_counts_what_became_of_each() {
    let queue = WorkQueue::<u32>::new();
    queue.add_all([1, 2]);
    let _guard = queue.try_get().unwrap();
    let all = queue.add_all([1, 1, 2, 3]);
    assert_eq!((all.queued, all.merged, all.deferred, all.shut_down), (1, 2, 1, 0));
}

#[test]
fn an_iterator_given_to_add_all_may_use_the_queue() {
    let queue = WorkQueue::<u32>::new();
    let all = queue.add_all((0..3).inspect(|item| assert!(queue.add(*item).is_accepted())));
    assert_eq!((all.queued, all.merged), (0, 3));
}

#[test]
fn lookups_borrow() {
    let queue = WorkQueue::<Arc<str>>::new();
    queue.add("a".into());
    assert!(queue.phase("a").is_some() && queue.phase("b").is_none());
    assert_eq!(queue.remove("a").as_deref(), Some("a"));
}

#[test]
fn a_snapshot_shows_all_phases_of_one_moment() {
    let queue = WorkQueue::<u32>::builder().name("claims").build().unwrap();
    queue.add_all([1, 2, 3]);
    let (one, _two) = (queue.try_get().unwrap(), queue.try_get().unwrap());
    queue.add(*one.item());
    queue.pause();
    let mut snapshot = queue.snapshot();
    snapshot.items.sort_by_key(|seen| seen.item);
    let phases: Vec<Phase> = snapshot.items.iter().map(|seen| seen.phase).collect();
    assert_eq!(phases, [Phase::ProcessingDirty, Phase::Processing, Phase::Queued]);
    assert_eq!(
        (
            snapshot.counts.queued,
            snapshot.counts.in_flight,
            snapshot.counts.to_run_again,
            snapshot.counts.depth()
        ),
        (1, 2, 1, 2)
    );
    assert!(snapshot.is_paused && !snapshot.is_shutting_down);
    assert_eq!((snapshot.unfinished(), snapshot.longest()), (None, None), "no observer, no clock");
    assert_eq!(
        format!("{queue:?}"),
        "WorkQueue { name: Some(\"claims\"), counts: Counts { queued: 1, in_flight: 2, to_run_again: 1 }, \
         is_paused: true, is_shutting_down: false, .. }"
    );
    assert_eq!(queue.name(), Some("claims"));
}

#[test]
fn nothing_that_is_shown_contains_an_item_by_accident() {
    let queue = WorkQueue::<&str>::builder().capacity(1).build().unwrap();
    queue.add("secret");
    let rejected = queue.try_add("secret too").unwrap_err();
    let guard = queue.try_get().unwrap();
    let left = queue.drained().wait_timeout(std::time::Duration::ZERO).unwrap_err();
    for shown in
        [format!("{queue:?}"), format!("{rejected:?} {rejected}"), format!("{left:?} {left}")]
    {
        assert!(!shown.contains("secret"), "{shown}");
    }
    assert!(format!("{guard:?}").contains("secret"), "a guard shows its item to whoever asks it");
}
