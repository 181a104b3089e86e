//! Backoff: failures of an item, against concurrent calls on it.

use std::time::Duration;

use wq_contract::explore::{poll_once, thread};
use wq_ratelimit::{
    Added, Combine, DuringBackoff, ExponentialBackoff, ManualTimer, Outcome, ProcessingGuard,
    RateLimitingQueue, Scheduled, Timer,
};

const SECOND: Duration = Duration::from_secs(1);

type Queue = RateLimitingQueue<u8, ExponentialBackoff<u8>>;

fn queue(policy: DuringBackoff) -> (Queue, ManualTimer) {
    let timer = ManualTimer::new();
    let queue = RateLimitingQueue::builder()
        .limiter(ExponentialBackoff::new(SECOND, SECOND * 100).unwrap())
        .timer(timer.clone())
        .during_backoff(policy)
        .build();
    (queue.unwrap(), timer)
}

/// The item fails while a thread does something else.
fn fail_beside<R: 'static>(queue: &Queue, other: impl FnOnce(&Queue) -> R + 'static) -> R {
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let other = thread(queue, other);
    guard.finish(Outcome::Retry).unwrap();
    other.join().unwrap()
}

pub(crate) fn event_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep);
    fail_beside(&queue, |queue| queue.add(1));
    assert_eq!((queue.counts().queued, queue.num_requeues(&1)), (1, 1));
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND));
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!((queue.counts().queued, queue.num_requeues(&1)), (0, 1), "before its time");
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND));
}

pub(crate) fn clear_against_finish() {
    let (queue, _timer) = queue(DuringBackoff::Clear);
    fail_beside(&queue, |queue| queue.add(1));
    assert_eq!(queue.counts().queued, 1, "the event is seen");
    // Either the event came first, and the failure counts, or it cleared all of it.
    let left = (queue.num_requeues(&1), queue.delayed_len());
    assert!([(1, 1), (0, 0), (0, 1)].contains(&left), "{left:?}");
}

pub(crate) fn clear_against_a_request() {
    let (queue, _timer) = queue(DuringBackoff::Clear);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    let user = thread(&queue, |queue| queue.add_after(1, SECOND * 50));
    queue.add(1);
    assert!(user.join().unwrap().is_accepted());
    assert_eq!(
        (queue.counts().queued, queue.delayed_len()),
        (1, 1),
        "the event, and what a user has asked for"
    );
}

pub(crate) fn defer_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Defer);
    fail_beside(&queue, |queue| queue.add(1));
    assert_eq!((queue.num_requeues(&1), queue.delayed_len()), (1, 1));
    timer.advance(SECOND);
    assert_eq!(queue.counts().queued, 1);
}

pub(crate) fn two_failures_at_once() {
    let (queue, timer) = queue(DuringBackoff::Keep);
    let other = thread(&queue, |queue| queue.add_rate_limited(1));
    let mut answers = [queue.add_rate_limited(1), other.join().unwrap()];
    answers.sort_by_key(|answer| *answer != Scheduled::Delayed);
    assert_eq!(answers, [Scheduled::Delayed, Scheduled::Kept]);
    assert_eq!((queue.num_requeues(&1), queue.deadline(&1)), (1, Some(timer.now() + SECOND)));
}

pub(crate) fn forget_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep);
    fail_beside(&queue, |queue| queue.forget(&1));
    // The retry waits in any case. If count and back-off disagreed, this attempt would count
    // wrongly.
    let before = queue.num_requeues(&1);
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND));
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(queue.num_requeues(&1), 1, "{before} before");
}

pub(crate) fn finish_against_drain() {
    let (queue, _timer) = queue(DuringBackoff::Keep);
    let was_over = fail_beside(&queue, |queue| poll_once(&mut queue.drained()).is_ready());
    assert!(!was_over, "the item was in hand, or delayed");
}

pub(crate) fn outcome_against_a_get_that_moves_the_retry() {
    let (queue, timer) = queue(DuringBackoff::Keep);
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.add(1);
    let guard = queue.try_get().unwrap();
    timer.advance(SECOND);
    let other = thread(&queue, |queue| usize::from(queue.try_get().is_ok()));
    guard.finish(Outcome::RetryAfter(SECOND * 50)).unwrap();
    let got = other.join().unwrap();
    assert_eq!(queue.deadline(&1), Some(timer.now() + SECOND * 50));
    assert_eq!(got + queue.counts().queued, 1, "it was due during the work, and runs once more");
}

/// After a canceled retry the next failure counts. While the retry waits, the failure does not
/// count.
fn next_failure(queue: &Queue, waits: bool) {
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    assert_eq!(queue.num_requeues(&1), if waits { 1 } else { 2 });
}

pub(crate) fn cancel_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep);
    let canceled = fail_beside(&queue, |queue| queue.cancel(&1));
    // Before the failure there is nothing to cancel.
    let waits = canceled.is_none();
    assert_eq!(
        (queue.deadline(&1), queue.counts().queued),
        (waits.then(|| timer.now() + SECOND), 0)
    );
    next_failure(&queue, waits);
}

pub(crate) fn cancel_against_add_rate_limited() {
    let (queue, timer) = queue(DuringBackoff::Keep);
    let other = thread(&queue, |queue| queue.cancel(&1));
    assert_eq!(queue.add_rate_limited(1), Scheduled::Delayed);
    let waits = other.join().unwrap().is_none();
    assert_eq!(
        (queue.deadline(&1), queue.counts().queued),
        (waits.then(|| timer.now() + SECOND), 0)
    );
    next_failure(&queue, waits);
}

pub(crate) fn remove_against_add_rate_limited() {
    let (queue, timer) = queue(DuringBackoff::Keep);
    queue.add(1);
    let other = thread(&queue, |queue| queue.remove(&1));
    let added = queue.add_rate_limited(1);
    assert_eq!(other.join().unwrap(), Some(1), "it is queued all the time");
    // The add merged with the removed item, or came after the removal.
    let left = (added, queue.counts().queued, queue.deadline(&1));
    let later = timer.now() + SECOND;
    assert!(
        [
            (Scheduled::Now(Added::Merged), 0, None),
            (Scheduled::Now(Added::Queued), 1, None),
            (Scheduled::Delayed, 0, Some(later)),
        ]
        .contains(&left),
        "{left:?}"
    );
}

pub(crate) fn shutdown_against_finish() {
    let (queue, _timer) = queue(DuringBackoff::Keep);
    queue.add(1);
    let guard = queue.try_get().unwrap();
    let other = thread(&queue, |queue| queue.shutdown());
    let scheduled = guard.finish(Outcome::Retry);
    let handed_back = other.join().unwrap();
    match scheduled {
        Ok(scheduled) => assert_eq!((scheduled, handed_back), (Some(Scheduled::Delayed), vec![1])),
        Err(refused) => assert_eq!((refused.into_item(), handed_back.len()), (1, 0)),
    }
    assert!(poll_once(&mut queue.drained()).is_ready());
}

/// Item 1 has failed, and an event has brought it back: it is in flight, and its retry waits for a
/// second.
fn early(queue: &Queue) -> ProcessingGuard<'_, u8> {
    queue.add(1);
    queue.try_get().unwrap().finish(Outcome::Retry).unwrap();
    queue.try_add(1).unwrap();
    queue.try_get().unwrap()
}

pub(crate) fn cancel_of_a_retry_against_finish() {
    let (queue, timer) = queue(DuringBackoff::Keep);
    let guard = early(&queue);
    let other = thread(&queue, |queue| queue.cancel(&1).is_some());
    guard.finish(Outcome::RetryWith { delay: SECOND * 9, combine: Combine::Override }).unwrap();
    assert!(other.join().unwrap(), "a retry waits all the time");
    let waits = queue.deadline(&1).map(|at| at - timer.now());
    assert!([None, Some(SECOND * 9)].contains(&waits), "{waits:?}");
    assert!(queue.num_requeues(&1) <= 2 && queue.counts().queued == 0);
}

pub(crate) fn success_against_event() {
    let (queue, timer) = queue(DuringBackoff::Defer);
    let guard = early(&queue);
    let event = thread(&queue, |queue| queue.add(1));
    guard.finish(Outcome::Success).unwrap();
    assert!(event.join().unwrap().is_accepted());
    timer.advance(SECOND);
    assert_eq!((queue.counts().queued, queue.delayed_len()), (1, 0), "the event is seen");
}
